package node

import (
	"crypto/ecdsa"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/p2p/enode"
	"github.com/ethereum/go-ethereum/p2p/nat"
	"github.com/ethereum/go-ethereum/p2p/netutil"

	"tarn/opera/config"
	"tarn/opera/p2p"
)

// bootnodes is a network's name and a node's URL a line.
//
//go:embed bootnodes.txt
var bootnodes string

// meet begins to connect to peers, nil if the options ask for none. They are told of what
// waits, and tell of theirs; nil is a node that takes no transactions.
func (l *life) meet(n *Node, w *waiting) (*p2p.Node, error) {
	if l.Node.P2P.MaxPeers == 0 {
		return nil, nil
	}
	o, err := l.peerOptions(n)
	if err != nil {
		return nil, err
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
	l.log.Info("Started P2P networking", "self", peers.Self().URLv4())
	return peers, nil
}

func (l *life) peerOptions(n *Node) (p2p.Options, error) {
	c := &l.Node.P2P
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
		Ledger:  p2p.NewLedger(n.Chain(), n),
		Records: p2p.NewRecords(n.Chain()),
		Notice:  func(err error) { l.log.Debug("Peer", "err", err) },
		Server: p2p.Server{
			Name:   fmt.Sprintf("go-opera/v%s/tarn/%s-%s/%s", config.Version, runtime.GOOS, runtime.GOARCH, runtime.Version()),
			Listen: c.ListenAddr, NoDial: c.NoDial, MaxPeers: c.MaxPeers, MaxPending: c.MaxPendingPeers,
			DiscoveryV4: !c.NoDiscovery, DiscoveryV5: !c.NoDiscovery && c.DiscoveryV5, Database: n.Dir("nodes"),
			Bootstrap: nodes("bootnodes", known(c.BootstrapNodes)), BootstrapV5: nodes("bootnodes", known(c.BootstrapNodesV5)),
			Static: nodes("StaticNodes", c.StaticNodes), Trusted: nodes("TrustedNodes", c.TrustedNodes),
		},
	}
	var err error
	if o.Server.Key, err = l.nodeKey(n); err != nil {
		fail(err)
	}
	if o.Server.NAT, err = nat.Parse(c.NAT); err != nil {
		fail(fmt.Errorf("nat: %w", err))
	}
	if len(c.NetRestrict) != 0 {
		if o.Server.Restrict, err = netutil.ParseNetlist(strings.Join(c.NetRestrict, ",")); err != nil {
			fail(fmt.Errorf("netrestrict: %w", err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return o, fmt.Errorf("options of the network: %w", err)
	}
	return o, nil
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
func (l *life) nodeKey(n *Node) (*ecdsa.PrivateKey, error) {
	c := &l.Node.P2P
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
