package p2p

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/rlp"

	"tarn/opera/chain"
	"tarn/opera/p2p/fsnap"
	"tarn/opera/state"
)

// nobody holds a state.
type nobody struct{}

// Held implements fsnap.Holder.
func (nobody) Held() (*state.Provable, func() error, error) { return nil, nil, nil }

// NewStates returns what a chain has to give: the state with which the present epoch began.
func NewStates(c *chain.Chain) fsnap.Holder { return states{c} }

type states struct{ chain *chain.Chain }

// Held implements fsnap.Holder.
func (s states) Held() (*state.Provable, func() error, error) {
	b := s.chain.Beginning()
	if b == nil {
		return nil, nil, nil
	}
	held, err := b.State()
	if err != nil {
		return nil, nil, errors.Join(err, b.Release())
	}
	return held, b.Release, nil
}

// exchange is the part of a node that speaks the protocol of states: it gives peers the state that is
// held, and has those asked who hold one that this node wants.
type exchange struct {
	o       *Options
	limits  *Limits
	ctx     context.Context // of the node
	reading *budget         // for answers
	server  *fsnap.Server
	turns   chan struct{} // has an entry for each answer that is being made
}

// newExchange returns it for a node whose options, limits, context and room are there.
func newExchange(n *Node) *exchange {
	return &exchange{
		o: &n.o, limits: &n.limits, ctx: n.ctx, reading: n.reading,
		server: fsnap.NewServer(n.o.States, n.limits.State), turns: make(chan struct{}, n.limits.StateAnswers),
	}
}

// run is the life of a connection in the protocol of states, beside Node.run. go-opera takes a peer
// that does not speak it for useless. One goroutine reads, one answers; each ends when the other does.
func (x *exchange) run(conn *p2p.Peer, rw p2p.MsgReadWriter) error {
	if !conn.RunningCap(protocolName, []uint{withoutChunks, newest}) {
		return p2p.DiscUselessPeer // it would keep a place for nothing
	}
	ctx, cancel := context.WithCancel(x.ctx)
	defer cancel()
	rw, end := x.gives(ctx, conn, rw)
	defer end()
	requests := make(chan fsnap.Message, x.limits.StateRequests)
	var answering sync.WaitGroup
	answering.Go(func() {
		defer cancel() // who reads may wait for room among the requests, or for all peers' room
		if err := x.answer(ctx, rw, requests); err != nil {
			conn.Disconnect(p2p.DiscSubprotocolError)
		}
	})
	err := readRequests(ctx, rw, requests)
	cancel()
	conn.Disconnect(p2p.DiscSubprotocolError) // ends a write that the peer does not take
	answering.Wait()
	if x.ctx.Err() == nil && errors.Is(err, fsnap.ErrMalformed) {
		x.o.Notice(fmt.Errorf("leave peer %s (%s): %w", conn.Fullname(), conn.ID().TerminalString(), err))
	}
	return err
}

// readRequests reads requests until the connection ends.
func readRequests(ctx context.Context, rw p2p.MsgReadWriter, requests chan<- fsnap.Message) error {
	for {
		m, err := readState(rw)
		if err != nil {
			return err
		}
		if m == nil {
			continue
		}
		select {
		case requests <- m:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// readState reads a message, nil if it is an answer, for which nobody has asked: this node asks
// nobody then.
func readState(rw p2p.MsgReadWriter) (fsnap.Message, error) {
	in, err := rw.ReadMsg()
	if err != nil {
		return nil, err
	}
	defer in.Discard()
	if in.Code >= fsnap.Codes || in.Size > fsnap.MaxSize(in.Code) {
		return nil, fmt.Errorf("%w: code %d, %d bytes", fsnap.ErrMalformed, in.Code, in.Size)
	}
	if in.Code%2 != 0 {
		return nil, nil
	}
	raw := make([]byte, in.Size)
	if _, err := io.ReadFull(in.Payload, raw); err != nil {
		return nil, fmt.Errorf("read a message of states: %w", err)
	}
	return fsnap.Decode(in.Code, raw)
}

// answer answers a peer's requests, one after the other.
func (x *exchange) answer(ctx context.Context, rw p2p.MsgWriter, requests <-chan fsnap.Message) error {
	for {
		select {
		case m := <-requests:
			raw, err := x.give(ctx, m)
			if err == nil {
				err = writeMessage(rw, raw)
			}
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// give makes an answer when it is the peer's turn: few are made at a time for all peers.
func (x *exchange) give(ctx context.Context, m fsnap.Message) (message, error) {
	select {
	case x.turns <- struct{}{}:
		defer func() { <-x.turns }()
	case <-ctx.Done():
		return message{}, context.Cause(ctx)
	}
	answer, err := x.server.Answer(m)
	if err != nil {
		x.o.Notice(fmt.Errorf("give a state: %w", err))
	}
	raw, err := rlp.EncodeToBytes(answer)
	if err != nil {
		return message{}, fmt.Errorf("encode a message of states: %w", err)
	}
	return message{answer.Code(), raw}, nil
}
