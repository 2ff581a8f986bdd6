package p2p

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"tarn/antelope/finality"
	"tarn/antelope/types"
)

// counting has a node count votes.
func counting(o *Options) { o.VoteThreads = 2 }

// to has a node that counts votes connect to others.
func to(addresses ...string) func(*Options) {
	return func(o *Options) {
		counting(o)
		o.Peers = addresses
	}
}

func voteFor(id types.Checksum256, n int) *finality.Vote {
	v := &finality.Vote{Block: id, Strong: true}
	v.Key[1], v.Key[2] = byte(n), byte(n>>8)
	return v
}

func (f *fakeChain) counted(v *finality.Vote) bool {
	hash := types.Hash(v.Append(nil))
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.votes[hash]
}

func (n *node) peersAre(t *testing.T, count int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d peers", count), func() bool {
		on := 0
		for _, c := range *n.conns.Load() {
			if c.current() && c.protocol.Load() > 0 {
				on++
			}
		}
		return on == count
	})
}

// A vote that is cast reaches all nodes, over those that count votes, and each counts it once. A node
// that has no use for votes passes none on.
func TestVotesReachAllWhoCountThem(t *testing.T) {
	chains := []*fakeChain{newFakeChain(100), newFakeChain(100), newFakeChain(100), newFakeChain(100),
		newFakeChain(100)}
	a := startNode(t, chains[0], counting)
	b := startNode(t, chains[1], to(a.address))
	c := startNode(t, chains[2], to(a.address, b.address))
	deaf := startNode(t, chains[3], func(o *Options) { o.Peers = []string{a.address} })
	behind := startNode(t, chains[4], to(deaf.address))
	a.peersAre(t, 3)
	c.peersAre(t, 2)
	behind.peersAre(t, 1)
	head := a.ChainInfo().HeadID
	for i := range 20 {
		a.VoteCast(voteFor(head, i))
	}
	for i := range 20 {
		for _, n := range []*node{b, c} {
			eventually(t, "a vote comes", func() bool { return n.chain.counted(voteFor(head, i)) })
		}
	}
	if is := b.chain.verifies.Load() + c.chain.verifies.Load(); is > 2*20+2 {
		t.Errorf("%d signatures of 20 votes were verified by two nodes", is)
	}
	if n := deaf.chain.verifies.Load() + behind.chain.verifies.Load(); n > 0 {
		t.Errorf("%d votes were counted where nobody asked for them", n)
	}
	for name, x := range map[string]struct {
		at    *node
		votes bool
	}{"b": {b, true}, "deaf": {deaf, false}} {
		var last time.Time
		for _, c := range x.at.Connections() {
			if c.LastVote != 0 && c.LastVote.Time().After(last) {
				last = c.LastVote.Time()
			}
		}
		if ago := time.Since(last); x.votes != (ago > 0 && ago < time.Minute) || !x.votes && !last.IsZero() {
			t.Errorf("the last vote came to %s at %v", name, last)
		}
	}
}

// A vote that is there before its block waits for it, but not for ever, and no longer than its peer is there.
func TestVotesWaitForTheirBlock(t *testing.T) {
	chain := newFakeChain(100)
	n := startNode(t, chain, func(o *Options) {
		counting(o)
		o.Limits.VoteTime = 10 * time.Minute
	})
	hasty := startNode(t, newFakeChain(100), func(o *Options) {
		counting(o)
		o.Limits.VoteTime = time.Second
		o.Limits.Expiry = 100 * time.Millisecond
	})
	p := startNode(t, newFakeChain(100), to(n.address, hasty.address))
	p.peersAre(t, 2)
	n.peersAre(t, 1)
	hasty.peersAre(t, 1)
	next := chain.makeLocked(types.N("prod"), 0)
	other := *next
	other.Confirmed = 7
	v, never := voteFor(next.BlockHeader.ID(), 1), voteFor(other.BlockHeader.ID(), 2)
	p.VoteCast(v)
	p.VoteCast(never)
	eventually(t, "the votes wait", func() bool { return waiting(n) == 2 })
	chain.produce(1, 0)
	eventually(t, "the vote is counted", func() bool { return chain.counted(v) })
	eventually(t, "votes are forgotten", func() bool { return hasty.votesIn.Load() == 2 && waiting(hasty) == 0 })
	eventually(t, "the other vote waits", func() bool { return waiting(n) == 1 })
	p.stop()
	eventually(t, "nothing is left of the peer", func() bool {
		n.votes.mu.Lock()
		defer n.votes.mu.Unlock()
		return n.votes.total == 0 && len(n.votes.turns) == 0 && len(n.votes.early) == 0
	})
}

