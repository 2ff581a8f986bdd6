package p2p

import (
	"context"
	"errors"
	"io"
	"net"

	"github.com/ethereum/go-ethereum/p2p"
)

// Refusal is a connection that ended because handshakes did not agree, on either side.
type Refusal struct {
	Reason  Reason
	Peer    string // the beginning of its id
	Name    string // what it says that it is, shortened
	Address string // of the connection's other end
	Kept    bool   // the operator named it: a static or trusted node
	Err     error
}

// Reason is why handshakes did not agree.
type Reason uint8

// Reasons why handshakes do not agree.
const (
	OtherGenesis Reason = iota
	OtherNetwork
	OtherVersion
	Malformed // the peer's first message is no handshake, or none that can be read
	Silent    // the peer said nothing in time
	Gone      // the peer left before it said anything that is wrong
	reasons
)

// String names a reason in one word.
func (r Reason) String() string {
	return [...]string{"genesis", "network", "version", "malformed", "silent", "gone"}[r]
}

// reasonOf returns why a handshake failed.
func reasonOf(err error) Reason {
	var network *net.OpError
	switch {
	case errors.Is(err, errGenesis):
		return OtherGenesis
	case errors.Is(err, errNetwork):
		return OtherNetwork
	case errors.Is(err, errVersion):
		return OtherVersion
	case errors.Is(err, p2p.DiscReadTimeout):
		return Silent
	case errors.Is(err, io.EOF), errors.Is(err, p2p.ErrShuttingDown), errors.As(err, &network):
		return Gone
	}
	return Malformed
}

// countRefusal counts a handshake that failed with a peer, and tells of it. What ends with this node is
// no refusal.
func (n *Node) countRefusal(p *peer, conn *p2p.Peer, err error) {
	if errors.Is(err, errClosed) || errors.Is(err, context.Canceled) {
		return
	}
	at := conn.Info().Network
	r := Refusal{
		Reason: reasonOf(err), Peer: p.id.TerminalString(), Name: conn.Name(), Address: at.RemoteAddress,
		Kept: at.Static || at.Trusted, Err: err,
	}
	n.refusals[r.Reason].Add(1)
	n.o.Refused(r)
}

// Refusals calls each for all reasons with the number of connections that ended for it.
func (n *Node) Refusals(each func(r Reason, count uint64)) {
	for r := range n.refusals {
		each(Reason(r), n.refusals[r].Load())
	}
}
