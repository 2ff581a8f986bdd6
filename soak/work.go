package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// stride is between the seeds of an adversary's turns: tests take the seeds that follow theirs
// for what they do in number.
const stride = 1_000_000

// work is a run of the command: whose turn it is, and what became of it.
type work struct {
	options  options
	root     string
	list     []adversary
	out      io.Writer
	programs programs
	journal  *journal
	build    func(ctx context.Context, a *adversary) (string, error)
	now      func() time.Time
	grace    time.Duration // of programs that hang
	machine  string
	commit   string
	first    uint64
	mu       sync.Mutex // all below, and the journal
	states   []standing // of list
	resumed  []entry    // turns that were begun and did not end
	failure  error      // of ours; nothing goes on after it
	deadline time.Time
}

// standing is how far an adversary is.
type standing struct {
	turns   int // that have begun, the next one's number
	seconds float64
	size    int
	working bool
	out     string // why it has no further turns
}

// openWork goes on with what the folder has, or begins.
func openWork(root string, o options, list []adversary, out io.Writer) (*work, error) {
	for i := range list {
		if err := list[i].check(); err != nil && !o.flaky {
			return nil, err
		}
	}
	for _, dir := range []string{"programs", "findings"} {
		if err := os.MkdirAll(filepath.Join(o.dir, dir), 0o755); err != nil {
			return nil, fmt.Errorf("make the folder for what is done: %w", err)
		}
	}
	j, err := openJournal(o.dir)
	if err != nil {
		return nil, err
	}
	w := &work{options: o, root: root, list: list, out: out, journal: j, now: time.Now, grace: time.Minute,
		states: make([]standing, len(list))}
	w.programs = programs{root: root, dir: filepath.Join(o.dir, "programs"), built: map[string]string{}}
	w.build = w.programs.build
	if err := w.recall(); err != nil {
		return nil, errors.Join(err, j.close())
	}
	return w, nil
}

func (w *work) close() error { return w.journal.close() }

// recall learns from the journal how far everybody is.
func (w *work) recall() error {
	at := map[string]int{}
	for i := range w.list {
		at[w.list[i].Name] = i
		w.states[i].size = max(1, w.list[i].Size)
	}
	for _, e := range w.journal.entries {
		if e.Event == began && w.first == 0 {
			w.first = e.First
		}
		i, ours := at[e.Adversary]
		if !ours {
			continue
		}
		s := &w.states[i]
		switch e.Event {
		case begun:
			s.turns = max(s.turns, int((e.Seed-w.first)/stride)+1)
		case ended:
			s.seconds += e.Seconds
			if e.Outcome != passed {
				continue
			}
			s.size = w.list[i].nextSize(e.N, time.Duration(e.Seconds*float64(time.Second)), w.options.turn)
		}
	}
	w.resumed = open(w.journal.entries)
	for _, e := range w.resumed {
		if e.Scratch != "" && strings.HasPrefix(filepath.Base(e.Scratch), scratchName) {
			if err := os.RemoveAll(e.Scratch); err != nil {
				return fmt.Errorf("remove what a turn that was stopped left: %w", err)
			}
		}
	}
	if w.first != 0 && w.options.seed != 0 && w.first != w.options.seed {
		return fmt.Errorf("-seed %d: the turns in %s began with seed %d; say another -dir to begin anew",
			w.options.seed, w.options.dir, w.first)
	}
	if w.first == 0 {
		w.first = w.options.seed
	}
	if w.first == 0 {
		w.first = uint64(w.now().Unix())
	}
	return nil
}

// all has turns until the time is over or ctx ends, and writes the page after each.
func (w *work) all(ctx context.Context) error {
	rest := w.options.length - timeWorked(w.journal.entries)
	if rest <= 0 {
		fmt.Fprintf(w.out, "%v of work are done; for more say a longer -for.\n", w.options.length)
		return w.page()
	}
	w.commit, w.machine = describe(ctx, w.root)
	if err := w.journal.add(entry{At: w.now(), Event: began, Commit: w.commit, Machine: w.machine,
		First: w.first}); err != nil {
		return err
	}
	w.deadline = w.now().Add(rest)
	stop := burden(w.options.load)
	defer stop()
	var group sync.WaitGroup
	for range w.options.atOnce {
		group.Go(func() { w.turns(ctx) })
	}
	group.Wait()
	err := w.failure
	if err == nil {
		err = w.journal.add(entry{At: w.now(), Event: left})
	}
	return errors.Join(err, w.page())
}

// turns has one after the other.
func (w *work) turns(ctx context.Context) {
	for ctx.Err() == nil {
		i, t, more := w.next()
		if !more {
			return
		}
		if i < 0 { // all that are left have their turn now
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
			continue
		}
		err := w.one(ctx, i, t)
		w.mu.Lock()
		w.states[i].working = false
		w.failure = errors.Join(w.failure, err)
		w.mu.Unlock()
	}
}

// next says whose turn is next, with -1 for nobody's at the moment.
func (w *work) next() (i int, t turn, more bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failure != nil || !w.now().Before(w.deadline) {
		return 0, t, false
	}
	for len(w.resumed) > 0 {
		e := w.resumed[0]
		w.resumed = w.resumed[1:]
		for i := range w.list {
			if w.list[i].Name == e.Adversary && w.list[i].missing(w.options) == "" {
				w.states[i].working = true
				return i, e.turn, true
			}
		}
	}
	if i, more = w.least(); i < 0 {
		return i, t, more
	}
	s := &w.states[i]
	t = turn{Seed: w.first + uint64(s.turns)*stride, N: s.size}
	s.turns, s.working = s.turns+1, true
	return i, t, true
}

