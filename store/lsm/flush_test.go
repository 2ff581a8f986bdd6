package lsm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tarn/store"
	"tarn/store/revision"
)

// block makes one revision of puts.
func block(t *testing.T, s *revision.Store, table store.Table, rows ...string) {
	t.Helper()
	if err := s.Begin(); err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		key, value, put := strings.Cut(r, "=")
		err := s.Delete(table, []byte(key))
		if put {
			err = s.Put(table, []byte(key), []byte(value))
		}
		if err != nil {
			t.Fatalf("%s: %v", r, err)
		}
	}
	if err := s.Push(); err != nil {
		t.Fatal(err)
	}
}

func commit(t *testing.T, s *revision.Store, revision uint64) {
	t.Helper()
	if err := s.Commit(revision); err != nil {
		t.Fatal(err)
	}
}

func checkpoint(t *testing.T, s *revision.Store) error {
	t.Helper()
	c, err := s.Checkpoint()
	if err != nil {
		t.Fatal(err)
	}
	return c.Wait()
}

func wantRows(t *testing.T, r store.Reader, table store.Table, want string) {
	t.Helper()
	c, err := r.Cursor(table)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var got []string
	for ok := c.First(); ok; ok = c.Next() {
		got = append(got, fmt.Sprintf("%s=%s", c.Key(), c.Value()))
	}
	if c.Err() != nil || strings.Join(got, " ") != want {
		t.Fatalf("rows are %v, %v, should be %s", got, c.Err(), want)
	}
}

// fresh opens a store in memory with one table.
func fresh(t *testing.T) (*world, store.Table) {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), disk: &memoryDisk{}}
	w.open()
	table, err := w.s.CreateTable("rows")
	w.must(err)
	w.must(w.s.Publish())
	w.must(checkpoint(t, w.s))
	return w, table
}

func TestAFlushWritesEachRowOnce(t *testing.T) {
	w, table := fresh(t)
	for i := range 50 {
		block(t, w.s, table, fmt.Sprintf("hot=%d", i), fmt.Sprintf("cold%02d=%d", i, i))
	}
	commit(t, w.s, 50)
	before := len(w.base.batches)
	w.must(checkpoint(t, w.s))
	if n := len(w.base.batches) - before; n != 1 {
		t.Fatalf("%d batches for one flush", n)
	}
	rows := 0
	for key := range w.base.batches[before] {
		if key[1] != 0 {
			rows++
		}
	}
	if rows != 51 {
		t.Errorf("the batch has %d rows, should have the hot one and 50 others", rows)
	}
	if s := w.s.Stats().LastCheckpoint; s.Pages != 51 || s.Image.Head != 50 {
		t.Errorf("stats of the checkpoint: %+v", s)
	}
}

func TestAFlushLeavesOutWhatCanBeUndone(t *testing.T) {
	w, table := fresh(t)
	block(t, w.s, table, "a=1", "b=1", "c=1")
	commit(t, w.s, 1)
	block(t, w.s, table, "a=2", "d=2")
	block(t, w.s, table, "a=3", "b", "d=3")
	w.must(checkpoint(t, w.s))
	wantRows(t, w.s, table, "a=3 c=1 d=3")
	if d := w.s.Durable(); d.Head != 1 || d.Irreversible != 1 {
		t.Errorf("durable is %+v", d)
	}
	for key := range w.base.batches[len(w.base.batches)-1] {
		if strings.HasSuffix(key, "d") {
			t.Error("a row that only an undoable revision has was written")
		}
	}
	w.must(w.s.Undo())
	wantRows(t, w.s, table, "a=2 b=1 c=1 d=2")
	w.must(w.s.UndoAll())
	wantRows(t, w.s, table, "a=1 b=1 c=1")
	block(t, w.s, table, "a=9")
	commit(t, w.s, 2)
	w.must(checkpoint(t, w.s))
	w.must(w.s.Close())
	w.open()
	wantRows(t, w.s, table, "a=9 b=1 c=1")
}

