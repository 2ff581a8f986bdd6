package dbtool

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"tarn/store"
)

func TestAPageThatTheDiskCannotServeIsAnError(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "cut"))
	check(t, err)
	defer f.Close()
	mapped, err := unix.Mmap(int(f.Fd()), 0, os.Getpagesize(), unix.PROT_READ, unix.MAP_SHARED)
	check(t, err)
	defer unix.Munmap(mapped)
	var read byte
	err = action(func(*cobra.Command, []string) error {
		read = mapped[0]
		return nil
	})(nil, []string{"the-store"})
	var coded interface{ ExitCode() int }
	if !errors.Is(err, store.ErrFault) || !errors.As(err, &coded) || coded.ExitCode() != exitDamaged {
		t.Fatalf("read %d: %v", read, err)
	}
}

func TestOtherPanicsAreNotHidden(t *testing.T) {
	defer func() {
		if r := recover(); r != "our mistake" {
			t.Fatalf("%v", r)
		}
	}()
	//nolint:errcheck // panics
	action(func(*cobra.Command, []string) error { panic("our mistake") })(nil, []string{"the-store"})
}
