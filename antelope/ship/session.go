package ship

import (
	"math"
	"sync"

	"tarn/antelope/ship/wire"
)

// session is what one client has asked for and has been sent. What comes from the client
// and from the chain changes it; one goroutine asks for what is next.
type session struct {
	first uint32        // block of all that there is; it does not follow what is let go
	wake  chan struct{} // something has changed; it has room for one

	mu       sync.Mutex
	at       tip // where the history stands, for this session
	statuses int
	request  *wire.BlocksRequest // nil until the client has asked
	credits  uint32
	next     uint32 // block to send
	have     []wire.Position
	lowest   uint32 // head since a request began to be looked at
}

// mostStatuses bounds answers that a client has asked for and does not take.
const mostStatuses = 64

func newSession(first uint32, at tip) *session {
	return &session{first: first, at: at, wake: make(chan struct{}, 1)}
}

func (s *session) stir() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// asked takes a request; false if the client asks for more than it takes. known tells
// whether we have a block.
func (s *session) asked(q wire.Request, known func(wire.Position) bool) bool {
	if q.Blocks != nil {
		s.begin(q.Blocks, known)
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.stir()
	switch {
	case q.Status:
		s.statuses++
		return s.statuses <= mostStatuses
	case q.Ack != nil:
		if s.request != nil {
			s.credits += *q.Ack // it wraps, as in nodeos
		}
	}
	return true
}

// begin replaces what was asked before. The stream begins with the lowest block that the
// client has and we have otherwise, if that is below the one that it asks for.
//
// A list of positions may be long, so it is looked up while the chain goes on: what becomes
// the head meanwhile counts as if it had come right after.
func (s *session) begin(q *wire.BlocksRequest, known func(wire.Position) bool) {
	s.mu.Lock()
	s.lowest = math.MaxUint32
	s.mu.Unlock()
	next, start := max(q.Start, s.first), q.Start
	for _, p := range q.Have {
		if p.Num < start && !known(p) {
			start, next = p.Num, min(next, p.Num)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.request, s.credits, s.have = q, q.Credits, q.Have
	s.next = min(next, s.lowest)
	s.stir()
}

// accepted takes the stream back to the block that is the head now: after a switch of
// forks the numbers from there on are sent again. It does so even if nothing may be sent
// at the moment, which nodeos forgets.
func (s *session) accepted(t tip) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = t
	s.lowest = min(s.lowest, t.head.Num)
	if s.request != nil {
		s.next = min(s.next, t.head.Num)
	}
	s.stir()
}

// due is what a session is to send.
type due struct {
	at      tip
	status  bool
	num     uint32
	request *wire.BlocksRequest
}

// take returns what is to be sent next, if anything is. A block that the client said it
// has is passed over; id returns the one that we have, and is not waited for by the chain.
func (s *session) take(id func(num uint32) (wire.Position, bool)) (due, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.statuses > 0 {
		s.statuses--
		return due{at: s.at, status: true}, true
	}
	for s.ready() {
		num, request := s.next, s.request
		s.next++
		if len(s.have) > 0 && s.have[0].Num == num {
			p := s.have[0]
			s.have = s.have[1:]
			s.mu.Unlock()
			ours, ok := id(num)
			s.mu.Lock()
			// What has changed meanwhile is looked at again.
			if ok && ours == p || s.request != request || s.next != num+1 {
				continue
			}
			if s.credits == 0 {
				s.next = num
				break
			}
		}
		s.credits--
		return due{at: s.at, num: num, request: s.request}, true
	}
	return due{}, false
}

// ready tells whether the next block may be sent.
func (s *session) ready() bool {
	if s.request == nil || s.credits == 0 {
		return false
	}
	last := s.at.head.Num
	if s.request.Irreversible {
		last = s.at.irreversible.Num
	}
	return s.next <= last && s.next < s.request.End && s.next != math.MaxUint32
}
