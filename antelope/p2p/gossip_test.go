package p2p

import (
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"tarn/antelope/serial"
	"tarn/antelope/types"
	"tarn/internal/freeport"
)

// withPeers is a change of options with peers to connect to.
func withPeers(change func(*Options), peers ...string) func(*Options) {
	return func(o *Options) {
		change(o)
		o.Peers = peers
	}
}

// producing starts nodes of producers that know the first one alone.
func producing(t *testing.T, names ...string) (list []*node) {
	t.Helper()
	chain := NewRecentChain(100)
	for i, name := range names {
		twin, address := chain.Twin(), freeport.Address(t)
		twin.ranks(names...)
		change := gossips(name, address)
		listen := func(o *Options) {
			change(o)
			o.Listen = []string{address}
		}
		if i > 0 {
			listen = withPeers(listen, list[0].address)
		}
		list = append(list, startNode(t, twin, listen))
		list[i].awaitGossip(t)
	}
	return list
}

// linked tells whether a node is connected with another one, of whom it knows that it is a producer's.
func (n *node) linked(o *node) bool {
	for _, c := range n.Connections() {
		if c.LastHandshake.NodeID == o.nodeID && c.SocketOpen {
			return c.GossipPeer && c.BPPeer
		}
	}
	return false
}

// Producers that know one of them find the others by what it tells, connect to who is in the schedule, and leave who
// is in it no more.
func TestProducersFindEachOther(t *testing.T) {
	names := []string{"a", "b", "c", "d"}
	nodes := producing(t, names...)
	for _, n := range nodes {
		eventually(t, "all producers are known", func() bool { return len(n.GossipPeers()) == len(nodes) })
	}
	if nodes[1].linked(nodes[2]) {
		t.Error("two are connected without a schedule")
	}
	change := func(version uint32, in ...string) {
		s := &types.ProducerSchedule{Version: version}
		for _, name := range in {
			s.Producers = append(s.Producers, types.ProducerAuthority{Producer: types.N(name)})
		}
		for _, n := range nodes {
			n.SchedulesChanged(s, nil)
		}
	}
	change(1, "a", "b", "c", "d")
	for i, n := range nodes {
		for k, o := range nodes {
			if i != k {
				eventually(t, fmt.Sprintf("%s is connected with %s", names[i], names[k]),
					func() bool { return n.linked(o) })
			}
		}
	}
	change(2, "a", "b", "c")
	for i, o := range nodes[1:3] {
		eventually(t, fmt.Sprintf("d and %s are not connected", names[i+1]),
			func() bool { return !nodes[3].linked(o) && !o.linked(nodes[3]) })
	}
	// The connection that is left of two may have been the other node's, which has to leave.
	eventually(t, "who is a peer of the options is connected with", func() bool { return nodes[3].linked(nodes[0]) })
	eventually(t, "who is in the schedule is connected with", func() bool { return nodes[1].linked(nodes[2]) })
}

// What one node says of itself anew comes to those who are not connected with it.
func TestNewsGoesFromNodeToNode(t *testing.T) {
	nodes := producing(t, "a", "b", "c")
	eventually(t, "all producers are known", func() bool { return len(nodes[2].GossipPeers()) == 3 })
	end := func(n *node, i int) types.BlockTimestamp { return n.GossipPeers()[i].Expiration }
	was := end(nodes[2], 1)
	nodes[1].chain.produce(1, 8000) // more than an hour
	for _, n := range nodes {
		eventually(t, "the block", func() bool { return n.chain.head() == 101 })
	}
	for _, n := range nodes {
		eventually(t, "records that last", func() bool {
			list := n.GossipPeers()
			return len(list) == 3 && list[1].Expiration > was && list[0].Expiration > was && list[2].Expiration > was
		})
	}
}

// A producer that changes its key, or loses its rank, is heard with its new key, or not at all.
func TestKeysAreReadAgain(t *testing.T) {
	n := startNode(t, NewRecentChain(100), gossips("a", "a:1"))
	n.chain.ranks("b")
	n.HeadShown(100)
	eventually(t, "keys are read", n.gossip.ranked.Load)
	if _, ok := n.gossip.key(types.N("b")); !ok || len(n.GossipPeers()) > 0 {
		t.Errorf("the key is known: %v", ok)
	}
	n.chain.ranks("a")
	n.HeadShown(101)
	n.HeadShown(239) // before a block whose number is one of those
	eventually(t, "own records are signed", func() bool { return len(n.GossipPeers()) == 1 })
	if _, ok := n.gossip.key(types.N("b")); ok {
		t.Error("the key of a producer without a rank is known")
	}
}

