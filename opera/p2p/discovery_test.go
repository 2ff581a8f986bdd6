package p2p

import (
	"testing"

	"github.com/ethereum/go-ethereum/p2p/enode"
)

// A node that knows one other finds it by each version of discovery, without being told
// to connect.
func TestNodesFindEachOther(t *testing.T) {
	for name, choose := range map[string]func(s *Server, known *enode.Node){
		"v4": func(s *Server, known *enode.Node) {
			s.DiscoveryV4 = true
			if known != nil {
				s.Bootstrap = []*enode.Node{known}
			}
		},
		"v5": func(s *Server, known *enode.Node) {
			s.DiscoveryV5 = true
			if known != nil {
				s.BootstrapV5 = []*enode.Node{known}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := &graph{here: nil}
			known := startNode(t, g, func(o *Options) { choose(&o.Server, nil) })
			defer closeNode(t, known)
			other := startNode(t, g, func(o *Options) { choose(&o.Server, known.Self()) })
			defer closeNode(t, other)
			await(t, "they are connected", func() bool {
				return known.PeerCount() == 1 && other.PeerCount() == 1
			})
		})
	}
}
