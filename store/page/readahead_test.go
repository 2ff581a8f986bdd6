package page

import (
	"encoding/binary"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tarn/store"
)

// TestALongWalkReadsLeavesTogether walks over rows that are not in memory, and looks at
// leaves far ahead of it.
func TestALongWalkReadsLeavesTogether(t *testing.T) {
	for _, mode := range []Mode{Mapped, MappedPrivate} {
		e, tb := newRows(t, Options{Mode: mode})
		var key [4]byte
		for i := range uint32(2000) {
			binary.BigEndian.PutUint32(key[:], i)
			if err := e.Put(tb, key[:], make([]byte, 200), nil); err != nil {
				t.Fatal(err)
			}
		}
		c, err := e.Checkpoint(store.Image{})
		if err != nil || c.Wait() != nil {
			t.Fatal(err, c.Wait())
		}
		dir := e.opts.Dir
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		e, err = Open(Options{Dir: dir, Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		e.mem.forgetting.Wait()
		forget(t, e.path)
		// Rows were put in order, so pages of leaves follow each other.
		leaf := func(i int) uint32 {
			root, err := e.node(e.tables[tb-1].tree.root, tb, int(e.tables[tb-1].tree.height)-1)
			if err != nil || root.level != 1 {
				t.Fatal(root.level, err)
			}
			return root.child(i).page
		}
		const far = 2*askEvery + askFor/2
		if e.mem.resident(leaf(far)) {
			t.Log("the kernel has not let go of the file: nothing can be seen")
		} else {
			rows, err := e.Cursor(tb)
			if err != nil {
				t.Fatal(err)
			}
			for ok := rows.First(); ok && rows.(*cursor).leaves < 2*askEvery; ok = rows.Next() {
			}
			for end := time.Now().Add(time.Minute); !e.mem.resident(leaf(far)); time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("%s: leaf %d is not read ahead", mode, far)
				}
			}
			rows.Close()
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A page that is given out is read before it is changed. The free pages after it are in memory soon.
func TestFreePagesAreReadBeforeTheyAreGivenOut(t *testing.T) {
	for _, mode := range []Mode{Mapped, MappedPrivate} {
		e, tb := newRows(t, Options{Mode: mode})
		put := func(i uint32, size int) {
			t.Helper()
			if err := e.Put(tb, binary.BigEndian.AppendUint32(nil, i), make([]byte, size), nil); err != nil {
				t.Fatal(err)
			}
		}
		checkpoint := func() {
			t.Helper()
			c, err := e.Checkpoint(store.Image{})
			if err != nil || c.Wait() != nil {
				t.Fatal(err, c.Wait())
			}
		}
		const rows = 20_000
		for i := range uint32(rows) {
			put(i, 200)
		}
		checkpoint()
		for i := range uint32(rows) { // of a hundred rows sixty go, so that leaves do
			if i%100 < 60 {
				if err := e.Delete(tb, binary.BigEndian.AppendUint32(nil, i), nil); err != nil {
					t.Fatal(err)
				}
			}
		}
		checkpoint()
		checkpoint()
		dir := e.opts.Dir
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		e, err := Open(Options{Dir: dir, Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		e.mem.forgetting.Wait()
		forget(t, e.path)
		const far = freeAhead / 2
		page := e.space.cursor
		for range far {
			page = e.space.free.next(page+1, e.space.end)
		}
		if page == e.space.end {
			t.Fatalf("%s: fewer than %d pages are free", mode, far)
		}
		if e.mem.resident(page) {
			t.Log("the kernel has not let go of the file: nothing can be seen")
		} else {
			put(99, 200)
			for end := time.Now().Add(time.Minute); !e.mem.resident(page); time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("%s: the free page %d is not read", mode, page)
				}
			}
		}
		asked := e.asked
		for i := range uint32(far / 4) {
			put(i*100+99, 200)
		}
		if e.asked.to != asked.to {
			t.Errorf("%s: free pages are asked for again while %d of them are left", mode, e.asked.left)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// forget has the kernel drop a file from memory.
func forget(t *testing.T, path string) {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		t.Fatal(err)
	}
}
