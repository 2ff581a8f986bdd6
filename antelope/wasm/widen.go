package wasm

import (
	"errors"
	"slices"
)

// eos-vm takes two signatures for equal if their parameters are and each has one result,
// of whatever type (types.hpp). So an indirect call may give a value of another type than
// it says: the 64 bits that the callee left, which its compiler keeps in a slot of the
// stack. What says i32 or f32 may so have upper bits, and they show: extending an i32
// does nothing there, and a copy keeps them (x86_64.hpp).
//
// A module that may make such a call is widened before it is rewritten: everything is an
// i64 that holds the slot. So is one with more parameters or locals than is good for the
// virtual machine, whose time grows with the square of the parameters: of a widened
// function only the first parameters are passed as such, the others in globals that it
// copies what it uses from, and it has only the locals that it uses.

const (
	// maxParams is how many parameters are passed as such.
	maxParams = 64

	// maxLocals is how many locals all functions of a module may declare together before
	// it is widened.
	maxLocals = 1 << 20

	// eos-vm has no code for a function with so many locals (x86_64.hpp, emit_epilogue).
	tooManyLocals = 1 << 28
)

// large tells whether a module has too many parameters or locals for the virtual machine.
func (m *module) large() (bool, error) {
	locals := uint64(0)
	for i := range m.bodies {
		n := m.bodies[i].localCount(m)
		if n >= tooManyLocals {
			return false, errors.New("too many locals")
		}
		locals += uint64(n)
	}
	return locals > maxLocals ||
		slices.ContainsFunc(m.types, func(t funcType) bool { return len(t.params) > maxParams }), nil
}

// mixes tells whether an indirect call by one of the types in use may reach a function
// with the same parameters and another result.
func (m *module) mixes(used map[uint32]bool) bool {
	own := uint32(len(m.imports))
	reached := map[uint32]bool{}
	for _, f := range m.table {
		switch {
		case f == noFunction:
		case f < own:
			reached[m.imports[f].typ] = true
		default:
			reached[m.functions[f-own]] = true
		}
	}
	results := map[string][]ValueType{}
	for index := range reached {
		if t := &m.types[index]; t.result != none {
			results[string(t.params)] = append(results[string(t.params)], t.result)
		}
	}
	for index := range used {
		t := &m.types[index]
		for _, r := range results[string(t.params)] {
			if t.result != none && r != t.result {
				return true
			}
		}
	}
	return false
}

// widener makes a widened module of one that was checked. As the [writer] of a checker it
// writes the functions.
type widener struct {
	m     *module
	wide  module
	first uint32        // of the widened types, which stand after the module's own
	marks [][]ValueType // by type: the parameters that are added, to tell it from others
	room  uint32        // locals for the arguments of a host function, and one more
	area  uint32        // globals for parameters

	out     encoder
	labels  []uint32
	params  uint32            // of the function at hand
	scratch uint32            // the first of the locals that are added
	places  map[uint32]uint32 // of the locals, and of the parameters that are not passed as such
	used    []uint32          // these, in the order of their places
}

// widen makes the module whose values are slots.
func widen(m *module, o *options) (*module, error) {
	w := &widener{m: m, wide: *m, first: uint32(len(m.types)), places: map[uint32]uint32{}, room: 2}
	w.mapTypes()
	w.wide.functions, w.wide.bodies, w.wide.aliases = nil, nil, nil
	c := checker{o: o, m: m, w: w}
	for i := range m.bodies {
		b := &m.bodies[i]
		w.begin(b.typ)
		if err := c.function(b); err != nil {
			return nil, err
		}
		w.finish(b.typ, false)
	}
	w.hosts()
	w.wide.globals = slices.Clone(m.globals)
	for range w.area {
		w.wide.globals = append(w.wide.globals, globalVar{typ: I64, mutable: true})
	}
	return &w.wide, nil
}

// mapTypes lists the types of the host functions as they are, and then all types widened.
func (w *widener) mapTypes() {
	w.wide.types = make([]funcType, w.first, 2*w.first)
	for i := range w.wide.types {
		w.wide.types[i].result = none
	}
	for _, i := range w.m.imports {
		w.wide.types[i.typ] = w.m.types[i.typ]
		w.room = max(w.room, uint32(len(w.m.types[i.typ].params)))
	}
	long := map[string]uint32{}
	for i := range w.m.types {
		t := &w.m.types[i]
		mark := signature(t.params)
		if len(t.params) > maxParams {
			n, ok := long[string(t.params)]
			if !ok {
				n = uint32(len(long))
				long[string(t.params)] = n
			}
			mark = ordinal(n)
		}
		w.marks = append(w.marks, mark)
		wide := funcType{params: append(slots(min(len(t.params), maxParams)), mark...), result: none}
		if t.result != none {
			wide.result = I64
		}
		w.wide.types = append(w.wide.types, wide)
	}
}

