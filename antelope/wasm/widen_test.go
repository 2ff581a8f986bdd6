package wasm

import (
	"slices"
	"testing"

	"tarn/antelope/exception"
)

// flow is what becomes of the result of an indirect call, and what is put of it at last:
// an i64.
type flow struct {
	name string
	on   ValueType // what the call says its result is
	code func(b *builder, e *encoder)
	want func(slot uint64) uint64
}

const upper = uint64(0xffffffff) << 32

func same(slot uint64) uint64  { return slot }
func clean(slot uint64) uint64 { return slot & 0xffffffff }

func ops(codes ...byte) func(*builder, *encoder) {
	return func(_ *builder, e *encoder) { e.op(codes...) }
}

// flows are written for a module whose local 3 is an i32, and whose global 0 is one.
func flows() []flow {
	return []flow{
		{"i64", I64, ops(), same},
		{"f64", F64, ops(opI64FromF64), same},
		{"extended", I32, ops(opI64ExtendI32), same},
		{"extended with its sign", I32, ops(0xac), func(s uint64) uint64 { return uint64(int64(int32(s))) }},
		{"reinterpreted", F32, ops(opI32FromF32, opI64ExtendI32), same},
		{"by way of a float", I32, ops(opF32FromI32, opI32FromF32, opI64ExtendI32), same},
		{"in a local", I32, ops(opLocalTee, 3, opDrop, opLocalGet, 3, opI64ExtendI32), same},
		{"in a global", I32, ops(opGlobalSet, 0, opGlobalGet, 0, opI64ExtendI32), clean},
		{"computed with", I32, ops(opI32Const, 0, opI32Or, opI64ExtendI32), clean},
		{"counted", I32, ops(0x67, opDrop, opI64Const, 7), func(uint64) uint64 { return 7 }},
		{"a condition", I32, ops(opIf, I64, opI64Const, 1, opElse, opI64Const, 0, opEnd), func(s uint64) uint64 {
			return min(clean(s), 1)
		}},
		{"a branch's", I32, ops(opLocalSet, 3, opBlock, I32, opLocalGet, 3, opLocalGet, 3, opBrIf, 0, opEnd, opI64ExtendI32), same},
		{"chosen", I32, ops(opI32Const, 9, opI32Const, 1, opSelect, opI64ExtendI32), same},
		{"choosing", I32, ops(opLocalSet, 3, opI64Const, 3, opI64Const, 4, opLocalGet, 3, opSelect),
			func(s uint64) uint64 {
				if clean(s) != 0 {
					return 3
				}
				return 4
			}},
		{"wrapped", I64, ops(opI32WrapI64, opI64ExtendI32), clean},
		{"a sign less", F32, ops(opF32Abs, opI32FromF32, opI64ExtendI32), func(s uint64) uint64 { return s & 0x7fffffff }},
		{"rounded", F32, ops(opF32Const, 0, 0, 0, 0, opI32FromF32, opDrop, opF32Ceil, opI32FromF32, opI64ExtendI32,
			opI64Const, 32, opI64ShrU), func(s uint64) uint64 { return s >> 32 }},
		{"a sum's first", F32,
			ops(opF32Const, 0, 0, 0, 0, opF32Add, opI32FromF32, opI64ExtendI32, opI64Const, 32, opI64ShrU),
			func(s uint64) uint64 { return s >> 32 }},
		{"a sum's second", F32, func(_ *builder, e *encoder) {
			e.op(opI32FromF32, opLocalSet, 3, opF32Const, 0, 0, 0, 0, opLocalGet, 3, opF32FromI32, opF32Add)
			e.op(opI32FromF32, opI64ExtendI32, opI64Const, 32, opI64ShrU)
		}, func(uint64) uint64 { return 0 }},
		{"converted", I32, ops(0xb2, opI32FromF32, opI64ExtendI32, opI64Const, 32, opI64ShrU), func(s uint64) uint64 { return s >> 32 }},
		{"an argument's", I32, func(b *builder, e *encoder) {
			e.index(opCall, b.function([]ValueType{I32, F64}, I64, nil, encoder{opLocalGet, 0, opI64ExtendI32}))
		}, same},
		{"in a table of labels", I32, func(_ *builder, e *encoder) {
			e.op(opLocalSet, 3, opBlock, I64, opI64Const, 1, opLocalGet, 3, opBrTable, 1, 0, 0, opEnd)
		}, func(uint64) uint64 { return 1 }},
	}
}

