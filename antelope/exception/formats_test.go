package exception_test

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("exception.update", false, "write testdata/formats.txt")

// literal is the text of an expression that is a string, or strings one after the other. What is
// put in at run time is "*".
func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		left, known := literal(e.X)
		right, also := literal(e.Y)
		return left + right, known || also
	case *ast.ParenExpr:
		return literal(e.X)
	}
	return "*", false
}

// said is what a call says of an exception: its format, and the keys of its values.
type said struct {
	at     string
	format string
	keys   []string
}

// calls finds the calls in our source that say something of an exception, and how many of their
// arguments come before the format.
var calls = map[string]int{"New": 1, "Wrap": 2, "Recast": 2, "With": 0}

// formats reads the formats in the sources below a folder.
func formats(t *testing.T, root string) (list []said) {
	t.Helper()
	files := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if s, ok := sayingOf(t, files, call); ok {
					list = append(list, s)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func sayingOf(t *testing.T, files *token.FileSet, call *ast.CallExpr) (s said, ok bool) {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return s, false
	}
	skip, ok := calls[f.Sel.Name]
	if x, named := f.X.(*ast.Ident); !ok || f.Sel.Name != "With" && (!named || x.Name != "exception") ||
		len(call.Args) <= skip || call.Ellipsis.IsValid() {
		return s, false
	}
	s.at = files.Position(call.Pos()).String()
	if s.format, ok = literal(call.Args[skip]); !ok {
		return s, false
	}
	values := call.Args[skip+1:]
	if len(values)%2 != 0 {
		t.Errorf("%s: a value without a key", s.at)
	}
	for i := 0; i+1 < len(values); i += 2 {
		key, ok := literal(values[i])
		if !ok {
			t.Errorf("%s: a key that is no constant", s.at)
		}
		s.keys = append(s.keys, key)
	}
	if f.Sel.Name == "Recast" {
		s.format, s.keys = s.format+" (${what})", append(s.keys, "what")
	}
	return s, true
}

// Clients parse what exceptions say. testdata/formats.txt has every format in our source with the
// keys of its values: those of Leap 5.0.3, in its order, where Leap has the format.
func TestEveryFormatHasItsValues(t *testing.T) {
	table := map[string]bool{}
	for _, s := range formats(t, "..") {
		for _, part := range strings.Split(s.format, "${")[1:] {
			if key, _, _ := strings.Cut(part, "}"); !slices.Contains(s.keys, key) {
				t.Errorf("%s: no value for %s", s.at, key)
			}
		}
		for i, key := range s.keys {
			if slices.Contains(s.keys[:i], key) {
				t.Errorf("%s: %s twice", s.at, key)
			}
		}
		table[strings.Join(append([]string{strconv.Quote(s.format)}, s.keys...), " ")] = true
	}
	got := strings.Join(slices.Sorted(maps.Keys(table)), "\n") + "\n"
	const name = "testdata/formats.txt"
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for line := range strings.Lines(string(want)) {
		listed[strings.TrimSuffix(line, "\n")] = true
	}
	for line := range table {
		if !listed[line] {
			t.Errorf("%s is not in %s: say what Leap says, then go test ./antelope/exception -exception.update",
				line, name)
		}
	}
	for line := range listed {
		if !table[line] {
			t.Errorf("nothing says %s of %s", line, name)
		}
	}
}
