package chain_test

import (
	"testing"

	"tarn/antelope/chain"
	"tarn/antelope/types"
)

// A block carries a strong certificate and cannot be executed. The certificate counts all the same: what it makes
// final is irreversible with the next block, though no block on the head's branch claims as much (Spring:
// fork_database.cpp, add_impl; controller_impl::log_irreversible).
func TestAClaimCountsWhateverBecomesOfItsBlock(t *testing.T) {
	p := finalForks(t, 1, 150)
	main, d := mainBranch(p), newDishonest(t, p)
	n := newLoggedChain(t, &p.Genesis, chain.Options{})
	tried := 0
	for i, b := range main {
		if x, err := b.ExtractExtensions(); err != nil {
			t.Fatal(err)
		} else if qc := x.Certificate; n.Head().IsProper() && qc != nil && tried < 5 &&
			n.Fork().Root().IsProper() && i%3 == 0 {
			claimed := n.Fork().SearchOnBranch(n.Head().ID, qc.Block)
			if h, _ := b.BlockHeader.ExtractExtensions(); claimed != nil && h.Finality.Claim.Strong {
				carry(t, n, d, b, claimed.Finality.Core.Claim().Block)
				tried++
			}
		}
		if err := push(t, n.Chain, b); err != nil {
			t.Fatalf("block %d: %v", b.BlockNum(), err)
		}
	}
	if tried == 0 {
		t.Fatal("no block was tried")
	}
	n.sameAs("follower", p.Chain(0))
	n.reopen()
}

// carry gives the chain a block with the certificate of b that fails, and then one beside the head; block final is
// irreversible then.
func carry(t *testing.T, n *loggedChain, d dishonest, b *types.SignedBlock, final uint32) {
	t.Helper()
	head, root := n.Head(), n.Fork().Root()
	bad := *b
	bad.Confirmed = 7
	var err error
	if bad.ProducerSignature, err = d.key.Sign(bad.ID()); err != nil {
		t.Fatal(err)
	}
	if err := push(t, n.Chain, &bad); err == nil || n.Head().ID != head.ID {
		t.Fatalf("a block that cannot be executed: %v", err)
	}
	if got := n.Fork().Root().BlockNum; got != root.BlockNum {
		t.Fatalf("block %d is irreversible with a block that fails, and was %d", got, root.BlockNum)
	}
	beside := d.block(t, root.HeaderState, root.Header.Timestamp+1, int(b.BlockNum()), nil)
	if err := push(t, n.Chain, beside); err != nil || n.Head().ID != head.ID {
		t.Fatalf("the head is block %d: %v", n.Head().BlockNum, err)
	}
	if got := n.Fork().Root().BlockNum; final <= root.BlockNum || got != final {
		t.Errorf("block %d is irreversible, %d was, and a claim makes %d final", got, root.BlockNum, final)
	}
}