// mixValues makes a module in which a function that returns a value is called as one that
// returns another type, and puts what becomes of it.
func mixValues(show string, f flow, result ValueType, bits uint64) []byte {
	b := newBuilder()
	put := b.importing(show, []ValueType{I64}, none)
	b.memory = []uint32{1}
	b.globals = []globalVar{{I32, true, 0}}
	var c encoder
	raw(&c, result, bits)
	callee := b.function([]ValueType{I32}, result, nil, c)
	other := b.function([]ValueType{F32}, result, nil, c)
	b.table, b.elements = 3, []uint32{other, callee, put}
	var e encoder
	e.i32(5)
	e.i32(1)
	e.index(opCallIndirect, b.typ([]ValueType{I32}, f.on))
	e.op(0)
	if f.name == "an argument's" {
		raw(&e, F64, 0)
	}
	f.code(b, &e)
	e.index(opCall, put)
	e.i64(8)
	e.i32(2)
	e.index(opCallIndirect, b.typ([]ValueType{I64}, none)) // the host's
	e.op(0)
	b.apply([]local{{1, I32}}, e)
	return b.bytes()
}

// results are what a function of a type may leave.
func results(t ValueType) []uint64 {
	if t == I32 || t == F32 {
		return []uint64{0, 1, 0x40490fdb, 0xbf000000}
	}
	return []uint64{0, 1, 0x0123456740490fdb, upper, upper | 0x3f800000, 1 << 63}
}

func TestAnIndirectCallMayTakeAResultOfAnotherType(t *testing.T) {
	all := engines(t)
	for _, f := range flows() {
		for _, result := range valueTypes {
			for _, bits := range results(result) {
				if f.name == "in a table of labels" && clean(bits) > 1 {
					continue
				}
				want := []uint64{f.want(bits), 8}
				for _, v := range all {
					if out, err := v.apply(mixValues("put", f, result, bits)); err != nil || !slices.Equal(out, want) {
						t.Errorf("%s: %s of %#x %#x: %x %v, want %x", v.name, f.name, result, bits, out, err, want)
					}
				}
			}
		}
	}
}

// An address or an index of a table is all of the slot.
func TestUpperBitsOfAnAddressAreBeyondMemory(t *testing.T) {
	all := engines(t)
	for name, code := range beyond() {
		for bits, ok := range map[uint64]bool{1: true, 1<<32 | 1: false, upper | 1: false} {
			module := mixValues("put", flow{name, I32, code, nil}, I64, bits)
			for _, v := range all {
				if _, err := v.apply(module); ok != (err == nil) ||
					!ok && !exception.Is(err, exception.WasmExecutionError) {
					t.Errorf("%s: %s of %#x: %v", v.name, name, bits, err)
				}
			}
		}
	}
}

func beyond() map[string]func(*builder, *encoder) {
	return map[string]func(*builder, *encoder){
		"load":     ops(0x28, 0, 0, opI64ExtendI32),
		"store":    ops(opLocalTee, 3, opI32Const, 1, 0x36, 0, 0, opI64Const, 1),
		"function": func(b *builder, e *encoder) { indexParameters(b, e, []ValueType{I32}) },
	}
}

// indexParameters calls the function of the table that an i32 says, and puts 1.
func indexParameters(b *builder, e *encoder, params []ValueType) {
	e.op(opLocalSet, 3)
	for _, p := range params {
		raw(e, p, 0)
	}
	e.op(opLocalGet, 3)
	e.index(opCallIndirect, b.typ(params, I64))
	e.op(0, opDrop, opI64Const, 1)
}

// Other parameters, or no result, are another type all the same.
func TestSignaturesOfMixedModulesAreToldApart(t *testing.T) {
	all := engines(t)
	for _, params := range [][]ValueType{{I64}, {F64}, {}, {I32, I32}, {I32, F32}, {I64, I32}} {
		f := flow{"", I32, func(b *builder, e *encoder) {
			e.op(opDrop, opI32Const, 1)
			indexParameters(b, e, params)
		}, nil}
		for _, v := range all {
			if _, err := v.apply(mixValues("put", f, I64, 1)); !exception.Is(err, exception.WasmExecutionError) {
				t.Errorf("%s: %x: %v", v.name, params, err)
			}
		}
	}
}

// Host functions in the table count as one call in a widened module, too.
func TestCallsOfMixedModulesNestAsDeep(t *testing.T) {
	for _, v := range engines(t) {
		for depth, ok := range map[uint32]bool{2: true, 1: false} {
			code := codeOf(mixValues("put", flows()[0], I32, 1))
			code.Limits.CallDepth = depth
			var h host
			if err := v.Apply(&h, code, 1, 2, 3, nil); ok != (err == nil) {
				t.Errorf("%s: depth %d: %v", v.name, depth, err)
			}
		}
	}
}
