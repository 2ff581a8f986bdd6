package page_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"syscall"
	"testing"

	"tarn/store"
	"tarn/store/page"
	"tarn/store/revision"
	"tarn/store/vfs"
	"tarn/store/vfs/errorfs"
)

// Whatever open sessions and revisions took away comes back on a disk that takes nothing,
// with the durable image and a view of each state in the way, published after each step. The
// next image waits for room, and so do changes; then all of it is in the file.
func TestUndoNeedsNoRoomOnTheDisk(t *testing.T) {
	for _, mode := range []page.Mode{page.Mapped, page.MappedPrivate, page.Heap} {
		for _, size := range []int{1000, 40_000} {
			t.Run(fmt.Sprintf("%v/rows of %d bytes", mode, size), func(t *testing.T) {
				disk := errorfs.New(vfs.OS)
				o := page.Options{
					Dir: t.TempDir(), Mode: mode, LimitBytes: 1 << 30, GrowBytes: 2 << 20,
					PrivateBytes: 24 << 20, FS: disk,
				}
				undoOnAFullDisk(t, disk, o, size)
			})
		}
	}
}

func undoOnAFullDisk(t *testing.T, disk *errorfs.FS, o page.Options, size int) {
	s, table := openRows(t, o)
	f := &filled{t: t, store: s, table: table, rows: map[string]string{}, rng: rand.New(rand.NewPCG(seed(t), 0))}
	for i := range 40 << 20 / size {
		f.put(fmt.Sprintf("%08d", i), size)
	}
	durable(t, s)
	views := f.takeAway(size)

	refused := disk.Inject(errorfs.Fault{Ops: errorfs.Allocate | errorfs.Write, Path: "state.tarn", Ever: true,
		Err: syscall.ENOSPC})
	for len(f.before) > 0 {
		try(t, s.Undo())
		last := len(f.before) - 1
		f.rows, f.before = f.before[last], f.before[:last]
		f.compare(s, f.rows)
		try(t, s.Publish())
		v, err := s.View()
		try(t, err)
		views[v] = f.rows
	}
	for v, rows := range views {
		f.compare(v, rows)
	}
	if n := refused(); n > 200 { // each may have written a bound's worth of pages before
		t.Errorf("the disk was asked for room %d times", n)
	}
	c, err := s.Checkpoint()
	if err == nil {
		err = c.Wait()
	}
	if !errors.Is(err, store.ErrFull) {
		t.Errorf("a checkpoint on the full disk: %v", err)
	}
	if private := s.Stats().PrivateBytes; o.Mode == page.Mapped && private == 0 {
		t.Error("the undo found room in the file: the test is about one that does not")
	}
	disk.Clear()
	f.rows = maps.Clone(f.rows)
	f.put("more", size)
	for v, rows := range views {
		f.compare(v, rows)
		try(t, v.Close())
	}
	f.allInFile(o)
}

// filled is a store with the rows that it must have.
type filled struct {
	t      *testing.T
	store  *revision.Store
	table  store.Table
	rows   map[string]string
	before []map[string]string // at the beginning of each revision and session
	rng    *rand.Rand
}

func (f *filled) put(key string, size int) {
	f.t.Helper()
	value := make([]byte, size)
	for i := 0; i+8 < size; i += 8 {
		value[i] = byte(f.rng.Uint32())
	}
	try(f.t, f.store.Put(f.table, []byte(key), value))
	f.rows[key] = string(value)
}

func (f *filled) begin() {
	f.t.Helper()
	try(f.t, f.store.Begin())
	f.before = append(f.before, maps.Clone(f.rows))
}

// takeAway has two revisions, and two sessions of a third, take rows away and change others.
// The state that the third began with is durable. It returns a view of it.
func (f *filled) takeAway(size int) map[store.View]map[string]string {
	n := len(f.rows)
	for step := range 4 {
		f.begin()
		for i := step; i < n; i += 9 {
			key := fmt.Sprintf("%08d", i)
			if err := f.store.Delete(f.table, []byte(key)); !errors.Is(err, store.ErrNotFound) {
				try(f.t, err)
			}
			delete(f.rows, key)
		}
		for i := step + 4; i < n; i += 18 {
			f.put(fmt.Sprintf("%08d", i), size/2)
		}
		if step < 2 {
			try(f.t, f.store.Push())
		}
		if step == 1 {
			durable(f.t, f.store)
		}
	}
	v, err := f.store.View()
	try(f.t, err)
	rows := f.before[2]
	from, to := fmt.Appendf(nil, "%08d", n/10), fmt.Appendf(nil, "%08d", n)
	f.begin()
	_, err = f.store.DeleteRange(f.table, from, to)
	try(f.t, err)
	maps.DeleteFunc(f.rows, func(key, _ string) bool { return key >= string(from) && key < string(to) })
	f.compare(f.store, f.rows)
	return map[store.View]map[string]string{v: rows}
}

func (f *filled) compare(r store.Reader, rows map[string]string) {
	f.t.Helper()
	c, err := r.Cursor(f.table)
	try(f.t, err)
	n := 0
	for ok := c.First(); ok; ok = c.Next() {
		if want, ok := rows[string(c.Key())]; !ok || want != string(c.Value()) {
			f.t.Fatalf("row %s has %d bytes, and should have %d", c.Key(), len(c.Value()), len(want))
		}
		n++
	}
	try(f.t, errors.Join(c.Err(), c.Close()))
	if n != len(rows) {
		f.t.Fatalf("%d rows instead of %d", n, len(rows))
	}
}

// allInFile: the next image holds the rows, is sound on the disk, and in a shared mapping
// every page has its blocks and is the file's.
func (f *filled) allInFile(o page.Options) {
	durable(f.t, f.store)
	f.compare(f.store, f.rows)
	try(f.t, clean(f.store.Engine().(*page.Engine)))
	if private := f.store.Stats().PrivateBytes; o.Mode == page.Mapped && private > 0 {
		f.t.Errorf("%d bytes are in memory only", private)
	}
	try(f.t, f.store.Close())
	var st syscall.Stat_t
	if err := syscall.Stat(filepath.Join(o.Dir, "state.tarn"), &st); err != nil ||
		o.Mode == page.Mapped && st.Blocks*512 < st.Size {
		f.t.Errorf("%d of %d bytes have blocks: %v", st.Blocks*512, st.Size, err)
	}
	f.store, f.table = openRows(f.t, o)
	f.compare(f.store, f.rows)
	try(f.t, f.store.Close())
}

func durable(t *testing.T, s *revision.Store) {
	t.Helper()
	try(t, s.Publish())
	c, err := s.Checkpoint()
	try(t, err)
	try(t, c.Wait())
}
