package p2p_test

import (
	"testing"
	"time"

	"tarn/antelope/p2p"
	"tarn/antelope/p2p/peer"
	"tarn/antelope/types"
)

// heard waits until the node has acted on all that the peer has sent.
func heard(t *testing.T, p *peer.Peer) {
	t.Helper()
	now := time.Now().UnixNano()
	must(t, p.Send(p2p.Time{Transmit: now}))
	for {
		m, err := peer.Until[p2p.Time](p)
		if err != nil {
			t.Fatal(err)
		}
		if m.Origin == now {
			return
		}
	}
}

// Peers pass a block on before they apply it: what is wrong inside is not their fault.
func TestABlockThatIsBadInsideEndsNoConnection(t *testing.T) {
	chain := p2p.NewRecentChain(100)
	twin := chain.Twin()
	a, b := p2p.StartNode(t, chain, nil), p2p.StartNode(t, twin, nil)
	a.Connect(b.Address())
	p2p.Eventually(t, "connected", func() bool { return b.Metrics().Clients == 1 && a.AllCurrent(1) })
	p := greeted(t, a)
	bad := chain.BadBody()
	must(t, p.Send(bad))
	p2p.Eventually(t, "both have refused it", func() bool { return a.Metrics().BadBlocks > 0 && b.Metrics().BadBlocks > 0 })
	must(t, p.Send(chain.NextGood()))
	p2p.Eventually(t, "the next good block is everywhere", func() bool { return chain.Head() == 101 && twin.Head() == 101 })
	if n := b.Metrics().Clients; n != 1 {
		t.Errorf("%d clients are left of one", n)
	}
	if _, known := a.Status(b.Address()); !known {
		t.Error("the peer is dialled no more")
	}
	if a.Logged("go_away") || b.Logged("go_away") {
		t.Error("somebody was sent away")
	}
}

// A block that came before the one it follows is its sender's, not of who brings that.
func TestWhoSentABlockAnswersForIt(t *testing.T) {
	chain := p2p.NewRecentChain(100)
	n := p2p.StartNode(t, chain, nil)
	liar, honest := greeted(t, n), greeted(t, n)
	good, bad := chain.NextTwo()
	must(t, liar.Send(bad))
	heard(t, liar)
	must(t, honest.Send(good))
	p2p.Eventually(t, "the bad one is refused", func() bool { return n.Metrics().BadBlocks > 0 && n.Head() == 101 })
	_ = honest.SetDeadline(time.Now().Add(500 * time.Millisecond))
	if r, err := sent(honest); err == nil {
		t.Errorf("who brought the good block is sent away: %v", r)
	}
}

// A peer sends its spans in their order. The second one first, and more than is held,
// must not keep its reader waiting for what only it could bring.
func TestTheSecondSpanFirstIsNotTaken(t *testing.T) {
	chain := p2p.NewRecentChain(100)
	n := p2p.StartNode(t, chain, func(o *p2p.Options) { o.SyncFetchSpan = 25; o.KeepAlive = time.Second })
	liar := greeted(t, n)
	must(t, liar.Send(irreversible(125)))
	var second p2p.SyncRequest
	for second.Start <= 71 {
		r, err := peer.Until[p2p.SyncRequest](liar)
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
		previous := numbered(second.Start - 1)
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
	if r, err := sent(p); err != nil || r != p2p.Authentication {
		t.Errorf("with generation 2: %v, %v", r, err)
	}
	q := dial(t, n)
	must(t, q.Send(p2p.SyncRequest{Start: 1, End: 10}))
	_ = q.SetDeadline(time.Now().Add(500 * time.Millisecond))
	if b, err := peer.Until[*types.SignedBlock](q); err == nil {
		t.Errorf("block %d without a handshake", b.BlockNum())
	}
}

// A peer that claims what it does not have itself must not make the node ask the others
// for it, again and again.
func TestAClaimThatItsPeerCannotMeetStartsNothing(t *testing.T) {
	chain := p2p.NewRecentChain(100)
	n := p2p.StartNode(t, chain, nil)
	follower, liar := greeted(t, n), greeted(t, n)
	for _, change := range []func(*p2p.Notice){
		func(m *p2p.Notice) { m.Blocks.IDs[0] = numbered(1) },                      // a head before it
		func(m *p2p.Notice) { m.Blocks.IDs = append(m.Blocks.IDs, numbered(110)) }, // blocks that begin after ours
	} {
		lie := irreversible(120)
		change(&lie)
		for range 50 {
			must(t, liar.Send(lie))
		}
		heard(t, liar)
	}
	if n.Metrics().Syncing || n.Logged("becoming lib catchup") {
		t.Error("the node catches up")
	}
	chain.Produce(1)
	if _, err := peer.Until[*types.SignedBlock](follower); err != nil {
		t.Errorf("the follower hears no block: %v", err)
	}
}
