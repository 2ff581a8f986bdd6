package page

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"tarn/store"
	"tarn/store/vfs"
)

// A refusal by the kernel must say what was asked for and what there is, and
// leave the file as it was. The limits that bring it about hold for a whole
// process, so each case is a child of its own.
func TestRefusedMemoryIsExplained(t *testing.T) {
	if name := os.Getenv("PAGE_MEMORY_CHILD"); name != "" {
		memoryChild(t, name, os.Getenv("PAGE_MEMORY_DIR"))
		return
	}
	cases := []struct {
		name, wants string
		root        bool
	}{
		{"locked", "RLIMIT_MEMLOCK is 65536 bytes soft, 65536 bytes hard", true},
		{"address-space", "ulimit -v", false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if c.root && os.Getuid() != 0 {
				t.Skip("needs root, to become somebody whom the limit binds")
			}
			dir, err := os.MkdirTemp("", "page-memory-")
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			makeStore(t, dir)
			os.Chmod(dir, 0o777)
			os.Chmod(dir+"/"+fileName, 0o666)
			os.Chmod(dir+"/"+lockName, 0o666)
			cmd := exec.Command(os.Args[0], "-test.run=^TestRefusedMemoryIsExplained$", "-test.v")
			cmd.Env = append(os.Environ(), "PAGE_MEMORY_CHILD="+c.name, "PAGE_MEMORY_DIR="+dir)
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), c.wants) {
				t.Fatalf("%v: expected %q in:\n%s", err, c.wants, out)
			}
			e, err := Open(Options{Dir: dir, LimitBytes: 1 << 30})
			if err != nil {
				t.Fatalf("afterwards: %v", err)
			}
			verify(t, e)
			e.Close()
		})
	}
}

func makeStore(t *testing.T, dir string) {
	t.Helper()
	e, err := Open(Options{Dir: dir, LimitBytes: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	tb, _ := e.CreateTable("rows")
	for i := range 1000 {
		if err := e.Put(tb, fmt.Appendf(nil, "row %d", i), make([]byte, 1000), nil); err != nil {
			t.Fatal(err)
		}
	}
	c, err := e.Checkpoint(store.Image{Head: 1, Irreversible: 1})
	if err != nil || c.Wait() != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

func memoryChild(t *testing.T, name, dir string) {
	o := Options{Dir: dir, LimitBytes: 1 << 30}
	switch name {
	case "locked":
		o.Mode = Locked
		limit := unix.Rlimit{Cur: 64 << 10, Max: 64 << 10}
		if err := errors.Join(unix.Setrlimit(unix.RLIMIT_MEMLOCK, &limit), syscall.Setuid(65534)); err != nil {
			t.Fatal(err)
		}
	case "address-space":
		o.LimitBytes = 1 << 40
		limit := unix.Rlimit{Cur: 64 << 30, Max: 64 << 30}
		if err := unix.Setrlimit(unix.RLIMIT_AS, &limit); err != nil {
			t.Fatal(err)
		}
	}
	_, err := Open(o)
	var refused *store.MemoryError
	if !errors.As(err, &refused) || refused.RAM == 0 || refused.Asked == 0 {
		t.Fatalf("open: %v", err)
	}
	fmt.Println(err)
}

// inMemory is a file system that says it is one in memory.
type inMemory struct{ vfs.FS }

func (inMemory) InMemory(string) (bool, error) { return true, nil }

func TestInMemoryAModeThatIsNotChosenIsMapped(t *testing.T) {
	o := Options{Dir: t.TempDir(), LimitBytes: 1 << 30, FS: inMemory{vfs.OS}}
	e, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if mode := e.Stats().Mode; mode != Mapped.String() {
		t.Errorf("the mode is %s", mode)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	o.Mode = MappedPrivate
	if _, err := Open(o); err == nil ||
		!strings.HasSuffix(err.Error(), "use mode mapped there, or a folder on a disk") {
		t.Errorf("a mode that was chosen: %v", err)
	}
}
