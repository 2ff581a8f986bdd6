package p2p

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tarn/antelope/types"
)

func TestAPeerHasTheTimeThatItsBlocksAreWorth(t *testing.T) {
	l := DefaultLimits()
	for _, c := range []struct {
		name   string
		known  bool
		size   int
		every  time.Duration
		inTime bool
	}{
		{"small blocks of a slow peer", false, 200, 1900 * time.Millisecond, true},
		{"large ones of a slow line", false, 40 << 10, 4900 * time.Millisecond, true},
		{"drops", false, 200, 4900 * time.Millisecond, false},
		{"known ones in small drops", true, 200, 400 * time.Millisecond, false},
		{"known ones at a slow line's rate", true, 20 << 10, 300 * time.Millisecond, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				chain := newFakeChain(1)
				b := NewBlock(chain.makeLocked(types.N("prod"), 0))
				b.size = c.size
				if c.known {
					chain.addLocked(b.Signed)
				}
				peer := &conn{net: &Network{chain: chain}, link: link{limits: &l}, due: time.Now().Add(l.Response)}
				late := false
				for range 400 {
					time.Sleep(c.every)
					late = late || time.Now().After(peer.due)
					peer.extend(b)
				}
				if late == c.inTime {
					t.Errorf("late %t", late)
				}
			})
		})
	}
}

func TestKeysAreFoundForNoBlockWithABadHeader(t *testing.T) {
	bad := startNode(t, evilFrom(500, 1000), nil)
	client := newFakeChain(1)
	var found atomic.Bool
	client.prepare = func(b *Block) {
		if b.Signed.Producer == evil {
			found.Store(true)
		}
	}
	n := startNode(t, client, func(o *Options) { o.Peers = []string{bad.address} })
	eventually(t, "the bad block is refused", func() bool { return n.Metrics().BadBlocks > 0 })
	if found.Load() {
		t.Error("it was prepared")
	}
}

// The last blocks may come on another way while ranges are fetched. What is held of those
// is let go, and who waits to hand on more of it does not wait for ever.
func TestASyncThatEndsEarlyHoldsNothing(t *testing.T) {
	n := startNode(t, newFakeChain(100), nil)
	other := startNode(t, newFakeChain(100), func(o *Options) { o.Peers = []string{n.address} })
	awaitSettled(t, n, other)
	c := (*n.conns.Load())[0]
	b := NewBlock(newFakeChain(111).makeLocked(types.N("prod"), 0))
	s := n.sync
	s.mu.Lock()
	defer s.mu.Unlock()
	info := n.Network.chain.Info()
	s.setState(libCatchUp)
	s.known, s.next, s.asked = info.HeadNum, 101, 120
	s.spans = []*span{{c: c, next: 101, end: 110}, {c: c, next: 112, end: 120, blocks: []*Block{b}}}
	s.held = s.net.config.Limits.HeldBytes + 1
	waits := s.released
	s.finish(info)
	if s.stage() != inSync || len(s.spans) > 0 || s.held > 0 {
		t.Errorf("in %v there are %d ranges and %d bytes of blocks", s.stage(), len(s.spans), s.held)
	}
	select {
	case <-waits:
	default:
		t.Error("who waits for room is not told")
	}
}
