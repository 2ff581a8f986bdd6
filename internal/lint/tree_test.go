package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	module = "tarn"
	root   = "../.." // of the module, from this folder
)

// file is one Go file of the module, whatever its build tags.
type file struct {
	path string // from the module's root, with slashes
	src  []byte
	fset *token.FileSet
	ast  *ast.File
}

func (f file) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }
func (f file) dir() string  { return path.Dir(f.path) }

func (f file) line(p token.Pos) int { return f.fset.Position(p).Line }

// walk calls fn for each file of the module that could be part of a build or of
// the documentation: no hidden folders but .ci, no modules of their own, nothing that
// .gitignore names, which the README's commands make.
func walk(t *testing.T, fn func(name string)) {
	t.Helper()
	ignored := strings.Fields(string(read(t, ".gitignore")))
	made := func(rel string) bool {
		return slices.ContainsFunc(ignored, func(pattern string) bool {
			if atRoot, ok := strings.CutPrefix(pattern, "/"); ok {
				return matches(atRoot, rel)
			}
			return matches(pattern, path.Base(rel))
		})
	}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if !d.IsDir() {
			if rel != ".git" && !made(rel) { // of a work tree .git is a file
				fn(rel)
			}
			return nil
		}
		hidden := strings.HasPrefix(d.Name(), ".") && rel != "." && rel != ".ci"
		if hidden || made(rel) || rel != "." && exists(filepath.Join(p, "go.mod")) {
			return filepath.SkipDir
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func matches(pattern, name string) bool {
	matched, err := path.Match(pattern, name)
	return matched && err == nil
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	src, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// goFiles parses every Go file of the module.
func goFiles(t *testing.T) []file {
	t.Helper()
	var files []file
	fset := token.NewFileSet()
	walk(t, func(name string) {
		if path.Ext(name) != ".go" || strings.Contains(name, "testdata/") {
			return
		}
		src := read(t, name)
		parsed, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file{path: name, src: src, fset: fset, ast: parsed})
	})
	if len(files) < 10 {
		t.Fatalf("only %d Go files found from %s: the walk is broken", len(files), root)
	}
	return files
}