func TestARowThatCameAndWentLeavesNoTrace(t *testing.T) {
	w, table := fresh(t)
	block(t, w.s, table, "a=1", "short=1")
	block(t, w.s, table, "short")
	commit(t, w.s, 2)
	w.must(checkpoint(t, w.s))
	for key := range w.base.batches[len(w.base.batches)-1] {
		if strings.HasSuffix(key, "short") {
			t.Error("it is in the batch")
		}
	}
	block(t, w.s, table, "a")
	commit(t, w.s, 3)
	w.must(checkpoint(t, w.s))
	if v, ok := w.base.batches[len(w.base.batches)-1]["\x00\x02a"]; !ok || v != "" {
		t.Errorf("the base is not told that a row is gone: %q, %v", v, ok)
	}
}

func TestACheckpointWithNothingNewWritesNothing(t *testing.T) {
	w, table := fresh(t)
	block(t, w.s, table, "a=1")
	before := len(w.base.batches)
	w.must(checkpoint(t, w.s)) // all of it can be undone
	w.must(checkpoint(t, w.s))
	if n := len(w.base.batches) - before; n != 0 {
		t.Errorf("%d batches", n)
	}
	wantRows(t, w.s, table, "a=1")
}

func TestViewsStayExactAcrossFlushes(t *testing.T) {
	w, table := fresh(t)
	type kept struct {
		view store.View
		want string
	}
	var views []kept
	for i := range 12 {
		block(t, w.s, table, fmt.Sprintf("a=%d", i), fmt.Sprintf("k%02d=%d", i, i))
		if i > 2 {
			commit(t, w.s, uint64(i-1))
		}
		w.must(w.s.Publish())
		v, err := w.s.View()
		w.must(err)
		want := fmt.Sprintf("a=%d", i)
		for j := range i + 1 {
			want += fmt.Sprintf(" k%02d=%d", j, j)
		}
		views = append(views, kept{v, want})
		if i%2 == 0 {
			w.must(checkpoint(t, w.s))
		}
		for _, k := range views {
			wantRows(t, k.view, table, k.want)
		}
	}
	if s := w.s.Stats(); s.OpenViews != 12 || s.OldestView != 1 {
		t.Errorf("%d views, oldest of revision %d", s.OpenViews, s.OldestView)
	}
	for _, k := range views {
		w.must(k.view.Close())
	}
}

// failures are the ways in which a flush can fail; whether the batch is in the
// base all the same.
var failures = map[string]struct {
	plant     func(*world)
	committed bool
}{
	"BeforeCheckpoint": {plant: func(w *world) { w.e.opts.BeforeCheckpoint = func(uint64) error { return errPlanted } }},
	"FirstRow":         {plant: func(w *world) { w.base.failPut = w.base.puts + 1 }},
	"MiddleRow":        {plant: func(w *world) { w.base.failPut = w.base.puts + 4 }},
	"Commit":           {plant: func(w *world) { w.base.failCommit = true }},
	"LyingCommit":      {plant: func(w *world) { w.base.lieCommit = true }, committed: true},
	"Seal":             {plant: func(w *world) { w.e.folder.file.path += "/gone" }, committed: true},
	"AfterTheSeal":     {plant: func(w *world) { w.base.failSnapshot = true }, committed: true},
}

func (w *world) heal() {
	w.e.opts.BeforeCheckpoint = nil
	w.base.failPut, w.base.failCommit, w.base.lieCommit, w.base.failSnapshot = 0, false, false, false
	w.e.folder.file.path = strings.TrimSuffix(w.e.folder.file.path, "/gone")
}

