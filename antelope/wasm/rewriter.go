package wasm

import (
	"errors"
	"slices"
)

// The functions that a rewritten module imports from module "machine", in this
// order after its own imports.
const (
	importTick     = iota // () : time to check the time
	importGrow            // (pages i32) i32 : memory.grow, as eos-vm does it
	importSelect          // (index, table i32) i32 : a big br_table
	importOverlap         // () : memcpy of overlapping ranges
	importCompare         // (a, b, length i32) i32 : memcmp of long ranges
	machineImports        // how many
)

const (
	// fuelPerTick is about how many instructions run between two ticks: some ten
	// microseconds. Native code cannot be preempted, so this bounds how long a garbage
	// collection waits, too.
	fuelPerTick = 50000

	// A function without calls and loops that is shorter burns no fuel; its callers
	// burn callWeight for it.
	freeWeight = 64
	callWeight = 16

	// floatWeight is for a call of a float helper.
	floatWeight = 4

	// As many locals are made 0 in the time of an instruction.
	localsPerCost = 8

	// inlineLoops is how many loops of a function take fuel by themselves; the others
	// call a function for it, as the compiler's time grows with the square of the
	// number of blocks.
	inlineLoops = 64
	ifBlocks    = 3 // what an if without else becomes

	// The compiler's time grows with the square of a br_table's size, too. A bigger one is
	// made a lookup by the host and a br_table of the labels that occur.
	maxTable = 64
)

// rewriter turns a checked module into one that behaves the same on every processor
// and engine, can be interrupted, and can be brought back to its initial state:
//
//   - a global counts the calls that may still nest (Leap: eos-vm's x86_64.hpp),
//   - another the fuel until the next tick,
//   - a third says whether memory was written beyond its near part,
//   - float instructions whose NaNs are the processor's choice become functions,
//   - memcpy and its like need not leave the module,
//   - memory.grow is the host's, with eos-vm's meaning,
//   - one exported function sets the globals, calls the start function and apply.
//
// Code that cannot be reached is dropped, and with it what nodeos accepts there and
// the specification does not.
//
// It has many methods because it has one for each kind of instruction that is rewritten, all in
// one pass over one module.
type rewriter struct {
	m       *module
	types   []funcType
	helpers []helper
	places  map[helper]uint32 // index among helpers
	tables  [][]uint32        // big br_tables: which of the labels that occur, by index
	code    encoder           // finished functions
	size    effort

	indirect map[uint32]bool // types that are called indirectly
	graph    calls
	frames   []int64 // bytes, by function
	mutable  int     // how many globals are

	// Of the function at hand.
	out     encoder
	weights []weight
	labels  []uint32
	calls   bool
	loops   int
	edges   int // of br_tables
	blocks  int
	scratch uint32 // index of an i32 local
	fresh   bool   // the instruction before made the top operand, and is no and
	aging   aging
	reach   reach
	values  values
}

// weight is the cost of a function or loop, but for the loops in it.
type weight struct {
	at   int // of the constant to patch; -1 for the function
	cost uint32
}

// rewritten is the result.
type rewritten struct {
	code   []byte
	tables [][]uint32
	near   uint64 // bytes of the near part of memory; 0: all
	size   effort
}

// rewrite makes the module that the virtual machine gets.
func rewrite(m *module, o *options) (*rewritten, error) {
	apply := m.exportIndex("apply")
	if apply == noFunction {
		return nil, errors.New("apply is not exported")
	}
	if !isApply(m.typeOf(apply)) {
		return nil, errors.New("apply has the wrong type")
	}
	var w *rewriter
	large, err := m.large()
	if err == nil && !large {
		w, err = rewriteFunctions(m, o)
	}
	if err == nil && (large || m.mixes(w.indirect)) {
		if m, err = widen(m, o); err == nil {
			w, err = rewriteFunctions(m, o)
		}
	}
	if err != nil {
		return nil, err
	}
	elements := w.elements()
	entry := w.helper(helper{kind: helperRun})
	for i := 0; i < len(w.helpers); i++ { // a helper may need another
		w.code.function(w.helperBody(w.helpers[i]))
	}
	return &rewritten{code: w.assemble(elements, entry), tables: w.tables, near: near(w.reach.bits), size: w.size}, nil
}

