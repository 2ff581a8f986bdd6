package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// pageName is the file that people read.
const pageName = "page.md"

// finding is what one adversary found, alike, in any number of turns.
type finding struct {
	first entry // with its text and command
	seeds []uint64
	again map[string]int // how the same turns ended the second time
}

// findings are the different things that were found, the first one first: the same tests of the
// same adversary in the same way are one. Text is not compared: numbers in it differ.
func findings(entries []entry) (list []*finding) {
	known := map[string]*finding{}
	for _, e := range entries {
		if e.Event != ended || !e.Outcome.bad() {
			continue
		}
		key := strings.Join(append([]string{e.Adversary, string(e.Outcome)}, e.Failed...), "\x00")
		f := known[key]
		if f == nil {
			f = &finding{first: e, again: map[string]int{}}
			known[key], list = f, append(list, f)
		}
		f.seeds = append(f.seeds, e.Seed)
		if e.Again != "" {
			f.again[e.Again]++
		}
	}
	return list
}

// page writes the page of all that the journal has.
func (w *work) page() error {
	var b bytes.Buffer
	w.report(&b)
	name := filepath.Join(w.options.dir, pageName)
	if err := os.WriteFile(name+".new", b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return os.Rename(name+".new", name)
}

// report makes the page.
func (w *work) report(b *bytes.Buffer) {
	entries := w.journal.entries
	list := findings(entries)
	title := "Soak test: results"
	if w.options.flaky {
		title = "Tests that were run again and again"
	}
	fmt.Fprintf(b, "# %s\n\n", title)
	w.circumstances(b)
	if w.options.flaky {
		w.changing(b)
	}
	if len(list) == 0 {
		b.WriteString("\n**Nothing was found.**\n")
	} else {
		fmt.Fprintf(b, "\n**Found: %d**\n", len(list))
	}
	for i, f := range list {
		f.report(b, i+1)
	}
	w.writeTried(b)
	w.writeUntried(b)
}

// circumstances say of what, where, when, and how long.
func (w *work) circumstances(b *bytes.Buffer) {
	var commits, machines []string
	starts := 0
	for _, e := range w.journal.entries {
		if e.Event != began {
			continue
		}
		starts++
		if !slices.Contains(commits, e.Commit) {
			commits = append(commits, e.Commit)
		}
		if !slices.Contains(machines, e.Machine) {
			machines = append(machines, e.Machine)
		}
	}
	if starts == 0 {
		return
	}
	first, last := w.journal.entries[0].At, w.journal.entries[len(w.journal.entries)-1].At
	fmt.Fprintf(b, "| | |\n|---|---|\n| commit | %s |\n| machine | %s |\n", strings.Join(commits, "; "),
		strings.Join(machines, "; "))
	fmt.Fprintf(b, "| from, to | %s, %s |\n", first.UTC().Format("2006-01-02 15:04"),
		last.UTC().Format("2006-01-02 15:04 MST"))
	fmt.Fprintf(b, "| at work | %s, in %d %s |\n", timeWorked(w.journal.entries).Round(time.Second), starts,
		plural(starts, "start", "starts"))
}

func plural(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

// report tells of one finding.
func (f *finding) report(b *bytes.Buffer, number int) {
	e := &f.first
	what := strings.Join(outermost(e.Failed), ", ")
	if what == "" {
		what = e.Adversary
	}
	fmt.Fprintf(b, "\n## %d. %s: %s\n\n", number, what, e.Outcome)
	fmt.Fprintf(b, "Adversary: %s. Met %d %s, with seed %s.",
		e.Adversary, len(f.seeds), plural(len(f.seeds), "time", "times"), some(f.seeds))
	for _, how := range sortedKeys(f.again) {
		fmt.Fprintf(b, " The same turn again, %d %s: %s.", f.again[how], plural(f.again[how], "time", "times"), how)
	}
	fmt.Fprintf(b, " All that it said: `%s`.\n\n    %s\n\n", e.Output, e.Command)
	fmt.Fprintf(b, "```text\n%s\n```\n", strings.ReplaceAll(e.Text, "```", "'''"))
}

// outermost are the tests whose parts are left out.
func outermost(tests []string) []string {
	var list []string
	for _, name := range tests {
		top, _, _ := strings.Cut(name, "/")
		if !slices.Contains(list, top) {
			list = append(list, top)
		}
	}
	return list
}

// some names a few numbers of many.
func some(seeds []uint64) string {
	const most = 8
	var words []string
	for _, s := range seeds[:min(len(seeds), most)] {
		words = append(words, fmt.Sprint(s))
	}
	if more := len(seeds) - most; more > 0 {
		words = append(words, fmt.Sprintf("and %d more, which the journal has", more))
	}
	return strings.Join(words, ", ")
}

// sum is what an adversary did in all its turns.
type sum struct {
	turns, bad, count int
	seconds           float64
	first, last       uint64
	skipped           map[string]string
}

// sums are of the adversaries by name.
func sums(entries []entry) map[string]*sum {
	list := map[string]*sum{}
	for _, e := range entries {
		if e.Event != ended {
			continue
		}
		s := list[e.Adversary]
		if s == nil {
			s = &sum{first: e.Seed, last: e.Seed}
			list[e.Adversary] = s
		}
		s.turns++
		s.seconds += e.Seconds
		s.count += e.Count
		s.first, s.last, s.skipped = min(s.first, e.Seed), max(s.last, e.Seed), e.Skipped
		if e.Outcome.bad() {
			s.bad++
		}
	}
	return list
}

// writeTried is the table of who had a turn.
func (w *work) writeTried(b *bytes.Buffer) {
	all := sums(w.journal.entries)
	fmt.Fprintf(b,
		"\n## What was tried\n\nThe seeds of an adversary are in steps of %d from the first to the last.\n\n", stride)
	b.WriteString(
		"| kind | adversary | what it does | how often | turns, of these bad | time | first and last seed " +
			"|\n|---|---|---|---|---|---|---|\n")
	kinds := map[string]*sum{}
	var order []string
	for i := range w.list {
		a := &w.list[i]
		s := all[a.Name]
		if s == nil || s.turns == 0 || w.states[i].out != "" && s.count == 0 && s.bad == 0 {
			continue
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %d, %d | %s | %d, %d |\n", a.Kind, a.Name, a.What, formatCounts(a, s),
			s.turns, s.bad, length(s.seconds), s.first, s.last)
		k := kinds[a.Kind]
		if k == nil {
			k = &sum{}
			kinds[a.Kind], order = k, append(order, a.Kind)
		}
		k.turns, k.bad, k.seconds = k.turns+s.turns, k.bad+s.bad, k.seconds+s.seconds
	}
	b.WriteString("\n| kind | turns | bad | time |\n|---|---|---|---|\n")
	for _, kind := range order {
		k := kinds[kind]
		fmt.Fprintf(b, "| %s | %d | %d | %s |\n", kind, k.turns, k.bad, length(k.seconds))
	}
}

func formatCounts(a *adversary, s *sum) string {
	if a.Unit == "" {
		return ""
	}
	return fmt.Sprintf("%d %s", s.count, a.Unit)
}

func length(seconds float64) string {
	return time.Duration(seconds * float64(time.Second)).Round(time.Second).String()
}

// writeUntried is the table of who had none, and of the parts that were left out of turns.
func (w *work) writeUntried(b *bytes.Buffer) {
	all := sums(w.journal.entries)
	var rows []string
	for i := range w.list {
		a := &w.list[i]
		s, why := all[a.Name], w.states[i].out
		if why == "" {
			why = a.missing(w.options)
		}
		if why == "" && s == nil {
			why = "its turn has not come"
		}
		if why != "" {
			rows = append(rows, fmt.Sprintf("| %s | %s | %s |\n", a.Kind, a.Name, firstLine(why)))
			continue
		}
		for _, test := range sortedKeys(s.skipped) {
			rows = append(rows, fmt.Sprintf("| %s | %s: %s | %s |\n", a.Kind, a.Name, test, firstLine(s.skipped[test])))
		}
	}
	if len(rows) > 0 {
		b.WriteString("\n## What was not tried\n\n| kind | adversary, or its part | why |\n|---|---|---|\n" +
			strings.Join(rows, ""))
	}
}

// firstLine is what a cell of a table can have of a text.
func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return strings.ReplaceAll(s, "|", `\|`)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, cmp.Compare[string])
	return keys
}
