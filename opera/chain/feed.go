package chain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/ethereum/go-ethereum/core/types"

	"tarn/opera/eventcheck"
	"tarn/opera/inter"
	"tarn/opera/senderrecovery"
)

// Fed counts what came of events that were fed.
type Fed struct {
	Events, Txs int // connected
	Known       int // passed over: connected before, or of an epoch that is over
	Bytes       int // of both, as the source handed them out, which is ahead
}

// How many events are decoded and not connected yet, and how many bytes they have, about: so
// many that all processors have work while the writer waits for a root, and so few that there
// is room for the largest ones.
const (
	ahead      = 1024
	aheadBytes = 4 << 20 // decoded they take some six times as much
)

// byteBudget is a number of bytes that are taken and given back.
type byteBudget struct {
	mu   sync.Mutex
	free sync.Cond
	left int
}

func newByteBudget(bytes int) *byteBudget {
	r := &byteBudget{left: bytes}
	r.free.L = &r.mu
	return r
}

// take waits until something is left, takes so many bytes, which may be more, and tells
// whether the context still goes on.
func (r *byteBudget) take(ctx context.Context, bytes int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.left <= 0 && ctx.Err() == nil {
		r.free.Wait()
	}
	r.left -= bytes
	return ctx.Err() == nil
}

func (r *byteBudget) give(bytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left += bytes
	r.free.Broadcast()
}

// item is an event on its way from the source to the writer.
type item struct {
	raw      []byte
	event    *inter.Payload
	err      error
	verified bool             // of the present epoch when it was looked at, and right
	found    eventcheck.Ahead // of one that was of a later epoch
	ready    chan struct{}
}

// Feed connects the events of a source, which hands them out parents first and ends with
// [io.EOF]. They are decoded and their signatures checked on all processors, those of later epochs with the keys
// of the present one, and connected in their order by the caller, the writer. Events that the chain knows, or
// whose epoch is over, are passed over. It stops at the first event that is wrong, and when the context ends.
func (c *Chain) Feed(ctx context.Context, next func() ([]byte, error), each func(Fed)) (Fed, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	order, work := make(chan *item, ahead), make(chan *item, ahead)
	r := newByteBudget(aheadBytes)
	defer context.AfterFunc(ctx, func() { r.give(0) })()
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() { c.verifier.decode(work) })
	}
	all.Go(func() { read(ctx, next, r, order, work) })
	var fed Fed
	for {
		if err := ctx.Err(); err != nil { // before an event that is ready
			return fed, err
		}
		select {
		case <-ctx.Done():
			return fed, ctx.Err()
		case it, more := <-order:
			if !more {
				return fed, ctx.Err()
			}
			<-it.ready
			if errors.Is(it.err, io.EOF) {
				return fed, nil
			}
			if err := c.take(it, &fed); err != nil {
				return fed, fmt.Errorf("event %d: %w", fed.Events+fed.Known, err)
			}
			r.give(len(it.raw))
			if each != nil {
				each(fed)
			}
		}
	}
}

// read reads a source and hands each event to who decodes and to who connects.
func read(ctx context.Context, next func() ([]byte, error), r *byteBudget, order, work chan<- *item) {
	defer close(work)
	defer close(order)
	for {
		it := &item{ready: make(chan struct{})}
		it.raw, it.err = next()
		if it.err != nil {
			close(it.ready)
		} else if !r.take(ctx, len(it.raw)) {
			return
		}
		select {
		case order <- it:
		case <-ctx.Done():
			return
		}
		if it.err != nil {
			return
		}
		work <- it // it has as much room as order
	}
}

// decode decodes and verifies what comes: several events together, as long as they have few
// transactions, because senders are found together.
func (v *Verifier) decode(work <-chan *item) {
	var list []*item
	var txs types.Transactions
	for it := range work {
		list, txs = list[:0], txs[:0]
		for it != nil {
			list = append(list, it)
			if it.event, it.err = inter.DecodePayload(it.raw); it.err == nil {
				txs = append(txs, it.event.Txs...)
			}
			it = nil
			if len(txs) < senderrecovery.Together && len(list) < senderrecovery.Together {
				select {
				case it = <-work: // nil at the end
				default:
				}
			}
		}
		v.senders.Find(txs)
		for _, it := range list {
			v.finish(it)
			close(it.ready)
		}
		clear(list)
		clear(txs)
	}
}

// finish verifies an event that was decoded.
func (v *Verifier) finish(it *item) {
	if it.err == nil {
		it.err = v.find(it.event)
	}
	if it.err != nil {
		return
	}
	signatures := v.now()
	err := signatures.Event(it.event, eventcheck.Ahead{})
	it.verified = err == nil
	if it.event.Epoch > signatures.Epoch {
		it.found = signatures.Ahead(it.event)
	}
	// Of which epoch it is, only the writer knows for certain.
	if !errors.Is(err, eventcheck.ErrNotRelevant) && !errors.Is(err, eventcheck.ErrUnknownEpochBVs) &&
		!errors.Is(err, eventcheck.ErrUnknownEpochEV) {
		it.err = err
	}
}

// take connects an event.
func (c *Chain) take(it *item, fed *Fed) error {
	if it.err != nil {
		return it.err
	}
	fed.Bytes += len(it.raw)
	p := it.event
	known := p.Epoch < c.epoch.Epoch
	if !known {
		_, known = c.vertices[p.ID()]
	}
	if known {
		fed.Known++
		return nil
	}
	if !it.verified {
		if err := c.verifier.now().Event(p, it.found); err != nil {
			return fmt.Errorf("%v: %w", p.ID(), err)
		}
	}
	if err := c.Connect(p, nil); err != nil {
		return fmt.Errorf("%v: %w", p.ID(), err)
	}
	fed.Events++
	fed.Txs += len(p.Txs)
	return nil
}
