package chain

import (
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"tarn/opera/inter"
	"tarn/store/engine"
)

// A transaction of an event for which another hash stands in go-opera's table is told by it, and
// found by it, in a block that was just made and in one that is read; the block is the same.
func TestARenamedTransactionIsToldByItsOtherName(t *testing.T) {
	r := record(t)
	other := common.Hash{0xab, 1, 2, 3}
	var own common.Hash
	seen := map[common.Hash]bool{}
	for _, raw := range r.events {
		p, err := inter.DecodePayload(raw)
		if err != nil {
			t.Fatal(err)
		}
		repeated := len(p.Txs) > 1 && seen[p.Txs[1].Hash()]
		for _, tx := range p.Txs {
			seen[tx.Hash()] = true
		}
		if len(p.Txs) > 1 && p.Epoch > 2 && !repeated { // those of epoch 2 are repeated later
			id := p.ID()
			renamed[id] = name{1, other}
			defer delete(renamed, id)
			own = p.Txs[1].Hash()
			if got := TxHash(p, 1); got != other || TxHash(p, 0) != p.Txs[0].Hash() {
				t.Fatalf("the event's transaction is told as %v", got)
			}
			break
		}
	}
	if own == (common.Hash{}) {
		t.Fatal("no event has two transactions")
	}
	at := openStore(t, t.TempDir(), engine.Options{Kind: engine.Page})
	defer at.Close()
	c := newChain(t, at)
	defer closeChain(t, c)
	told := 0
	c.options.Connected = func(b *Block) {
		for i := range b.Txs {
			if b.TxHash(i) == other && b.Receipts[i].TxHash == other {
				told++
			}
		}
	}
	feed(t, c, r.events)
	compare(t, c, r)
	if told != 1 {
		t.Errorf("the transaction was told %d times when its block was made", told)
	}
	v, err := c.View()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	find := func(hash common.Hash) (found int) {
		if err := v.Places(hash, func(p TxPlace) bool {
			b, err := v.Block(p.Block)
			if err != nil {
				t.Fatal(err)
			}
			i := int(p.Index)
			if b.TxHash(i) != hash {
				return true
			}
			found++
			if b.Txs[i].Hash() != own || b.Receipts[i].TxHash != hash {
				t.Errorf("%v is told as %v, its receipt's as %v", own, b.TxHash(i), b.Receipts[i].TxHash)
			}
			for _, l := range b.Receipts[i].Logs {
				if l.TxHash != hash {
					t.Errorf("a log of it as %v", l.TxHash)
				}
			}
			return true
		}); err != nil {
			t.Fatal(err)
		}
		return found
	}
	if n, m := find(other), find(own); n != 1 || m != 0 {
		t.Errorf("it is found %d times by its name, %d times by its own hash", n, m)
	}
}

// The table is go-opera's: two events of the main network's epochs 5912 and 6046.
func TestTwoTransactionsAreRenamed(t *testing.T) {
	for id, epoch := range map[string]inter.Epoch{
		"0x00001718000003d4d3955bf592e12fb80a60574fa4b18bd5805b4c010d75e86d": 5912,
		"0x0000179e00000c464d756a7614d0ca067fcb37ee4452004bf308c9df561e85e8": 6046,
	} {
		event := inter.EventID(common.HexToHash(id))
		if _, ok := renamed[event]; !ok || event.Epoch() != epoch || len(renamed) != 2 {
			t.Errorf("event %v of epoch %d is not among the %d", event, event.Epoch(), len(renamed))
		}
	}
}