func waiting(n *node) int {
	n.votes.mu.Lock()
	defer n.votes.mu.Unlock()
	return n.votes.total
}

// The same vote of many peers is verified once at a time, and a peer that sends very many keeps no other
// waiting.
func TestVotersTakeTurns(t *testing.T) {
	chain := newFakeChain(100)
	may := make(chan struct{}) // verify another one
	chain.verify = func() { <-may }
	n := startNode(t, chain, func(o *Options) {
		o.VoteThreads = 1
		o.Limits.VoteTime = 10 * time.Minute
	})
	defer close(may)
	var peers []*node
	for range 4 {
		peers = append(peers, startNode(t, newFakeChain(100), to(n.address)))
	}
	n.peersAre(t, 4)
	for _, p := range peers {
		p.peersAre(t, 1)
	}
	head := n.ChainInfo().HeadID
	for _, p := range peers {
		p.VoteCast(voteFor(head, 1))
	}
	eventually(t, "the votes have come", func() bool { return n.votesIn.Load() == 4 })
	may <- struct{}{}
	eventually(t, "nothing waits", func() bool { return waiting(n) == 0 && chain.counted(voteFor(head, 1)) })
	if is := chain.verifies.Load(); is > 1 {
		t.Errorf("one vote of four peers was verified %d times", is)
	}
	const many = 2000
	for i := range many {
		peers[0].VoteCast(voteFor(head, 100+i))
	}
	eventually(t, "many votes wait for one", func() bool { return waiting(n) == many-1 })
	peers[1].VoteCast(voteFor(head, 2))
	eventually(t, "the vote of another waits", func() bool { return waiting(n) == many })
	for range 3 { // the one that was begun before, and a turn of each
		may <- struct{}{}
	}
	eventually(t, "the vote of another is counted", func() bool { return chain.counted(voteFor(head, 2)) })
}

// Votes for one block that wait of several connections are verified together, up to a bound, and those for another
// block on their own. Those that wait for a block whose votes are just being verified are taken together next.
func TestVotesForABlockAreVerifiedTogether(t *testing.T) {
	chain := newFakeChain(100)
	n := newVoting(startNode(t, chain, func(o *Options) { o.Limits.VoteBatch = 3 }).Network)
	head, other := types.Checksum256{6}, types.Checksum256{7}
	for i, ids := range [][]types.Checksum256{{head, head}, {other, head}, {head}, {head, other}, {head}} {
		c := &conn{}
		for k, id := range ids {
			n.put(&ballot{vote: *voteFor(id, 10*i+k), from: c})
		}
	}
	take := func(want ...int) []*ballot {
		t.Helper()
		var got []int
		batch := n.next()
		for _, b := range batch {
			got = append(got, int(b.vote.Key[1]))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("the votes %v are taken together, not %v", got, want)
		}
		return batch
	}
	first := take(0, 20, 30)
	second := take(10, 31)
	take()
	n.release(second)
	take()
	n.release(first)
	take(40, 1, 11)
	if n.total != 0 || len(n.turns) != 0 || len(n.next()) != 0 {
		t.Errorf("%d votes of %d connections are left", n.total, len(n.turns))
	}
}

// unknownVote is for a block that nobody has.
func unknownVote(r *rand.Rand) *finality.Vote {
	return voteFor(types.Checksum256{3: 101, 9: byte(r.Uint32()), 10: byte(r.Uint32()), 11: byte(r.Uint32())}, r.Int())
}

// What waits of all connections has a bound: beyond it only who has less than a share may have more.
func TestWaitingVotesHaveABound(t *testing.T) {
	n := startNode(t, newFakeChain(100), func(o *Options) {
		counting(o)
		o.Limits.ConnVotes, o.Limits.Votes, o.Limits.VoteTime = 100, 250, 10*time.Minute
	})
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 6 {
		p := startNode(t, newFakeChain(100), to(n.address))
		p.peersAre(t, 1)
		n.peersAre(t, i+1)
		for range 90 {
			p.VoteCast(unknownVote(r))
		}
	}
	eventually(t, "all have come", func() bool { return n.votesIn.Load() == 6*90 })
	eventually(t, "as many as may wait do", func() bool { return waiting(n) >= 250 }) // one may just be looked at
	if is := waiting(n); is > 250+6*250/6 {
		t.Errorf("%d votes wait, where 250 may", is)
	}
}

