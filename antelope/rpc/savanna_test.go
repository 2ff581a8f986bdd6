package rpc_test

import (
	"fmt"
	"strings"
	"testing"

	"tarn/antelope/chain/chaintest"
	"tarn/antelope/consensus"
	"tarn/antelope/feature"
	"tarn/antelope/rpc"
	"tarn/antelope/rpc/nodeoshttp"
	"tarn/antelope/types"
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
	n.start(nodeoshttp.Options{})
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
		if _, a := n.ask("/v1/chain/get_block_header_state",
			`{"block_num_or_id":"99999"}`); !strings.Contains(a, x.none) {
			t.Errorf("%.1000s has no %s", a, x.none)
		}
		must(t, p.Finalise())
	}
	if c.Head().PrecedesProper() {
		t.Error("Savanna's rules hold")
	}
}

// Like nodeos' answers, those of a node that makes a block are of that block: its producer's schedule, and what it
// made wait. A block whose time is over does not count.
func TestSchedulesAreThoseOfTheBlockThatIsBeingMade(t *testing.T) {
	n := newNode(t, nil)
	head := n.maker.Chain.Head()
	next := &consensus.Schedules{
		Previous: head.ID,
		Active:   &types.ProducerSchedule{Version: 7, Producers: head.ActiveSchedule.Producers},
		Pending:  &types.ProducerSchedule{Version: 8, Producers: head.ActiveSchedule.Producers},
		Promoted: true,
	}
	n.config.Schedules = func() *consensus.Schedules { return next }
	n.start(nodeoshttp.Options{})
	_, of := n.ask("/v1/chain/get_producer_schedule", "")
	for _, want := range []string{`"active":{"version":7,`, `"pending":{"version":8,`, `"proposed":null`} {
		if !strings.Contains(of, want) {
			t.Errorf("%s has no %s", of, want)
		}
	}
	next = &consensus.Schedules{Active: next.Active, Pending: next.Pending}
	if _, of = n.ask("/v1/chain/get_producer_schedule", ""); !strings.Contains(of, `{"active":{"version":0,`) {
		t.Errorf("of another block: %s", of)
	}
}

// Leap tells of limits what is left of them by the pending block, as often as it is asked; Spring what there was
// when the head had come.
func TestLimitsOfABlockAreThoseOfTheOriginal(t *testing.T) {
	left := func(n *node) string {
		_, of := n.ask("/v1/chain/get_info", "")
		_, of, _ = strings.Cut(of, `"block_cpu_limit":`)
		of, _, _ = strings.Cut(of, ",")
		return of
	}
	n := newNode(t, nil)
	n.start(nodeoshttp.Options{})
	whole := left(n)
	spend := func(account string) {
		t.Helper()
		must(t, n.maker.StartBlock())
		_, err := n.maker.Push(n.maker.CreateAccount(types.N(account)))
		must(t, err)
		must(t, n.maker.Chain.PublishPending())
	}
	spend("alice")
	if got := left(n); got == whole {
		t.Errorf("%s of %s are left in the pending block", got, whole)
	}
	_, err := n.maker.EndBlock()
	must(t, err)
	must(t, n.maker.Finalise(1))
	spend("bob")
	if got := left(n); got != whole {
		t.Errorf("%s of %s are left on Spring's chain", got, whole)
	}
}