// rewriteFunctions rewrites the code of a module. The checker checks the functions while
// it hands them on.
func rewriteFunctions(m *module, o *options) (*rewriter, error) {
	w := &rewriter{m: m, types: slices.Clone(m.types), places: map[helper]uint32{}, indirect: map[uint32]bool{},
		graph: newCalls(m), values: values{set: map[uint32]int{}}}
	for _, g := range m.globals {
		if g.mutable {
			w.mutable++
		}
	}
	c := checker{o: o, m: m, w: w}
	w.aging = aging{operands: &c.stack, known: map[uint32]renewed{}, spill: map[ValueType]uint32{}}
	w.reach = newReach(&c.stack, m.nearBits())
	shrinks := m.mayShrink()
	for i := range m.bodies {
		w.begin(&m.bodies[i], shrinks)
		if err := c.function(&m.bodies[i]); err != nil {
			return nil, err
		}
		w.finish(&m.bodies[i])
	}
	w.size.operands, w.size.need = c.peak, w.graph.stackNeed(w.frames)
	return w, nil
}

// own returns the new index of a function of the module.
func (w *rewriter) own(index uint32) uint32 { return index + machineImports }

func (w *rewriter) machineImport(n uint32) uint32 { return uint32(len(w.m.imports)) + n }

func (w *rewriter) globalDepth() uint32 { return uint32(len(w.m.globals)) }
func (w *rewriter) globalFuel() uint32  { return uint32(len(w.m.globals)) + 1 }
func (w *rewriter) globalFar() uint32   { return uint32(len(w.m.globals)) + 2 }

// machineGlobals is how many globals the rewriter adds.
const machineGlobals = 3

func (w *rewriter) begin(b *funcBody, shrinks bool) {
	w.out = w.out[:0]
	w.weights = append(w.weights[:0], weight{at: -1})
	w.calls, w.loops, w.blocks, w.edges, w.fresh = false, 0, 3*ifBlocks, 0, false
	w.scratch = b.variables(w.m)
	w.aging.reset(shrinks && mayCall(b.code), w.scratch+1)
	w.reach.reset()
	w.values.reset()
}

// noteResults says how many results the instruction has, which are on the checker's stack.
func (w *rewriter) noteResults(results int) {
	w.aging.noteResult(results)
	w.reach.noteUnknown(results)
}

// noteCall is made for an instruction that may shrink memory.
func (w *rewriter) noteCall(results int) {
	w.aging.noteCall(results)
	w.reach.noteUnknown(results)
}

func (w *rewriter) cost(n uint32) {
	t := &w.weights[len(w.weights)-1]
	t.cost = min(t.cost+n, 1<<29)
}

func (w *rewriter) plain(op byte, p *plain, align, offset uint32) {
	w.cost(1)
	if isIntegerOrder(op) && !w.fresh {
		w.veil(p.operand)
	}
	w.fresh = p.result != 0 && !isAndOrShift(op)
	switch {
	case p.memory && p.result == 0:
		w.store(op, p, align, offset)
	case p.memory:
		w.values.count++ // an address that is new
		w.aging.address(&w.out, len(*w.aging.operands)-1)
		w.out.mem(op, align, offset)
	case op == opF32Abs || op == opF32Neg || op == opF64Abs || op == opF64Neg:
		w.out.signBit(op)
	case isHelped(op):
		w.cost(floatWeight)
		w.out.index(opCall, w.helper(helper{kind: helperFloat, n: uint32(op)}))
	default:
		w.out.op(op)
	}
	w.values.count++
	if p.result != 0 {
		w.noteResults(1)
	} else {
		w.noteResults(0)
	}
}

// isAndOrShift tells which instructions wazero may take for an and: a shift by 0 is
// dropped.
func isAndOrShift(op byte) bool {
	return op >= opI32And && op <= opI32ShrU && op != opI32Or && op != opI32Xor ||
		op >= opI64And && op <= opI64ShrU && op != opI64Or && op != opI64Xor
}

// isIntegerOrder tells which comparisons of integers depend on the order of operands.
func isIntegerOrder(op byte) bool {
	return op >= opI32LtS && op <= opI32GeU || op >= opI64LtS && op <= opI64GeU
}

// veil hides from wazero what the top operand was made of. Version 1.12 takes both
// 0 < a&b and a&b < 0, as the condition of a branch, for the second.
func (w *rewriter) veil(t ValueType) {
	w.values.count++
	w.out.bits(t, 0)
	if t == I32 {
		w.out.op(opI32Or)
	} else {
		w.out.op(opI64Or)
	}
}

func (w *rewriter) other(op byte) {
	w.cost(1)
	w.fresh = false
	switch op {
	case opMemorySize:
		w.values.count++
		w.out.op(op, 0)
		w.noteResults(1)
	case opMemoryGrow:
		w.out.index(opCall, w.machineImport(importGrow))
		w.returns(1)
		w.noteCall(1)
	case opElse:
		w.blocks++
		w.out.op(op)
		w.aging.noteJoin()
		w.reach.meet()
	default:
		w.out.op(op)
		w.noteResults(0)
	}
}

