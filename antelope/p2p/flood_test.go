package p2p_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"tarn/antelope/finality"
	"tarn/antelope/p2p"
	"tarn/antelope/p2p/lightpeer"
	"tarn/antelope/types"
)

// siblings are blocks of one producer and time after the head, all good.
func siblings(chain *p2p.FakeChain, count int) (list []*types.SignedBlock) {
	for i := range count {
		b := chain.Signed("prod")
		b.Confirmed, b.ScheduleVersion = uint16(i), uint32(i>>16)
		list = append(list, b)
	}
	return list
}

// listen reads all that a peer is sent, so that it can be sent more.
func listen(t *testing.T, p *lightpeer.Peer) {
	_ = p.SetDeadline(time.Now().Add(5 * time.Minute))
	var reading sync.WaitGroup
	reading.Go(func() {
		for {
			if _, err := p.Receive(); err != nil {
				return
			}
		}
	})
	t.Cleanup(func() { p.Close(); reading.Wait() })
}

// knowsAll tells whether a node's chain has all blocks.
func knowsAll(chain *p2p.FakeChain, list []*types.SignedBlock) bool {
	for _, b := range list {
		if !chain.Knows(b.BlockHeader.ID()) {
			return false
		}
	}
	return true
}

// A producer signs very many blocks of one time, which are good, and sends them to everybody. Honest nodes pass on a
// few of them, and leave neither each other nor who passes on all, as nodeos does.
func TestManyBlocksOfOneTimePartNoHonestNodes(t *testing.T) {
	const count = 10_000
	var chains []*p2p.FakeChain
	var nodes []*p2p.TestNode
	for i := range 3 {
		chains = append(chains, p2p.NewTestChain(100))
		nodes = append(nodes, p2p.StartNode(t, chains[i], func(o *p2p.Options) {
			o.Limits.Useless, o.Limits.Control = p2p.Budget{Rate: 1, Burst: 200}, p2p.Budget{Rate: 10, Burst: 200}
		}))
		for _, o := range nodes[:i] {
			nodes[i].Connect(o.Address())
		}
	}
	for _, n := range nodes {
		n.Eventually(t, "all are connected", func() bool { return n.AllCurrent(len(nodes) - 1) })
	}
	list := siblings(chains[0], count)
	var sending sync.WaitGroup
	for _, n := range nodes {
		for range 2 {
			p := greetedPeer(t, n)
			listen(t, p)
			sending.Go(func() {
				for _, b := range list {
					if err := p.Send(b); err != nil {
						t.Errorf("who passes on all is left: %v", err)
						return
					}
				}
			})
		}
	}
	sending.Wait()
	for i, n := range nodes {
		n.Eventually(t, "all blocks are here", func() bool { return knowsAll(chains[i], list) })
		if n.Logged("the peer sent too many") {
			t.Errorf("node %d has left another", i)
		}
		if !n.AllCurrent(len(nodes) - 1 + 2) {
			t.Errorf("node %d has not kept all its peers", i)
		}
	}
}

// Of the blocks of one producer and time a few are passed on, and of the votes only those for these.
func TestFewBlocksOfOneTimeArePassedOn(t *testing.T) {
	chain := p2p.NewRecentChain(100)
	most := p2p.DefaultLimits().Siblings
	n := p2p.StartNode(t, chain, func(o *p2p.Options) { o.VoteThreads = 1 })
	producer, follower := greetedPeer(t, n), greetedPeer(t, n)
	list := append(siblings(chain, 5*most), chain.Signed("other")) // the last one is another's
	for _, b := range list {
		must(t, producer.Send(b))
	}
	heard := map[types.Checksum256]bool{}
	last := list[len(list)-1].BlockHeader.ID()
	for !heard[last] {
		b, err := lightpeer.Until[*types.SignedBlock](follower)
		must(t, err)
		heard[b.BlockHeader.ID()] = true
	}
	if len(heard) != most+1 {
		t.Errorf("%d blocks were passed on", len(heard))
	}
	n.Eventually(t, "all blocks are here", func() bool { return knowsAll(chain, list) })
	for _, b := range list {
		must(t, producer.Send(&finality.Vote{Block: b.BlockHeader.ID(), Strong: true}))
	}
	for votes := 0; ; votes++ {
		v, err := lightpeer.Until[finality.Vote](follower)
		must(t, err)
		if !heard[v.Block] {
			t.Error("a vote for a block was passed on that was not")
		}
		if v.Block == last {
			if votes != most {
				t.Errorf("%d votes of %d were passed on", votes, most)
			}
			return
		}
	}
}

// A block that was not passed on, since there were many beside it, is given to who asks because another follows it.
func TestABlockThatWasKeptBackIsThereForWhoNeedsIt(t *testing.T) {
	chains := []*p2p.FakeChain{p2p.NewTestChain(100), p2p.NewTestChain(100)}
	a := p2p.StartNode(t, chains[0], nil)
	b := p2p.StartNode(t, chains[1], func(o *p2p.Options) { o.Peers = []string{a.Address()} })
	b.Eventually(t, "they are connected", func() bool { return a.AllCurrent(1) && b.AllCurrent(1) })
	p := greetedPeer(t, a)
	list := siblings(chains[0], 3*p2p.DefaultLimits().Siblings)
	for _, s := range list {
		must(t, p.Send(s))
	}
	parent := list[len(list)-1]
	a.Eventually(t, "all blocks are here", func() bool { return knowsAll(chains[0], list) })
	if chains[1].Knows(parent.BlockHeader.ID()) {
		t.Error("the last of many blocks was passed on")
	}
	next := *parent
	next.Previous, next.Timestamp = parent.BlockHeader.ID(), parent.Timestamp+1
	must(t, p.Send(&next))
	b.Eventually(t, "the block that follows it is the head",
		func() bool { return b.ChainInfo().HeadID == next.BlockHeader.ID() })
}

// Whoever sends a block first, others may send it too, once each: they could not know that it is here.
func TestWhoSendsABlockAgainAndAgainIsLeft(t *testing.T) {
	const burst = 50
	chain := p2p.NewTestChain(100)
	n := p2p.StartNode(t, chain, func(o *p2p.Options) { o.Limits.Useless = p2p.Budget{Rate: 1, Burst: burst} })
	list := siblings(chain, 4*burst)
	for i := range 3 {
		p := greetedPeer(t, n)
		for _, b := range list {
			must(t, p.Send(b))
		}
		awaitAnswer(t, p)
		if i < 2 {
			continue
		}
		for _, b := range list {
			if p.Send(b) != nil {
				break
			}
		}
		n.Eventually(t, "it is left", func() bool { return n.Metrics().Clients == 2 })
	}
	if !n.Logged(fmt.Sprintf("message of type %d: the peer sent too many blocks that this node had already",
		p2p.TypeBlock)) {
		t.Error("nothing tells why")
	}
}