func TestAFailedFlushLosesNothing(t *testing.T) {
	for name, failure := range failures {
		t.Run(name, func(t *testing.T) {
			w, table := fresh(t)
			block(t, w.s, table, "a=1", "b=1", "c=1")
			block(t, w.s, table, "b=2")
			commit(t, w.s, 1)
			w.must(checkpoint(t, w.s))
			block(t, w.s, table, "a=3", "c", "d=3")
			commit(t, w.s, 2)
			w.must(w.s.Publish())
			v, err := w.s.View()
			w.must(err)
			failure.plant(w)
			for i := range 3 {
				if err := checkpoint(t, w.s); !errors.Is(err, errPlanted) && name != "Seal" || err == nil {
					t.Fatalf("checkpoint %d: %v", i, err)
				}
				if d := w.s.Durable(); d.Head != 1 {
					t.Fatalf("durable is %+v after a failed flush", d)
				}
				wantRows(t, w.s, table, strings.TrimSpace(fmt.Sprintf("a=%d b=2 d=3", 3+10*i)))
				wantRows(t, v, table, "a=3 b=2 d=3")
				block(t, w.s, table, fmt.Sprintf("a=%d", 13+10*i))
			}
			if s := w.s.Stats(); s.CheckpointsFailed != 3 || len(w.e.ground.Load().layers) > 2 {
				t.Errorf("%d failed, %d layers", s.CheckpointsFailed, len(w.e.ground.Load().layers))
			}
			commit(t, w.s, 4)
			w.heal()
			w.must(checkpoint(t, w.s))
			wantRows(t, w.s, table, "a=33 b=2 d=3")
			wantRows(t, v, table, "a=3 b=2 d=3")
			w.must(v.Close())
			w.must(w.s.UndoAll())
			wantRows(t, w.s, table, "a=13 b=2 d=3")
			w.must(w.s.Close())
			w.open()
			wantRows(t, w.s, table, "a=13 b=2 d=3")
			w.must(w.s.Close())
		})
	}
}

func TestACrashAfterAFailedFlushOpensAtOneOfTwoImages(t *testing.T) {
	for name, failure := range failures {
		t.Run(name, func(t *testing.T) {
			w, table := fresh(t)
			block(t, w.s, table, "a=1", "b=1")
			commit(t, w.s, 1)
			w.must(checkpoint(t, w.s))
			block(t, w.s, table, "a=2", "b")
			commit(t, w.s, 2)
			failure.plant(w)
			if checkpoint(t, w.s) == nil {
				t.Fatal("the flush did not fail")
			}
			w.heal()
			w.must(w.s.Close())
			w.open()
			if failure.committed {
				wantRows(t, w.s, table, "a=2")
			} else {
				wantRows(t, w.s, table, "a=1 b=1")
			}
			w.must(w.s.Close())
		})
	}
}

func TestTheWriterGoesOnDuringAFlush(t *testing.T) {
	w, table := fresh(t)
	block(t, w.s, table, "a=1", "b=1")
	commit(t, w.s, 1)
	begun, release := make(chan bool), make(chan bool)
	w.e.opts.BeforeCheckpoint = func(uint64) error {
		begun <- true
		<-release
		return nil
	}
	c, err := w.s.Checkpoint()
	w.must(err)
	<-begun
	block(t, w.s, table, "a=2", "b")
	w.must(w.s.Publish())
	v, err := w.s.View()
	w.must(err)
	wantRows(t, v, table, "a=2")
	w.must(w.s.Undo())
	wantRows(t, w.s, table, "a=1 b=1")
	block(t, w.s, table, "c=2")
	release <- true
	w.must(c.Wait())
	wantRows(t, w.s, table, "a=1 b=1 c=2")
	wantRows(t, v, table, "a=2")
	w.must(v.Close())
	if d := w.s.Durable(); d.Head != 1 {
		t.Errorf("durable is %+v", d)
	}
}

func TestAWriterWithoutFlushesIsStopped(t *testing.T) {
	w, table := fresh(t)
	w.e.opts.BeforeCheckpoint = func(uint64) error { return errPlanted }
	value := strings.Repeat("v", 10_000)
	var err error
	for i := 0; err == nil; i++ {
		if i > 10_000 {
			t.Fatal("it goes on for ever")
		}
		if err = w.s.Begin(); err == nil {
			if err = w.s.Put(table, fmt.Appendf(nil, "%08d", i), []byte(value)); err == nil {
				err = w.s.Push()
			}
		}
	}
	if !errors.Is(err, store.ErrGuard) && !errors.Is(err, store.ErrFull) {
		t.Fatal(err)
	}
	w.must(w.s.UndoAll())
	wantRows(t, w.s, table, "")
}

