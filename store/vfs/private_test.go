package vfs_test

import (
	"os"
	"path/filepath"
	"testing"

	"tarn/store/vfs"
)

// What a crash has left under the name may be for everybody to read.
func TestAPrivateFileIsForItsOwnersEyesOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path+vfs.NewSuffix, []byte("left"), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := vfs.WriteDurably(vfs.Private, path, []byte("text")); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode() != 0o600 || info.Size() != 4 {
			t.Fatal(info, err)
		}
	}
}
