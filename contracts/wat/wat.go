// Package wat makes WebAssembly modules of contracts out of their sources in
// the text format of WebAssembly, so that no toolchain is needed to build ours.
//
// It owns a part of that format: integers, floats that are handed on, one memory, functions,
// globals, data, and instructions in parentheses, each around what it works on:
//
//	(i64.add (local.get $a) (i64.const 1))
//
// Such a source means the same to the tools of others. It checks names and numbers,
// not types: that is what the chain does when it is given a contract.
package wat

import (
	"slices"
)

// Assemble returns the module of a source.
func Assemble(source string) ([]byte, error) {
	r := reader{src: source, line: 1}
	top, err := r.next(0)
	if err != nil {
		return nil, err
	}
	if err := r.skip(); err != nil {
		return nil, err
	}
	if r.at != len(source) {
		return nil, wrong(r.line, "something after the module")
	}
	if top.head() != "module" {
		return nil, wrong(top.line, "not a module")
	}
	m := module{functions: map[string]int{}, globals: map[string]int{}}
	if err := m.declare(top.list[1:]); err != nil {
		return nil, err
	}
	for i := range m.bodies {
		if err := m.function(&m.bodies[i]); err != nil {
			return nil, err
		}
	}
	return m.encode(), nil
}

// Types of values.
const (
	i32 = 0x7f
	i64 = 0x7e
	f32 = 0x7d
	f64 = 0x7c
)

// module is what is being put together: bodies of sections, and what names mean.
type module struct {
	signatures []signature
	functions  map[string]int
	globals    map[string]int

	imports, kinds, memory, values, exports, code, data section
	bodies                                              []body
	filled                                              []span // of memory, by data
}

type signature struct{ params, results []byte }

// span is where data are.
type span struct{ begin, end int64 }

// section is a count and what is counted.
type section struct {
	count int
	bytes []byte
}

// body is a function that has been declared.
type body struct {
	node   node
	fields []node // what comes after the signature
	locals map[string]int
	types  []byte // of all locals
	params int

	out    []byte
	labels []string
}

