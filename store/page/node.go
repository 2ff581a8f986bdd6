package page

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unsafe"

	"tarn/internal/invariants"
)

// A node is one page of a tree: a leaf (rows) or an inner node (children). The
// struct is the page as it lies in the mapping and in the file; see
// docs/formats/page.md for the byte table. Keys share the page's prefix, which
// is stored once; a slot carries the first four bytes of the rest of its key, so
// that a search mostly stays within the slots.
//
//	header | prefix, padded to 8 | slots, growing up | free | cells, growing down
//
// A leaf's cell is: value length u16 (top bit: a reference to a run instead), the
// rest of the key, the value. An inner cell is: child u32, its generation u32,
// the rest of the key. Slot 0 of an inner node stands for everything below slot
// 1, and its key is empty.
type node struct {
	checksum   uint32
	kind       uint8
	level      uint8 // 0 for a leaf
	table      uint16
	number     uint32
	count      uint16
	top        uint16 // where the lowest cell begins
	generation uint64
	garbage    uint16 // bytes of cells no longer used
	prefixLen  uint16
	_          uint32
	data       [pageSize - headerSize]byte
}

// slot points to a cell.
type slot struct {
	head uint32 // first four bytes of the key after the prefix, big-endian, zero-padded
	off  uint16
	size uint16 // of the key after the prefix
}

// ref names a page together with the generation in which it was allocated, so
// that a page which is whole but stale (a lost write) is recognised.
type ref struct {
	page       uint32
	generation uint32
}

const (
	slotSize  = 8
	childSize = 8 // of an inner cell, before the key
	sizeSize  = 2 // of a leaf cell, before the key

	inRun   = 1 << 15 // in a leaf cell's value length: the value is a runRef
	inlined = 1300    // largest key plus value kept in a leaf
)

// scratchNode returns a node on the Go heap. It has a word behind it, because the
// address of an empty value at the end of a page is the one after the page, and
// the collector must not take that for something else.
func scratchNode() *node {
	return &new(struct {
		node
		_ uint64
	}).node
}

func (n *node) bytes() *[pageSize]byte { return (*[pageSize]byte)(unsafe.Pointer(n)) }

func (n *node) at(off int) unsafe.Pointer { return unsafe.Add(unsafe.Pointer(n), off) }

func (n *node) slice(off, size int) []byte { return unsafe.Slice((*byte)(n.at(off)), size) }

func (n *node) prefix() []byte { return n.slice(headerSize, int(n.prefixLen)) }

func (n *node) slotBase() int { return headerSize + (int(n.prefixLen)+7)&^7 }

func (n *node) slot(i int) *slot { return (*slot)(n.at(n.slotBase() + i*slotSize)) }

func (n *node) slots() []slot { return unsafe.Slice((*slot)(n.at(n.slotBase())), int(n.count)) }

// fixedSize is the size of what lies before the key in a cell.
func (n *node) fixedSize() int {
	if n.level == 0 {
		return sizeSize
	}
	return childSize
}

func (n *node) suffix(i int) []byte {
	s := n.slot(i)
	return n.slice(int(s.off)+n.fixedSize(), int(s.size))
}

// key appends the whole key of slot i to buf.
func (n *node) key(buf []byte, i int) []byte {
	return append(append(buf, n.prefix()...), n.suffix(i)...)
}

// value returns the bytes of a leaf's value or of its run reference.
func (n *node) value(i int) (v []byte, run bool) {
	s := n.slot(i)
	size := *(*uint16)(n.at(int(s.off)))
	return n.slice(int(s.off)+sizeSize+int(s.size), int(size&^inRun)), size&inRun != 0
}

func (n *node) child(i int) ref {
	s := n.slot(i)
	b := n.slice(int(s.off), childSize)
	return ref{binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])}
}

func (n *node) setChild(i int, r ref) {
	b := n.slice(int(n.slot(i).off), childSize)
	binary.LittleEndian.PutUint32(b, r.page)
	binary.LittleEndian.PutUint32(b[4:], r.generation)
}

func (n *node) cellSize(i int) int {
	s := n.slot(i)
	size := n.fixedSize() + int(s.size)
	if n.level == 0 {
		size += int(*(*uint16)(n.at(int(s.off))) &^ inRun)
	}
	return size
}

