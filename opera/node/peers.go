package node

import (
	"crypto/ecdsa"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/p2p/enode"
	"github.com/ethereum/go-ethereum/p2p/nat"
	"github.com/ethereum/go-ethereum/p2p/netutil"

	"tarn/opera/p2p"
	"tarn/opera/statesync"
)

// bootnodes is a network's name and a node's URL a line.
//
//go:embed bootnodes.txt
var bootnodes string

// meet begins to connect to peers, nil if the options ask for none. They are told of what
// waits, and tell of theirs; nil is a node that takes no transactions. Those that give states are
// told to the last argument, if there is one.
func (s *services) meet(n *Node, w *waiting, states *statesync.Syncer) (*p2p.Node, error) {
	if s.Node.P2P.MaxPeers == 0 {
		return nil, nil
	}
	o, err := s.peerOptions(n)
	if err != nil {
		return nil, err
	}
	if states != nil {
		o.Givers = states
	}
	if w != nil {
		o.Pool = w
	}
	peers, err := p2p.New(o)
	if err == nil {
		err = peers.Start()
	}
	if err != nil {
		return nil, err
	}
	if w != nil {
		w.Subscribe(peers.BroadcastTxs)
	}
	for _, url := range s.added {
		if err := peers.AddPeer(url); err != nil {
			return nil, errors.Join(err, peers.Close())
		}
	}
	s.log.Info("Started P2P networking", "self", peers.Self().URLv4())
	return peers, nil
}

// summary says which votes and records of peers were taken, in go-opera's words.
func (s *services) summary(n *Node) func(p2p.Taken) {
	return func(t p2p.Taken) {
		at := n.Chain().Frontier().Unfilled
		s.log.Info("New LLR summary", "last_epoch", at.Epoch-1, "last_block", at.Block-1,
			"new_evs", t.EpochVotes, "new_ers", t.EpochRecords, "new_bvs", t.BlockVotes, "new_brs", t.BlockRecords)
	}
}

func (s *services) peerOptions(n *Node) (p2p.Options, error) {
	c := &s.Node.P2P
	var errs []error
	fail := func(err error) { errs = append(errs, err) }
	nodes := func(what string, urls []string) (list []*enode.Node) {
		for _, url := range urls {
			node, err := enode.Parse(enode.ValidSchemes, url)
			if err != nil {
				fail(fmt.Errorf("%s: %q: %w", what, url, err))
				continue
			}
			list = append(list, node)
		}
		return list
	}
	known := func(urls []string) []string {
		if urls == nil {
			return bootnodesOf(n.Chain().Network().Name)
		}
		return urls
	}
	o := p2p.Options{
		Limits:       p2p.DefaultLimits(),
		Ledger:       p2p.NewLedger(n.Chain(), gate{n}),
		Records:      p2p.NewRecords(n.Chain()),
		RecordLedger: p2p.NewRecordLedger(n.Chain(), gate{n}),
		States:       p2p.NewStates(n.Chain()),
		Snap:         s.Opera.AllowSnapsync,
		Taken:        s.summary(n),
		Notice: func(err error) {
			if !n.damage.Met(err) {
				s.log.Debug("Peer", "err", err)
			}
		},
		Refused: (&refusals{log: s.log, now: time.Now}).countRefusal,
		Server: p2p.Server{
			Name:   s.name(),
			Listen: c.ListenAddr, NoDial: c.NoDial, MaxPeers: c.MaxPeers, MaxPending: c.MaxPendingPeers,
			DiscoveryV4: !c.NoDiscovery, DiscoveryV5: !c.NoDiscovery && c.DiscoveryV5, Database: n.Dir("nodes"),
			Bootstrap:   nodes("bootnodes", known(c.BootstrapNodes)),
			BootstrapV5: nodes("bootnodes", known(c.BootstrapNodesV5)),
			Static:      nodes("StaticNodes", c.StaticNodes), Trusted: nodes("TrustedNodes", c.TrustedNodes),
		},
	}
	private := nodes("privatenodes", c.PrivateNodes)
	o.Server.Static, o.Server.Trusted = append(private, o.Server.Static...), append(private, o.Server.Trusted...)
	if len(private) > 0 && o.Server.DiscoveryV4 {
		s.log.Warn(
			"Private nodes are kept connected and trusted, but discovery tells of those that take part in it; " +
				"--nodiscover here or there prevents that")
	}
	var err error
	if o.Server.Key, err = s.nodeKey(n); err != nil {
		fail(err)
	}
	if o.Server.NAT, err = nat.Parse(c.NAT); err != nil {
		fail(fmt.Errorf("nat: %w", err))
	}
	if o.Server.Restrict, err = restriction(c.NetRestrict, c.IPRestrict); err != nil {
		fail(err)
	}
	if err := errors.Join(errs...); err != nil {
		return o, fmt.Errorf("options of the network: %w", err)
	}
	return o, nil
}

// restriction is where peers may be: in one of the networks, and at one of the addresses.
// Nothing named is no restriction, nil if both are.
func restriction(networks, addresses []string) (*netutil.Netlist, error) {
	if len(networks)+len(addresses) == 0 {
		return nil, nil
	}
	var within *netutil.Netlist
	if len(networks) != 0 {
		var err error
		if within, err = netutil.ParseNetlist(strings.Join(networks, ",")); err != nil {
			return nil, fmt.Errorf("netrestrict: %w", err)
		}
	}
	if len(addresses) == 0 {
		return within, nil
	}
	at := netutil.Netlist{}
	for _, text := range addresses {
		address, err := netip.ParseAddr(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("iprestrict: couldn't parse IP address %s: %w", text, err)
		}
		if address = address.Unmap(); within == nil || within.ContainsAddr(address) {
			at = append(at, netip.PrefixFrom(address, address.BitLen()))
		}
	}
	return &at, nil
}

// bootnodesOf are the nodes of a network that know others.
func bootnodesOf(network string) (urls []string) {
	for line := range strings.Lines(bootnodes) {
		if of, url, _ := strings.Cut(strings.TrimSpace(line), " "); of == network {
			urls = append(urls, url)
		}
	}
	return urls
}

// nodeKey is by what peers know this node: the options' key, or one of its own that it
// keeps.
func (s *services) nodeKey(n *Node) (*ecdsa.PrivateKey, error) {
	c := &s.Node.P2P
	if c.NodeKeyHex != "" {
		key, err := crypto.HexToECDSA(c.NodeKeyHex)
		if err != nil {
			return nil, fmt.Errorf("nodekeyhex: %w", err)
		}
		return key, nil
	}
	path := c.NodeKey
	if path == "" {
		path = n.Dir("nodekey")
	}
	key, err := crypto.LoadECDSA(path)
	if err == nil {
		return key, nil
	}
	if c.NodeKey != "" || !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the node's key in %s: %w", path, err)
	}
	if key, err = crypto.GenerateKey(); err == nil {
		if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
			err = crypto.SaveECDSA(path, key)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("keep the node's key in %s: %w", path, err)
	}
	return key, nil
}
