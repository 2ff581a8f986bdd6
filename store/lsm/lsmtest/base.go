// Package lsmtest is the suite that every base of store/lsm passes: what a
// library must do for the engine, and what must happen to a damaged folder. It
// owns the judgement; it never imports a library.
package lsmtest

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tarn/internal/seeded"
	"tarn/store"
	"tarn/store/lsm"
)

// Library opens a base in a store's folder.
type Library struct {
	Open func(dir string, readOnly bool) (lsm.Base, error)
	// RefusesDirtyReading: after a crash the folder has to be opened for
	// writing once before it can be opened for reading.
	RefusesDirtyReading bool
}

var damageFlag = flag.Int("damage", 60, "how many times to damage each store")

// Run runs all of the suite.
func (l Library) Run(t *testing.T) {
	for _, c := range []struct {
		name string
		test func(*testing.T)
	}{
		{"ABatchIsAtomicAndOrdered", l.batches},
		{"ASnapshotNeverChanges", l.snapshots},
		{"ACursorWalksTheModel", l.cursors},
		{"RowsOfEverySizeComeBack", l.sizes},
		{"ABatchLargerThanMemoryIsOneChange", l.large},
		{"ADiscardedBatchLeavesNothing", l.discard},
		{"ASecondOpenerIsRefused", l.testLock},
		{"ReadersShareAStoreThatNobodyWrites", l.readOnly},
		{"AStoreBehindItsSealIsRefused", l.behind},
		{"DamageIsFoundOrHarmless", l.damage},
		{"ACutLogEndsAtAWholeFlush", l.cut},
		{"AListThatIsCutIsNamedOrHarmless", l.cutList},
	} {
		t.Run(c.name, c.test)
	}
}

