package viewoverlay

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"tarn/internal/seeded"
	"tarn/store"
)

// rows are a table's, and a state is what both tables of a trial have.
type (
	rows  map[string]string
	state [2]rows
)

func (s state) clone() state { return state{maps.Clone(s[0]), maps.Clone(s[1])} }

// trial is random work on one store of an overlay, beside a model.
type trial struct {
	t         *testing.T
	r         *rand.Rand
	s         store.Store
	tables    [2]store.Table
	now       state
	revisions []state // before each that can be undone
	sessions  []state
	cursors   [3]cursorPosition
	full      int
}

// cursorPosition is where a cursor must stand.
type cursorPosition struct {
	store.Cursor
	table int
	on    bool
	key   string
}

func (w *trial) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// refused tells whether a change did not fit: then nothing may have changed.
func (w *trial) refused(err error) bool {
	w.t.Helper()
	if errors.Is(err, store.ErrFull) {
		w.full++
		return true
	}
	w.must(err)
	return false
}

func (w *trial) key() string { return fmt.Sprintf("k%02d", w.r.IntN(30)) }

// value is short, empty or long: a few long ones fill the overlay.
func (w *trial) value() string {
	size := []int{0, 3, 200, 5000, 60_000}[w.r.IntN(5)]
	return string(bytes.Repeat([]byte{byte('a' + w.r.IntN(26))}, size))
}

// mayChange tells whether the store takes changes: with undo data only in a session.
func (w *trial) mayChange() bool { return len(w.sessions) > 0 || len(w.revisions) == 0 }

func (w *trial) change() {
	n := w.r.IntN(2)
	t, k := w.tables[n], w.key()
	switch w.r.IntN(8) {
	case 0:
		err := w.s.Delete(t, []byte(k))
		if _, exists := w.now[n][k]; !exists && errors.Is(err, store.ErrNotFound) {
			return
		} else if !w.refused(err) {
			delete(w.now[n], k)
		}
	case 1:
		w.deleteRange(n, k, w.key())
	case 2: // a value and a key that are lent
		from := w.key()
		v, err := w.s.Get(t, []byte(from))
		if errors.Is(err, store.ErrNotFound) {
			return
		}
		w.must(err)
		if !w.refused(w.s.Put(t, []byte(k), v)) {
			w.now[n][k] = w.now[n][from]
		}
	default:
		v := w.value()
		if !w.refused(w.s.Put(t, []byte(k), []byte(v))) {
			w.now[n][k] = v
		}
	}
}

// deleteRange may end before its end for want of memory; what was deleted until then is.
func (w *trial) deleteRange(n int, from, to string) {
	removed, err := w.s.DeleteRange(w.tables[n], []byte(from), []byte(to))
	keys := slices.DeleteFunc(slices.Sorted(maps.Keys(w.now[n])), func(k string) bool { return k < from || k >= to })
	if !w.refused(err) && removed != len(keys) {
		w.t.Fatalf("%d rows from %s to %s are gone, should be %d", removed, from, to, len(keys))
	}
	for _, k := range keys[:removed] {
		delete(w.now[n], k)
	}
}

// step takes back, finishes or opens a session, or forgets what could be taken back.
func (w *trial) step() {
	switch w.r.IntN(7) {
	case 0, 1:
		w.must(w.s.Begin())
		w.sessions = append(w.sessions, w.now.clone())
	case 2:
		last := &w.sessions
		if len(*last) == 0 {
			last = &w.revisions
		}
		if len(*last) == 0 {
			if err := w.s.Undo(); !errors.Is(err, store.ErrNothingToUndo) {
				w.t.Fatalf("nothing is undone: %v", err)
			}
			return
		}
		w.must(w.s.Undo())
		w.now, *last = (*last)[len(*last)-1], (*last)[:len(*last)-1]
	case 3:
		if len(w.sessions) > 1 {
			w.must(w.s.Squash())
			w.sessions = w.sessions[:len(w.sessions)-1]
		}
	case 4, 5:
		if len(w.sessions) == 1 {
			w.must(w.s.Push())
			w.revisions, w.sessions = append(w.revisions, w.sessions[0]), nil
		}
	default:
		if n := len(w.revisions); n > 0 && w.r.IntN(3) == 0 {
			keep := w.r.IntN(n)
			w.must(w.s.Commit(w.s.Head() - uint64(keep)))
			w.revisions = w.revisions[n-keep:]
		}
	}
}