// head is what a slot keeps of a key.
func head(key []byte) uint32 {
	if len(key) >= 4 {
		return binary.BigEndian.Uint32(key)
	}
	var h uint32
	for i, b := range key {
		h |= uint32(b) << (24 - 8*i)
	}
	return h
}

// search returns the first slot at or above from whose key is not below key, and
// whether it is key.
func (n *node) search(key []byte, from int) (int, bool) {
	if p := n.prefix(); len(p) > 0 {
		switch c := bytes.Compare(key[:min(len(key), len(p))], p); {
		case c < 0: // key is shorter than the prefix or differs within it
			return from, false
		case c > 0:
			return int(n.count), false
		}
		key = key[len(p):]
	}
	h := head(key)
	slots := n.slots()
	lo, hi := from, len(slots)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		s := &slots[mid]
		if s.head < h {
			lo = mid + 1
			continue
		}
		if s.head > h {
			hi = mid
			continue
		}
		switch c := bytes.Compare(n.slice(int(s.off)+n.fixedSize(), int(s.size)), key); {
		case c < 0:
			lo = mid + 1
		case c > 0:
			hi = mid
		default:
			return mid, true
		}
	}
	return lo, false
}

// route returns the slot of the child that covers key.
func (n *node) route(key []byte) int {
	i, found := n.search(key, 1)
	if found {
		return i
	}
	return i - 1
}

// reset makes n an empty node. The identity fields stay as they are.
func (n *node) reset(level uint8, prefix []byte) {
	n.level = level
	n.count, n.garbage = 0, 0
	n.top = pageSize
	n.prefixLen = uint16(len(prefix))
	clear(n.slice(headerSize+copy(n.slice(headerSize, len(prefix)), prefix), -len(prefix)&7))
}

// gap is the room between the slots and the cells.
func (n *node) gap() int { return int(n.top) - n.slotBase() - int(n.count)*slotSize }

// usedSize is what the page's content needs, header included.
func (n *node) usedSize() int { return pageSize - n.gap() - int(n.garbage) }

// room reports whether a cell with a key of that size after the prefix and a
// payload (value or child) fits.
func (n *node) room(suffix, payload int) bool {
	need := slotSize + suffix + payload
	if n.level == 0 {
		need += sizeSize
	}
	return n.gap()+int(n.garbage) >= need
}

// fits reports whether a whole key with a payload fits, the prefix shortened if
// the key does not share it.
func (n *node) fits(key []byte, payload int) bool {
	shared := commonPrefix(n.prefix(), key)
	if shared == int(n.prefixLen) {
		return n.room(len(key)-shared, payload)
	}
	return n.usedWith(shared)+slotSize+n.fixedSize()+len(key)-shared+payload <= pageSize
}

// usedWith is used for a shorter prefix.
func (n *node) usedWith(prefixLen int) int {
	keys := int(n.count)
	if n.level > 0 {
		keys-- // slot 0 has no key
	}
	longer := int(n.prefixLen) - prefixLen
	return n.usedSize() - (int(n.prefixLen)+7)&^7 + (prefixLen+7)&^7 + max(keys, 0)*longer
}

// insert puts a cell for key before slot i and returns its payload for the caller
// to fill. The key must fit. spare is a page to work in.
func (n *node) insert(i int, key []byte, payload int, spare *node) []byte {
	first := n.level > 0 && n.count == 0 // the child below all keys
	if shared := commonPrefix(n.prefix(), key); !first && shared < int(n.prefixLen) {
		*spare = *n
		n.reset(n.level, key[:shared])
		n.appendRange(spare, 0, int(spare.count))
	}
	rest := key
	if !first {
		rest = key[n.prefixLen:]
	}
	size := n.fixedSize() + len(rest)
	if n.level == 0 {
		size += payload
	}
	if n.gap() < size+slotSize {
		n.compact(spare)
	}
	n.top -= uint16(size)
	n.count++
	if invariants.Enabled {
		invariants.Check(n.gap() >= 0, "a page overflows by %d bytes", -n.gap())
	}
	slots := n.slots()
	copy(slots[i+1:], slots[i:])
	slots[i] = slot{head: head(rest), off: n.top, size: uint16(len(rest))}
	copy(n.slice(int(n.top)+n.fixedSize(), len(rest)), rest)
	if n.level > 0 {
		return n.slice(int(n.top), childSize)
	}
	*(*uint16)(n.at(int(n.top))) = uint16(payload)
	return n.slice(int(n.top)+sizeSize+len(rest), payload)
}

