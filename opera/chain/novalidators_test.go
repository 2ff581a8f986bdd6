package chain

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"tarn/opera/eventcheck"
	"tarn/opera/inter"
	"tarn/store/engine"
)

// abandonedEvents is the events of a go-opera fakenet whose only validator undelegates its stake: the
// last of them seals an epoch after which there are no validators. The go-opera served on, and
// started again.
func abandonedEvents(t testing.TB) [][]byte { return eventsOf(t, "no-validators.events.gz") }

// position is where a chain stands, its root included.
func position(t testing.TB, c *Chain) string {
	t.Helper()
	root, err := c.Root(c.Head().Number)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("block %d %v root %x epoch %d %x", c.Head().Number, c.Head().Atropos, root, c.Epoch().Epoch,
		c.Epoch().Hash())
}

// An epoch without validators begins, takes no events, and is there after a start.
func TestAChainOutlivesItsValidators(t *testing.T) {
	events := abandonedEvents(t)
	for _, kind := range []engine.Kind{engine.Page, engine.Pebble} {
		dir := t.TempDir()
		s := openStore(t, dir, engine.Options{Kind: kind})
		c := newChain(t, s)
		if fed := feed(t, c, events); fed.Events != len(events) {
			t.Errorf("%s: of %d events it took %+v", kind, len(events), fed)
		}
		if n := c.Epoch().Validators.Len(); n != 0 {
			t.Fatalf("%s: %d validators are left", kind, n)
		}
		want := position(t, c)
		for start := range 3 {
			refusesEvents(t, c, events[len(events)-1])
			if got := position(t, c); got != want {
				t.Errorf("%s, start %d: %s, want %s", kind, start, got, want)
			}
			if start == 1 { // the first start was from the image of the genesis
				done, err := c.Checkpoint()
				if err == nil {
					err = done.Wait()
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			closeChain(t, c)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = openStore(t, dir, engine.Options{Kind: kind})
			c = openChain(t, s)
		}
		closeChain(t, c)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// refusesEvents fails the test unless an event that says it is of the present epoch is refused, and
// nothing else of the chain suffers.
func refusesEvents(t *testing.T, c *Chain, raw []byte) {
	t.Helper()
	p, err := inter.DecodePayload(raw)
	if err != nil {
		t.Fatal(err)
	}
	p.Epoch, p.Parents, p.Seq, p.Lamport, p.Frame = c.Epoch().Epoch, nil, 1, 1, 1
	p.EpochVote.Epoch = 0
	if err := c.Connect(p, nil); !errors.Is(err, eventcheck.ErrAuth) {
		t.Errorf("an event of an epoch without validators: %v", err)
	}
	if err := c.Failed(); err != nil {
		t.Errorf("the chain has failed: %v", err)
	}
	if n, heads := c.Arrived(), c.Heads(); n != 0 || len(heads) != 0 {
		t.Errorf("there are %d events, heads %v", n, heads)
	}
}

// The genesis that is exported of such a chain begins a chain that stands where it stood.
func TestAGenesisMayHaveNoValidators(t *testing.T) {
	s := openStore(t, t.TempDir(), engine.Options{Kind: engine.Page})
	defer s.Close()
	c := newChain(t, s)
	defer closeChain(t, c)
	feed(t, c, abandonedEvents(t))
	g, err := viewOf(t, c).Genesis(GenesisOptions{})
	if err != nil {
		t.Fatal(err)
	}
	place := openStore(t, t.TempDir(), engine.Options{Kind: engine.Page})
	defer place.Close()
	if err := ApplyGenesis(Options{Store: place, History: place.history}, g); err != nil {
		t.Fatal(err)
	}
	d := openChain(t, place)
	defer closeChain(t, d)
	if got, want := position(t, d), position(t, c); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	fed, err := d.Feed(context.Background(), source(abandonedEvents(t)), nil)
	if err != nil || fed.Events != 0 {
		t.Errorf("its own events give %+v, %v", fed, err)
	}
}
