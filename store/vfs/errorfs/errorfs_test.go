package errorfs_test

import (
	"bytes"
	"errors"
	"syscall"
	"testing"

	"tarn/store/vfs/errorfs"
	"tarn/store/vfs/memfs"
)

func TestFaultsHitTheCallTheyName(t *testing.T) {
	mem := memfs.New()
	fs := errorfs.New(mem)
	f, err := fs.Create("/a")
	if err != nil {
		t.Fatal(err)
	}
	g, err := fs.Create("/b")
	if err != nil {
		t.Fatal(err)
	}
	once := fs.Inject(errorfs.Fault{Ops: errorfs.Write, Path: "a", Nth: 2, Err: syscall.ENOSPC, Part: true})
	ever := fs.Inject(errorfs.Fault{Ops: errorfs.Sync | errorfs.SyncDir, Nth: 2, Ever: true, Err: syscall.EIO})
	page := bytes.Repeat([]byte{1}, 1000)
	write := func(want error) {
		t.Helper()
		if _, err := g.WriteAt(page, 0); err != nil {
			t.Errorf("write to the other file: %v", err)
		}
		if _, err := f.WriteAt(page, 0); !errors.Is(err, want) {
			t.Errorf("write: %v, expected %v", err, want)
		}
	}
	write(nil)
	if err := f.Truncate(0); err != nil {
		t.Error(err)
	}
	write(syscall.ENOSPC)
	if got := mem.Blob("/a").Size(); got != 500 {
		t.Errorf("a failed write left %d bytes, expected half of it", got)
	}
	write(nil)
	for i, want := range []error{nil, syscall.EIO, syscall.EIO} {
		if err := g.Sync(); !errors.Is(err, want) {
			t.Errorf("sync %d: %v", i, err)
		}
	}
	if err := fs.SyncDir("/"); !errors.Is(err, syscall.EIO) {
		t.Errorf("sync of the directory: %v", err)
	}
	if once() != 1 || ever() != 3 {
		t.Errorf("%d and %d calls failed, expected 1 and 3", once(), ever())
	}
	fs.Clear()
	if err := g.Sync(); err != nil {
		t.Errorf("sync after the faults were cleared: %v", err)
	}
}

func TestLiesDoNothing(t *testing.T) {
	mem := memfs.New()
	fs := errorfs.New(mem)
	f, err := fs.Create("/a")
	if err != nil {
		t.Fatal(err)
	}
	f.WriteAt([]byte("abc"), 0) //nolint:errcheck // no fault yet
	fs.Inject(errorfs.Fault{Ops: errorfs.Truncate | errorfs.Rename, Ever: true, Lie: true})
	if err := errors.Join(f.Truncate(0), fs.Rename("/a", "/b")); err != nil {
		t.Fatal(err)
	}
	if got := mem.Blob("/a"); got == nil || got.Size() != 3 {
		t.Error("the file was changed")
	}
}
