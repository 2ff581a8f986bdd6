package p2p

import (
	"crypto/ecdsa"
	"time"

	"github.com/ethereum/go-ethereum/p2p/enode"
	"github.com/ethereum/go-ethereum/p2p/nat"
	"github.com/ethereum/go-ethereum/p2p/netutil"

	"tarn/opera/p2p/fsnap"
)

// Options of a node. Zero values of Server stand for the defaults.
type Options struct {
	Ledger       Ledger
	Pool         Pool         // nil: no transactions are taken or told
	Records      Records      // nil: there are none
	RecordLedger RecordLedger // nil: no votes and records are asked for or taken
	States       fsnap.Holder // nil: no state is given to peers
	// Snap has blocks asked for as records as long as the present epoch is older than
	// Limits.Behind, and votes for them too, before the node is at the head.
	Snap bool
	// Givers are told of peers that may be asked for states; nil: no state is asked for. With Snap,
	// no events are asked for as long as block records are and a peer is in a later epoch.
	Givers Givers
	// Taken, if not nil, is told every few seconds what votes and records were taken since the last
	// time, if any were. It must not wait.
	Taken  func(Taken)
	Server Server           // how others reach this node
	Limits Limits           // what peers may cost; all are to be set, as [DefaultLimits] does
	Now    func() time.Time // nil: the clock
	// Notice, if not nil, is told why a peer was left, and what else an operator may want
	// to know. Any goroutine may call it.
	Notice func(error)
	// Refused, if not nil, is told of connections that end because handshakes do not agree. Any
	// goroutine may call it.
	Refused func(Refusal)
}

// Server says how connections are made. All addresses are of the form host:port.
type Server struct {
	Key  *ecdsa.PrivateKey // of this node
	Name string            // as others see it; go-opera wants "opera" in it
	// Listen is for connections, and for discovery too if Discovery is "". "" listens to nobody.
	Listen, Discovery string
	NoDial            bool
	DiscoveryV4       bool
	DiscoveryV5       bool
	Bootstrap         []*enode.Node // who knows others
	BootstrapV5       []*enode.Node
	Static            []*enode.Node // always connected
	Trusted           []*enode.Node // connected beyond MaxPeers
	Restrict          *netutil.Netlist
	NAT               nat.Interface
	Database          string // folder of the nodes that discovery found; "" is memory
	MaxPeers          int    // 50
	MaxPending        int    // connections whose handshake goes on; 50
	DialRatio         int    // of dialled connections to all; 3
}
