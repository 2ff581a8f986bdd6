package p2p

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"tarn/opera/eventcheck"
	"tarn/opera/inter"
)

// deaf is a ledger that no event gets into.
type deaf struct{ Ledger }

func (deaf) Verify(*inter.Payload) error { return eventcheck.ErrNotRelevant }

// soon has a node ask as often as a test wants it.
func soon(o *Options) {
	l := &o.Limits
	l.ChunkWait, l.Restart, l.IdleFill, l.Progress, l.Handshake = 500*time.Millisecond, 50*time.Millisecond,
		300*time.Millisecond, 50*time.Millisecond, unhurried
}

// filledNode is a node that gets votes and records of others, and no events.
func filledNode(t testing.TB, l *ledger, change func(*Options)) *Node {
	t.Helper()
	return startNode(t, deaf{NewLedger(l.Chain.Chain, l)}, func(o *Options) {
		soon(o)
		o.Records, o.RecordLedger, o.Snap = NewRecords(l.Chain.Chain), NewRecordLedger(l.Chain.Chain, l), true
		if change != nil {
			change(o)
		}
	})
}

// ballot is a signed event of the fakenet's validator with votes, which nobody connects.
func ballot(t testing.TB, of inter.Epoch, seq int, blocks inter.BlockVotes, epoch inter.EpochVote) *inter.Payload {
	t.Helper()
	p := &inter.Payload{Event: inter.Event{Version: 1, Epoch: of, Seq: inter.Seq(seq), Frame: 1,
		Lamport: inter.Lamport(seq), Creator: 1}, BlockVotes: blocks, EpochVote: epoch}
	signAs(t, p, 1)
	return p
}

// Nodes that connect no event get blocks and epochs by votes and records, from one that has nothing
// else either, and a third one from the second.
func TestHistoryIsFilledInByRecords(t *testing.T) {
	source := newReceiver(t)
	s := inventRecords(t, source.l, 40, 20)
	source.packs(s.packs...)
	source.give(codeBlockVotesChunk, s.votes...)
	source.give(codeBlockRecordsChunk, s.blocks...)
	s.same(t, source.l)
	want := source.l.Frontier()
	second, third := openLedger(t, t.TempDir(), 1), openLedger(t, t.TempDir(), 1)
	told := make(chan Taken, 100)
	small := func(o *Options) { o.Limits.StreamItems = 30 } // many chunks, and streams
	teller := func(o *Options) { small(o); o.Taken = func(t Taken) { told <- t } }
	a, b, c := filledNode(t, source.l, nil), filledNode(t, second, teller), filledNode(t, third, small)
	if err := errors.Join(b.AddPeer(a.Self().URLv4()), c.AddPeer(b.Self().URLv4())); err != nil {
		t.Fatal(err)
	}
	for _, l := range []*ledger{second, third} {
		await(t, "a node has the records", func() bool { return l.Frontier().Unfilled == want.Unfilled })
		s.same(t, l)
	}
	// They are counted a moment after the ledger has them, and may be with a third node.
	all := Taken{40, 40, 800, 800}
	await(t, "all are counted", func() bool { return b.Taken() == all })
	if first := <-told; first == (Taken{}) {
		t.Error("it is told that nothing was taken")
	}
	if n := headOf(t, third).Number; n >= third.First() {
		t.Errorf("a node without events made block %d", n)
	}
	for _, n := range []*Node{a, b, c} {
		closeNode(t, n)
	}
	second.close(t, true)
	third.close(t, true)
}

// A node that is to execute all blocks, or whose epoch is young, asks for no blocks and takes none.
func TestBlockRecordsAreForThoseWhoAreFarBehind(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"without --syncmode snap": func(o *Options) { o.Snap = false },
		"in a young epoch":        func(o *Options) { o.Limits.Behind = 1 << 62 },
	} {
		r := newReceiver(t)
		s := inventRecords(t, r.l, 2, 3)
		r.packs(s.packs...)
		r.give(codeBlockVotesChunk, s.votes...)
		n := filledNode(t, r.l, change)
		for code, l := range n.recordSync.of {
			if l.wanted() {
				t.Errorf("%s: chunks of code %d are wanted", name, code)
			}
		}
		n.fresh.Store(true)
		for code, l := range n.recordSync.of {
			if l.wanted() != (code != codeBlockRecordsChunk) {
				t.Errorf("%s, at the head: code %d is wanted: %v", name, code, l.wanted())
			}
		}
		c := &chunk{keys: [][]byte{{1}}, items: s.blocks[:1]}
		if err := n.recordSync.take(strangerPeer(&n.limits),
			message{codeBlockRecordsChunk, c.encodeRecords()}); err != nil {
			t.Error(err)
		}
		if used := n.recordSync.repeater.budget.usedPercent(); used != 0 {
			t.Errorf("%s: a block is taken", name)
		}
		closeNode(t, n)
	}
}

