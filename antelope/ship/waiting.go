package ship

import (
	"context"
	"sync"

	"tarn/antelope/ship/wire"
)

// waiting are a client's requests for blocks that begin when nodes have been asked what they need of them: the newest
// one, and the acknowledgements after it. One goroutine begins them. Another hears the client, and never waits: so the
// connection's end is noticed while a node is silent.
type waiting struct {
	x        *session
	requests ration
	stir     chan struct{} // something has come; it has room for one

	mu     sync.Mutex
	next   *wire.BlocksRequest // nil for none
	taken  int64               // of the ration, by next
	begins bool                // one is being begun
	acks   uint32              // that came after it, or after next
	ended  bool
}

func newWaiting(x *session, requests ration) *waiting {
	return &waiting{x: x, requests: requests, stir: make(chan struct{}, 1)}
}

// take takes a request with its share of the ration; false if the client asks for more than it takes.
func (w *waiting) take(q wire.Request, taken int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if q.Blocks == nil || w.ended {
		w.requests.giveBack(taken)
		if q.Ack != nil && (w.next != nil || w.begins) {
			w.acks += *q.Ack // it wraps, as in nodeos
			return true
		}
		return w.ended || w.x.asked(q, reach{})
	}
	w.requests.giveBack(w.taken)
	w.next, w.taken, w.acks = q.Blocks, taken, 0
	select {
	case w.stir <- struct{}{}:
	default:
	}
	return true
}

// run begins what waits until ctx ends, or until look says that a request cannot be answered.
func (w *waiting) run(ctx context.Context, look func(*wire.BlocksRequest) (reach, error)) error {
	var held int64 // of the ration, by the request that has begun
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.requests.giveBack(held + w.taken)
		w.next, w.taken, w.ended = nil, 0, true
	}()
	for {
		q, taken := w.first()
		if q == nil {
			select {
			case <-w.stir:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			continue
		}
		within, err := look(q)
		if err != nil {
			w.requests.giveBack(taken)
			return err
		}
		w.x.asked(wire.Request{Blocks: q}, within)
		w.requests.giveBack(held)
		held = taken
		w.begun()
	}
}

// first is the request that begins now; nil if none waits.
func (w *waiting) first() (*wire.BlocksRequest, int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	q, taken := w.next, w.taken
	w.next, w.taken, w.begins = nil, 0, q != nil
	return q, taken
}

// begun has the acknowledgements after the request that has begun count.
func (w *waiting) begun() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begins = false
	if w.next != nil { // they are for that one
		return
	}
	acks := w.acks
	w.acks = 0
	w.x.asked(wire.Request{Ack: &acks}, reach{})
}