// insertValue puts a row before slot i; run says that value is a run reference.
func (n *node) insertValue(i int, key, value []byte, run bool, spare *node) {
	copy(n.insert(i, key, len(value), spare), value)
	if run {
		*(*uint16)(n.at(int(n.slot(i).off))) |= inRun
	}
}

// insertChild puts a child before slot i.
func (n *node) insertChild(i int, key []byte, child ref, spare *node) {
	n.insert(i, key, childSize, spare)
	n.setChild(i, child)
}

// remove takes slot i out.
func (n *node) remove(i int) {
	n.garbage += uint16(n.cellSize(i))
	slots := n.slots()
	copy(slots[i:], slots[i+1:])
	n.count--
	if n.count == 0 {
		n.top, n.garbage = pageSize, 0
	}
}

// dropKey makes slot 0 of an inner node stand for everything below slot 1.
func (n *node) dropKey() {
	s := n.slot(0)
	n.garbage += s.size
	s.size, s.head = 0, 0
}

// compact squeezes the garbage out.
func (n *node) compact(spare *node) {
	*spare = *n
	n.reset(n.level, spare.prefix())
	n.appendRange(spare, 0, int(spare.count))
}

// tighten lengthens the prefix as far as all keys and the one to come allow, if that
// makes room, and reports whether it did. The prefix takes whole words: a byte more of
// it can cost eight, and save one a key.
func (n *node) tighten(key []byte, spare *node) bool {
	p := n.sharedPrefix(0, int(n.count))
	p = p[:commonPrefix(p, key)]
	if len(p) <= int(n.prefixLen) || n.usedWith(len(p)) >= n.usedSize() {
		return false
	}
	*spare = *n
	n.reset(n.level, p)
	n.appendRange(spare, 0, int(spare.count))
	return true
}

// appendRange appends the slots lo to hi of src, whose keys may have another
// prefix than n's; they must share n's. The first child of an inner node loses
// its key.
func (n *node) appendRange(src *node, lo, hi int) {
	var (
		own, other = int(n.prefixLen), int(src.prefixLen)
		fixed      = n.fixedSize()
		more       []byte // of src's prefix, to put before its suffixes
		strip      int    // of its suffixes, shared by n's prefix
	)
	if own < other {
		more = src.prefix()[own:]
	} else {
		strip = own - other
	}
	for i := lo; i < hi; i++ {
		s := src.slot(i)
		cell := src.slice(int(s.off), src.cellSize(i))
		if n.level > 0 && n.count == 0 {
			n.appendCell(cell[:fixed], nil, nil, nil)
			continue
		}
		n.appendCell(cell[:fixed], more, cell[fixed+strip:fixed+int(s.size)], cell[fixed+int(s.size):])
	}
}

func (n *node) appendCell(fixed, more, rest, value []byte) {
	size := len(fixed) + len(more) + len(rest) + len(value)
	n.top -= uint16(size)
	b := n.slice(int(n.top), size)
	at := copy(b, fixed)
	key := b[at : at+len(more)+len(rest)]
	at += copy(b[at:], more)
	at += copy(b[at:], rest)
	copy(b[at:], value)
	n.count++
	if invariants.Enabled {
		invariants.Check(n.gap() >= 0, "a page overflows by %d bytes", -n.gap())
	}
	*n.slot(int(n.count) - 1) = slot{head: head(key), off: n.top, size: uint16(len(key))}
}

// sharedPrefix is the front that the keys of a node made of the slots lo to hi
// share.
func (n *node) sharedPrefix(lo, hi int) []byte {
	if n.level > 0 {
		lo++
	}
	if lo >= hi {
		return nil
	}
	shared := int(n.prefixLen) + commonPrefix(n.suffix(lo), n.suffix(hi-1))
	return n.key(nil, lo)[:shared]
}

// commonPrefix is the length of the front that a and b share.
func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for ; i+8 <= n; i += 8 {
		if x := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); x != 0 {
			return i + bits.TrailingZeros64(x)/8
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}