// move takes a step with a cursor that stays open whatever changes, and compares.
func (w *trial) move() {
	c := &w.cursors[w.r.IntN(len(w.cursors))]
	keys := slices.Sorted(maps.Keys(w.now[c.table]))
	at, got, k := -1, false, w.key()
	switch w.r.IntN(8) {
	case 0:
		got, at = c.First(), 0
	case 1:
		got, at = c.Last(), len(keys)-1
	case 2:
		got = c.Seek([]byte(k))
		at, _ = slices.BinarySearch(keys, k)
	case 3:
		got = c.SeekLT([]byte(k))
		at, _ = slices.BinarySearch(keys, k)
		at--
	case 4, 5:
		got = c.Next()
		if c.on {
			i, exact := slices.BinarySearch(keys, c.key)
			if at = i; exact {
				at++
			}
		}
	default:
		got = c.Prev()
		if c.on {
			at, _ = slices.BinarySearch(keys, c.key)
			at--
		}
	}
	w.must(c.Err())
	c.on = at >= 0 && at < len(keys)
	if got != c.on || c.Valid() != c.on {
		w.t.Fatalf("a cursor moved to a row: %t, should be %t", got, c.on)
	}
	if c.on {
		c.key = keys[at]
	}
}

// look compares what a cursor shows, without moving it: a row that is gone has no value.
func (w *trial) look() {
	for _, c := range w.cursors {
		if !c.on {
			continue
		}
		want, exists := w.now[c.table][c.key]
		if key, value := string(c.Key()), c.Value(); key != c.key || string(value) != want || (value != nil) != exists {
			w.t.Fatalf("a cursor shows %s with %d bytes, should be %s with %d", key, len(value), c.key, len(want))
		}
	}
}

// all compares every row, forward and backward.
func (w *trial) all() {
	for n, t := range w.tables {
		if got, want := list(w.t, w.s, t), listModel(w.now[n]); got != want {
			w.t.Fatalf("table %d: rows are %.200s, should be %.200s", n, got, want)
		}
	}
}

// A store on an overlay, whatever is done to it, is the view with its own changes, also where
// memory ends: a change that does not fit changes nothing, taking back always fits, cursors
// stay where they are, and the next store finds the overlay empty.
func TestASandboxThatIsFilledKeepsItsRows(t *testing.T) {
	r := seeded.Random(t, 2)
	base, first := newBase(t)
	second, err := base.CreateTable("others")
	if err != nil {
		t.Fatal(err)
	}
	w := &trial{t: t, r: r, s: base, tables: [2]store.Table{first, second}, now: state{{}, {}}}
	for range 60 {
		w.change()
	}
	below := w.now.clone()
	box, err := New(1 << 20)
	w.must(err)
	defer box.Close()
	full := 0
	for range 100 {
		v := view(t, base)
		s, err := box.Open(v)
		w.must(err)
		w := &trial{t: t, r: r, s: s, tables: w.tables, now: below.clone()}
		w.work(400)
		w.must(errors.Join(s.Close(), v.Close()))
		full += w.full
	}
	if full == 0 {
		t.Error("the overlay was never full")
	}
	w.now = below
	w.all()
}

// work is a store's whole life.
func (w *trial) work(steps int) {
	for i := range w.cursors {
		n := w.r.IntN(2)
		c, err := w.s.Cursor(w.tables[n])
		w.must(err)
		w.cursors[i] = cursorPosition{Cursor: c, table: n}
	}
	w.all()
	for range steps {
		switch n := w.r.IntN(10); {
		case n < 2:
			w.step()
		case n < 5:
			w.move()
		case n == 5:
			w.look()
		case w.mayChange():
			w.change()
		}
	}
	w.all()
	if w.r.IntN(2) == 0 {
		w.must(w.s.UndoAll())
		if all := append(w.revisions, w.sessions...); len(all) > 0 {
			w.now = all[0]
		}
		w.all()
	}
	for _, c := range w.cursors {
		w.must(c.Close())
	}
}
