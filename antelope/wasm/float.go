package wasm

// Float instructions as nodeos computes them, with Berkeley SoftFloat as configured
// for 8086-SSE: the processor's result is right unless it is a NaN, whose bits are
// its own choice (Leap: eos-vm's softfloat.hpp).

// floatType knows one of the two formats.
type floatType struct {
	quiet  uint64 // the bit that makes a NaN quiet
	sign   uint64
	canon  uint64 // the NaN of invalid operations
	int    ValueType
	toInt  byte
	toReal byte
	eq, ne byte
	lt     byte
	and    byte
	or     byte
	xor    byte
	ltS    byte
}

func formatOf(t ValueType) floatType {
	if t == F32 {
		return floatType{
			quiet: 1 << 22, sign: 1 << 31, canon: 0xffc00000, int: I32,
			toInt: opI32FromF32, toReal: opF32FromI32, eq: opF32Eq, ne: opF32Ne, lt: opF32Lt,
			and: opI32And, or: opI32Or, xor: opI32Xor, ltS: opI32LtS,
		}
	}
	return floatType{
		quiet: 1 << 51, sign: 1 << 63, canon: 0xfff8 << 48, int: I64,
		toInt: opI64FromF64, toReal: opF64FromI64, eq: opF64Eq, ne: opF64Ne, lt: opF64Lt,
		and: opI64And, or: opI64Or, xor: opI64Xor, ltS: opI64LtS,
	}
}

// isHelped tells which instructions become calls. Comparisons and conversions from
// integers have no choice; of the conversions to integers only one is not as the
// specification says.
func isHelped(op byte) bool {
	return op >= opF32Ceil && op <= opF32Copysign || op >= opF64Ceil && op <= opF64Copysign ||
		op == opF32Demote || op == opF64Promote || op == opI32TruncF64S
}

// signBit appends abs or neg, which change nothing else of a NaN.
func (e *encoder) signBit(op byte) {
	t, clear := F32, op == opF32Abs
	if op >= opF64Abs {
		t, clear = F64, op == opF64Abs
	}
	f := formatOf(t)
	e.op(f.toInt)
	if clear {
		e.bits(f.int, f.sign-1)
		e.op(f.and)
	} else {
		e.bits(f.int, f.sign)
		e.op(f.xor)
	}
	e.op(f.toReal)
}

// floatHelper appends the locals and the body of the function for an instruction.
func floatHelper(e *encoder, op byte) {
	p := plains[op]
	f := formatOf(p.operand)
	switch {
	case op == opI32TruncF64S:
		truncHelper(e)
	case op == opF32Copysign || op == opF64Copysign:
		e.op(0)
		for i, mask := range []uint64{f.sign - 1, f.sign} {
			e.index(opLocalGet, uint32(i))
			e.op(f.toInt)
			e.bits(f.int, mask)
			e.op(f.and)
		}
		e.op(f.or, f.toReal)
	case op == opF32Min || op == opF32Max || op == opF64Min || op == opF64Max:
		extremeHelper(e, f, op == opF32Max || op == opF64Max)
	case op >= opF32Ceil && op < opF32Sqrt || op >= opF64Ceil && op < opF64Sqrt:
		// Rounding leaves a NaN as it is, even one that signals.
		e.op(0)
		ifNaN(e, f, 0)
		e.op(opLocalGet, 0, opReturn, opEnd, opLocalGet, 0, op)
	case op == opF32Demote || op == opF64Promote:
		convertHelper(e, op)
	default:
		arithmeticHelper(e, f, op, p)
	}
}

// ifNaN opens an if for a local that is NaN.
func ifNaN(e *encoder, f floatType, local byte) {
	e.op(opLocalGet, local, opLocalGet, local, f.ne, opIf, none)
}

// arithmeticHelper: the first operand that is NaN, quieted, or the canonical NaN.
func arithmeticHelper(e *encoder, f floatType, op byte, p plain) {
	e.op(1, 1, p.result)
	for i := range p.count {
		e.op(opLocalGet, i)
	}
	e.op(op, opLocalTee, p.count, opLocalGet, p.count, f.eq, opIf, none, opLocalGet, p.count, opReturn, opEnd)
	for i := range p.count {
		ifNaN(e, f, i)
		e.op(opLocalGet, i, f.toInt)
		e.bits(f.int, f.quiet)
		e.op(f.or, f.toReal, opReturn, opEnd)
	}
	e.bits(p.result, f.canon)
}

// extremeHelper: a NaN as it is, the first before the second; -0 is less than +0.
func extremeHelper(e *encoder, f floatType, greatest bool) {
	e.op(0)
	for i := range byte(2) {
		ifNaN(e, f, i)
		e.op(opLocalGet, i, opReturn, opEnd)
	}
	// What is returned if the first is less.
	first, second := byte(0), byte(1)
	if greatest {
		first, second = 1, 0
	}
	e.op(opLocalGet, 0, f.toInt, opLocalGet, 1, f.toInt, f.xor)
	e.bits(f.int, 0)
	e.op(f.ltS, opIf, none)
	// Chosen as integers, as [rewriter.choose] does.
	e.op(opLocalGet, first, f.toInt, opLocalGet, second, f.toInt, opLocalGet, 0, f.toInt)
	e.bits(f.int, 0)
	e.op(f.ltS, opSelect, f.toReal, opReturn, opEnd)
	e.op(opLocalGet, first, f.toInt, opLocalGet, second, f.toInt, opLocalGet, 0, opLocalGet, 1, f.lt,
		opSelect, f.toReal)
}

// convertHelper: the sign and the upper bits of a NaN's payload stay, and it is
// quieted.
func convertHelper(e *encoder, op byte) {
	e.op(0)
	if op == opF32Demote {
		ifNaN(e, formatOf(F64), 0)
		e.op(opLocalGet, 0, opI64FromF64)
		e.i64(32)
		e.op(opI64ShrU, opI32WrapI64)
		e.bits(I32, 1<<31)
		e.op(opI32And, opLocalGet, 0, opI64FromF64)
		e.i64(29)
		e.op(opI64ShrU, opI32WrapI64)
		e.bits(I32, 1<<22-1)
		e.op(opI32And, opI32Or)
		e.bits(I32, 0x7fc00000)
		e.op(opI32Or, opF32FromI32, opReturn, opEnd)
	} else {
		ifNaN(e, formatOf(F32), 0)
		e.op(opLocalGet, 0, opI32FromF32, opI64ExtendI32)
		e.i64(32)
		e.op(opI64Shl)
		e.bits(I64, 1<<63)
		e.op(opI64And, opLocalGet, 0, opI32FromF32, opI64ExtendI32)
		e.bits(I64, 1<<22-1)
		e.op(opI64And)
		e.i64(29)
		e.op(opI64Shl, opI64Or)
		e.bits(I64, 0x7ff8<<48)
		e.op(opI64Or, opF64FromI64, opReturn, opEnd)
	}
	e.op(opLocalGet, 0, op)
}

// truncHelper: nodeos refuses what is less than the least i32 even by a fraction.
func truncHelper(e *encoder) {
	e.op(0, opLocalGet, 0)
	e.bits(F64, 0xc1e0<<48) // -2147483648
	e.op(opF64Lt, opIf, none, opUnreachable, opEnd, opLocalGet, 0, opI32TruncF64S)
}
