package chain

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"tarn/opera/genesis/fakenet"
	"tarn/store/page"
	"tarn/store/revision"
	"tarn/store/vfs"
	"tarn/store/vfs/memfs"
	"tarn/store/vfs/recordfs"
)

var crashStates = flag.Int("crash.states", 40, "states that power cuts may leave, which a chain is opened from")

// diskOf opens a store with its history on a stand-in of the disk. Files of the history are
// finished early, and moved.
func diskOf(disk vfs.FS) (place, error) {
	p := place{history: NewHistory(HistoryOptions{FS: disk, Dir: "/history", OldDir: "/old", SegmentBytes: 4 << 10})}
	e, err := page.Open(page.Options{Dir: "/state", FS: disk, Mode: page.Heap, GrowBytes: 2 << 20, BeforeMeta: p.history.Sync})
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
	r := record(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	disk := recordfs.New(memfs.New())
	s, err := diskOf(disk)
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
	for state := range disk.Recording().States(recordfs.Options{From: begun, Count: *crashStates, Seed: seed}) {
		if random.IntN(disk.Position()-begun) > *crashStates {
			continue // every position has two at least
		}
		states++
		var kept promise
		for _, p := range promises {
			if p.at <= state.At {
				kept = p
			}
		}
		if err := survives(state.FS, r, kept); err != nil {
			t.Fatalf("%v\n%v", err, state)
		}
	}
	t.Logf("%d states", states)
}

// survives opens a chain from what a power cut left.
func survives(disk *memfs.FS, r recorded, kept promise) error {
	s, err := diskOf(disk)
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
