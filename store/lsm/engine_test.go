package lsm

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tarn/internal/seeded"
	"tarn/store"
	"tarn/store/mergecursor/mergecursortest"
	"tarn/store/revision"
)

// small makes checkpoints and limits close.
var small = Options{CacheBytes: MinCache, OverlayBytes: 1 << 20}

// world is a store and its model: what it holds now, at each undoable revision
// and in each open view, and what the disk may hold.
type world struct {
	t    *testing.T
	r    *rand.Rand
	dir  string
	disk *memoryDisk
	e    *Engine
	base *memoryBase
	s    *revision.Store

	tables  []store.Table
	now     map[string]string
	past    []map[string]string // states at irreversible .. head-1, and sessions
	depth   int
	at      map[uint64]map[string]string // states of finished revisions
	views   []shown
	shown   map[string]string
	durable uint64
	failing string // the way in which flushes fail now
}

type shown struct {
	view  store.View
	state map[string]string
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, r: seeded.Random(t, 1), dir: t.TempDir(), disk: &memoryDisk{}, now: map[string]string{},
		at: map[uint64]map[string]string{}}
	w.open()
	for i := range 3 {
		id, err := w.s.CreateTable(fmt.Sprintf("table %d", i))
		w.must(err)
		w.tables = append(w.tables, id)
	}
	w.at[0] = map[string]string{}
	w.must(w.s.Publish())
	w.shown = map[string]string{}
	w.checkpoint(true)
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) open() {
	w.t.Helper()
	w.e, w.base = openMemory(w.t, w.dir, w.disk, small)
	s, err := revision.Open(w.e)
	w.must(err)
	w.s = s
}

// crash drops the store without a checkpoint and opens the disk again.
func (w *world) crash() {
	w.t.Helper()
	w.closeViews()
	w.must(w.s.Close())
	w.heal()
	w.failing = ""
	w.open()
	head := w.s.Head()
	if head < w.durable {
		w.t.Fatalf("revision %d was durable, the store opens at %d", w.durable, head)
	}
	w.durable = head
	state, ok := w.at[head]
	if !ok {
		w.t.Fatalf("the store opens at revision %d, which is none that could be durable", head)
	}
	w.now = maps.Clone(state)
	w.past, w.depth, w.shown = nil, 0, maps.Clone(w.now)
	w.compare(w.s, w.now)
}

func (w *world) key() (store.Table, []byte, string) {
	t := w.tables[w.r.IntN(len(w.tables))]
	k := fmt.Sprintf("%03d", w.r.IntN(60))
	return t, []byte(k), fmt.Sprintf("%d/%s", t, k)
}

func (w *world) change() {
	w.t.Helper()
	t, key, name := w.key()
	_, exists := w.now[name]
	if w.r.IntN(3) > 0 {
		value := strings.Repeat("v", w.r.IntN(40)) + fmt.Sprint(w.r.IntN(1000))
		w.must(w.s.Put(t, key, []byte(value)))
		w.now[name] = value
		return
	}
	switch err := w.s.Delete(t, key); {
	case exists:
		w.must(err)
		delete(w.now, name)
	case !errors.Is(err, store.ErrNotFound):
		w.t.Fatalf("deleting a row that is not there: %v", err)
	}
}

func (w *world) begin() {
	w.must(w.s.Begin())
	w.past = append(w.past, maps.Clone(w.now))
	w.depth++
}

// finish ends all sessions as one revision.
func (w *world) finish() {
	for ; w.depth > 1; w.depth-- {
		w.must(w.s.Squash())
		w.past = w.past[:len(w.past)-1]
	}
	w.must(w.s.Push())
	w.depth = 0
	w.at[w.s.Head()] = maps.Clone(w.now)
}

func (w *world) undo() {
	if len(w.past) == 0 {
		return
	}
	w.must(w.s.Undo())
	w.now = w.past[len(w.past)-1]
	w.past = w.past[:len(w.past)-1]
	if w.depth > 0 {
		w.depth--
	} else {
		delete(w.at, w.s.Head()+1)
	}
}

func (w *world) commit() {
	n := int(w.s.Head() - w.s.Irreversible())
	if n == 0 || w.depth > 0 {
		return
	}
	k := 1 + w.r.IntN(n)
	w.must(w.s.Commit(w.s.Irreversible() + uint64(k)))
	w.past = w.past[k:]
}

func (w *world) checkpoint(wait bool) {
	irreversible := w.s.Irreversible()
	c, err := w.s.Checkpoint()
	w.must(err)
	if !wait {
		return
	}
	if err := c.Wait(); err != nil && w.failing != "" {
		return
	}
	w.must(c.Wait())
	w.durable = irreversible
	if d := w.s.Durable(); d.Head != irreversible || d.Irreversible != irreversible {
		w.t.Fatalf("durable is %+v after a checkpoint of %d", d, irreversible)
	}
}

