package state_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"tarn/antelope/state"
	"tarn/store"
)

// flaky is a store that refuses changes after a number of them.
type flaky struct {
	store.Store
	left int // below zero: it refuses nothing
}

var errFull = errors.New("no space")

func (f *flaky) change() error {
	if f.left == 0 {
		return errFull
	}
	f.left--
	return nil
}

func (f *flaky) Put(t store.Table, key, value []byte) error {
	if err := f.change(); err != nil {
		return err
	}
	return f.Store.Put(t, key, value)
}

func (f *flaky) Delete(t store.Table, key []byte) error {
	if err := f.change(); err != nil {
		return err
	}
	return f.Store.Delete(t, key)
}

// A block, or a transaction whose rows were being written, that fails somewhere in
// between leaves nothing behind once it is undone.
func TestWhatFailsHalfwayIsUndone(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	failed := 0
	for round := range uint64(100) {
		d := databases[0].open(t)
		f := &flaky{Store: d.store, left: -1}
		s, err := state.Open(f)
		d.must(err)
		m := &model{t: t, rng: rand.New(rand.NewPCG(seed, round)), db: d, s: s, now: newContent()}
		d.must(s.Initialise(state.Singletons{}))
		m.begin()
		m.rows()
		m.push()

		m.begin()
		m.rows()
		nested := m.rng.IntN(2) == 0
		if nested {
			m.begin()
			m.rows()
		}
		f.left = m.rng.IntN(12)
		if nested {
			// Reading in order writes first.
			err = s.Permissions.Scan(state.PermissionKey{}, state.PermissionKey{Owner: 99},
				func(*state.Permission) (bool, error) { return true, nil })
		} else {
			err = s.Push()
		}
		f.left = -1
		switch {
		case err == nil && !nested:
			m.blocks, m.open = append(m.blocks, m.open[0]), nil
		case err == nil || errors.Is(err, errFull):
			if err != nil {
				failed++
			}
			d.must(s.Undo())
			m.now, m.open = m.open[len(m.open)-1], m.open[:len(m.open)-1]
		default:
			t.Fatal(err)
		}
		m.compare()
		if len(m.open) == 0 {
			m.begin()
		}
		m.rows()
		m.push()
		m.compareView()
		d.must(s.Close())
		d.close()
	}
	if failed < 15 {
		t.Errorf("only %d rounds failed", failed)
	}
}

// rows changes a few rows.
func (m *model) rows() {
	for range 1 + m.rng.IntN(8) {
		m.permission()
		m.usage()
	}
}

func (m *model) push() {
	m.must(m.s.Push())
	m.blocks, m.open = append(m.blocks, m.open[0]), nil
}
