package p2p

import (
	"testing"
	"time"

	"tarn/antelope/types"
)

// Blocks of a range are known to be there, and to be with who sent them, as long as they may be taken back: else they
// would be news once the range is over, and go to everybody.
func TestBlocksOfARangeAreNoNews(t *testing.T) {
	from := newFakeChain(1)
	from.finality = 5 // so that a range has what is not irreversible where it comes to
	from.produce(299, 0)
	a := startNode(t, from, nil)
	to := newFakeChain(1)
	to.prepare = func(*Block) { time.Sleep(time.Millisecond) } // so that the range is not over when blocks are passed on
	b := startNode(t, to, func(o *Options) { o.Peers = []string{a.address} })
	eventually(t, "the head", func() bool { return b.chain.head() == 300 && b.sync.stage() == inSync })
	c := b.peer()
	if c.syncIn.Load() == 0 {
		t.Fatal("there was no range")
	}
	lib := b.chain.Info().LIBNum
	for num := lib + 1; num <= 300; num++ {
		id, err := b.chain.BlockID(num)
		if err != nil {
			t.Fatal(err)
		}
		if known, first := b.blocks.noteSeen(id, c.slot); !known || first {
			t.Fatalf("block %d, LIB %d: known %v, that its sender has it is news: %v", num, lib, known, first)
		}
	}
}

// Two nodes that have overtaken each other tell each other, though each believes that the other is behind; and who sends
// a block of now is not behind.
func TestNodesThatOvertookEachOtherHearOfEachOther(t *testing.T) {
	a, b := pair(t)
	a.peer().syncing.Store(true)
	b.peer().syncing.Store(true)
	a.sendHandshakes()
	eventually(t, "that the other is not behind", func() bool { return !b.peer().syncing.Load() })
	a.peer().syncing.Store(true)
	now := types.NewBlockTimestamp(types.TimePoint(time.Now().UnixMicro()))
	b.chain.produce(1, uint32(now-b.chain.Info().Time)-1)
	eventually(t, "the block", func() bool { return a.chain.head() == b.chain.head() })
	if a.peer().syncing.Load() {
		t.Error("who sends a block of now is believed to be behind")
	}
}

// What came whole of a peer that leaves is kept, and nobody else is told to stop.
func TestWhatCameWholeStaysWhenItsPeerLeaves(t *testing.T) {
	a, _ := pair(t)
	s, c, gone := a.sync, a.peer(), new(conn)
	s.mu.Lock()
	s.state.Store(uint32(libCatchUp))
	c.peerLIB.Store(200)
	s.known, s.next, s.asked = 200, 105, 120
	s.spans = []*span{{c: c, next: 105, end: 110}, {c: gone, next: 121, end: 120, blocks: make([]*Block, 10)}}
	s.held = 10
	c.due = time.Now().Add(time.Hour)
	s.mu.Unlock()
	s.handleClosed(gone)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.spans) < 2 || s.held != 10 || s.spans[0].c != c {
		t.Errorf("%d spans, %d bytes are held", len(s.spans), s.held)
	}
	s.spans, s.held = nil, 0
	s.state.Store(uint32(inSync))
}

// Blocks and votes pass transactions, and messages pass both.
func TestTransactionsWaitForBlocks(t *testing.T) {
	l := DefaultLimits()
	for _, direct := range []bool{false, true} {
		o := outbox{limits: &l, wake: make(chan struct{}, 1)}
		for i, to := range []lane{trxLane, trxLane, relayedLane, trxLane, controlLane, relayedLane} {
			o.add([]byte{byte('0' + i)}, to)
		}
		var got []byte
		if direct {
			got = o.takeFew()
		} else {
			for _, f := range o.take().frames {
				got = append(got, f...)
			}
		}
		if string(got) != "425013" || o.size() != 0 {
			t.Errorf("%s, %d bytes are left", got, o.size())
		}
	}
}

// Blocks that wait to be applied need not be asked for: who is asked for more is told of the highest.
func TestTheHighestBlockThatWaitsIsKnown(t *testing.T) {
	l := DefaultLimits()
	q := newApplyQueue(&l)
	f := newFakeChain(10)
	for num := uint32(4); num <= 10; num++ {
		id, err := f.BlockID(num)
		if err != nil {
			t.Fatal(err)
		}
		q.push(queued{block: NewBlock(f.blocks[id]), checked: num < 9})
	}
	want, err := f.BlockID(8)
	if err != nil {
		t.Fatal(err)
	}
	if id, num := q.highest(); id != want || num != 8 {
		t.Errorf("block %d", num)
	}
}