func slots(n int) []ValueType {
	s := make([]ValueType, n)
	for i := range s {
		s[i] = I64
	}
	return s
}

// signature makes parameters by which widened signatures differ where those of the module
// do: two for each, up to the last that is no i64.
func signature(params []ValueType) []ValueType {
	n := len(params)
	for n > 0 && params[n-1] == I64 {
		n--
	}
	var s []ValueType
	for _, t := range params[:min(n, maxParams)] {
		switch t {
		case I64:
			s = append(s, I32, I32)
		case I32:
			s = append(s, I32, F32)
		case F32:
			s = append(s, F32, I32)
		default:
			s = append(s, F32, F32)
		}
	}
	return s
}

// ordinal is the same for the long signature of a number. It begins with an i64, as none
// of the others, so that more of them come first than any other has.
func ordinal(n uint32) []ValueType {
	s := []ValueType{I64}
	for ; n > 0; n >>= 1 {
		if n&1 == 0 {
			s = append(s, I32)
		} else {
			s = append(s, F32)
		}
	}
	return s
}

func (w *widener) begin(typ uint32) {
	w.out = nil
	w.params = uint32(len(w.m.types[typ].params))
	w.scratch = uint32(len(w.wide.types[w.first+typ].params))
	w.used = w.used[:0]
	clear(w.places)
}

// place returns where a local is in the widened function.
func (w *widener) place(index uint32) uint32 {
	if index < min(w.params, maxParams) {
		return index
	}
	at, ok := w.places[index]
	if !ok {
		at = w.scratch + w.room + uint32(len(w.used))
		w.places[index] = at
		w.used = append(w.used, index)
		if index < w.params {
			w.area = max(w.area, index-maxParams+1)
		}
	}
	return at
}

// parameterGlobal is the global in which a parameter is passed.
func (w *widener) parameterGlobal(index uint32) uint32 {
	return uint32(len(w.m.globals)) + index - maxParams
}

// finish ends a function.
func (w *widener) finish(typ uint32, uncounted bool) {
	var e encoder
	for _, index := range w.used {
		if index < w.params {
			e.index(opGlobalGet, w.parameterGlobal(index))
			e.index(opLocalSet, w.places[index])
		}
	}
	e = append(e, w.out...)
	e.op(opEnd)
	end := w.scratch + w.room + uint32(len(w.used))
	w.wide.functions = append(w.wide.functions, w.first+typ)
	w.wide.bodies = append(w.wide.bodies, funcBody{
		typ: w.first + typ, code: e, locals: []localRun{{end: end, typ: I64}}, uncounted: uncounted,
	})
}

// hosts puts functions with slots in the place of the host functions in the table.
func (w *widener) hosts() {
	w.wide.table = slices.Clone(w.m.table)
	places := map[uint32]uint32{}
	for at, f := range w.wide.table {
		if uint64(f) >= uint64(len(w.m.imports)) {
			continue
		}
		place, ok := places[f]
		if !ok {
			place = uint32(w.wide.functionCount())
			places[f] = place
			w.begin(w.m.imports[f].typ)
			for i := range w.params {
				w.out.index(opLocalGet, i)
			}
			w.callHost(f)
			w.finish(w.m.imports[f].typ, true)
		}
		w.wide.table[at] = place
	}
}

// narrow makes a value of a type of the slot on top.
func (e *encoder) narrow(t ValueType) {
	switch t {
	case I32:
		e.op(opI32WrapI64)
	case F32:
		e.op(opI32WrapI64, opF32FromI32)
	case F64:
		e.op(opF64FromI64)
	}
}

// widen makes a slot of the value on top.
func (e *encoder) widen(t ValueType) {
	switch t {
	case I32:
		e.op(opI64ExtendI32)
	case F32:
		e.op(opI32FromF32, opI64ExtendI32)
	case F64:
		e.op(opI64FromF64)
	}
}

// address makes an address or index of the slot on top. One with upper bits is beyond
// all memory and tables.
func (w *widener) address() {
	e := &w.out
	e.index(opLocalTee, w.scratch+1)
	e.op(opI32WrapI64)
	e.index(opLocalGet, w.scratch+1)
	e.i64(32)
	e.op(opI64ShrU, opI64Eqz)
	e.i32(1)
	e.op(opI32Sub, opI32Or)
}

