package wasm

import "slices"

// helper is a function that the rewriter adds to a module.
type helper struct {
	kind byte
	n    uint32 // opcode of a float helper; import of a thunk; type of a select
}

// Kinds of helpers.
const (
	helperRun    = iota + 1 // the entry
	helperRefuel            // ticks
	helperBurn              // takes fuel
	helperThunk             // checks the depth and calls a host function
	helperFloat             // a float instruction
	helperSelect            // select of floats
	helperMemcpy
	helperMemmove
	helperMemset
	helperMemcmp
)

// memoryHelper returns the kind of helper that stands in for a host function, 0 if
// none does.
func memoryHelper(name []byte) byte {
	switch string(name) {
	case "memcpy":
		return helperMemcpy
	case "memmove":
		return helperMemmove
	case "memset":
		return helperMemset
	case "memcmp":
		return helperMemcmp
	}
	return 0
}

// helper returns the function index of a helper, which it adds if need be.
func (w *rewriter) helper(h helper) uint32 {
	n, ok := w.places[h]
	if !ok {
		n = uint32(len(w.helpers))
		w.places[h] = n
		w.helpers = append(w.helpers, h)
	}
	return uint32(len(w.m.imports)) + machineImports + uint32(len(w.m.functions)) + n
}

// thunk returns the function that stands in for a host function: it checks the
// depth first.
func (w *rewriter) thunk(index uint32) uint32 {
	if k := memoryHelper(w.m.imports[index].name); k != 0 {
		return w.helper(helper{kind: k})
	}
	return w.helper(helper{kind: helperThunk, n: index})
}

func (w *rewriter) helperType(h helper) uint32 {
	switch h.kind {
	case helperRun:
		return w.intern([]ValueType{I64, I64, I64, I32}, none)
	case helperRefuel:
		return w.intern(nil, none)
	case helperBurn:
		return w.intern([]ValueType{I32}, none)
	case helperThunk:
		return w.m.imports[h.n].typ
	case helperFloat:
		p := plains[h.n]
		return w.intern(slices.Repeat([]ValueType{p.operand}, int(p.count)), p.result)
	case helperSelect:
		t := ValueType(h.n)
		return w.intern([]ValueType{t, t, I32}, t)
	default:
		return w.intern([]ValueType{I32, I32, I32}, I32)
	}
}

func (w *rewriter) helperBody(h helper) []byte {
	var e encoder
	switch h.kind {
	case helperRun:
		w.run(&e)
	case helperRefuel:
		e.op(0)
		e.index(opCall, w.machineImport(importTick))
		e.i32(fuelPerTick)
		e.index(opGlobalSet, w.globalFuel())
	case helperBurn:
		e.op(0)
		e.index(opGlobalGet, w.globalFuel())
		e.index(opLocalGet, 0)
		w.burnTop(&e, 0)
	case helperThunk:
		e.op(0)
		w.checkDepth(&e)
		for i := range w.m.types[w.m.imports[h.n].typ].params {
			e.index(opLocalGet, uint32(i))
		}
		e.index(opCall, h.n)
	case helperFloat:
		floatHelper(&e, byte(h.n))
	case helperSelect:
		f := formatOf(ValueType(h.n))
		e.op(0, opLocalGet, 0, f.toInt, opLocalGet, 1, f.toInt, opLocalGet, 2, opSelect, f.toReal)
	case helperMemcmp:
		w.memcmp(&e)
	default:
		w.memory(&e, h.kind)
	}
	e.op(opEnd)
	return e
}

// run is the entry: it sets the globals, and calls the start function and apply,
// which may be host functions.
func (w *rewriter) run(e *encoder) {
	e.op(0)
	for i, g := range w.m.globals {
		if g.mutable {
			e.bits(g.typ, g.bits)
			e.index(opGlobalSet, uint32(i))
		}
	}
	e.index(opLocalGet, 3)
	e.index(opGlobalSet, w.globalDepth())
	e.i32(fuelPerTick)
	e.index(opGlobalSet, w.globalFuel())
	e.i32(0)
	e.index(opGlobalSet, w.globalFar())
	call := func(f uint32) {
		if uint64(f) < uint64(len(w.m.imports)) {
			e.index(opCall, f)
		} else {
			e.index(opCall, w.own(f))
		}
	}
	if w.m.start != noFunction {
		call(w.m.start)
	}
	for i := range uint32(3) {
		e.index(opLocalGet, i)
	}
	call(w.m.exportIndex("apply"))
}

// Locals of the memory helpers.
const (
	localA, localB, localN = 0, 1, 2
	localScratch           = 3
)

// within traps unless local+n bytes are in memory.
func (w *rewriter) within(e *encoder, local uint32) {
	e.index(opLocalGet, local)
	e.op(opI64ExtendI32)
	e.index(opLocalGet, localN)
	e.op(opI64ExtendI32, opI64Add)
	w.memoryBytes(e)
	e.op(opI64GtU, opIf, none, opUnreachable, opEnd)
}

