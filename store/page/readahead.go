package page

import (
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
