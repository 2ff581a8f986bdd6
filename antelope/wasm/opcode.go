package wasm

// Opcodes that the checker or the rewriter treat by themselves.
const (
	opUnreachable    = 0x00
	opNop            = 0x01
	opBlock          = 0x02
	opLoop           = 0x03
	opIf             = 0x04
	opElse           = 0x05
	opEnd            = 0x0b
	opBr             = 0x0c
	opBrIf           = 0x0d
	opBrTable        = 0x0e
	opReturn         = 0x0f
	opCall           = 0x10
	opCallIndirect   = 0x11
	opDrop           = 0x1a
	opSelect         = 0x1b
	opLocalGet       = 0x20
	opLocalSet       = 0x21
	opLocalTee       = 0x22
	opGlobalGet      = 0x23
	opGlobalSet      = 0x24
	opI32Load8U      = 0x2d
	opI64Load        = 0x29
	opMemorySize     = 0x3f
	opMemoryGrow     = 0x40
	opI32Const       = 0x41
	opI64Const       = 0x42
	opF32Const       = 0x43
	opF64Const       = 0x44
	opI32Eqz         = 0x45
	opI32Eq          = 0x46
	opI32Ne          = 0x47
	opI32LtS         = 0x48
	opI32LtU         = 0x49
	opI32GtU         = 0x4b
	opI32LeU         = 0x4d
	opI32GeU         = 0x4f
	opI64Eqz         = 0x50
	opI64Eq          = 0x51
	opI64Ne          = 0x52
	opI64LtS         = 0x53
	opI64LtU         = 0x54
	opI64GtU         = 0x56
	opI64GeU         = 0x5a
	opF32Eq          = 0x5b
	opF32Ne          = 0x5c
	opF32Lt          = 0x5d
	opF64Eq          = 0x61
	opF64Ne          = 0x62
	opF64Lt          = 0x63
	opI32Add         = 0x6a
	opI32Sub         = 0x6b
	opI32And         = 0x71
	opI32Or          = 0x72
	opI32Xor         = 0x73
	opI32Shl         = 0x74
	opI32ShrU        = 0x76
	opI64Add         = 0x7c
	opI64Sub         = 0x7d
	opI64And         = 0x83
	opI64Or          = 0x84
	opI64Xor         = 0x85
	opI64Shl         = 0x86
	opI64ShrU        = 0x88
	opF32Abs         = 0x8b
	opF32Neg         = 0x8c
	opF32Ceil        = 0x8d
	opF32Sqrt        = 0x91
	opF32Add         = 0x92
	opF32Min         = 0x96
	opF32Max         = 0x97
	opF32Copysign    = 0x98
	opF64Abs         = 0x99
	opF64Neg         = 0x9a
	opF64Ceil        = 0x9b
	opF64Sqrt        = 0x9f
	opF64Add         = 0xa0
	opF64Min         = 0xa4
	opF64Max         = 0xa5
	opF64Copysign    = 0xa6
	opI32WrapI64     = 0xa7
	opI32TruncF32S   = 0xa8
	opI32TruncF32U   = 0xa9
	opI32TruncF64S   = 0xaa
	opI64ExtendI32   = 0xad // unsigned
	opF32ConvertI32S = 0xb2
	opF32ConvertI32U = 0xb3
	opF32Demote      = 0xb6
	opF64Promote     = 0xbb
	opI32FromF32     = 0xbc // reinterpretations
	opI64FromF64     = 0xbd
	opF32FromI32     = 0xbe
	opF64FromI64     = 0xbf
)

// plain describes an instruction that only moves operands: a load, a store, or one
// without immediates.
type plain struct {
	operand ValueType // of each operand; 0: no such instruction
	result  ValueType
	count   byte // of operands

	memory bool // has an alignment and an offset; a store has no result
	align  byte // the greatest one that is allowed
}

// plains is indexed by opcode.
var plains = plainInstructions()

func plainInstructions() [256]plain {
	var t [256]plain
	fill := func(from, to int, count byte, operand, result ValueType) {
		for op := from; op <= to; op++ {
			t[op] = plain{operand: operand, result: result, count: count}
		}
	}
	fill(0x45, 0x45, 1, I32, I32)
	fill(0x46, 0x4f, 2, I32, I32)
	fill(0x50, 0x50, 1, I64, I32)
	fill(0x51, 0x5a, 2, I64, I32)
	fill(0x5b, 0x60, 2, F32, I32)
	fill(0x61, 0x66, 2, F64, I32)
	fill(0x67, 0x69, 1, I32, I32)
	fill(0x6a, 0x78, 2, I32, I32)
	fill(0x79, 0x7b, 1, I64, I64)
	fill(0x7c, 0x8a, 2, I64, I64)
	fill(0x8b, 0x91, 1, F32, F32)
	fill(0x92, 0x98, 2, F32, F32)
	fill(0x99, 0x9f, 1, F64, F64)
	fill(0xa0, 0xa6, 2, F64, F64)
	conversions := []struct{ operand, result ValueType }{
		{I64, I32}, {F32, I32}, {F32, I32}, {F64, I32}, {F64, I32},
		{I32, I64}, {I32, I64}, {F32, I64}, {F32, I64}, {F64, I64}, {F64, I64},
		{I32, F32}, {I32, F32}, {I64, F32}, {I64, F32}, {F64, F32},
		{I32, F64}, {I32, F64}, {I64, F64}, {I64, F64}, {F32, F64},
		{F32, I32}, {F64, I64}, {I32, F32}, {I64, F64},
	}
	for i, c := range conversions {
		fill(0xa7+i, 0xa7+i, 1, c.operand, c.result)
	}
	loads := []struct {
		result ValueType
		align  byte
	}{
		{I32, 2}, {I64, 3}, {F32, 2}, {F64, 3}, {I32, 0}, {I32, 0}, {I32, 1}, {I32, 1},
		{I64, 0}, {I64, 0}, {I64, 1}, {I64, 1}, {I64, 2}, {I64, 2},
	}
	for i, l := range loads {
		t[0x28+i] = plain{operand: I32, result: l.result, count: 1, memory: true, align: l.align}
	}
	stores := []struct {
		operand ValueType
		align   byte
	}{{I32, 2}, {I64, 3}, {F32, 2}, {F64, 3}, {I32, 0}, {I32, 1}, {I64, 0}, {I64, 1}, {I64, 2}}
	for i, s := range stores {
		t[0x36+i] = plain{operand: s.operand, count: 2, memory: true, align: s.align}
	}
	return t
}
