package procusage

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func self(t *testing.T) Process {
	t.Helper()
	p, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestMemoryIsSplitByWhatStandsBehindIt(t *testing.T) {
	const size = 32 << 20
	heap := make([]byte, size)
	before := self(t)
	block, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(block)
	for i := 0; i < size; i += 4096 {
		block[i] = 1
	}
	after := self(t)
	if grown := after.Memory.Anonymous - before.Memory.Anonymous; grown < size*3/4 {
		t.Errorf("%d bytes were touched, anonymous memory grew by %d", size, grown)
	}
	if r := ReadRuntime(); r.HeapLive < size || r.Total < r.HeapLive || r.Goroutines < 1 || r.Stacks <= 0 {
		t.Errorf("%+v", r)
	}
	if m := after.Memory; m.File <= 0 || m.Resident() < m.Anonymous+m.File || after.PeakSize < m.Resident()/2 {
		t.Errorf("%+v", after)
	}
	runtime.KeepAlive(heap)
}

func TestWorkIsCounted(t *testing.T) {
	before := self(t)
	worked := func() time.Duration {
		p := self(t)
		return p.User + p.System - before.User - before.System
	}
	// On a busy machine it may take a while until it is our turn.
	begin := time.Now()
	for worked() < 20*time.Millisecond {
		if time.Since(begin) > 30*time.Second {
			t.Fatalf("%v of CPU in %v of work", worked(), time.Since(begin))
		}
	}
	if took := time.Since(begin) * time.Duration(runtime.NumCPU()+1); worked() > took+time.Second {
		t.Errorf("%v of CPU in %v", worked(), took)
	}
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const size = 1 << 20
	if _, err := f.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	after := self(t)
	// In a folder in memory nothing is written to a disk.
	if grown := after.Disk.Written - before.Disk.Written; grown != 0 && grown < size {
		t.Errorf("%d bytes were written, %d counted", size, grown)
	}
	if after.Files != before.Files+1 {
		t.Errorf("%d files are open, %d before one was opened", after.Files, before.Files)
	}
	if age := time.Since(after.Start); age <= 0 || age > time.Hour || after.Threads < 1 {
		t.Errorf("age %v: %+v", age, after)
	}
}

func TestAFileThatIsNotAsExpectedIsAnError(t *testing.T) {
	name := filepath.Join(t.TempDir(), "status")
	if err := os.WriteFile(name, []byte("RssAnon:\t 12 kB\nOdd\nThreads: x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var n, threads int64
	if found, err := fields(name, map[string]*int64{"RssAnon": &n, "Threads": &threads}); err == nil ||
		found != 1 || n != 12<<10 {
		t.Errorf("%d numbers, %d bytes, %v", found, n, err)
	}
	if _, err := fields(name+".missing", nil); err == nil {
		t.Error("a missing file is no error")
	}
}

func TestAnotherProcessIsReadAsItReadsItself(t *testing.T) {
	own := self(t)
	p, err := Read(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if d := p.CPU() - own.CPU(); d < -50*time.Millisecond || d > 10*time.Second {
		t.Errorf("%v of CPU, %v by its own account", p.CPU(), own.CPU())
	}
	// It is found from two clocks, between which a busy machine may do something else.
	apart := p.Start.Sub(own.Start).Abs()
	for range 20 {
		if again, err := Read(os.Getpid()); err == nil {
			apart = min(apart, again.Start.Sub(self(t).Start).Abs())
		}
	}
	if apart > 20*time.Millisecond {
		t.Errorf("the start differs by %v", apart)
	}
	if p.Disk.Written < own.Disk.Written || p.Memory.Anonymous <= 0 || p.Disk.Net() > p.Disk.Written {
		t.Errorf("%+v, by its own account %+v", p, own)
	}
	// Numbers of processes end far below this one.
	if _, err := Read(1 << 30); err == nil {
		t.Error("a process that is not there is no error")
	}
}