func TestWhoSendsTooManyVotesIsLeft(t *testing.T) {
	n := startNode(t, newFakeChain(100), func(o *Options) {
		counting(o)
		o.Limits.ConnVotes, o.Limits.VoteTime = 100, 10*time.Minute
	})
	p := startNode(t, newFakeChain(100), to(n.address))
	p.peersAre(t, 1)
	n.peersAre(t, 1)
	r := rand.New(rand.NewPCG(1, 3))
	for range 110 { // one or two are being counted
		p.VoteCast(unknownVote(r))
	}
	eventually(t, "the peer is left", func() bool { return n.log.contains("votes of the peer wait to be counted") })
	eventually(t, "nothing waits", func() bool { return waiting(n) == 0 })
}

// Honest peers all send the same votes: they take the room of one, and wait as long as one of those is there that have
// sent them. So there is room for the votes that others have not sent.
func TestTheSameVotesOfManyTakeTheRoomOfOne(t *testing.T) {
	chain := newFakeChain(100)
	n := startNode(t, chain, func(o *Options) {
		counting(o)
		o.Limits.ConnVotes, o.Limits.Votes, o.Limits.VoteTime = 100, 100, 10*time.Minute
	})
	next := chain.makeLocked(types.N("prod"), 0)
	id := next.BlockHeader.ID()
	var peers []*node
	for i := range 5 {
		p := startNode(t, newFakeChain(100), to(n.address))
		p.peersAre(t, 1)
		n.peersAre(t, i+1)
		peers = append(peers, p)
		for range 3 {
			for j := range 60 {
				p.VoteCast(voteFor(id, j))
			}
		}
		eventually(t, "all have come", func() bool { return n.votesIn.Load() == uint64(i+1)*3*60 })
		eventually(t, fmt.Sprintf("60 votes wait after %d peers have sent them", i+1),
			func() bool { return waiting(n) == 60 }) // one may just be looked at
	}
	for j := range 40 { // more than a share
		peers[4].VoteCast(voteFor(id, 100+j))
	}
	eventually(t, "the others wait too", func() bool { return waiting(n) == 100 })
	for _, p := range peers[:4] {
		p.stop()
	}
	n.peersAre(t, 1)
	chain.produce(1, 0)
	for j := range 60 {
		eventually(t, "the vote is counted", func() bool { return chain.counted(voteFor(id, j)) })
	}
	eventually(t, "nothing waits", func() bool {
		n.votes.mu.Lock()
		defer n.votes.mu.Unlock()
		return n.votes.total == 0 && len(n.votes.way) == 0
	})
}

// Votes that counted take no room when they are sent again, however long others wait to be counted.
func TestVotesThatCountedTakeNoRoom(t *testing.T) {
	chain := newFakeChain(100)
	n := startNode(t, chain, func(o *Options) { o.VoteThreads = 1 })
	release := make(chan struct{})
	var slow atomic.Bool
	chain.verify = func() {
		if slow.Load() {
			<-release
		}
	}
	p := startNode(t, newFakeChain(100), to(n.address))
	p.peersAre(t, 1)
	n.peersAre(t, 1)
	head := n.ChainInfo().HeadID
	for i := range 50 {
		p.VoteCast(voteFor(head, i))
	}
	eventually(t, "they are counted", func() bool { return n.votesGood.Load() == 50 })
	slow.Store(true)
	p.VoteCast(voteFor(head, 1000))
	eventually(t, "another is being counted", func() bool { return chain.verifies.Load() == 51 })
	for range 20 {
		for i := range 50 {
			p.VoteCast(voteFor(head, i))
		}
	}
	eventually(t, "they have come again", func() bool { return n.votesIn.Load() == 50+1+20*50 })
	if is := waiting(n); is != 0 {
		t.Errorf("%d votes wait that have counted", is)
	}
	close(release)
	eventually(t, "the other is counted", func() bool { return n.votesGood.Load() == 51 })
	chain.produce(40, 0)
	n.votes.expire(n.ChainInfo().LIBNum, time.Now())
	n.votes.mu.Lock()
	defer n.votes.mu.Unlock()
	if left := len(n.votes.counted); left > 0 {
		t.Errorf("%d votes for blocks that are final are remembered", left)
	}
}
