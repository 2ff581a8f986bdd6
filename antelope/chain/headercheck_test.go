package chain_test

import (
	"testing"

	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/consensus"
	"tarn/antelope/exception"
	"tarn/antelope/feature"
	"tarn/antelope/types"
)

// certified makes a chain of peers whose head brings a certificate.
func certified(t *testing.T, seed uint64) *chaintest.Peers {
	t.Helper()
	p := finalForks(t, seed, 30)
	for p.Chain(0).Head().Certificate == nil {
		if err := p.Run(1); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// followed is a signed block that follows the head of the first peer, with this content and without
// transactions.
func followed(t *testing.T, p *chaintest.Peers, c consensus.Content) *types.SignedBlock {
	t.Helper()
	set, err := feature.Builtins()
	if err != nil {
		t.Fatal(err)
	}
	head := p.Chain(0).Head()
	pending, err := head.Next(head.Header.Timestamp+1, 0)
	if err != nil {
		t.Fatal(err)
	}
	h, err := pending.Header(&c, set)
	if err != nil {
		t.Fatal(err)
	}
	return signed(t, p, &types.SignedBlock{SignedBlockHeader: h})
}

// signed signs a proper block with the key of all producers.
func signed(t *testing.T, p *chaintest.Peers, b *types.SignedBlock) *types.SignedBlock {
	t.Helper()
	var err error
	if b.ProducerSignature, err = p.Maker(0).Key.Sign(b.ID()); err != nil {
		t.Fatal(err)
	}
	return b
}

// offer gives the header of a block to a peer, and tells why it is refused.
func offer(c *chain.Chain, b *types.SignedBlock) error {
	_, err := c.CheckHeader(c.Fork().HeaderState(b.Previous), b, b.ID())
	return err
}

// claimed is what a header says that follows the head without a new certificate.
func claimed(t *testing.T, c *chain.Chain) consensus.Content {
	t.Helper()
	claim := c.Head().Finality.Core.Claim()
	root, ok := c.Standing().Validation.RootFor(c.Head().Finality, claim)
	if !ok {
		t.Fatal("the root is not known")
	}
	return consensus.Content{Actions: root, Claim: claim}
}

// A header with a finalizer whose key is no point of the curve is refused before the block is passed on.
func TestHeadersWithFinalizersWithoutAKeyAreRefused(t *testing.T) {
	p := certified(t, 7)
	good := types.Finalizer{Description: "good", Weight: 1, Key: chaintest.FinalizerKey(0).Public()}
	bad := types.Finalizer{Description: "bad", Weight: 1, Key: types.BLSPublicKey{1, 2, 3}}
	for _, x := range []struct {
		list []types.Finalizer
		fine bool
	}{{nil, true}, {[]types.Finalizer{good}, true}, {[]types.Finalizer{good, bad}, false}} {
		content := claimed(t, p.Chain(0))
		if x.list != nil {
			content.Finalizers = &types.FinalizerPolicy{Threshold: 1, Finalizers: x.list}
		}
		err := offer(p.Chain(0), followed(t, p, content))
		if (err == nil) != x.fine || err != nil && !exception.Is(err, exception.InvalidBlockHeaderExtension) {
			t.Errorf("%d finalizers: %v", len(x.list), err)
		}
	}
}

// A header that brings a certificate and commits to another past than this node has come to is refused before
// the block is passed on. Without a certificate only the execution of the block tells, as in nodeos.
func TestHeadersThatCommitToAnotherPastAreRefused(t *testing.T) {
	p := certified(t, 7)
	c := p.Chain(0)
	b := *c.Head().Block
	if err := offer(c, &b); err != nil {
		t.Fatalf("the head itself is refused: %v", err)
	}
	b.ActionMRoot[5] ^= 1
	if err := offer(c, signed(t, p, &b)); !exception.Is(err, exception.BlockValidate) {
		t.Errorf("with a certificate: %v", err)
	}
	content := claimed(t, c)
	content.Actions[5] ^= 1
	if err := offer(c, followed(t, p, content)); err != nil {
		t.Errorf("without a certificate: %v", err)
	}
}
