package node

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"tarn/internal/loopdisk"
	"tarn/store/engine"
)

// A disk that is full, at whatever an import or the checkpoint at its end is, ends the node
// with an error that names the disk. With room again the next start comes to the same chain.
func TestAFullDiskEndsTheNodeAndLosesNothing(t *testing.T) {
	if missing := loopdisk.Missing(); missing != "" {
		t.Skip(missing)
	}
	if testing.Short() {
		t.Skip("starts processes; not with -short")
	}
	want := open(t, options(t.TempDir(), io.Discard))
	importEvents(t, want)
	head := summary(t, want)
	random := rand.New(rand.NewPCG(seed(t), 1))
	base := t.TempDir()
	if err := loopdisk.Apart(); err != nil { // the processes see the disk, this one does not
		t.Fatal(err)
	}
	d, err := loopdisk.New(base, 160<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	failed := 0
	for i, left := range []int64{16 << 10, 24 << 10, 40 << 10, 64 << 10, 128 << 10, 512 << 10, 2 << 20} {
		for _, kind := range []engine.Kind{engine.Page, engine.LevelDB} {
			r := role{Dir: filepath.Join(d.Dir, string(kind)+strconv.Itoa(i)), Kind: kind, Often: i%2 == 0}
			killRole(t, r, 1+random.IntN(8))
			if err := d.Fill(left); err != nil {
				t.Fatal(err)
			}
			r.End = true
			said, err := playRole(r)
			if err != nil {
				if failed++; !strings.Contains(said, "free space on the disk of "+d.Dir) {
					t.Errorf("%s with %d bytes left: %v: %s", kind, left, err, said)
				}
			} else if !strings.Contains(said, "end "+head) {
				t.Errorf("%s with %d bytes left: %s, want %s", kind, left, said, head)
			}
			if err := d.Empty(); err != nil {
				t.Fatal(err)
			}
			if said, err = playRole(r); err != nil || !strings.Contains(said, "end "+head) {
				t.Errorf("%s, after %d bytes were left, with room again: %v: %s, want %s", kind, left, err, said, head)
			}
			if err := os.RemoveAll(r.Dir); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("%d of the nodes had no room", failed)
	if failed < 2 {
		t.Error("next to no node had no room")
	}
}

// playRole plays a role to its end, and returns what it said.
func playRole(r role) (string, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return "", err
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), roleVariable+"="+string(text))
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", err
	}
	defer in.Close()
	out, err := cmd.CombinedOutput()
	return string(out), err
}
