package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var rewrite = flag.Bool("rewrite", false, "write the golden page anew")

// begun is a work of fakes in a folder, whose time is over after so many turns.
func working(t *testing.T, dir string, turns int, list ...adversary) (*work, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	w, err := openWork("..", options{length: time.Hour, turn: time.Second, dir: dir, atOnce: 1, seed: 5}, list, &out)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.close() }) // a second time it fails, harmlessly
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	had := 0
	start := time.Now()
	w.grace = 2 * time.Second
	w.build = func(context.Context, *adversary) (string, error) { return self, nil }
	w.now = func() time.Time {
		if had > turns {
			return start.Add(2 * time.Hour)
		}
		return time.Now()
	}
	build := w.build
	w.build = func(ctx context.Context, a *adversary) (string, error) {
		had++
		return build(ctx, a)
	}
	return w, &out
}

// ends are the journal's ends of turns.
func ends(w *work) (list []entry) {
	for _, e := range w.journal.entries {
		if e.Event == ended {
			list = append(list, e)
		}
	}
	return list
}

// run has so many turns, one after the other.
func (w *work) some(t *testing.T, turns int) {
	t.Helper()
	w.deadline = time.Now().Add(time.Hour)
	for range turns {
		i, turn, more := w.next()
		if !more || i < 0 {
			t.Fatal("nobody is left")
		}
		if err := w.one(t.Context(), i, turn); err != nil {
			t.Fatal(err)
		}
		w.states[i].working = false
	}
}

// However an adversary ends, the turn has a verdict, and what was found has its seed, the
// command that repeats it, and what was said.
func TestHoweverAnAdversaryEndsItIsJudged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		outcome outcome
		says    string // on the page
		count   int
	}{
		"passes":       {passed, "Nothing was found", 1},
		"counts":       {passed, "7 times", 7},
		"skips":        {skipped, "there is no judge", 0},
		"finds":        {failed, "row 7 of seed 5 is another", 0},
		"panics":       {panicked, "panic: no such row", 0},
		"hangs":        {hung, "test timed out", 0},
		"stops":        {hung, "TARN_SOAK_FAKE=stops", 0},
		"dies":         {killed, "signal: killed", 0},
		"leaves":       {failed, "WaitDelay expired", 0},
		"races":        {racy, "Write at 0x1 by goroutine 2", 0},
		"lacks a part": {passed, "| fakes | lacks a part: TestFake/part | not root |", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := fake(name)
			if c.outcome == hung {
				a.Limit = time.Second
			}
			if name == "counts" {
				a.Count = struckPattern("kills")
			}
			w, _ := working(t, t.TempDir(), 1, a)
			if name == "hangs" { // it is to say where by itself, as soon as it has a processor
				w.grace = time.Minute
			}
			w.some(t, 1)
			e := ends(w)[0]
			if e.Outcome != c.outcome || e.Count != c.count || e.Seed != 5 {
				t.Errorf("%+v", e)
			}
			page, err := os.ReadFile(filepath.Join(w.options.dir, pageName))
			if err != nil || !strings.Contains(string(page), c.says) {
				t.Errorf("the page has no %q: %v\n%s", c.says, err, page)
			}
			if !c.outcome.bad() {
				return
			}
			command := "go test -v -count=1 -timeout=" + a.Limit.String() + " ./soak '-run=^TestFake$' -fake.seed=5"
			said, err := os.ReadFile(filepath.Join(w.options.dir, e.Output))
			if err != nil || !strings.Contains(string(said), command) || !strings.Contains(string(page), command) {
				t.Errorf("%v, %s\n%s", err, said, page)
			}
			if e.Again != string(c.outcome) {
				t.Errorf("again it ends with %q", e.Again)
			}
		})
	}
}

