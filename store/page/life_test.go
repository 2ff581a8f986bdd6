package page

import (
	"errors"
	"testing"
	"time"

	"tarn/store"
	"tarn/store/vfs"
)

// meddler is a file system on which somebody else is at work at a chosen moment.
type meddler struct {
	vfs.FS
	first func()        // called once, within the first Exists, before it answers
	gate  chan struct{} // if set, writes of all but meta pages wait for it
}

func (f *meddler) Exists(path string) (bool, error) {
	there, err := f.FS.Exists(path)
	if f.first != nil {
		meddle := f.first
		f.first = nil
		meddle()
	}
	return there, err
}

func (f *meddler) Open(path string, writable bool) (vfs.File, error) {
	file, err := f.FS.Open(path, writable)
	if err != nil || !writable || f.gate == nil {
		return file, err
	}
	return &gatedFile{file, f.gate}, nil
}

type gatedFile struct {
	vfs.File
	gate chan struct{}
}

func (f *gatedFile) WriteAt(b []byte, off int64) (int, error) {
	if off >= firstPage*pageSize {
		<-f.gate
	}
	return f.File.WriteAt(b, off)
}

// newRows makes a store in a folder of its own, with a table, until the test ends.
func newRows(t testing.TB, o Options) (*Engine, store.Table) {
	t.Helper()
	o.Dir = t.TempDir()
	e, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	tb, err := e.CreateTable("rows")
	if err != nil {
		t.Fatal(err)
	}
	return e, tb
}

func onePut(t *testing.T, e *Engine, value []byte) store.Table {
	t.Helper()
	tb, err := e.CreateTable("rows")
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Put(tb, []byte("key"), value, nil); err != nil {
		t.Fatal(err)
	}
	return tb
}

func TestTwoOpensOfANewFolderLoseNothing(t *testing.T) {
	o := Options{Dir: t.TempDir(), LimitBytes: 64 << 20}
	late := o
	late.FS = &meddler{FS: vfs.OS, first: func() {
		e, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		onePut(t, e, []byte("value"))
		c, err := e.Checkpoint(store.Image{Head: 7, Irreversible: 7})
		if err = errors.Join(err, c.Wait(), e.Close()); err != nil {
			t.Fatal(err)
		}
	}}
	e, err := Open(late)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if head := e.Durable().Head; head != 7 {
		t.Fatalf("the second open has head %d, the first made 7 durable", head)
	}
}

func TestLastViewClosesBesideCloseAndACheckpoint(t *testing.T) {
	gate := make(chan struct{})
	e, err := Open(Options{Dir: t.TempDir(), LimitBytes: 64 << 20, FS: &meddler{FS: vfs.OS, gate: gate}})
	if err != nil {
		t.Fatal(err)
	}
	onePut(t, e, []byte("value"))
	if err := e.Publish(1); err != nil {
		t.Fatal(err)
	}
	v, err := e.View()
	if err != nil {
		t.Fatal(err)
	}
	c, err := e.Checkpoint(store.Image{Head: 1, Irreversible: 1})
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan error)
	go func() { closed <- e.Close() }()
	for !e.closed.Load() {
		time.Sleep(time.Millisecond)
	}
	if err := v.Close(); err != nil {
		t.Error(err)
	}
	close(gate)
	if err := errors.Join(c.Wait(), <-closed); err != nil {
		t.Error(err)
	}
	if e.mem.mapped != 0 {
		t.Error("memory was not given back")
	}
}

func TestCursorEndsAtAValueThatCannotBeRead(t *testing.T) {
	e, err := Open(Options{Dir: t.TempDir(), LimitBytes: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	tb := onePut(t, e, make([]byte, 10_000))
	n, i, err := e.lookup(&e.tables[tb-1].tree, tb, []byte("key"))
	if err != nil {
		t.Fatal(err)
	}
	ref, _ := n.value(i)
	page := decodeRunRef(ref).page
	e.mem.slice(page, 1)[100] ^= 1
	e.clearChecked(page, 1)
	c, err := e.Cursor(tb)
	if err != nil {
		t.Fatal(err)
	}
	for ok := c.First(); ok; ok = c.Next() {
		if c.Value() != nil {
			t.Error("a damaged value was shown")
		}
	}
	if !errors.Is(c.Err(), store.ErrCorrupt) {
		t.Errorf("the walk ended with %v", c.Err())
	}
}

func TestSecondFirstReaderOfAPageFindsNoDamage(t *testing.T) {
	e, err := Open(Options{Dir: t.TempDir(), LimitBytes: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	tb := onePut(t, e, []byte("value"))
	// What a reader calls that found the page unchecked a moment ago.
	if _, err := e.checkNode(e.tables[tb-1].root, tb, 0); err != nil {
		t.Error(err)
	}
}
