package ship

import (
	"math"
	"sync"

	"tarn/antelope/ship/wire"
	"tarn/antelope/types"
)

// session is what one client has asked for and has been sent. What comes from the client
// and from the chain changes it; one goroutine asks for what is next.
type session struct {
	version      wire.Version // that it speaks, from its first frame on
	mostStatuses int          // that were asked for and not taken

	wake    chan struct{} // something has changed; it has room for one
	waiting *waiting      // requests that begin later, where nodes may have to be asked first; nil where none are

	mu       sync.Mutex
	first    uint32                       // block of all that there is; it does not follow what is let go
	older    map[uint32]types.Checksum256 // ids of blocks from before the history, that the client named
	at       tip                          // where the history stands
	news     uint32                       // first head that it has not answered yet; the one after the head if there is none
	statuses []wire.StatusRequest         // that were asked for and not taken, oldest first
	request  *wire.BlocksRequest          // nil until the client has asked
	credits  uint32
	next     uint32 // block to send
	have     []wire.Position
	lowest   uint32 // head since a request began to be looked at
}

// names are what a session asks of the history. The chain does not wait for the answers.
type names interface {
	// position is the block that we have of a number.
	position(num uint32) (wire.Position, bool)
	// tip is where the history stood when the block of a number became the head; false if
	// that is not in memory any more. It reads no files.
	tip(num uint32) (tip, bool)
}

func newSession(version wire.Version, first uint32, at tip, mostStatuses int) *session {
	return &session{version: version, mostStatuses: mostStatuses, first: first, at: at, news: at.head.Num + 1,
		wake: make(chan struct{}, 1)}
}

func (s *session) stir() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// asked takes a request; false if the client asks for more than it takes.
func (s *session) asked(q wire.Request, r reach) bool {
	if q.Blocks != nil {
		s.begin(q.Blocks, r)
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.stir()
	switch {
	case q.Status != nil:
		if len(s.statuses) >= s.mostStatuses {
			return false
		}
		s.statuses = append(s.statuses, *q.Status)
	case q.Ack != nil:
		if s.request != nil {
			s.credits += *q.Ack // it wraps, as in nodeos
		}
	}
	return true
}

// reach is what a request for blocks is held against.
type reach struct {
	has   func(wire.Position) bool     // whether we have a block
	first uint32                       // block of all that a node has; the session's, if that is less
	ids   map[uint32]types.Checksum256 // of blocks from before the history that the request names
}

// begin replaces what was asked before. The stream begins with the lowest block that the
// client has and we have otherwise, if that is below the one that it asks for. In Leap it does not
// begin before the first block that there is, and leaves out blocks that the client has; Spring does
// what it is asked for (Spring: session.hpp, read_loop).
//
// A list of positions may be long, so it is looked up while the chain goes on: what becomes
// the head meanwhile counts as if it had come right after.
func (s *session) begin(q *wire.BlocksRequest, r reach) {
	s.mu.Lock()
	s.lowest = math.MaxUint32
	first := min(s.first, r.first)
	s.mu.Unlock()
	next, start, have := q.Start, q.Start, []wire.Position(nil)
	if s.version == wire.Leap {
		next, have = max(q.Start, first), q.Have
	}
	for _, p := range q.Have {
		if p.Num < start && !r.has(p) {
			start, next = p.Num, min(next, p.Num)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.request, s.credits, s.have, s.older = q, q.Credits, have, r.ids
	s.next = min(next, s.lowest)
	s.news = min(s.at.head.Num+1, s.lowest)
	s.stir()
}

// rewind takes the stream back to the block that is the head now: after a switch of
// forks the numbers from there on are sent again. It does so even if nothing may be sent
// at the moment, which nodeos forgets.
func (s *session) rewind(t tip) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.news = min(s.news, t.head.Num)
	if s.request == nil || s.credits == 0 { // nodeos tells of no head in the past
		s.news = t.head.Num + 1
	}
	s.at = t
	s.lowest = min(s.lowest, t.head.Num)
	if s.request != nil {
		s.next = min(s.next, t.head.Num)
	}
	s.stir()
}

// due is what a session is to send.
type due struct {
	at      tip // where the message says that the history stands
	status  bool
	v1      bool // the status is to tell of finality data
	version wire.Version
	num     uint32
	request *wire.BlocksRequest
}

// take returns what is to be sent next, if anything is. A block that the client said it
// has is passed over.
//
// Each head that comes is answered by at most one block, in a message that names that head,
// even if others have come since: after a switch of several blocks each of them is named as
// the head by its own message. When all heads are answered, messages name the newest.
func (s *session) take(c names) (due, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.statuses) > 0 {
		d := due{at: s.at, status: true, v1: s.statuses[0].V1, version: s.version}
		s.statuses = s.statuses[1:]
		return d, true
	}
	for s.request != nil && s.credits > 0 {
		answered := s.news > s.at.head.Num
		at := s.look(c)
		switch {
		case s.ready(at):
			if d, ok := s.pick(c, at); ok {
				return d, true
			}
		case answered:
			return due{}, false
		}
	}
	s.news = s.at.head.Num + 1
	return due{}, false
}

// look returns the oldest head that is not answered, which is answered then; the newest one
// if all are, or if memory does not have that one any more.
func (s *session) look(c names) tip {
	if s.news <= s.at.head.Num {
		if t, ok := c.tip(s.news); ok {
			s.news++
			return t
		}
		s.news = s.at.head.Num + 1
	}
	return s.at
}

// pick takes the next block, which may be sent; false if there is reason to look again.
func (s *session) pick(c names, at tip) (due, bool) {
	num, request := s.next, s.request
	s.next++
	if len(s.have) > 0 && s.have[0].Num == num {
		p := s.have[0]
		s.have = s.have[1:]
		older, isOlder := s.older[num]
		s.mu.Unlock()
		ours, ok := wire.Position{Num: num, ID: older}, true
		if !isOlder {
			ours, ok = c.position(num)
		}
		s.mu.Lock()
		// What has changed meanwhile is looked at again.
		if ok && ours == p || s.request != request || s.next != num+1 {
			return due{}, false
		}
		if s.credits == 0 {
			s.next = num
			return due{}, false
		}
	}
	s.credits--
	return due{at: at, num: num, request: request}, true
}

// ready tells whether the next block may be sent when the history stands so.
func (s *session) ready(at tip) bool {
	return s.next <= s.last(at) && s.next < s.request.End && s.next != math.MaxUint32
}

// last is the newest block that may be sent.
func (s *session) last(at tip) uint32 {
	if s.request.Irreversible {
		return at.irreversible.Num
	}
	return at.head.Num
}

// behind is how many blocks the client has asked for, and could be sent, but for what it
// allows and how fast it takes them.
func (s *session) behind() uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.request == nil || s.request.End == 0 {
		return 0
	}
	if last := min(s.last(s.at), s.request.End-1); s.next <= last {
		return last - s.next + 1
	}
	return 0
}
