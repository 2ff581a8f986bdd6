package rpc

import (
	"tarn/antelope/types"
	"tarn/antelope/variant"
)

// Handshake is what a peer said of itself last.
type Handshake struct {
	NetworkVersion uint16
	ChainID        types.Checksum256
	NodeID         types.Checksum256
	Key            types.PublicKey
	Time           int64 // nanoseconds since 1970
	Token          types.Checksum256
	Sig            types.Signature
	P2PAddress     string
	LIBNum         uint32
	LIBID          types.Checksum256
	HeadNum        uint32
	HeadID         types.Checksum256
	OS             string
	Agent          string
	Generation     int16
}

// Connection is the state of a connection to a peer.
type Connection struct {
	Peer, RemoteIP, RemotePort   string
	Connecting, Syncing          bool
	BlockProducer, Open          bool
	BlocksOnly, TransactionsOnly bool
	Last                         Handshake
}

// Net is the node's connections. Its methods may be called by all goroutines.
type Net interface {
	Connect(address string) string    // what the API answers
	Disconnect(address string) string // the same
	Status(address string) (Connection, bool)
	Connections() []Connection
}

func (h *Handshake) append(b []byte) object {
	o := object(append(b, '{')).uint("network_version", uint64(h.NetworkVersion)).json("chain_id", h.ChainID)
	o = o.json("node_id", h.NodeID).json("key", h.Key).int("time", h.Time).json("token", h.Token).json("sig", h.Sig)
	o = o.text("p2p_address", h.P2PAddress).uint("last_irreversible_block_num", uint64(h.LIBNum))
	o = o.json("last_irreversible_block_id", h.LIBID).uint("head_num", uint64(h.HeadNum)).json("head_id", h.HeadID)
	return append(o.text("os", h.OS).text("agent", h.Agent).int("generation", int64(h.Generation)), '}')
}

func (c *Connection) append(b []byte) []byte {
	o := object(append(b, '{')).text("peer", c.Peer).text("remote_ip", c.RemoteIP).text("remote_port", c.RemotePort)
	o = o.boolean("connecting", c.Connecting).boolean("syncing", c.Syncing).boolean("is_bp_peer", c.BlockProducer)
	o = o.boolean("is_socket_open", c.Open).boolean("is_blocks_only", c.BlocksOnly)
	o = o.boolean("is_transactions_only", c.TransactionsOnly)
	return append(c.Last.append(variant.AppendKey(o, "last_handshake")), '}')
}

// peer reads a body that is an address.
func (q *query) peer() (string, error) {
	s, err := q.value.AsText()
	if err != nil {
		return "", invalid(err)
	}
	return s, nil
}

func (q *query) connect(b []byte) ([]byte, error) {
	s, err := q.peer()
	if err != nil {
		return b, err
	}
	return variant.AppendString(b, q.api.Net.Connect(s)), nil
}

func (q *query) disconnect(b []byte) ([]byte, error) {
	s, err := q.peer()
	if err != nil {
		return b, err
	}
	return variant.AppendString(b, q.api.Net.Disconnect(s)), nil
}

func (q *query) connectionStatus(b []byte) ([]byte, error) {
	s, err := q.peer()
	if err != nil {
		return b, err
	}
	c, ok := q.api.Net.Status(s)
	if !ok {
		return append(b, "null"...), nil
	}
	return c.append(b), nil
}

func (q *query) connections(b []byte) ([]byte, error) {
	return variant.AppendList(b, q.api.Net.Connections(), func(b []byte, c *Connection) []byte { return c.append(b) }), nil
}
