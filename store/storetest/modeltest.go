package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tarn/store"
)

// Model does random work on every engine and on a model of it, and compares all
// that can be seen: values, order, errors, numbers, views, and what is found
// after a crash. A crash is a Close, since Close takes no checkpoint.
func (s *Suite) Model(t *testing.T) {
	s.each(t, func(t *testing.T, e Engine) {
		e.OpenFailing = nil
		s.rounds(t, e, func(r *rand.Rand) Knobs {
			return Knobs{MemoryBytes: []int64{0, 0, 4 << 20}[r.IntN(3)]}
		})
	})
}

// ModelFull is Model under limits that are reached: a change that does not fit
// must change nothing, and taking back must always fit.
func (s *Suite) ModelFull(t *testing.T) {
	limited := *s
	limited.Engines = slices.DeleteFunc(slices.Clone(s.Engines), func(e Engine) bool { return !e.Limited })
	limited.each(t, func(t *testing.T, e Engine) {
		s.rounds(t, e, func(r *rand.Rand) Knobs {
			return Knobs{LimitBytes: 1<<20 + r.Int64N(4<<20)&^4095}
		})
	})
}

func (s *Suite) rounds(t *testing.T, e Engine, knobs func(*rand.Rand) Knobs) {
	var total counts
	for round := range s.Rounds {
		rng := source(s.Seed, e.Name, round)
		r := newRun(e, t.TempDir(), knobs(rng), rng)
		r.asks = round%2 == 1
		err := r.work(s.Ops)
		total.add(r.tally)
		if err != nil {
			t.Fatalf("seed %d, round %d, %v\n%+v\nrepeat with: %s", s.Seed, round, err, r.knobs,
				s.replay(t, fmt.Sprintf("-storetest.ops=%d -storetest.rounds=%d", s.Ops, round+1)))
		}
	}
	t.Logf("engine=%s seed=%d rounds=%d %v", e.Name, s.Seed, s.Rounds, total)
}

// counts is what a run did.
type counts struct {
	ops, revisions, checkpoints, reopens, views, full int
	failed                                            int // checkpoints that were made to fail
	seen                                              int // views checked by the reader beside the writer
	bytes                                             int // most that was found in the store at an open
}

func (t *counts) add(u counts) {
	t.ops += u.ops
	t.revisions += u.revisions
	t.checkpoints += u.checkpoints
	t.reopens += u.reopens
	t.views += u.views
	t.seen += u.seen
	t.full += u.full
	t.failed += u.failed
	t.bytes = max(t.bytes, u.bytes)
}

func (t counts) String() string {
	return fmt.Sprintf(
		"ops=%d revisions=%d checkpoints=%d reopens=%d views=%d seen_by_reader=%d full=%d failed=%d largest=%dKiB",
		t.ops, t.revisions, t.checkpoints, t.reopens, t.views, t.seen, t.full, t.failed, t.bytes>>10)
}

const (
	cursorSlots = 4
	viewSlots   = 6
	logged      = 80 // operations printed after a failure
)

// run is one store under random work, with its model.
type run struct {
	engine Engine
	dir    string
	knobs  Knobs
	rng    *rand.Rand
	keys   map[string]keyspace // by table

	s       store.Store
	m       model
	handles map[string]store.Table
	cursors [cursorSlots]*writerCursor
	views   [viewSlots]*openView

	// images are what the disk may hold: those of the acknowledged checkpoint
	// and of all that were or may have been started since.
	images   []image
	serial   int
	started  []started
	audience audience
	sabotage Sabotage // of the open store, if checkpoints may be failed
	failing  string   // the step at which they fail
	alone    bool     // without a reader beside the writer
	scarce   bool     // there may be too little space, without a limit
	asks     bool     // what each revision changed, as who publishes it does
	asked    uint64   // the revision that was asked about last

	tally counts
	last  []op
}

// started is a checkpoint under way.
type started struct {
	store.Checkpoint
	image image
}

func newRun(e Engine, dir string, k Knobs, rng *rand.Rand) *run {
	r := &run{engine: e, dir: dir, knobs: k, rng: rng, keys: map[string]keyspace{}, handles: map[string]store.Table{}}
	r.note()
	return r
}

// work opens the store, does n operations and closes it.
func (r *run) work(n int) error {
	err := r.open()
	if err != nil {
		return fmt.Errorf("first open: %w", err)
	}
	if err = r.random(n); err == nil {
		err = r.all(opCompare{true}, opReopen{})
	}
	if err == nil {
		err = r.close()
	}
	if err != nil {
		r.audience.leave()
		r.s.Close()
		return fmt.Errorf("operation %d: %w\nthe last operations:\n%s", r.tally.ops, err, r.history())
	}
	return nil
}

// random does n operations of its own choice.
func (r *run) random(n int) error {
	for range n {
		if err := r.all(r.next()); err != nil {
			return err
		}
		r.tally.ops++
		if len(r.last) > 2*logged {
			r.last = slices.Clone(r.last[logged:])
		}
		if err := r.audience.failure(); err != nil {
			return fmt.Errorf("a reader beside the writer: %w", err)
		}
	}
	return nil
}

