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

// A switch of forks is interrupted after a part of it, and the chain is back on the branch that it came from. What
// later blocks make final of the other branch is not irreversible before the state is of that branch.
func TestWhatIsFinalOnAnotherBranchWaitsForTheSwitch(t *testing.T) {
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
		if !n.Head().IsProper() || n.Head().ID != b.ID() || i+ahead+1 >= len(main) || main[i+1].Timestamp <= b.Timestamp+1 {
			continue
		}
		state := n.Head()
		var first *consensus.BlockState
		for _, next := range main[i+1 : i+1+ahead] {
			var err error
			if state, err = n.CheckHeader(state.HeaderState, next, next.ID()); err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = state
			}
		}
		own := produceOn(t, n.Chain, p, 1)
		begins = func(uint32) { n.EndApplication(true) }
		if err := push(t, n.Chain, main[i+1]); !errors.Is(err, chain.ErrInterrupted) {
			t.Fatal(err)
		}
		n.EndApplication(false)
		beside := d.block(t, first.HeaderState, first.Header.Timestamp+1, 1, nil)
		begins = func(num uint32) {
			if num == beside.BlockNum() {
				n.Overtake(state.HeaderState, func(*consensus.HeaderState) bool { return false })
			}
		}
		if err := push(t, n.Chain, beside); !errors.Is(err, chain.ErrInterrupted) || n.Head().ID != own.ID() {
			t.Fatalf("%v, and the head is block %d", err, n.Head().BlockNum)
		}
		begins = nil
		for _, next := range main[i+2 : i+ahead] {
			if err := push(t, n.Chain, next); err != nil {
				t.Fatal(err)
			}
			if root := n.Fork().Root().BlockNum; root >= own.BlockNum() {
				t.Fatalf("block %d is irreversible, and the head is block %d of another branch", root, n.Head().BlockNum)
			}
		}
		n.Withdraw(state.ID)
		if err := push(t, n.Chain, main[i+ahead]); err != nil {
			t.Fatal(err)
		}
		if n.Head().ID != state.ID {
			t.Fatalf("the head is block %d, want %d", n.Head().BlockNum, state.BlockNum)
		}
		if root := n.Fork().Root().BlockNum; root < first.BlockNum {
			t.Fatalf("block %d is irreversible, and none after the fork: the test tests nothing", root)
		}
		return
	}
	t.Fatal("no switch was interrupted")
}
