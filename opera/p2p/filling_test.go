package p2p

import (
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
	o.Limits = Limits{ChunkWait: 500 * time.Millisecond, Restart: 50 * time.Millisecond, IdleFill: 300 * time.Millisecond, Progress: 50 * time.Millisecond, Handshake: 2 * time.Second}
}

// filled is a node that gets votes and records of others, and no events.
func filled(t testing.TB, l *ledger, change func(*Options)) *Node {
	t.Helper()
	return startNode(t, deaf{NewLedger(l.Chain.Chain, l)}, func(o *Options) {
		soon(o)
		o.Records, o.Filler, o.Snap = NewRecords(l.Chain.Chain), NewFiller(l.Chain.Chain, l), true
		if change != nil {
			change(o)
		}
	})
}

// ballot is a signed event of the fakenet's validator with votes, which nobody connects.
func ballot(t testing.TB, of inter.Epoch, seq int, blocks inter.BlockVotes, epoch inter.EpochVote) *inter.Payload {
	t.Helper()
	p := &inter.Payload{Event: inter.Event{Version: 1, Epoch: of, Seq: inter.Seq(seq), Frame: 1, Lamport: inter.Lamport(seq), Creator: 1}, BlockVotes: blocks, EpochVote: epoch}
	signAs(t, p, 1)
	return p
}

// Nodes that connect no event get blocks and epochs by votes and records, from one that has nothing
// else either, and a third one from the second.
func TestHistoryIsFilledInByRecords(t *testing.T) {
	source := newReceiver(t)
	s := invented(t, source.l, 40, 20)
	source.packs(s.packs...)
	source.give(codeBlockVotesChunk, s.votes...)
	source.give(codeBlockRecordsChunk, s.blocks...)
	s.same(t, source.l)
	want := source.l.Frontier()
	second, third := openLedger(t, t.TempDir(), 1), openLedger(t, t.TempDir(), 1)
	told := make(chan Taken, 100)
	small := func(o *Options) { o.Limits.StreamItems = 30 } // many chunks, and streams
	teller := func(o *Options) { small(o); o.Taken = func(t Taken) { told <- t } }
	a, b, c := filled(t, source.l, nil), filled(t, second, teller), filled(t, third, small)
	if err := errors.Join(b.AddPeer(a.Self().URLv4()), c.AddPeer(b.Self().URLv4())); err != nil {
		t.Fatal(err)
	}
	for _, l := range []*ledger{second, third} {
		await(t, "a node has the records", 60*time.Second, func() bool { return l.Frontier().Unfilled == want.Unfilled })
		s.same(t, l)
	}
	if got, all := b.Taken(), (Taken{40, 40, 800, 800}); got != all {
		t.Errorf("%+v are taken, want %+v", got, all)
	}
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
		s := invented(t, r.l, 2, 3)
		r.packs(s.packs...)
		r.give(codeBlockVotesChunk, s.votes...)
		n := filled(t, r.l, change)
		for code, l := range n.filling.of {
			if l.wanted() {
				t.Errorf("%s: chunks of code %d are wanted", name, code)
			}
		}
		n.fresh.Store(true)
		for code, l := range n.filling.of {
			if l.wanted() != (code != codeBlockRecordsChunk) {
				t.Errorf("%s, at the head: code %d is wanted: %v", name, code, l.wanted())
			}
		}
		c := &chunk{keys: [][]byte{{1}}, items: s.blocks[:1]}
		if err := n.takeRecords(strangerPeer(&n.limits), message{codeBlockRecordsChunk, c.encodeRecords()}); err != nil {
			t.Error(err)
		}
		if used := n.filling.repeater.budget.used(); used != 0 {
			t.Errorf("%s: a block is taken", name)
		}
		closeNode(t, n)
	}
}
