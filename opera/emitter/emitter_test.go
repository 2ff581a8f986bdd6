package emitter

import (
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"tarn/opera/inter"
)

// A lone validator makes blocks of what waits at once, and says seldom something when there
// is nothing to say.
func TestALoneValidatorMakesBlocks(t *testing.T) {
	w := start(t, 1, 1)
	n := w.nodes[0]
	w.run(time.Second)
	begun := len(w.sent)
	for i := range uint64(20) {
		w.pay(1, i)
	}
	w.run(3 * time.Second)
	if left, _ := (pool{w.nodes[0], false}).Stats(); left != 0 {
		t.Errorf("%d transactions are left after 3 s at block %d: %q", left, n.Head().Number, n.said)
	}
	busy := len(w.sent)
	w.run(time.Minute)
	if idle := len(w.sent) - busy; idle < 5 || idle > 12 || busy-begun < 3 {
		t.Errorf("%d events while there was something to do, %d in an idle minute", busy-begun, idle)
	}
}

// What is executed is not originated again, though the pool still offers it.
func TestNothingIsOriginatedTwice(t *testing.T) {
	w := start(t, 1, 4)
	n := w.nodes[0]
	n.em.o.Pool = pool{n, true}
	for i := range uint64(10) {
		w.pay(1, i)
		w.run(time.Second)
	}
	// What an epoch ended before it was confirmed has to be said again.
	type once struct {
		epoch inter.Epoch
		tx    common.Hash
	}
	originated := map[once]bool{}
	for _, raw := range w.sent {
		p, err := inter.DecodePayload(raw)
		if err != nil {
			t.Fatal(err)
		}
		for _, tx := range p.Txs {
			if it := (once{p.Epoch, tx.Hash()}); originated[it] {
				t.Errorf("transaction %d is originated twice in epoch %d", tx.Nonce(), p.Epoch)
			} else {
				originated[it] = true
			}
		}
	}
	if len(originated) < 10 {
		t.Errorf("of 10 transactions %d are originated", len(originated))
	}
}

// Several validators agree about everything, and originate each transaction once.
func TestValidatorsAgree(t *testing.T) {
	w := start(t, 4, 2)
	nonces := map[inter.ValidatorID]uint64{}
	sent := 0
	for range 40 {
		for id := inter.ValidatorID(1); id <= 4; id++ {
			if w.random.IntN(2) == 0 {
				w.pay(id, nonces[id])
				nonces[id]++
				sent++
			}
		}
		for _, err := range w.run(300 * time.Millisecond) {
			t.Fatal(err)
		}
	}
	w.run(20 * time.Second)
	left, _ := (pool{w.nodes[0], false}).Stats()
	originated := 0
	for _, raw := range w.sent {
		p, err := inter.DecodePayload(raw)
		if err != nil {
			t.Fatal(err)
		}
		originated += len(p.Txs)
	}
	if left != 0 || originated < sent || originated > sent+sent/10 {
		t.Errorf("%d transactions were sent, %d originated, %d are left", sent, originated, left)
	}
	w.agree(t)
	t.Logf("%d events, %d transactions, block %d", len(w.sent), sent, w.nodes[0].Head().Number)
}

// agree compares the blocks and roots that all nodes have.
func (w *world) agree(t *testing.T) {
	t.Helper()
	last := w.nodes[0].Head().Number
	for _, n := range w.nodes {
		last = min(last, n.Head().Number)
	}
	if last < 3 {
		t.Errorf("there are %d blocks", last)
	}
	for _, n := range w.nodes[1:] {
		for b := inter.BlockNumber(1); b <= last; b++ {
			got, err := n.BlockRecord(b)
			if err != nil {
				t.Fatal(err)
			}
			want, err := w.nodes[0].BlockRecord(b)
			if err != nil {
				t.Fatal(err)
			}
			if got.Block.Hash() != want.Block.Hash() {
				t.Fatalf("block %d is different", b)
			}
		}
	}
}
