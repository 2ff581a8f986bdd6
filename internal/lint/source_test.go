package lint

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	functionLines = 70
	fileLines     = 900
)

// Exceptions, each with its reason. One that is no longer needed is an error.
var (
	longFunctions = map[string]string{} // "path: function"
	longFiles     = map[string]string{} // "path"

	// Panics are for broken invariants and for what recovers them itself.
	mayPanic = map[string]string{ // "path: function"
		"internal/invariants/invariants.go: Check": "its purpose, in builds with the tag",
		"store/page/rows.go: Engine.fault":         "passes on what is no page fault of the mapping",
		"store/revision/values.go: values.copyOf":  "the same",
		"dbtool/command.go: repanic":               "the same",
		"opera/inter/state.go: hashRLP":            "a state or record that cannot be encoded was neither decoded nor made by the rules",
		"antelope/wasm/call.go: Call.Abort":        "unwinds a contract's code to Machine.Apply",
	}

	// Libraries that may use the process's own streams and end it.
	mayTalk = map[string]string{ // "path"
		"store/storetest/process.go": "is the child process of a test",
		"store/storetest/suite.go":   "runs in place of main",
	}
)

// exceptions looks names up in a list and afterwards tells which entries
// nothing needed.
type exceptions struct {
	list map[string]string
	used map[string]bool
}

func except(list map[string]string) *exceptions {
	return &exceptions{list: list, used: map[string]bool{}}
}

func (e *exceptions) has(name string) bool {
	_, ok := e.list[name]
	e.used[name] = true
	return ok
}

func (e *exceptions) unused(t *testing.T) {
	t.Helper()
	for name := range e.list {
		if !e.used[name] {
			t.Errorf("exception for %q is not needed any more", name)
		}
	}
}

// functions calls fn for each function of the files that are not tests.
func functions(files []file, fn func(f file, name string, d *ast.FuncDecl)) {
	for _, f := range files {
		if f.isTest() {
			continue
		}
		for _, d := range f.ast.Decls {
			if d, ok := d.(*ast.FuncDecl); ok {
				name := d.Name.Name
				if d.Recv != nil {
					name = receiver(d) + "." + name
				}
				fn(f, f.path+": "+name, d)
			}
		}
	}
}

// receiver is the name of a method's type.
func receiver(d *ast.FuncDecl) string {
	e := d.Recv.List[0].Type
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

func TestFunctionsFitAScreen(t *testing.T) {
	long := except(longFunctions)
	functions(goFiles(t), func(f file, name string, d *ast.FuncDecl) {
		n := f.line(d.End()) - f.line(d.Pos()) + 1
		if n > functionLines && !long.has(name) {
			t.Errorf("%s has %d lines, more than %d", name, n, functionLines)
		}
	})
	long.unused(t)
}

func TestFilesAreShort(t *testing.T) {
	long := except(longFiles)
	for _, f := range goFiles(t) {
		n := bytes.Count(f.src, []byte("\n"))
		if n > fileLines && !f.isTest() && !long.has(f.path) {
			t.Errorf("%s has %d lines, more than %d", f.path, n, fileLines)
		}
	}
	long.unused(t)
}

func TestFilesAreFormatted(t *testing.T) {
	for _, f := range goFiles(t) {
		want, err := format.Source(f.src)
		if err != nil {
			t.Errorf("%s: %v", f.path, err)
		} else if !bytes.Equal(f.src, want) {
			t.Errorf("%s: not formatted; run gofmt -w", f.path)
		}
	}
}

func TestNoInitFunctions(t *testing.T) {
	functions(goFiles(t), func(f file, name string, d *ast.FuncDecl) {
		if d.Recv == nil && d.Name.Name == "init" {
			t.Errorf("%s:%d: init runs behind everybody's back; do it where it is needed", f.path, f.line(d.Pos()))
		}
	})
}

func TestPanicsOnlyWhereListed(t *testing.T) {
	allowed := except(mayPanic)
	functions(goFiles(t), func(f file, name string, d *ast.FuncDecl) {
		ast.Inspect(d, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if id, ok := call.Fun.(*ast.Ident); ok && id.Name == "panic" && !allowed.has(name) {
				t.Errorf("%s:%d: panic in %s: return an error, use invariants.Check, or list it with a reason",
					f.path, f.line(call.Pos()), name)
			}
			return true
		})
	})
	allowed.unused(t)
}

// What a program says goes through the writer that it was given.
func TestLibrariesDoNotTalkToTheTerminal(t *testing.T) {
	forbidden := map[string][]string{
		"fmt": {"Print", "Printf", "Println"},
		"log": nil, // all of it
		"os":  {"Exit", "Stdout", "Stderr"},
	}
	allowed := except(mayTalk)
	for _, f := range goFiles(t) {
		if f.isTest() || f.ast.Name.Name == "main" {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, ok := sel.X.(*ast.Ident)
			if !ok || !imports(f, pkg.Name) {
				return true
			}
			names, listed := forbidden[pkg.Name]
			if listed && (names == nil || slices.Contains(names, sel.Sel.Name)) && !allowed.has(f.path) {
				t.Errorf("%s:%d: %s.%s in a library", f.path, f.line(sel.Pos()), pkg.Name, sel.Sel.Name)
			}
			return true
		})
	}
	allowed.unused(t)
}

