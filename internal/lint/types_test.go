package lint

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

// manyMethods is how many methods a type may have without a word about it.
const manyMethods = 40

// A type with more methods than a reader keeps in mind is often two things. One that is not
// says in its comment why it has them.
func TestTypesOfManyMethodsSayWhyTheyAreOne(t *testing.T) {
	files := goFiles(t)
	methods := map[string]int{} // "folder: type"
	functions(files, func(f file, _ string, d *ast.FuncDecl) {
		if d.Recv != nil {
			methods[f.dir()+": "+receiver(d)]++
		}
	})
	types(files, func(f file, name, comment string) {
		if n := methods[f.dir()+": "+name]; n > manyMethods && !strings.Contains(comment, "method") {
			t.Errorf("%s: type %s has %d methods, and its comment does not say why it is one thing", f.path, name, n)
		}
	})
}

// types calls fn for each type of the files that are not tests.
func types(files []file, fn func(f file, name, comment string)) {
	for _, f := range files {
		if f.isTest() {
			continue
		}
		for _, d := range f.ast.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.TYPE {
				continue
			}
			for _, s := range g.Specs {
				s := s.(*ast.TypeSpec)
				doc := s.Doc
				if doc == nil {
					doc = g.Doc
				}
				fn(f, s.Name.Name, doc.Text())
			}
		}
	}
}
