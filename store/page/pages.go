package page

import (
	"fmt"
	"sync"
	"sync/atomic"

	"tarn/store"
)

// pages are the pages of the file and of the memory over it: which are free, which differ
// from the file, which were verified, and which a snapshot can still reach. The writer gives
// them out and takes them back; readers follow references to them, and verify what nobody has
// verified since it was read from the disk. No method changes a page that the durable image
// or a view can reach.
type pages struct {
	path string // of the file, for errors
	mem  *memory

	// The writer's.
	generation uint64 // the present one
	space      space
	dirty      bitmap      // allocated since the last write-out
	private    bitmap      // in memory that only a give-back returns to the kernel
	raw        bitmap      // part of a run: no node header to fill in
	size       int64       // of the memory in use, and but for Engine.backed of the file, bytes
	room       allowance   // that the change under way has
	live       []*snapshot // by generation; under mu
	asked      asked       // free pages that the kernel was asked to read

	dirtyPages, privatePages int64

	// Shared with readers.
	checked bitmap // pages verified since they were last read from disk; atomic
	end     atomic.Uint32
	mu      sync.Mutex // guards live, refs of snapshots, and what the engine says
}

// node returns a tree node, verified on first touch.
func (ps *pages) node(r ref, t store.Table, level int) (*node, error) {
	n := ps.nodeAt(r.page)
	if ps.isChecked(r.page) && uint32(n.generation) == r.generation {
		return n, nil
	}
	return ps.checkNode(r, t, level)
}

func (ps *pages) nodeAt(page uint32) *node {
	return (*node)(ps.mem.at(page))
}

func (ps *pages) isChecked(page uint32) bool {
	w := int(page >> 6)
	return w < len(ps.checked) && atomic.LoadUint64(&ps.checked[w])&(1<<(page&63)) != 0
}

func (ps *pages) setChecked(page uint32) {
	atomic.OrUint64(&ps.checked[page>>6], 1<<(page&63))
}

func (ps *pages) clearChecked(page, pages uint32) {
	for p := page; p < page+pages; {
		w, bit := p>>6, p&63
		n := min(64-bit, page+pages-p)
		atomic.AndUint64(&ps.checked[w], ^(^uint64(0) >> (64 - n) << bit))
		p += n
	}
}

func (ps *pages) checkNode(r ref, t store.Table, level int) (*node, error) {
	if r.page < firstPage || r.page >= ps.end.Load() {
		return nil, corruptPage(ps.path, int64(r.page), int64(t), "is outside the file")
	}
	n := ps.nodeAt(r.page)
	if ps.isChecked(r.page) {
		if uint32(n.generation) == r.generation { // another reader was faster
			return n, nil
		}
		return nil, corruptPage(ps.path, int64(r.page), int64(t),
			fmt.Sprintf("is of generation %d instead of %d", uint32(n.generation), r.generation))
	}
	if planted != skipChecksum {
		if what := n.sound(r.page, r.generation, t, level); what != "" {
			return nil, corruptPage(ps.path, int64(r.page), int64(t), what)
		}
	}
	ps.setChecked(r.page)
	return n, nil
}

// alloc returns a free page, dirty and of the present generation. The caller has
// reserved it.
func (ps *pages) alloc() uint32 {
	page, ok := ps.takeWarm()
	if !ok {
		page, ok = ps.space.single(ps.room.all)
		if !ok {
			page = ps.space.end
			ps.moveEnd(page + 1)
			ps.markUsed(page)
			return page
		}
		ps.space.take(page, 1)
		ps.readFreeAhead(page)
	}
	ps.markUsed(page)
	return page
}

// takeWarm prefers a page whose memory is private already: it costs no page fault
// and nothing more to write.
func (ps *pages) takeWarm() (uint32, bool) {
	s := &ps.space
	for len(s.warm) > 0 {
		page := s.warm[len(s.warm)-1]
		s.warm = s.warm[:len(s.warm)-1]
		if page < s.end && (page < s.bound || ps.room.all) && s.free.get(page) && ps.private.get(page) {
			s.take(page, 1)
			return page, true
		}
	}
	return 0, false
}

func (ps *pages) markUsed(page uint32) {
	if !ps.dirty.get(page) {
		ps.dirty.set(page)
		ps.dirtyPages++
	}
	if !ps.private.get(page) {
		ps.private.set(page)
		ps.privatePages++
	}
	ps.raw.clear(page)
	ps.setChecked(page)
}

// allocRun returns a run of free pages, as raw bytes. The caller has reserved it.
func (ps *pages) allocRun(pages uint32) uint32 {
	page, ok := ps.space.run(pages, 64, ps.room.all)
	if !ok && !ps.fitsAtEnd(pages) {
		page, ok = ps.space.run(pages, int(ps.space.end), ps.room.all)
	}
	if ok {
		ps.space.take(page, pages)
	} else {
		page = ps.space.end
		ps.moveEnd(page + pages)
	}
	for p := page; p < page+pages; p++ {
		ps.markUsed(p)
		ps.raw.set(p)
	}
	return page
}

// moveEnd takes pages behind the last one into use. When that enters another chunk
// of new memory the one after it is made ready meanwhile.
func (ps *pages) moveEnd(end uint32) {
	if chunk := (end - 1) / hugePages; chunk != (ps.space.end-1)/hugePages {
		ps.mem.populate(chunk + 1)
	}
	ps.space.end = end
	ps.end.Store(end)
}

func (ps *pages) fitsAtEnd(pages uint32) bool {
	return int64(ps.space.end+pages)<<pageShift <= min(ps.size, ps.room.ceiling)
}

// newNode returns an empty node.
func (ps *pages) newNode(t store.Table, level uint8) *node {
	page := ps.alloc()
	n := ps.nodeAt(page)
	*n = node{kind: kindNode, table: uint16(t), number: page, generation: ps.generation}
	n.reset(level, nil)
	return n
}

// copyNode returns a copy of n that may be changed, and lets go of n.
func (ps *pages) copyNode(n *node) *node {
	page := ps.alloc()
	c := ps.nodeAt(page)
	*c = *n
	c.number, c.generation = page, ps.generation
	ps.freeNode(n)
	return c
}

func (ps *pages) freeNode(n *node) {
	ps.free(extent{n.number, 1, n.generation})
}

// free lets go of pages that the newest state no longer uses. They become free at
// once unless a live snapshot can reach them.
func (ps *pages) free(x extent) {
	if n := len(ps.live); n > 0 && ps.live[n-1].generation >= x.born {
		s := ps.live[n-1]
		s.block(x)
		return
	}
	ps.release(x)
}

// release makes pages free.
func (ps *pages) release(x extent) {
	ps.space.put(x.page, x.pages)
	for p := x.page; p < x.page+x.pages; p++ {
		if ps.dirty.get(p) {
			ps.dirty.clear(p)
			ps.dirtyPages--
		}
		if ps.private.get(p) && len(ps.space.warm) < warmLimit {
			ps.space.warm = append(ps.space.warm, p)
		}
	}
}

// warmLimit bounds the list of warm pages; beyond it pages are found in the
// bitmap.
const warmLimit = 1 << 16
