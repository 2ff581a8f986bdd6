package page

import (
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A walk over many rows reads leaf after leaf. Where they are not in memory each would
// wait for the disk by itself, because the mapping is marked as one that is read at
// random places; so a cursor that goes on and on asks for the next leaves together.
const (
	askEvery = 8   // leaves between two looks at whether those ahead are in memory
	askFor   = 128 // leaves that are read together
	askRange = 16  // pieces of the file in which they may lie
)

// readAhead has the kernel read the leaves that a walk comes to after child i of n, if
// one of them is not in memory.
func (c *cursor) readAhead(n *node, i, by int) {
	if c.leaves++; c.leaves%askEvery != 0 || c.engine.opts.Mode.Anonymous() {
		return
	}
	probe := i + by*askEvery
	if uint(probe) >= uint(n.count) || c.engine.mem.resident(n.child(probe).page) {
		return
	}
	first, pages, pieces := uint32(0), uint32(0), 0
	for k := 1; k <= askFor && pieces < askRange; k++ {
		child := i + by*k
		if uint(child) >= uint(n.count) {
			break
		}
		switch p := n.child(child).page; {
		case p == first+pages:
			pages++
		case p == first-1:
			first, pages = p, pages+1
		default:
			c.engine.mem.fetch(first, pages)
			first, pages, pieces = p, 1, pieces+1
		}
	}
	c.engine.mem.fetch(first, pages)
}

// A page of the file that is changed for the first time since it was free is read before, because the kernel cannot know
// that all of it is going to be written. Where the state is larger than the memory the writer would wait for the disk
// for nothing; so the next free pages are asked for before they are given out.
const (
	freeAhead = 256 // free pages that are asked for together
	freeNear  = 64  // are left of them when the next are asked for
	freeProbe = 8   // runs of them that are looked at: if these are in memory all are taken to be
)

// asked are the free pages that were asked for last. The writer's.
type asked struct {
	last uint32 // page that was given out
	to   uint32 // the next ones begin here
	left int    // that were not given out, about
}

// readFreeAhead is told of each free page that is given out, in the order in which [space.single] finds them.
func (ps *pages) readFreeAhead(page uint32) {
	if ps.mem.mode.Anonymous() || ps.mem.file == nil {
		return
	}
	a := &ps.asked
	if page < a.last { // they are given out from the beginning again
		a.to, a.left = page+1, 0
	}
	a.last = page
	if a.left--; a.left > freeNear {
		return
	}
	a.to = max(a.to, page+1)
	a.left = max(a.left, 0)
	var runs []extent
	for n := 0; n < freeAhead; {
		first := ps.space.free.next(a.to, ps.space.end)
		if first == ps.space.end {
			a.to = first // the rest is not looked at again
			break
		}
		end := ps.space.free.nextClear(first, min(ps.space.end, first+uint32(freeAhead-n)))
		if !ps.mem.isFresh(first) {
			runs = append(runs, extent{page: first, pages: end - first})
		}
		n, a.to = n+int(end-first), end
		a.left += int(end - first)
	}
	ps.mem.fetchMissing(runs)
}

// isFresh tells whether a page lies in memory of no file. The writer asks.
func (m *memory) isFresh(page uint32) bool { return m.fresh != nil && m.fresh.get(page/hugePages) }

// fetchMissing has the kernel begin to read runs of pages, unless the first of them are in memory. The caller does
// not wait, unless it changes mappings next: to ask takes the kernel some microseconds for each run.
func (m *memory) fetchMissing(runs []extent) {
	if len(runs) == 0 {
		return
	}
	m.populating.Go(func() {
		here := func(x extent) bool { return m.resident(x.page) }
		if !slices.ContainsFunc(runs[:min(freeProbe, len(runs))], func(x extent) bool { return !here(x) }) {
			return
		}
		for _, x := range runs {
			if !here(x) {
				m.fetch(x.page, x.pages)
			}
		}
	})
}

// resident tells whether a page can be read without the disk. A kernel that does not
// say is taken for one that has it.
func (m *memory) resident(page uint32) bool {
	var state [1]byte
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(m.at(page)), pageSize, uintptr(unsafe.Pointer(&state)))
	return errno != 0 || state[0]&1 != 0
}

// fetch has the kernel begin to read pages.
func (m *memory) fetch(page, pages uint32) {
	if pages > 0 {
		//nolint:errcheck // only costs time
		m.madvise(unsafe.Add(m.base, int64(page)<<pageShift), uintptr(pages)<<pageShift, unix.MADV_WILLNEED)
	}
}
