package node

import (
	"testing"
	"time"

	"tarn/store/engine"
)

// The state is saved when the blocks since the last time would take long to be applied
// again, or when that is long ago; not because time passes on a chain without work.
func TestTheStateIsSavedByTheWorkThatRecoveryWouldBe(t *testing.T) {
	c := theChain(t)
	for _, x := range []struct {
		name     string
		recovery time.Duration
		age      time.Duration // of the last checkpoint
		want     bool
	}{
		{"much work", time.Nanosecond, 0, true},
		{"little work", time.Hour, 50 * time.Minute, false},
		{"little work, long ago", time.Hour, maxAge, true},
		{"never", 0, 2 * maxAge, false},
	} {
		t.Run(x.name, func(t *testing.T) {
			o := options(t.TempDir(), engine.Options{})
			o.Genesis, o.Recovery = &c.genesis, x.recovery
			n := mustStart(t, o)
			defer n.Close()
			n.checkpoint, n.checked = nil, time.Now().Add(-x.age)
			for _, b := range c.blocks {
				if err := give(n.Chain(), b); err != nil {
					t.Fatal(err)
				}
			}
			if got := n.checkpoint != nil; got != x.want {
				t.Errorf("a checkpoint was begun: %v", got)
			}
			if n.Chain().Worked() <= 0 {
				t.Error("the chain has not worked")
			}
		})
	}
}
