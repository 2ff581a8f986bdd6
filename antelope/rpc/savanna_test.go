package rpc_test

import (
	"fmt"
	"strings"
	"testing"

	"tarn/antelope/chain/chaintest"
	"tarn/antelope/feature"
	"tarn/antelope/rpc"
	"tarn/antelope/rpc/dialect"
	"tarn/store"
)

// On a chain where SAVANNA is active the answers are Spring's, before its rules hold too: a schedule that waits is
// there even if it is empty, and a block's header state has what the block itself says.
func TestAnswersAreSpringsOnceSavannaIsActive(t *testing.T) {
	p, err := chaintest.NewPeers(2, 1, func() (store.Store, error) { return volatile(t), nil })
	must(t, err)
	t.Cleanup(func() { p.Close() })
	features, err := feature.Builtins()
	must(t, err)
	c := p.Chain(0)
	n := &node{t: t, config: rpc.Config{Chain: c, Blocks: &memoryLog{}, Features: features, MaxResponseTime: -1}}
	n.start(dialect.Options{})
	for _, x := range []struct{ pending, state, none string }{
		{`"pending":null,`, `"active_schedule":{"version":1,`, `Could not find reversible block: 99999`},
		{`"pending":{"version":1,"producers":[]},`, `"active_schedule":{"version":0,"producers":[]}`, `Could not find block: 99999`},
	} {
		must(t, c.Publish())
		if _, a := n.ask("/v1/chain/get_producer_schedule", ""); !strings.Contains(a, x.pending) {
			t.Errorf("%.300s has no %s", a, x.pending)
		}
		head := fmt.Sprintf(`{"block_num_or_id":"%d"}`, c.Head().BlockNum)
		if _, a := n.ask("/v1/chain/get_block_header_state", head); !strings.Contains(a, x.state) {
			t.Errorf("%.300s has no %s", a, x.state)
		}
		if _, a := n.ask("/v1/chain/get_block_header_state", `{"block_num_or_id":"99999"}`); !strings.Contains(a, x.none) {
			t.Errorf("%.1000s has no %s", a, x.none)
		}
		must(t, p.Finalise())
	}
	if c.Head().PrecedesProper() {
		t.Error("Savanna's rules hold")
	}
}
