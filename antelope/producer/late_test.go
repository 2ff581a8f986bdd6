package producer

import (
	"context"
	"strings"
	"testing"
	"time"

	"tarn/antelope/chain"
	"tarn/antelope/types"
)

const waitsLine = "waits until the round that this node produces has ended"

// A block that comes while a round is made here is applied when that is over, and costs
// one line.
func TestALateBlockWaitsForTheEndOfTheRound(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		var links []*link
		nodes := threeProducers(t, ctx, &links)
		n, others := nodes[0], nodes[2]
		const cycle = 3 * round
		until := func(turn types.BlockTimestamp) {
			for n.pendingSlotNow()%cycle != turn {
				time.Sleep(50 * time.Millisecond)
			}
		}
		until(2*round + 6)
		links[2].set(true) // what prodc makes from here on does not come
		links[4].set(true)
		until(3)
		var late *types.SignedBlock
		for _, b := range others.chainBlocks() {
			if late == nil && b.BlockNum() > n.Head().IrreversibleNum && !n.Knows(b.ID()) {
				late = b
			}
		}
		if late == nil {
			t.Fatal("every block has come")
		}
		done := make(chan error, 1)
		go func() { done <- n.Apply(ctx, n.NewBlock(late, late.ID())) }()
		until(round - 1)
		select {
		case err := <-done:
			t.Errorf("it was answered in the round: %v", err)
		default:
		}
		until(round + 2)
		select {
		case err := <-done:
			if err != nil || !n.Knows(late.ID()) {
				t.Errorf("after the round: %v", err)
			}
		default:
			t.Error("it still waits")
		}
		if lines := strings.Count(n.lines(), waitsLine); lines != 1 {
			t.Errorf("%d lines tell of it", lines)
		}
	})
}

// A late block is no error when it has been overtaken, as by the only producer's own.
func TestALateBlockThatIsOvertakenIsAnswered(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ctx := context.Background()
		n, other := newNode(t, chain.Options{}, produces("eosio")), newNode(t, chain.Options{}, nil)
		other.run()
		var b *types.SignedBlock
		if err := other.Do(ctx, func(*chain.Chain) (err error) {
			b, err = other.maker.Block()
			return err
		}); err != nil {
			t.Fatal(err)
		}
		late := n.NewBlock(b, b.ID())
		if err := n.CheckHeader(late); err != nil {
			t.Fatal(err)
		}
		n.run()
		time.Sleep(12 * time.Second)
		for n.pendingSlotNow()%round != 5 {
			time.Sleep(50 * time.Millisecond)
		}
		if err := n.Apply(ctx, late); err != nil || n.Head().IrreversibleNum < late.Signed.BlockNum() {
			t.Errorf("block %d, irreversible is %d: %v", late.Signed.BlockNum(), n.Head().IrreversibleNum, err)
		}
		if !strings.Contains(n.lines(), waitsLine) {
			t.Error("it did not come late")
		}
	})
}

// pendingSlotNow is the slot of a block that would be begun now.
func (n *node) pendingSlotNow() types.BlockTimestamp {
	return types.NewBlockTimestamp(types.TimePoint(time.Now().UnixMicro())) + 1
}
