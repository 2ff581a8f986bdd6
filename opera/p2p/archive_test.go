package p2p

import (
	"bytes"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/rlp"

	"tarn/opera/chain/chaintest"
	"tarn/opera/eventfile"
	"tarn/opera/inter"
)

// Records of a chain come in the order of their keys, from any key on, and are go-opera's.
func TestRecordsOfAChainAreStreamed(t *testing.T) {
	c, err := chaintest.New(t.TempDir(), 1, chaintest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	in, err := eventfile.Open("../chain/testdata/fakenet1.events.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if _, err := c.Feed(t.Context(), in.Next, nil); err != nil {
		t.Fatal(err)
	}
	r := NewRecords(c.Chain)
	blocks := items(t, r.BlockRecords, make([]byte, 8))
	if head := int(c.Head().Number); len(blocks) != head {
		t.Errorf("%d blocks are streamed, there are %d", len(blocks), head)
	}
	var block inter.BlockRecord
	if err := rlp.DecodeBytes(blocks[len(blocks)-1].item, &block); err != nil ||
		block.Block.Atropos != c.Head().Atropos {
		t.Errorf("the last one is %+v: %v", block, err)
	}
	votes := items(t, r.BlockVotes, nil)
	var of inter.SignedBlockVotes
	if len(votes) == 0 {
		t.Fatal("no votes for blocks are streamed")
	}
	if err := rlp.DecodeBytes(votes[0].item, &of); err != nil || of.HashPayload() != of.Signed.Locator.PayloadHash {
		t.Errorf("votes %+v: %v", of, err)
	}
	packs := items(t, r.EpochPacks, make([]byte, 4))
	var pack inter.EpochPack
	if len(packs) == 0 {
		t.Fatal("no epochs are streamed")
	}
	if err := rlp.DecodeBytes(packs[0].item, &pack); err != nil || len(pack.Votes) == 0 ||
		pack.Votes[0].Val.Vote != pack.Record.State.Hash() {
		t.Errorf("epoch %+v: %v", pack, err)
	}
	for _, s := range []struct {
		of   source
		list []streamed
	}{{r.BlockRecords, blocks}, {r.BlockVotes, votes}, {r.EpochPacks, packs}} {
		for i := range s.list {
			if rest := items(t, s.of, s.list[i].key); len(rest) != len(s.list)-i ||
				!bytes.Equal(rest[0].item, s.list[i].item) {
				t.Errorf("from key %x on there are %d items, not %d", s.list[i].key, len(rest), len(s.list)-i)
			}
		}
	}
}

type streamed struct{ key, item []byte }

// items walks a source, whose keys must ascend.
func items(t *testing.T, s source, from []byte) (list []streamed) {
	t.Helper()
	err := s(from, func(key, item []byte) bool {
		if len(list) > 0 && bytes.Compare(key, list[len(list)-1].key) <= 0 {
			t.Errorf("key %x comes after %x", key, list[len(list)-1].key)
		}
		list = append(list, streamed{bytes.Clone(key), item})
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// A ledger that goes to another epoch by an event of its own node takes the peers' events of
// that epoch.
func TestAnOwnEventThatEndsAnEpochMovesTheIntake(t *testing.T) {
	in := newIntake(&elsewhere{}, defaults())
	entered := make(chan inter.Epoch, 2)
	in.entered = func(e inter.Epoch) { entered <- e }
	in.enter(7, 0)
	<-entered
	in.own(inter.NewEventID(7, 12, [32]byte{}))
	if got := in.highest.Load(); got != 12 {
		t.Errorf("the highest lamport time is %d", got)
	}
	go in.serve(t.Context())
	if e := <-entered; e != 8 {
		t.Errorf("the intake is in epoch %d", e)
	}
}

// The same if nobody says so: a start connects events that its journal has.
func TestALedgerThatGoesOnByItselfMovesTheIntake(t *testing.T) {
	o := Options{Ledger: &elsewhere{}, Now: time.Now}
	limits := defaults()
	in := newIntake(o.Ledger, limits)
	n := &Node{o: o, intake: in, recordSync: &recordSync{o: &o, limits: limits}}
	entered := make(chan inter.Epoch, 2)
	in.entered = func(e inter.Epoch) { entered <- e }
	in.enter(7, 0)
	<-entered
	go in.serve(t.Context())
	n.look()
	if e := <-entered; e != 8 {
		t.Errorf("the intake is in epoch %d", e)
	}
	for range 3 {
		n.look()
	}
	select {
	case e := <-entered:
		t.Errorf("the intake enters epoch %d again", e)
	case <-time.After(10 * time.Millisecond):
	}
}

// elsewhere is a ledger in epoch 8.
type elsewhere struct{ Ledger }

func (elsewhere) Present() (Present, error) { return Present{Epoch: 8}, nil }
