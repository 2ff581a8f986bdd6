package chain_test

import (
	"errors"
	"testing"

	"tarn/antelope/chain"
)

// A block is interrupted before the chain has told the system contract of the block before it. That is what the block
// does, too: a block without transactions must not be taken for one that was executed (Spring: controller_impl::
// start_block).
func TestABlockThatIsInterruptedAtItsBeginningIsNotApplied(t *testing.T) {
	p := finalForks(t, 1, 150)
	main := mainBranch(p)
	n := newLoggedChain(t, &p.Genesis, chain.Options{})
	armed, tried := false, 0
	n.Subscribe(chain.Hooks{StartBlock: func(uint32) {
		if armed {
			n.EndApplication(true)
		}
	}})
	for i, b := range main {
		if n.Head().IsProper() && len(b.Transactions) == 0 && i+1 < len(main) && tried < 5 {
			head, before := n.Head().ID, hash(t, n.Chain)
			armed = true
			err := push(t, n.Chain, b)
			armed = false
			n.EndApplication(false)
			if !errors.Is(err, chain.ErrInterrupted) || n.Head().ID != head || hash(t, n.Chain) != before {
				t.Fatalf("block %d was interrupted: %v, and the head is block %d", b.BlockNum(), err, n.Head().BlockNum)
			}
			tried++
			continue // the next block brings it
		}
		if err := push(t, n.Chain, b); err != nil {
			t.Fatalf("block %d: %v", b.BlockNum(), err)
		}
	}
	if tried == 0 {
		t.Fatal("no block was interrupted")
	}
	n.sameAs("follower", p.Chain(0))
}
