package chain_test

import (
	"testing"

	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/consensus"
	"tarn/antelope/types"
)

// A producer signs blocks beside the chain, whose small headers each make a list of finalizers anew. What is kept of
// them has a bound in bytes; the honest branch beside the head, on which a block of that producer is, stays, and a
// block that has gone may come again.
func TestWhatNobodyHasExecutedIsBoundedInBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; not with -short")
	}
	p := finalForks(t, 1, 150)
	const limit = 8 << 20
	n := newLoggedChain(t, &p.Genesis, chain.Options{Limits: chain.Limits{WaitingBytes: limit}})
	n.feedShuffled(p.Blocks, 1, false)
	d, head, root := newDishonest(t, p), n.Head(), n.Fork().Root().HeaderState
	prepare := func(b *types.SignedBlock) (*consensus.BlockState, error) {
		x, err := n.Prepare(b, b.ID())
		if err != nil {
			return nil, err
		}
		return x.State, n.PushBlock(x)
	}
	must := func(b *types.SignedBlock) *consensus.HeaderState {
		t.Helper()
		s, err := prepare(b)
		if err != nil || n.Head().ID != head.ID {
			t.Fatalf("the head is block %d: %v", n.Head().BlockNum, err)
		}
		return s.HeaderState
	}
	slot := root.Header.Timestamp
	beside := must(d.block(t, root, slot+1, 1, nil))
	large := types.FinalizerPolicy{Threshold: 4000, Finalizers: make([]types.Finalizer, 5000)}
	for i := range large.Finalizers {
		large.Finalizers[i] = types.Finalizer{Weight: 1, Key: chaintest.FinalizerKey(1).Public()}
	}
	first := d.block(t, root, slot+1, 2, &large)
	on := must(first)
	var all []*types.SignedBlock
	for i := range 60 {
		next := large
		next.Finalizers = append([]types.Finalizer{{Weight: uint64(i) + 2, Key: large.Finalizers[0].Key}},
			large.Finalizers[1:]...)
		b := d.block(t, on, slot+2, i, &next)
		if i == 0 && len(b.Append(nil)) > 1000 {
			t.Fatalf("a block takes %d bytes", len(b.Append(nil)))
		}
		all = append(all, b)
		must(b)
	}
	kept := 0
	var gone *types.SignedBlock
	for _, b := range all {
		if n.Fork().Block(b.ID()) != nil {
			kept++
		} else {
			gone = b
		}
	}
	const each = 5000 * 120
	if kept == 0 || kept*each > limit {
		t.Errorf("%d blocks are kept, which take %d bytes", kept, kept*each)
	}
	if n.Fork().Block(beside.ID) == nil {
		t.Error("a small block that came before is gone")
	}
	if must(gone); n.Fork().Block(gone.ID()) == nil {
		t.Error("a block that has gone does not come again")
	}
}
