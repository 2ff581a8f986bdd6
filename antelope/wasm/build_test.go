package wasm

import (
	"crypto/sha256"
	"slices"
	"testing"
	"time"

	"tarn/antelope/types"
)

// builder assembles small modules.
type builder struct {
	types    []funcType
	imports  []importEntry
	funcs    []uint32
	table    int // elements, if there is one
	elements []uint32
	memory   []uint32 // pages, maximum
	globals  []globalVar
	exports  []exportEntry
	start    uint32
	code     encoder
	data     []dataSegment
	flags    byte // added to those of memory
	custom   []byte
}

func newBuilder() *builder { return &builder{start: noFunction, table: -1} }

func (b *builder) typ(params []ValueType, result ValueType) uint32 {
	for i, t := range b.types {
		if t.result == result && string(t.params) == string(params) {
			return uint32(i)
		}
	}
	b.types = append(b.types, funcType{params, result})
	return uint32(len(b.types) - 1)
}

// importing returns the index of a host function; before all own functions.
func (b *builder) importing(name string, params []ValueType, result ValueType) uint32 {
	b.imports = append(b.imports, importEntry{module: []byte("env"), name: []byte(name), typ: b.typ(params, result)})
	return uint32(len(b.imports) - 1)
}

// local is a run of locals.
type local struct {
	n uint32
	t ValueType
}

// function returns the index of a new function. Its final end is added.
func (b *builder) function(params []ValueType, result ValueType, locals []local, code encoder) uint32 {
	return b.rawFunction(params, result, locals, append(slices.Clone(code), opEnd))
}

// rawFunction is function without the end.
func (b *builder) rawFunction(params []ValueType, result ValueType, locals []local, code encoder) uint32 {
	var e encoder
	e.u32(uint32(len(locals)))
	for _, l := range locals {
		e.u32(l.n)
		e.op(l.t)
	}
	b.code.function(append(e, code...))
	b.funcs = append(b.funcs, b.typ(params, result))
	return uint32(len(b.imports) + len(b.funcs) - 1)
}

func (b *builder) export(name string, kind byte, index uint32) {
	b.exports = append(b.exports, exportEntry{[]byte(name), kind, index})
}

// apply adds the function apply.
func (b *builder) apply(locals []local, code encoder) {
	b.export("apply", kindFunction, b.function([]ValueType{I64, I64, I64}, none, locals, code))
}

func (b *builder) bytes() []byte {
	var types, imports, funcs, exports, globals, elements, memory, table, data encoder
	for _, t := range b.types {
		types.op(0x60)
		types.u32(uint32(len(t.params)))
		types = append(types, t.params...)
		if t.result == none {
			types.op(0)
		} else {
			types.op(1, t.result)
		}
	}
	for _, i := range b.imports {
		imports.name(string(i.module))
		imports.name(string(i.name))
		imports.index(0, i.typ)
	}
	for _, f := range b.funcs {
		funcs.u32(f)
	}
	if b.table >= 0 {
		table.op(0x70, 0)
		table.u32(uint32(b.table))
	}
	if len(b.memory) > 0 {
		memory.op(b.flags | byte(len(b.memory)-1))
		for _, pages := range b.memory {
			memory.u32(pages)
		}
	}
	for _, g := range b.globals {
		globals.op(g.typ, 0)
		if g.mutable {
			globals[len(globals)-1] = 1
		}
		raw(&globals, g.typ, g.bits)
		globals.op(opEnd)
	}
	for _, e := range b.exports {
		exports.name(string(e.name))
		exports.index(e.kind, e.index)
	}
	elementCount := 0
	if len(b.elements) > 0 {
		elementCount = 1
		elements.op(0)
		elements.i32(0)
		elements.op(opEnd)
		elements.u32(uint32(len(b.elements)))
		for _, f := range b.elements {
			elements.u32(f)
		}
	}
	for _, d := range b.data {
		data.op(0)
		data.i32(int32(d.offset))
		data.op(opEnd)
		data.u32(uint32(len(d.bytes)))
		data = append(data, d.bytes...)
	}
	e := encoder{0, 'a', 's', 'm', 1, 0, 0, 0}
	e.section(1, len(b.types), types)
	e.section(2, len(b.imports), imports)
	e.section(3, len(b.funcs), funcs)
	if b.table >= 0 {
		e.section(4, 1, table)
	}
	e.section(5, min(len(b.memory), 1), memory)
	e.section(6, len(b.globals), globals)
	e.section(7, len(b.exports), exports)
	if b.start != noFunction {
		e.op(8, 1, byte(b.start))
	}
	e.section(9, elementCount, elements)
	e.section(10, len(b.funcs), b.code)
	e.section(11, len(b.data), data)
	if b.custom != nil {
		e.op(0)
		e.u32(uint32(len(b.custom)))
		e = append(e, b.custom...)
	}
	return e
}

