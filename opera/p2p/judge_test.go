package p2p

import (
	"context"
	"math/big"
	"path/filepath"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"tarn/opera/difftest"
	"tarn/opera/inter"
)

func judge(t *testing.T) (*difftest.Peer, context.Context) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts go-operas")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	t.Cleanup(cancel)
	p, err := difftest.Judge(ctx)
	if err != nil {
		t.Skip(err)
	}
	return p, ctx
}

func enodeOf(t *testing.T, ctx context.Context, n *difftest.Node) string {
	t.Helper()
	var info struct{ Enode string }
	if err := n.Call(ctx, &info, "admin_nodeInfo"); err != nil {
		t.Fatal(err)
	}
	return info.Enode
}

// same compares all blocks of a go-opera with ours.
func same(t *testing.T, ctx context.Context, l *ledger, n *difftest.Node) (inter.BlockNumber, int) {
	t.Helper()
	blocks, err := n.Blocks(ctx)
	if err != nil {
		t.Fatal(err)
	}
	last := inter.BlockNumber(blocks[len(blocks)-1].Number)
	await(t, "the block that go-opera has", func() bool { return headOf(t, l).Number >= last })
	return last, sameBlocks(t, l, blocks)
}

// sameBlocks compares blocks of a go-opera with ours, and counts their transactions.
func sameBlocks(t *testing.T, l *ledger, blocks []difftest.BlockAnswer) (txs int) {
	t.Helper()
	v, err := l.View()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	for _, want := range blocks {
		b, err := v.BlockRecord(inter.BlockNumber(want.Number))
		if err != nil {
			t.Fatal(err)
		}
		if b == nil || common.Hash(b.Block.Atropos) != want.Hash || common.Hash(b.Block.Root) != want.StateRoot ||
			uint64(b.Block.Time) != uint64(want.TimestampNano) || b.Block.GasUsed != uint64(want.GasUsed) {
			t.Fatalf("block %d is %+v, go-opera's %+v", want.Number, b, want)
		}
		txs += len(want.Transactions)
	}
	return txs
}

func headOf(t *testing.T, l *ledger) inter.BlockInfo {
	t.Helper()
	v, err := l.View()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	return v.Head()
}

// work sends transfers, one after the other, and waits for the last.
func work(t *testing.T, ctx context.Context, net *difftest.Network, transfers int) {
	t.Helper()
	var last common.Hash
	for i := range transfers {
		from := 1 + i%len(net.Nodes)
		hash, err := net.Transfer(ctx, from-1, inter.ValidatorID(from), common.Address{19: byte(i)},
			big.NewInt(int64(1+i)))
		if err != nil {
			t.Fatal(err)
		}
		last = hash
	}
	if _, err := net.Await(ctx, last); err != nil {
		t.Fatal(err)
	}
}

func TestANodeFollowsGoOperasNetworkAndGoOperaFollowsIt(t *testing.T) {
	p, ctx := judge(t)
	dir := t.TempDir()
	const validators = 3
	net, err := p.StartNetwork(ctx, filepath.Join(dir, "network"), validators)
	if err != nil {
		t.Fatal(err)
	}
	defer net.Kill()
	work(t, ctx, net, 12)

	l := openLedger(t, filepath.Join(dir, "ours"), validators)
	follow := func(o *Options) {}
	n := startNode(t, NewLedger(l.Chain.Chain, l), follow)
	began := time.Now()
	for _, peer := range net.Nodes {
		if err := n.AddPeer(enodeOf(t, ctx, peer)); err != nil {
			t.Fatal(err)
		}
	}
	last, txs := same(t, ctx, l, net.Nodes[0])
	t.Logf("block %d with %d transactions after %v", last, txs, time.Since(began))
	work(t, ctx, net, 9)
	last, txs = same(t, ctx, l, net.Nodes[1])
	t.Logf("block %d with %d transactions while it goes on", last, txs)

	closeNode(t, n)
	l.close(t, false)
	work(t, ctx, net, 6)
	l = openLedger(t, filepath.Join(dir, "ours"), validators)
	n = startNode(t, NewLedger(l.Chain.Chain, l), follow)
	if err := n.AddPeer(enodeOf(t, ctx, net.Nodes[2])); err != nil {
		t.Fatal(err)
	}
	last, txs = same(t, ctx, l, net.Nodes[2])
	t.Logf("block %d with %d transactions after a crash", last, txs)

	// One that knows nobody but us.
	alone, err := p.Start(ctx, difftest.Config{Dir: filepath.Join(dir, "alone"), Validators: validators})
	if err != nil {
		t.Fatal(err)
	}
	defer alone.Kill()
	var added bool
	if err := alone.Call(ctx, &added, "admin_addPeer", n.Self().URLv4()); err != nil {
		t.Fatal(err)
	}
	reached := func() {
		t.Helper()
		head := headOf(t, l)
		began := time.Now()
		await(t, "go-opera at our block", func() bool {
			blocks, err := alone.Blocks(ctx)
			return err == nil && len(blocks) >= int(head.Number)
		})
		last, txs := same(t, ctx, l, alone)
		t.Logf("a go-opera that follows us has block %d with %d transactions after %v", last, txs, time.Since(began))
	}
	reached()
	work(t, ctx, net, 6)
	same(t, ctx, l, net.Nodes[0])
	reached()
	closeNode(t, n)
	l.close(t, true)
}
