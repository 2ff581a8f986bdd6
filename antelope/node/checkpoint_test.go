package node

import (
	"testing"
	"time"

	"tarn/store/engine"
)

// The state is saved when the blocks since the last time would take long to be applied again.
func TestTheStateIsSavedByTheWorkThatRecoveryWouldBe(t *testing.T) {
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
