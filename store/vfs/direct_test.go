package vfs_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"

	"tarn/store/vfs"
)

func TestWhatIsWrittenPastTheCacheIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	f, err := vfs.OS.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want := bytes.Repeat([]byte("a"), 3*vfs.Sector)
	if _, err := f.WriteAt(want, 0); err != nil {
		t.Fatal(err)
	}
	direct, err := vfs.OS.OpenDirect(path)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	defer direct.Close()
	middle := append([]byte{0}, bytes.Repeat([]byte("b"), vfs.Sector)...)[1:] // wherever it lies in memory
	if _, err := direct.WriteAt(middle, vfs.Sector); errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	copy(want[vfs.Sector:], middle)
	got := make([]byte, len(want))
	if _, err := f.ReadAt(got, 0); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := direct.WriteAt(middle[1:], vfs.Sector); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a part of a sector: %v", err)
	}
	if err := direct.Sync(); err != nil {
		t.Error(err)
	}
}
