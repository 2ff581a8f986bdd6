package rpc

import (
	"fmt"
	"strconv"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/p2p/enode"
)

// netInfo answers for net.
type netInfo struct{ s *Service }

func (netInfo) Listening() bool { return true }

func (n netInfo) PeerCount() hexutil.Uint { return hexutil.Uint(n.s.options.Peers.PeerCount()) }

func (n netInfo) Version() (string, error) {
	return read(n.s, func(v *view) (string, error) { return strconv.FormatUint(v.Network().ID, 10), nil })
}

// web3 answers for web3.
type web3 struct{ s *Service }

func (w web3) ClientVersion() string { return w.s.options.Version }

func (web3) Sha3(data hexutil.Bytes) hexutil.Bytes { return crypto.Keccak256(data) }

// admin answers for admin.
type admin struct{ s *Service }

func (a admin) Peers() []*p2p.PeerInfo { return a.s.options.Peers.PeersInfo() }

func (a admin) NodeInfo() *p2p.NodeInfo { return a.s.options.Peers.NodeInfo() }

func (a admin) Datadir() string { return a.s.options.DataDir }

// trueIfNil answers true if nothing failed.
func trueIfNil(err error) (bool, error) { return err == nil, err }

func (a admin) AddPeer(url string) (bool, error) { return trueIfNil(a.s.options.Peers.AddPeer(url)) }

func (a admin) RemovePeer(url string) (bool, error) {
	return trueIfNil(a.s.options.Peers.RemovePeer(url))
}

func (a admin) AddTrustedPeer(url string) (bool, error) {
	return trueIfNil(a.s.options.Peers.AddTrustedPeer(url))
}

func (a admin) RemoveTrustedPeer(url string) (bool, error) {
	return trueIfNil(a.s.options.Peers.RemoveTrustedPeer(url))
}

func (a admin) Iprestrict() []string { return a.s.options.IPRestrict }

func (a admin) PrivateNodes() ([]*p2p.NodeInfo, error) {
	infos := []*p2p.NodeInfo{}
	for _, url := range a.s.options.PrivateNodes {
		n, err := enode.Parse(enode.ValidSchemes, url)
		if err != nil {
			return nil, fmt.Errorf("private node %q: %w", url, err)
		}
		infos = append(infos, &p2p.NodeInfo{ID: n.ID().String(), Enode: n.URLv4(), IP: n.IPAddr().String()})
	}
	return infos, nil
}
