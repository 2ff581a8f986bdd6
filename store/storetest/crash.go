package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"tarn/store"
)

// openPatience is how long a process may take to open a small store, or to make a few checkpoints of it on a
// disk that is slow.
const openPatience = 5 * time.Minute

// ordeal lets one worker after another work on a store, strikes each down at a
// random moment, and judges what the next open finds.
type ordeal struct {
	engine   Engine
	dir      string // of the store and the block log
	job      job
	rng      *rand.Rand
	timeline *timeline
	// strike ends the worker and returns what it had reported before that.
	strike func(p *process) ([]string, error)

	opening time.Duration // how long a worker takes to open, about

	// What must not be lost: the last image that was acknowledged or found.
	acked        label
	irreversible uint64

	struck, judged, opened, durable int // counts
	undone                          uint64
}

// run strikes n workers.
func (o *ordeal) run(n int) error {
	for o.struck < n {
		o.job.Epoch++
		if err := o.round(); err != nil {
			return fmt.Errorf("round %d: %w", o.job.Epoch, err)
		}
		// Sometimes the next worker meets what the last one left, unopened.
		if o.struck < n && o.rng.IntN(4) == 0 {
			continue
		}
		if err := o.judge(); err != nil {
			return fmt.Errorf("after round %d: %w", o.job.Epoch, err)
		}
	}
	return nil
}

func (o *ordeal) round() error {
	begun := time.Now()
	p, err := start(o.job, false)
	if err != nil {
		return err
	}
	defer p.kill() //nolint:errcheck // only after a failure is it still there
	if err := o.await(p, begun); err != nil {
		return err
	}
	lines, err := o.strike(p)
	if err != nil {
		return err
	}
	o.struck++
	for _, line := range lines {
		if strings.HasPrefix(line, "failed ") {
			return fmt.Errorf("worker %s", line)
		}
		if line == "opened" {
			o.opened++
		}
		l, irreversible, ok := parseDurable(line)
		if !ok {
			continue
		}
		o.durable++
		if o.acked.before(l) {
			o.acked = l
		}
		o.irreversible = max(o.irreversible, irreversible)
	}
	return nil
}

// await waits for the moment: while the store opens, when it has said at what, any
// time, in a checkpoint, or at its end.
func (o *ordeal) await(p *process, begun time.Time) error {
	kind := pick(o.rng, 2, 3, 3, 2, 2)
	if kind == 0 {
		o.sleep(o.opening + o.opening/2 + time.Millisecond)
		return nil
	}
	if err := p.await("opened", 1, openPatience); err != nil {
		return err
	}
	o.opening = (3*o.opening + time.Since(begun)) / 4
	var err error
	switch kind {
	case 1:
		o.sleep(500 * time.Millisecond)
	case 2:
		err = p.await("checkpointing", 1+o.rng.IntN(20), openPatience)
		o.sleep(12 * time.Millisecond)
	case 3:
		// One that does not ask its ledger is struck all the same.
		p.await("logged", 1+o.rng.IntN(20), 2*time.Second) //nolint:errcheck // striking tells if it has ended
		o.sleep(3 * time.Millisecond)
	case 4:
		o.sleep(3 * time.Millisecond)
	}
	return err
}

// sleep takes a random time below d.
func (o *ordeal) sleep(d time.Duration) { time.Sleep(time.Duration(o.rng.Int64N(int64(d)))) }

// judge opens the store: it must be a revision that was acknowledged as durable
// or a later one, whole, with its way back, and with its record in the block
// log.
func (o *ordeal) judge() (err error) {
	s, err := o.engine.Open(storeDir(o.dir), Knobs{})
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	o.judged++
	at, err := o.checkRecovered(s)
	if err != nil {
		return err
	}
	if err := verify(s); err != nil {
		return err
	}
	for {
		want, err := o.timeline.at(at)
		if err != nil {
			return err
		}
		if err := compareIDs(s, want); err != nil {
			return fmt.Errorf("at revision %d: %w", at.revision, err)
		}
		if err := compare(s, handles(s.Tables()), want, true); err != nil {
			return fmt.Errorf("at revision %d (fork from %d): %w", at.revision, at.from, err)
		}
		if err := o.checkRecorded(s, at.revision); err != nil {
			return err
		}
		if s.Head() == s.Irreversible() {
			break
		}
		if err := s.Undo(); err != nil {
			return fmt.Errorf("undo revision %d: %w", s.Head()+1, err)
		}
		at.revision--
		o.undone++
	}
	if err := s.Undo(); !errors.Is(err, store.ErrNothingToUndo) {
		return fmt.Errorf("undo at the irreversible revision: error is %v", err)
	}
	return o.timeline.forget(s.Irreversible())
}

// checkRecovered compares the revision that the store opened at with what it says of
// itself and with what was acknowledged, and returns it.
func (o *ordeal) checkRecovered(s store.Store) (lineage, error) {
	d := store.Durable{Head: s.Head(), Irreversible: s.Irreversible()}
	if s.Durable() != d {
		return lineage{}, fmt.Errorf("opened at %+v, but says that %+v is durable", d, s.Durable())
	}
	if !o.engine.StoresUndo && d.Head != d.Irreversible {
		return lineage{}, fmt.Errorf("opened at %+v, without the way back", d)
	}
	l, err := readLabel(s)
	switch {
	case err != nil:
		return lineage{}, err
	case l.revision != d.Head:
		return lineage{}, fmt.Errorf("says that head is %d, holds the rows of %v", d.Head, l)
	case l.before(o.acked):
		return lineage{}, fmt.Errorf("lost: opened at %v, durable was %v", l, o.acked)
	case d.Irreversible < o.irreversible:
		return lineage{}, fmt.Errorf("lost: irreversible is %d, was durable at %d", d.Irreversible, o.irreversible)
	}
	o.acked, o.irreversible = l, d.Irreversible
	return l.lineage, nil
}

// checkRecorded checks that the block log has the revision that the store now shows.
func (o *ordeal) checkRecorded(s store.Store, revision uint64) error {
	l, err := readLabel(s)
	if err != nil || revision == 0 {
		return err
	}
	if l.revision != revision {
		return fmt.Errorf("revision %d has the label %v", revision, l)
	}
	records, err := readBlockLog(o.dir)
	if err != nil {
		return err
	}
	for _, r := range records {
		if r == l {
			return nil
		}
	}
	return fmt.Errorf("the block log has %d records, but not %v, which the store holds", len(records), l)
}

// compareIDs compares the next ids of all tables, and takes them back.
func compareIDs(s store.Store, want state) (err error) {
	if err := s.Begin(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Undo()) }()
	found := handles(s.Tables())
	for i, name := range want.names {
		t, ok := found[name]
		if !ok && want.ids[i] == 0 {
			continue
		}
		id, err := s.NextID(t)
		if err != nil {
			return fmt.Errorf("next id of %s: %w", name, err)
		}
		if id != want.ids[i] {
			return fmt.Errorf("next id of %s is %d, should be %d", name, id, want.ids[i])
		}
	}
	return nil
}

// verify lets the engine check its own format, where the store gives access to
// it.
func verify(s store.Store) error {
	v, ok := s.(interface{ Engine() store.Engine })
	if !ok {
		return nil
	}
	var broken []error
	err := v.Engine().Verify(func(err error) { broken = append(broken, err) })
	if err = errors.Join(append(broken, err)...); err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	return nil
}
