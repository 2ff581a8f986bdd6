package p2p

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/rlp"

	"tarn/opera/p2p/fsnap"
	"tarn/opera/statesync"
)

// Givers are the peers whom a download asks for parts of a state; [statesync.Syncer] is that.
type Givers interface {
	// Add has a peer asked from now on. Any goroutine may call it.
	Add(statesync.Peer)
	// Remove has a peer asked no more. The caller ends the requests that the peer has.
	Remove(statesync.Peer)
}

// statePeer is a peer that may be asked for parts of a state. Any goroutine may ask.
type statePeer struct {
	name string
	rw   p2p.MsgReadWriter
	ctx  context.Context // until the connection ends
	drop func(why error)

	mu      sync.Mutex
	last    uint64 // number of a request
	waiting map[uint64]waits
}

// waits is a request that waits for its answer.
type waits struct {
	code   uint64 // of the answer
	answer chan fsnap.Message
}

var _ statesync.Peer = (*statePeer)(nil)

func newStatePeer(ctx context.Context, name string, rw p2p.MsgReadWriter, drop func(error)) *statePeer {
	return &statePeer{name: name, rw: rw, ctx: ctx, drop: drop, waiting: map[uint64]waits{}}
}

// Name implements statesync.Peer.
func (g *statePeer) Name() string { return g.name }

// Drop implements statesync.Peer.
func (g *statePeer) Drop(why error) { g.drop(why) }

// ask sends the request that make makes with a number, and waits for its answer.
func (g *statePeer) ask(ctx context.Context, request func(id uint64) fsnap.Message) (fsnap.Message, error) {
	g.mu.Lock()
	g.last++
	m := request(g.last)
	w := waits{m.Code() + 1, make(chan fsnap.Message, 1)}
	g.waiting[m.Number()] = w
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.waiting, m.Number())
	}()
	if err := p2p.Send(g.rw, m.Code(), m); err != nil {
		return nil, fmt.Errorf("ask for a part of a state: %w", err)
	}
	select {
	case a := <-w.answer:
		return a, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-g.ctx.Done():
		return nil, context.Cause(g.ctx)
	}
}

// idle tells whether no request waits.
func (g *statePeer) idle() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting) == 0
}

// waits tells for which answer a request of that number waits.
func (g *statePeer) waits(number uint64) (waits, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	w, ok := g.waiting[number]
	return w, ok
}

// take reads an answer, and gives it to who waits for it. What nobody waits for came too late, or was
// not asked for: nothing of it but its number is looked at, and not even that while no request waits.
func (g *statePeer) take(m p2p.Msg, room *budget) error {
	if m.Size > fsnap.MaxAnswer {
		return errTooLong
	}
	if g.idle() {
		return nil
	}
	if err := room.acquire(g.ctx, int(m.Size)); err != nil {
		return err
	}
	defer room.release(int(m.Size))
	raw := make([]byte, m.Size)
	if _, err := io.ReadFull(m.Payload, raw); err != nil {
		return fmt.Errorf("read an answer: %w", err)
	}
	parts, _, err := rlp.SplitList(raw)
	var number uint64
	if err == nil {
		number, _, err = rlp.SplitUint64(parts)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errDecode, err)
	}
	w, ok := g.waits(number)
	if !ok {
		return nil
	}
	if w.code != m.Code {
		return fmt.Errorf("%w: %d, not %d, answers a request", errCode, m.Code, w.code)
	}
	a, err := fsnap.Decode(m.Code, raw)
	if err != nil {
		return fmt.Errorf("%w: %w", errDecode, err)
	}
	select {
	case w.answer <- a:
	default: // the second answer to one request
	}
	return nil
}

// askFor asks for something that is answered by an A, as take has seen to.
func askFor[A fsnap.Message](
	ctx context.Context, g *statePeer, request func(id uint64) fsnap.Message,
) (answer A, err error) {
	m, err := g.ask(ctx, request)
	if err != nil {
		return answer, err
	}
	return m.(A), nil
}

// Accounts implements statesync.Peer.
func (g *statePeer) Accounts(
	ctx context.Context, root, from, to common.Hash, bytes uint64,
) (*statesync.Accounts, error) {
	a, err := askFor[*fsnap.Accounts](ctx, g, func(id uint64) fsnap.Message {
		return &fsnap.GetAccounts{ID: id, Root: root, From: from, To: to, Bytes: bytes}
	})
	if err != nil {
		return nil, err
	}
	got := &statesync.Accounts{Proof: a.Proof, Leaves: make([]statesync.Leaf, len(a.Accounts))}
	for i, l := range a.Accounts {
		got.Leaves[i] = statesync.Leaf{Hash: l.Hash, Body: l.Body}
	}
	return got, nil
}

// Slots implements statesync.Peer.
func (g *statePeer) Slots(
	ctx context.Context, root common.Hash, accounts []common.Hash, from common.Hash, bytes uint64,
) (*statesync.Slots, error) {
	s, err := askFor[*fsnap.Slots](ctx, g, func(id uint64) fsnap.Message {
		m := &fsnap.GetSlots{ID: id, Root: root, Accounts: accounts, Bytes: bytes}
		if from != (common.Hash{}) {
			m.From = from[:]
		}
		return m
	})
	if err != nil {
		return nil, err
	}
	got := &statesync.Slots{Proof: s.Proof, Of: make([][]statesync.Leaf, len(s.Of))}
	for i, slots := range s.Of {
		got.Of[i] = make([]statesync.Leaf, len(slots))
		for j, l := range slots {
			got.Of[i][j] = statesync.Leaf{Hash: l.Hash, Body: l.Body}
		}
	}
	return got, nil
}

// Codes implements statesync.Peer.
func (g *statePeer) Codes(ctx context.Context, hashes []common.Hash, bytes uint64) ([][]byte, error) {
	c, err := askFor[*fsnap.CodesOf](ctx, g, func(id uint64) fsnap.Message {
		return &fsnap.GetCodes{ID: id, Hashes: hashes, Bytes: bytes}
	})
	if err != nil {
		return nil, err
	}
	return c.Codes, nil
}

// requesting is a connection without the answers that it brings: a giver takes them.
type requesting struct {
	p2p.MsgReadWriter
	answers *statePeer
	room    *budget
}

// ReadMsg implements p2p.MsgReader.
func (r *requesting) ReadMsg() (p2p.Msg, error) {
	for {
		m, err := r.MsgReadWriter.ReadMsg()
		if err != nil || m.Code%2 == 0 {
			return m, err
		}
		err = r.answers.take(m, r.room)
		if err = errors.Join(err, m.Discard()); err != nil {
			return p2p.Msg{}, err
		}
	}
}

// gives has a peer asked for states, if this node wants any, until the context ends or the function
// is called that is returned. What is read from the connection that is returned are requests.
func (x *exchange) gives(
	ctx context.Context, conn *p2p.Peer, rw p2p.MsgReadWriter,
) (requests p2p.MsgReadWriter, end func()) {
	if x.o.Givers == nil || !conn.RunningCap(protocolName, []uint{newest}) {
		return rw, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	g := newStatePeer(ctx, conn.Fullname(), rw, func(why error) {
		x.o.Notice(fmt.Errorf("leave peer %s (%s): %w", conn.Fullname(), conn.ID().TerminalString(), why))
		conn.Disconnect(p2p.DiscUselessPeer)
	})
	x.o.Givers.Add(g)
	return &requesting{rw, g, x.reading}, func() {
		cancel(errGone)
		x.o.Givers.Remove(g)
	}
}

// errGone is why a request to a peer that is gone has no answer.
var errGone = errors.New("the connection has ended")
