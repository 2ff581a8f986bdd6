package badger_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"tarn/internal/loopdisk"
	"tarn/store"
	"tarn/store/lsm"
	"tarn/store/lsm/badger"
)

// fullDir names, in the environment of a process that TestAFullDiskIsAnErrorNotASignal starts, the
// folder of its store.
const fullDir = "BADGER_FULL_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(fullDir); dir != "" {
		fmt.Println(keep(dir))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// filled is how many rows of how many bytes a store of the test has: some are in tables, some in
// the log of a memtable.
const (
	filledRows = 3000
	filledSize = 4000
)

// keep makes a store with rows, or opens one and reads them; it waits for a line and closes the
// store. It returns what went wrong.
func keep(dir string) string {
	b, err := badger.Open(badger.Options{Dir: dir, CacheBytes: lsm.MinCache})
	if err != nil {
		return describe("open", err)
	}
	if b.Folder().New() {
		e, err := lsm.Open(b, lsm.Options{})
		if err == nil {
			err = fillStore(e)
		}
		return closeLater(e, err)
	}
	e, err := lsm.Open(b, lsm.Options{})
	if err == nil {
		err = complete(e)
	}
	return closeLater(e, err)
}

func complete(e *lsm.Engine) error {
	c, err := e.Cursor(1)
	if err != nil {
		return err
	}
	rows := 0
	for ok := c.First(); ok; ok = c.Next() {
		rows++
	}
	if err := errors.Join(c.Err(), c.Close()); err != nil || rows != filledRows {
		return fmt.Errorf("%d rows of %d: %v", rows, filledRows, err)
	}
	return nil
}

func closeLater(e *lsm.Engine, err error) string {
	if err != nil {
		return describe("use", err)
	}
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err.Error()
	}
	if err := e.Close(); err != nil {
		return describe("close", err)
	}
	return "closed"
}

// describe says which kind an error is, and what it says.
func describe(what string, err error) string {
	var full *store.FullError
	if errors.As(err, &full) && full.Of == store.RoomOnDisk {
		what = "no room to " + what
	}
	return what + ": " + err.Error()
}

func fillStore(e *lsm.Engine) error {
	table, err := e.CreateTable("rows")
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(1, 2))
	value := make([]byte, filledSize)
	for rev := uint64(1); rev <= 3; rev++ {
		for n := range filledRows / 3 {
			for i := range value {
				value[i] = byte(r.Uint32())
			}
			if err := e.Put(table, fmt.Appendf(nil, "%d %d", rev, n), value, nil); err != nil {
				return err
			}
		}
		c, err := e.Checkpoint(store.Image{Head: rev, Irreversible: rev})
		if err == nil {
			err = c.Wait()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// kept is a process with a store.
type kept struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func keeping(t *testing.T, dir string) *kept {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	k := &kept{cmd: exec.Command(self)}
	k.cmd.Env = append(os.Environ(), fullDir+"="+dir)
	k.cmd.Stderr = k.cmd.Stdout
	if k.in, err = k.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := k.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	k.out = bufio.NewReader(out)
	if err := k.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return k
}

// says returns its next line.
func (k *kept) says() string {
	line, err := k.out.ReadString('\n')
	if err != nil {
		return line + err.Error()
	}
	return strings.TrimSuffix(line, "\n")
}

// ends has it close its store, and returns what it says, and how it ended.
func (k *kept) ends() string {
	io.WriteString(k.in, "\n") //nolint:errcheck // it may have ended
	said, _ := io.ReadAll(k.out)
	if err := k.cmd.Wait(); err != nil {
		return fmt.Sprintf("%v: %.400s", err, said)
	}
	return strings.TrimSpace(string(said))
}

// The library writes to mappings of sparse files, and a disk without room would end the process.
// Closing and opening are refused in time, name the disk, and lose nothing.
func TestAFullDiskIsAnErrorNotASignal(t *testing.T) {
	if missing := loopdisk.Missing(); missing != "" {
		t.Skip(missing)
	}
	base := t.TempDir()
	if err := loopdisk.Apart(); err != nil {
		t.Fatal(err)
	}
	d, err := loopdisk.New(base, 256<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	refused := 0
	for i, left := range []int64{0, 4 << 10, 64 << 10, 1 << 20, 6 << 20, 12 << 20, 24 << 20} {
		dir := fmt.Sprint(d.Dir, "/", i)
		k := keeping(t, dir)
		if said := k.says(); said != "ready" {
			t.Fatalf("a new store: %s %s", said, k.ends())
		}
		if err := d.Fill(left); err != nil {
			t.Fatal(err)
		}
		check := func(what, said, want string) {
			t.Helper()
			if strings.HasPrefix(said, "no room to "+what+": ") && strings.Contains(said, d.Dir) {
				refused++
			} else if said != want {
				t.Errorf("%s with %d bytes left: %s", what, left, said)
			}
		}
		check("close", k.ends(), "closed")
		k = keeping(t, dir)
		said := k.says()
		check("open", said, "ready")
		closed := k.ends()
		if said == "ready" {
			check("close", closed, "closed")
		}
		if err := d.Empty(); err != nil {
			t.Fatal(err)
		}
		k = keeping(t, dir)
		if said, end := k.says(), k.ends(); said != "ready" || end != "closed" {
			t.Errorf("with room again, after %d bytes were left: %s, %s", left, said, end)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	if refused < 5 {
		t.Errorf("%d were refused", refused)
	}
}
