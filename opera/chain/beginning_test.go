package chain

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"tarn/opera/state"
	"tarn/store"
	"tarn/store/engine"
)

// narrow is a store that says that it has next to no room left, when it should.
type narrow struct {
	store.Store
	full atomic.Bool
}

// Stats implements store.Store.
func (s *narrow) Stats() store.Stats {
	stats := s.Store.Stats()
	if s.full.Load() {
		stats.Limit, stats.Free = 1000, 124
	}
	return stats
}

// withBeginnings opens the chain of a place that holds the beginnings of epochs.
func withBeginnings(t testing.TB, s chainFolder, at store.Store, connected func(*Block)) *Chain {
	t.Helper()
	c, err := Open(Options{Store: at, History: s.history, Beginnings: true, Connected: connected,
		Warn: func(err error) { t.Log(err) }})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// walkAccounts is how many accounts a held state has, whose root it says.
func walkAccounts(t testing.TB, b *Beginning) (accounts int) {
	t.Helper()
	held, err := b.State()
	if err != nil {
		t.Fatal(err)
	}
	err = held.Accounts(common.Hash{}, func(hash common.Hash, a *state.Account) bool {
		_, err := held.Slim(hash, a)
		accounts++
		return err == nil
	})
	if err != nil || held.Root != common.Hash(b.Root) {
		t.Fatalf("root %x, not %x, %v", held.Root, b.Root, err)
	}
	return accounts
}

// On each engine the state with which an epoch began is held while blocks go on, until the next one
// begins, or longer by who uses it; and no view is left at the end.
func TestTheBeginningOfAnEpochIsHeldUntilTheNext(t *testing.T) {
	r := record(t)
	for _, o := range everyEngine() {
		t.Run(string(o.Kind)+" "+o.Mode.String(), func(t *testing.T) {
			s := openStore(t, t.TempDir(), o)
			defer s.Close()
			closeChain(t, newChain(t, s))
			var c *Chain
			blocks := 0
			c = withBeginnings(t, s, s, func(*Block) {
				b := c.Beginning()
				if b == nil || b.Epoch != c.Epoch().Epoch {
					t.Fatalf("at epoch %d there is %+v", c.Epoch().Epoch, b)
				}
				record, err := c.EpochRecord(b.Epoch)
				if err != nil || record.State.BlockState.FinalizedStateRoot != b.Root {
					t.Fatalf("epoch %d began with %x: %v", b.Epoch, b.Root, err)
				}
				blocks++
				walkAccounts(t, b)
				if err := b.Release(); err != nil {
					t.Fatal(err)
				}
			})
			// A chain that has not gone on since its genesis is at a beginning.
			used := c.Beginning()
			if used == nil {
				t.Fatal("the genesis' state is not held")
			}
			accounts := walkAccounts(t, used)
			if _, err := c.Feed(context.Background(), source(r.events), nil); err != nil {
				t.Fatal(err)
			}
			if blocks == 0 || c.Epoch().Epoch == used.Epoch {
				t.Fatalf("%d blocks, and the epoch is %d still", blocks, used.Epoch)
			}
			if again := walkAccounts(t, used); again != accounts {
				t.Errorf("a state that is used has %d accounts, and had %d", again, accounts)
			}
			if err := used.Release(); err != nil {
				t.Fatal(err)
			}
			c.roots.Close() // which looks through a view now and then
			if open := s.Stats().OpenViews; open != 1 {
				t.Errorf("%d views are open", open)
			}
			closeChain(t, c)
			if open := s.Stats().OpenViews; open != 0 {
				t.Errorf("%d views are open after all", open)
			}
			if b := c.Beginning(); b != nil {
				t.Error("a closed chain holds a state")
			}
		})
	}
}

// A chain that is opened in the middle of an epoch has no beginning to give, one that was not asked
// for it holds none, and a store that is nearly full gets its room back.
func TestABeginningIsNotHeldAtAnyPrice(t *testing.T) {
	r := record(t)
	s := openStore(t, t.TempDir(), engine.Options{Kind: engine.Page})
	defer s.Close()
	at := &narrow{Store: s}
	closeChain(t, newChain(t, s))
	c := withBeginnings(t, s, at, nil)
	feedTo := func(number uint64) {
		t.Helper()
		for _, raw := range r.events {
			if uint64(c.Head().Number) >= number {
				return
			}
			if _, err := c.Feed(context.Background(), source([][]byte{raw}), nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	begun := uint64(c.Head().Number)
	feedTo(begun + 1)
	if b := c.Beginning(); b == nil {
		t.Fatal("nothing is held")
	} else if err := b.Release(); err != nil {
		t.Fatal(err)
	}
	at.full.Store(true)
	feedTo(begun + 2)
	if c.Beginning() != nil {
		t.Error("a state is held in a store that is full")
	}
	closeChain(t, c)
	if open := s.Stats().OpenViews; open != 0 {
		t.Errorf("%d views are open in a store that is full", open)
	}
	at.full.Store(false)
	c = withBeginnings(t, s, s, nil)
	if c.Beginning() != nil {
		t.Error("a state is held that is not the epoch's beginning")
	}
	closeChain(t, c)
	c = openChain(t, s)
	defer closeChain(t, c)
	feed(t, c, r.events)
	if c.Beginning() != nil {
		t.Error("a state is held that nobody asked for")
	}
}