// raw appends a constant as it is, NaN or not.
func raw(e *encoder, t ValueType, bits uint64) {
	switch t {
	case I32:
		e.i32(int32(bits))
	case I64:
		e.i64(int64(bits))
	case F32:
		e.op(opF32Const, byte(bits), byte(bits>>8), byte(bits>>16), byte(bits>>24))
	case F64:
		e.op(opF64Const)
		for i := range 8 {
			e.op(byte(bits >> (8 * i)))
		}
	}
}

func (e *encoder) get(local uint32) { e.index(opLocalGet, local) }

// host is what the tests' host functions work on.
type host struct {
	out []uint64 // what the contract put
}

// testFunctions are the host functions of tests.
func testFunctions() []Function {
	return []Function{
		{Name: "put", Params: []ValueType{I64}, Body: func(c *Call, stack []uint64) {
			h := c.Context.(*host)
			h.out = append(h.out, stack[0])
		}},
		{Name: "putf", Params: []ValueType{F32}, Body: func(c *Call, stack []uint64) {
			h := c.Context.(*host)
			h.out = append(h.out, uint64(uint32(stack[0])))
		}},
		{Name: "putd", Params: []ValueType{F64}, Body: func(c *Call, stack []uint64) {
			h := c.Context.(*host)
			h.out = append(h.out, stack[0])
		}},
		{Name: "fail", Body: func(c *Call, _ []uint64) { c.Abort(errTest) }},
		{Name: "leave", Body: func(c *Call, _ []uint64) { c.Exit() }},
		{Name: "bug", Body: func(c *Call, _ []uint64) { _ = c.Context.([]int)[3] }},
		{Name: "nop", Body: func(*Call, []uint64) {}},
		{Name: "size", Results: []ValueType{I32}, Body: func(c *Call, stack []uint64) { stack[0] = uint64(len(c.Memory())) }},
	}
}

// engine is a cache and a machine of it.
type engine struct {
	name string
	*Cache
	*Machine
}

// engines are both virtual machines.
func engines(tb testing.TB) []engine {
	tb.Helper()
	var all []engine
	for _, name := range []string{"compiler", "interpreter"} {
		c, err := NewCache(Options{Functions: testFunctions(), Interpreter: name == "interpreter"})
		if err != nil {
			tb.Fatal(err)
		}
		m := c.NewMachine()
		tb.Cleanup(func() {
			_ = m.Close()
			_ = c.Close()
		})
		all = append(all, engine{name, c, m})
	}
	return all
}

func codeOf(b []byte) Code {
	return Code{
		Hash: sha256.Sum256(b), Limits: DefaultLimits(),
		Load: func(types.Checksum256) ([]byte, error) { return b, nil },
	}
}

// apply runs a module and returns what it put.
func (e *engine) apply(b []byte) ([]uint64, error) {
	var h host
	err := e.Apply(&h, codeOf(b), 1, 2, 3, nil)
	return h.out, err
}

// until returns a checktime that fails after a while.
func until(d time.Duration) func() error {
	end := time.Now().Add(d)
	return func() error {
		if time.Now().After(end) {
			return errDeadline
		}
		return nil
	}
}
