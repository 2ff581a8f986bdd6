package vfs_test

import (
	"errors"
	"testing"

	"tarn/store/vfs"
	"tarn/store/vfs/errorfs"
	"tarn/store/vfs/memfs"
)

// A file is written whether or not there is a way past the page cache, and whether the file
// system says so when the file is opened or when it is written.
func TestAFileIsWrittenPastTheCacheOrThroughIt(t *testing.T) {
	for _, refused := range []errorfs.Op{0, errorfs.Open, errorfs.Write} {
		disk := memfs.New()
		disk.Put("/file", memfs.NewBlob(make([]byte, 2*vfs.Sector)))
		files := errorfs.New(disk)
		if refused != 0 {
			files.Inject(errorfs.Fault{Ops: refused, Err: errors.ErrUnsupported})
		}
		f, err := vfs.OpenPastCache(files, "/file")
		if err != nil {
			t.Fatalf("%v is refused: %v", refused, err)
		}
		b := make([]byte, vfs.Sector)
		for i := range b {
			b[i] = 7
		}
		for at := range int64(2) {
			if _, err := f.WriteAt(b, at*vfs.Sector); err != nil {
				t.Errorf("%v is refused: %v", refused, err)
			}
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			t.Error(err)
		}
		for i, got := range disk.Blob("/file").Bytes() {
			if got != 7 {
				t.Fatalf("%v is refused: byte %d is %d", refused, i, got)
			}
		}
	}
}
