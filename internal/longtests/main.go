// Command longtests prints the tests that -short leaves out, or makes shorter, as arguments of go test: those
// that ask testing.Short, themselves or through functions of their package. It owns no test and runs none.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if err := list(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "longtests:", err)
		os.Exit(1)
	}
}

// list writes the arguments for the packages that the patterns name. A test of a package that another one
// has by that name too, and no long one, is in them as well.
func list(to io.Writer, patterns []string) error {
	cmd := exec.Command("go", append([]string{"list", "-f",
		`{{.ImportPath}} {{.Dir}} {{join .TestGoFiles " "}} {{join .XTestGoFiles " "}}`}, patterns...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("listing packages: %w", err)
	}
	var packages, all []string
	lines := bufio.NewScanner(strings.NewReader(string(out)))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		var files []string
		for _, name := range fields[2:] {
			files = append(files, filepath.Join(fields[1], name))
		}
		tests, err := longTests(files)
		if err != nil {
			return err
		}
		if len(tests) > 0 {
			packages, all = append(packages, fields[0]), append(all, tests...)
		}
	}
	if len(all) == 0 {
		return errors.New("none of these packages has a test that asks testing.Short")
	}
	_, err = fmt.Fprintf(to, "-run=^(%s)$ %s\n", strings.Join(all, "|"), strings.Join(packages, " "))
	return err
}

// longTests are the names of the tests in a package's files that ask testing.Short, sorted.
func longTests(files []string) ([]string, error) {
	long := map[string]bool{}
	uses := map[string][]string{} // by a function's name, those of functions of the package whose names it mentions
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("reading tests: %w", err)
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
				asks, mentions := read(f.Body)
				long[f.Name.Name] = long[f.Name.Name] || asks
				uses[f.Name.Name] = append(uses[f.Name.Name], mentions...)
			}
		}
	}
	for grown := true; grown; {
		grown = false
		for name, list := range uses {
			if !long[name] && slices.ContainsFunc(list, func(used string) bool { return long[used] }) {
				long[name], grown = true, true
			}
		}
	}
	var tests []string
	for name, is := range long {
		if is && strings.HasPrefix(name, "Test") && name != "TestMain" {
			tests = append(tests, name)
		}
	}
	slices.Sort(tests)
	return tests, nil
}

// read tells whether a function asks testing.Short, and which names it mentions.
func read(body *ast.BlockStmt) (asks bool, mentions []string) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			asks = asks || ok && x.Name == "testing" && n.Sel.Name == "Short"
		case *ast.Ident:
			mentions = append(mentions, n.Name)
		}
		return true
	})
	return asks, mentions
}
