package p2p_test

import (
	"slices"
	"testing"
	"time"

	"tarn/antelope/p2p"
	"tarn/antelope/p2p/lightpeer"
	"tarn/antelope/types"
)

// awaitAnswer waits until the node has acted on all that the peer has sent.
func awaitAnswer(t *testing.T, p *lightpeer.Peer) {
	t.Helper()
	now := time.Now().UnixNano()
	must(t, p.Send(p2p.Time{Transmit: now}))
	for {
		m, err := lightpeer.Until[p2p.Time](p)
		if err != nil {
			t.Fatal(err)
		}
		if m.Origin == now {
			return
		}
	}
}

// Peers pass a block on before they look inside: what is wrong there is not their fault,
// and it goes round once.
func TestABlockThatIsBadInsideEndsNoConnection(t *testing.T) {
	for _, producer := range p2p.BadBlocks() {
		t.Run(producer, func(t *testing.T) {
			const count = 4
			chains := []*p2p.FakeChain{p2p.NewRecentChain(100)}
			nodes := []*p2p.TestNode{p2p.StartNode(t, chains[0], nil)}
			for i := 1; i < count; i++ {
				chains = append(chains, chains[0].Twin())
				nodes = append(nodes, p2p.StartNode(t, chains[i], nil))
				for _, o := range nodes[:i] {
					nodes[i].Connect(o.Address())
				}
			}
			connected := func() bool {
				return !slices.ContainsFunc(nodes, func(n *p2p.TestNode) bool { return !n.AllCurrent(count - 1) })
			}
			p2p.Eventually(t, "connected", connected)
			p := greetedPeer(t, nodes[0])
			must(t, p.Send(chains[0].Signed(producer)))
			p2p.Eventually(t, "all have refused it", func() bool {
				return !slices.ContainsFunc(nodes, func(n *p2p.TestNode) bool { return n.Metrics().BadBlocks == 0 })
			})
			must(t, p.Send(chains[0].Signed("prod")))
			p2p.Eventually(t, "the next good block is everywhere", func() bool {
				return !slices.ContainsFunc(chains, func(c *p2p.FakeChain) bool { return c.Head() != 101 })
			})
			for i, n := range nodes {
				if n.Logged("go away") || n.Logged("go_away") || n.Logged("closing connection") {
					t.Errorf("node %d ended a connection", i)
				}
				// A copy may be on its way while the first is looked at.
				if m := n.Metrics(); m.BadBlocks > count {
					t.Errorf("node %d has refused %d copies", i, m.BadBlocks)
				}
			}
		})
	}
}

// A block that came before the one it follows is its sender's, not of who brings that.
func TestWhoSentABlockAnswersForIt(t *testing.T) {
	chain := p2p.NewRecentChain(100)
	n := p2p.StartNode(t, chain, nil)
	liar, honest := greetedPeer(t, n), greetedPeer(t, n)
	good, bad := chain.NextTwo()
	must(t, liar.Send(bad))
	awaitAnswer(t, liar)
	must(t, honest.Send(good))
	p2p.Eventually(t, "the bad one is refused", func() bool { return n.Metrics().BadBlocks > 0 && n.Head() == 101 })
	_ = honest.SetDeadline(time.Now().Add(500 * time.Millisecond))
	if r, err := reasonSent(honest); err == nil {
		t.Errorf("who brought the good block is sent away: %v", r)
	}
}

// A peer sends its spans in their order. The second one first, and more than is held,
// must not keep its reader waiting for what only it could bring.
func TestTheSecondSpanFirstIsNotTaken(t *testing.T) {
	chain := p2p.NewRecentChain(100)
	n := p2p.StartNode(t, chain, func(o *p2p.Options) { o.SyncFetchSpan = 25 })
	liar := greetedPeer(t, n)
	must(t, liar.Send(irreversible(125)))
	var second p2p.SyncRequest
	for second.Start <= 71 {
		r, err := lightpeer.Until[p2p.SyncRequest](liar)
		if err != nil {
			t.Fatal(err)
		}
		second = r
	}
	go func() {
		for {
			if _, err := liar.Receive(); err != nil {
				return
			}
		}
	}()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		previous := numberedID(second.Start - 1)
		for {
			b := &types.SignedBlock{}
			b.Previous, b.Producer, b.Timestamp = previous, types.N("prod"), chain.At(100).Timestamp
			b.ProducerSignature.Compact[0] = 31
			b.BlockHeader.Extensions = types.Extensions{{Type: 7, Data: make([]byte, 7<<20)}}
			if liar.Send(b) != nil {
				return
			}
			previous = b.BlockHeader.ID()
		}
	}()
	select {
	case <-gone:
	case <-time.After(30 * time.Second):
		t.Error("the peer is still there, and the node still waits for it")
	}
	p2p.Eventually(t, "not syncing", func() bool { return !n.Metrics().Syncing })
}

// Nobody gets past allowed-connection with a first handshake that says it is not the
// first, nor without any.
func TestStrangersGetNothing(t *testing.T) {
	chain := p2p.NewRecentChain(100)
	n := p2p.StartNode(t, chain, func(o *p2p.Options) {
		o.Allowed, o.PeerKeys = []string{"specified"}, []string{"EOS6MRyAjQq8ud7hVNYcfnVPJqcVpscN5So8BhtHuGYqET5GDW5CV"}
	})
	p := dial(t, n)
	h := p.Hello
	h.Generation = 2
	must(t, p.Send(h))
	if r, err := reasonSent(p); err != nil || r != p2p.Authentication {
		t.Errorf("with generation 2: %v, %v", r, err)
	}
	q := dial(t, n)
	must(t, q.Send(p2p.SyncRequest{Start: 1, End: 10}))
	_ = q.SetDeadline(time.Now().Add(500 * time.Millisecond))
	if b, err := lightpeer.Until[*types.SignedBlock](q); err == nil {
		t.Errorf("block %d without a handshake", b.BlockNum())
	}
}

// A peer that claims what it does not have itself must not make the node ask the others
// for it, again and again.
func TestAClaimThatItsPeerCannotMeetStartsNothing(t *testing.T) {
	chain := p2p.NewRecentChain(100)
	n := p2p.StartNode(t, chain, nil)
	follower, liar := greetedPeer(t, n), greetedPeer(t, n)
	for _, change := range []func(*p2p.Notice){
		func(m *p2p.Notice) { m.Blocks.IDs[0] = numberedID(1) },                      // a head before it
		func(m *p2p.Notice) { m.Blocks.IDs = append(m.Blocks.IDs, numberedID(110)) }, // blocks that begin after ours
	} {
		lie := irreversible(120)
		change(&lie)
		for range 50 {
			must(t, liar.Send(lie))
		}
		awaitAnswer(t, liar)
	}
	if n.Metrics().Syncing || n.Logged("becoming lib catchup") {
		t.Error("the node catches up")
	}
	chain.Produce(1)
	if _, err := lightpeer.Until[*types.SignedBlock](follower); err != nil {
		t.Errorf("the follower hears no block: %v", err)
	}
}
