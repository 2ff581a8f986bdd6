package appendonly

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"syscall"
	"testing"

	"tarn/store/vfs"
	"tarn/store/vfs/errorfs"
	"tarn/store/vfs/memfs"
	"tarn/store/vfs/recordfs"
)

// fillLog is a log of entries 7 to before 100, in several segments.
func fillLog(t *testing.T, fs vfs.FS) *Log {
	t.Helper()
	l, err := OpenLog(smallLog(fs))
	check(t, err)
	for l.Next() < 100 {
		_, err := l.Append(entryOf(l.Next(), 0))
		check(t, err)
	}
	return l
}

// moveAll moves what has nothing but entries before a number, and counts segments.
func moveAll(t *testing.T, l *Log, before uint64) (n int) {
	t.Helper()
	for {
		moved, err := l.Move(before)
		check(t, err)
		if !moved {
			return n
		}
		n++
	}
}

// What has an entry that may still be cut stays where it is; readers and who appends go on
// while the rest moves.
func TestFinishedSegmentsMoveBesideReadersAndAppends(t *testing.T) {
	mem := memfs.New()
	l := fillLog(t, mem)
	last := l.segments[len(l.segments)-2]
	all := len(l.segments) - 1
	if n := moveAll(t, l, last.first+last.count-1); n != all-1 {
		t.Errorf("%d segments moved, want %d", n, all-1)
	}
	var beside sync.WaitGroup
	beside.Go(func() {
		for range 100 {
			if _, err := l.Append(entryOf(l.Next(), 0)); err != nil {
				t.Error(err)
			}
		}
	})
	beside.Go(func() {
		for number := uint64(7); number < 100; number++ {
			if got, err := l.Read(number, nil); err != nil || !bytes.Equal(got, entryOf(number, 0)) {
				t.Errorf("entry %d is %q, %v", number, got, err)
			}
		}
		check(t, l.Verify(func(err error) { t.Error(err) }, nil))
	})
	moveAll(t, l, 100)
	beside.Wait()
	moveAll(t, l, l.Next())
	check(t, l.Close())
	for _, path := range mem.Paths() {
		if strings.HasPrefix(path, "/log/") && strings.HasSuffix(path, ".log") &&
			path != segmentPath("/log", uint64(len(l.segments))) {
			t.Errorf("%s is still there", path)
		}
	}
	o := smallLog(mem)
	o.Need = 200
	l, err := OpenLog(o)
	check(t, err)
	check(t, act{durable: 200, first: 7, forks: make([]int, 193)}.holds(l))
	check(t, l.Close())
}

// A move whose calls to the disk fail, one after the other, loses nothing, and the log goes on.
func TestAMoveThatFailsLeavesTheLogAsItWas(t *testing.T) {
	for nth := 1; ; nth++ {
		mem := memfs.New()
		bad := errorfs.New(mem)
		l := fillLog(t, bad)
		fired := bad.Inject(errorfs.Fault{Ops: errorfs.All, Nth: nth, Err: syscall.ENOSPC, Part: true})
		_, err := l.Move(100)
		done := fired() == 0
		if !done && !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("call %d failed, and the error is %v", nth, err)
		}
		bad.Clear()
		if _, err := l.Append(entryOf(100, 0)); err != nil {
			t.Fatalf("call %d failed, and the log does not go on: %v", nth, err)
		}
		want := act{durable: 101, first: 7, forks: make([]int, 94)}
		if err := want.holds(l); err != nil {
			t.Fatalf("call %d failed: %v", nth, err)
		}
		moveAll(t, l, 100)
		check(t, l.Close())
		l, err = OpenLog(smallLog(mem))
		check(t, err)
		if err := want.holds(l); err != nil {
			t.Fatalf("call %d failed, and then: %v", nth, err)
		}
		check(t, l.Close())
		if done {
			return
		}
	}
}

// A folder that has the files of one history is not another one's.
func TestAFolderForOldFilesBelongsToOneHistory(t *testing.T) {
	mem := memfs.New()
	for range 2 {
		check(t, Pair(mem, "/a", "/old"))
	}
	if other, err := Paired(mem, "/a"); err != nil || other != "/old" {
		t.Errorf("moved to %q, %v", other, err)
	}
	if err := Pair(mem, "/b", "/old"); !errors.Is(err, ErrOther) {
		t.Errorf("the folder of another: %v", err)
	}
	if err := Pair(mem, "/a", "/new"); err == nil || !strings.Contains(err.Error(), "/old") {
		t.Errorf("another folder than that before: %v", err)
	}
	check(t, Unpair(mem, "/b", "/old"))
	if err := Pair(mem, "/b", "/old"); !errors.Is(err, ErrOther) {
		t.Errorf("who has it not gave it up: %v", err)
	}
	check(t, mem.Rename(pairPath("/old"), "/new/PAIR"))
	check(t, Pair(mem, "/a", "/new"))
	if other, err := Paired(mem, "/a"); err != nil || other != "/new" {
		t.Errorf("after all of it was moved it is in %q, %v", other, err)
	}
}

// A power cut while a folder is made a history's leaves one that the same history takes.
func TestAPairOfFoldersSurvivesAPowerCut(t *testing.T) {
	disk := recordfs.New(memfs.New())
	check(t, Pair(disk, "/a", "/old"))
	for s := range disk.Recording().States(recordfs.Options{Count: 60, Seed: seed(t)}) {
		if err := Pair(s.FS, "/a", "/old"); err != nil {
			t.Fatalf("%v\n%v", err, s)
		}
		if err := Pair(s.FS, "/b", "/old"); !errors.Is(err, ErrOther) {
			t.Fatalf("%v\n%v", err, s)
		}
	}
}