// imports tells whether a file imports a package of the standard library under
// its own name.
func imports(f file, name string) bool {
	return slices.ContainsFunc(f.ast.Imports, func(s *ast.ImportSpec) bool {
		return s.Name == nil && s.Path.Value == `"`+name+`"`
	})
}

func TestPackagesSayWhatTheyOwn(t *testing.T) {
	documented := map[string]bool{}
	for _, f := range goFiles(t) {
		if f.isTest() {
			continue
		}
		if doc := f.ast.Doc.Text(); doc != "" {
			want := "Package " + f.ast.Name.Name + " "
			if f.ast.Name.Name == "main" {
				want = "Command " + path.Base(f.dir()) + " "
			}
			if !strings.HasPrefix(doc, want) {
				t.Errorf("%s: the package comment begins %.30q, not %q", f.path, doc, want)
			}
			documented[f.dir()] = true
		} else {
			documented[f.dir()] = documented[f.dir()] || false
		}
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("%s: no package comment", dir)
		}
	}
}

func TestExportedNamesAreDocumented(t *testing.T) {
	files := goFiles(t)
	promised := interfaceTypes(files)
	functions(files, func(f file, name string, d *ast.FuncDecl) {
		if !d.Name.IsExported() || d.Doc.Text() != "" || f.ast.Name.Name == "main" {
			return
		}
		if d.Recv != nil {
			// A method that an interface demands is documented there.
			if r := receiver(d); !ast.IsExported(r) || promised[f.dir()+"."+r] || wellKnown[d.Name.Name] {
				return
			}
		}
		t.Errorf("%s:%d: %s has no comment", f.path, f.line(d.Pos()), name)
	})
	for _, f := range files {
		if f.isTest() {
			continue
		}
		for _, d := range f.ast.Decls {
			if d, ok := d.(*ast.GenDecl); ok && d.Tok != token.IMPORT {
				checkGroup(t, f, d)
			}
		}
	}
}

// wellKnown are methods whose meaning the standard library fixes.
var wellKnown = map[string]bool{"Error": true, "Is": true, "As": true, "Unwrap": true, "String": true, "Len": true,
	"Less": true, "Swap": true}

// checkGroup looks for a comment at each exported name of a declaration, or at
// the declaration itself.
func checkGroup(t *testing.T, f file, d *ast.GenDecl) {
	t.Helper()
	for _, s := range d.Specs {
		var names []*ast.Ident
		var doc string
		switch s := s.(type) {
		case *ast.TypeSpec:
			names, doc = []*ast.Ident{s.Name}, s.Doc.Text()+s.Comment.Text()
		case *ast.ValueSpec:
			names, doc = s.Names, s.Doc.Text()+s.Comment.Text()
		}
		for _, name := range names {
			if name.IsExported() && doc == "" && d.Doc.Text() == "" {
				t.Errorf("%s:%d: %s has no comment", f.path, f.line(name.Pos()), name.Name)
			}
		}
	}
}

// interfaceTypes lists, as dir.Type, the types that `var _ I = (*T)(nil)` or
// `= T{}` says implement an interface.
func interfaceTypes(files []file) map[string]bool {
	types := map[string]bool{}
	for _, f := range files {
		for _, d := range f.ast.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			for _, s := range g.Specs {
				v := s.(*ast.ValueSpec)
				if v.Names[0].Name != "_" || v.Type == nil {
					continue
				}
				ast.Inspect(v, func(n ast.Node) bool {
					if id, ok := n.(*ast.Ident); ok {
						types[f.dir()+"."+id.Name] = true
					}
					return true
				})
			}
		}
	}
	return types
}

func TestNothingIsLeftForLater(t *testing.T) {
	marks := regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X|HA` + `CK)\b`)
	for _, f := range goFiles(t) {
		for _, g := range f.ast.Comments {
			if m := marks.FindString(g.Text()); m != "" {
				t.Errorf("%s:%d: %s: do it or say what is not done", f.path, f.line(g.Pos()), m)
			}
		}
	}
}

func TestNoPathsOfOneMachine(t *testing.T) {
	paths := regexp.MustCompile(`(^|[^\w./)$}-])/(home|root|work|Users|farm|tmp)/\w`)
	walk(t, func(name string) {
		if base := path.Base(name); base == "go.sum" || strings.Contains(name, "testdata/fuzz/") {
			return
		}
		for i, line := range bytes.Split(read(t, name), []byte("\n")) {
			if len(line) < 1<<12 && paths.Match(line) {
				t.Errorf("%s:%d: a path of one machine: %s", name, i+1, bytes.TrimSpace(line))
			}
		}
	})
}
