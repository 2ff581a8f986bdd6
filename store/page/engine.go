// Package page is the engine of the map modes: a copy-on-write B+tree a table, on
// pages of one file that is mapped into memory (or read into it). It owns the
// file format, the pages' life and the checkpoint. It never keeps undo history
// (store/revision does), never writes a page that the durable image reaches, and,
// in the private modes, never writes at all between checkpoints unless the memory
// bound forces it to.
//
// # How it works
//
// The engine counts generations. Publishing and checkpoints end one. A page of
// the present generation is changed in place; an older one is copied to a free
// page first, and its parents with it. So whoever holds the roots of a finished
// generation holds a state that never changes, be it a reader or the disk.
//
// A checkpoint writes the pages that were allocated since the last one, in file
// order, together with the list of tables, the list of free pages and the undo
// data, syncs, writes the other of two meta pages, and syncs again. Until that
// second sync the old meta page counts, and nothing that it reaches was touched.
//
// # Invariants
//
//  1. A page whose generation is not above the durable image's is neither written
//     nor reused until a newer image is durable and no view can reach it.
//  2. A parent's generation is not below its children's; a child is named by page
//     and generation, so a stale page is never taken for a fresh one.
//  3. A page is free, blocked by a live snapshot, part of an image (its catalog,
//     free list, undo data), or reachable from the newest state: never two of
//     these, never none.
//  4. dirty: memory differs from the file. Every page allocated since the last
//     write-out is dirty, no other.
//  5. A meta page is written only after a successful sync of everything it
//     reaches, and after BeforeMeta.
package page

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"tarn/store"
	"tarn/store/vfs"
)

// Engine implements store.Engine. Goroutine rules are those of store.Store.
type Engine struct {
	opts Options
	path string
	fs   vfs.FS
	lock io.Closer
	file vfs.File // for writing; nil when volatile or read-only
	view vfs.File // for mapping and reading
	mem  *memory

	// The writer's.
	generation uint64
	tables     []table
	space      space
	dirty      bitmap // allocated since the last write-out
	private    bitmap // in memory that only a give-back returns to the kernel
	raw        bitmap // part of a run: no node header to fill in
	size       int64  // of the file, bytes
	room       room   // that the change under way has
	live       []*snapshot
	durable    *snapshot
	image      meta     // the durable one
	blobs      []extent // its catalog, free list and undo data
	catalog    []byte   // of the image, encoded; nil if it is not known
	recovered  store.Image
	pending    *checkpoint
	failed     error         // the writer's state is in doubt
	doubtful   []*checkpoint // failed, but the disk may give them back
	spilled    bool          // pages were written and dropped since the last image

	dirtyPages, privatePages int64

	// Scratch of the writer.
	way           path
	known         known
	spare, spare2 *node
	separator     []byte
	scratch       [runRefSize]byte
	aliased       []byte

	// Where the last row was inserted.
	lastPage  uint32
	lastSlot  int
	ascending int
	tip       tip

	// Shared with readers.
	checked   bitmap // pages verified since they were last read from disk; atomic
	end       atomic.Uint32
	mu        sync.Mutex // guards live, published, views, and refs of snapshots
	published *snapshot
	views     int
	closed    atomic.Bool
	left      bool // closed, and no checkpoint under way; under mu
	counters  counters
	gauges    gauges
}

// table is the writer's newest tree of a table, under its name.
type table struct {
	name string
	tree
}

var _ store.Engine = (*Engine)(nil)

// node returns a tree node, verified on first touch.
func (e *Engine) node(r ref, t store.Table, level int) (*node, error) {
	n := e.nodeAt(r.page)
	if e.isChecked(r.page) && uint32(n.generation) == r.generation {
		return n, nil
	}
	return e.checkNode(r, t, level)
}

func (e *Engine) nodeAt(page uint32) *node {
	return (*node)(e.mem.at(page))
}

func (e *Engine) isChecked(page uint32) bool {
	w := int(page >> 6)
	return w < len(e.checked) && atomic.LoadUint64(&e.checked[w])&(1<<(page&63)) != 0
}

func (e *Engine) setChecked(page uint32) {
	atomic.OrUint64(&e.checked[page>>6], 1<<(page&63))
}

func (e *Engine) clearChecked(page, pages uint32) {
	for p := page; p < page+pages; {
		w, bit := p>>6, p&63
		n := min(64-bit, page+pages-p)
		atomic.AndUint64(&e.checked[w], ^(^uint64(0) >> (64 - n) << bit))
		p += n
	}
}

