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

// runState is the life of a connection in the protocol of states, beside run. go-opera takes a peer
// that does not speak it for useless. One goroutine reads, one answers.
func (n *Node) runState(conn *p2p.Peer, rw p2p.MsgReadWriter) error {
	if !conn.RunningCap(protocolName, []uint{withoutChunks, newest}) {
		return p2p.DiscUselessPeer // it would keep a place for nothing
	}
	rw, end := n.gives(conn, rw)
	defer end()
	ctx, cancel := context.WithCancel(n.ctx)
	requests := make(chan fsnap.Message, n.limits.StateRequests)
	var answering sync.WaitGroup
	answering.Go(func() {
		if err := n.answerStates(ctx, rw, requests); err != nil {
			conn.Disconnect(p2p.DiscSubprotocolError)
		}
	})
	err := n.readStates(ctx, rw, requests)
	cancel()
	conn.Disconnect(p2p.DiscSubprotocolError) // ends a write that the peer does not take
	answering.Wait()
	if n.ctx.Err() == nil && errors.Is(err, fsnap.ErrMalformed) {
		n.o.Notice(fmt.Errorf("leave peer %s (%s): %w", conn.Fullname(), conn.ID().TerminalString(), err))
	}
	return err
}

// readStates reads requests until the connection ends.
func (n *Node) readStates(ctx context.Context, rw p2p.MsgReadWriter, requests chan<- fsnap.Message) error {
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

// answerStates answers a peer's requests, one after the other.
func (n *Node) answerStates(ctx context.Context, rw p2p.MsgWriter, requests <-chan fsnap.Message) error {
	for {
		select {
		case m := <-requests:
			raw, err := n.stateAnswer(ctx, m)
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

// stateAnswer makes an answer when it is the peer's turn: few are made at a time for all peers.
func (n *Node) stateAnswer(ctx context.Context, m fsnap.Message) (message, error) {
	select {
	case n.stating <- struct{}{}:
		defer func() { <-n.stating }()
	case <-ctx.Done():
		return message{}, context.Cause(ctx)
	}
	answer, err := n.states.Answer(m)
	if err != nil {
		n.o.Notice(fmt.Errorf("give a state: %w", err))
	}
	raw, err := rlp.EncodeToBytes(answer)
	if err != nil {
		return message{}, fmt.Errorf("encode a message of states: %w", err)
	}
	return message{answer.Code(), raw}, nil
}
