package rpc

import (
	"tarn/antelope/control"
	"tarn/antelope/variant"
)

// Net is the node's connections (p2p.Network). Its methods may be called by all goroutines.
type Net interface {
	Connect(address string) string    // what the API answers
	Disconnect(address string) string // the same
	Status(address string) (control.Connection, bool)
	Connections() []control.Connection
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
	return variant.AppendList(b, q.api.Net.Connections(), func(b []byte, c *control.Connection) []byte { return c.AppendJSON(b) }), nil
}
