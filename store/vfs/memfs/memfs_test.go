package memfs_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"tarn/store/vfs"
	"tarn/store/vfs/memfs"
)

// TestFilesBehaveAsOnTheMachine does the same random calls to a file in memory
// and to a real one.
func TestFilesBehaveAsOnTheMachine(t *testing.T) {
	dir := t.TempDir()
	mem := memfs.New()
	if err := vfs.MkdirAll(mem, dir); err != nil {
		t.Fatal(err)
	}
	open := func(fs vfs.FS) vfs.File {
		f, err := fs.Create(filepath.Join(dir, "f"))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	pair := [2]vfs.File{open(mem), open(vfs.OS)}
	r := rand.New(rand.NewPCG(3, 3))
	var clone, frozen []byte
	var snapshot *memfs.Blob
	for i := range 3000 {
		off, size := r.Int64N(40_000), r.Int64N(9000)+1
		data := bytes.Repeat([]byte{byte(i + 1)}, int(size))
		kind := r.IntN(5)
		for _, f := range pair {
			var err error
			switch kind {
			case 0, 1:
				_, err = f.WriteAt(data, off)
			case 2:
				err = f.Truncate(off)
			case 3:
				err = f.Punch(off, size)
			case 4:
				err = f.Allocate(off, size)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if a, b := content(t, pair[0]), content(t, pair[1]); !bytes.Equal(a, b) {
			t.Fatalf("after call %d of kind %d at %d, %d bytes: files differ", i, kind, off, size)
		}
		if i == 1500 {
			snapshot = mem.Blob(filepath.Join(dir, "f"))
			frozen = content(t, pair[1])
		}
	}
	if clone = snapshot.Bytes(); !bytes.Equal(clone, frozen) {
		t.Error("a clone changed with its origin")
	}
}

func content(t *testing.T, f vfs.File) []byte {
	t.Helper()
	size, err := f.Size()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, size+1)
	n, err := f.ReadAt(b, 0)
	if err != io.EOF || int64(n) != size {
		t.Fatalf("read %d of %d bytes: %v", n, size, err)
	}
	return b[:n]
}

func TestNamesAndLocks(t *testing.T) {
	fs := memfs.New()
	if _, err := fs.Create("/d/f"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("created a file in no directory: %v", err)
	}
	fs.Mkdir("/d") //nolint:errcheck // in memory
	f, err := fs.Create("/d/f")
	if err != nil {
		t.Fatal(err)
	}
	f.WriteAt([]byte("x"), 0) //nolint:errcheck // in memory
	if err := fs.Rename("/d/f", "/d/g"); err != nil {
		t.Fatal(err)
	}
	if ok, _ := fs.Exists("/d/f"); ok {
		t.Error("the old name is still there")
	}
	ro, err := fs.Open("/d/g", false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ro.WriteAt([]byte("y"), 0); err == nil {
		t.Error("wrote through a handle for reading")
	}
	if err := fs.Remove("/d/g"); err != nil {
		t.Fatal(err)
	}
	if got := content(t, f); string(got) != "x" {
		t.Errorf("an open file lost its content with its name: %q", got)
	}

	first, _, err := fs.Lock("/d/LOCK", true)
	if err != nil {
		t.Fatal(err)
	}
	if _, holder, err := fs.Lock("/d/LOCK", false); !errors.Is(err, vfs.ErrLocked) || holder == "" {
		t.Errorf("second lock: holder %q, %v", holder, err)
	}
	if _, _, err := fs.Clone().Lock("/d/LOCK", true); err != nil {
		t.Errorf("a clone is locked: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, _, err := fs.Lock("/d/LOCK", false); err != nil {
			t.Errorf("shared lock: %v", err)
		}
	}
}
