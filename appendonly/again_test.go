package appendonly

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tarn/store/vfs/errorfs"
	"tarn/store/vfs/memfs"
	"tarn/store/vfs/recordfs"
)

// step is a call to a log, and what a power cut may leave from the position at which it
// began until the next step begins.
type step struct {
	from  int
	left  []act
	doing string
}

// lives are processes at work on one log, each killed in the middle of a call. The next
// goes on with what it finds in the page cache.
type lives struct {
	t     *testing.T
	r     *rand.Rand
	disk  *recordfs.FS
	kill  *errorfs.FS
	log   *Log
	now   act
	fork  int
	steps []step
}

// TestALogThatCrashesAgainAndAgainKeepsItsPromises kills processes at any call. At every
// moment of every life a power cut leaves a log that opens, has what was promised, and can
// be cut and opened anew.
func TestALogThatCrashesAgainAndAgainKeepsItsPromises(t *testing.T) {
	seed := seed(t)
	for round := range uint64(*statesFlag / 50) {
		l := &lives{t: t, r: rand.New(rand.NewPCG(seed, 100+round)), disk: recordfs.New(memfs.New()),
			now: act{durable: 7, first: 7}}
		for range 8 {
			l.open()
			l.work()
		}
		for s := range l.disk.Recording().States(recordfs.Options{Count: 60, Seed: seed}) {
			i := 0
			for i+1 < len(l.steps) && l.steps[i+1].from <= s.At {
				i++
			}
			if err := l.steps[i].check(s.FS, l.r); err != nil {
				t.Fatalf("round %d, while a process was to %s: %v\n%v", round, l.steps[i].doing, err, s)
			}
		}
	}
}

// begin notes that a call is being made, which turns what is now into what comes after.
func (l *lives) begin(doing string, after act) {
	l.steps = append(l.steps, step{l.disk.Position(), []act{l.now, after}, doing})
}

// open starts a process, which finds what the one before left, and promises it.
func (l *lives) open() {
	l.t.Helper()
	left := []act{l.now}
	if n := len(l.steps); n != 0 {
		left = l.steps[n-1].left
	}
	l.steps = append(l.steps, step{l.disk.Position(), left, "open"})
	l.kill = errorfs.New(l.disk)
	o := smallLog(l.kill)
	o.Need = need(left)
	var err error
	if l.log, err = OpenLog(o); err != nil {
		l.t.Fatalf("open after %d steps: %v", len(l.steps), err)
	}
	found := left[len(left)-1]
	if int(l.log.Next())-7 <= len(left[0].forks) {
		found = left[0]
	}
	found.forks = found.forks[:l.log.Next()-7]
	found.first, found.durable = l.log.First(), l.log.Next()
	check(l.t, found.holds(l.log))
	l.now = found
	l.begin("go on", l.now)
}

// need is what a log must have at least.
func need(left []act) uint64 {
	least := left[0].durable
	for _, a := range left {
		least = min(least, a.durable)
	}
	return least
}

// work makes calls until one of them is the last.
func (l *lives) work() {
	dead := l.kill.Inject(errorfs.Fault{Ops: errorfs.Change, Nth: 1 + l.r.IntN(25), Ever: true,
		Err: syscall.ESRCH, Part: true})
	for dead() == 0 {
		after, doing, call := l.choose()
		l.begin(doing, after)
		err := call()
		if dead() != 0 {
			return
		}
		check(l.t, err)
		l.now = after
	}
}

// choose draws a call, and says what is promised after it.
func (l *lives) choose() (after act, doing string, call func() error) {
	after = l.now
	end := uint64(7 + len(l.now.forks))
	switch k := l.r.IntN(24); {
	case k < 14:
		after.forks = append(after.forks[:len(after.forks):len(after.forks)], l.fork)
		fork := l.fork
		return after, "append", func() error {
			_, err := l.log.Append(entryOf(end, fork))
			return err
		}
	case k < 18:
		after.durable = end
		return after, "sync", l.log.Sync
	case k < 20:
		before := l.now.first + uint64(l.r.IntN(len(l.now.forks)+1))
		return after, "move", func() error {
			_, err := l.log.Move(before)
			return err
		}
	case k < 22:
		before := l.now.first + uint64(l.r.IntN(8))
		for i, s := range l.log.segments[1:] {
			if s.first <= before && i < len(l.log.segments)-1 {
				after.first = s.first
			}
		}
		return after, "drop", func() error { return l.log.Drop(before) }
	}
	next := l.now.first + uint64(l.r.IntN(int(end-l.now.first)+1))
	after.forks = after.forks[:next-7]
	after.durable = min(after.durable, next)
	l.fork++
	return after, fmt.Sprintf("cut at %d", next), func() error { return l.log.Cut(next) }
}