// memoryBytes pushes the size of memory, 0 if there is none.
func (w *rewriter) memoryBytes(e *encoder) {
	e.op(opMemorySize, 0, opI64ExtendI32)
	e.i64(16)
	e.op(opI64Shl)
}

// prepare is what nodeos' conversion of the arguments checks: both ranges, and, but
// for memcmp, the first byte that is written even if nothing is (Leap: common.hpp).
func (w *rewriter) prepare(e *encoder, ranges int, writes bool) {
	e.index(opGlobalGet, w.globalFuel())
	e.index(opLocalGet, localN)
	e.i32(6)
	e.op(opI32ShrU)
	w.burnTop(e, localScratch)
	w.within(e, localA)
	if ranges == 2 {
		w.within(e, localB)
	}
	if writes {
		e.index(opLocalGet, localA)
		e.op(opI64ExtendI32)
		w.memoryBytes(e)
		e.op(opI64LtU, opI32Eqz, opIf, none, opUnreachable, opEnd)
	}
}

// memory is memcpy, memmove or memset (Leap: webassembly/memory.cpp).
func (w *rewriter) memory(e *encoder, kind byte) {
	e.op(1, 1, I32)
	w.checkDepth(e)
	if w.m.memories == 0 {
		e.op(opUnreachable)
		return
	}
	ranges := 2
	if kind == helperMemset {
		ranges = 1
	}
	w.prepare(e, ranges, true)
	if kind == helperMemcpy {
		for _, order := range [][2]uint32{{localA, localB}, {localB, localA}} {
			e.index(opLocalGet, order[0])
			e.index(opLocalGet, order[1])
			e.op(opI32Sub)
		}
		e.index(opLocalGet, localA)
		e.index(opLocalGet, localB)
		e.op(opI32GeU, opSelect)
		e.index(opLocalGet, localN)
		e.op(opI32LtU, opIf, none)
		e.index(opCall, w.machineImport(importOverlap))
		e.op(opEnd)
	}
	if w.reach.bits != 0 {
		e.index(opLocalGet, localA)
		e.index(opLocalGet, localN)
		e.op(opI32Add) // both are in memory, which is much smaller than 4 GiB
		e.i32(int32(near(w.reach.bits)))
		e.op(opI32GtU)
		w.far(e)
	}
	for _, l := range []uint32{localA, localB, localN} {
		e.index(opLocalGet, l)
	}
	if kind == helperMemset {
		e.op(0xfc, 11, 0)
	} else {
		e.op(0xfc, 10, 0, 0)
	}
	e.index(opLocalGet, localA)
}

// longCompare is how many bytes memcmp compares by itself. The interpreter would take
// long for more, and memcmp looks at the clock only before it begins.
const longCompare = 1024

// memcmp compares eight bytes at a time, and those that differ one by one.
func (w *rewriter) memcmp(e *encoder) {
	e.op(1, 1, I32)
	w.checkDepth(e)
	if w.m.memories == 0 {
		e.op(opUnreachable)
		return
	}
	w.prepare(e, 2, false)
	e.index(opLocalGet, localN)
	e.i32(longCompare)
	e.op(opI32GtU, opIf, none)
	for _, l := range []uint32{localA, localB, localN} {
		e.index(opLocalGet, l)
	}
	e.index(opCall, w.machineImport(importCompare))
	e.op(opReturn, opEnd)
	advance := func(n int32) {
		for _, l := range []uint32{localA, localB} {
			e.index(opLocalGet, l)
			e.i32(n)
			e.op(opI32Add)
			e.index(opLocalSet, l)
		}
		e.index(opLocalGet, localN)
		e.i32(n)
		e.op(opI32Sub)
		e.index(opLocalSet, localN)
	}
	e.op(opBlock, none, opLoop, none)
	e.index(opLocalGet, localN)
	e.i32(8)
	e.op(opI32LtU, opBrIf, 1)
	e.index(opLocalGet, localA)
	e.mem(opI64Load, 0, 0)
	e.index(opLocalGet, localB)
	e.mem(opI64Load, 0, 0)
	e.op(opI64Ne, opBrIf, 1)
	advance(8)
	e.op(opBr, 0, opEnd, opEnd)

	e.op(opBlock, none, opLoop, none)
	e.index(opLocalGet, localN)
	e.op(opI32Eqz, opBrIf, 1)
	e.index(opLocalGet, localA)
	e.mem(opI32Load8U, 0, 0)
	e.index(opLocalGet, localB)
	e.mem(opI32Load8U, 0, 0)
	e.op(opI32Sub)
	e.index(opLocalTee, localScratch)
	e.op(opIf, none)
	e.i32(-1)
	e.i32(1)
	e.index(opLocalGet, localScratch)
	e.i32(0)
	e.op(opI32LtS, opSelect, opReturn, opEnd)
	advance(1)
	e.op(opBr, 0, opEnd, opEnd)
	e.i32(0)
}
