package p2p

import (
	"cmp"
	"math"
	"net/netip"
	"slices"
	"time"

	"tarn/antelope/admintypes"
	"tarn/antelope/types"
)

func (c *conn) status() admintypes.Connection {
	s := admintypes.Connection{
		RemoteIP: c.remoteIP, RemotePort: c.remotePort,
		Connecting: !c.connected.Load(), Syncing: c.syncing.Load(), BPPeer: c.producers(),
		GossipPeer: standing(c.standing.Load()) == gossiping,
		SocketOpen: c.ended.Err() == nil, BlocksOnly: !c.takesTransactions(), TransactionsOnly: !c.takesBlocks(),
	}
	if c.target != nil {
		s.Peer = c.target.address
	}
	if ns := c.lastVote.Load(); ns != 0 {
		s.LastVote = types.TimePoint(time.Unix(0, ns).UnixMicro())
	}
	if h := c.received.Load(); h != nil {
		s.LastHandshake = admintypes.Handshake(*h)
	}
	return s
}

func (t *target) status() admintypes.Connection {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conn != nil {
		return t.conn.status()
	}
	s := admintypes.Connection{Peer: t.address, RemoteIP: "<unknown>", RemotePort: "<unknown>", Connecting: t.dialing}
	_, s.BPPeer = t.net.config.autoNames[t.address]
	if _, _, kind, ok := splitPeer(t.address); ok {
		k, _ := trafficOf(kind)
		s.BlocksOnly, s.TransactionsOnly = k == BlocksOnly, k == TransactionsOnly
	}
	return s
}

// Status returns what is known of a peer that was connected to, by its address.
func (n *Network) Status(address string) (admintypes.Connection, bool) {
	n.mu.Lock()
	t := n.targets[address]
	n.mu.Unlock()
	if t == nil {
		return admintypes.Connection{}, false
	}
	return t.status(), true
}

// Connections returns all connections, those that are being tried to make included,
// the oldest first.
func (n *Network) Connections() []admintypes.Connection {
	var list []admintypes.Connection
	for _, c := range *n.conns.Load() {
		list = append(list, c.status())
	}
	for _, t := range n.unconnectedTargets() {
		list = append(list, t.status())
	}
	return list
}

// unconnectedTargets returns the targets without a connection, by their addresses.
func (n *Network) unconnectedTargets() []*target {
	n.mu.Lock()
	targets := make([]*target, 0, len(n.targets))
	for _, t := range n.targets {
		targets = append(targets, t)
	}
	n.mu.Unlock()
	targets = slices.DeleteFunc(targets, func(t *target) bool {
		t.mu.Lock()
		defer t.mu.Unlock()
		return t.conn != nil
	})
	slices.SortFunc(targets, func(a, b *target) int { return cmp.Compare(a.address, b.address) })
	return targets
}

// Metrics are totals since the start, and how many peers there are.
type Metrics struct {
	// Peers and BlockProducers, those by p2p-auto-bp-peer or by gossip, are to be connected to,
	// whether they are or not; Clients have connected.
	Peers, Clients, BlockProducers int

	FailedConnections   uint64
	RefusedConnections  uint64
	BytesIn, BytesOut   uint64
	BlocksIn, BlocksOut uint64 // out: those that were asked for
	DuplicateBlocks     uint64
	BadBlocks           uint64
	TransactionsIn      uint64
	TransactionsOut     uint64
	DuplicateTrx        uint64
	DroppedTransactions uint64
	VotesIn, VotesGood  uint64 // good: news, and rightly signed
	VotesBad            uint64
	TransactionBytes    int64 // that the chain has not answered
	RememberedTrx       int
	Syncing             bool
	Connections         []ConnectionMetrics
}

