package chain_test

import (
	"errors"
	"testing"

	"tarn/antelope/chain"
	"tarn/antelope/consensus"
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

// A switch of forks is interrupted after a part of it, which is better than the branch that was left. The chain is
// there then: own blocks follow it, and what later blocks make final of it is irreversible (Spring applies the best
// branch again before it makes blocks).
func TestASwitchThatIsInterruptedStaysWhereItIsBetter(t *testing.T) {
	p := finalForks(t, 1, 150)
	main, d := mainBranch(p), newDishonest(t, p)
	n := newLoggedChain(t, &p.Genesis, chain.Options{})
	const ahead = 8
	var begins func(uint32)
	n.Subscribe(chain.Hooks{StartBlock: func(num uint32) {
		if begins != nil {
			begins(num)
		}
	}})
	for i, b := range main {
		if err := push(t, n.Chain, b); err != nil {
			t.Fatalf("block %d: %v", b.BlockNum(), err)
		}
		if !n.Head().IsProper() || n.Head().ID != b.ID() || i+ahead+1 >= len(main) ||
			main[i+1].Timestamp <= b.Timestamp+1 {
			continue
		}
		var states []*consensus.BlockState
		for before, k := n.Head(), i+1; k <= i+ahead; k++ {
			var err error
			if before, err = n.CheckHeader(before.HeaderState, main[k], main[k].ID()); err != nil {
				t.Fatal(err)
			}
			states = append(states, before)
		}
		if states[1].Finality.Core.Claim().Block != states[0].BlockNum {
			continue // what is made after b could be better
		}
		last := states[ahead-1]
		produceOn(t, n.Chain, p, 1)
		begins = func(uint32) { n.EndApplication(true) }
		for _, next := range main[i+1 : i+3] {
			if err := push(t, n.Chain, next); !errors.Is(err, chain.ErrInterrupted) {
				t.Fatal(err)
			}
			n.EndApplication(false)
		}
		beside := d.block(t, states[1].HeaderState, states[1].Header.Timestamp+1, 1, nil)
		begins = func(num uint32) {
			if num == beside.BlockNum() {
				n.Overtake(last.HeaderState, func(*consensus.HeaderState) bool { return false })
			}
		}
		if err := push(t, n.Chain, beside); !errors.Is(err, chain.ErrInterrupted) || n.Head().ID != states[1].ID {
			t.Fatalf("%v, and the head is block %d", err, n.Head().BlockNum)
		}
		begins = nil
		produceOn(t, n.Chain, p, 1)
		for _, next := range main[i+3 : i+ahead] {
			if err := push(t, n.Chain, next); err != nil {
				t.Fatal(err)
			}
			if root := n.Fork().Root().BlockNum; root > states[1].BlockNum {
				t.Fatalf("block %d is irreversible, and the head is block %d of another branch",
					root, n.Head().BlockNum)
			}
		}
		if root := n.Fork().Root(); root.BlockNum < states[0].BlockNum ||
			root.ID != states[root.BlockNum-states[0].BlockNum].ID {
			t.Fatalf("block %d %s is irreversible", root.BlockNum, root.ID)
		}
		n.Withdraw(last.ID)
		for _, next := range main[i+ahead:] {
			if err := push(t, n.Chain, next); err != nil {
				t.Fatal(err)
			}
		}
		n.sameAs("follower", p.Chain(0))
		return
	}
	t.Fatal("no switch was interrupted")
}
