package revision

import (
	"bytes"
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

type loans struct{ lent []loan }

// loan is a copy that was handed out, and what it is a copy of: the engine must leave
// that alone just as long. It is nil where the promise may end earlier.
type loan struct{ copy, of []byte }

func (l *loans) lend(v []byte) []byte { return l.add(v, v) }

func (l *loans) add(v, of []byte) []byte {
	if !invariants.Enabled || v == nil {
		return v
	}
	c := append(make([]byte, 0, len(v)), v...)
	if len(l.lent) == lentMax {
		l.lent = l.lent[lentMax/2:]
	}
	l.lent = append(l.lent, loan{c, of})
	return c
}

// checkKept checks that the engine has left alone what is still lent.
func (l *loans) checkKept() {
	if !invariants.Enabled {
		return
	}
	for _, b := range l.lent {
		invariants.Check(b.of == nil || bytes.Equal(b.copy, b.of),
			"a value that was lent changed before the writer's next change")
	}
}

func (l *loans) recall() {
	if !invariants.Enabled {
		return
	}
	for _, b := range l.lent {
		invariants.Poison(b.copy)
	}
	l.lent = nil
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
	return c.store.loans.add(b, nil)
}