func TestFullIsSaidBeforeAnythingHasChanged(t *testing.T) {
	w, table := fresh(t)
	w.must(w.s.Begin())
	var full *store.FullError
	n := 0
	for ; ; n++ {
		err := w.s.Put(table, fmt.Appendf(nil, "%08d", n), make([]byte, 10_000))
		if errors.As(err, &full) {
			break
		}
		w.must(err)
	}
	if full.Path != w.dir || full.Limit != 4*small.OverlayBytes {
		t.Errorf("%+v", full)
	}
	if _, err := w.s.Get(table, fmt.Appendf(nil, "%08d", n)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the row that did not fit: %v", err)
	}
	w.must(w.s.Undo())
	wantRows(t, w.s, table, "")
	block(t, w.s, table, "a=1")
}

func TestValuesLiveUntilTheNextChange(t *testing.T) {
	w, table := fresh(t)
	for i := range 100 {
		w.must(w.s.Put(table, fmt.Appendf(nil, "%03d", i), fmt.Appendf(nil, "value %d", i)))
	}
	w.must(w.s.SetRevision(1))
	w.must(checkpoint(t, w.s))
	w.must(w.s.Publish())
	var values [][]byte
	for i := range 100 {
		v, err := w.s.Get(table, fmt.Appendf(nil, "%03d", i))
		w.must(err)
		values = append(values, v)
	}
	for i, v := range values {
		if string(v) != fmt.Sprintf("value %d", i) {
			t.Fatalf("value %d became %q", i, v)
		}
	}
	// A borrowed value may be put.
	w.must(w.s.Put(table, values[7], values[8]))
	if v, err := w.s.Get(table, []byte("value 7")); err != nil || string(v) != "value 8" {
		t.Errorf("%q, %v", v, err)
	}
	if s := w.s.Stats(); s.CacheHits < 100 || s.Gets < 100 {
		t.Errorf("%+v", s)
	}
}

func TestCloseWithAnOpenViewKeepsTheLock(t *testing.T) {
	w, table := fresh(t)
	block(t, w.s, table, "a=1")
	w.must(w.s.Publish())
	v, err := w.s.View()
	w.must(err)
	w.must(w.s.Close())
	if _, err := v.Get(table, []byte("a")); !errors.Is(err, store.ErrClosed) {
		t.Errorf("get: %v", err)
	}
	if _, err := Enter(nil, w.dir, "memory", false); !errors.Is(err, store.ErrLocked) {
		t.Errorf("the lock was given back: %v", err)
	}
	w.must(v.Close())
	w.open()
	w.must(w.s.Close())
}

func TestARowDeletedAfterAFailedFlushStaysDeleted(t *testing.T) {
	for name, failure := range failures {
		t.Run(name, func(t *testing.T) {
			w, table := fresh(t)
			block(t, w.s, table, "a=1")
			commit(t, w.s, 1)
			w.must(checkpoint(t, w.s))
			block(t, w.s, table, "d=2", "e=2")
			commit(t, w.s, 2)
			failure.plant(w)
			if checkpoint(t, w.s) == nil {
				t.Fatal("the flush did not fail")
			}
			block(t, w.s, table, "b=3", "d", "e=3")
			commit(t, w.s, 3)
			if checkpoint(t, w.s) == nil {
				t.Fatal("the second flush did not fail")
			}
			w.heal()
			w.must(checkpoint(t, w.s))
			block(t, w.s, table, "short=4")
			block(t, w.s, table, "short")
			commit(t, w.s, 5)
			w.must(checkpoint(t, w.s))
			for key := range w.base.batches[len(w.base.batches)-1] {
				if strings.HasSuffix(key, "short") {
					t.Error("after a flush that succeeded, a row that came and went is in the batch")
				}
			}
			w.must(w.s.Close())
			w.open()
			wantRows(t, w.s, table, "a=1 b=3 e=3")
			w.must(w.s.Close())
		})
	}
}

func TestAnUndoBringsBackMoreThanTheOverlayHolds(t *testing.T) {
	w, table := fresh(t)
	value := strings.Repeat("v", 1<<20)
	const rows = 128 // that many MiB, where the overlay takes 4
	for i := range rows {
		w.must(w.s.Put(table, fmt.Appendf(nil, "%03d", i), []byte(value)))
		if i%3 == 2 || i == rows-1 {
			w.must(checkpoint(t, w.s))
		}
	}
	w.must(w.s.Begin())
	if n, err := w.s.DeleteRange(table, nil, nil); n != rows || err != nil {
		t.Fatalf("deleted %d of %d: %v", n, rows, err)
	}
	w.must(w.s.Undo())
	for i := range rows {
		if v, err := w.s.Get(table, fmt.Appendf(nil, "%03d", i)); string(v) != value {
			t.Fatalf("row %d has %d bytes: %v", i, len(v), err)
		}
	}
	w.must(w.s.Close())
}

