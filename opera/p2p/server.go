package p2p

import (
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/core/forkid"
	"github.com/ethereum/go-ethereum/event"
	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/p2p/enode"
	"github.com/ethereum/go-ethereum/p2p/enr"
	"github.com/ethereum/go-ethereum/rlp"

	"tarn/opera/inter"
	"tarn/opera/p2p/fsnap"
)

// record is what this node's discovery record says of the protocol, under its name
// (go-opera, gossip/enr_entry.go). go-opera reads none of it.
type record struct {
	Fork forkid.ID
	Rest []rlp.RawValue `rlp:"tail"`
}

// ENRKey names the entry.
func (record) ENRKey() string { return protocolName }

// makeServer prepares the connections of go-ethereum's p2p.
func (n *Node) makeServer() error {
	s := &n.o.Server
	if s.Key == nil {
		return errors.New("a node needs a key of its own")
	}
	if s.MaxPeers == 0 {
		s.MaxPeers = 50
	}
	n.server = &p2p.Server{Config: p2p.Config{
		PrivateKey: s.Key, MaxPeers: s.MaxPeers, MaxPendingPeers: s.MaxPending, DialRatio: s.DialRatio,
		NoDiscovery: !s.DiscoveryV4 && !s.DiscoveryV5, DiscoveryV4: s.DiscoveryV4,
		DiscoveryV5: s.DiscoveryV5, Name: s.Name,
		BootstrapNodes: s.Bootstrap, BootstrapNodesV5: s.BootstrapV5, StaticNodes: s.Static, TrustedNodes: s.Trusted,
		NetRestrict: s.Restrict, NodeDatabase: s.Database, ListenAddr: s.Listen, DiscAddr: s.Discovery, NAT: s.NAT,
		NoDial: s.NoDial, Protocols: n.protocols(),
	}}
	return nil
}

func (n *Node) protocols() []p2p.Protocol {
	protocol := func(version uint, length uint64) p2p.Protocol {
		return p2p.Protocol{
			Name: protocolName, Version: version, Length: length, Attributes: []enr.Entry{record{}},
			Run: func(conn *p2p.Peer, rw p2p.MsgReadWriter) error { return n.run(version, conn, rw) },
		}
	}
	return []p2p.Protocol{
		protocol(newest, codes),
		protocol(withoutChunks, codeRequestBlockVotes),
		{Name: fsnap.Name, Version: fsnap.Version, Length: fsnap.Codes, Run: n.states.run},
	}
}

// Self is how others reach this node.
func (n *Node) Self() *enode.Node { return n.server.Self() }

// AddPeer keeps a connection to a node from now on.
func (n *Node) AddPeer(url string) error {
	return withNode(fmt.Sprintf("add peer %q", url), url, func(node *enode.Node) {
		n.keep(node, true)
		n.server.AddPeer(node)
	})
}

// keep notes to whom connections are kept beside those of the options.
func (n *Node) keep(node *enode.Node, keep bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.added[node.ID()] = node; !keep {
		delete(n.added, node.ID())
	}
}

// Added are the nodes to which connections are kept beside those of the options.
func (n *Node) Added() (urls []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, node := range n.added {
		urls = append(urls, node.URLv4())
	}
	return urls
}

// RemovePeer ends the connection to a node, and keeps none any more.
func (n *Node) RemovePeer(url string) error {
	return withNode(fmt.Sprintf("remove peer %q", url), url, func(node *enode.Node) {
		n.keep(node, false)
		n.server.RemovePeer(node)
	})
}

// AddTrustedPeer lets a node connect even if there are enough peers.
func (n *Node) AddTrustedPeer(url string) error {
	return withNode(fmt.Sprintf("trust peer %q", url), url, n.server.AddTrustedPeer)
}

// RemoveTrustedPeer takes AddTrustedPeer back.
func (n *Node) RemoveTrustedPeer(url string) error {
	return withNode(fmt.Sprintf("trust peer %q no more", url), url, n.server.RemoveTrustedPeer)
}

// withNode does something with the node of a URL.
func withNode(what, url string, do func(*enode.Node)) error {
	node, err := enode.Parse(enode.ValidSchemes, url)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	do(node)
	return nil
}

// PeersInfo tells of the connections of the server, of peers that speak any of its protocols.
func (n *Node) PeersInfo() []*p2p.PeerInfo {
	return n.server.PeersInfo()
}

// SubscribeEvents has connections and their ends told to a channel, which must be read.
func (n *Node) SubscribeEvents(to chan *p2p.PeerEvent) event.Subscription {
	return n.server.SubscribeEvents(to)
}

// NodeInfo is what the server says of this node.
func (n *Node) NodeInfo() *p2p.NodeInfo { return n.server.NodeInfo() }

// Highest is the last block and the epoch of the peer that says that it is the farthest, or
// of this node if it is farther.
func (n *Node) Highest() (inter.BlockNumber, inter.Epoch) {
	most := n.peers.farthest(n.progress())
	return most.Block, most.Epoch
}

// Synced tells whether an event was seen that is young: this node is about where its
// network is.
func (n *Node) Synced() bool { return n.fresh.Load() }

// PeerCount is how many speak the protocol.
func (n *Node) PeerCount() int { return n.peers.count() }