// open opens a base in a store that an engine has begun; without its seal the
// next opening would clear the folder.
func (l Library) open(t testing.TB, dir string) lsm.Base {
	t.Helper()
	must(t, l.engine(t, dir).Close())
	b, err := l.Open(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// model is what a base should hold.
type model map[string]string

func (m model) keys() []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// commit makes the changes in one batch, on the base and on the model; a nil
// value deletes.
func (m model) commit(t testing.TB, b lsm.Base, changes map[string][]byte) {
	t.Helper()
	size := 0
	keys := make([]string, 0, len(changes))
	for k, v := range changes {
		keys = append(keys, k)
		size += len(k) + len(v)
	}
	slices.Sort(keys)
	w, err := b.Batch(int64(size))
	must(t, err)
	for _, k := range keys {
		if v := changes[k]; v != nil {
			must(t, w.Put([]byte(k), v))
			m[k] = string(v)
		} else {
			must(t, w.Delete([]byte(k)))
			delete(m, k)
		}
	}
	must(t, w.Commit())
}

// check compares a snapshot with the model, row by row and from end to end.
func (m model) check(t testing.TB, s lsm.Snapshot) {
	t.Helper()
	for k, v := range m {
		got, err := s.Get([]byte("x"), []byte(k))
		if err != nil || string(got) != "x"+v {
			t.Fatalf("%x is %.60q, %v, should be %.60q", k, got, err, "x"+v)
		}
	}
	if _, err := s.Get(nil, key(0xfff0)); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("a key that was never put: %v", err)
	}
	c, err := s.Cursor(first, last)
	must(t, err)
	defer c.Close()
	ok := c.First()
	for _, k := range m.keys() {
		if !ok || string(c.Key()) != k || string(c.Value()) != m[k] {
			t.Fatalf("row %x=%.60q, should be %x=%.60q (%v)", c.Key(), c.Value(), k, m[k], c.Err())
		}
		ok = c.Next()
	}
	if ok || c.Err() != nil {
		t.Fatalf("more rows than there should be, or an error: %v", c.Err())
	}
}

// checkNow compares the newest state.
func (m model) checkNow(t testing.TB, b lsm.Base) {
	t.Helper()
	s, err := b.Snapshot()
	must(t, err)
	m.check(t, s)
	must(t, s.Close())
}

// All rows of the suite lie between these.
var first, last = []byte{0, 1}, []byte{0xff}

func key(n int) []byte { return []byte(fmt.Sprintf("\x00\x01%04x", n)) }

// changes are random ones among so many keys.
func changes(r *rand.Rand, keys int) map[string][]byte {
	c := map[string][]byte{}
	for range 1 + r.IntN(50) {
		k := string(key(r.IntN(keys)))
		if r.IntN(4) == 0 {
			c[k] = nil
		} else {
			c[k] = bytes.Repeat([]byte{byte(r.IntN(256))}, r.IntN(200))
		}
	}
	return c
}

func (l Library) batches(t *testing.T) {
	r, dir, m := seeded.Random(t, 1), t.TempDir(), model{}
	for range 4 {
		b := l.open(t, dir)
		for range 20 {
			m.commit(t, b, changes(r, 300))
			m.checkNow(t, b)
		}
		must(t, b.Verify(func(err error) { t.Error(err) }))
		must(t, b.Close())
	}
}

func (l Library) snapshots(t *testing.T) {
	r, m := seeded.Random(t, 1), model{}
	b := l.open(t, t.TempDir())
	type shown struct {
		s    lsm.Snapshot
		want model
	}
	var open []shown
	for range 60 {
		m.commit(t, b, changes(r, 100))
		s, err := b.Snapshot()
		must(t, err)
		want := model{}
		for k, v := range m {
			want[k] = v
		}
		if open = append(open, shown{s, want}); len(open) > 8 {
			i := r.IntN(len(open))
			open[i].want.check(t, open[i].s)
			must(t, open[i].s.Close())
			open = slices.Delete(open, i, i+1)
		}
	}
	for _, o := range open {
		o.want.check(t, o.s)
		must(t, o.s.Close())
	}
	must(t, b.Close())
}

func (l Library) cursors(t *testing.T) {
	r, m := seeded.Random(t, 1), model{}
	b := l.open(t, t.TempDir())
	for range 30 {
		m.commit(t, b, changes(r, 400))
	}
	s, err := b.Snapshot()
	must(t, err)
	m.commit(t, b, changes(r, 400)) // not seen
	for range 40 {
		lower, upper := key(r.IntN(400)), key(r.IntN(400))
		switch r.IntN(4) {
		case 0:
			lower, upper = first, last
		case 1: // neighbours: the keys between have a prefix in common
			n := r.IntN(400)
			lower, upper = key(n), key(n+1)
		}
		if bytes.Compare(lower, upper) > 0 {
			lower, upper = upper, lower
		}
		want := model{}
		c, err := s.Cursor(first, last)
		must(t, err)
		for ok := c.First(); ok; ok = c.Next() {
			if bytes.Compare(c.Key(), lower) >= 0 && bytes.Compare(c.Key(), upper) < 0 {
				want[string(c.Key())] = string(c.Value())
			}
		}
		must(t, c.Close())
		c, err = s.Cursor(lower, upper)
		must(t, err)
		want.walk(t, r, c)
		must(t, c.Close())
	}
	must(t, s.Close())
	must(t, b.Close())
}

// walk makes random moves on a cursor and on the model.
func (m model) walk(t *testing.T, r *rand.Rand, c store.Cursor) {
	t.Helper()
	keys, at := m.keys(), -1
	for range 300 {
		k := string(key(r.IntN(400)))
		i, _ := slices.BinarySearch(keys, k)
		var what string
		var got bool
		switch r.IntN(12) {
		case 0:
			what, got, at = "first", c.First(), 0
		case 1:
			what, got, at = "last", c.Last(), len(keys)-1
		case 2, 3:
			what, got, at = "seek", c.Seek([]byte(k)), i
		case 4, 5:
			what, got, at = "seeklt", c.SeekLT([]byte(k)), i-1
		case 6, 7, 8:
			what, got = "next", c.Next()
			if at >= 0 {
				at++
			}
		default:
			what, got = "prev", c.Prev()
			if at >= 0 {
				at--
			}
		}
		if at >= len(keys) {
			at = -1
		}
		at = max(at, -1)
		if got != (at >= 0) || c.Valid() != got || c.Err() != nil {
			t.Fatalf("%s %x: %v, valid %v, error %v, should be at %d of %d", what, k, got, c.Valid(), c.Err(),
				at, len(keys))
		}
		if got && (string(c.Key()) != keys[at] || string(c.Value()) != m[keys[at]]) {
			t.Fatalf("%s %x: at %x=%q, should be at %x=%q", what, k, c.Key(), c.Value(), keys[at], m[keys[at]])
		}
	}
}

func (l Library) sizes(t *testing.T) {
	dir, m := t.TempDir(), model{}
	b := l.open(t, dir)
	long := append([]byte{0, 1}, bytes.Repeat([]byte{0xff}, store.MaxKey)...)
	random := make([]byte, 3<<20)
	for i := range random {
		random[i] = byte(i * i >> 7)
	}
	m.commit(t, b, map[string][]byte{
		string(key(1)):     {},
		string(key(2)):     {0},
		string(key(3)):     random[:1<<20],
		string(key(4)):     random[:1<<20-1],
		string(key(5)):     random,
		string(long):       []byte("long key"),
		"\x00\x01\x00":     []byte("zero"),
		"\x0f\xff\xff\xff": []byte("high table"),
	})
	m.checkNow(t, b)
	m.commit(t, b, map[string][]byte{string(key(5)): nil, string(key(1)): nil})
	m.commit(t, b, map[string][]byte{string(key(1)): {}})
	m.checkNow(t, b)
	must(t, b.Close())
	b = l.open(t, dir)
	m.checkNow(t, b)
	must(t, b.Verify(func(err error) { t.Error(err) }))
	must(t, b.Close())
}

func (l Library) large(t *testing.T) {
	dir, m := t.TempDir(), model{}
	b := l.open(t, dir)
	for round := range 3 {
		c := map[string][]byte{}
		for i := range 20_000 {
			k := fmt.Sprintf("\x00\x01%08x", i*7919%60_000)
			if (i+round)%5 == 4 && round > 0 {
				c[k] = nil
			} else {
				c[k] = []byte(fmt.Sprintf("%d %0200d", round, i))
			}
		}
		m.commit(t, b, c)
		m.commit(t, b, map[string][]byte{string(key(round)): []byte("small")})
	}
	m.checkNow(t, b)
	must(t, b.Close())
	b = l.open(t, dir)
	m.checkNow(t, b)
	if got := b.Metrics(); got.Size < 64<<10 {
		t.Errorf("the files take %d bytes", got.Size)
	}
	must(t, b.Close())
}

func (l Library) discard(t *testing.T) {
	r, dir, m := seeded.Random(t, 1), t.TempDir(), model{}
	b := l.open(t, dir)
	m.commit(t, b, changes(r, 100))
	for _, rows := range []int{10, 60_000} {
		w, err := b.Batch(int64(rows) * 200)
		must(t, err)
		for i := range rows {
			must(t, w.Put([]byte(fmt.Sprintf("\x00\x01%08x", i)), bytes.Repeat([]byte{'d'}, 190)))
		}
		w.Discard()
		m.checkNow(t, b)
		m.commit(t, b, changes(r, 100))
		m.checkNow(t, b)
	}
	must(t, b.Close())
	b = l.open(t, dir)
	m.checkNow(t, b)
	must(t, b.Close())
}
