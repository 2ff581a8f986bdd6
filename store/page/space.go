package page

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// extent is a run of pages that went out of use together. born is the generation
// in which they were allocated.
type extent struct {
	page, pages uint32
	born        uint64
}

// bitmap has one bit a page. A long one lies outside the Go heap (see newBitmap), so
// that a large limit costs address space and nothing else.
type bitmap []uint64

func (b bitmap) get(i uint32) bool { return b[i>>6]&(1<<(i&63)) != 0 }
func (b bitmap) set(i uint32)      { b[i>>6] |= 1 << (i & 63) }
func (b bitmap) clear(i uint32)    { b[i>>6] &^= 1 << (i & 63) }

// next returns the first set bit in [from, to), or to.
func (b bitmap) next(from, to uint32) uint32 {
	for i := from; i < to; {
		if w := b[i>>6] >> (i & 63); w != 0 {
			return min(i+uint32(bits.TrailingZeros64(w)), to)
		}
		i = (i | 63) + 1
		if i == 0 {
			break
		}
	}
	return to
}

// nextClear returns the first clear bit in [from, to), or to.
func (b bitmap) nextClear(from, to uint32) uint32 {
	for i := from; i < to; {
		if w := ^b[i>>6] >> (i & 63); w != 0 {
			return min(i+uint32(bits.TrailingZeros64(w)), to)
		}
		i = (i | 63) + 1
		if i == 0 {
			break
		}
	}
	return to
}

// runs calls fn for each run of set bits in [from, to).
func (b bitmap) runs(from, to uint32, fn func(page, pages uint32)) {
	for i := b.next(from, to); i < to; {
		end := b.nextClear(i, to)
		fn(i, end-i)
		i = b.next(end, to)
	}
}

// chunkPages is the unit in which free space is summed up and given back to the
// file system: 1 MiB.
const chunkPages = 256

// space knows which pages below end are free. Only the writer uses it.
type space struct {
	free   bitmap
	chunks []uint16 // free pages in each chunk
	holes  bitmap   // chunks that were punched out of the file
	count  uint32   // of free pages
	high   uint32   // of those, at bound or above
	bound  uint32   // the limit: pages from here on are for images and for undo
	end    uint32   // pages below end are in use or free
	cursor uint32   // next-fit: where the last single page below bound was found
	above  uint32   // the same for those from bound on
	warm   []uint32 // lately freed pages that are in private memory already

	runCursor uint32 // the same for runs
}

func (s *space) put(page, pages uint32) {
	for p := page; p < page+pages; p++ {
		s.free.set(p)
		s.chunks[p/chunkPages]++
	}
	s.count += pages
	s.high += s.beyond(page, pages)
}

func (s *space) take(page, pages uint32) {
	for p := page; p < page+pages; p++ {
		s.free.clear(p)
		s.chunks[p/chunkPages]--
		s.holes.clear(p / chunkPages)
	}
	s.count -= pages
	s.high -= s.beyond(page, pages)
}

// beyond is how many of some pages are at bound or above.
func (s *space) beyond(page, pages uint32) uint32 {
	return page + pages - min(max(page, s.bound), page+pages)
}

// among is how many free pages a change may choose from.
func (s *space) among(all bool) uint32 {
	if all {
		return s.count
	}
	return s.count - s.high
}

// single finds a free page, below the bound, or, if there is none and it may be any,
// above it: going round through the file, so that the pages of one checkpoint lie in
// ascending order and mostly beside each other.
func (s *space) single(all bool) (uint32, bool) {
	if s.count > s.high {
		return s.round(&s.cursor, firstPage, min(s.end, s.bound))
	}
	if all && s.high > 0 {
		return s.round(&s.above, s.bound, s.end)
	}
	return 0, false
}

// round finds a free page in [from, to), beginning at the cursor.
func (s *space) round(cursor *uint32, from, to uint32) (uint32, bool) {
	for p, rounds := max(*cursor, from), 0; rounds < 2; p, rounds = from, rounds+1 {
		for p < to {
			limit := min((p/chunkPages+1)*chunkPages, to)
			if s.chunks[p/chunkPages] > 0 {
				if q := s.free.next(p, limit); q < limit {
					*cursor = q + 1
					return q, true
				}
			}
			p = limit
		}
	}
	return 0, false
}

// highRun finds pages free pages in a row above the bound.
func (s *space) highRun(pages uint32) (uint32, bool) {
	if s.high < pages {
		return 0, false
	}
	for p := s.free.next(s.bound, s.end); p < s.end; {
		end := s.free.nextClear(p, min(s.end, p+pages))
		if end-p >= pages {
			return p, true
		}
		p = s.free.next(end, s.end)
	}
	return 0, false
}

// run finds pages free pages in a row, or none; those above the bound, if they may be
// any, before the others. It looks at no more than tries runs below the bound, going
// round from where the last one was found.
func (s *space) run(pages uint32, tries int, all bool) (uint32, bool) {
	if page, ok := s.highRun(pages); all && ok {
		return page, true
	}
	to := min(s.end, s.bound)
	if s.count-s.high < pages {
		return 0, false
	}
	for rounds := 0; rounds < 2; rounds++ {
		p := s.free.next(max(s.runCursor, firstPage), to)
		for p < to {
			end := s.free.nextClear(p, min(to, p+pages))
			if end-p >= pages {
				s.runCursor = end
				return p, true
			}
			if tries--; tries < 0 {
				s.runCursor = end
				return 0, false
			}
			p = s.free.next(end, to)
		}
		s.runCursor = firstPage
	}
	return 0, false
}

// tail is where the free pages at the end of the file begin.
func (s *space) tail() uint32 {
	p := s.end
	for p > firstPage && s.free.get(p-1) {
		if c := (p - 1) / chunkPages; p%chunkPages == 0 && s.chunks[c] == chunkPages {
			p -= chunkPages
			continue
		}
		p--
	}
	return p
}

// encodeFree writes the free pages below end as runs: for each, the pages in use
// before it and its length, as varints. A zero length ends the list.
func encodeFree(free bitmap, end uint32) []byte {
	var b []byte
	last := uint32(0)
	free.runs(firstPage, end, func(page, pages uint32) {
		b = binary.AppendUvarint(b, uint64(page-last))
		b = binary.AppendUvarint(b, uint64(pages))
		last = page + pages
	})
	return b
}

// decodeFree calls fn for each run of an encoded free list.
func decodeFree(b []byte, end uint32, fn func(page, pages uint32)) error {
	at := uint64(0)
	for len(b) > 0 {
		skip, n := binary.Uvarint(b)
		if n <= 0 {
			return errors.New("free list is cut short")
		}
		pages, m := binary.Uvarint(b[n:])
		if m <= 0 {
			return errors.New("free list is cut short")
		}
		b = b[n+m:]
		if pages == 0 && skip == 0 {
			return nil
		}
		if skip > uint64(end) || pages == 0 || pages > uint64(end) || at+skip < firstPage ||
			at+skip+pages > uint64(end) {
			return errors.New("free list names pages outside the file")
		}
		fn(uint32(at+skip), uint32(pages))
		at += skip + pages
	}
	return nil
}
