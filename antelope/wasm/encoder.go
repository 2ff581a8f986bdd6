package wasm

import "encoding/binary"

// encoder appends pieces of a module to a slice.
type encoder []byte

func (e *encoder) op(codes ...byte) { *e = append(*e, codes...) }

func (e *encoder) u32(v uint32) { *e = binary.AppendUvarint(*e, uint64(v)) }

func (e *encoder) s64(v int64) {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c < 0x40 || v == -1 && c >= 0x40 {
			*e = append(*e, c)
			return
		}
		*e = append(*e, c|0x80)
	}
}

// index appends an instruction with an index.
func (e *encoder) index(op byte, index uint32) {
	*e = append(*e, op)
	e.u32(index)
}

func (e *encoder) i32(v int32) {
	*e = append(*e, opI32Const)
	e.s64(int64(v))
}

func (e *encoder) i64(v int64) {
	*e = append(*e, opI64Const)
	e.s64(v)
}

// mem appends a load or store.
func (e *encoder) mem(op byte, align, offset uint32) {
	*e = append(*e, op)
	e.u32(align)
	e.u32(offset)
}

// bits appends a constant with these bits. A NaN is made of integers, for a float
// that passes through registers may be quieted.
func (e *encoder) bits(t ValueType, bits uint64) {
	switch t {
	case I32:
		e.i32(int32(bits))
	case I64:
		e.i64(int64(bits))
	case F32:
		if bits&0x7f800000 == 0x7f800000 {
			e.i32(int32(bits))
			e.op(opF32FromI32)
			return
		}
		e.op(opF32Const)
		*e = binary.LittleEndian.AppendUint32(*e, uint32(bits))
	case F64:
		if bits&(0x7ff<<52) == 0x7ff<<52 {
			e.i64(int64(bits))
			e.op(opF64FromI64)
			return
		}
		e.op(opF64Const)
		*e = binary.LittleEndian.AppendUint64(*e, bits)
	}
}

// patchable appends an i32.const whose value patch sets later.
func (e *encoder) patchable() int {
	*e = append(*e, opI32Const, 0x80, 0x80, 0x80, 0x80, 0x00)
	return len(*e) - 5
}

func (e encoder) patch(at int, v uint32) {
	v = min(v, 1<<30)
	for i := range 5 {
		e[at+i] = byte(v>>(7*i)) & 0x7f
		if i < 4 {
			e[at+i] |= 0x80
		}
	}
}

// section appends a section, unless it is empty.
func (e *encoder) section(id byte, count int, body encoder) {
	if count == 0 {
		return
	}
	var head encoder
	head.u32(uint32(count))
	e.op(id)
	e.u32(uint32(len(head) + len(body)))
	*e = append(append(*e, head...), body...)
}

func (e *encoder) name(s string) {
	e.u32(uint32(len(s)))
	*e = append(*e, s...)
}
