package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// keepInput moves the input on which a fuzz target fails, which Go leaves among the package's
// tests, to what was found, and has the command bring it back.
func (w *work) keepInput(a *adversary, e *entry) error {
	m := failingInput.FindStringSubmatch(e.Text)
	if m == nil {
		return nil
	}
	name := filepath.FromSlash(m[1])
	from, to := filepath.Join(w.root, a.Package, name), filepath.Join(w.options.dir,
		"findings", strings.ReplaceAll(m[1], "/", "-"))
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o644)
	}
	if err == nil {
		err = os.Remove(from)
	}
	if err != nil {
		return fmt.Errorf("keep the input on which %s fails: %w", a.Fuzz, err)
	}
	e.Command = fmt.Sprintf("mkdir -p %s && cp %s %s && go test -v -run '^%s$/^%s$' %s",
		quoteWord(filepath.Dir(from)), quoteWord(to), quoteWord(from), a.Fuzz, filepath.Base(name), a.Package)
	return nil
}

var failingInput = regexp.MustCompile(`Failing input written to (testdata/fuzz/\S+)`)

// fuzzers are the fuzz targets of all packages below the root.
func fuzzers(root string, turn time.Duration) ([]adversary, error) {
	var list []adversary
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || isModule(name)) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, "_test.go") {
			return nil
		}
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(name))
		if err != nil {
			return err
		}
		pkg := "./" + filepath.ToSlash(rel)
		for _, m := range target.FindAllSubmatch(src, -1) {
			f := string(m[1])
			list = append(list, adversary{Kind: "fuzzing", Name: "fuzz " + pkg + " " + f, Package: pkg, Fuzz: f,
				What:  "inputs that grow into the code, to what the target says must hold",
				Args:  []string{"-test.fuzztime=" + turn.String(), "-test.fuzzminimizetime=1x", "-test.parallel=1"},
				Count: execs, Unit: "inputs", Limit: 2*turn + 5*time.Minute})
		}
		return nil
	})
	return list, err
}

var (
	target = regexp.MustCompile(`(?m)^func (Fuzz[A-Za-z0-9_]*)\(`)
	execs  = regexp.MustCompile(`^fuzz: .*execs: (\d+)`)
)

func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}