// all does operations and stops at the first failure.
func (r *run) all(ops ...op) error {
	for _, o := range ops {
		r.last = append(r.last, o)
		if err := o.do(r); err != nil {
			return fmt.Errorf("%v: %w", o, err)
		}
	}
	return nil
}

func (r *run) history() string {
	var b strings.Builder
	for _, o := range r.last[max(0, len(r.last)-logged):] {
		fmt.Fprintln(&b, "\t", o)
	}
	return b.String()
}

// table is the model's position of a table.
func (r *run) table(name string) int { return indexOf(r.m.names, name) }

func indexOf(names []string, name string) int { return slices.Index(names, name) }

// isInternal tells the tables that the store keeps for itself.
func isInternal(name string) bool { return strings.HasPrefix(name, "store.") }

// isFull reports, where space is limited, a refusal that must have changed
// nothing.
func (r *run) isFull(err error) bool {
	if r.knobs.LimitBytes+r.knobs.MemoryBytes == 0 && !r.scarce || !errors.Is(err, store.ErrFull) {
		return false
	}
	r.tally.full++
	return true
}

// note keeps what a checkpoint at this moment would make durable.
func (r *run) note() image {
	im := r.m.image(r.engine.StoresUndo)
	r.serial++
	im.serial = r.serial
	r.images = append(r.images, im)
	return im
}

// acknowledge forgets the images that can no longer be found on disk.
func (r *run) acknowledge(im image) {
	r.tally.checkpoints++
	r.images = slices.DeleteFunc(r.images, func(i image) bool { return i.serial < im.serial })
}

func (r *run) open() error {
	s, err := r.openStore()
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	r.s = s
	if err := r.recover(); err != nil {
		return errors.Join(err, s.Close())
	}
	if !r.alone {
		r.audience.enter(s, r.m.shown)
	}
	return nil
}

// recover finds the image that the store opened at among those that it may have
// opened at, and goes on from there.
func (r *run) recover() error {
	s := r.s
	d := store.Durable{Head: s.Head(), Irreversible: s.Irreversible()}
	if s.Durable() != d {
		return fmt.Errorf("opened at %+v, but says that %+v is durable", d, s.Durable())
	}
	found := handles(s.Tables())
	for name, h := range found {
		if old, ok := r.handles[name]; ok && old != h {
			return fmt.Errorf("table %s has handle %d, was %d before", name, h, old)
		}
	}
	var differences []error
	for _, im := range slices.Backward(r.images) {
		if im.head != d.Head || im.irreversible != d.Irreversible {
			continue
		}
		err := r.matches(im.states[len(im.states)-1], found)
		if err == nil {
			r.handles = found
			r.m.open(im)
			r.acknowledge(im)
			r.tally.bytes = max(r.tally.bytes, r.m.size())
			return nil
		}
		differences = append(differences, fmt.Errorf("image %d: %w", im.serial, err))
	}
	if len(differences) > 0 {
		return fmt.Errorf("opened at %+v with another content: %w", d, errors.Join(differences...))
	}
	return fmt.Errorf("opened at %+v, should be at one of %s", d, r.revisions())
}

// matches compares the store with a state in all respects.
func (r *run) matches(want state, found map[string]store.Table) error {
	if err := catalogue(r.s.Tables(), found, want, true); err != nil {
		return err
	}
	if err := compareIDs(r.s, want); err != nil && !r.isFull(err) {
		return err
	}
	return compare(r.s, found, want, false)
}

func (r *run) revisions() string {
	var b strings.Builder
	for _, im := range r.images {
		fmt.Fprintf(&b, "(%d, %d) ", im.head, im.irreversible)
	}
	return b.String()
}

// close closes everything that is open, the store last, and takes note of what
// its checkpoints came to.
func (r *run) close() error {
	r.audience.leave()
	if err := r.audience.failure(); err != nil {
		return fmt.Errorf("beside the writer, a reader: %w", err)
	}
	r.tally.reopens++
	r.tally.seen += r.audience.seen
	for i, c := range r.cursors {
		if c != nil {
			if err := (opCursorClose{i}).do(r); err != nil {
				return err
			}
		}
	}
	for i, v := range r.views {
		if v == nil {
			continue
		}
		if err := (opViewCompare{i, true}).do(r); err != nil {
			return fmt.Errorf("view %d: %w", i, err)
		}
		if err := (opViewClose{i}).do(r); err != nil {
			return fmt.Errorf("view %d: %w", i, err)
		}
	}
	if n := r.s.Stats().OpenViews; n != 0 {
		return fmt.Errorf("%d views are open, all were closed", n)
	}
	if err := r.s.Close(); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	for _, c := range r.started {
		select {
		case <-c.Done():
		default:
			return fmt.Errorf("checkpoint of revision %d is not done after Close", c.image.head)
		}
		if err := c.Wait(); err == nil {
			r.acknowledge(c.image)
		} else if !r.mayFail(err) {
			return fmt.Errorf("checkpoint of revision %d: %w", c.image.head, err)
		}
	}
	r.started = nil
	r.heal()
	return nil
}