func TestWhatIsLentOutlivesEverythingButAChange(t *testing.T) {
	w, table := fresh(t)
	want := map[string]string{"base": strings.Repeat("B", 100), "frozen": strings.Repeat("F", 100),
		"live": strings.Repeat("L", 100)}
	w.must(w.s.Put(table, []byte("base"), []byte(want["base"])))
	w.must(checkpoint(t, w.s))
	w.e.opts.BeforeCheckpoint = func(uint64) error { return errPlanted }
	w.must(w.s.Put(table, []byte("frozen"), []byte(want["frozen"])))
	if checkpoint(t, w.s) == nil {
		t.Fatal("the flush did not fail")
	}
	w.heal()
	w.must(w.s.Put(table, []byte("live"), []byte(want["live"])))
	lent := map[string][]byte{}
	for key := range want {
		v, err := w.e.Get(table, []byte(key))
		w.must(err)
		lent[key] = v
	}
	for step, do := range []func(){
		func() { w.must(w.s.Publish()) },
		func() { w.must(checkpoint(t, w.s)) },
		func() { w.must(w.s.Publish()) },
		func() { _, err := w.s.CreateTable("another"); w.must(err) },
		func() { w.must(checkpoint(t, w.s)) },
		func() { w.must(checkpoint(t, w.s)) },
	} {
		do()
		_, err := w.e.Get(table, []byte("base"))
		w.must(err)
		for key, v := range lent {
			if string(v) != want[key] {
				t.Fatalf("after step %d the value that lay in %s is %.10q", step, key, v)
			}
		}
	}
	w.must(w.s.Put(table, []byte("live"), nil))
	if n := len(w.e.loans.retired); n != 0 {
		t.Errorf("%d layers are kept after the change", n)
	}
	w.must(w.s.Close())
}

func TestAWriterThatOnlyReadsHoldsNoMore(t *testing.T) {
	w, table := fresh(t)
	value := strings.Repeat("v", 1000)
	for i := range 100 {
		w.must(w.s.Put(table, fmt.Appendf(nil, "%03d", i), []byte(value)))
	}
	w.must(checkpoint(t, w.s))
	w.must(w.s.Publish())
	first, err := w.e.Get(table, []byte("000"))
	w.must(err)
	for i := range 100_000 {
		v, err := w.e.Get(table, fmt.Appendf(nil, "%03d", i%100))
		if err != nil || len(v) != len(value) {
			t.Fatalf("%d bytes, %v", len(v), err)
		}
	}
	if n := cap(w.e.loans.arena); n > arenaSize {
		t.Errorf("the arena has %d bytes", n)
	}
	if string(first) != value {
		t.Error("the first value has changed")
	}
	w.must(w.s.Close())
}

// TestAStartSealsTheFlushThatItFinds: what a store opens at is called durable, so
// from then on it must be damage if it is gone.
func TestAStartSealsTheFlushThatItFinds(t *testing.T) {
	w, table := fresh(t)
	block(t, w.s, table, "a=1")
	commit(t, w.s, 1)
	failures["Seal"].plant(w)
	if err := checkpoint(t, w.s); err == nil {
		t.Fatal("the seal was written")
	}
	w.heal()
	w.must(w.s.Close())
	w.open()
	if w.s.Head() != 1 {
		t.Fatalf("opened at %d", w.s.Head())
	}
	path := filepath.Join(w.e.folder.Path(), sealName)
	file, err := os.ReadFile(path)
	w.must(err)
	if s, err := decodeSeal(path, file); err != nil || s.revision != 1 || s.sequence != w.e.sequence {
		t.Errorf("sealed is %+v, %v, the store is at flush %d", s, err, w.e.sequence)
	}
	w.must(w.s.Close())
}
