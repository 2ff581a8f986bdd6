package ship

import (
	"container/list"
	"math/bits"
	"runtime"
	"sync"

	"tarn/antelope/ship/shiplog"
	"tarn/antelope/types"
)

// shelf bounds the memory that clients are sent from: entries of logs, unpacked, and the
// recent blocks that they are being sent. Clients that read old blocks are often near each
// other, so entries are kept for a while, and the next ones are unpacked while one is sent.
//
// Whoever finds no room gets nothing from here, and sends piece by piece what it reads.
type shelf struct {
	most int64
	work chan struct{} // has one element for each that unpacks at the moment

	mu      sync.Mutex
	bytes   int64 // of all entries, those under way among them, and of what else is being sent
	entries map[place]*shelved
	spent   list.List // of entries that nobody is sent, and somebody was; oldest first
	fresh   list.List // of those that were unpacked ahead, for somebody who has not come yet
}

func newShelf(most int64) *shelf {
	return &shelf{most: most, work: make(chan struct{}, runtime.GOMAXPROCS(0)), entries: make(map[place]*shelved)}
}

// place is where an entry comes from.
type place struct {
	l   *shiplog.Log
	num uint32
}

// shelved is an entry that is kept, or being unpacked. id and b are there when done is
// closed; b is nil if the entry is not kept. The rest is guarded by the shelf.
type shelved struct {
	place
	later bool // it is unpacked ahead
	done  chan struct{}
	id    types.Checksum256
	b     []byte

	size  int64 // of b, as it is counted
	users int   // who hold it
	sent  bool  // somebody has held it
	idle  *list.Element
}

// get returns the entry of a block, unpacked, which release gives back; nil if it cannot be
// had from here. Who asks for what another is unpacking waits for that.
func (s *shelf) get(l *shiplog.Log, num uint32) *shelved {
	for {
		x, mine := s.claim(place{l, num}, false)
		if mine {
			s.unpack(x)
		}
		<-x.done
		if x.b != nil {
			return x
		}
		s.release(x)
		if mine || !x.later { // else there was no room for what is only unpacked ahead
			return nil
		}
	}
}

// prefetch unpacks an entry for somebody who is going to ask for it, on another goroutine, if
// there is room that nobody needs.
func (s *shelf) prefetch(l *shiplog.Log, num uint32) {
	if _, end := l.Range(); num >= end {
		return
	}
	if x, mine := s.claim(place{l, num}, true); mine {
		go func() {
			s.unpack(x)
			s.release(x)
		}()
	}
}

// claim finds or makes the entry of a place. mine tells that the caller made it, and is to
// unpack it. Nothing is held of one that is there already if it is only for later.
func (s *shelf) claim(p place, later bool) (x *shelved, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x = s.entries[p]
	if x == nil {
		x, mine = &shelved{place: p, later: later, done: make(chan struct{})}, true
		s.entries[p] = x
	} else if later {
		return x, false
	}
	x.users++
	x.sent = x.sent || !later
	s.rouse(x)
	return x, mine
}

// rouse takes an entry off the lists of those that nobody holds.
func (s *shelf) rouse(x *shelved) {
	if x.idle != nil {
		s.spent.Remove(x.idle) // each removes only its own
		s.fresh.Remove(x.idle)
		x.idle = nil
	}
}

// release ends what get or claim began.
func (s *shelf) release(x *shelved) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x.users--; x.users > 0 {
		return
	}
	switch {
	case s.entries[x.place] != x: // it was dropped meanwhile
		s.bytes -= x.size
	case x.sent:
		x.idle = s.spent.PushBack(x)
	default:
		x.idle = s.fresh.PushBack(x)
	}
}

// unpack reads an entry if there is room for it.
func (s *shelf) unpack(x *shelved) {
	defer s.finish(x)
	e, err := x.l.Read(x.num)
	if err != nil {
		return // whoever sends it finds out
	}
	defer e.Close() //nolint:errcheck // it was only read
	if e.Length < 0 || e.Length > shelfEntry {
		return
	}
	b := s.room(x, e.Length)
	if b == nil {
		return
	}
	s.work <- struct{}{}
	err = e.Fill(b)
	<-s.work
	if err == nil {
		x.id, x.b = e.ID, b
	}
}

// finish says that an entry is unpacked. One that is not kept is not found any more.
func (s *shelf) finish(x *shelved) {
	s.mu.Lock()
	if x.b == nil && s.entries[x.place] == x {
		delete(s.entries, x.place)
	}
	s.mu.Unlock()
	close(x.done)
}

// room makes room for an entry of so many bytes, and returns memory for it; nil if there is
// none. It uses again what it lets go, which is about as large most of the time.
func (s *shelf) room(x *shelved, n int64) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	size := roomy(n)
	again, ok := s.take(size+shelvedMemory, size, x.later)
	if !ok {
		return nil
	}
	x.size = size + shelvedMemory
	if again == nil {
		again = make([]byte, size)
	}
	return again[:n]
}

// roomy rounds a size up by at most a quarter, so that memory fits the next entry too.
func roomy(n int64) int64 {
	step := int64(1) << max(bits.Len64(uint64(n))-3, 8)
	return max((n+step-1)&^(step-1), step)
}

// take counts bytes that are about to be there, and lets entries go for them. What was
// unpacked for somebody goes last, and never for what is only unpacked ahead. Of what it
// lets go it returns memory of exactly so many bytes, if it finds any.
func (s *shelf) take(n, fit int64, later bool) (again []byte, ok bool) {
	for s.bytes+n > s.most {
		from := &s.spent
		if from.Len() == 0 && !later {
			from = &s.fresh
		}
		first := from.Front()
		if first == nil {
			return nil, false
		}
		x := first.Value.(*shelved) //nolint:forcetypeassert // the lists hold nothing else
		s.rouse(x)
		delete(s.entries, x.place)
		s.bytes -= x.size
		if int64(cap(x.b)) == fit {
			again = x.b[:fit]
		}
	}
	s.bytes += n
	return again, true
}

// reserve counts bytes that somebody is about to be sent, until unreserve; false if there
// is no room for them.
func (s *shelf) reserve(n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.take(n, 0, false)
	return ok
}

func (s *shelf) unreserve(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes -= n
}

// hold keeps a recent block in memory while it is being sent, until letGo; false if there is
// no room for it. It is counted once, however many are sent it.
func (s *shelf) hold(x *recorded) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x.users == 0 {
		if _, ok := s.take(x.size(), 0, false); !ok {
			return false
		}
	}
	x.users++
	return true
}

func (s *shelf) letGo(x *recorded) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x.users--; x.users == 0 {
		s.bytes -= x.size()
	}
}

// drop forgets what has been replaced: all entries from a block on.
func (s *shelf) drop(num uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p, x := range s.entries {
		if p.num < num {
			continue
		}
		delete(s.entries, p)
		if x.idle != nil {
			s.rouse(x)
			s.bytes -= x.size
		}
	}
}
