// Package lightpeer is a light peer of an Opera network: it greets a node as another node does, has no
// chain, and fetches each event that the node tells of. Load tests let hundreds of them connect to a
// node, of any make. It owns one connection; it checks nothing of what it is sent.
package lightpeer

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/p2p/enode"
	"github.com/ethereum/go-ethereum/p2p/rlpx"
	"github.com/ethereum/go-ethereum/rlp"

	"tarn/opera/inter"
	"tarn/opera/p2p/fsnap"
)

// The codes of messages: of devp2p itself, and of the protocol of Opera behind those of fsnap
// (go-opera, gossip/protocol.go), which a node expects of its peers.
const (
	codeHello = iota
	codeDisconnect
	codePing
	codePong

	codeHandshake = 16 + fsnap.Codes + iota - 4
	codeProgress
	_ // transactions
	_ // their hashes
	_ // a request for them
	codeEventIDs
	codeGetEvents
	codeEvents
)

// devp2p is its version, the first whose messages are compressed.
const devp2p = 5

// greeting is how long a node may take to greet.
const greeting = 10 * time.Second

// hello is the first message of devp2p.
type hello struct {
	Version uint64
	Name    string
	Caps    []p2p.Cap
	Port    uint64
	ID      []byte
	Rest    []rlp.RawValue `rlp:"tail"`
}

// Peer is a connection to a node. It belongs to one goroutine, but for Bytes.
type Peer struct {
	// Seen is given the id of each event when it comes, once. It must be set before Follow.
	Seen func(id inter.EventID)
	// Bytes of all messages that came, as they are sent.
	Bytes atomic.Int64

	conn *rlpx.Conn
	has  map[inter.EventID]bool // whether an event came that the node told of
}

// Dial connects to a node, which an enode URL names, and greets it.
func Dial(ctx context.Context, url string) (*Peer, error) {
	node, err := enode.ParseV4(url)
	if err != nil {
		return nil, fmt.Errorf("read the node's URL: %w", err)
	}
	key, err := crypto.GenerateKey()
	if err != nil {
		return nil, fmt.Errorf("make a peer's key: %w", err)
	}
	address, _ := node.TCPEndpoint()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address.String())
	if err != nil {
		return nil, err
	}
	p := &Peer{conn: rlpx.NewConn(conn, node.Pubkey()), has: map[inter.EventID]bool{}}
	if err := p.greet(key); err != nil {
		return nil, errors.Join(fmt.Errorf("greet a node: %w", err), p.conn.Close())
	}
	return p, nil
}

// greet does what devp2p asks of a new connection.
func (p *Peer) greet(key *ecdsa.PrivateKey) error {
	if err := p.conn.SetDeadline(time.Now().Add(greeting)); err != nil {
		return err
	}
	if _, err := p.conn.Handshake(key); err != nil {
		return err
	}
	err := p.send(codeHello, hello{Version: devp2p, Name: "go-opera/light-peer",
		Caps: []p2p.Cap{{Name: fsnap.Name, Version: fsnap.Version}, {Name: "opera", Version: 63}},
		ID:   crypto.FromECDSAPub(&key.PublicKey)[1:]})
	if err != nil {
		return err
	}
	code, raw, err := p.receive()
	if err != nil {
		return err
	}
	if code != codeHello {
		return refusal(code, raw)
	}
	p.conn.SetSnappy(true)
	return p.conn.SetDeadline(time.Time{})
}

// refusal is why a node ends a connection.
func refusal(code uint64, raw []byte) error {
	if code != codeDisconnect {
		return fmt.Errorf("a message of code %d in place of a greeting", code)
	}
	var reasons []p2p.DiscReason
	if err := rlp.DecodeBytes(raw, &reasons); err != nil || len(reasons) != 1 {
		return fmt.Errorf("the node ends the connection, with reason %x", raw)
	}
	return fmt.Errorf("the node ends the connection: %w", reasons[0])
}

func (p *Peer) send(code uint64, message any) error {
	raw, err := rlp.EncodeToBytes(message)
	if err == nil {
		_, err = p.conn.Write(code, raw)
	}
	return err
}

func (p *Peer) receive() (code uint64, raw []byte, err error) {
	code, raw, wire, err := p.conn.Read()
	p.Bytes.Add(int64(wire))
	return code, raw, err
}

// Close ends the connection.
func (p *Peer) Close() error { return p.conn.Close() }

// Follow fetches the events that the node tells of, until ctx ends or the node ends the connection,
// which is an error.
func (p *Peer) Follow(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { p.conn.Close() })
	defer stop()
	for {
		code, raw, err := p.receive()
		if err == nil {
			err = p.answer(code, raw)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
	}
}

// answer does what a message asks for. The peer says of itself what the node says: the same network,
// and that it is as far.
func (p *Peer) answer(code uint64, raw []byte) error {
	switch code {
	case codeDisconnect:
		return refusal(code, raw)
	case codePing:
		return p.send(codePong, []byte{})
	case codeHandshake, codeProgress:
		_, err := p.conn.Write(code, raw)
		return err
	case codeEventIDs:
		return p.fetch(raw)
	case codeEvents:
		return p.take(raw)
	}
	return nil
}

// fetch asks for those of some events that are not known.
func (p *Peer) fetch(raw []byte) error {
	var ids, lacking []inter.EventID
	if err := rlp.DecodeBytes(raw, &ids); err != nil {
		return fmt.Errorf("read ids of events: %w", err)
	}
	for _, id := range ids {
		if _, known := p.has[id]; !known {
			p.has[id] = false
			lacking = append(lacking, id)
		}
	}
	if len(lacking) == 0 {
		return nil
	}
	return p.send(codeGetEvents, lacking)
}

// take notes events that came.
func (p *Peer) take(raw []byte) error {
	var events [][]byte
	if err := rlp.DecodeBytes(raw, &events); err != nil {
		return fmt.Errorf("read events: %w", err)
	}
	for _, raw := range events {
		e, err := inter.DecodePayload(raw)
		if err != nil {
			return err
		}
		if !p.has[e.ID()] {
			p.has[e.ID()] = true
			p.Seen(e.ID())
		}
	}
	return nil
}
