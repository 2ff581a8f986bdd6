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

// asked takes a request; false if the client asks for more than it takes. known returns
// the id that we have of a block.
func (s *session) asked(q wire.Request, known func(wire.Position) bool) bool {
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
	case q.Blocks != nil:
		s.begin(q.Blocks, known)
	}
	return true
}

// begin replaces what was asked before. The stream begins with the lowest block that the
// client has and we have otherwise, if that is below the one that it asks for.
func (s *session) begin(q *wire.BlocksRequest, known func(wire.Position) bool) {
	s.request, s.credits, s.have = q, q.Credits, q.Have
	s.next = max(q.Start, s.first)
	start := q.Start
	for _, p := range q.Have {
		if p.Num < start && !known(p) {
			start, s.next = p.Num, min(s.next, p.Num)
		}
	}
}

// accepted takes the stream back to the block that is the head now: after a switch of
// forks the numbers from there on are sent again. It does so even if nothing may be sent
// at the moment, which nodeos forgets.
func (s *session) accepted(t tip) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = t
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
// has is passed over; id returns the one that we have.
func (s *session) take(id func(num uint32) (wire.Position, bool)) (due, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.statuses > 0 {
		s.statuses--
		return due{at: s.at, status: true}, true
	}
	if s.request == nil || s.credits == 0 {
		return due{}, false
	}
	last := s.at.head.Num
	if s.request.Irreversible {
		last = s.at.irreversible.Num
	}
	for s.next <= last && s.next < s.request.End {
		num := s.next
		if num == math.MaxUint32 {
			break
		}
		s.next++
		if len(s.have) > 0 && s.have[0].Num == num {
			p, ok := id(num)
			same := ok && p == s.have[0]
			s.have = s.have[1:]
			if same {
				continue
			}
		}
		s.credits--
		return due{at: s.at, num: num, request: s.request}, true
	}
	return due{}, false
}
