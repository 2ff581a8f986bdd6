package p2p

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"tarn/antelope/types"
)

func TestSlotSetsAreSets(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Log("seed", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	var s slotSet
	model := map[int]bool{}
	for range 10_000 {
		slot := r.IntN(300)
		switch r.IntN(3) {
		case 0:
			if got := s.add(slot); got == model[slot] {
				t.Fatalf("adding %d: missing is %v", slot, got)
			}
			model[slot] = true
		case 1:
			s.remove(slot)
			delete(model, slot)
		default:
			if got := s.has(slot); got != model[slot] {
				t.Fatalf("%d: %v", slot, got)
			}
		}
	}
}

func TestSlotsRestBeforeTheyAreUsedAgain(t *testing.T) {
	l := DefaultLimits()
	s := slotList{limits: &l}
	now := time.Now()
	a, b := s.take(now), s.take(now)
	s.free(a, now)
	if c := s.take(now.Add(l.SlotRest / 2)); c == a || c == b {
		t.Errorf("%d again", c)
	}
	if c := s.take(now.Add(l.SlotRest + 1)); c != a {
		t.Errorf("%d, not %d", c, a)
	}
	for range 3 * l.Slots { // a flood of connections
		s.free(s.take(now), now)
	}
	if s.count > l.Slots {
		t.Errorf("%d slots", s.count)
	}
}

func TestTransactionsAreRememberedForAWhile(t *testing.T) {
	x := newTrxIndex(10 * time.Second)
	now := time.Now()
	late, soon := types.Hash([]byte("late")), types.Hash([]byte("soon"))
	if !x.add(late, types.TimePointSec(now.Unix()+3600), 1) || !x.add(soon, types.TimePointSec(now.Unix()+2), 1) {
		t.Fatal("not news")
	}
	if x.add(late, 0, 2) || !x.noteKnown(soon, 2) {
		t.Fatal("news twice")
	}
	x.expire(now.Add(3 * time.Second))
	if !x.noteKnown(late, 1) || x.noteKnown(soon, 1) {
		t.Error("what expires soon is forgotten first")
	}
	x.expire(now.Add(11 * time.Second))
	if x.size() != 0 {
		t.Error("remembered for longer than the cache's time")
	}
}

func TestUnlinkableBlocksAreFew(t *testing.T) {
	l := DefaultLimits()
	x := newBlockIndex(&l)
	var list []*Block
	for i := range 40 {
		s := genesisBlock()
		s.Previous = types.Hash([]byte{byte(i)})
		s.Timestamp = types.BlockTimestamp(1000 + i)
		b := NewBlock(s)
		b.size = 100
		list = append(list, b)
		x.hold(queued{block: b})
		x.hold(queued{block: b})
	}
	if len(x.unlinkable) != l.Unlinkable || x.held != 100*l.Unlinkable {
		t.Fatalf("%d blocks, %d bytes", len(x.unlinkable), x.held)
	}
	if got := x.children(list[0].Signed.Previous); len(got) != 0 {
		t.Error("the oldest is still there")
	}
	if got := x.children(list[39].Signed.Previous); len(got) != 1 || got[0].block != list[39] {
		t.Errorf("%v", got)
	}
	big := NewBlock(genesisBlock())
	big.size = l.UnlinkableBytes + 1
	x.hold(queued{block: big})
	if x.held > l.UnlinkableBytes {
		t.Errorf("%d bytes", x.held)
	}
}

// Nothing is remembered of a block that gave way, even if its header is good and its bytes
// were too many: it may come again.
func TestNothingIsRememberedOfABlockThatGaveWay(t *testing.T) {
	l := DefaultLimits()
	x := newBlockIndex(&l)
	from := &conn{link: link{ended: t.Context()}}
	for i := range byte(3) {
		s := genesisBlock()
		s.Previous = types.Hash([]byte{i})
		b := NewBlock(s)
		b.size = l.UnlinkableBytes/2 - 1
		if !x.begin(b.ID, from) {
			t.Fatalf("block %d is on its way", i)
		}
		x.add(b.ID, from)
		x.hold(queued{block: b, from: from, checked: true})
		if seen, _ := x.noteSeen(b.ID, 0); seen != (i < 2) {
			t.Errorf("block %d is known: %v", i, seen)
		}
		if again := x.begin(b.ID, from); again != (i == 2) {
			t.Errorf("block %d may come again: %v", i, again)
		}
	}
}

func TestTheQueueKeepsOrderAndMakesRoom(t *testing.T) {
	l := DefaultLimits()
	q := newApplyQueue(&l)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	count := 3 * l.QueuedBlocks
	go func() {
		for i := range count {
			q.push(queued{block: &Block{Num: uint32(i), size: 10}, synced: i%2 == 0})
			q.room(ctx)
		}
	}()
	for i := range count {
		e, ok := q.pop(ctx)
		if !ok || e.block.Num != uint32(i) {
			t.Fatalf("block %d came as %d, %v", e.block.Num, i, ok)
		}
		q.endApply()
	}
	if !q.empty() || q.bytes != 0 {
		t.Errorf("%d bytes are left", q.bytes)
	}
	for i := range 10 {
		q.push(queued{block: &Block{Num: uint32(i)}, synced: i%2 == 0})
	}
	if n := len(q.dropSynced()); n != 5 {
		t.Errorf("%d dropped", n)
	}
	if e, _ := q.pop(ctx); e.block.Num != 1 {
		t.Errorf("block %d is first", e.block.Num)
	}
}

func TestBucketsAllowTheirRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bucket{rate: 1000, burst: 10}
		for range 10 {
			if !b.take(1) {
				t.Fatal("not even the burst")
			}
		}
		if !b.full() || b.take(5) {
			t.Error("more than the burst")
		}
		if d := b.spend(100); d != 100*time.Millisecond {
			t.Errorf("a debt of 100 at 1000 a second takes %v", d)
		}
		if time.Sleep(105 * time.Millisecond); b.full() || b.take(6) || !b.take(5) {
			t.Error("not what five milliseconds bring")
		}
	})
}

func TestRejectionsAreCountedInWindows(t *testing.T) {
	l := DefaultLimits()
	r := rejections{limits: &l}
	now := time.Now()
	for i := range 1000 {
		if r.countRejection(now.Add(time.Duration(i) * time.Microsecond)) {
			t.Fatal("within one window")
		}
	}
	windows := 0
	for now = now.Add(l.RejectionWindow); !r.countRejection(now); now = now.Add(l.RejectionWindow) {
		windows++
	}
	if windows != l.RejectionWindows-1 {
		t.Errorf("after %d windows", windows+1)
	}
	r.reset()
	if r.countRejection(now) {
		t.Error("a good block does not count")
	}
}
