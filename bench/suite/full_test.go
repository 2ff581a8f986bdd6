package suite

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tarn/bench/record"
)

// Somebody fills the disk while a node keeps histories: that life is a row that failed, and the
// run ends before the next one, with what was measured until then.
func TestADiskThatGetsFullEndsTheRun(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can have a file system of its own")
	}
	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=40m"); err != nil {
		t.Skipf("mount a small file system: %v", err)
	}
	defer unix.Unmount(disk, unix.MNT_DETACH) //nolint:errcheck // the container's end does it too
	full := false
	c := config(t, &fake{pushed: func() {
		full = true
		f, err := os.Create(filepath.Join(disk, "of others"))
		if err != nil {
			t.Error(err)
			return
		}
		for err == nil {
			_, err = f.Write(make([]byte, 1<<20))
		}
		if err := errors.Join(f.Close()); err != nil {
			t.Error(err)
		}
	}}, []string{Import, Recording}, 2, "heap", "mapped")
	c.Dir, c.Free = filepath.Join(disk, "nodes"), 8<<20
	r, err := Run(t.Context(), c)
	if !full || !errors.Is(err, ErrSpace) || r == nil || r.Ended != record.EndFailed ||
		!strings.Contains(err.Error(), "before import is measured on tarn:mapped") {
		t.Fatalf("%+v, %v", r, err)
	}
	nothingIsLeft(t, c)
	if got := r.Values(Import, "tarn:heap", took); len(got) != 1 {
		t.Errorf("the import that was whole is not there: %v", got)
	}
	if last := r.Lives[len(r.Lives)-1]; len(r.Lives) != 2 || last.Suite != Recording || last.Values != nil ||
		!strings.Contains(last.Failure, "no space left") {
		t.Errorf("%d lives, the last: %+v", len(r.Lives), last)
	}
	again(t, r)
}
