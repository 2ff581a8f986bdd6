package wasm

// Structured control and the operand stack of the checker.

func (c *checker) open(op byte) {
	result := c.byte()
	if c.o.zeroBlock && result == 0 {
		result = none
	}
	c.require(isValueType(result) || result == none, "invalid type code in a block")
	if op == opIf {
		c.pop(I32)
	}
	if c.err != nil {
		return
	}
	f := frame{kind: op, result: result, label: result}
	if op == opLoop {
		f.label = none
	}
	if n := len(c.frames); n > 0 {
		f.inert = c.frames[n-1].dead || c.frames[n-1].inert
	}
	if c.live() {
		c.w.open(op, result)
	}
	c.frames = append(c.frames, f)
	c.stack = append(c.stack, scopeMark)
	c.nest()
}

func (c *checker) otherwise() {
	f := &c.frames[len(c.frames)-1]
	c.require(f.kind == opIf, "else outside if")
	c.pop(f.result)
	c.popScope()
	c.stack = append(c.stack, scopeMark)
	c.nest()
	f.kind, f.dead = opElse, false
	if c.live() {
		c.w.other(opElse)
	}
}

func (c *checker) close() {
	f := c.frames[len(c.frames)-1]
	c.require(f.kind != opIf || f.result == none, "wrong type")
	c.pop(f.result)
	c.popScope()
	if f.result != none {
		c.push(f.result)
	}
	c.frames = c.frames[:len(c.frames)-1]
	c.require(c.o.trailing || len(c.frames) > 0 || c.pos == c.end, "function too short")
	if c.w != nil && c.err == nil && !f.inert && f.kind != opEnd {
		c.w.close(&f)
	}
	if c.nesting > 0 {
		c.nesting--
	} else {
		c.nest()
	}
}

// nest counts as nodeos does for the constraint: an else nests too and has no end of
// its own, and an end outside of everything nests.
func (c *checker) nest() {
	if c.nesting <= mvpNesting {
		c.nesting++
	}
	c.deepest = max(c.deepest, c.nesting)
}

func (c *checker) branch(op byte) {
	switch op {
	case opUnreachable:
		if c.live() {
			c.w.other(op)
		}
	case opReturn:
		label := uint32(len(c.frames) - 1)
		c.target(label)
		if c.live() {
			c.w.branch(opBr, label)
		}
	case opBr:
		label := c.u32()
		c.target(label)
		if c.live() {
			c.w.branch(op, label)
		}
	case opBrIf:
		label := c.u32()
		c.pop(I32)
		c.target(label)
		if c.live() {
			c.w.branch(op, label)
		}
		return
	case opBrTable:
		c.branchTable()
	}
	c.startUnreachable()
}

func (c *checker) branchTable() {
	n := c.u32()
	c.require(!c.o.legacy || n <= legacyElements, "too many labels in br_table")
	c.require(uint64(n) <= uint64(c.end-c.pos), errShort.Error())
	c.pop(I32)
	live := c.live()
	if live {
		c.w.startTable()
	}
	var first ValueType
	for i := uint32(0); i <= n && c.err == nil; i++ { // the last is the default
		label := c.u32()
		t := c.target(label)
		if i == 0 {
			first = t
		}
		c.require(t == first, "br_table labels must have the same type")
		if live {
			c.w.tableLabel(label)
		}
	}
	if live && c.err == nil {
		c.w.endTable()
	}
}

// target checks the operand of a branch to a label, which stays, and returns its
// type.
func (c *checker) target(label uint32) ValueType {
	if c.err != nil || uint64(label) >= uint64(len(c.frames)) {
		c.fail("invalid label")
		return 0
	}
	t := c.frames[len(c.frames)-1-int(label)].label
	if t != none {
		c.top(t)
	}
	return t
}

func (c *checker) count(t ValueType) {
	if c.o.countLocals && c.unreachable == 0 {
		size := sizeOf(t)
		c.used += size
		c.require(c.used <= c.o.localBytes && c.used >= size, "local variable limit exceeded")
	}
}

func (c *checker) discount(t ValueType) {
	if c.unreachable == 0 {
		c.used -= sizeOf(t)
	}
}

func (c *checker) push(t ValueType) {
	c.stack = append(c.stack, t)
	c.peak = max(c.peak, len(c.stack))
	c.count(t)
}

func (c *checker) pop(want ValueType) {
	if want == none {
		return
	}
	n := len(c.stack)
	if n == 0 || c.err != nil {
		c.fail("unexpected pop")
		return
	}
	switch got := c.stack[n-1]; got {
	case unreachableMark:
	case want, anyType:
		c.discount(want)
		c.stack = c.stack[:n-1]
	default:
		c.fail("wrong type")
	}
}

func (c *checker) popAny() ValueType {
	n := len(c.stack)
	if n == 0 || c.stack[n-1] == scopeMark || c.err != nil {
		c.fail("unexpected pop")
		return anyType
	}
	t := c.stack[n-1]
	if t == unreachableMark {
		return anyType
	}
	c.discount(t)
	c.stack = c.stack[:n-1]
	return t
}

func (c *checker) top(t ValueType) {
	c.pop(t)
	c.push(t)
}

// startUnreachable forgets the operands of the block. That they and the mark go on
// counting when there was a mark already is eos-vm's way, and consensus.
func (c *checker) startUnreachable() {
	n := len(c.stack)
	for n > 0 && c.stack[n-1] != scopeMark {
		n--
	}
	c.stack = append(c.stack[:n], unreachableMark)
	c.unreachable++
	if k := len(c.frames); k > 0 {
		c.frames[k-1].dead = true
	}
}

func (c *checker) popScope() {
	n := len(c.stack)
	if n > 0 && c.stack[n-1] == unreachableMark {
		c.unreachable--
		n--
	}
	if n == 0 || c.stack[n-1] != scopeMark {
		c.fail("unexpected end")
		return
	}
	c.stack = c.stack[:n-1]
}
