package p2p

import (
	"context"
	"encoding/binary"
	"math/big"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/opera/difftest"
	"tarn/opera/epoch"
	"tarn/opera/inter"
)

// pass has a network's epoch end, and some of those after it.
func pass(t *testing.T, ctx context.Context, net *difftest.Network, owner *difftest.Account, epochs uint64) {
	t.Helper()
	auth := common.HexToAddress("0xd100ae0000000000000000000000000000000000")
	selector := binary.BigEndian.Uint32(crypto.Keccak256([]byte("advanceEpochs(uint256)")))
	tx, err := net.Do(ctx, 0, &difftest.Deed{From: owner, To: &auth,
		Data: epoch.NewCall(selector).Number(epochs).Encode(), Gas: 900_000, Price: big.NewInt(4e11)})
	if err == nil {
		_, err = net.Await(ctx, tx.Hash())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A node that connects no event fills its history in by a go-opera's votes and records; and a
// go-opera in snap sync does so by ours, of a node that has followed by events.
func TestRecordsComeFromGoOperaAndGoToIt(t *testing.T) {
	p, ctx := judge(t)
	dir := t.TempDir()
	const validators = 2
	net, err := p.StartNetwork(ctx, filepath.Join(dir, "network"), validators)
	if err != nil {
		t.Fatal(err)
	}
	defer net.Kill()
	owner, err := difftest.ValidatorAccount(1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if _, err := net.Transfer(ctx, 1, 2, common.Address{19: byte(i)}, big.NewInt(1)); err != nil {
			t.Fatal(err)
		}
	}
	pass(t, ctx, net, owner, 2)
	full, filledIn := openLedger(t, filepath.Join(dir, "full"), validators), openLedger(t,
		filepath.Join(dir, "filled"), validators)
	a := startNode(t, NewLedger(full.Chain.Chain, full), func(o *Options) {
		soon(o)
		o.Records, o.RecordLedger = NewRecords(full.Chain.Chain), NewRecordLedger(full.Chain.Chain, full)
	})
	b := filledNode(t, filledIn, nil)
	for _, n := range []*Node{a, b} {
		if err := n.AddPeer(enodeOf(t, ctx, net.Nodes[0])); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	const epochs = 4
	var blocks []difftest.BlockAnswer
	await(t, "the epochs have ended", func() bool {
		blocks, err = net.Nodes[0].Blocks(ctx)
		return err == nil && blocks[len(blocks)-1].Epoch >= epochs
	})
	// of the epoch before
	last := inter.BlockNumber(slices.IndexFunc(blocks, func(b difftest.BlockAnswer) bool { return b.Epoch == epochs }))
	await(t, "records of the blocks that go-opera has", func() bool {
		at := filledIn.Frontier()
		return at.Unfilled.Block > last && at.Unfilled.Epoch > epochs
	})
	t.Logf("%+v after %v, head %d", filledIn.Frontier(), time.Since(began), headOf(t, filledIn).Number)
	sameBlocks(t, filledIn, blocks[:last])
	same(t, ctx, full, net.Nodes[0])

	alone, err := p.Start(ctx, difftest.Config{Dir: filepath.Join(dir, "alone"), Validators: validators,
		Settings: "[Opera]\nAllowSnapsync = true\n"})
	if err != nil {
		t.Fatal(err)
	}
	defer alone.Kill()
	var added bool
	if err := alone.Call(ctx, &added, "admin_addPeer", a.Self().URLv4()); err != nil {
		t.Fatal(err)
	}
	began = time.Now()
	at := func(n inter.BlockNumber) (b *difftest.BlockAnswer) {
		if err := alone.Call(ctx, &b, "eth_getBlockByNumber", hexutil.EncodeUint64(uint64(n)), false); err != nil {
			return nil
		}
		return b
	}
	await(t, "go-opera has our records", func() bool { return at(last) != nil })
	var head hexutil.Uint64
	if err := alone.Call(ctx, &head, "eth_blockNumber"); err != nil {
		t.Fatal(err)
	}
	t.Logf("go-opera, at block %d, has block %d by our records after %v", head, last, time.Since(began))
	if head >= hexutil.Uint64(last) {
		t.Errorf("go-opera has executed the blocks up to %d: nothing is shown", head)
	}
	var got []difftest.BlockAnswer
	for n := inter.BlockNumber(1); n <= last; n++ {
		b := at(n)
		if b == nil {
			t.Fatalf("go-opera lacks block %d", n)
		}
		if want := &blocks[n-1]; b.Hash != want.Hash || b.StateRoot != want.StateRoot ||
			b.ReceiptsRoot != want.ReceiptsRoot || b.TransactionsRoot != want.TransactionsRoot {
			t.Errorf("block %d is %+v, want %+v", n, b, want)
		}
		got = append(got, *b)
	}
	sameBlocks(t, full, got)
	closeNode(t, a)
	closeNode(t, b)
	full.close(t, true)
	filledIn.close(t, true)
}