// choose is a select of values of a type. wazero 1.12 does not tell its allocator of
// registers that a conditional move of a float on amd64 needs what its target held
// before, and gives the first value where the second is meant if registers are short. So
// floats are chosen as integers.
func (w *rewriter) choose(t ValueType) {
	w.cost(1)
	w.values.count++
	w.noteResults(1)
	w.fresh = false
	if t != F32 && t != F64 {
		w.out.op(opSelect)
		return
	}
	w.cost(floatWeight)
	w.out.index(opCall, w.helper(helper{kind: helperSelect, n: uint32(t)}))
}

func (w *rewriter) literal(op byte, bits uint64) {
	w.cost(1)
	w.fresh = true
	w.noteResults(1)
	if op == opI32Const {
		w.reach.literal(uint32(bits))
	}
	w.out.bits(I32-(op-opI32Const), bits)
}

func (w *rewriter) variable(op byte, index uint32, t ValueType) {
	w.cost(1)
	w.fresh = op == opGlobalGet
	switch op {
	case opGlobalGet:
		w.values.count++
		w.noteResults(1)
		if g := &w.m.globals[index]; !g.mutable {
			w.out.bits(g.typ, g.bits)
			return
		}
	case opLocalGet:
		if w.aging.begun {
			w.values.count++ // a copy
		}
		w.noteResults(1)
		w.reach.noteLocal(index)
		w.aging.get(&w.out, t, index)
		return
	case opGlobalSet:
		w.aging.keep(&w.out, t, 0)
		w.values.write(everything-1-index, 1)
	case opLocalSet:
		w.values.write(index, 1)
		w.aging.set(&w.out, t, index, 0)
		w.reach.write(index)
	case opLocalTee:
		w.values.write(index, 1)
		w.aging.set(&w.out, t, index, 1)
		w.reach.write(index)
		w.reach.noteLocal(index)
	}
	w.out.index(op, index)
}

func (w *rewriter) open(op byte, result ValueType) {
	w.cost(1)
	w.fresh = false
	if op == opBlock {
		w.blocks++
	} else {
		w.blocks += ifBlocks // a loop is worth as much
	}
	w.out.op(op, result)
	w.noteResults(0)
	w.values.open(1)
	w.reach.open(op == opLoop)
	if op == opLoop {
		w.aging.noteLoop()
		w.weights = append(w.weights, weight{at: w.burnPatchable()})
	}
}

func (w *rewriter) close(f *frame) {
	w.fresh = false
	w.out.op(opEnd)
	w.noteResults(0)
	w.aging.noteJoin()
	w.reach.close()
	w.values.close()
	if f.kind == opLoop {
		t := w.weights[len(w.weights)-1]
		w.out.patch(t.at, t.cost+1)
		w.weights = w.weights[:len(w.weights)-1]
	}
}

func (w *rewriter) branch(op byte, label uint32) {
	w.cost(1)
	w.fresh = false
	w.blocks++
	w.noteResults(0)
	w.out.index(op, label)
}

func (w *rewriter) startTable() { w.labels = w.labels[:0] }

func (w *rewriter) tableLabel(label uint32) { w.labels = append(w.labels, label) }

func (w *rewriter) endTable() {
	w.cost(2)
	labels := w.labels
	if len(labels) > maxTable {
		labels = w.bigTable()
	}
	w.edges += len(labels)
	w.out.index(opBrTable, uint32(len(labels)-1))
	for _, l := range labels {
		w.out.u32(l)
	}
}

// bigTable has the host look up which of the labels that occur is meant, and
// returns those.
func (w *rewriter) bigTable() []uint32 {
	w.cost(50)
	place := make(map[uint32]uint32)
	table := make([]uint32, len(w.labels))
	var labels []uint32
	for i, l := range w.labels {
		n, ok := place[l]
		if !ok {
			n = uint32(len(labels))
			place[l] = n
			labels = append(labels, l)
		}
		table[i] = n
	}
	w.out.i32(int32(len(w.tables)))
	w.out.index(opCall, w.machineImport(importSelect))
	w.tables = append(w.tables, table)
	return labels
}

// call is a call of a function with so many results.
func (w *rewriter) call(op byte, index uint32, results int) {
	w.calls, w.fresh = true, false
	w.cost(callWeight)
	switch {
	case op == opCallIndirect:
		w.indirect[index] = true
		w.out.index(op, index)
		w.out.op(0)
		w.noteCall(results)
		w.calling(w.graph.indirect(w.m, index))
	case uint64(index) < uint64(len(w.m.imports)):
		w.out.index(opCall, w.thunk(index)) // memory stays as large as it is
		w.noteResults(results)
	default:
		w.out.index(opCall, w.own(index))
		w.noteCall(results)
		w.calling(index - uint32(len(w.m.imports)))
	}
	w.returns(results)
}

