package p2p

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	"tarn/antelope/types"
)

// Which blocks chains go over to. By Savanna's rules a branch is the better one that claims the newer certificate,
// however long it is; here the field of the header that such blocks have no use for says which. Who makes blocks
// keeps to its own branch meanwhile.
func savanna(b, head *types.SignedBlock) bool {
	return cmp.Or(cmp.Compare(b.Confirmed, head.Confirmed), cmp.Compare(b.BlockNum(), head.BlockNum())) > 0
}

func loyal(b, head *types.SignedBlock) bool { return b.Previous == head.ID() }

// extend adds blocks of a producer with their claims, and says nothing to peers.
func (f *fakeChain) extend(producer string, count int, claim uint16) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for range count {
		b := f.makeLocked(types.N(producer), 0)
		b.Confirmed = claim
		f.addLocked(b)
	}
}

// calm is for nodes that do nothing but by messages, so that no time that goes by helps.
func calm(o *Options) { o.KeepAlive, o.CleanupPeriod, o.Limits.Handshake = time.Hour, time.Hour, 1 }

// forked starts a node with a hundred blocks that all have, and some of its own.
func forked(
	t *testing.T, name string, count int, claim uint16, lib uint32, prefers func(b, head *types.SignedBlock) bool,
) *node {
	f := newFakeChain(100)
	f.finality = 1000
	f.extend(name, count, claim)
	f.prefers, f.lib = prefers, lib
	return startNode(t, f, calm)
}

// Two nodes whose branches differ have each other's soon after they meet, and go over to the better one, whichever
// of them has more blocks and whatever is irreversible. They stay connected.
func TestNodesThatMeetGiveEachOtherTheirBranches(t *testing.T) {
	for _, rule := range []struct {
		name    string
		prefers func(b, head *types.SignedBlock) bool
	}{{"longest", nil}, {"savanna", savanna}, {"loyal", loyal}} {
		for _, lengths := range [][2]int{{5, 5}, {5, 14}, {14, 5}} {
			for _, libs := range [][2]uint32{{95, 95}, {90, 99}, {99, 90}} {
				t.Run(fmt.Sprint(rule.name, lengths, libs), func(t *testing.T) {
					t.Parallel()
					a := forked(t, "a", lengths[0], 1, libs[0], rule.prefers)
					b := forked(t, "b", lengths[1], 0, libs[1], rule.prefers)
					heads := [2]types.Checksum256{a.chain.Info().HeadID, b.chain.Info().HeadID}
					b.Connect(a.address)
					met := func() bool { return a.chain.Knows(heads[1]) && b.chain.Knows(heads[0]) }
					switch {
					case rule.name == "savanna":
						met = func() bool { return b.chain.Info().HeadID == heads[0] }
					case rule.name == "longest" && lengths[0] > lengths[1]:
						met = func() bool { return b.chain.Info().HeadID == heads[0] }
					case rule.name == "longest" && lengths[0] < lengths[1]:
						met = func() bool { return a.chain.Info().HeadID == heads[1] }
					}
					eventually(t, "each other's blocks", met)
					if rule.name == "loyal" {
						return
					}
					// What one makes now the other gets, over the same connection.
					if a.chain.head() < b.chain.head() {
						a, b = b, a
					}
					a.chain.produce(1, 0)
					eventually(t, "the next block", func() bool { return b.chain.Knows(a.chain.Info().HeadID) })
					for _, n := range []*node{a, b} {
						if n.log.contains("go away") || n.log.contains("go_away") {
							t.Error("a node was sent away")
						}
					}
				})
			}
		}
	}
}

// pair are two nodes with a hundred blocks, connected.
func pair(t *testing.T) (a, b *node) {
	a = startNode(t, newFakeChain(100), calm)
	b = startNode(t, newFakeChain(100), func(o *Options) { calm(o); o.Peers = []string{a.address} })
	awaitSettled(t, a, b)
	return a, b
}

// peer is the connection of a node that has one.
func (n *node) peer() *conn { return (*n.conns.Load())[0] }

