package chain

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

	"tarn/opera/genesis/fakenet"
	"tarn/store/page"
	"tarn/store/revision"
	"tarn/store/vfs"
	"tarn/store/vfs/errorfs"
	"tarn/store/vfs/memfs"
	"tarn/store/vfs/recordfs"
)

var (
	crashSeed   = flag.Uint64("crash.seed", 1, "seed of the power cuts and of the calls that fail; 0 for a new one")
	crashStates = flag.Int("crash.states", 40, "states that power cuts may leave, which a chain is opened from")
	crashFaults = flag.Int("crash.faults", 60, "calls to the disk of which each fails once in a chain's life")
)

// crashing is the seed of a test that crashes a chain, which the log has.
func crashing(t *testing.T) uint64 {
	t.Helper()
	seed := *crashSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("repeat with -crash.seed=%d", seed)
	return seed
}

// crashCount is how many states a test opens: fewer with -short, where each takes most of a second.
func crashCount() int {
	if testing.Short() {
		return min(*crashStates, 12)
	}
	return *crashStates
}

// diskOf opens a store with its history on a stand-in of the disk. Files of the history are
// finished early, and moved.
func diskOf(disk vfs.FS) (chainFolder, error) { return diskBelow(disk, "/", page.Heap) }

// diskBelow is diskOf below a folder, with the page engine in a mode. In mode mapped the kernel
// writes pages, which no stand-in sees.
func diskBelow(disk vfs.FS, dir string, mode page.Mode) (chainFolder, error) {
	p := chainFolder{history: NewHistory(HistoryOptions{FS: disk, Dir: filepath.Join(dir, "history"),
		OldDir: filepath.Join(dir, "old"), SegmentBytes: 4 << 10})}
	e, err := page.Open(page.Options{
		Dir: filepath.Join(dir, "state"), FS: disk, Mode: mode, LimitBytes: 64 << 20, GrowBytes: 2 << 20,
		BeforeCheckpoint: p.history.Sync,
	})
	if err != nil {
		return p, err
	}
	p.Store, err = revision.Open(e)
	return p, err
}

// promise is how far a chain had come for certain at a position of the record.
type promise struct {
	at     int
	events int
	head   uint64
}

// A power cut at any write leaves a chain that opens by itself with all that was synced,
// and goes on to the same blocks.
func TestAPowerCutAtAnyWriteLosesNothingSynced(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; not with -short")
	}
	for _, c := range []struct {
		name string
		disk vfs.FS
		dir  string
		mode page.Mode
	}{
		{"heap", memfs.New(), "/", page.Heap},
		{"mapped_private", vfs.OS, t.TempDir(), page.MappedPrivate},
	} {
		t.Run(c.name, func(t *testing.T) { powerCuts(t, recordfs.New(c.disk), c.dir, c.mode) })
	}
}

