package devnetrunner

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"tarn/store/vfs"
	"tarn/store/vfs/errorfs"
)

func TestAFileIsKeptDurablyAndOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	files := errorfs.New(vfs.Private)
	files.Inject(errorfs.Fault{Ops: errorfs.SyncDir, Err: syscall.EIO})
	if err := keep(files, path, "first"); !errors.Is(err, syscall.EIO) {
		t.Errorf("the folder cannot be synced, and the error is %v", err)
	}
	files.Inject(errorfs.Fault{Ops: errorfs.SyncDir, Err: syscall.EIO})
	if err := keep(files, path, "second"); !errors.Is(err, syscall.EIO) {
		t.Errorf("the file is there, its name is not durable yet, and the error is %v", err)
	}
	for _, text := range []string{"first", "second"} {
		if err := Keep(path, text); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "first" {
		t.Errorf("%q, %v", b, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}