// least is who had the least of all: of the kinds the one whose adversaries had the least time
// together, of that kind the one who had the least. Of tests that are run again and again it is
// the package with the fewest turns. More tells whether anybody is left at all.
func (w *work) least() (best int, more bool) {
	spent := map[string]float64{}
	for i, s := range w.states {
		spent[w.list[i].Kind] += s.seconds
		if s.working { // it counts as one who had a turn
			spent[w.list[i].Kind] += w.options.turn.Seconds()
		}
	}
	best = -1
	for i := range w.states {
		s := &w.states[i]
		if s.out == "" {
			s.out = w.list[i].missing(w.options)
		}
		if s.out != "" {
			continue
		}
		more = true
		if s.working {
			continue
		}
		if best < 0 || w.before(i, best, spent) {
			best = i
		}
	}
	return best, more
}

func (w *work) before(i, j int, spent map[string]float64) bool {
	a, b := &w.states[i], &w.states[j]
	if w.options.flaky {
		return a.turns < b.turns
	}
	ka, kb := w.list[i].Kind, w.list[j].Kind
	if ka != kb {
		return spent[ka] < spent[kb]
	}
	if a.seconds != b.seconds {
		return a.seconds < b.seconds
	}
	return a.turns < b.turns
}

// scratchName begins the names of the folders for turns' temporary files. It is short: paths of
// sockets are.
const scratchName = "soak-"

// one has a turn and remembers it. Its error is ours; what the adversary finds is none.
func (w *work) one(ctx context.Context, i int, t turn) error {
	a := &w.list[i]
	scratch, err := os.MkdirTemp("", scratchName)
	if err != nil {
		return fmt.Errorf("make a folder for temporary files: %w", err)
	}
	defer os.RemoveAll(scratch)
	e := entry{At: w.now(), Event: begun, Adversary: a.Name, Kind: a.Kind, turn: t, Scratch: scratch}
	if err := w.add(e); err != nil {
		return err
	}
	e.Event, e.Scratch = ended, ""
	// Building may take minutes, which the end of the time does not wait for. It is no turn.
	building, cancel := context.WithDeadline(ctx, w.deadline)
	program, err := w.build(building, a)
	over := building.Err() != nil
	cancel()
	if over && err != nil { // it is had again
		return nil
	}
	var text string
	start := w.now()
	if err != nil {
		text = err.Error()
		e.verdict = verdict{Outcome: unbuilt, Text: text}
	} else {
		e.verdict, text = w.attempt(ctx, a, t, program, scratch)
	}
	e.Seconds = w.now().Sub(start).Seconds()
	if ctx.Err() != nil { // it is had again
		return nil
	}
	if e.Outcome.bad() {
		if err := w.keepFinding(ctx, a, &e, text, program, scratch); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return nil
		}
	}
	e.At = w.now()
	if err := w.add(e); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s := &w.states[i]
	s.seconds += e.Seconds
	switch e.Outcome {
	case passed:
		s.size = a.nextSize(t.N, time.Duration(e.Seconds*float64(time.Second)), w.options.turn)
	case skipped, unbuilt: // and it will be the next time
		s.out = cmp.Or(e.Text, "it says no reason")
	}
	w.say(e)
	return w.page()
}

// attempt runs a turn's program, and returns the verdict with all that it is made of.
func (w *work) attempt(ctx context.Context, a *adversary, t turn, program, scratch string) (verdict, string) {
	r := &reading{count: a.Count, last: a.Fuzz != ""}
	run := trial{program: program, folder: filepath.Join(w.root, a.Package), scratch: scratch, limit: a.limit(),
		grace: w.grace, env: a.environment(t)}
	run.args = append(bounds(run.limit), a.arguments(t)...)
	if a.Fuzz != "" {
		run.args = append(run.args, "-test.fuzzcachedir="+
			filepath.Join(w.options.dir, "corpus", filepath.FromSlash(a.Package)))
	}
	v := r.end(a, t, run.run(ctx, r))
	return v, r.text()
}

// keepFinding keeps what a turn said, and has the turn again to see whether it ends alike.
func (w *work) keepFinding(ctx context.Context, a *adversary, e *entry, text, program, scratch string) error {
	e.Command = a.command(e.turn)
	name := strings.NewReplacer(" ", "-", "/", "-", "'", "").Replace(strings.TrimPrefix(a.Name, "./"))
	e.Output = filepath.Join("findings", fmt.Sprintf("%s-%d.txt", name, e.Seed))
	if err := os.WriteFile(filepath.Join(w.options.dir, e.Output), []byte(e.Command+"\n\n"+text), 0o644); err != nil {
		return fmt.Errorf("keep what a turn said: %w", err)
	}
	if e.Outcome == unbuilt {
		return nil
	}
	if a.Fuzz != "" {
		return w.keepInput(a, e)
	}
	again, _ := w.attempt(ctx, a, e.turn, program, scratch)
	e.Again = string(again.Outcome)
	return nil
}

// add writes an entry, one at a time.
func (w *work) add(e entry) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.journal.add(e)
}

// say tells of an end. The caller has the lock.
func (w *work) say(e entry) {
	what := string(e.Outcome)
	if e.Outcome.bad() {
		what = strings.ToUpper(what) + "  " + e.Command
	} else if e.Outcome == skipped {
		what += ": " + e.Text
	}
	fmt.Fprintf(w.out, "%s  %-32s seed %d, n %d, %.0f s: %s\n", e.At.Format(time.TimeOnly), e.Adversary, e.Seed, e.N,
		e.Seconds, what)
}