// check opens what a power cut left, and goes on with it.
func (s step) check(disk *memfs.FS, r *rand.Rand) error {
	o := smallLog(disk)
	o.Need = need(s.left)
	l, err := OpenLog(o)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	for _, a := range s.left {
		a.durable = o.Need
		if err = a.holds(l); err == nil {
			break
		}
	}
	if err != nil {
		return err
	}
	next := l.First() + uint64(r.IntN(int(l.Next()-l.First())+1))
	if err := l.Cut(next); err != nil {
		return err
	}
	if err := l.Close(); err != nil {
		return err
	}
	o.Need = next
	if l, err = OpenLog(o); err != nil {
		return fmt.Errorf("open after a cut: %w", err)
	}
	if l.Next() != next {
		return fmt.Errorf("after a cut at %d the next entry is %d", next, l.Next())
	}
	return l.Close()
}

// A cut whose calls to the disk fail leaves a log that says so, to readers too, and can be
// closed and opened anew.
func TestACutThatFailsIsAnErrorToEverybody(t *testing.T) {
	for nth := 1; ; nth++ {
		mem := memfs.New()
		bad := errorfs.New(mem)
		l, err := OpenLog(smallLog(bad))
		check(t, err)
		for number := uint64(7); number < 60; number++ {
			_, err := l.Append(entryOf(number, 0))
			check(t, err)
		}
		fired := bad.Inject(errorfs.Fault{Ops: errorfs.All, Nth: nth, Err: syscall.EIO, Ever: true})
		err = l.Cut(9)
		if fired() == 0 {
			check(t, err)
			bad.Clear()
			check(t, l.Close())
			return
		}
		if !errors.Is(err, syscall.EIO) {
			t.Fatalf("call %d failed, and the error is %v", nth, err)
		}
		for number := l.First(); number < l.Next(); number++ {
			if got, err := l.Read(number, nil); err == nil && !bytes.Equal(got, entryOf(number, 0)) {
				t.Fatalf("call %d failed, and entry %d is %q", nth, number, got)
			}
		}
		if _, err := l.Append(nil); err == nil {
			t.Fatalf("call %d failed, and the log goes on", nth)
		}
		bad.Clear()
		l.Close()
		o := smallLog(mem)
		o.Need = 9
		l, err = OpenLog(o)
		check(t, err)
		check(t, l.Cut(9))
		check(t, l.Close())
	}
}

// The kernel tells of a write that failed only once for each open file. A sync beside the
// one that ends a segment must not take its silence for success.
func TestASyncBesideTheEndOfASegmentHearsOfItsFailure(t *testing.T) {
	bad := errorfs.New(memfs.New())
	l, err := OpenLog(smallLog(bad))
	check(t, err)
	path := segmentPath("", 1)
	bad.Inject(errorfs.Fault{Ops: errorfs.Sync, Path: path, Err: syscall.EIO})
	ended, beside := make(chan struct{}), make(chan error, 1)
	var syncs atomic.Int32
	bad.Trace(func(op errorfs.Op, at string) {
		if op != errorfs.Sync || filepath.Base(at) != path || syncs.Add(1) > 1 {
			return
		}
		close(ended)
		select { // the first one takes its time
		case err := <-beside:
			beside <- err
		case <-time.After(100 * time.Millisecond):
		}
	})
	go func() {
		<-ended
		beside <- l.Sync()
	}()
	for err == nil {
		_, err = l.Append(entryOf(l.Next(), 0))
	}
	if err := <-beside; !errors.Is(err, syscall.EIO) {
		t.Errorf("what a segment's end could not make durable is, says a sync: %v", err)
	}
	l.Close()
}

// The last segment of a newer program is left alone.
func TestASegmentOfAnotherVersionIsRefusedNotRemoved(t *testing.T) {
	mem := memfs.New()
	o := smallLog(mem)
	l, err := OpenLog(o)
	check(t, err)
	check(t, l.Close())
	path := segmentPath("/log", 1)
	head := segmentHeader(7)
	binary.LittleEndian.PutUint32(head[8:], version+1)
	head = binary.LittleEndian.AppendUint32(head[:headerSize-4], checksum(head[:headerSize-4]))
	mem.Put(path, memfs.NewBlob(head))
	if _, err := OpenLog(o); err == nil || !strings.Contains(err.Error(), "version 2") {
		t.Errorf("opened: %v", err)
	}
	if b := mem.Blob(path); b == nil || !bytes.Equal(b.Bytes(), head) {
		t.Error("the segment was changed")
	}
}