// powerCuts records a chain's life, and opens chains from what power cuts may leave of it.
func powerCuts(t *testing.T, disk *recordfs.FS, dir string, mode page.Mode) {
	r := record(t)
	seed := crashing(t)
	random := rand.New(rand.NewPCG(seed, 0))
	s, err := diskBelow(disk, dir, mode)
	if err != nil {
		t.Fatal(err)
	}
	g, err := fakenet.New(fakenet.Options{Validators: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := ApplyGenesis(Options{Store: s, History: s.history}, g); err != nil {
		t.Fatal(err)
	}
	begun := disk.Position()
	promises := []promise{{at: begun, head: s.Head()}}
	c := openChain(t, s)
	for reached := 0; reached < len(r.events); {
		reached = min(len(r.events), reached+1+random.IntN(5))
		feed(t, c, r.events[:reached])
		p := promises[len(promises)-1]
		switch random.IntN(3) {
		case 0:
			if err := c.SyncEvents(); err != nil {
				t.Fatal(err)
			}
			p.events = reached
		case 1:
			done, err := c.Checkpoint()
			if err == nil {
				err = done.Wait()
			}
			if err != nil {
				t.Fatal(err)
			}
			// A checkpoint of no new block writes nothing: events after the last block may be lost.
			p.events, p.head = max(p.events, int(c.counted.Events)), uint64(c.Head().Number)
		}
		p.at = disk.Position()
		promises = append(promises, p)
	}
	closeChain(t, c)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	states := 0
	for state := range disk.Recording().Some(recordfs.Options{From: begun, Count: crashCount(), Seed: seed}) {
		states++
		var kept promise
		for _, p := range promises {
			if p.at <= state.At {
				kept = p
			}
		}
		if err := survives(state.FS, dir, r, kept); err != nil {
			t.Fatalf("%v\n%v", err, state)
		}
	}
	t.Logf("%d states", states)
}

// survives opens a chain from what a power cut left. An image is the same in all modes.
func survives(disk *memfs.FS, dir string, r recorded, kept promise) error {
	s, err := diskBelow(disk, dir, page.Heap)
	if err != nil {
		return err
	}
	defer s.Close()
	if s.Head() < kept.head {
		return fmt.Errorf("the store is of block %d, and %d was durable", s.Head(), kept.head)
	}
	c, err := Open(Options{Store: s, History: s.history})
	if err != nil {
		return err
	}
	defer c.Close()
	if n := int(c.logs.events.Next()); n < kept.events {
		return fmt.Errorf("%d events are left, and %d were synced", n, kept.events)
	}
	if _, err := c.Feed(context.Background(), source(r.events), nil); err != nil {
		return err
	}
	for i, want := range r.blocks {
		if got, err := lineOf(c, i+1); err != nil || got != want {
			return fmt.Errorf("block %d is\n%s, %v, go-opera's\n%s", i+1, got, err, want)
		}
	}
	return c.Close()
}

// live makes a chain, feeds it with checkpoints in between, and closes it. It ends with the
// first error, and says how many events were made durable before.
func live(disk vfs.FS, r recorded) (synced int, err error) {
	s, err := diskOf(disk)
	if err != nil {
		return 0, err
	}
	defer s.Close() //nolint:errcheck // after an error of the disk
	g, err := fakenet.New(fakenet.Options{Validators: 1})
	if err == nil {
		err = ApplyGenesis(Options{Store: s, History: s.history}, g)
	}
	if err != nil {
		return 0, err
	}
	c, err := Open(Options{Store: s, History: s.history})
	if err != nil {
		return 0, err
	}
	for reached := 0; reached < len(r.events) && err == nil; {
		reached = min(len(r.events), reached+7)
		if _, err = c.Feed(context.Background(), source(r.events[:reached]), nil); err == nil {
			err = c.SyncEvents()
		}
		if err == nil {
			synced = reached
			var done interface{ Wait() error }
			if done, err = c.Checkpoint(); err == nil {
				err = done.Wait()
			}
		}
	}
	return synced, errors.Join(err, c.Close())
}

// Each call to the disk fails once. Either nobody needed it, or an error says so; and what is
// there goes on to the same blocks, with all events that were synced.
func TestAnyCallToTheDiskMayFail(t *testing.T) {
	r := record(t)
	seed := crashing(t)
	random := rand.New(rand.NewPCG(seed, 0))
	var made atomic.Int64
	counted := errorfs.New(memfs.New())
	counted.Trace(func(errorfs.Op, string) { made.Add(1) })
	if synced, err := live(counted, r); err != nil || synced != len(r.events) {
		t.Fatalf("without a fault: %d events, %v", synced, err)
	}
	calls, faults, unseen := int(made.Load()), 0, 0
	for range *crashFaults {
		nth := 1 + random.IntN(calls)
		mem := memfs.New()
		bad := errorfs.New(mem)
		fired := bad.Inject(errorfs.Fault{Ops: errorfs.All, Nth: nth, Err: syscall.EIO, Part: random.IntN(2) == 0})
		synced, err := live(bad, r)
		switch {
		case fired() == 0:
			continue // what runs beside the writer made fewer calls this time
		case err == nil:
			unseen++ // a file that is to be moved, say, is moved later
		case !errors.Is(err, syscall.EIO):
			t.Fatalf("call %d of %d failed, and the error is %v", nth, calls, err)
		}
		faults++
		if err := survives(mem, "/", r, promise{events: synced}); err != nil && !begins(mem, err) {
			t.Fatalf("call %d of %d failed, and then: %v", nth, calls, err)
		}
	}
	t.Logf("%d of %d calls failed, %d were not needed", faults, calls, unseen)
	if unseen > faults/2 {
		t.Errorf("of %d faults %d were no errors", faults, unseen)
	}
}

// begins tells whether what is there is a chain whose genesis was interrupted, which carries a
// mark of whoever applies it, and is begun again.
func begins(disk *memfs.FS, err error) bool {
	s, failed := diskOf(disk)
	if failed != nil {
		return false
	}
	defer s.Close()
	_, none := NetworkOf(s)
	return errors.Is(none, ErrEmpty) && errors.Is(err, ErrEmpty)
}
