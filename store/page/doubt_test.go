package page_test

import (
	"errors"
	"syscall"
	"testing"

	"tarn/store/page"
	"tarn/store/revision"
	"tarn/store/vfs/errorfs"
	"tarn/store/vfs/memfs"
)

// A checkpoint whose meta page was written and not synced leaves an image that a start may prefer.
// While it does, a checkpoint that succeeds has taken its place, although nothing has changed since
// the image before it.
func TestACheckpointThatSucceedsIsWhatAStartFinds(t *testing.T) {
	for name, change := range map[string]func(*fullStore){
		"a revision without a change": func(*fullStore) {},
		"a row":                       func(f *fullStore) { f.put([]byte("b"), []byte("2")) },
	} {
		t.Run(name, func(t *testing.T) {
			disk := errorfs.New(memfs.New())
			o := heap(16 << 20)
			o.FS = disk
			f := newFullStore(t, o)
			f.revision(func() { f.put([]byte("a"), []byte("1")) })
			f.checkpoint()
			want := f.store.Head()
			f.revision(func() { change(f) })
			disk.Inject(errorfs.Fault{Ops: errorfs.Sync, Path: "state.tarn", Nth: 2, Err: syscall.EIO})
			c, err := f.store.Checkpoint()
			f.try(err)
			if err := c.Wait(); !errors.Is(err, syscall.EIO) {
				t.Fatalf("the sync of the meta page has failed, and the checkpoint said %v", err)
			}
			f.try(f.store.Undo())
			f.checkpoint()
			if f.store.Head() != want || f.store.Durable().Head != want {
				t.Fatalf("head %d, durable %+v, want %d", f.store.Head(), f.store.Durable(), want)
			}
			f.try(f.engine.Close())
			o.Dir = storeDir
			e, err := page.Open(o)
			f.try(err)
			defer e.Close()
			s, err := revision.Open(e)
			f.try(err)
			if s.Head() != want {
				t.Errorf("a checkpoint of revision %d has succeeded, and a start finds %d", want, s.Head())
			}
		})
	}
}

// revision makes a revision of what change does.
func (f *fullStore) revision(change func()) {
	f.t.Helper()
	f.try(f.store.Begin())
	change()
	f.try(f.store.Push())
}