// calling notes a call in the graph.
func (w *rewriter) calling(node uint32) {
	caller := len(w.frames)
	w.graph[caller] = append(w.graph[caller], node)
}

// returns counts the values that a call makes.
func (w *rewriter) returns(results int) {
	w.values.count += results
	w.values.write(everything, reloadsAfter+machineGlobals+w.mutable)
}

// checkDepth traps if no further call may nest.
func (w *rewriter) checkDepth(e *encoder) {
	e.index(opGlobalGet, w.globalDepth())
	e.i32(1)
	e.op(opI32LeU, opIf, none, opUnreachable, opEnd)
}

// burn takes fuel, and ticks when there is none left.
func (w *rewriter) burn(e *encoder, cost uint32, local uint32) {
	e.index(opGlobalGet, w.globalFuel())
	e.i32(int32(min(cost, 1<<30)))
	w.burnTop(e, local)
}

// burnTop takes as much as is on the stack, from what is below it.
func (w *rewriter) burnTop(e *encoder, local uint32) {
	e.op(opI32Sub)
	e.index(opLocalTee, local)
	e.index(opGlobalSet, w.globalFuel())
	e.index(opLocalGet, local)
	e.i32(0)
	e.op(opI32LtS, opIf, none)
	e.index(opCall, w.helper(helper{kind: helperRefuel}))
	e.op(opEnd)
}

// burnPatchable burns fuel in a loop, in place for the first loops of a function.
func (w *rewriter) burnPatchable() int {
	w.loops++
	if w.loops > inlineLoops {
		at := w.out.patchable()
		w.out.index(opCall, w.helper(helper{kind: helperBurn}))
		return at
	}
	w.blocks += ifBlocks
	w.out.index(opGlobalGet, w.globalFuel())
	at := w.out.patchable()
	w.burnTop(&w.out, w.scratch)
	return at
}

// finish puts the function together.
func (w *rewriter) finish(b *funcBody) {
	t := &w.types[b.typ]
	var e encoder
	w.declare(&e, b)
	cost := w.weights[0].cost + (w.scratch-uint32(len(t.params)))/localsPerCost
	if w.calls || w.loops > 0 || cost > freeWeight {
		w.burn(&e, cost+1, w.scratch)
	}
	counted := w.calls && !b.uncounted
	switch {
	case counted:
		e.index(opGlobalGet, w.globalDepth())
		e.i32(1)
		e.op(opI32Sub)
		e.index(opLocalTee, w.scratch)
		e.index(opGlobalSet, w.globalDepth())
		e.index(opLocalGet, w.scratch)
		e.op(opI32Eqz, opIf, none, opUnreachable, opEnd)
	case !b.uncounted:
		w.checkDepth(&e)
	}
	if counted || w.reach.begun {
		// A branch to the function's own label goes to the end of this block.
		e.op(opBlock, t.result)
		e = append(e, w.out...)
		e.op(opEnd)
	} else {
		e = append(e, w.out...)
	}
	if counted {
		e.index(opGlobalGet, w.globalDepth())
		e.i32(1)
		e.op(opI32Add)
		e.index(opGlobalSet, w.globalDepth())
	}
	if w.reach.begun {
		w.markReturn(&e)
		w.blocks += ifBlocks
	}
	e.op(opEnd)
	w.code.function(e)
	w.frames = append(w.frames, placeBytes*int64(w.values.count+int(w.scratch)+len(w.aging.extra)+framePlaces))
	w.size.add(w.blocks, w.edges, int(w.scratch)+len(w.aging.extra), len(w.out))
}

// declare writes the declarations of the locals that are no parameters, and of those that
// were added.
func (w *rewriter) declare(e *encoder, b *funcBody) {
	params := uint32(len(w.types[b.typ].params))
	var sets encoder
	n, from := uint32(1), params
	for _, run := range b.locals {
		sets.u32(run.end - from)
		sets.op(run.typ)
		n++
		from = run.end
	}
	sets.u32(1)
	sets.op(I32)
	for _, t := range w.aging.extra {
		sets.u32(1)
		sets.op(t)
		n++
	}
	e.u32(n)
	*e = append(*e, sets...)
}

// function appends a function to a code section.
func (e *encoder) function(body []byte) {
	e.u32(uint32(len(body)))
	*e = append(*e, body...)
}
