package wasm

import "testing"

// memoryShrinks are bodies of apply in a module of two pages, after which a local holds an
// address in the second page, that memory was read at. They use it once memory shrank;
// function 1 is memory.grow, function 2 is memory.grow by table.
var memoryShrinks = map[string]func(e *encoder){
	"load":  func(e *encoder) { shrink(e, -1); reads(e) },
	"empty": func(e *encoder) { shrink(e, -2); reads(e) },
	"store": func(e *encoder) {
		shrink(e, -2)
		e.get(3)
		e.i64(1)
		e.mem(0x37, 0, 0)
	},
	"called": func(e *encoder) {
		e.i32(-1)
		e.index(opCall, 1)
		reads(e)
	},
	"called by table": func(e *encoder) {
		e.i32(-1)
		e.i32(0)
		e.index(opCallIndirect, 1)
		e.op(0)
		reads(e)
	},
	"on the stack": func(e *encoder) {
		e.get(3)
		shrink(e, -1)
		e.mem(opI64Load, 0, 0)
		e.index(opCall, 0)
	},
	"of a store": func(e *encoder) {
		e.get(3)
		e.i32(-1)
		e.op(opMemoryGrow, 0)
		e.mem(0x36, 0, 0)
	},
	"of a float": func(e *encoder) {
		e.get(3)
		e.op(opF64Const, 0, 0, 0, 0, 0, 0, 0, 0)
		shrink(e, -1)
		e.mem(0x39, 0, 0)
	},
	"set": func(e *encoder) {
		e.get(3)
		shrink(e, -1)
		e.index(opLocalSet, 4)
		e.get(4)
		e.mem(opI64Load, 0, 0)
		e.index(opCall, 0)
	},
	"tee": func(e *encoder) {
		e.get(3)
		shrink(e, -1)
		e.index(opLocalTee, 4)
		e.mem(opI64Load, 0, 0)
		e.index(opCall, 0)
	},
	"global": func(e *encoder) {
		e.get(3)
		shrink(e, -1)
		e.index(opGlobalSet, 0)
		e.index(opGlobalGet, 0)
		e.mem(opI64Load, 0, 0)
		e.index(opCall, 0)
	},
	"global of before": func(e *encoder) {
		e.get(3)
		e.index(opGlobalSet, 0)
		e.index(opGlobalGet, 0)
		e.mem(opI64Load, 0, 0)
		e.index(opCall, 0)
		shrink(e, -1)
		e.index(opGlobalGet, 0)
		e.mem(opI64Load, 0, 0)
		e.index(opCall, 0)
	},
	"next round": func(e *encoder) {
		e.op(opLoop, none)
		reads(e)
		shrink(e, -1)
		e.op(opBr, 0, opEnd)
	},
	"one path": func(e *encoder) {
		e.op(opI32Const, 1, opIf, none)
		shrink(e, -1)
		e.op(opElse)
		reads(e)
		e.op(opEnd)
		reads(e)
	},
	"copied on one path": func(e *encoder) {
		shrink(e, 0)
		e.op(opI32Const, 0, opIf, none)
		reads(e)
		e.op(opEnd)
		reads(e)
		shrink(e, -1)
		reads(e)
	},
	"result of a block": func(e *encoder) {
		e.op(opBlock, I32)
		e.get(3)
		shrink(e, -1)
		e.op(opEnd)
		e.mem(opI64Load, 0, 0)
		e.index(opCall, 0)
	},
	"below a block": func(e *encoder) {
		e.get(3)
		e.op(opBlock, none)
		shrink(e, -1)
		e.op(opEnd)
		e.mem(opI64Load, 0, 0)
		e.index(opCall, 0)
	},
}

// reads puts what is at the address.
func reads(e *encoder) {
	e.get(3)
	e.mem(opI64Load, 0, 0)
	e.index(opCall, 0)
}

func shrink(e *encoder, pages int32) {
	e.i32(pages)
	e.op(opMemoryGrow, 0, opDrop)
}

// wazero's compiler does not check an address again that was in memory before it shrank.
func TestAddressesAreCheckedOnceMemoryShrank(t *testing.T) {
	all := engines(t)
	for name, code := range memoryShrinks {
		b := newBuilder()
		b.put()
		b.memory = []uint32{2}
		b.globals = []globalVar{{I32, true, 0}}
		var e encoder
		e.get(0)
		e.op(opMemoryGrow, 0, opDrop)
		b.elements = []uint32{b.function([]ValueType{I32}, none, nil, e)}
		b.table = 1
		e = e[:0]
		e.i32(70000)
		e.index(opLocalSet, 3)
		reads(&e)
		code(&e)
		b.apply([]local{{2, I32}}, e)
		if o := compare(t, all, b.bytes()); o.kind != "trap" {
			t.Errorf("%s: %x %s", name, o.out, o.kind)
		}
	}
}

// Memory that shrank to nothing and grew again is empty, and there to the last byte.
func TestMemoryShrinksAndGrows(t *testing.T) {
	b := newBuilder()
	b.put()
	b.memory = []uint32{2}
	var e encoder
	e.i32(70000)
	e.index(opLocalSet, 3)
	e.get(3)
	e.i64(7)
	e.mem(0x37, 0, 0)
	shrink(&e, -2)
	e.op(opMemorySize, 0, opI64ExtendI32)
	e.index(opCall, 0)
	shrink(&e, 3)
	reads(&e)
	e.get(3)
	e.i64(8)
	e.mem(0x37, 0, 0)
	reads(&e)
	e.i32(3*PageSize - 8)
	e.mem(opI64Load, 0, 0)
	e.index(opCall, 0)
	e.i32(3*PageSize - 7)
	e.mem(opI64Load, 0, 0)
	e.index(opCall, 0)
	b.apply([]local{{2, I32}}, e)
	o := compare(t, engines(t), b.bytes())
	if len(o.out) != 4 || o.out[0] != 0 || o.out[1] != 0 || o.out[2] != 8 || o.out[3] != 0 || o.kind != "trap" {
		t.Errorf("%x %s", o.out, o.kind)
	}
}
