package page_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"

	"tarn/store"
	"tarn/store/page"
	"tarn/store/revision"
	"tarn/store/vfs/errorfs"
	"tarn/store/vfs/memfs"
)

// fullStore is a store that tests fill, with one table.
type fullStore struct {
	t      *testing.T
	engine *page.Engine
	store  *revision.Store
	table  store.Table
}

func newFullStore(t *testing.T, o page.Options) *fullStore {
	t.Helper()
	o.Dir = storeDir
	if o.FS == nil {
		o.FS = memfs.New()
	}
	e, err := page.Open(o)
	f := &fullStore{t: t, engine: e}
	f.try(err)
	t.Cleanup(func() { e.Close() })
	f.store, err = revision.Open(e)
	f.try(err)
	f.table, err = f.store.CreateTable("rows")
	f.try(err)
	return f
}

func (f *fullStore) try(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fullStore) checkpoint() {
	f.t.Helper()
	c, err := f.store.Checkpoint()
	f.try(err)
	f.try(c.Wait())
	f.try(f.store.Publish())
}

// rows is how many rows are published.
func (f *fullStore) rows() int64 {
	i := slices.IndexFunc(f.store.Tables(), func(x store.TableInfo) bool { return x.ID == f.table })
	return f.store.Tables()[i].Rows
}

// put puts a row and tells whether there was room.
func (f *fullStore) put(key, value []byte) bool {
	f.t.Helper()
	err := f.store.Put(f.table, key, value)
	if err != nil && !errors.Is(err, store.ErrFull) {
		f.t.Fatal(err)
	}
	return err == nil
}

// A store that is at its limit for good, its rows changed and its images made again
// and again, stays there; every checkpoint succeeds, and the head can be undone.
func TestAStoreAtItsLimitStaysThere(t *testing.T) {
	const limit, slack = 16 << 20, 4 << 20
	f := newFullStore(t, heap(limit))
	r := rand.New(rand.NewPCG(seed(t), 0))
	var keys [][]byte
	value := make([]byte, 1000)
	for range 60 {
		f.try(f.store.Begin())
		r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		for _, key := range keys[len(keys)-len(keys)/20:] {
			f.try(f.store.Delete(f.table, key))
		}
		keys = keys[:len(keys)-len(keys)/20]
		for i := 0; i < len(keys)/10 && f.put(keys[i], value); i++ {
		}
		for {
			key := fmt.Appendf(nil, "%016x", r.Uint64())
			if !f.put(key, value) {
				break
			}
			keys = append(keys, key)
		}
		f.try(f.store.Push())
		f.try(f.store.Commit(f.store.Head() - 1))
		f.checkpoint()
		if size := f.engine.Stats().Size; size > limit+4*slack {
			t.Fatalf("the file has %d MiB, the limit is %d", size>>20, limit>>20)
		}
	}
	rows := f.rows()
	f.try(f.store.Undo())
	f.try(f.store.Publish())
	if now := f.rows(); now > rows {
		t.Errorf("%d rows, %d after an undo", rows, now)
	}
	f.try(clean(f.engine))
}

// What a revision took away comes back even into a store that was full, whatever the
// order in which that fills pages, and with the durable image and a view in the way.
// Afterwards checkpoints and deletes work, and what was deleted makes room.
func TestUndoOfAFullStoreWorks(t *testing.T) {
	for _, size := range []int{1280, 950, 100, 3000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			const limit = 16 << 20
			f := newFullStore(t, heap(limit))
			value := make([]byte, size)
			rows := int64(0)
			for f.put(fmt.Appendf(nil, "%08d", rows), value) {
				rows++
			}
			f.checkpoint()
			v, err := f.store.View()
			f.try(err)
			f.try(f.store.Begin())
			_, err = f.store.DeleteRange(f.table, nil, nil)
			f.try(err)
			f.try(f.store.Undo())
			f.try(f.store.Publish())
			if now := f.rows(); now != rows {
				t.Errorf("%d rows instead of %d", now, rows)
			}
			// In a small store the capacity's constant part would do.
			size, most := f.engine.Stats().Size>>20, page.Capacity(1<<40)*(limit>>20)>>40
			t.Logf("%d rows, the file has %d MiB with a limit of %d", rows, size, limit>>20)
			if size > most {
				t.Errorf("the undo took %d MiB, a large store has %d", size, most)
			}
			f.try(v.Close())
			f.checkpoint()
			f.checkpoint()
			f.try(clean(f.engine))
			_, err = f.store.DeleteRange(f.table, []byte("0"), fmt.Appendf(nil, "%08d", rows/2))
			f.try(err)
			f.checkpoint()
			f.checkpoint()
			if !f.put([]byte("more"), value) {
				t.Error("no room after half of the rows are gone")
			}
		})
	}
}

// An image whose meta page may or may not be on the disk holds what it reaches, as the
// durable one does. Near the limit the store asks for the checkpoint that frees both.
func TestPressureKnowsWhatAFailedCheckpointHolds(t *testing.T) {
	bad := errorfs.New(memfs.New())
	o := heap(16 << 20)
	o.FS = bad
	f := newFullStore(t, o)
	f.checkpoint()
	value := make([]byte, 1000)
	n := 0
	for f.engine.Stats().Free > o.LimitBytes/10 {
		for range 100 {
			f.put(fmt.Appendf(nil, "%08d", n), value)
			n++
		}
		f.engine.Pressure() // which reads the gauges
	}
	bad.Inject(errorfs.Fault{Ops: errorfs.Sync, Path: "state.tarn", Nth: 2, Err: syscall.EIO})
	c, err := f.store.Checkpoint()
	f.try(err)
	if err := c.Wait(); !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	f.try(f.store.Publish())
	_, err = f.store.DeleteRange(f.table, nil, fmt.Appendf(nil, "%08d", n/2))
	f.try(err)
	f.try(f.store.Publish())
	if due, _ := f.engine.Pressure(); !due {
		t.Errorf("%d bytes are free, %d are used, and no checkpoint is asked for",
			f.engine.Stats().Free, f.engine.Stats().Used)
	}
	f.checkpoint()
	f.try(f.store.Publish())
	if due, _ := f.engine.Pressure(); due || f.engine.Stats().Free < o.LimitBytes/3 {
		t.Errorf("after the checkpoint %d bytes are free; another is due: %v", f.engine.Stats().Free, due)
	}
}
