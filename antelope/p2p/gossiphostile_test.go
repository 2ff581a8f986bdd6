package p2p_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tarn/antelope/p2p"
	"tarn/antelope/p2p/lightpeer"
	"tarn/antelope/types"
)

// gossiper is a node of the producer "own" that knows the keys of prodb and prodc.
func gossiper(t *testing.T, change func(*p2p.Options)) *p2p.TestNode {
	t.Helper()
	chain, options := p2p.NewRecentChain(100), p2p.Gossips("own", "own:9876")
	chain.Ranks("own", "prodb", "prodc")
	n := p2p.StartNode(t, chain, func(o *p2p.Options) {
		options(o)
		if change != nil {
			change(o)
		}
	})
	n.AwaitGossip(t)
	return n
}

// said is a record as somebody signs it.
func said(n *p2p.TestNode, producer, by, server, outbound string, end int) p2p.Record {
	p := p2p.Place{Server: server, Outbound: outbound, Expiration: n.ChainInfo().Time + types.BlockTimestamp(end)}
	x := p2p.Record{Version: 1, Producer: types.N(producer), Info: p.Append(nil)}
	p2p.SignRecord(n.ChainID(), &x, types.N(by))
	return x
}

// learned waits until a node knows so many records, and returns them as text.
func learned(t *testing.T, n *p2p.TestNode, count int) (s string) {
	t.Helper()
	n.Eventually(t, fmt.Sprintf("%d records", count), func() bool { return len(n.GossipPeers()) == count })
	for _, p := range n.GossipPeers() {
		s += fmt.Sprintf("%v %s; ", p.Producer, p.Server)
	}
	return s
}

// What is not a producer's own word is not taken, whatever else comes with it, and what is, is.
func TestForgedRecordsAreNotTaken(t *testing.T) {
	n := gossiper(t, nil)
	p := greetedPeer(t, n)
	good := said(n, "prodb", "prodb", "b:1", "::1", 100)
	borrowed := good // a good signature under another name, and for another place
	borrowed.Producer = types.N("prodc")
	moved := good
	moved.Info = p2p.Place{Server: "evil:1", Outbound: "::1", Expiration: n.ChainInfo().Time + 100}.Append(nil)
	for _, list := range [][]p2p.Record{
		{said(n, "prodb", "prodc", "evil:2", "::1", 100)},
		{said(n, "own", "prodb", "evil:3", "::1", 100)},
		{said(n, "prodb", "prodb", "late:1", "::1", 0)}, {said(n, "prodb", "prodb", "early:1", "::1", 9000)},
		{said(n, "prodd", "prodd", "d:1", "::1", 100)},
		{good}, {borrowed}, {moved}, {good, borrowed},
		{said(n, "prodc", "prodc", "c:1", strings.Repeat("1", 2000), 100)},
		{good, said(n, "prodc", "prodc", "c:2", "::1", 100)},
	} {
		must(t, p.Send(p2p.Gossip{Records: list}))
		time.Sleep(20 * time.Millisecond) // so that none takes the place of the one before
	}
	if got := learned(t, n, 3); got != "own own:9876; prodb b:1; prodc c:2; " {
		t.Error(got)
	}
	for _, c := range n.Connections() {
		if !c.SocketOpen {
			t.Error("the peer was left")
		}
	}
}

