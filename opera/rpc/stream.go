package rpc

import (
	"context"
	"sync"
)

// stream is news of one kind in the order of its coming, the newest of it, once for all who hear it.
// Who has news leaves it here and goes on; who hears it remembers how far it is. Who falls behind
// what is kept has a hole, and hears no more. Any goroutine may use it.
type stream struct {
	most  int   // items
	bytes int64 // of all of them, and one item more

	mu      sync.Mutex
	items   []news
	first   uint64 // the number of items[0]
	size    int64
	hearers int
	changed chan struct{} // closed when there is more
}

// news is what subscribers get, and how many bytes that has.
type news struct {
	of   any
	size int64
}

func newStream(most int, bytes int64) *stream {
	return &stream{most: most, bytes: bytes, changed: make(chan struct{})}
}

// push adds news, if anybody hears it. It never waits for them.
func (s *stream) push(n news) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hearers == 0 {
		return
	}
	s.items, s.size = append(s.items, n), s.size+n.size
	for len(s.items) > 1 && (len(s.items) > s.most || s.size > s.bytes) {
		s.shift()
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *stream) shift() {
	s.size -= s.items[0].size
	s.items[0] = news{}
	s.items, s.first = s.items[1:], s.first+1
}

// lose has everybody miss something, because news was lost before it came here.
func (s *stream) lose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.items, s.first, s.size = nil, s.first+uint64(len(s.items))+1, 0
	close(s.changed)
	s.changed = make(chan struct{})
}

// heard tells whether anybody hears it.
func (s *stream) heard() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hearers > 0
}

// begin returns the number of the news that comes next. end follows.
func (s *stream) begin() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hearers++
	return s.first + uint64(len(s.items))
}

func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hearers--; s.hearers == 0 {
		s.first += uint64(len(s.items))
		s.items, s.size = nil, 0
	}
}

// wait returns the news of a number as soon as it is there. There is none if it has been lost, or
// the context ends.
func (s *stream) wait(ctx context.Context, number uint64) (of any, ok bool) {
	for {
		s.mu.Lock()
		at, n, changed := s.first, uint64(len(s.items)), s.changed
		if number >= at && number < at+n {
			of = s.items[number-at].of
			s.mu.Unlock()
			return of, true
		}
		s.mu.Unlock()
		if number < at {
			return nil, false
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, false
		}
	}
}
