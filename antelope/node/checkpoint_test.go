package node

import (
	"log/slog"
	"testing"
	"time"

	"tarn/nodeupkeep"
	"tarn/store"
	"tarn/store/engine"
)

// The state is saved when the blocks since the last time would take long to be applied again.
func TestTheStateIsSavedByTheWorkThatRecoveryWouldBe(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; not with -short")
	}
	c := theChain(t)
	for _, x := range []struct {
		name     string
		recovery time.Duration
		want     bool
	}{
		{"much work", time.Nanosecond, true},
		{"little work", time.Hour, false},
		{"never", 0, false},
	} {
		t.Run(x.name, func(t *testing.T) {
			o := options(t.TempDir(), engine.Options{})
			o.Genesis, o.Recovery = &c.genesis, x.recovery
			n := mustStart(t, o)
			defer n.Close()
			for _, b := range c.blocks {
				if err := give(n.Chain(), b); err != nil {
					t.Fatal(err)
				}
			}
			if got := n.saver.Underway() != nil; got != x.want {
				t.Errorf("a checkpoint was begun: %v", got)
			}
			if n.Chain().Worked() <= 0 {
				t.Error("the chain has not worked")
			}
		})
	}
}

// countedStore counts the checkpoints that are taken.
type countedStore struct {
	store.Store
	checkpoints int
}

func (s *countedStore) Checkpoint() (store.Checkpoint, error) {
	s.checkpoints++
	return s.Store.Checkpoint()
}

// A stop writes what is dirty once: a large state takes minutes.
func TestAStopTakesOneCheckpoint(t *testing.T) {
	c := theChain(t)
	o := options(t.TempDir(), engine.Options{})
	o.Genesis = &c.genesis
	n := mustStart(t, o)
	for _, b := range c.blocks {
		if err := give(n.Chain(), b); err != nil {
			t.Fatal(err)
		}
	}
	counted := &countedStore{Store: n.store}
	n.store, n.saver = counted,
		nodeupkeep.NewSaver(nodeupkeep.SaverOptions{Store: counted, Worked: n.chain.Worked, Saved: n.clearUnfinishedMark})
	l := &invocation{}
	l.log = slog.New(slog.DiscardHandler)
	if err := l.close(n); err != nil {
		t.Fatal(err)
	}
	if counted.checkpoints != 1 {
		t.Errorf("the stop took %d checkpoints", counted.checkpoints)
	}
}