// keepsUpper tells which instructions leave the upper bits of their first operand's slot:
// those that SoftFloat computes and that have 32 bits on both sides.
func keepsUpper(op byte) bool {
	switch {
	case op >= opF32Ceil && op <= opF32Sqrt, op >= opF32Add && op <= opF32Max:
	case op == opI32TruncF32S, op == opI32TruncF32U, op == opF32ConvertI32S, op == opF32ConvertI32U:
	default:
		return false
	}
	return true
}

func (w *widener) plain(op byte, p *plain, align, offset uint32) {
	e := &w.out
	second := p.count == 2
	if second {
		e.index(opLocalSet, w.scratch)
	}
	switch {
	case p.memory:
		w.address()
	case op == opI64ExtendI32, op == opI32FromF32, op == opF32FromI32, op == opI64FromF64, op == opF64FromI64:
		return // the slot stays as it is
	default:
		if keepsUpper(op) {
			e.index(opLocalTee, w.scratch+1)
		}
		e.narrow(p.operand)
	}
	if second {
		e.index(opLocalGet, w.scratch)
		e.narrow(p.operand)
	}
	if p.memory {
		e.mem(op, align, offset)
	} else {
		e.op(op)
	}
	if p.result != 0 {
		e.widen(p.result)
	}
	if keepsUpper(op) {
		e.index(opLocalGet, w.scratch+1)
		e.i64(-1 << 32)
		e.op(opI64And, opI64Or)
	}
}

func (w *widener) other(op byte) {
	e := &w.out
	switch op {
	case opMemorySize:
		e.op(op, 0, opI64ExtendI32)
	case opMemoryGrow:
		e.op(opI32WrapI64, op, 0, opI64ExtendI32)
	default:
		e.op(op)
	}
}

func (w *widener) choose(ValueType) { w.out.op(opI32WrapI64, opSelect) }

func (w *widener) literal(_ byte, bits uint64) { w.out.i64(int64(bits)) }

func (w *widener) variable(op byte, index uint32, t ValueType) {
	e := &w.out
	switch op {
	case opGlobalGet:
		e.index(op, index)
		e.widen(t)
		return
	case opGlobalSet:
		e.narrow(t)
	default:
		index = w.place(index)
	}
	e.index(op, index)
}

func (w *widener) call(op byte, index uint32, _ int) {
	e := &w.out
	if op == opCall && uint64(index) < uint64(len(w.m.imports)) {
		w.callHost(index)
		return
	}
	t, place := index, index+w.first
	if op == opCallIndirect {
		e.index(opLocalSet, w.scratch)
	} else {
		t, place = w.m.functions[index-uint32(len(w.m.imports))], index
	}
	for i := uint32(len(w.m.types[t].params)); i > maxParams; i-- {
		e.index(opGlobalSet, w.parameterGlobal(i-1))
		w.area = max(w.area, i-maxParams)
	}
	for _, s := range w.marks[t] {
		e.bits(s, 0)
	}
	if op == opCallIndirect {
		e.index(opLocalGet, w.scratch)
		w.address()
	}
	e.index(op, place)
	if op == opCallIndirect {
		e.op(0)
	}
}

func (w *widener) callHost(index uint32) {
	e := &w.out
	t := &w.m.types[w.m.imports[index].typ]
	for i := len(t.params) - 1; i >= 0; i-- {
		e.index(opLocalSet, w.scratch+uint32(i))
	}
	for i, p := range t.params {
		e.index(opLocalGet, w.scratch+uint32(i))
		e.narrow(p)
	}
	e.index(opCall, index)
	e.widen(t.result)
}

func (w *widener) open(op byte, result ValueType) {
	if op == opIf {
		w.out.op(opI32WrapI64)
	}
	if result != none {
		result = I64
	}
	w.out.op(op, result)
}

func (w *widener) close(*frame) { w.out.op(opEnd) }

func (w *widener) branch(op byte, label uint32) {
	if op == opBrIf {
		w.out.op(opI32WrapI64)
	}
	w.out.index(op, label)
}

func (w *widener) startTable() {
	w.out.op(opI32WrapI64)
	w.labels = w.labels[:0]
}

func (w *widener) tableLabel(label uint32) { w.labels = append(w.labels, label) }

func (w *widener) endTable() {
	w.out.index(opBrTable, uint32(len(w.labels)-1))
	for _, l := range w.labels {
		w.out.u32(l)
	}
}
