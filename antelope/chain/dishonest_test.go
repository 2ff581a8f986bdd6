package chain_test

import (
	"runtime"
	"testing"

	"tarn/antelope/chain/chaintest"
	"tarn/antelope/consensus"
	"tarn/antelope/feature"
	"tarn/antelope/finality"
	"tarn/antelope/types"
	"tarn/internal/racedetector"
)

// dishonest is a producer that signs any headers.
type dishonest struct {
	key interface {
		Sign(types.Checksum256) (types.Signature, error)
	}
	set *feature.Set
}

func newDishonest(t *testing.T, p *chaintest.Peers) dishonest {
	t.Helper()
	set, err := feature.Builtins()
	if err != nil {
		t.Fatal(err)
	}
	return dishonest{p.Maker(0).Key, set}
}

// block makes an empty block after another one; policy is of finalizers that its header proposes, or
// nil. Blocks of another nonce are others.
func (d dishonest) block(
	t *testing.T, on *consensus.HeaderState, slot types.BlockTimestamp, nonce int, policy *types.FinalizerPolicy,
) *types.SignedBlock {
	t.Helper()
	pending, err := on.Next(slot, 0)
	if err != nil {
		t.Fatal(err)
	}
	root := types.Hash([]byte{byte(nonce), byte(nonce >> 8)})
	claim := on.Finality.Core.Claim()
	if on.Finality.Core.IsGenesisNum(claim.Block) {
		root = types.Checksum256{}
	}
	h, err := pending.Header(&consensus.Content{Claim: claim, Actions: root, Finalizers: policy}, d.set)
	if err != nil {
		t.Fatal(err)
	}
	b := &types.SignedBlock{SignedBlockHeader: h}
	if b.ProducerSignature, err = d.key.Sign(b.ID()); err != nil {
		t.Fatal(err)
	}
	return b
}

// A block whose signature is not its producer's, which anybody can send, is refused before anything is
// made of its header, however much was proposed on its branch.
func TestABlockThatIsNotSignedCostsLittle(t *testing.T) {
	racedetector.SkipMeasure(t)
	p := finalForks(t, 1, 150)
	d, c := newDishonest(t, p), p.Chain(0)
	on, head := c.Fork().Root().HeaderState, c.Head().ID
	big := types.FinalizerPolicy{Threshold: types.MaxFinalizers,
		Finalizers: make([]types.Finalizer, types.MaxFinalizers)}
	key := chaintest.FinalizerKey(1).Public()
	for i := range big.Finalizers {
		big.Finalizers[i] = types.Finalizer{Weight: 1, Key: key}
	}
	slot := on.Header.Timestamp
	propose := func() *types.SignedBlock {
		slot++
		next := big
		next.Threshold -= uint64(slot)
		return d.block(t, on, slot, 0, &next)
	}
	for range 4 {
		b := propose()
		x, err := c.Prepare(b, b.ID())
		if err == nil {
			err = c.PushBlock(x)
		}
		if err != nil || c.Head().ID != head {
			t.Fatalf("the head is block %d: %v", c.Head().BlockNum, err)
		}
		on = x.State.HeaderState
	}
	b := propose()
	b.ProducerSignature.Compact[40] ^= 1
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := c.Prepare(b, b.ID()); err == nil {
		t.Fatal("it is taken")
	}
	runtime.ReadMemStats(&after)
	size, took := len(b.Append(nil)), after.TotalAlloc-before.TotalAlloc
	t.Logf("a block of %d bytes takes %d bytes of memory to be refused", size, took)
	if took > 1<<20 {
		t.Errorf("a block of %d bytes takes %d bytes of memory to be refused", size, took)
	}
}

// Votes are counted for blocks that may be executed, not for those that have failed.
func TestNoVotesAreCountedForBlocksThatFailed(t *testing.T) {
	p := finalForks(t, 1, 150)
	d, c := newDishonest(t, p), p.Chain(0)
	head := c.Head()
	counted := func(id types.Checksum256) bool {
		return c.Vote(&finality.Vote{Block: id, Strong: true})[0].Result != finality.NoBlock
	}
	if !counted(head.ID) {
		t.Fatal("no votes are counted for the head")
	}
	for i := range 20 {
		b := d.block(t, head.HeaderState, head.Header.Timestamp+1, i, nil)
		x, err := c.Prepare(b, b.ID())
		if err != nil {
			t.Fatal(err)
		}
		if err := c.PushBlock(x); err == nil {
			t.Fatal("a block that says that it did what it did not do is taken")
		}
		if counted(b.ID()) {
			t.Fatalf("votes are counted for block %s, which has failed", b.ID())
		}
	}
	if c.Head().ID != head.ID {
		t.Errorf("the head is block %d", c.Head().BlockNum)
	}
}
