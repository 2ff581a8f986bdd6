package wasm

import "sort"

// Entries of the operand stack that are no value types: where a block begins, where
// code became unreachable, and an operand of unknown type in unreachable code.
const (
	scopeMark       = 0x81
	unreachableMark = 0x80
	anyType         = 0x82
)

// frame is a block that is open.
type frame struct {
	kind   byte      // opBlock, opLoop, opIf, opElse; opEnd for the function itself
	result ValueType // of the block
	label  ValueType // of a branch to it

	dead  bool // what follows cannot be reached
	inert bool // nor can the block itself
}

// checker type-checks the code of functions, as eos-vm's parser does, whose view of
// unreachable code and of stack usage differs from the specification's. If it has a
// writer, it hands it every instruction that can be reached.
type checker struct {
	reader
	o *options
	m *module
	w writer

	body   *funcBody
	ft     funcType
	stack  []byte
	frames []frame

	used        uint32 // of max_func_local_bytes
	unreachable uint32 // how often code became so: then operands do not count

	peak int // deepest operand stack of all functions

	// By the constraints of the MVP; across functions, as nodeos counts.
	nesting  uint16
	deepest  uint16
	farthest uint32 // offset of a load or store
}

// writer is given the instructions of a function that can be reached, one after the
// other, each after the checker has popped its operands and pushed its result.
type writer interface {
	plain(op byte, p *plain, align, offset uint32)
	other(op byte)
	choose(t ValueType) // a select of values of this type
	literal(op byte, bits uint64)
	variable(op byte, index uint32, t ValueType)
	call(op byte, index uint32, results int)
	open(op byte, result ValueType)
	close(f *frame)
	branch(op byte, label uint32)
	startTable()
	tableLabel(label uint32)
	endTable()
}

// function checks one function.
func (c *checker) function(b *funcBody) error {
	c.reader = newReader(b.code)
	c.body, c.ft = b, c.m.types[b.typ]
	c.stack = append(c.stack[:0], scopeMark)
	c.frames = append(c.frames[:0], frame{kind: opEnd, result: c.ft.result, label: c.ft.result})
	c.used, c.unreachable = b.used, 0
	for c.more() {
		c.require(uint64(len(c.frames)) <= uint64(c.o.nestedStructures), "nested structures validation failure")
		c.instruction()
	}
	c.require(len(c.frames) == 0, "function body too long")
	return c.err
}

// live tells whether the next instruction can be reached and is to be rewritten.
func (c *checker) live() bool {
	n := len(c.frames)
	return c.w != nil && c.err == nil && n > 0 && !c.frames[n-1].dead && !c.frames[n-1].inert
}

func (c *checker) instruction() {
	op := c.byte()
	// Some instructions may even follow the end of the function.
	switch op {
	case opNop, opBlock, opLoop, opLocalGet, opGlobalGet, opMemorySize, opI32Const, opI64Const, opF32Const, opF64Const:
	default:
		if len(c.frames) == 0 {
			c.fail("code after function end")
			return
		}
	}
	if p := &plains[op]; p.operand != 0 {
		c.plain(op, p)
		return
	}
	switch op {
	case opNop:
	case opBlock, opLoop, opIf:
		c.open(op)
	case opElse:
		c.otherwise()
	case opEnd:
		c.close()
	case opUnreachable, opBr, opBrIf, opBrTable, opReturn:
		c.branch(op)
	case opCall, opCallIndirect:
		c.call(op)
	case opLocalGet, opLocalSet, opLocalTee, opGlobalGet, opGlobalSet:
		c.variable(op)
	case opI32Const, opI64Const, opF32Const, opF64Const:
		c.literal(op)
	case opDrop, opSelect, opMemorySize, opMemoryGrow:
		c.other(op)
	default:
		c.fail("illegal instruction")
	}
}