// vouch has the fakenet's validator vote for all blocks and epochs that a chain has made.
func vouch(t *testing.T, l *ledger) {
	t.Helper()
	v, err := l.View()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	var blocks []*inter.SignedBlockVotes
	var epochs []*inter.SignedEpochVote
	for n := l.First(); n <= v.Head().Number; n++ {
		r, err := v.BlockRecord(n)
		if err != nil {
			t.Fatal(err)
		}
		e, err := v.EpochOf(n)
		if err != nil {
			t.Fatal(err)
		}
		s := ballot(t, e, 1000+int(n), inter.BlockVotes{Start: n, Epoch: e, Votes: [][32]byte{r.Block.Hash()}},
			inter.EpochVote{}).SignedBlockVotes()
		blocks = append(blocks, &s)
	}
	for e := inter.Epoch(3); e <= v.Epoch().Epoch; e++ {
		r, err := v.EpochRecord(e)
		if err != nil {
			t.Fatal(err)
		}
		s := ballot(t, e, 2000, inter.BlockVotes{}, inter.EpochVote{Epoch: e, Vote: r.State.Hash()}).SignedEpochVote()
		epochs = append(epochs, &s)
	}
	f := NewRecordLedger(l.Chain.Chain, l)
	none := func(i int, err error) {
		if eventcheck.Bans(err) { // some of it stands in its events already
			t.Errorf("vote %d: %v", i, err)
		}
	}
	if err := errors.Join(f.AddEpochVotes(t.Context(), epochs, none),
		f.AddBlockVotes(t.Context(), blocks, none)); err != nil {
		t.Fatal(err)
	}
}

// A node whose history is filled in by records up to the head comes there by events after a crash,
// with the same blocks, and makes all of them itself.
func TestAFilledNodeComesToTheHeadByEvents(t *testing.T) {
	dir := t.TempDir()
	first, second := openLedger(t, t.TempDir(), 1), openLedger(t, dir, 1)
	fill(t, first)
	vouch(t, first)
	head := headOf(t, first)
	a, b := filledNode(t, first, nil), filledNode(t, second, nil)
	if err := b.AddPeer(a.Self().URLv4()); err != nil {
		t.Fatal(err)
	}
	await(t, "records up to the head", func() bool {
		return second.Frontier().Unfilled.Block > head.Number
	})
	closeNode(t, b)
	second.close(t, false)

	second = openLedger(t, dir, 1)
	if at := second.Frontier(); at.Unfilled.Block <= head.Number || headOf(t, second).Number >= second.First() {
		t.Errorf("after a crash records end at %+v, the head is %d", at, headOf(t, second).Number)
	}
	b = startNode(t, NewLedger(second.Chain.Chain, second), func(o *Options) {
		soon(o)
		o.Records, o.RecordLedger, o.Snap = NewRecords(second.Chain.Chain),
			NewRecordLedger(second.Chain.Chain, second), true
	})
	if err := b.AddPeer(a.Self().URLv4()); err != nil {
		t.Fatal(err)
	}
	await(t, "the head by events", func() bool { return headOf(t, second) == head })
	v, err := second.View()
	if err != nil {
		t.Fatal(err)
	}
	w, err := first.View()
	if err != nil {
		t.Fatal(err)
	}
	for n := first.First(); n <= head.Number; n++ {
		got, err := v.BlockRecord(n)
		if err != nil || !v.Made(n) {
			t.Fatalf("block %d: %v, made: %v", n, err, v.Made(n))
		}
		want, err := w.BlockRecord(n)
		if err != nil || !bytes.Equal(encode(t, got), encode(t, want)) {
			t.Errorf("block %d is another one: %v", n, err)
		}
	}
	if err := errors.Join(v.Close(), w.Close()); err != nil {
		t.Error(err)
	}
	if at := second.Frontier(); at.Unfilled.Block != head.Number+1 {
		t.Errorf("records end at %+v, the head is %d", at, head.Number)
	}
	closeNode(t, b)
	closeNode(t, a)
	second.close(t, true)
	first.close(t, true)
}
