package cgrouptest

import (
	"errors"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestAProgramThatTakesMoreThanItsContainerHasIsEnded(t *testing.T) {
	c, err := New(64 << 20)
	if errors.Is(err, ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	path := filepath.Join(t.TempDir(), "dd")
	if err := c.Program(path, "/bin/dd"); err != nil {
		t.Fatal(err)
	}
	run := func(size string) error {
		return exec.Command(path, "if=/dev/zero", "of=/dev/null", "count=1", "bs="+size).Run()
	}
	if err := run("16M"); err != nil {
		t.Errorf("a program that takes a quarter of it: %v", err)
	}
	if most := c.Most(); most < 16<<20 || most > 64<<20 {
		t.Errorf("it took %d bytes", most)
	}
	if n, err := c.Killed(); n != 0 || err != nil {
		t.Errorf("ended before anything took too much: %d, %v", n, err)
	}
	if err := run("128M"); err == nil {
		t.Error("a program took twice of it")
	}
	if n, err := c.Killed(); n == 0 || err != nil {
		t.Errorf("ended: %d, %v", n, err)
	}
}
