package wasm

import "bytes"

// aging keeps track of which addresses wazero may have checked before memory shrank.
//
// wazero's compiler checks a value that is used as an address once, as far as code is
// dominated by the check, and takes it that memory never shrinks. Here it does, and is
// even gone if it shrinks to nothing: what is not checked again reads and writes the
// node. So an address that may be older than the last call, by which memory may have
// shrunk, is made a new value. A shift by 0 does so: the compiler drops it, but only after
// it decided where to check.
//
// Operands and locals are told apart: of the operand stack it is enough to know how many
// at its bottom are older than the last call, and a local that was read once since is
// read from a copy.
type aging struct {
	operands *[]byte // the checker's stack

	calls bool // the function has calls, by which memory may shrink
	begun bool // code at hand may follow a call
	old   int  // operands that are older than the last call
	epoch int  // counts calls, and places where paths meet
	known map[uint32]renewed
	extra []ValueType          // locals added to the function
	first uint32               // index of the first of them
	spill map[ValueType]uint32 // locals that stored values wait in
}

// renewed is where the value of an i32 local is, as it was renewed or set.
type renewed struct {
	epoch  int
	local  uint32
	copied bool
	copy   uint32 // local for copies, if copied
}

// maxCopies bounds the locals that are added to a function for copies.
const maxCopies = 1000

// mayShrink tells whether a module may have the instruction memory.grow. As these look
// for bytes only, they may say so of others; that costs checks and nothing else.
func (m *module) mayShrink() bool {
	for i := range m.bodies {
		if bytes.Contains(m.bodies[i].code, []byte{opMemoryGrow, 0}) {
			return true
		}
	}
	return false
}

func mayCall(code []byte) bool {
	return bytes.ContainsAny(code, string([]byte{opCall, opCallIndirect, opMemoryGrow}))
}

func (a *aging) reset(calls bool, first uint32) {
	a.calls, a.begun, a.old, a.epoch = calls, false, 0, 0
	a.extra, a.first = a.extra[:0], first
	clear(a.known)
	clear(a.spill)
}

// noteCall says that memory may have shrunk. What is on the stack but for the result of the
// call is older.
func (a *aging) noteCall(results int) {
	if a.calls {
		a.begun = true
		a.epoch++
		a.old = len(*a.operands) - results
	}
}

// noteJoin says that code can be reached on several paths from here on.
func (a *aging) noteJoin() { a.epoch++ }

// noteLoop says that code can follow what is in the loop.
func (a *aging) noteLoop() {
	a.begun = a.calls
	a.epoch++
}

// noteResult says that the top operand, if there is a result, is new.
func (a *aging) noteResult(results int) { a.old = min(a.old, len(*a.operands)-results) }

// local adds a local.
func (a *aging) local(t ValueType) uint32 {
	a.extra = append(a.extra, t)
	return a.first + uint32(len(a.extra)) - 1
}

// get reads a local.
func (a *aging) get(e *encoder, t ValueType, index uint32) {
	if !a.begun || t != I32 {
		e.index(opLocalGet, index)
		return
	}
	r := a.known[index]
	if r.epoch == a.epoch {
		e.index(opLocalGet, r.local)
		return
	}
	e.index(opLocalGet, index)
	e.renew()
	if !r.copied {
		if len(a.extra) >= maxCopies {
			return
		}
		r.copied, r.copy = true, a.local(I32)
	}
	r.epoch, r.local = a.epoch, r.copy
	a.known[index] = r
	e.index(opLocalTee, r.copy)
}

// set says that a local is about to be set to the top operand, which stays if it is one of
// the results.
func (a *aging) set(e *encoder, t ValueType, index uint32, results int) {
	a.keep(e, t, results)
	if a.begun && t == I32 {
		r := a.known[index]
		r.epoch, r.local = a.epoch, index
		a.known[index] = r
	}
}

// keep makes the top operand, which is about to be kept in a variable, new if it is older
// than the last call.
func (a *aging) keep(e *encoder, t ValueType, results int) {
	if t == I32 && len(*a.operands)-results < a.old {
		e.renew()
	}
	a.noteResult(results)
}

// address makes the address of a load or store, which is on top, new if need be. place is
// where the checker had it.
func (a *aging) address(e *encoder, place int) {
	if place < a.old {
		e.renew()
	}
}

// spillLocal returns the local that a value waits in while its address is at hand.
func (a *aging) spillLocal(t ValueType) uint32 {
	value, ok := a.spill[t]
	if !ok {
		value = a.local(t)
		a.spill[t] = value
	}
	return value
}

// renew makes the i32 on top a new value.
func (e *encoder) renew() {
	e.i32(0)
	e.op(opI32Shl)
}
