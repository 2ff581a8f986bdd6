package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"tarn/store"
)

// ledger is what a revision is built on: a store, or the model of one. Tables
// are numbered as in workTables.
type ledger interface {
	Begin() error
	Squash() error
	Undo() error
	Push() error
	Put(t int, key, value string) error
	Delete(t int, key string) error
	DeleteRange(t int, from, to []byte) (int, error)
	NextID(t int) (uint64, error)
}

// workTables are the tables of the work that is killed and cut off. The label
// tells which revision a state is.
func workTables() []string { return []string{"hot", "rows", "long", "large"} }

const labelTable = "label"

// onStore is a store as a ledger.
type onStore struct {
	store.Store
	tables []store.Table
}

func (o onStore) Put(t int, key, value string) error {
	return o.Store.Put(o.tables[t], []byte(key), []byte(value))
}
func (o onStore) Delete(t int, key string) error { return o.Store.Delete(o.tables[t], []byte(key)) }
func (o onStore) DeleteRange(t int, from, to []byte) (int, error) {
	return o.Store.DeleteRange(o.tables[t], from, to)
}
func (o onStore) NextID(t int) (uint64, error) { return o.Store.NextID(o.tables[t]) }

// lineage says what a revision follows from: itself if it is on the main line,
// else the fork that branched off at revision From. Every content is determined
// by the seed and the place, and by nothing else.
type lineage struct {
	revision uint64
	from     uint64 // first revision of the fork; 0 on the main line
}

// forkAt returns how many revisions of a fork are built at n, and taken back,
// before the main line's n is.
func forkAt(seed, n uint64) int {
	r := rand.New(rand.NewPCG(seed, n<<1|1))
	if r.IntN(8) > 0 {
		return 0
	}
	return 1 + r.IntN(3)
}

// build makes the changes of one revision: a few transactions of a few actions,
// some of which are taken back. The revision's own session is open.
func build(l ledger, seed uint64, p lineage) error {
	r := rand.New(rand.NewPCG(seed^p.from*0x9e3779b97f4a7c15, p.revision<<1))
	for range 1 + r.IntN(4) {
		if err := transaction(l, r, 2); err != nil {
			return fmt.Errorf("build revision %d (fork from %d): %w", p.revision, p.from, err)
		}
	}
	return nil
}

// transaction makes changes in a session, with sessions inside down to depth.
func transaction(l ledger, r *rand.Rand, depth int) error {
	if err := l.Begin(); err != nil {
		return err
	}
	for range 1 + r.IntN(8) {
		if err := change(l, r); err != nil {
			return err
		}
	}
	if depth > 0 && r.IntN(2) == 0 {
		if err := transaction(l, r, depth-1); err != nil {
			return err
		}
	}
	if r.IntN(6) == 0 {
		return l.Undo()
	}
	return l.Squash()
}

func change(l ledger, r *rand.Rand) error {
	t := pick(r, 20, 50, 10, 3)
	key := workKey(r, t)
	switch pick(r, 70, 20, 1, 6) {
	case 0:
		size := r.IntN(200)
		switch {
		case t == 3:
			size = 30_000 + r.IntN(200_000)
		case r.IntN(20) == 0:
			size = 2000 + r.IntN(8000)
		}
		return l.Put(t, key, value(r, size))
	case 1:
		if err := l.Delete(t, key); !errors.Is(err, store.ErrNotFound) {
			return err
		}
		return nil
	case 2:
		_, err := l.DeleteRange(t, []byte(key), []byte(workKey(r, t)))
		return err
	}
	_, err := l.NextID(t)
	return err
}

func workKey(r *rand.Rand, t int) string {
	switch t {
	case 0:
		return fmt.Sprintf("hot%d", r.IntN(20))
	case 1:
		return composite(r.Uint64N(2), r.Uint64N(4), r.Uint64N(300))
	case 2:
		return strings.Repeat("long/", 1+r.IntN(190)) + fmt.Sprint(r.IntN(50))
	}
	return fmt.Sprintf("large%d", r.IntN(12))
}

// timeline computes what a store holds at any revision, without a store. It
// remembers the main line from a floor on; the floor only rises.
type timeline struct {
	seed   uint64
	floor  uint64
	states []state // of the revisions from floor on
}

func newTimeline(seed uint64) *timeline {
	var d draft
	for _, name := range workTables() {
		d.create(name)
	}
	return &timeline{seed: seed, states: []state{d.freeze()}}
}

// next is the state after p was built on the state before it.
func (t *timeline) next(before state, p lineage) (state, error) {
	var m model
	m.thaw(before)
	m.Begin()
	if err := build(&m, t.seed, p); err != nil {
		return state{}, err
	}
	return m.freeze(), nil
}

func (t *timeline) main(revision uint64) (state, error) {
	if revision < t.floor {
		return state{}, fmt.Errorf("revision %d was irreversible before, at %d", revision, t.floor)
	}
	for uint64(len(t.states)) <= revision-t.floor {
		s, err := t.next(t.states[len(t.states)-1], lineage{revision: t.floor + uint64(len(t.states))})
		if err != nil {
			return state{}, err
		}
		t.states = append(t.states, s)
	}
	return t.states[revision-t.floor], nil
}

// at is the state at p.
func (t *timeline) at(p lineage) (state, error) {
	if p.from == 0 || p.revision < p.from {
		return t.main(p.revision)
	}
	s, err := t.main(p.from - 1)
	for n := p.from; err == nil && n <= p.revision; n++ {
		s, err = t.next(s, lineage{n, p.from})
	}
	return s, err
}

// forget drops the states before a revision.
func (t *timeline) forget(revision uint64) error {
	if _, err := t.main(revision); err != nil {
		return err
	}
	t.states = append([]state(nil), t.states[revision-t.floor:]...)
	t.floor = revision
	return nil
}
