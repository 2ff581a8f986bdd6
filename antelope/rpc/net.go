package rpc

import (
	"tarn/antelope/admintypes"
	"tarn/antelope/variant"
)

// Net is the node's connections (p2p.Network). Its methods may be called by all goroutines.
type Net interface {
	// Connect begins to connect to a peer, and returns the text that the API answers.
	Connect(address string) string
	// Disconnect ends the connection to a peer, and returns the text that the API answers.
	Disconnect(address string) string
	// Status tells about the peer at an address that this node connects to; false if there
	// is none.
	Status(address string) (admintypes.Connection, bool)
	// Connections lists all connections, those that are only being tried included, the
	// oldest first. The slice is the caller's.
	Connections() []admintypes.Connection
	// GossipPeers lists where block producers say that they can be reached, by their names. The
	// slice is the caller's.
	GossipPeers() []admintypes.GossipPeer
}

// peer reads a body that is an address.
func (q peers) peer() (string, error) {
	s, err := q.value.AsText()
	if err != nil {
		return "", invalid(err)
	}
	return s, nil
}

func (q peers) connect(b []byte) ([]byte, error) {
	s, err := q.peer()
	if err != nil {
		return b, err
	}
	return variant.AppendString(b, q.api.Net.Connect(s)), nil
}

func (q peers) disconnect(b []byte) ([]byte, error) {
	s, err := q.peer()
	if err != nil {
		return b, err
	}
	return variant.AppendString(b, q.api.Net.Disconnect(s)), nil
}

func (q peers) connectionStatus(b []byte) ([]byte, error) {
	s, err := q.peer()
	if err != nil {
		return b, err
	}
	c, ok := q.api.Net.Status(s)
	if !ok {
		return append(b, "null"...), nil
	}
	return c.AppendJSON(b), nil
}

func (q peers) connections(b []byte) ([]byte, error) {
	return variant.AppendList(b, q.api.Net.Connections(), func(b []byte, c *admintypes.Connection) []byte {
		return c.AppendJSON(b)
	}), nil
}

func (q peers) bpGossipPeers(b []byte) ([]byte, error) {
	return variant.AppendList(b, q.api.Net.GossipPeers(), func(b []byte, p *admintypes.GossipPeer) []byte {
		return p.AppendJSON(b)
	}), nil
}
