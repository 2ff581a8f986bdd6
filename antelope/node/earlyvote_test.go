package node

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"tarn/antelope/chain/chaintest"
	"tarn/antelope/consensus"
	"tarn/antelope/crypto"
	"tarn/antelope/finality"
	"tarn/antelope/finalizer"
	"tarn/antelope/producer"
	"tarn/antelope/types"
	"tarn/store/engine"
)

// nextBlock is a signed block that follows the head of a chain. Its transactions need not have been executed.
func nextBlock(
	t *testing.T, n *Node, p *chaintest.Peers, at types.BlockTimestamp, transactions ...*types.PackedTransaction,
) *types.SignedBlock {
	t.Helper()
	head := n.Chain().Head()
	pending, err := head.Next(at, 0)
	if err != nil {
		t.Fatal(err)
	}
	claim := head.Finality.Core.Claim()
	root, ok := n.Chain().Standing().Validation.RootFor(head.Finality, claim)
	if !ok {
		t.Fatal("the root is not known")
	}
	h, err := pending.Header(&consensus.Content{Actions: root, Claim: claim}, n.Chain().Features())
	if err != nil {
		t.Fatal(err)
	}
	b := &types.SignedBlock{SignedBlockHeader: h}
	var digests []types.Checksum256
	for _, x := range transactions {
		r := types.TransactionReceipt{Packed: x}
		r.CPUUsageUS, r.NetUsageWords = 100, 100
		b.Transactions = append(b.Transactions, r)
		digests = append(digests, r.Digest())
	}
	b.TransactionMRoot = finality.Root(digests)
	if b.ProducerSignature, err = p.Maker(0).Key.Sign(b.ID()); err != nil {
		t.Fatal(err)
	}
	return b
}

// A finalizer votes for a block as soon as its header is good and what its certificate is about was executed; the block
// itself was not. The vote counts, and no second one follows when the block is executed. An old block gets none.
func TestFinalizersVoteBeforeABlockIsExecuted(t *testing.T) {
	p := finalPeers(t, 3)
	o := options(t.TempDir(), engine.Options{})
	o.Genesis, o.Log = &p.Genesis, slog.New(slog.NewTextHandler(t.Output(), nil))
	n := startAt(t, o, p)
	defer n.Close()
	po := producer.Defaults()
	po.Log = o.Log
	prod, err := producer.New(n.Chain(), po)
	if err != nil {
		t.Fatal(err)
	}
	votes := make(chan finality.Vote, 9)
	v, err := n.vote(&finalizer.Options{Dir: filepath.Join(t.TempDir(), "finalizers"),
		Keys: []*crypto.BLSPrivateKey{chaintest.FinalizerKey(0)}}, prod.Vote,
		func(x *finality.Vote) { votes <- *x }, o.Log)
	if err != nil {
		t.Fatal(err)
	}
	prod.Subscribe(producer.Events{Header: v.header})
	ctx, cancel := context.WithCancel(t.Context())
	voted := make(chan struct{})
	go func() { defer close(voted); v.run(ctx) }()
	defer func() { cancel(); <-voted }()

	old := nextBlock(t, n, p, n.Chain().Head().Header.Timestamp+1)
	if err := prod.CheckHeader(prod.NewBlock(old, old.ID())); err != nil {
		t.Fatal(err)
	}
	b := nextBlock(t, n, p, now())
	block := prod.NewBlock(b, b.ID())
	if err := prod.CheckHeader(block); err != nil {
		t.Fatal(err)
	}
	select {
	case x := <-votes:
		if x.Block != b.ID() || n.Chain().Fork().Block(x.Block) != nil {
			t.Fatalf("a vote for %s, the block is %s", x.Block, b.ID())
		}
		if r := prod.Vote(&x)[0]; r != finality.Duplicate {
			t.Errorf("the vote was not counted: %v", r)
		}
	case <-time.After(time.Minute):
		t.Fatal("no vote")
	}

	ran := make(chan error, 1)
	running, stop := context.WithCancel(t.Context())
	go func() { ran <- prod.Run(running) }()
	if err := prod.Apply(t.Context(), block); err != nil {
		t.Fatal(err)
	}
	stop()
	if err := <-ran; err != nil {
		t.Fatal(err)
	}
	if head := n.Chain().Head().ID; head != b.ID() {
		t.Errorf("the head is %s", head)
	}
	select {
	case x := <-votes:
		t.Errorf("another vote for %s", x.Block)
	case <-time.After(200 * time.Millisecond):
	}
	if r := prod.Vote(&finality.Vote{Block: old.ID()})[0]; r == finality.NoBlock {
		t.Errorf("votes for a block that waits for the chain are not counted")
	}
}