func (c *checker) plain(op byte, p *plain) {
	var align, offset uint32
	if p.memory {
		c.require(c.m.memories > 0, "load or store requires memory")
		if c.o.legacy {
			align = uint32(c.byte())
		} else {
			align = c.u32()
		}
		offset = c.u32()
		c.require(align <= uint32(p.align), "alignment cannot be greater than size")
		c.farthest = max(c.farthest, offset)
	}
	c.pop(p.operand)
	switch {
	case !p.memory && p.count == 2:
		c.pop(p.operand)
	case p.memory && p.count == 2:
		c.pop(I32)
	}
	if p.result != 0 {
		c.push(p.result)
	}
	if c.live() {
		c.w.plain(op, p, align, offset)
	}
}

func (c *checker) other(op byte) {
	switch op {
	case opDrop:
		c.popAny()
	case opSelect:
		c.pop(I32)
		a, b := c.popAny(), c.popAny()
		c.require(a == b || a == anyType || b == anyType, "incorrect types for select")
		if a == anyType {
			a = b
		}
		c.push(a)
		if c.live() {
			c.w.choose(a)
		}
		return
	case opMemorySize, opMemoryGrow:
		c.require(c.m.memories > 0, "instruction requires memory")
		if op == opMemoryGrow {
			c.pop(I32)
		}
		c.push(I32)
		c.require(c.byte() == 0, "the reserved byte must be 0")
	}
	if c.live() {
		c.w.other(op)
	}
}

func (c *checker) literal(op byte) {
	var bits uint64
	switch op {
	case opI32Const:
		bits = uint64(uint32(c.s32()))
		c.push(I32)
	case opI64Const:
		bits = uint64(c.s64())
		c.push(I64)
	case opF32Const:
		bits = uint64(c.fixed32())
		c.push(F32)
	case opF64Const:
		bits = c.fixed64()
		c.push(F64)
	}
	if c.live() {
		c.w.literal(op, bits)
	}
}

func (c *checker) variable(op byte) {
	index := c.u32()
	var t ValueType
	if op == opGlobalGet || op == opGlobalSet {
		if uint64(index) >= uint64(len(c.m.globals)) {
			c.fail("undefined global")
			return
		}
		g := &c.m.globals[index]
		t = g.typ
		if op == opGlobalGet {
			c.push(t)
		} else {
			c.require(g.mutable, "cannot set const global")
			c.pop(t)
		}
	} else {
		t = c.localType(index)
		if c.err != nil {
			return
		}
		switch op {
		case opLocalGet:
			c.push(t)
		case opLocalSet:
			c.pop(t)
		case opLocalTee:
			c.top(t)
		}
	}
	if c.live() {
		c.w.variable(op, index, t)
	}
}

func (c *checker) localType(index uint32) ValueType {
	if uint64(index) < uint64(len(c.ft.params)) {
		return c.ft.params[index]
	}
	runs := c.body.locals
	i := sort.Search(len(runs), func(i int) bool { return index < runs[i].end })
	if i == len(runs) {
		c.fail("undefined local")
		return 0
	}
	return runs[i].typ
}

func (c *checker) call(op byte) {
	index := c.u32()
	var t *funcType
	if op == opCall {
		if uint64(index) >= c.m.functionCount() {
			c.fail("undefined function")
			return
		}
		t = c.m.typeOf(index)
	} else {
		if uint64(index) >= uint64(len(c.m.types)) {
			c.fail("undefined type")
			return
		}
		t = &c.m.types[index]
		c.require(c.m.tables > 0, "call_indirect requires a table")
		c.pop(I32)
	}
	for i := len(t.params) - 1; i >= 0 && c.err == nil; i-- {
		c.pop(t.params[i])
	}
	results := 0
	if t.result != none {
		c.push(t.result)
		results = 1
	}
	if op == opCallIndirect {
		c.require(c.byte() == 0, "call_indirect must end with 0x00")
	}
	if c.live() {
		c.w.call(op, index, results)
	}
}
