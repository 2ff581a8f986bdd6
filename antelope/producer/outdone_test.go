package producer

import (
	"context"
	"errors"
	"testing"
	"time"

	"tarn/antelope/chain"
	"tarn/antelope/types"
)

// A node that produces for all, and has lost the last blocks of its chain, for which others have voted since, makes one
// block instead of them at most before it goes over to them, in the midst of its round.
func TestAProducerGoesOverToBlocksWithANewerCertificate(t *testing.T) { outdo(t, true) }

// Blocks that do not come do not keep a producer from its turn.
func TestAProducerDoesNotWaitForBlocksThatDoNotCome(t *testing.T) { outdo(t, false) }

// outdo has a producer hear of blocks with a newer certificate, which it gets or not.
func outdo(t *testing.T, come bool) {
	inBubble(t, func(t *testing.T) {
		ctx := context.Background()
		p := peersOf(t, 3, true, 0)
		for !p.Chain(0).Head().IsProper() {
			if err := p.Run(20); err != nil {
				t.Fatal(err)
			}
		}
		var claim types.BlockTimestamp // of the block before the last one, which is to have a newer certificate
		for head := p.Chain(0).Head(); claim == 0 || head.Finality.Core.ClaimTime() <= claim; head = p.Chain(0).Head() {
			claim = head.Finality.Core.ClaimTime()
			if err := errors.Join(p.Run(1), p.Heal()); err != nil {
				t.Fatal(err)
			}
		}
		const lost = 6
		n := newNode(t, chain.Options{}, produces())
		n.follow(t, p.Blocks)
		all := n.chainBlocks()
		kept, gone := all[:len(all)-lost], all[len(all)-lost:]
		want := n.Head().State

		n = newNode(t, chain.Options{}, func(o *Options) {
			produces()(o)
			o.VotePause = time.Hour // nobody votes here
			for _, a := range want.ActiveSchedule.Producers {
				o.Producers = append(o.Producers, a.Producer)
			}
		})
		n.follow(t, kept)
		if n.Head().State.Finality.Core.ClaimTime() >= want.Finality.Core.ClaimTime() {
			t.Fatal("the lost blocks have no newer certificate")
		}
		for n.pendingSlotNow()%round != 2 {
			time.Sleep(50 * time.Millisecond)
		}
		n.run()
		time.Sleep(100 * time.Millisecond) // it makes a block
		var late []*Block
		for _, b := range gone {
			late = append(late, n.NewBlock(b, b.ID()))
			if err := n.CheckHeader(late[len(late)-1]); err != nil {
				t.Fatal(err)
			}
		}
		if !come {
			time.Sleep(10 * blockInterval)
			if made := len(n.makings()); made < 7 {
				t.Errorf("%d blocks were made in ten slots: %s", made, n.lines())
			}
			return
		}
		begin := time.Now()
		for _, b := range late {
			if err := n.Apply(ctx, b); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(begin); took > 2*blockInterval {
			t.Errorf("the blocks are applied after %v", took)
		}
		time.Sleep(4 * blockInterval)
		on := n.chainBlocks()
		if len(n.makings()) < 3 || len(on) <= len(all) || on[len(all)-1].ID() != want.ID {
			t.Errorf("it does not go on from them: %d blocks of %d, %d made: %s",
				len(on), len(all), len(n.makings()), n.lines())
		}
		own := 0
		for _, m := range n.makings() {
			if m.block.BlockNum <= want.BlockNum {
				own++
			}
		}
		if own > 1 {
			t.Errorf("it made %d blocks in their place", own)
		}
	})
}
