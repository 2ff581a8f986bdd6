package revision

import (
	"sync"

	"tarn/internal/invariants"
	"tarn/store"
)

// In builds with the invariants tag everything that is handed out is a copy, and
// the copy is overwritten when the promise for it ends: whoever keeps a slice too
// long sees nonsense at once instead of, some day, another row. In other builds
// all of this compiles to nothing.

// lentMax bounds how many copies are remembered; older ones are let go unharmed.
const lentMax = 1 << 10

type loans struct{ slices [][]byte }

func (l *loans) lend(v []byte) []byte {
	if !invariants.Enabled || v == nil {
		return v
	}
	c := append(make([]byte, 0, len(v)), v...)
	if len(l.slices) == lentMax {
		l.slices = l.slices[lentMax/2:]
	}
	l.slices = append(l.slices, c)
	return c
}

func (l *loans) recall() {
	if !invariants.Enabled {
		return
	}
	for _, c := range l.slices {
		invariants.Poison(c)
	}
	l.slices = nil
}

// watchedView lends copies until it is closed, and checks that this happens once.
type watchedView struct {
	store.View
	mu     sync.Mutex
	loans  loans
	closed bool
}

func watch(v store.View) store.View {
	if !invariants.Enabled {
		return v
	}
	return &watchedView{View: v}
}

func (v *watchedView) Get(t store.Table, key []byte) ([]byte, error) {
	b, err := v.View.Get(t, key)
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.loans.lend(b), err
}

func (v *watchedView) Close() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	invariants.Check(!v.closed, "view of revision %d closed twice", v.Revision())
	v.closed = true
	v.loans.recall()
	return v.View.Close()
}

// lendRow is lend for what a cursor shows, which also ends with its next move.
func (c *cursor) lendRow(b []byte) []byte {
	if !invariants.Enabled {
		return b
	}
	return c.store.loans.lend(b)
}
