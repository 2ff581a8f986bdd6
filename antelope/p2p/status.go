package p2p

import (
	"cmp"
	"math"
	"net/netip"
	"slices"
	"time"

	"tarn/antelope/types"
	"tarn/antelope/variant"
)

// Status is what the API tells of a connection.
type Status struct {
	Peer             string // the address that was connected to; empty if the peer connected
	RemoteIP         string
	RemotePort       string
	Connecting       bool
	Syncing          bool // it catches up from this node
	BPPeer           bool
	SocketOpen       bool
	BlocksOnly       bool
	TransactionsOnly bool
	LastHandshake    Handshake // zero if none came
}

// AppendJSON appends the object that nodeos' API shows (Leap: connection_status).
func (s Status) AppendJSON(b []byte) []byte {
	text := func(key, v string) { b = variant.AppendString(variant.AppendKey(b, key), v) }
	flag := func(key string, v bool) { b = variant.AppendBool(variant.AppendKey(b, key), v) }
	b = append(b, '{')
	text("peer", s.Peer)
	text("remote_ip", s.RemoteIP)
	text("remote_port", s.RemotePort)
	flag("connecting", s.Connecting)
	flag("syncing", s.Syncing)
	flag("is_bp_peer", s.BPPeer)
	flag("is_socket_open", s.SocketOpen)
	flag("is_blocks_only", s.BlocksOnly)
	flag("is_transactions_only", s.TransactionsOnly)
	return append(s.LastHandshake.AppendJSON(variant.AppendKey(b, "last_handshake")), '}')
}

// AppendJSON appends the message as an object.
func (m Handshake) AppendJSON(b []byte) []byte {
	text := func(key, v string) { b = variant.AppendString(variant.AppendKey(b, key), v) }
	value := func(key string, v interface{ AppendJSON([]byte) []byte }) {
		b = v.AppendJSON(variant.AppendKey(b, key))
	}
	number := func(key string, v int64) { b = variant.AppendInt64(variant.AppendKey(b, key), v) }
	b = append(b, '{')
	number("network_version", int64(m.NetworkVersion))
	value("chain_id", m.ChainID)
	value("node_id", m.NodeID)
	value("key", m.Key)
	number("time", m.Time)
	value("token", m.Token)
	value("sig", m.Sig)
	text("p2p_address", m.P2PAddress)
	number("last_irreversible_block_num", int64(m.LIBNum))
	value("last_irreversible_block_id", m.LIBID)
	number("head_num", int64(m.HeadNum))
	value("head_id", m.HeadID)
	text("os", m.OS)
	text("agent", m.Agent)
	number("generation", int64(m.Generation))
	return append(b, '}')
}

func (c *conn) status() Status {
	s := Status{
		RemoteIP: c.remoteIP, RemotePort: c.remotePort,
		Connecting: !c.connected.Load(), Syncing: c.syncing.Load(), BPPeer: c.bp.Load(),
		SocketOpen: c.ended.Err() == nil, BlocksOnly: !c.takesTransactions(), TransactionsOnly: !c.takesBlocks(),
	}
	if c.target != nil {
		s.Peer = c.target.address
	}
	if h := c.received.Load(); h != nil {
		s.LastHandshake = *h
	}
	return s
}

func (t *target) status() Status {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conn != nil {
		return t.conn.status()
	}
	s := Status{Peer: t.address, RemoteIP: "<unknown>", RemotePort: "<unknown>", Connecting: t.dialing}
	_, s.BPPeer = t.net.config.autoNames[t.address]
	if _, _, kind, ok := splitPeer(t.address); ok {
		k, _ := trafficOf(kind)
		s.BlocksOnly, s.TransactionsOnly = k == BlocksOnly, k == TransactionsOnly
	}
	return s
}

// Status returns what is known of a peer that was connected to, by its address.
func (n *Network) Status(address string) (Status, bool) {
	n.mu.Lock()
	t := n.targets[address]
	n.mu.Unlock()
	if t == nil {
		return Status{}, false
	}
	return t.status(), true
}

// Connections returns all connections, those that are being tried to make included,
// the oldest first.
func (n *Network) Connections() []Status {
	var list []Status
	for _, c := range *n.conns.Load() {
		list = append(list, c.status())
	}
	for _, t := range n.unconnected() {
		list = append(list, t.status())
	}
	return list
}

// unconnected returns the targets without a connection, by their addresses.
func (n *Network) unconnected() []*target {
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
	// Peers and BlockProducers, those by p2p-auto-bp-peer, are to be connected to,
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
		TransactionBytes: n.trxBytes.Load(), RememberedTrx: n.trxs.size(), Syncing: n.sync.syncing(),
	}
	for _, c := range *n.conns.Load() {
		switch {
		case c.bp.Load():
			m.BlockProducers++
		case c.incoming():
			m.Clients++
		default:
			m.Peers++
		}
		m.Connections = append(m.Connections, c.metrics())
	}
	for _, t := range n.unconnected() {
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
