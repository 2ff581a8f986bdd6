package ship

import (
	"sync"

	"tarn/antelope/ship/shiplog"
	"tarn/antelope/types"
)

// shelf keeps entries of logs unpacked for a while: clients that read old blocks are
// often near each other, and the next block can be unpacked while one is sent.
type shelf struct {
	mu    sync.Mutex
	list  []*shelved // oldest first
	bytes int64
	most  int64
}

// shelved is an entry that is kept, or being unpacked.
type shelved struct {
	l    *shiplog.Log
	num  uint32
	done chan struct{} // closed when what follows is there
	id   types.Checksum256
	b    []byte
	err  error
}

// shelfEntry is the largest entry that is kept, in bytes. Larger ones are sent as they are
// unpacked.
const shelfEntry = 8 << 20

// get returns the entry of a block, unpacked; nil if it is too large to be kept. Who asks
// for what another is unpacking waits for that.
func (s *shelf) get(l *shiplog.Log, num uint32) (types.Checksum256, []byte, error) {
	s.mu.Lock()
	for _, x := range s.list {
		if x.l == l && x.num == num {
			s.mu.Unlock()
			<-x.done
			return x.id, x.b, x.err
		}
	}
	x := &shelved{l: l, num: num, done: make(chan struct{})}
	s.list = append(s.list, x)
	s.mu.Unlock()
	x.unpack()
	close(x.done)
	s.keep(x)
	return x.id, x.b, x.err
}

// ahead unpacks an entry for somebody who is going to ask for it, on another goroutine.
func (s *shelf) ahead(l *shiplog.Log, num uint32) {
	if _, end := l.Range(); num < end {
		go s.get(l, num) //nolint:errcheck // who asks for it is told
	}
}

func (x *shelved) unpack() {
	e, err := x.l.Read(x.num)
	if err != nil {
		x.err = err
		return
	}
	x.id = e.ID
	if e.Length < 0 || e.Length > shelfEntry {
		x.err = e.Close()
		return
	}
	x.b, x.err = e.Bytes(shelfEntry)
}

// keep makes room for an entry that is unpacked. What failed, or is not kept, goes.
func (s *shelf) keep(x *shelved) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes += int64(len(x.b))
	for i := 0; i < len(s.list); {
		y := s.list[i]
		over := s.bytes > s.most && y != x
		if y == x {
			over = x.b == nil
		}
		select {
		case <-y.done:
		default:
			over = false // who unpacks it decides
		}
		if !over {
			i++
			continue
		}
		s.bytes -= int64(len(y.b))
		s.list = append(s.list[:i], s.list[i+1:]...)
	}
}

// drop forgets what has been replaced: all entries from a block on.
func (s *shelf) drop(num uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.list[:0]
	for _, x := range s.list {
		if x.num < num {
			list = append(list, x)
			continue
		}
		select {
		case <-x.done:
			s.bytes -= int64(len(x.b))
		default:
			list = append(list, x)
		}
	}
	clear(s.list[len(list):])
	s.list = list
}
