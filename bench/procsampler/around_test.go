package procsampler

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tarn/bench/record"
)

// Which files were written is found whether they grow, are changed in place, are new among
// others whose names are numbers, or are written through a mapping.
func TestFilesThatAreWrittenAreNamed(t *testing.T) {
	dir := t.TempDir()
	open := func(name string, size int) *os.File {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		if _, err := f.WriteAt(make([]byte, size), 0); err != nil {
			t.Fatal(err)
		}
		return f
	}
	log, place, still := open("log", 1000), open("place", 8192), open("still", 5000)
	old := open("000001.sst", 700)
	w, err := New(Options{PID: os.Getpid(), Pages: time.Hour, WalkShare: 1, Around: true})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond) // a file's time moves in ticks of the kernel
	fresh, holes := open("000002.sst", 300_000), open("000003.sst", 200_000)
	for f, text := range map[*os.File]string{log: strings.Repeat("x", 50_000), place: "changed"} {
		if _, err := f.WriteAt([]byte(text), 1000); err != nil {
			t.Fatal(err)
		}
	}
	found := map[string]record.File{}
	for _, f := range w.Files() {
		if strings.HasPrefix(f.Name, dir) {
			found[strings.TrimPrefix(f.Name, dir+"/")] = f
		}
	}
	if f := found["log"]; f.Grew != 50_000 || f.InPlace != 0 {
		t.Errorf("log: %+v", f)
	}
	if f := found["place"]; f.Grew != 0 || f.InPlace != 1 {
		t.Errorf("place: %+v", f)
	}
	if f := found["*.sst"]; f.Grew != 500_000 {
		t.Errorf("*.sst: %+v", f)
	}
	if len(found) != 3 {
		t.Errorf("%v (with %s, %s, %s, %s)", found, still.Name(), old.Name(), fresh.Name(), holes.Name())
	}
}

// The bytes of a program of others, which writes past the page cache and by it.
func TestWhatDdWritesIsMeasured(t *testing.T) {
	const size = 48 << 20
	for _, how := range []string{"oflag=direct", "conv=fsync"} {
		to := filepath.Join(t.TempDir(), "to")
		c, err := Start(Command{Path: "dd",
			Args: []string{"if=/dev/zero", "of=" + to, "bs=1M", fmt.Sprint("count=", size>>20), how},
			Log:  filepath.Join(t.TempDir(), "log"), Every: 50 * time.Millisecond})
		if err != nil {
			t.Skip("there is no dd here:", err)
		}
		if err := c.Wait(t.Context()); err != nil {
			t.Skipf("dd %s does not work here: %v", how, err)
		}
		_, disk, _ := c.Total()
		if disk.Written == 0 {
			t.Skip("the folder for temporary files is in memory: bytes written are not measured")
		}
		var wrong complaints
		wrong.within("dd "+how, float64(disk.Written), size, 64<<10)
		for _, text := range wrong {
			t.Error(text)
		}
	}
}

// What a process sends is what its network counts, if the network is its own.
func TestTheTrafficOfANetworkOfItsOwnIsMeasured(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root makes networks")
	}
	const packets, size, header = 400, 1000, 14 + 20 + 8
	c := exec.Command("unshare", "--net", "bash", "-ec", fmt.Sprintf(`
		ip link add near type veth peer name far; ip address add 10.9.9.1/24 dev near
		ip link set near up; ip link set far up; ip neighbour add 10.9.9.2 lladdr 02:00:00:00:00:01 dev near
		data=$(printf '%%%ds' x); exec 3>/dev/udp/10.9.9.2/9
		echo ready; read -r go
		for i in $(seq %d); do printf %%s "$data" >&3; done
		echo done; read -r go`, size, packets))
	c.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL}
	in, ierr := c.StdinPipe()
	out, oerr := c.StdoutPipe()
	if ierr != nil || oerr != nil {
		t.Fatal(ierr, oerr)
	}
	if err := c.Start(); err != nil {
		t.Skip("no network of one's own here:", err)
	}
	defer func() { in.Close(); c.Wait() }() //nolint:errcheck // it ends when its input does
	words := bufio.NewReader(out)
	if word, err := words.ReadString('\n'); err != nil || word != "ready\n" {
		t.Skipf("no network with an interface here: %q, %v", word, err)
	}
	w, err := New(Options{PID: c.Process.Pid, Pages: time.Hour, WalkShare: 1, Around: true})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(in, "go")
	if word, err := words.ReadString('\n'); err != nil || word != "done\n" {
		t.Fatalf("%q, %v", word, err)
	}
	if err := w.Sample(); err != nil {
		t.Fatal(err)
	}
	var wrong complaints
	wrong.within("sent", float64(w.Samples[len(w.Samples)-1].NetworkOut), packets*(size+header), 1000)
	for _, text := range wrong {
		t.Error(text)
	}
	if w.Network() != record.NetworkOwn {
		t.Errorf("whose network: %q", w.Network())
	}
	// Ours is shared with whoever else is in it.
	ours, err := New(Options{PID: os.Getpid(), Pages: time.Hour, WalkShare: 1, Around: true})
	if err != nil || ours.Network() != record.NetworkShared {
		t.Errorf("our own: %q, %v", ours.Network(), err)
	}
}
