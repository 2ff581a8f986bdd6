package vfs_test

import (
	"path/filepath"
	"sync/atomic"
	"testing"

	"tarn/store/vfs"
)

func TestWhatIsWrittenIsCounted(t *testing.T) {
	var written atomic.Int64
	fs := vfs.Count(vfs.OS, &written)
	path := filepath.Join(t.TempDir(), "file")
	for i, open := range []func() (vfs.File, error){
		func() (vfs.File, error) { return fs.Create(path) },
		func() (vfs.File, error) { return fs.Open(path, true) },
	} {
		f, err := open()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt(make([]byte, 1000), 500); err != nil {
			t.Fatal(err)
		}
		if err := f.Truncate(10_000); err != nil { // writes nothing
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if got := written.Load(); got != int64(1000*(i+1)) {
			t.Errorf("%d bytes are counted after %d times 1000", got, i+1)
		}
	}
	f, err := fs.Open(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte("x"), 0); err == nil || written.Load() != 2000 {
		t.Errorf("what could not be written: %v, %d bytes", err, written.Load())
	}
	if f, err := fs.Open(path+".missing", false); err == nil || f != nil {
		t.Errorf("a file that is not there: %v, %v", f, err)
	}
}
