package p2p

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/p2p/enode"
	"github.com/ethereum/go-ethereum/rlp"

	"tarn/opera/inter"
)

// errClosed is why peers are left when the node is closed.
var errClosed = errors.New("the node is closed")

// peer is a connection that speaks the protocol.
type peer struct {
	id      enode.ID
	name    string // what the other side calls itself
	version uint
	// useless peers are not asked for streams and get no whole events: their software is
	// another one, or lacks what go-opera wants of a peer.
	useless bool
	rw      p2p.MsgReadWriter
	limits  *Limits

	queue       *queue
	events, txs *known
	requests    chan message // to be answered
	streams     map[uint64]*seeder

	ctx   context.Context // until the peer is left
	leave context.CancelCauseFunc

	mu       sync.Mutex
	progress Progress
}

// newPeer returns a peer that is not running yet.
func newPeer(ctx context.Context, id enode.ID, name string, version uint, rw p2p.MsgReadWriter, limits *Limits) *peer {
	p := &peer{
		id: id, name: name, version: version, rw: rw, limits: limits,
		queue:  newQueue(limits.QueueItems, limits.QueueBytes),
		events: newKnown(limits.Known), txs: newKnown(limits.Known), requests: make(chan message, limits.Requests),
		streams: map[uint64]*seeder{},
	}
	p.ctx, p.leave = context.WithCancelCause(ctx)
	return p
}

func (p *peer) latestProgress() Progress {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.progress
}

func (p *peer) setProgress(progress Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.progress = progress
}

// interested tells whether the peer can use an event and is not known to have it.
func (p *peer) interested(id inter.EventID) bool {
	at := p.latestProgress().Epoch
	return at != 0 && (id.Epoch() == at || id.Epoch() == at+1) && !p.events.contains(short(id))
}

// send queues a message; errFull if there is no room.
func (p *peer) send(code uint64, v any) error {
	m, err := newMessage(code, v)
	if err != nil {
		return err
	}
	return p.queue.put(m)
}

// newMessage encodes a message, which may be queued to many.
func newMessage(code uint64, v any) (message, error) {
	raw, err := rlp.EncodeToBytes(v)
	if err != nil {
		return message{}, fmt.Errorf("encode message %d: %w", code, err)
	}
	return message{code, raw}, nil
}

// write writes what is queued until the peer is left.
func (p *peer) write() {
	for {
		m, err := p.queue.take(p.ctx)
		if err == nil {
			err = writeMessage(p.rw, m)
		}
		if err != nil {
			p.leave(fmt.Errorf("write: %w", err))
			return
		}
	}
}

// largest is how large a message of a code may be: only those with events, transactions
// and records in them may be large.
func largest(code uint64) uint32 {
	switch code {
	case codeTxs, codeEvents, codeEventsChunk, codeBlockVotesChunk, codeBlockRecordsChunk, codeEpochPacksChunk:
		return maxMessage
	}
	return maxSmall
}

// read reads the next message. Room for it is to be released when it was handled.
func (p *peer) read(room *budget) (m message, release func(), err error) {
	in, err := p.rw.ReadMsg()
	if err != nil {
		return message{}, nil, err
	}
	defer in.Discard()
	if in.Size > largest(in.Code) {
		return message{}, nil, fmt.Errorf("%w: %d bytes of code %d", errTooLong, in.Size, in.Code)
	}
	if err := room.acquire(p.ctx, int(in.Size)); err != nil {
		return message{}, nil, err
	}
	release = sync.OnceFunc(func() { room.release(int(in.Size)) })
	m = message{in.Code, make([]byte, in.Size)}
	if _, err := io.ReadFull(in.Payload, m.raw); err != nil {
		release()
		return message{}, nil, fmt.Errorf("read message %d: %w", in.Code, err)
	}
	return m, release, nil
}

// shake exchanges handshakes, and tells how far this node is. Nothing else is read or
// written meanwhile.
func (p *peer) shake(genesis [32]byte, network uint64, at Progress, patience time.Duration) error {
	wrote, read := make(chan error, 1), make(chan error, 1)
	go func() {
		err := p2p.Send(p.rw, codeHandshake, &handshake{Version: uint32(p.version), Genesis: genesis})
		if err == nil {
			err = p2p.Send(p.rw, codeProgress, &at)
		}
		wrote <- err
	}()
	go func() { read <- p.readHandshake(genesis, network) }()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	// What the peer says is read even where nothing can be written, because it tells why the peer
	// left; and the peer is told who this node is even if it is not wanted, so that it knows why.
	var first error
	for _, part := range []chan error{read, wrote} {
		select {
		case err := <-part:
			if first == nil {
				first = err
			}
		case <-timeout.C:
			return cmp.Or(first, error(p2p.DiscReadTimeout))
		case <-p.ctx.Done():
			return context.Cause(p.ctx)
		}
	}
	return first
}

// readHandshake has room of its own: who connects must not wait behind what other peers sent.
func (p *peer) readHandshake(genesis [32]byte, network uint64) error {
	m, _, err := p.read(newBudget(1, maxSmall))
	if err != nil {
		return err
	}
	if m.code != codeHandshake {
		return fmt.Errorf("%w: the first message has code %d", errNoStatus, m.code)
	}
	var theirs handshake
	if err := decode(m.raw, &theirs); err != nil {
		return err
	}
	switch {
	case theirs.Genesis != genesis:
		return fmt.Errorf("%w: %x, not %x", errGenesis, theirs.Genesis[:8], genesis[:8])
	case theirs.Network != 0 && theirs.Network != network:
		return fmt.Errorf("%w: %d, not %d", errNetwork, theirs.Network, network)
	case uint(theirs.Version) != p.version:
		return fmt.Errorf("%w: %d, not %d", errVersion, theirs.Version, p.version)
	}
	return nil
}

// writeMessage writes a message that is encoded already.
func writeMessage(w p2p.MsgWriter, m message) error {
	return p2p.Send(w, m.code, rlp.RawValue(m.raw))
}
