package revision_test

import (
	"errors"
	"runtime"
	"testing"

	"tarn/internal/invariants"
	"tarn/store"
	"tarn/store/page"
	"tarn/store/revision"
)

// openInMemory opens a store with a limit in bytes, which the test's end closes.
func openInMemory(t *testing.T, limit int64) *revision.Store {
	t.Helper()
	e, err := page.OpenVolatile(limit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	s, err := revision.Open(e)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestUndoOfARowThatCameAndWent(t *testing.T) {
	s := openInMemory(t, 8<<20)
	rows, err := s.CreateTable("rows")
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		s.Put(rows, []byte("old"), []byte("1")),
		s.Begin(),
		s.Put(rows, []byte("new"), []byte("2")),
		s.Delete(rows, []byte("new")),
		s.Delete(rows, []byte("old")),
		s.Push(),
		s.Undo(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if v, err := s.Get(rows, []byte("old")); err != nil || string(v) != "1" {
		t.Errorf("old row: %q, %v", v, err)
	}
	if _, err := s.Get(rows, []byte("new")); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("row that came and went: %v", err)
	}
}

// A row that is changed again and again keeps one old value a session, give or take
// what the journal may grow by before it is condensed; and undo finds it.
func TestARowChangedOftenKeepsOneOldValue(t *testing.T) {
	s := openInMemory(t, 256<<20)
	rows, err := s.CreateTable("rows")
	if err != nil {
		t.Fatal(err)
	}
	value := make([]byte, 1<<20)
	put := func(n byte) {
		t.Helper()
		value[0] = n
		if err := s.Put(rows, []byte("row"), value); err != nil {
			t.Fatal(err)
		}
	}
	put(1)
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for session := byte(2); session < 5; session++ { // 2 in a session, 3 in one in it, ...
		if err := s.Begin(); err != nil {
			t.Fatal(err)
		}
		for range 100 {
			put(session)
		}
	}
	if err := s.Squash(); err != nil {
		t.Fatal(err)
	}
	if took := heap() - before; took > 200<<20 {
		t.Errorf("undo data of one row of 1 MiB, changed 300 times, takes %d MiB", took>>20)
	}
	for want := byte(2); want > 0; want-- {
		if err := s.Undo(); err != nil {
			t.Fatal(err)
		}
		if v, err := s.Get(rows, []byte("row")); err != nil || v[0] != want {
			t.Fatalf("undone to %d, want %d: %v", v[0], want, err)
		}
	}
}

// What a revision of many rows took is no measure for the next one.
func TestALargeRevisionDoesNotRaiseTheBoundOfTheNext(t *testing.T) {
	s := openInMemory(t, 1<<30)
	rows, err := s.CreateTable("rows")
	if err != nil {
		t.Fatal(err)
	}
	value := make([]byte, 1<<20)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range byte(200) {
		must(s.Put(rows, []byte{1, i}, value))
	}
	must(s.Begin())
	for i := range byte(200) {
		must(s.Put(rows, []byte{1, i}, value))
	}
	must(s.Push())
	must(s.Commit(s.Head()))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	must(s.Begin())
	for range 190 {
		must(s.Put(rows, []byte{1, 0}, value))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(s)
	if took := int64(after.HeapAlloc) - int64(before.HeapAlloc); took > 130<<20 {
		t.Errorf("undo data of one row of 1 MiB, changed 190 times, takes %d MiB", took>>20)
	}
}

// Every row that is loaded, replayed or executed comes by here.
func TestARowIsPutWithoutGarbage(t *testing.T) {
	if invariants.Enabled {
		t.Skip("the checks of package invariants make garbage of their own")
	}
	s := openInMemory(t, 8<<20)
	rows, err := s.CreateTable("rows")
	if err != nil {
		t.Fatal(err)
	}
	key, value := []byte("key"), []byte("value")
	n := testing.AllocsPerRun(1000, func() {
		err = errors.Join(err, s.Put(rows, key, value), s.Delete(rows, key))
	})
	if err != nil || n > 0 {
		t.Errorf("%v allocations for a row that comes and goes, %v", n, err)
	}
}
