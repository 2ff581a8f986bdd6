package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// suites are the tests of packages, each package's one adversary: its turns run all of them in
// random order.
func suites(ctx context.Context, root string, o options) ([]adversary, error) {
	form := "{{.Dir}}\t{{len .TestGoFiles}}\t{{len .XTestGoFiles}}"
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-f", form}, o.packages...)...)
	var said bytes.Buffer
	cmd.Dir, cmd.Stderr = root, &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list the packages %s: %w: %s",
			strings.Join(o.packages, " "), err, bytes.TrimSpace(said.Bytes()))
	}
	var list []adversary
	for line := range strings.Lines(string(out)) {
		words := strings.Split(strings.TrimSpace(line), "\t")
		if len(words) != 3 || words[1] == "0" && words[2] == "0" {
			continue
		}
		rel, err := filepath.Rel(root, words[0])
		if err != nil {
			return nil, err
		}
		pkg := "./" + filepath.ToSlash(rel)
		a := adversary{Kind: "suite", Name: pkg, What: "all tests in random order", Package: pkg, Whole: true,
			Args: []string{"-test.shuffle=$seed"}, Unit: "tests", Limit: 20 * time.Minute}
		if !o.long {
			a.Args = append(a.Args, "-test.short")
		}
		list = append(list, a)
	}
	return list, nil
}

// burden keeps processors busy until the returned function is called.
func burden(loops int) (stop func()) {
	end := make(chan struct{})
	var group sync.WaitGroup
	for range loops {
		group.Go(func() {
			for n := uint(0); ; n++ {
				if n&(1<<20-1) == 0 {
					select {
					case <-end:
						return
					default:
					}
				}
			}
		})
	}
	return func() {
		close(end)
		group.Wait()
	}
}

// changing is the table of the tests that did not always end alike.
func (w *work) changing(b *bytes.Buffer) {
	type count struct{ bad, skipped int }
	tests := map[string]*count{}
	runs := map[string]int{}
	at := func(e *entry, test string) *count {
		key := e.Adversary + " " + test
		if tests[key] == nil {
			tests[key] = &count{}
		}
		return tests[key]
	}
	for _, e := range w.journal.entries {
		if e.Event != ended {
			continue
		}
		runs[e.Adversary]++
		for _, test := range e.Failed {
			at(&e, test).bad++
		}
		for test := range e.Skipped {
			at(&e, test).skipped++
		}
		if e.Outcome.bad() && len(e.Failed) == 0 {
			at(&e, "("+string(e.Outcome)+")").bad++
		}
	}
	b.WriteString("\n## Tests that did not always end alike, or never well\n\n")
	var rows []string
	for _, key := range sortedKeys(tests) {
		c := tests[key]
		pkg, test, _ := strings.Cut(key, " ")
		n := runs[pkg]
		if c.bad == 0 && c.skipped == n {
			continue
		}
		rows = append(rows, fmt.Sprintf("| %s | %s | %d | %d | %d |\n", pkg, test, n-c.bad-c.skipped, c.bad, c.skipped))
	}
	if len(rows) == 0 {
		b.WriteString("None.\n")
		return
	}
	b.WriteString("| package | test | passed | bad | skipped |\n|---|---|---|---|---|\n" + strings.Join(rows, ""))
}