func (e *Engine) checkNode(r ref, t store.Table, level int) (*node, error) {
	if r.page < firstPage || r.page >= e.end.Load() {
		return nil, corruptPage(e.path, int64(r.page), int64(t), "is outside the file")
	}
	n := e.nodeAt(r.page)
	if e.isChecked(r.page) {
		if uint32(n.generation) == r.generation { // another reader was faster
			return n, nil
		}
		return nil, corruptPage(e.path, int64(r.page), int64(t),
			fmt.Sprintf("is of generation %d instead of %d", uint32(n.generation), r.generation))
	}
	if planted != skipChecksum {
		if what := n.sound(r.page, r.generation, t, level); what != "" {
			return nil, corruptPage(e.path, int64(r.page), int64(t), what)
		}
	}
	e.setChecked(r.page)
	return n, nil
}

// alloc returns a free page, dirty and of the present generation. The caller has
// reserved it.
func (e *Engine) alloc() uint32 {
	page, ok := e.takeWarm()
	if !ok {
		page, ok = e.space.single(e.room.all)
		if !ok {
			page = e.space.end
			e.moveEnd(page + 1)
			e.markUsed(page)
			return page
		}
		e.space.take(page, 1)
	}
	e.markUsed(page)
	return page
}

// takeWarm prefers a page whose memory is private already: it costs no page fault
// and nothing more to write.
func (e *Engine) takeWarm() (uint32, bool) {
	s := &e.space
	for len(s.warm) > 0 {
		page := s.warm[len(s.warm)-1]
		s.warm = s.warm[:len(s.warm)-1]
		if page < s.end && (page < s.bound || e.room.all) && s.free.get(page) && e.private.get(page) {
			s.take(page, 1)
			return page, true
		}
	}
	return 0, false
}

func (e *Engine) markUsed(page uint32) {
	if !e.dirty.get(page) {
		e.dirty.set(page)
		e.dirtyPages++
	}
	if !e.private.get(page) {
		e.private.set(page)
		e.privatePages++
	}
	e.raw.clear(page)
	e.setChecked(page)
}

// allocRun returns a run of free pages, as raw bytes. The caller has reserved it.
func (e *Engine) allocRun(pages uint32) uint32 {
	page, ok := e.space.run(pages, 64, e.room.all)
	if !ok && !e.fitsAtEnd(pages) {
		page, ok = e.space.run(pages, int(e.space.end), e.room.all)
	}
	if ok {
		e.space.take(page, pages)
	} else {
		page = e.space.end
		e.moveEnd(page + pages)
	}
	for p := page; p < page+pages; p++ {
		e.markUsed(p)
		e.raw.set(p)
	}
	return page
}

// moveEnd takes pages behind the last one into use. When that enters another chunk
// of new memory the one after it is made ready meanwhile.
func (e *Engine) moveEnd(end uint32) {
	if chunk := (end - 1) / hugePages; chunk != (e.space.end-1)/hugePages {
		e.mem.populate(chunk + 1)
	}
	e.space.end = end
	e.end.Store(end)
}

func (e *Engine) fitsAtEnd(pages uint32) bool {
	return int64(e.space.end+pages)<<pageShift <= min(e.size, e.room.ceiling)
}

// newNode returns an empty node.
func (e *Engine) newNode(t store.Table, level uint8) *node {
	page := e.alloc()
	n := e.nodeAt(page)
	*n = node{kind: kindNode, table: uint16(t), number: page, generation: e.generation}
	n.reset(level, nil)
	return n
}

// copyNode returns a copy of n that may be changed, and lets go of n.
func (e *Engine) copyNode(n *node) *node {
	page := e.alloc()
	c := e.nodeAt(page)
	*c = *n
	c.number, c.generation = page, e.generation
	e.freeNode(n)
	return c
}

func (e *Engine) freeNode(n *node) {
	e.free(extent{n.number, 1, n.generation})
}

// free lets go of pages that the newest state no longer uses. They become free at
// once unless a live snapshot can reach them.
func (e *Engine) free(x extent) {
	if n := len(e.live); n > 0 && e.live[n-1].generation >= x.born {
		s := e.live[n-1]
		s.block(x)
		return
	}
	e.release(x)
}

// release makes pages free.
func (e *Engine) release(x extent) {
	e.space.put(x.page, x.pages)
	for p := x.page; p < x.page+x.pages; p++ {
		if e.dirty.get(p) {
			e.dirty.clear(p)
			e.dirtyPages--
		}
		if e.private.get(p) && len(e.space.warm) < warmLimit {
			e.space.warm = append(e.space.warm, p)
		}
	}
}

// warmLimit bounds the list of warm pages; beyond it pages are found in the
// bitmap.
const warmLimit = 1 << 16
