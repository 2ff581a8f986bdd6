package wasm

import "math/bits"

// A contract writes to little of its memory, at the low addresses where its stack and
// its data are. What it did not reach need not be cleared before the next action. How
// far it reached is known by one bit, in a global: whether it wrote beyond the near part.
//
// Each function with stores keeps the bits of all addresses that it stores at together
// in a local, which takes one instruction, no branch and no block. If none of them has a
// bit beyond those of the near part, all were in it; this is looked at when the function
// returns. Of one that does not, because the action ends within it, nothing is known.

const (
	// leastNear is the least size of the near part but for its fringe, a power of two.
	leastNear = 16 << 10

	// room is what the near part has beyond the data: for variables that are 0 at
	// first, and for what is allocated.
	room = 4 << 10

	// fringe is what a store may reach beyond the address on the stack: its offset and
	// size. The offset of others is added first.
	fringe = 1 << 10

	// maxStore is how many bytes a store writes at most.
	maxStore = 8
)

// farName is the exported global that is not 0 if memory was written beyond the near
// part.
const farName = "far"

// nearBits returns the size of the near part of a module's memory but for the fringe,
// as a power of two; 0 if the near part would be all there is.
func (m *module) nearBits() uint32 {
	end := uint64(leastNear)
	for _, d := range m.data {
		end = max(end, uint64(d.offset)+uint64(len(d.bytes))+room)
	}
	n := uint32(bits.Len64(end - 1))
	if uint64(1)<<n+fringe >= uint64(m.pages)*PageSize {
		return 0
	}
	return n
}

// near is how many bytes the near part has, with the fringe; 0: all of memory.
func near(bits uint32) uint64 {
	if bits == 0 {
		return 0
	}
	return 1<<bits + fringe
}

// reach is what the rewriter knows of the stores of the function at hand. Most are at an
// offset from a local whose value was stored at before, such as the function's frame on
// the stack.
type reach struct {
	operands *[]byte // the checker's stack

	bits    uint32 // of addresses in the near part; 0: stores are left as they are
	begun   bool   // there was a store, and the locals are declared
	address uint32 // local for the address of a store
	all     uint32 // local for the bits of all addresses

	origins []origin        // of the operands at the bottom of the stack, as far as known
	set     map[uint32]int  // how often code at hand has set a local
	covered map[uint32]bool // locals whose value's bits are in all, however one came here
	trail   []uint32        // locals in the order in which they were covered
	blocks  []int           // where the open blocks begin in the trail
}

// origin is where an operand comes from.
type origin struct {
	kind    originKind
	local   uint32
	set     int  // how often the local had been set
	covered bool // when it was read
}

type originKind uint8

const (
	fromElsewhere originKind = iota
	fromLocal
	fromLiteral // of an address in the near part
)

func newReach(operands *[]byte, bits uint32) reach {
	return reach{operands: operands, bits: bits, set: map[uint32]int{}, covered: map[uint32]bool{}}
}

// reset begins a function.
func (r *reach) reset() {
	r.begun = false
	r.origins, r.trail, r.blocks = r.origins[:0], r.trail[:0], r.blocks[:0]
	clear(r.set)
	clear(r.covered)
}

// noteUnknown says that the origin of the top operands, so many results, is not known.
func (r *reach) noteUnknown(results int) {
	r.origins = r.origins[:min(len(r.origins), len(*r.operands)-results)]
}

// push says where the top operand comes from.
func (r *reach) push(o origin) {
	r.noteUnknown(1)
	for len(r.origins) < len(*r.operands)-1 {
		r.origins = append(r.origins, origin{})
	}
	r.origins = append(r.origins, o)
}

// noteLocal says that the top operand is a local's value.
func (r *reach) noteLocal(local uint32) {
	if r.bits != 0 {
		r.push(origin{fromLocal, local, r.set[local], r.covered[local]})
	}
}

// literal says that the top operand is an address.
func (r *reach) literal(address uint32) {
	if r.bits != 0 && address>>r.bits == 0 {
		r.push(origin{kind: fromLiteral})
	}
}

// write says that a local gets another value.
func (r *reach) write(local uint32) {
	if r.bits != 0 {
		r.set[local]++
		delete(r.covered, local)
	}
}

// open begins a block. A loop's head is also reached from its end.
func (r *reach) open(loop bool) {
	r.blocks = append(r.blocks, len(r.trail))
	if loop {
		clear(r.covered)
	}
}

// meet says that code can be reached on several paths from here on: what was covered
// since the open block began is not, on one of them.
func (r *reach) meet() {
	from := r.blocks[len(r.blocks)-1]
	for _, local := range r.trail[from:] {
		delete(r.covered, local)
	}
	r.trail, r.origins = r.trail[:from], r.origins[:0]
}

func (r *reach) close() {
	r.meet()
	r.blocks = r.blocks[:len(r.blocks)-1]
}

// covers tells whether the bits of an address of this origin need not be kept, and takes
// it that they are from now on.
func (r *reach) covers(o origin) bool {
	switch {
	case o.kind == fromLiteral || o.kind == fromLocal && o.covered:
		return true
	case o.kind == fromLocal && o.set == r.set[o.local]:
		if r.covered[o.local] {
			return true
		}
		r.covered[o.local] = true
		r.trail = append(r.trail, o.local)
	}
	return false
}

// store writes a store, whose address and value are on the stack. The checker has popped
// them.
func (w *rewriter) store(op byte, p *plain, align, offset uint32) {
	r, place := &w.reach, len(*w.reach.operands)
	var o origin
	if place < len(r.origins) {
		o = r.origins[place]
	}
	if offset > fringe-maxStore {
		o = origin{}
	}
	covered := r.bits == 0 || r.covers(o)
	if covered && place >= w.aging.old {
		w.out.mem(op, align, offset)
		return
	}
	if !covered && !r.begun {
		r.begun, r.address, r.all = true, w.aging.local(I32), w.aging.local(I32)
	}
	value := w.aging.spillLocal(p.operand)
	w.out.index(opLocalSet, value)
	w.aging.address(&w.out, place)
	if !covered {
		w.keepBits(offset)
	}
	w.out.index(opLocalGet, value)
	w.out.mem(op, align, offset)
}

// keepBits keeps the bits of the address on top, of a store at this offset.
func (w *rewriter) keepBits(offset uint32) {
	r := &w.reach
	w.values.write(r.all, 1)
	w.values.count += 2 // the address, at its offset, and new
	w.out.index(opLocalTee, r.address)
	if offset > fringe-maxStore {
		w.out.i32(int32(offset)) // where the sum has no room in 32 bits, the store traps
		w.out.op(opI32Add)
	}
	w.out.index(opLocalGet, r.all)
	w.out.op(opI32Or)
	w.out.index(opLocalSet, r.all)
	w.out.index(opLocalGet, r.address)
}

// markReturn sets the global if the function that returns stored beyond the near part.
func (w *rewriter) markReturn(e *encoder) {
	e.index(opLocalGet, w.reach.all)
	e.i32(int32(w.reach.bits))
	e.op(opI32ShrU)
	w.far(e)
}

// far sets the global if the i32 on the stack is not 0.
func (w *rewriter) far(e *encoder) {
	e.op(opIf, none)
	e.i32(1)
	e.index(opGlobalSet, w.globalFar())
	e.op(opEnd)
}
