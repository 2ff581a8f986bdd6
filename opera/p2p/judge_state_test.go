package p2p

import (
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"tarn/opera/difftest"
	"tarn/opera/inter"
)

// A go-opera in snap sync that knows nobody but us gets records and the state of a later epoch's
// beginning, goes over to that epoch, and follows by events to the same blocks.
func TestGoOperaGetsAStateFromUs(t *testing.T) {
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
	full := openLedger(t, filepath.Join(dir, "full"), validators)
	a := startNode(t, NewLedger(full.Chain.Chain, full), func(o *Options) {
		soon(o)
		o.Records, o.RecordLedger, o.States = NewRecords(full.Chain.Chain), NewRecordLedger(full.Chain.Chain, full),
			NewStates(full.Chain.Chain)
	})
	if err := a.AddPeer(enodeOf(t, ctx, net.Nodes[0])); err != nil {
		t.Fatal(err)
	}
	pay := func(transfers int) { // by another account than the epochs' end
		t.Helper()
		for i := range transfers {
			hash, err := net.Transfer(ctx, 1, 2, common.Address{18: 1, 19: byte(i)}, big.NewInt(1))
			if err == nil {
				_, err = net.Await(ctx, hash)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	pay(5)
	pass(t, ctx, net, owner, 2)
	pay(5)
	last, _ := same(t, ctx, full, net.Nodes[0])
	b := full.Beginning()
	if b == nil {
		t.Fatal("no state is held")
	}
	began := b.Epoch
	if err := b.Release(); err != nil {
		t.Fatal(err)
	}
	t.Logf("epoch %d, block %d", began, last)

	folder := filepath.Join(dir, "alone")
	alone, err := p.Start(ctx,
		difftest.Config{Dir: folder, Validators: validators, Settings: "[Opera]\nAllowSnapsync = true\n"})
	if err != nil {
		t.Fatal(err)
	}
	defer alone.Kill()
	start := time.Now()
	var added bool
	if err := alone.Call(ctx, &added, "admin_addPeer", a.Self().URLv4()); err != nil {
		t.Fatal(err)
	}
	await(t, "go-opera at our block", func() bool {
		var head hexutil.Uint64
		return alone.Call(ctx, &head, "eth_blockNumber") == nil && inter.BlockNumber(head) >= last
	})
	log, err := os.ReadFile(filepath.Join(folder, "log"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(log), "Snapsync is finalized") {
		t.Errorf("go-opera has not gone over to an epoch by a state:\n%.5000s", log)
	}
	pay(3)
	same(t, ctx, full, net.Nodes[0])
	head := headOf(t, full).Number
	await(t, "go-opera follows", func() bool {
		var at hexutil.Uint64
		return alone.Call(ctx, &at, "eth_blockNumber") == nil && inter.BlockNumber(at) >= head
	})
	t.Logf("go-opera is at block %d after %v", head, time.Since(start))
	var rest, there hexutil.Big
	for i := range 5 {
		for answer, n := range map[*hexutil.Big]*difftest.Node{&rest: alone, &there: net.Nodes[0]} {
			if err := n.Call(ctx, answer, "eth_getBalance", common.Address{18: 1, 19: byte(i)}, "latest"); err != nil {
				t.Fatal(err)
			}
		}
		if (*big.Int)(&rest).Cmp((*big.Int)(&there)) != 0 || (*big.Int)(&rest).Sign() == 0 {
			t.Errorf("account %d has %v, not %v", i, &rest, &there)
		}
	}
	same(t, ctx, full, alone)
	closeNode(t, a)
	full.close(t, true)
}