// Who repeats a producer's word, its first message or its records, is answered so often and no more; records that are
// known are not checked again.
func TestReplaysAreBounded(t *testing.T) {
	n := gossiper(t, func(o *p2p.Options) {
		o.Limits.GossipChecks = p2p.Budget{Rate: 0.001, Burst: 100}
	})
	p := greetedPeer(t, n)
	for range 300 {
		must(t, p.Send(p2p.Gossip{Records: []p2p.Record{said(n, "prodb", "prodb", "b:1", "::1", 100)}}))
	}
	learned(t, n, 2)
	first := p2p.Record{Version: 1, Producer: types.N("prodb")}
	p2p.SignRecord(n.ChainID(), &first, first.Producer)
	answers := 0
	for range 10 {
		if p.Send(p2p.Gossip{Records: []p2p.Record{first}}) != nil {
			break
		}
		if _, err := lightpeer.Until[p2p.Gossip](p); err != nil {
			break
		}
		answers++
	}
	n.Eventually(t, "the peer is left", func() bool { return n.Logged("too many signatures of producers") })
	if answers > 6 {
		t.Errorf("%d answers for 100 signatures", answers)
	}
}

// Signatures that are wrong cost so many checks and no more, and meanwhile others are heard.
func TestForgersAreLeft(t *testing.T) {
	n := gossiper(t, func(o *p2p.Options) { o.Limits.GossipChecks = p2p.Budget{Rate: 1, Burst: 200} })
	forged := p2p.Gossip{}
	for i := range 8 {
		forged.Records = append(forged.Records, said(n, "prodb", "prodc", fmt.Sprintf("evil:%d", i), "::1", 100))
	}
	var forgers []*lightpeer.Peer
	for range 4 {
		forgers = append(forgers, greetedPeer(t, n))
	}
	forge := func() {
		for _, p := range forgers {
			_ = p.Send(forged) // until it is left
		}
	}
	for range 20 {
		forge()
	}
	honest := greetedPeer(t, n)
	must(t, honest.Send(p2p.Gossip{Records: []p2p.Record{said(n, "prodc", "prodc", "c:1", "::1", 100)}}))
	if got := learned(t, n, 2); got != "own own:9876; prodc c:1; " {
		t.Error(got)
	}
	n.Eventually(t, "the forgers are left", func() bool { forge(); return n.AllCurrent(1) })
}

// A message that is too large ends the connection. What waits of all has a bound, and leaves room for who has little.
func TestLargeGossipIsBounded(t *testing.T) {
	n := gossiper(t, func(o *p2p.Options) { o.Limits.GossipBytes, o.Limits.GossipWaiting = 64<<10, 64<<10 })
	large := p2p.Gossip{}
	for i := range 800 {
		place := p2p.Place{Server: "h:1"}
		large.Records = append(large.Records, p2p.Record{Producer: types.Name(i + 1), Info: place.Append(nil)})
	}
	p := greetedPeer(t, n)
	must(t, p.Send(large))
	n.Eventually(t, "the peer is left", func() bool { return n.Logged("gossip of 68") })
	large.Records = large.Records[:700]
	for range 8 {
		p := greetedPeer(t, n)
		for range 50 {
			must(t, p.Send(large))
		}
	}
	honest := greetedPeer(t, n)
	for i := range 5 {
		must(t, honest.Send(p2p.Gossip{Records: []p2p.Record{said(n, "prodc", "prodc", "c:1", "::1", 100+i)}}))
	}
	learned(t, n, 2)
}

// A node that does not take part drops gossip, and is nobody's peer by it.
func TestWhoDoesNotTakePartDropsGossip(t *testing.T) {
	n := p2p.StartNode(t, p2p.NewRecentChain(100), nil)
	p := greetedPeer(t, n)
	must(t, p.Send(p2p.Gossip{Records: []p2p.Record{said(n, "prodb", "prodb", "b:1", "::1", 100)}}))
	must(t, p.Send(p2p.Request{Blocks: p2p.IDs{Mode: p2p.ModeNormal, IDs: []types.Checksum256{n.ChainInfo().HeadID}}}))
	if _, err := lightpeer.Until[*types.SignedBlock](p); err != nil {
		t.Error(err)
	}
	for _, c := range n.Connections() {
		if c.BPPeer || c.GossipPeer {
			t.Errorf("%+v", c)
		}
	}
	if len(n.GossipPeers()) > 0 {
		t.Error("it was taken")
	}
}