// declare reads all fields of a module but the code.
func (m *module) declare(fields []node) error {
	for i := range fields {
		f := &fields[i]
		var err error
		switch f.head() {
		case "import":
			err = m.declareImport(f)
		case "func":
			err = m.declareFunction(f)
		case "memory":
			err = m.declareMemory(f)
		case "global":
			err = m.declareGlobal(f)
		case "data":
			err = m.declareData(f)
		default:
			err = wrong(f.line, "a field %q of a module", f.head())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// define gives a name a number.
func define(names map[string]int, n *node, number int) error {
	id := n.id()
	if id == "" {
		return nil
	}
	if _, ok := names[id]; ok {
		return wrong(n.line, "%s is there twice", id)
	}
	names[id] = number
	return nil
}

func (m *module) declareImport(f *node) error {
	if len(m.bodies) > 0 {
		return wrong(f.line, "an import after a function")
	}
	if len(f.list) != 4 || f.list[1].kind != 's' || f.list[2].kind != 's' || f.list[3].head() != "func" {
		return wrong(f.line, `an import is (import "module" "name" (func $name ...))`)
	}
	b := body{node: f.list[3], locals: map[string]int{}}
	results, err := b.header()
	if err != nil {
		return err
	}
	if len(b.fields) > 0 {
		return wrong(f.line, "an import with code")
	}
	for i := range f.list[3].list[1:] {
		if err := define(m.functions, &f.list[3].list[1+i], m.imports.count); err != nil {
			return err
		}
	}
	s := &m.imports
	s.bytes = appendString(appendString(s.bytes, f.list[1].text), f.list[2].text)
	s.bytes = appendUnsigned(append(s.bytes, 0), uint64(m.signature(b.types, results)))
	s.count++
	return nil
}

func (m *module) declareFunction(f *node) error {
	b := body{node: *f, locals: map[string]int{}}
	results, err := b.header()
	if err != nil {
		return err
	}
	number := m.imports.count + len(m.bodies)
	if len(f.list) > 1 {
		if err := define(m.functions, &f.list[1], number); err != nil {
			return err
		}
	}
	m.kinds.bytes = appendUnsigned(m.kinds.bytes, uint64(m.signature(b.types, results)))
	m.kinds.count++
	for len(b.fields) > 0 && (b.fields[0].head() == "export" || b.fields[0].head() == "local") {
		x := &b.fields[0]
		b.fields = b.fields[1:]
		if x.head() == "local" {
			if err := b.variables(x); err != nil {
				return err
			}
			continue
		}
		if len(x.list) != 2 || x.list[1].kind != 's' {
			return wrong(x.line, `an export is (export "name")`)
		}
		m.exports.bytes = appendUnsigned(append(appendString(m.exports.bytes, x.list[1].text), 0), uint64(number))
		m.exports.count++
	}
	m.bodies = append(m.bodies, b)
	return nil
}

// header reads a function's parameters and results; exports stay among the fields.
func (b *body) header() (results []byte, err error) {
	fields := b.node.list[1:]
	if len(fields) > 0 && fields[0].id() != "" {
		fields = fields[1:]
	}
	var exports []node
	for len(fields) > 0 {
		f := &fields[0]
		switch f.head() {
		case "export":
			exports = append(exports, *f)
		case "param":
			err = b.variables(f)
		case "result":
			if len(f.list) != 2 || len(results) > 0 {
				return nil, wrong(f.line, "a function has one result at most")
			}
			var t byte
			t, err = valueType(&f.list[1])
			results = append(results, t)
		default:
			b.params, b.fields = len(b.types), append(exports, fields...)
			return results, nil
		}
		if err != nil {
			return nil, err
		}
		fields = fields[1:]
	}
	b.params, b.fields = len(b.types), exports
	return results, nil
}

// variables reads (param $a i64), or several types without names.
func (b *body) variables(f *node) error {
	list := f.list[1:]
	if len(list) == 2 && list[0].id() != "" {
		if err := define(b.locals, &list[0], len(b.types)); err != nil {
			return err
		}
		list = list[1:]
	}
	for i := range list {
		t, err := valueType(&list[i])
		if err != nil {
			return err
		}
		b.types = append(b.types, t)
	}
	return nil
}

func valueType(n *node) (byte, error) {
	switch {
	case n.kind == 'a' && n.text == "i32":
		return i32, nil
	case n.kind == 'a' && n.text == "i64":
		return i64, nil
	case n.kind == 'a' && n.text == "f32":
		return f32, nil
	case n.kind == 'a' && n.text == "f64":
		return f64, nil
	}
	return 0, wrong(n.line, "%q is no type", n.text)
}

// signature numbers one.
func (m *module) signature(params, results []byte) int {
	for i, s := range m.signatures {
		if slices.Equal(s.params, params) && slices.Equal(s.results, results) {
			return i
		}
	}
	m.signatures = append(m.signatures, signature{slices.Clone(params), results})
	return len(m.signatures) - 1
}

func (m *module) declareMemory(f *node) error {
	if m.memory.count > 0 || len(f.list) != 2 {
		return wrong(f.line, "a module has one memory, (memory pages)")
	}
	pages, err := f.list[1].integer(32)
	if err != nil || pages < 0 || pages > 1<<16 {
		return wrong(f.line, "a memory of %s pages", f.list[1].text)
	}
	m.memory = section{1, appendUnsigned([]byte{0}, uint64(pages))}
	return nil
}

func (m *module) declareGlobal(f *node) error {
	if len(f.list) != 4 || f.list[1].id() == "" {
		return wrong(f.line, "a global is (global $name type value)")
	}
	kind, mutable := &f.list[2], byte(0)
	if kind.head() == "mut" && len(kind.list) == 2 {
		kind, mutable = &kind.list[1], 1
	}
	t, err := valueType(kind)
	if err != nil {
		return err
	}
	if err := define(m.globals, &f.list[1], m.values.count); err != nil {
		return err
	}
	value, _, err := constant(&f.list[3])
	m.values.bytes = append(append(append(m.values.bytes, t, mutable), value...), 0x0b)
	m.values.count++
	return err
}

// constant reads (i32.const n) or (i64.const n).
func constant(n *node) (code []byte, v int64, err error) {
	bits, op := 32, byte(0x41)
	switch {
	case len(n.list) == 2 && n.head() == "i32.const":
	case len(n.list) == 2 && n.head() == "i64.const":
		bits, op = 64, 0x42
	default:
		return nil, 0, wrong(n.line, "not a constant")
	}
	v, err = n.list[1].integer(bits)
	return appendSigned([]byte{op}, v), v, err
}

func (m *module) declareData(f *node) error {
	if len(f.list) < 3 || f.list[1].head() != "i32.const" {
		return wrong(f.line, `data are (data (i32.const n) "bytes")`)
	}
	at, begin, err := constant(&f.list[1])
	if err != nil {
		return err
	}
	var bytes []byte
	for i := range f.list[2:] {
		if f.list[2+i].kind != 's' {
			return wrong(f.line, `data are (data (i32.const n) "bytes")`)
		}
		bytes = append(bytes, f.list[2+i].text...)
	}
	s := span{begin, begin + int64(len(bytes))}
	for _, x := range m.filled {
		if s.begin < x.end && x.begin < s.end {
			return wrong(f.line, "the data from %d to %d are over others", s.begin, s.end)
		}
	}
	m.filled = append(m.filled, s)
	m.data.bytes = appendString(append(append(append(m.data.bytes, 0), at...), 0x0b), string(bytes))
	m.data.count++
	return nil
}
