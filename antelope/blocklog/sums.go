package blocklog

import "sync"

// sums are the checksums of blocks that are known to be what they should be, because they were
// checked, or appended here. A block of such a sum is not checked again. Any goroutine uses it.
type sums struct {
	mu    sync.Mutex
	pages map[uint32]*[sumsOfPage]uint32 // 0 is not known
	order []uint32                       // of pages, oldest first
}

const (
	sumsOfPage = 1024
	mostPages  = 1024 // 4 MiB
)

// get returns the sum of a block; false if it is not known.
func (s *sums) get(num uint32) (uint32, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.pages[num/sumsOfPage]; p != nil {
		sum := p[num%sumsOfPage]
		return sum, sum != 0
	}
	return 0, false
}

func (s *sums) set(num, sum uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pages[num/sumsOfPage]
	if p == nil {
		if s.pages == nil {
			s.pages = map[uint32]*[sumsOfPage]uint32{}
		}
		if len(s.order) == mostPages {
			delete(s.pages, s.order[0])
			s.order = append(s.order[:0], s.order[1:]...)
		}
		p = new([sumsOfPage]uint32)
		s.pages[num/sumsOfPage], s.order = p, append(s.order, num/sumsOfPage)
	}
	p[num%sumsOfPage] = sum
}

// forget forgets all: the log begins anew, or was cut.
func (s *sums) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages, s.order = nil, nil
}
