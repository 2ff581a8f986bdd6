package difftest

import (
	"encoding/binary"
	"fmt"

	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// The script contract is a contract that does what its action's data say: calls of
// host functions and instructions with given operands. So any work at all can be
// made here, without a compiler, and what comes of it is hashed into a row of the
// contract's table "digest", where a difference shows.
//
// Data: magic u16, flags u8, 0, row id u64, then steps: number of the function u16,
// register for the result u8, and nine bytes for each parameter: a register u8
// (from 64 on: none) and a number u64 that is added to it.
const (
	scriptMagic  = 0x6373
	scriptHeader = 12
	storeRow     = 1 // flag: store the digest
	printDigest  = 2 // flag: print it

	scriptAt   = 0x1000 // where the data are read to
	scriptMost = 0x6000 // how long they may be
	registerAt = 0x0100 // 64 of eight bytes
	digestAt   = 0x0080
	scratchAt  = 0x8000 // for what functions write; up to the end of the page

	// Registers that are set at first.
	receiverRegister, codeRegister, actionRegister = 60, 61, 62
)

// Steps of the contract's own.
func pseudoFunctions() []hostFunction {
	return []hostFunction{
		{name: "end"},
		{name: "skip", signature: "i"},     // over so many bytes
		{name: "mix", signature: "ii"},     // bytes of memory into the digest
		{name: "recurse", signature: "i"},  // calls so deep
		{name: "spin", signature: "i"},     // runs a loop so often
		{name: "while", signature: "ii"},   // if the first is not negative, so many bytes back
		{name: "skipif", signature: "lli"}, // if they are equal, so many bytes on
		{name: "unless", signature: "ii"},  // if the first is negative, so many bytes on
	}
}

// scriptSteps lists all steps by their number.
func scriptSteps() []hostFunction { return append(pseudoFunctions(), hostFunctions()...) }

// Instructions that the code below is made of.
const (
	opUnreachable, opBlock, opLoop, opIf, opElse, opEnd = 0x00, 0x02, 0x03, 0x04, 0x05, 0x0b
	opBr, opBrIf, opReturn, opCall, opCallIndirect      = 0x0c, 0x0d, 0x0f, 0x10, 0x11
	opGet, opSet, opTee, opGlobalGet, opGlobalSet       = 0x20, 0x21, 0x22, 0x23, 0x24
	opLoad64, opLoad8, opLoad16, opStore64              = 0x29, 0x2d, 0x2f, 0x37
	opEqz, opNe32, opLt32S, opLt32U, opGt32U, opGe32U   = 0x45, 0x47, 0x48, 0x49, 0x4b, 0x4f
	opEq64                                              = 0x51
	opAdd32, opSub32, opMul32, opAnd32, opShl32         = 0x6a, 0x6b, 0x6c, 0x71, 0x74
	opAdd64, opMul64, opXor64                           = 0x7c, 0x7e, 0x85
	opWrap, opExtend                                    = 0xa7, 0xad
	opToBits32, opToBits64, opFromBits32, opFromBits64  = 0xbc, 0xbd, 0xbe, 0xbf
	noType                                              = 0x40

	mixPrime = 1099511628211

	globalAt, globalDigest, globalEnd = 0, 1, 2
)

// code is a function's code that is being written.
type code struct{ b []byte }

func (c *code) op(ops ...byte)     { c.b = append(c.b, ops...) }
func (c *code) get(local byte)     { c.op(opGet, local) }
func (c *code) set(local byte)     { c.op(opSet, local) }
func (c *code) global(g byte)      { c.op(opGlobalGet, g) }
func (c *code) setGlobal(g byte)   { c.op(opGlobalSet, g) }
func (c *code) i32(v int32)        { c.b = constant32(c.b, v) }
func (c *code) i64(v int64)        { c.b = constant64(c.b, v) }
func (c *code) name(s string)      { c.i64(int64(types.N(s))) }
func (c *code) call(f uint32)      { c.b = serial.AppendVaruint32(append(c.b, opCall), f) }
func (c *code) at(op byte, at int) { c.b = serial.AppendCount(append(c.b, op, 0), at) }

// scriptBuilder makes the contract.
type scriptBuilder struct {
	module
	host                      map[string]uint32 // functions by name
	argument, result, finish  uint32
	recursion, mixing, runner uint32
}

// scriptContract returns the contract's code, which imports what the features give.
func scriptContract(available func(feature string) bool) []byte {
	s := &scriptBuilder{module: module{pages: 1, globals: []byte{i32, i64, i32}, start: -1}, host: map[string]uint32{}}
	steps := scriptSteps()
	for _, f := range steps[len(pseudoFunctions()):] {
		if f.code == nil && (f.feature == "" || available(f.feature)) {
			s.host[f.name] = s.importIndex(f.name, f.signature)
		}
	}
	s.library()
	for _, f := range steps {
		s.table = append(s.table, s.stub(f))
	}
	s.run()
	s.exports = map[string]uint32{"apply": s.apply()}
	return s.encode()
}

// library makes the functions that the stubs use.
func (s *scriptBuilder) library() {
	s.operands()

	var c code // recursion(n) i32: n
	c.get(0)
	c.op(opEqz, opIf, i32)
	c.i32(0)
	c.op(opElse)
	c.get(0)
	c.i32(1)
	c.op(opSub32)
	c.call(uint32(len(s.imports) + len(s.functions)))
	c.i32(1)
	c.op(opAdd32, opEnd)
	s.recursion = s.function("i:i", nil, c.b)

	c = code{} // mixing(at, length)
	c.op(opBlock, noType, opLoop, noType)
	c.get(1)
	c.op(opEqz, opBrIf, 1)
	c.global(globalDigest)
	c.get(0)
	c.at(opLoad8, 0)
	c.op(opExtend, opXor64)
	c.i64(mixPrime)
	c.op(opMul64)
	c.setGlobal(globalDigest)
	c.get(0)
	c.i32(1)
	c.op(opAdd32)
	c.set(0)
	c.get(1)
	c.i32(1)
	c.op(opSub32)
	c.set(1)
	c.op(opBr, 0, opEnd, opEnd)
	s.mixing = s.function("ii", nil, c.b)
	s.store()
}

// operands makes the functions that read a step's operands and keep its result.
func (s *scriptBuilder) operands() {
	var c code // argument(i) i64
	c.global(globalAt)
	c.get(0)
	c.i32(9)
	c.op(opMul32, opAdd32, opTee, 1)
	c.at(opLoad64, 4)
	c.get(1)
	c.at(opLoad8, 3)
	c.op(opTee, 2)
	c.i32(64)
	c.op(opLt32U, opIf, i64)
	c.get(2)
	c.i32(3)
	c.op(opShl32)
	c.at(opLoad64, registerAt)
	c.op(opElse)
	c.i64(0)
	c.op(opEnd, opAdd64)
	s.argument = s.function("i:l", []byte{i32, i32}, c.b)

	c = code{} // result(v)
	c.global(globalDigest)
	c.i64(mixPrime)
	c.op(opMul64)
	c.get(0)
	c.op(opXor64)
	c.setGlobal(globalDigest)
	c.global(globalAt)
	c.at(opLoad8, 2)
	c.op(opTee, 1)
	c.i32(64)
	c.op(opLt32U, opIf, noType)
	c.get(1)
	c.i32(3)
	c.op(opShl32)
	c.get(0)
	c.at(opStore64, registerAt)
	c.op(opEnd)
	s.result = s.function("l", []byte{i32}, c.b)
}

// store makes the function that keeps the digest: finish(id, flags).
func (s *scriptBuilder) store() {
	var c code
	c.i32(digestAt)
	c.global(globalDigest)
	c.at(opStore64, 0)
	receiver := func() {
		c.i32(registerAt + 8*receiverRegister)
		c.at(opLoad64, 0)
	}
	c.get(1)
	c.i32(printDigest)
	c.op(opAnd32, opIf, noType)
	c.i32(digestAt)
	c.i32(8)
	c.call(s.host["printhex"])
	c.op(opEnd)
	c.get(1)
	c.i32(storeRow)
	c.op(opAnd32, opIf, noType)
	receiver()
	receiver()
	c.name("digest")
	c.get(0)
	c.call(s.host["db_find_i64"])
	c.op(opTee, 2)
	c.i32(0)
	c.op(opLt32S, opIf, noType)
	receiver()
	c.name("digest")
	receiver()
	c.get(0)
	c.i32(digestAt)
	c.i32(8)
	c.call(s.host["db_store_i64"])
	c.set(2)
	c.op(opElse)
	c.get(2)
	receiver()
	c.i32(digestAt)
	c.i32(8)
	c.call(s.host["db_update_i64"])
	c.op(opEnd, opEnd)
	s.finish = s.function("li", []byte{i32}, c.b)
}

// stub makes the function of one step.
func (s *scriptBuilder) stub(f hostFunction) uint32 {
	var c code
	parameters, results := signatureParts(f.signature)
	for i := range len(parameters) {
		c.i32(int32(i))
		c.call(s.argument)
		switch parameters[i] {
		case 'i':
			c.op(opWrap)
		case 'f':
			c.op(opWrap, opFromBits32)
		case 'd':
			c.op(opFromBits64)
		}
	}
	host, imported := s.host[f.name]
	switch {
	case f.code != nil:
		c.op(f.code...)
	case imported:
		c.call(host)
	case s.pseudo(&c, f.name):
		return s.function("", []byte{i32, i32}, c.b)
	default:
		return s.function("", nil, []byte{opUnreachable}) // its feature is not active
	}
	switch results {
	case "i":
		c.op(opExtend)
	case "f":
		c.op(opToBits32, opExtend)
	case "d":
		c.op(opToBits64)
	}
	if results != "" {
		c.call(s.result)
	}
	c.advance(len(parameters))
	return s.function("", nil, c.b)
}

// advance goes on to the next step.
func (c *code) advance(parameters int) {
	c.global(globalAt)
	c.i32(int32(3 + 9*parameters))
	c.op(opAdd32)
	c.setGlobal(globalAt)
}

// pseudo writes a step of the contract's own, whose parameters are on the stack.
func (s *scriptBuilder) pseudo(c *code, name string) bool {
	switch name {
	case "end":
		c.global(globalEnd)
		c.setGlobal(globalAt)
	case "skip":
		c.skipBy(1)
	case "mix":
		c.call(s.mixing)
		c.advance(2)
	case "recurse":
		c.call(s.recursion)
		c.op(opExtend)
		c.call(s.result)
		c.advance(1)
	case "spin":
		c.set(0)
		c.op(opBlock, noType, opLoop, noType)
		c.get(0)
		c.op(opEqz, opBrIf, 1)
		c.get(0)
		c.i32(1)
		c.op(opSub32)
		c.set(0)
		c.op(opBr, 0, opEnd, opEnd)
		c.advance(1)
	case "while":
		c.set(1)
		c.set(0)
		c.get(0)
		c.i32(0)
		c.op(opLt32S, opIf, noType)
		c.advance(2)
		c.op(opElse)
		c.global(globalAt)
		c.get(1)
		c.op(opSub32)
		c.setGlobal(globalAt)
		c.op(opEnd)
	case "skipif":
		c.set(0)
		c.op(opEq64, opIf, i32)
		c.get(0)
		c.op(opElse)
		c.i32(0)
		c.op(opEnd)
		c.skipBy(3)
	case "unless":
		c.set(0)
		c.i32(0)
		c.op(opLt32S, opIf, i32)
		c.get(0)
		c.op(opElse)
		c.i32(0)
		c.op(opEnd)
		c.skipBy(2)
	default:
		return false
	}
	return true
}

// skipBy goes on to the next step, and as many bytes further as the stack says.
func (c *code) skipBy(parameters int) {
	c.global(globalAt)
	c.op(opAdd32)
	c.setGlobal(globalAt)
	c.advance(parameters)
}

// run makes the function that goes through the steps.
func (s *scriptBuilder) run() {
	var c code
	c.op(opBlock, noType, opLoop, noType)
	c.global(globalAt)
	c.global(globalEnd)
	c.op(opGe32U, opBrIf, 1)
	c.global(globalAt)
	c.at(opLoad16, 0)
	c.b = append(serial.AppendCount(append(c.b, opCallIndirect), s.signature("")), 0)
	c.op(opBr, 0, opEnd, opEnd)
	s.runner = s.function("", nil, c.b)
}

// apply makes the function that nodeos calls.
func (s *scriptBuilder) apply() uint32 {
	var c code
	for i, register := range []int{receiverRegister, codeRegister, actionRegister} {
		c.i32(int32(registerAt + 8*register))
		c.get(byte(i))
		c.at(opStore64, 0)
	}
	c.call(s.host["action_data_size"])
	c.op(opTee, 3)
	c.i32(scriptHeader)
	c.op(opLt32U, opIf, noType, opReturn, opEnd)
	c.get(3)
	c.i32(scriptMost)
	c.op(opGt32U, opIf, noType, opReturn, opEnd)
	c.i32(scriptAt)
	c.get(3)
	c.call(s.host["read_action_data"])
	c.set(4)

	// As an error handler it fails. The judge's nodeos, which was changed for its
	// Python binding, fails by itself before it calls one ("undo_index_events
	// already set"), so a handler that succeeds would make a difference that is not
	// Leap's.
	c.get(2)
	c.name("onerror")
	c.op(opEq64, opIf, noType, opUnreachable, opEnd)

	c.i32(scriptAt)
	c.at(opLoad16, 0)
	c.i32(scriptMagic)
	c.op(opNe32, opIf, noType, opReturn, opEnd)
	c.i32(scriptAt + scriptHeader)
	c.setGlobal(globalAt)
	c.i32(scriptAt)
	c.get(3)
	c.op(opAdd32)
	c.setGlobal(globalEnd)
	c.call(s.runner)
	c.i32(scriptAt)
	c.at(opLoad64, 4)
	c.i32(scriptAt)
	c.at(opLoad8, 2)
	c.call(s.finish)
	return s.function("lll", []byte{i32, i32}, c.b)
}

// script is data for the script contract that is being written.
type script struct {
	b     []byte
	steps map[string]int
	err   error
}

// operand is a parameter of a step: a number, a register, or both.
type operand struct {
	register int // -1 for none
	number   uint64
}

func number(v uint64) operand        { return operand{-1, v} }
func pointer(v int) operand          { return operand{-1, uint64(v)} }
func register(r int) operand         { return operand{r, 0} }
func nameOperand(s string) operand   { return operand{-1, uint64(types.N(s))} }
func accountOf(n types.Name) operand { return operand{-1, uint64(n)} }

// newScript begins a script whose digest goes into row id.
func newScript(id uint64, flags byte) *script {
	s := &script{b: []byte{scriptMagic & 0xff, scriptMagic >> 8, flags, 0}, steps: map[string]int{}}
	s.b = serial.AppendUint64(s.b, id)
	for i, f := range scriptSteps() {
		s.steps[f.name] = i
	}
	return s
}

// call adds a step whose result goes to register to; none if negative.
func (s *script) call(name string, to int, operands ...operand) {
	i, ok := s.steps[name]
	if !ok {
		s.err = fmt.Errorf("no step %q", name)
		return
	}
	s.b = append(serial.AppendUint16(s.b, uint16(i)), byte(to))
	for _, o := range operands {
		s.b = serial.AppendUint64(append(s.b, byte(o.register)), o.number)
	}
}

// data adds bytes that steps can point to, and says where they will be.
func (s *script) data(b []byte) (at int) {
	s.call("skip", -1, number(uint64(len(b))))
	at = scriptAt + len(s.b)
	s.b = append(s.b, b...)
	return at
}

// skipIf leaves out what body writes if the operands are equal when it comes to it.
func (s *script) skipIf(a, b operand, body func()) {
	s.call("skipif", -1, a, b, number(0))
	at := len(s.b)
	body()
	binary.LittleEndian.PutUint64(s.b[at-8:], uint64(len(s.b)-at))
}

// whileRow repeats what body writes as long as the iterator in a register is that
// of a row; not once, if it isn't.
func (s *script) whileRow(iterator int, body func()) {
	s.call("unless", -1, register(iterator), number(0))
	at := len(s.b)
	body()
	s.call("while", -1, register(iterator), number(uint64(len(s.b)-at)))
	binary.LittleEndian.PutUint64(s.b[at-8:], uint64(len(s.b)-at))
}

// either does one thing if the iterator in a register is that of a row, else
// another.
func (s *script) either(iterator int, present, absent func()) {
	s.call("unless", -1, register(iterator), number(0))
	at := len(s.b)
	present()
	s.call("skip", -1, number(0))
	end := len(s.b)
	binary.LittleEndian.PutUint64(s.b[at-8:], uint64(end-at))
	absent()
	binary.LittleEndian.PutUint64(s.b[end-8:], uint64(len(s.b)-end))
}

// words adds 64-bit numbers.
func (s *script) words(list ...uint64) int {
	var b []byte
	for _, v := range list {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return s.data(b)
}

// action is a call of the contract on account with the script as its data.
func (s *script) action(account types.Name, auth ...types.PermissionLevel) types.Action {
	return types.Action{Account: account, Name: types.N("run"), Authorization: auth, Data: s.b}
}