// A branch that is shorter than it was when it was asked for ends the range and not the connection.
func TestABranchMayBecomeShorterWhileItIsSent(t *testing.T) {
	a, b := pair(t)
	a.peer().out.serveBranch(90, 90, 120)
	eventually(t, "the end of the branch", func() bool {
		return a.log.contains("unable to fetch block 101, resetting")
	})
	a.chain.produce(1, 0)
	eventually(t, "the next block", func() bool { return b.chain.head() == 101 })
}

// A peer whose head is above ours and unknown gets what there is, and is not sent away.
func TestAPeerOfAHigherBranchGetsOurs(t *testing.T) {
	a, b := pair(t)
	a.chain.extend("a", 3, 0)
	b.chain.extend("b", 9, 0)
	b.peer().send(Request{Blocks: IDs{Mode: ModeCatchUp, IDs: []types.Checksum256{b.chain.Info().HeadID}}})
	eventually(t, "the branch", func() bool { return b.chain.Knows(a.chain.Info().HeadID) })
}

// Whoever hears of a block of another branch gets that branch, even if its own is longer.
func TestANoticeOfALowerBranchBringsIt(t *testing.T) {
	a, b := pair(t)
	a.chain.extend("a", 3, 0)
	b.chain.extend("b", 9, 0)
	last := a.chain.At(103)
	a.peer().send(BlockNotice{Previous: last.Previous, ID: last.ID()})
	eventually(t, "the branch", func() bool { return b.chain.Knows(last.ID()) })
	// Another node may ask with its head, as Spring does.
	c, d := pair(t)
	c.chain.extend("a", 3, 0)
	d.chain.extend("b", 9, 0)
	last = c.chain.At(103)
	d.peer().send(
		Request{Blocks: IDs{Mode: ModeNormal, IDs: []types.Checksum256{last.Previous, d.chain.Info().HeadID}}})
	eventually(t, "the branch", func() bool { return d.chain.Knows(last.ID()) })
}

// Two heads of one number are of two branches however long messages take.
func TestBranchesOfOneLengthAreExchangedByDistantPeers(t *testing.T) {
	a, b := pair(t)
	a.chain.extend("a", 1, 0)
	b.chain.extend("b", 1, 0)
	eventually(t, "the other block", func() bool {
		b.peer().ping.Store(int64(time.Second))
		a.peer().sendHandshake()
		time.Sleep(10 * time.Millisecond)
		return b.chain.Knows(a.chain.Info().HeadID)
	})
}

// A peer that offers ranges which nobody needs any more is told so, and passes blocks on.
func TestWhoOffersWhatIsThereHearsOfIt(t *testing.T) {
	a, b := pair(t)
	a.peer().syncing.Store(true) // as when the offer is made
	a.peer().send(Notice{Trx: IDs{Mode: ModeLIBCatchUp, Pending: 50},
		Blocks: IDs{Mode: ModeLIBCatchUp, Pending: 100, IDs: []types.Checksum256{a.chain.Info().HeadID}}})
	eventually(t, "an answer", a.current)
	a.chain.produce(1, 0)
	eventually(t, "the next block", func() bool { return b.chain.head() == 101 })
}

// What is on its way is not sent again because it is asked for again.
func TestABranchThatIsOnItsWayIsSentOnce(t *testing.T) {
	l := DefaultLimits()
	o := outbox{limits: &l, wake: make(chan struct{}, 1)}
	serve := func(last, lib, head, from, to uint32) {
		t.Helper()
		if gotFrom, gotTo := o.serveBranch(last, lib, head); gotFrom != from || gotTo != to {
			t.Errorf("%d to %d are sent, and not %d to %d", gotFrom, gotTo, from, to)
		}
	}
	serve(0, 100, 110, 101, 110)
	serve(105, 100, 110, 1, 0)
	o.sentTo(101, 104)
	serve(0, 100, 110, 1, 0)
	serve(0, 100, 112, 101, 112)
	serve(0, 90, 110, 91, 112)
	o.sentTo(91, 112)
	serve(0, 100, 110, 101, 110)
}