// What one turn cannot build or find is said, and is no reason to try for ever.
func TestWhatCannotBeBuiltIsFoundOnce(t *testing.T) {
	t.Parallel()
	w, _ := working(t, t.TempDir(), 9, fake("passes"))
	w.build = func(context.Context, *adversary) (string, error) { return "", errors.New("undefined: x") }
	w.some(t, 1)
	if e := ends(w)[0]; e.Outcome != unbuilt || !strings.Contains(e.Text, "undefined: x") {
		t.Errorf("%+v", e)
	}
	if _, _, more := w.next(); more {
		t.Error("it is tried again")
	}
	a := fake("passes")
	a.Run = "^TestNothing$"
	w, _ = working(t, t.TempDir(), 1, a)
	w.some(t, 1)
	if e := ends(w)[0]; e.Outcome != failed || !strings.Contains(e.Text, "no test of ./soak is called") {
		t.Errorf("%+v", e)
	}
}

// A run that was told to stop, or was killed, goes on with the turn that it was at, and no turn
// is had twice.
func TestAStoppedRunGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, _ := working(t, dir, 9, fake("waits"))
	ctx, cancel := context.WithCancel(t.Context())
	journal := filepath.Join(dir, journalName)
	go func() { // once the turn has begun
		defer cancel()
		for begun := false; !begun && t.Context().Err() == nil; time.Sleep(10 * time.Millisecond) {
			text, _ := os.ReadFile(journal) // which may not be there yet
			begun = bytes.Contains(text, []byte(`"event":"turn"`))
		}
	}()
	if err := w.all(ctx); err != nil {
		t.Fatal(err)
	}
	if len(ends(w)) > 0 || len(open(w.journal.entries)) != 1 {
		t.Fatalf("%+v", w.journal.entries)
	}
	if err := w.close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(journal, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(`{"at":"2026-01-02T03:04`) // the power went
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	a := fake("waits")
	a.Env = []string{fakeVariable + "=passes"}
	w, _ = working(t, dir, 2, a)
	if err := w.all(t.Context()); err != nil {
		t.Fatal(err)
	}
	var seeds []uint64
	for _, e := range ends(w) {
		seeds = append(seeds, e.Seed)
	}
	if want := []uint64{5, 5 + stride}; len(seeds) < 2 || !slices.Equal(seeds[:2], want) {
		t.Errorf("seeds %v, want %v and so on", seeds, want)
	}
	if err := w.close(); err != nil {
		t.Fatal(err)
	}
	w, out := working(t, dir, 0, a)
	w.options.length = time.Nanosecond
	if err := w.all(t.Context()); err != nil || !strings.Contains(out.String(), "say a longer -for") ||
		len(ends(w)) != len(seeds) {
		t.Errorf("%v: %s", err, out)
	}
}

// A folder is one run's: one process works in it, its seeds stay, and a journal that is damaged
// is not gone on with.
func TestAFolderIsOneRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, _ := working(t, dir, 9, fake("passes"))
	o := w.options
	if _, err := openWork("..", o, w.list, io.Discard); err == nil ||
		!strings.Contains(err.Error(), "another soak works in this folder") {
		t.Error(err)
	}
	if err := w.journal.add(entry{Event: began, First: 5}); err != nil {
		t.Fatal(err)
	}
	if err := w.close(); err != nil {
		t.Fatal(err)
	}
	o.seed = 6
	if _, err := openWork("..", o, w.list, io.Discard); err == nil ||
		!strings.Contains(err.Error(), "began with seed 5") {
		t.Error(err)
	}
	o.seed = 0
	if err := os.WriteFile(filepath.Join(dir, journalName), []byte("{}\nnonsense\n{}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := openWork("..", o, w.list, io.Discard); err == nil || !strings.Contains(err.Error(), "at offset 3") {
		t.Error(err)
	}
}