func (w *world) openView() {
	v, err := w.s.View()
	w.must(err)
	w.views = append(w.views, shown{v, w.shown})
}

func (w *world) closeViews() {
	for _, v := range w.views {
		w.compare(v.view, v.state)
		w.must(v.view.Close())
	}
	w.views = nil
}

// compare reads a state row by row and from end to end.
func (w *world) compare(r store.Reader, want map[string]string) {
	w.t.Helper()
	for _, t := range w.tables {
		var names []string
		for name := range want {
			if strings.HasPrefix(name, fmt.Sprintf("%d/", t)) {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		model := &mergecursortest.Cursor{At: -1}
		for _, name := range names {
			key := []byte(name[strings.Index(name, "/")+1:])
			model.Rows = append(model.Rows, [2][]byte{key, []byte(want[name])})
			if v, err := r.Get(t, key); err != nil || string(v) != want[name] {
				w.t.Fatalf("row %s is %q, %v, should be %q", name, v, err, want[name])
			}
		}
		if _, err := r.Get(t, []byte("zzz")); !errors.Is(err, store.ErrNotFound) {
			w.t.Fatalf("a row that was never put: %v", err)
		}
		w.walk(r, t, model)
	}
}

func (w *world) walk(r store.Reader, t store.Table, model *mergecursortest.Cursor) {
	w.t.Helper()
	c, err := r.Cursor(t)
	w.must(err)
	for got, want := c.First(), model.First(); ; got, want = c.Next(), model.Next() {
		if got != want ||
			got && (string(c.Key()) != string(model.Key()) || string(c.Value()) != string(model.Value())) {
			w.t.Fatalf("table %d: row %q=%q, should be %v %v", t, c.Key(), c.Value(), want, model)
		}
		if !got {
			break
		}
	}
	for range 20 {
		key := []byte(fmt.Sprintf("%03d", w.r.IntN(60)))
		if c.SeekLT(key) != model.SeekLT(key) || c.Prev() != model.Prev() || c.Next() != model.Next() ||
			c.Valid() && string(c.Key()) != string(model.Key()) {
			w.t.Fatalf("table %d: around %s: %q, should be %d of %v", t, key, c.Key(), model.At, model.Rows)
		}
		model.At = max(model.At, -1)
	}
	w.must(c.Err())
	w.must(c.Close())
}

func TestEngineIsTheModel(t *testing.T) {
	w := newWorld(t)
	for range 6000 {
		w.step()
	}
	if w.depth > 0 {
		w.finish()
	}
	w.crash()
	w.closeViews()
	w.compare(w.s, w.now)
	w.must(w.s.Close())
}

// turn makes flushes fail at one step, or heals them, for as long as until the next
// turn. What a plant changes belongs to the flush, so none is under way.
func (w *world) turn() {
	if w.e.flushing != nil {
		w.e.flushing.Wait() //nolint:errcheck // may well have failed
	}
	w.heal()
	w.failing = ""
	if w.r.IntN(3) > 0 {
		names := slices.Sorted(maps.Keys(failures))
		w.failing = names[w.r.IntN(len(names))]
		failures[w.failing].plant(w)
	}
}

func (w *world) step() {
	switch n := w.r.IntN(100); {
	case n < 60:
		if w.depth == 0 {
			w.begin()
		}
		w.change()
	case n < 65:
		if w.depth < 4 {
			w.begin()
		}
	case n < 75:
		if w.depth > 0 {
			w.finish()
		}
	case n < 79:
		w.undo()
	case n < 85:
		w.commit()
	case n < 88 && w.depth == 0:
		w.must(w.s.Publish())
		w.shown = maps.Clone(w.now)
	case n < 90:
		if len(w.views) < 5 {
			w.openView()
		}
	case n < 92 && len(w.views) > 0:
		i := w.r.IntN(len(w.views))
		w.compare(w.views[i].view, w.views[i].state)
		w.must(w.views[i].view.Close())
		w.views = slices.Delete(w.views, i, i+1)
	case n < 95 && w.depth == 0:
		w.checkpoint(w.r.IntN(2) == 0)
	case n < 97 && w.r.IntN(8) == 0:
		w.turn()
	case n < 96:
		w.compare(w.s, w.now)
	case n < 97 && w.depth == 0 && w.r.IntN(4) == 0:
		w.crash()
	}
}

// The most tables that there can be are a bound of room, as on the page engine.
func TestTooManyTablesAreAFullStore(t *testing.T) {
	w, _ := fresh(t)
	var err error
	for i := 0; err == nil && i <= maxTables; i++ {
		_, err = w.s.CreateTable(fmt.Sprint("table", i))
	}
	if !errors.Is(err, store.ErrFull) || errors.Is(err, store.ErrNoTable) {
		t.Errorf("%d tables: %v", maxTables, err)
	}
	w.must(w.s.Close())
}
