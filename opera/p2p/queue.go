package p2p

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
)

// errFull is of a message for which a peer's queue has no room.
var errFull = errors.New("the queue is full")

// message is what is queued: a code and its encoding, which may be queued to many.
type message struct {
	code uint64
	raw  []byte
}

// queue is the messages that wait for a peer to read them. Any goroutine may use it.
type queue struct {
	items, bytes int // its bounds

	mu     sync.Mutex
	list   []message
	size   int
	filled chan struct{} // has a token while there may be something
	room   chan struct{} // has a token when something was taken
}

func newQueue(items, bytes int) *queue {
	return &queue{items: items, bytes: bytes, filled: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// put queues a message unless the queue is full. What is larger than the whole queue finds
// room in an empty one.
func (q *queue) put(m message) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.list) >= q.items || q.size >= q.bytes {
		return errFull
	}
	q.list, q.size = append(q.list, m), q.size+len(m.raw)
	token(q.filled)
	return nil
}

// wait queues a message as soon as there is room. One goroutine at a time may wait.
func (q *queue) wait(ctx context.Context, m message) error {
	for q.put(m) != nil {
		select {
		case <-q.room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// take returns the oldest message as soon as there is one. One goroutine takes.
func (q *queue) take(ctx context.Context) (message, error) {
	for {
		q.mu.Lock()
		if len(q.list) > 0 {
			m := q.list[0]
			q.list[0] = message{}
			q.list, q.size = q.list[1:], q.size-len(m.raw)
			q.mu.Unlock()
			token(q.room)
			return m, nil
		}
		q.list = nil
		q.mu.Unlock()
		select {
		case <-q.filled:
		case <-ctx.Done():
			return message{}, ctx.Err()
		}
	}
}

// token leaves a token in a channel that has room for one.
func token(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// known is the things that a peer is known to have, the newest of them. Two things are
// taken for one with a chance of 2^-64: then one is not told to that peer. Any goroutine
// may use it.
type known struct {
	mu   sync.Mutex
	has  map[uint64]struct{}
	ring []uint64
	next int
	most int
}

func newKnown(most int) *known { return &known{has: map[uint64]struct{}{}, most: most} }

// short is what of a hash is remembered: its end, which is never a number.
func short[H hash32](h H) (s uint64) {
	bytes := [32]byte(h)
	return binary.BigEndian.Uint64(bytes[24:])
}

// add notes a thing, and tells whether it is new.
func (k *known) add(thing uint64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.has[thing]; ok {
		return false
	}
	if len(k.ring) < k.most {
		k.ring = append(k.ring, thing)
	} else {
		delete(k.has, k.ring[k.next])
		k.ring[k.next] = thing
		k.next = (k.next + 1) % k.most
	}
	k.has[thing] = struct{}{}
	return true
}

func (k *known) contains(thing uint64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, ok := k.has[thing]
	return ok
}
