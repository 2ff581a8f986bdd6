package difftest

import (
	"flag"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"tarn/opera/eventfile"
	"tarn/opera/inter"
)

// events reads an exported file of events.
func events(t *testing.T, path string) []*inter.Payload {
	t.Helper()
	in, err := eventfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var list []*inter.Payload
	for raw, err := range in.All() {
		if err != nil {
			t.Fatal(err)
		}
		e, err := inter.DecodePayload(raw)
		if err != nil {
			t.Fatalf("event %d: %v", len(list), err)
		}
		list = append(list, e)
	}
	return list
}

var validators = flag.Int("difftest.validators", 1, "go-operas in the network that is recorded")

// The tool itself: a network works, and what it recorded is whole.
func TestANetworkIsRecorded(t *testing.T) {
	p, ctx := peer(t)
	n, err := p.StartNetwork(ctx, t.TempDir(), *validators)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Kill()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	const transfers = 12
	sent := map[common.Hash]bool{}
	for range transfers {
		var to common.Address
		to[19] = byte(1 + random.IntN(5))
		// A sender's transactions go to one node: others may get them too late.
		from := 1 + random.IntN(*validators)
		hash, err := n.Transfer(ctx, from-1, inter.ValidatorID(from), to, big.NewInt(random.Int64N(1e18)))
		if err != nil {
			t.Fatal(err)
		}
		sent[hash] = true
	}
	for hash := range sent {
		if _, err := n.Await(ctx, hash); err != nil {
			t.Fatal(err)
		}
	}
	r, err := n.Record(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	atropoi, executed := map[common.Hash]bool{}, 0
	for i, b := range r.Blocks {
		if int(b.Number) != i+1 || i > 0 && b.ParentHash != r.Blocks[i-1].Hash || b.BaseFee == nil ||
			b.StateRoot == (common.Hash{}) {
			t.Errorf("block %d: %+v", i+1, b)
		}
		atropoi[b.Hash] = i > 0 // the first one is the genesis'
		for _, hash := range b.Transactions {
			if sent[hash] {
				executed++
			}
		}
	}
	confirmed := 0
	for _, e := range events(t, r.Events) {
		if atropoi[common.Hash(e.ID())] {
			confirmed++
		}
		for _, tx := range e.Txs {
			if !sent[tx.Hash()] {
				t.Errorf("event %v has the transaction %v, which nobody sent", e.ID(), tx.Hash())
			}
		}
	}
	if executed != transfers || confirmed != len(r.Blocks)-1 {
		t.Errorf("%d transactions were executed, want %d; of %d blocks %d have their Atropos among the events",
			executed, transfers, len(r.Blocks), confirmed)
	}
	if header, _ := units(t, r.Final); header.NetworkID != inter.FakeNetwork || header.ID == [32]byte{} {
		t.Errorf("the final genesis is of %v", header)
	}
}