// Addresses that come by gossip are dialled no more when nobody tells of them, and never too many.
func TestAddressesThatComeByGossipHaveABound(t *testing.T) {
	chain := NewRecentChain(100)
	chain.ranks("a", "b")
	change := gossips("a", "a:1")
	n := startNode(t, chain, func(o *Options) {
		change(o)
		o.Limits.GossipDials = 3
		o.Limits.Expiry = 50 * time.Millisecond
	})
	n.awaitGossip(t)
	head := chain.Info().Time
	dialled := func() (count int) {
		n.mu.Lock()
		defer n.mu.Unlock()
		return len(n.targets)
	}
	in := []types.ProducerAuthority{{Producer: types.N("b")}}
	n.SchedulesChanged(&types.ProducerSchedule{Version: 1, Producers: in}, nil)
	for i, server := range []string{"::1", "host\x1b[2J:1", "host:1\n"} { // others take them for servers
		n.gossip.directory.put(record(chain.id, types.N("b"),
			Place{server, "::1", head + 50 + types.BlockTimestamp(i)}, 0))
	}
	if n.peering.connectActive(); !isServer("::1") || !isServer("host\x1b[2J:1") || dialled() > 0 {
		t.Errorf("%d addresses are dialled that are none", dialled())
	}
	for i := range types.BlockTimestamp(40) {
		n.gossip.directory.put(record(chain.id, types.N("b"), Place{freeport.Address(t), "::1", head + 100 + i}, 0))
		n.peering.connectActive()
		if is := dialled(); is > 3 {
			t.Fatalf("%d addresses are dialled", is)
		}
	}
	eventually(t, "those are left that are still told of", func() bool {
		in := n.gossip.directory.allServers()
		n.mu.Lock()
		defer n.mu.Unlock()
		for address := range n.targets {
			if !in[address] {
				return false
			}
		}
		return true
	})
}

// What the contract answers is read: names, of which each has a key or none. What is cut short is not believed.
func TestKeysAreReadFromTheContractsAnswer(t *testing.T) {
	key := producerKey(types.N("a")).Public()
	answer := serial.AppendCount(nil, 2)
	answer = key.Append(serial.AppendBool(serial.AppendUint64(answer, uint64(types.N("a"))), true))
	answer = serial.AppendBool(serial.AppendUint64(answer, uint64(types.N("b"))), false)
	want := []PeerKey{{types.N("a"), key}, {Producer: types.N("b")}}
	if list, err := readPeerKeys(answer); err != nil || !slices.Equal(list, want) {
		t.Errorf("%+v, %v", list, err)
	}
	for n := range answer {
		if list, err := readPeerKeys(answer[:n]); err == nil {
			t.Errorf("%d of %d bytes: %+v", n, len(answer), list)
		}
	}
}

// Who sends messages without a record, which take no room, has one turn like everybody.
func TestAConnectionHasOneTurn(t *testing.T) {
	n := startNode(t, newFakeChain(5), gossips("a", "a:1"))
	g := newGossip(n.Network) // nobody looks at what comes
	ours, theirs := net.Pipe()
	defer theirs.Close()
	c := newConn(n.Network, ours, nil, "", 0)
	one := &Gossip{[]Record{{Info: []byte{1}}}}
	for range 10 {
		for _, m := range []*Gossip{{}, one, {[]Record{{}}}} {
			g.add(c, m)
		}
	}
	if len(g.turns) != 1 || g.bytes != c.heard.bytes() || g.bytes == 0 {
		t.Errorf("%d turns, %d bytes", len(g.turns), g.bytes)
	}
	if from, h := g.next(); from != c || h.list != one || h.first == nil || g.bytes != 0 || len(g.turns) > 0 {
		t.Errorf("%d turns, %d bytes", len(g.turns), g.bytes)
	}
	g.add(c, one)
	if g.forgetPeer(c); g.bytes != 0 || len(g.turns) > 0 {
		t.Errorf("%d turns, %d bytes after its end", len(g.turns), g.bytes)
	}
}
