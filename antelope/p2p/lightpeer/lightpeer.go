// Package lightpeer is a light peer: it speaks the protocol of package p2p and has no
// chain. Load tests let hundreds of them connect to a node, of any make, and hostile
// ones are made of it. It owns one connection's framing and the answers that keep
// it open; it never checks what it is sent.
package lightpeer

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"tarn/antelope/p2p"
	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// Peer is a connection to a node. One goroutine receives; any goroutine sends.
type Peer struct {
	// Hello is what [Peer.SendHandshake] says. It may be changed before.
	Hello p2p.Handshake

	// What [Peer.Follow] has seen, in messages.
	Blocks, Transactions, Others atomic.Int64
	// Bytes of all messages that came.
	Bytes atomic.Int64

	// Seen, if it is set, is given each block and transaction that [Peer.Follow]
	// receives, as the frame after its length, good until Seen returns.
	Seen func(t p2p.Type, frame []byte)

	conn net.Conn
	in   *bufio.Reader
	buf  []byte

	mu         sync.Mutex
	generation int16
}

// Dial connects to a node of the chain. Nothing has been said yet.
func Dial(ctx context.Context, address string, chain types.Checksum256) (*Peer, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return New(conn, chain), nil
}

// New makes a peer of a connection, which it then owns.
func New(conn net.Conn, chain types.Checksum256) *Peer {
	p := &Peer{conn: conn, in: bufio.NewReaderSize(conn, 4<<10)}
	p.Hello = p2p.Handshake{NetworkVersion: p2p.NetworkVersion, ChainID: chain, OS: "linux", Agent: "tarn light peer"}
	_, _ = rand.Read(p.Hello.NodeID[:]) // never fails
	p.Hello.P2PAddress = conn.LocalAddr().String() + " - " + p.Hello.NodeID.String()[:7]
	return p
}

// Close ends the connection.
func (p *Peer) Close() error { return p.conn.Close() }

// SetDeadline bounds what follows, as that of net.Conn.
func (p *Peer) SetDeadline(t time.Time) error { return p.conn.SetDeadline(t) }

// Send sends a message.
func (p *Peer) Send(m p2p.Message) error {
	frame, err := p2p.AppendFrame(nil, m)
	if err != nil {
		return err
	}
	return p.SendRaw(frame)
}

// SendRaw sends bytes as they are.
func (p *Peer) SendRaw(b []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := p.conn.Write(b)
	return err
}

// SendHandshake sends Hello with the present time and the next generation.
func (p *Peer) SendHandshake() error {
	p.mu.Lock()
	p.generation++
	h := p.Hello
	h.Generation = p.generation
	p.mu.Unlock()
	h.Time = time.Now().UnixNano()
	return p.Send(h)
}

// frame returns what follows the length of the next frame, good until the next call.
func (p *Peer) frame() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(p.in, head[:]); err != nil {
		return nil, err
	}
	size := int(binary.LittleEndian.Uint32(head[:]))
	if size == 0 || size > 64<<20 {
		return nil, fmt.Errorf("a message says that it has %d bytes", size)
	}
	if size > cap(p.buf) {
		p.buf = make([]byte, size)
	}
	p.buf = p.buf[:size]
	n, err := io.ReadFull(p.in, p.buf)
	p.Bytes.Add(int64(n))
	return p.buf, err
}

// Receive returns the next message, as [p2p.Decode] does.
func (p *Peer) Receive() (p2p.Message, error) {
	b, err := p.frame()
	if err != nil {
		return nil, err
	}
	return p2p.Decode(b)
}

// Until returns the next message that is one of T, and drops those before it.
func Until[T p2p.Message](p *Peer) (m T, err error) {
	for {
		got, err := p.Receive()
		if err != nil {
			return m, err
		}
		if m, ok := got.(T); ok {
			return m, nil
		}
	}
}

// Fetch asks for a range of blocks, both ends included, and drops them. It answers
// time messages meanwhile. ctx's end closes the connection.
func (p *Peer) Fetch(ctx context.Context, from, to uint32) error {
	defer context.AfterFunc(ctx, func() { p.conn.Close() })()
	if err := p.Send(p2p.SyncRequest{Start: from, End: to}); err != nil {
		return err
	}
	for from <= to {
		m, err := p.Receive()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return err
		}
		switch m := m.(type) {
		case *types.SignedBlock:
			if m.BlockNum() == from {
				from++
			}
		case p2p.Time:
			err = p.answer(m)
		case p2p.GoAway:
			err = fmt.Errorf("the node sent us away: %v", m.Reason)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// answer answers a time message that asks.
func (p *Peer) answer(m p2p.Time) error {
	if m.Origin != 0 {
		return nil
	}
	now := time.Now().UnixNano()
	return p.Send(p2p.Time{Origin: m.Transmit, Receive: now, Transmit: now})
}

// Follow keeps the connection as a node does that has all blocks: it says so with
// each handshake and notice that comes, answers time messages, and counts what it is
// sent without decoding it. It returns why the connection ended: ctx's error, a
// go_away, a failure.
func (p *Peer) Follow(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { p.conn.Close() })()
	for {
		b, err := p.frame()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		if err := p.follow(b); err != nil {
			return err
		}
	}
}

func (p *Peer) follow(b []byte) error {
	t := p2p.Type(serial.NewReader(b).Varuint32())
	if p.Seen != nil && (t == p2p.TypeBlock || t == p2p.TypeTransaction) {
		p.Seen(t, b)
	}
	switch t {
	case p2p.TypeBlock:
		p.Blocks.Add(1)
		return nil
	case p2p.TypeTransaction:
		p.Transactions.Add(1)
		return nil
	}
	p.Others.Add(1)
	m, err := p2p.Decode(b)
	if err != nil {
		return err
	}
	switch m := m.(type) {
	case p2p.Handshake:
		p.Hello.HeadNum, p.Hello.HeadID = m.HeadNum, m.HeadID
		p.Hello.LIBNum, p.Hello.LIBID = m.LIBNum, m.LIBID
		return p.SendHandshake()
	case p2p.Notice:
		if len(m.Blocks.IDs) > 0 {
			p.Hello.HeadID = m.Blocks.IDs[0]
			p.Hello.HeadNum = types.BlockNum(p.Hello.HeadID)
			return p.SendHandshake()
		}
	case p2p.Time:
		return p.answer(m)
	case p2p.GoAway:
		return fmt.Errorf("the node sent us away: %v", m.Reason)
	}
	return nil
}
