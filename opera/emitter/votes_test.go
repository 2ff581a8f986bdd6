package emitter

import (
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/crypto"

	"tarn/opera/inter"
	"tarn/store/vfs/memfs"
)

// Validators vote for what they have made, once each, and what they vote for is decided.
func TestVotesDecideRecords(t *testing.T) {
	w := start(t, 4, 11)
	nonces := map[inter.ValidatorID]uint64{}
	for range 160 { // blocks for more than a batch of votes
		id := inter.ValidatorID(1 + w.random.IntN(4))
		w.pay(id, nonces[id])
		nonces[id]++
		for _, err := range w.run(600 * time.Millisecond) {
			t.Fatal(err)
		}
	}
	w.run(20 * time.Second)
	w.agree(t)
	voted := map[inter.ValidatorID]map[inter.BlockNumber]bool{}
	for _, raw := range w.sent {
		p, err := inter.DecodePayload(raw)
		if err != nil {
			t.Fatal(err)
		}
		if voted[p.Creator] == nil {
			voted[p.Creator] = map[inter.BlockNumber]bool{}
		}
		for i := range p.BlockVotes.Votes {
			n := p.BlockVotes.Start + inter.BlockNumber(i)
			if voted[p.Creator][n] {
				t.Errorf("validator %d votes twice for block %d", p.Creator, n)
			}
			voted[p.Creator][n] = true
			record, err := w.nodes[0].BlockRecord(n)
			if err != nil || record == nil || record.Block.Hash() != p.BlockVotes.Votes[i] {
				t.Errorf("validator %d votes for block %d as nobody has it: %v", p.Creator, n, err)
			}
		}
	}
	for i, n := range w.nodes {
		block, _ := n.Votes().Undecided()
		if block < 65 {
			t.Errorf("node %d: block %d is undecided, at block %d", i+1, block, n.Head().Number)
		}
	}
}

// A start knows what was decided and voted for before it.
func TestVotesSurviveAStart(t *testing.T) {
	disk := memfs.New()
	p, err := open(disk, 1, true)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, 12)
	w.join(p, 1, nil)
	for i := range uint64(80) {
		w.pay(1, i)
		w.run(600 * time.Millisecond)
		if i == 40 { // a start counts the votes again that came after
			done, err := p.Checkpoint()
			if err == nil {
				err = done.Wait()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	// An epoch ends, and has its vote.
	for range 2 {
		w.run(11 * time.Minute)
		w.pay(1, w.nodes[0].next(crypto.PubkeyToAddress(keyOf(t, 1).PublicKey)))
		w.run(3 * time.Second)
	}
	block, epoch := p.Votes().Undecided()
	last, lastEpoch := p.Votes().LastVotes(1)
	if now := p.Epoch().Epoch; block < 65 || last+1 != block || now < 3 || epoch != lastEpoch+1 || epoch+1 < now {
		t.Errorf("block %d and epoch %d are undecided in epoch %d, the last votes are for %d and %d",
			block, epoch, now, last, lastEpoch)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if p, err = open(disk, 1, false); err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if b, e := p.Votes().Undecided(); b != block || e != epoch {
		t.Errorf("after a start block %d of epoch %d is undecided, not %d of %d", b, e, block, epoch)
	}
	if b, e := p.Votes().LastVotes(1); b != last || e != lastEpoch {
		t.Errorf("after a start the last votes are for %d, %d, not %d, %d", b, e, last, lastEpoch)
	}
}
