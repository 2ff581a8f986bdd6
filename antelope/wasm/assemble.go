package wasm

import "slices"

// elements returns the table with new function indices. Host functions are called
// through functions that check the depth.
func (w *rewriter) elements() []uint32 {
	table := slices.Clone(w.m.table)
	for i, f := range table {
		switch {
		case f == noFunction:
		case uint64(f) < uint64(len(w.m.imports)):
			table[i] = w.thunk(f)
		default:
			table[i] = w.own(f)
		}
	}
	return table
}

// intern returns the index of a type, which it adds if need be.
func (w *rewriter) intern(params []ValueType, result ValueType) uint32 {
	for i, t := range w.types {
		if t.result == result && slices.Equal(t.params, params) {
			return uint32(i)
		}
	}
	w.types = append(w.types, funcType{params: params, result: result})
	return uint32(len(w.types) - 1)
}

// assemble puts the module together. Data segments are not a part of it: they are
// copied whenever memory is reset.
func (w *rewriter) assemble(elements []uint32, entry uint32) []byte {
	m := w.m
	var imports, functions, table, memory, globals, exports encoder
	for _, i := range m.imports {
		imports.name("env")
		imports.name(string(i.name))
		imports.index(kindFunction, i.typ)
	}
	for _, f := range machineFunctions() {
		imports.name(machineModule)
		imports.name(f.name)
		result := none
		if f.result {
			result = I32
		}
		imports.index(kindFunction, w.intern(slices.Repeat([]ValueType{I32}, f.params), result))
	}
	for _, t := range m.functions {
		functions.u32(t)
	}
	for _, h := range w.helpers {
		functions.u32(w.helperType(h))
	}
	if m.tables > 0 {
		table.op(0x70, 1)
		table.u32(uint32(len(m.table)))
		table.u32(uint32(len(m.table)))
	}
	if m.memories > 0 {
		memory.op(0)
		memory.u32(m.pages)
	}
	for _, g := range m.globals {
		w.global(&globals, g.typ, g.mutable)
	}
	for range machineGlobals {
		w.global(&globals, I32, true)
	}
	exports.name(entryName)
	exports.index(kindFunction, entry)
	exports.name(farName)
	exports.index(kindGlobal, w.globalFar())
	segments, segmentCount := segments(elements)

	var types encoder
	for _, t := range w.types {
		types.op(0x60)
		types.u32(uint32(len(t.params)))
		types = append(types, t.params...)
		if t.result == none {
			types.op(0)
		} else {
			types.op(1, t.result)
		}
	}
	e := encoder{0, 'a', 's', 'm', 1, 0, 0, 0}
	e.section(1, len(w.types), types)
	e.section(2, len(m.imports)+machineImports, imports)
	e.section(3, len(m.functions)+len(w.helpers), functions)
	e.section(4, m.tables, table)
	e.section(5, m.memories, memory)
	e.section(6, len(m.globals)+machineGlobals, globals)
	e.section(7, 2, exports)
	e.section(9, segmentCount, segments)
	e.section(10, len(m.functions)+len(w.helpers), w.code)
	return e
}

// global appends a global that is zero: the entry function sets those that change,
// the others are constants in the code.
func (w *rewriter) global(e *encoder, t ValueType, mutable bool) {
	e.op(t, 0)
	if mutable {
		(*e)[len(*e)-1] = 1
	}
	e.bits(t, 0)
	e.op(opEnd)
}

// segments makes element segments of the runs of the table that are set.
func segments(table []uint32) (encoder, int) {
	var e encoder
	n := 0
	for i := 0; i < len(table); {
		end := i
		for end < len(table) && table[end] != noFunction {
			end++
		}
		if end > i {
			n++
			e.op(0)
			e.i32(int32(i))
			e.op(opEnd)
			e.u32(uint32(end - i))
			for _, f := range table[i:end] {
				e.u32(f)
			}
		}
		i = end + 1
	}
	return e, n
}