// Kinds share the time, those of a kind share its part, and sizes follow the time that a turn
// shall take.
func TestTheTimeIsShared(t *testing.T) {
	t.Parallel()
	one, other, third := fake("a"), fake("b"), fake("c")
	third.Kind = "others"
	w, _ := working(t, t.TempDir(), 9, one, other, third)
	w.deadline = time.Now().Add(time.Hour)
	spent := map[string]float64{"a": 7, "b": 13, "c": 11}
	had := map[string]int{}
	for range 3000 {
		i, turn, more := w.next()
		if !more {
			t.Fatal("nobody is left")
		}
		if name := w.list[i].Name; turn.Seed != 5+uint64(had[name])*stride {
			t.Fatalf("%s has seed %d in turn %d", name, turn.Seed, had[name])
		}
		had[w.list[i].Name]++
		w.states[i].seconds += spent[w.list[i].Name]
		w.states[i].working = false
	}
	a, b, c := 7*had["a"], 13*had["b"], 11*had["c"]
	if max(a, b)-min(a, b) > 13 || max(a+b, c)-min(a+b, c) > 30 {
		t.Errorf("a %d s, b %d s, c %d s", a, b, c)
	}
	sized := adversary{Size: 10, Most: 500}
	for _, c := range []struct {
		n    int
		took time.Duration
		want int
	}{{10, time.Minute, 10}, {10, time.Second, 40}, {10, time.Hour, 1}, {400, time.Second, 500}, {10, 0, 40},
		{10, 2 * time.Minute, 5}} {
		if got := sized.nextSize(c.n, c.took, time.Minute); got != c.want {
			t.Errorf("after %d in %v: %d, want %d", c.n, c.took, got, c.want)
		}
	}
	if plain := new(adversary); plain.nextSize(1, time.Second, time.Hour) != 1 {
		t.Error("what has no size has another")
	}
}

// A test that fails now and then is named, with how often it did what.
func TestWhatDoesNotAlwaysEndAlikeIsNamed(t *testing.T) {
	t.Parallel()
	list := []adversary{fake("changes"), fake("passes"), fake("skips")}
	for i := range list {
		list[i].Whole = true
	}
	w, _ := working(t, t.TempDir(), 9, list...)
	w.options.flaky, w.first = true, stride
	w.some(t, 9)
	page, err := os.ReadFile(filepath.Join(w.options.dir, pageName))
	if err != nil || !regexp.MustCompile(`\n\| changes \| TestFake \| 2 \| 2 \| 0 \|\n`).Match(page) ||
		strings.Contains(string(page), "| passes | TestFake") {
		t.Errorf("%v\n%s", err, page)
	}
	for _, e := range ends(w) {
		if want := fmt.Sprint("GOMAXPROCS=", 1+e.Seed/stride%4, " "); e.Command != "" &&
			!strings.Contains(e.Command, want) {
			t.Errorf("%s has no %s", e.Command, want)
		}
	}
}

// The whole command, over a package that is really built.
func TestSuitesAreBuiltAndRun(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program; not with -short")
	}
	t.Parallel()
	dir := t.TempDir()
	var out bytes.Buffer
	o, err := parse([]string{"flaky", "-for", "3s", "-load", "1", "-dir", dir, "./internal/progress"}, &out)
	if err != nil {
		t.Fatal(err)
	}
	o.length = 8 * time.Minute // to build; then one turn is enough
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			if page, err := os.ReadFile(filepath.Join(dir, pageName)); err == nil &&
				strings.Contains(string(page), "./internal/progress") {
				cancel()
			}
			time.Sleep(100 * time.Millisecond)
		}
	}()
	found, err := run(ctx, o, &out)
	page, _ := os.ReadFile(filepath.Join(dir, pageName))
	if err != nil || found != 0 || !strings.Contains(string(page), "**Nothing was found.**") ||
		!strings.Contains(string(page), "| suite | ./internal/progress |") {
		t.Errorf("%d, %v\n%s\n%s", found, err, page, out.String())
	}
}

func TestWhatIsAskedForIsChecked(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]string{
		"./store":            "packages are for `soak flaky`",
		"-for 0s":            "want a time above zero",
		"-turn 1ms":          "want a second or more",
		"-at-once 0":         "want one or more",
		"-only (":            "-only: error parsing regexp",
		"flaky -load -1":     "want zero or more",
		"flaky -judges":      "flag provided but not defined",
		"-list -only nobody": "nothing fits",
	} {
		o, err := parse(append(strings.Fields(words), "-dir", t.TempDir()), io.Discard)
		if strings.HasPrefix(words, "./") {
			o, err = parse([]string{"-dir", t.TempDir(), words}, io.Discard)
		}
		if err == nil {
			_, err = run(t.Context(), o, io.Discard)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", words, err, want)
		}
	}
}
