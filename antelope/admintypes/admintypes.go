// Package admintypes has the values in which an operator and a node's parts speak of each
// other: the API asks, and the producer and the network answer, in the same structs.
//
// They are values and nothing more: the package knows none of the parts, checks nothing and
// changes nothing.
package admintypes

import (
	"fmt"

	"tarn/antelope/types"
	"tarn/antelope/variant"
)

// BadOption is an option that is understood and makes no sense. The text is for the operator
// and names the option. Each part says it of its own options; what nodeos throws for it is
// the node's to say.
type BadOption struct{ Text string }

// NewBadOption returns a *BadOption with a text that is formatted as by fmt.Sprintf.
func NewBadOption(format string, args ...any) error {
	return &BadOption{Text: fmt.Sprintf(format, args...)}
}

// Error implements error.
func (b *BadOption) Error() string { return b.Text }

// RuntimeOptions are options of a producer that can be changed while it runs; nil is what is
// not set, or stays what it is.
type RuntimeOptions struct {
	MaxTransactionTime *int32  // ms; below 0 for no bound
	MaxIrreversibleAge *int32  // s; below 0 for any age
	ProduceOffset      *int32  // ms, of a round
	Leeway             *int32  // us; nil also if it is the default
	GreylistLimit      *uint32 // 1 to 1000
}

// Snapshot is a snapshot that was made, or waits for its block to become irreversible.
type Snapshot struct {
	HeadID   types.Checksum256
	HeadNum  uint32
	HeadTime types.TimePoint
	Version  uint32
	Name     string // path of the file
}

// SnapshotRequest asks for snapshots of the state after some blocks: of Start, or
// with a spacing of every so many from there to End.
type SnapshotRequest struct {
	ID                  uint32
	Spacing, Start, End uint32
	Description         string
}

// SnapshotSchedule is a request with its snapshots whose block is not irreversible yet.
type SnapshotSchedule struct {
	SnapshotRequest
	Pending []Snapshot
}

// Unapplied is a transaction that waits for a block.
type Unapplied struct {
	ID            types.Checksum256
	Expiration    types.TimePointSec
	Type          string // forked, aborted, incoming_api, incoming_p2p, dry_run, read_only
	FirstAuth     types.Name
	FirstReceiver types.Name
	FirstAction   types.Name
	Actions       int    // context-free ones too
	Billed        uint32 // us
	Size          uint64 // bytes
}

// UnappliedPage is a part of the list of them.
type UnappliedPage struct {
	Size, Incoming int // of the whole queue
	Transactions   []Unapplied
	More           *types.Checksum256 // where the next page begins; nil at the end
}

// Handshake says who a node is and where its chain is.
type Handshake struct {
	NetworkVersion uint16
	ChainID        types.Checksum256
	NodeID         types.Checksum256
	Key            types.PublicKey   // zero without authentication
	Time           int64             // nanoseconds of the Unix epoch
	Token          types.Checksum256 // hash of Time, zero without authentication
	Sig            types.Signature   // of Token
	P2PAddress     string
	LIBNum         uint32 // last irreversible block
	LIBID          types.Checksum256
	HeadNum        uint32
	HeadID         types.Checksum256
	OS             string
	Agent          string
	Generation     int16 // counts the handshakes of a connection, from 1
}

// Connection is what is known of a connection to a peer.
type Connection struct {
	Peer             string // the address that was connected to; empty if the peer connected
	RemoteIP         string
	RemotePort       string
	Connecting       bool
	Syncing          bool // it catches up from this node
	BPPeer           bool // a block producer's
	GossipPeer       bool // a block producer's, as its signature says
	SocketOpen       bool
	BlocksOnly       bool
	TransactionsOnly bool
	LastVote         types.TimePoint // when a finalizer's vote came; zero if none did
	LastHandshake    Handshake       // zero if none came
}

// AppendJSON appends the object that nodeos' API shows (Spring: connection_status).
func (s Connection) AppendJSON(b []byte) []byte {
	text := func(key, v string) { b = variant.AppendString(variant.AppendKey(b, key), v) }
	flag := func(key string, v bool) { b = variant.AppendBool(variant.AppendKey(b, key), v) }
	b = append(b, '{')
	text("peer", s.Peer)
	text("remote_ip", s.RemoteIP)
	text("remote_port", s.RemotePort)
	flag("connecting", s.Connecting)
	flag("syncing", s.Syncing)
	flag("is_bp_peer", s.BPPeer)
	flag("is_bp_gossip_peer", s.GossipPeer)
	flag("is_socket_open", s.SocketOpen)
	flag("is_blocks_only", s.BlocksOnly)
	flag("is_transactions_only", s.TransactionsOnly)
	b = s.LastVote.AppendJSON(variant.AppendKey(b, "last_vote_received"))
	return append(s.LastHandshake.AppendJSON(variant.AppendKey(b, "last_handshake")), '}')
}

// GossipPeer is where a block producer says that it can be reached.
type GossipPeer struct {
	Producer   types.Name
	Server     string               // host:port to connect to
	Outbound   string               // IP address that it connects from
	Expiration types.BlockTimestamp // it is forgotten when a head block has this time
}

// AppendJSON appends the object that Spring's API shows (gossip_peer).
func (p GossipPeer) AppendJSON(b []byte) []byte {
	b = p.Producer.AppendJSON(variant.AppendKey(append(b, '{'), "producer_name"))
	b = variant.AppendString(variant.AppendKey(b, "server_endpoint"), p.Server)
	b = variant.AppendString(variant.AppendKey(b, "outbound_ip_address"), p.Outbound)
	return append(p.Expiration.AppendJSON(variant.AppendKey(b, "expiration")), '}')
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
