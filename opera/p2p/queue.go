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

// queue is the messages that wait for a peer to read them. Parts of streams, of which a slow peer
// has many megabytes to read, wait in a lane of their own: news and requests pass them. Any goroutine
// may use it.
type queue struct {
	items, bytes int // bounds of a lane

	mu     sync.Mutex
	news   lane
	parts  lane
	passed int           // news that were taken since a part was, while one waited
	filled chan struct{} // has a token while there may be something
	room   chan struct{} // has a token when something was taken
}

// lane is messages in the order in which they are taken.
type lane struct {
	list []message
	size int // in bytes
}

// passing is how many news at most are taken before a part of a stream that waits.
const passing = 16

// newQueue returns a queue of so many messages and bytes, a half of the bytes for each lane.
func newQueue(items, bytes int) *queue {
	return &queue{items: items, bytes: bytes / 2, filled: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// laneOf returns where a message waits.
func (q *queue) laneOf(m message) *lane {
	switch m.code {
	case codeEventsChunk, codeBlockVotesChunk, codeBlockRecordsChunk, codeEpochPacksChunk:
		return &q.parts
	}
	return &q.news
}

// put queues a message unless its lane is full. What is larger than a whole lane finds
// room in an empty one.
func (q *queue) put(m message) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.laneOf(m)
	if len(l.list) >= q.items || l.size >= q.bytes {
		return errFull
	}
	l.list, l.size = append(l.list, m), l.size+len(m.raw)
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

// take returns the next message as soon as there is one. One goroutine takes.
func (q *queue) take(ctx context.Context) (message, error) {
	for {
		if m, ok := q.first(); ok {
			token(q.room)
			return m, nil
		}
		select {
		case <-q.filled:
		case <-ctx.Done():
			return message{}, ctx.Err()
		}
	}
}

// first takes the next message, if there is one.
func (q *queue) first() (message, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case len(q.parts.list) == 0:
		q.passed = 0
		return q.news.first()
	case len(q.news.list) == 0 || q.passed == passing:
		q.passed = 0
		return q.parts.first()
	}
	q.passed++
	return q.news.first()
}

// first takes the oldest message, if there is one.
func (l *lane) first() (message, bool) {
	if len(l.list) == 0 {
		l.list = nil
		return message{}, false
	}
	m := l.list[0]
	l.list[0] = message{}
	l.list, l.size = l.list[1:], l.size-len(m.raw)
	return m, true
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