// ConnectionMetrics are those of one connection, or of a peer without one, which has
// no address and the port 0 (Leap: connection_metric). Times are zero for what has not
// happened.
type ConnectionMetrics struct {
	ID                     uint32
	Address                [16]byte // IPv6, or mapped IPv4
	Port                   uint16
	AcceptingBlocks        bool
	LastReceivedBlock      uint32
	FirstAvailableBlock    uint32
	LastAvailableBlock     uint32
	UniqueFirstBlocks      uint32
	Latency                time.Duration // of the round trip; -1 if unknown
	BytesIn, BytesOut      int64
	LastIn, LastOut, Start time.Time
	SyncBytesIn            int64
	SyncBytesOut           int64
	Throttled              bool
	P2PAddress             string
	NodeID                 string // seven characters of it, or of a hash of the address while it is unknown
}

// Metrics reads all counters. They are plain numbers, each right by itself.
func (n *Network) Metrics() Metrics {
	m := Metrics{
		FailedConnections: n.failed.Load(), RefusedConnections: n.refused.Load(),
		BytesIn: n.bytesIn.Load(), BytesOut: n.bytesOut.Load(),
		BlocksIn: n.blocksIn.Load(), BlocksOut: n.blocksOut.Load(),
		DuplicateBlocks: n.duplicateBlocks.Load(), BadBlocks: n.badBlocks.Load(),
		TransactionsIn: n.trxIn.Load(), TransactionsOut: n.trxOut.Load(),
		DuplicateTrx: n.duplicateTrx.Load(), DroppedTransactions: n.droppedTrx.Load(),
		VotesIn: n.votesIn.Load(), VotesGood: n.votesGood.Load(), VotesBad: n.votesBad.Load(),
		TransactionBytes: n.trxBytes.Load(), RememberedTrx: n.trxs.size(), Syncing: n.sync.syncing(),
	}
	for _, c := range *n.conns.Load() {
		switch {
		case c.producers():
			m.BlockProducers++
		case c.incoming():
			m.Clients++
		default:
			m.Peers++
		}
		m.Connections = append(m.Connections, c.metrics())
	}
	for _, t := range n.unconnectedTargets() {
		s := t.status()
		if s.BPPeer {
			m.BlockProducers++
		} else {
			m.Peers++
		}
		m.Connections = append(m.Connections, ConnectionMetrics{
			AcceptingBlocks: !s.TransactionsOnly, Latency: -1, P2PAddress: s.Peer, NodeID: temporaryID(s.Peer),
		})
	}
	return m
}

// temporaryID stands in for a peer's while that is not known.
func temporaryID(address string) string { return types.Hash([]byte(address)).String()[:7] }

func (c *conn) metrics() ConnectionMetrics {
	when := func(ns int64) (t time.Time) {
		if ns != 0 {
			t = time.Unix(0, ns)
		}
		return t
	}
	m := ConnectionMetrics{
		ID: c.id, AcceptingBlocks: c.takesBlocks(), LastReceivedBlock: c.lastReceived.Load(),
		FirstAvailableBlock: c.peerFirst.Load(), LastAvailableBlock: c.peerHead.Load(),
		UniqueFirstBlocks: c.unique.Load(), Latency: time.Duration(c.ping.Load()),
		BytesIn: c.bytesIn.Load(), BytesOut: c.bytesOut.Load(),
		LastIn: when(c.lastIn.Load()), LastOut: when(c.lastOut.Load()), Start: c.started,
		SyncBytesIn: c.syncIn.Load(), SyncBytesOut: c.syncOut.Load(),
		Throttled: c.throttled.Load(), P2PAddress: c.name(),
	}
	if m.Latency == math.MaxInt64 {
		m.Latency = -1
	}
	if a, err := netip.ParseAddrPort(c.socket.RemoteAddr().String()); err == nil {
		m.Address, m.Port = a.Addr().As16(), a.Port()
	}
	if h := c.received.Load(); h != nil {
		m.NodeID = h.NodeID.String()[:7]
	} else {
		m.NodeID = temporaryID(cmp.Or(m.P2PAddress, c.remoteIP))
	}
	return m
}
