package chain

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"tarn/appendonly"
	"tarn/store/vfs/errorfs"
	"tarn/store/vfs/memfs"
)

// growChain feeds a chain on a stand-in of the disk in parts, each made durable, so that its
// history is settled in between.
func growChain(t *testing.T, c *Chain, events [][]byte) {
	t.Helper()
	for from := 0; from < len(events); from += 10 {
		feed(t, c, events[:min(len(events), from+10)])
		done, err := c.Checkpoint()
		if err == nil {
			err = done.Wait()
		}
		if err != nil {
			t.Fatal(err)
		}
		c.logs.running.Wait()
	}
}

// segments counts the files of logs in a folder.
func segments(disk *memfs.FS, dir string) (n int) {
	for _, path := range disk.Paths() {
		if strings.HasPrefix(path, dir+"/") && filepath.Ext(path) == ".log" {
			n++
		}
	}
	return n
}

// Finished files move to the other folder while the chain goes on, and are read there. The
// folder is no other chain's, and the chain does not open without it.
func TestFinishedFilesMoveToTheOtherFolder(t *testing.T) {
	r := record(t)
	disk := memfs.New()
	s, err := diskOf(disk)
	if err != nil {
		t.Fatal(err)
	}
	c := newChain(t, s)
	growChain(t, c, r.events)
	compare(t, c, r)
	if err := s.history.Verify(func(err error) { t.Error(err) }, nil); err != nil {
		t.Error(err)
	}
	closeChain(t, c)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	here, there := segments(disk, "/history"), segments(disk, "/old")
	t.Logf("%d files moved, %d not", there, here)
	if there < 3 || here < 5 { // each log has one that is not finished
		t.Errorf("%d files moved, %d not", there, here)
	}
	if s, err = diskOf(disk); err != nil {
		t.Fatal(err)
	}
	s.history.o.OldDir = ""
	if _, err := Open(Options{Store: s, History: s.history}); err == nil || !strings.Contains(err.Error(), "/old") {
		t.Errorf("without the other folder: %v", err)
	}
	s.history.o.OldDir, s.history.o.Dir = "/old", "/second"
	if _, err := Open(Options{Store: s, History: s.history}); !errors.Is(err, appendonly.ErrOther) {
		t.Errorf("the folder of another chain: %v", err)
	}
	s.history.o.Dir = "/history"
	c = openChain(t, s)
	compare(t, c, r)
	closeChain(t, c)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// Where the other folder has no room the chain goes on and says so, at ever greater distances.
func TestAFullOtherFolderIsSaidAndKeepsNobody(t *testing.T) {
	r := record(t)
	mem := memfs.New()
	full := errorfs.New(mem)
	s, err := diskOf(full)
	if err != nil {
		t.Fatal(err)
	}
	said := 0
	s.history.o.Notice = func(err error) {
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("said: %v", err)
		}
		said++
	}
	c := newChain(t, s)
	fired := full.Inject(errorfs.Fault{Ops: errorfs.Write, Path: "0000000001.log.new", Ever: true, Err: syscall.ENOSPC})
	growChain(t, c, r.events)
	compare(t, c, r)
	tries := fired()
	if said == 0 || tries > 20 {
		t.Errorf("said %d times, after %d writes", said, tries)
	}
	full.Clear()
	closeChain(t, c)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// A process that is killed leaves blocks, roots and states that its store does not count on yet. They are made
// again, so damage there stops no start.
func TestDamageBehindWhatTheStoreCountsOnStopsNoStart(t *testing.T) {
	r := record(t)
	for _, name := range []string{"blocks/own", "blocks/roots", "states"} {
		t.Run(name, func(t *testing.T) { damagedBehind(t, r, filepath.Join("/history", name, "0000000001.log")) })
	}
}

// damagedBehind kills a chain whose logs are ahead of its store, damages the end of a log, and goes on.
func damagedBehind(t *testing.T, r recorded, path string) {
	disk := memfs.New()
	s, err := diskOf(disk)
	if err != nil {
		t.Fatal(err)
	}
	s.history.o.SegmentBytes = 0 // one file of each log
	c := newChain(t, s)
	half := len(r.events) / 2
	growChain(t, c, r.events[:half])
	head := c.Head().Number
	saved := disk.Clone()
	feed(t, c, r.events[half:])
	if err := s.history.Sync(0); err != nil || c.Head().Number < head+2 {
		t.Fatalf("%d blocks after block %d: %v", c.Head().Number-head, head, err)
	}
	killed := disk.Clone()
	closeChain(t, c)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, path := range killed.Paths() {
		if strings.HasPrefix(path, "/state/") {
			killed.Put(path, saved.Blob(path))
		}
	}
	b := slices.Clone(killed.Blob(path).Bytes())
	b[len(b)-1] ^= 1
	killed.Put(path, memfs.NewBlob(b))
	if s, err = diskOf(killed); err != nil {
		t.Fatal(err)
	}
	s.history.o.SegmentBytes = 0
	if s.Head() > uint64(head) {
		t.Fatalf("the store is at block %d", s.Head())
	}
	c = openChain(t, s)
	feed(t, c, r.events[half:])
	compare(t, c, r)
	if err := s.history.Verify(func(err error) { t.Error(err) }, nil); err != nil {
		t.Error(err)
	}
	closeChain(t, c)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
