package difftest

import "tarn/antelope/serial"

// Types of WebAssembly values, and the letters that signatures use for them.
const (
	i32 = 0x7f
	i64 = 0x7e
	f32 = 0x7d
	f64 = 0x7c
)

func valueType(letter byte) byte {
	switch letter {
	case 'l':
		return i64
	case 'f':
		return f32
	case 'd':
		return f64
	}
	return i32
}

// module is a WebAssembly module that is being put together. Imports must be
// added before functions.
type module struct {
	signatures []string
	imports    []importedFunction
	functions  []moduleFunction
	pages      uint32
	globals    []byte // types of the mutable globals, all 0 at first
	table      []uint32
	exports    map[string]uint32
	data       []segment
	start      int // function, -1 for none
}

type importedFunction struct {
	name      string
	signature int
}

type moduleFunction struct {
	signature int
	locals    []byte // their types
	code      []byte // without the final end
}

type segment struct {
	at    uint32
	bytes []byte
}

// signature numbers one, such as "il:l" for (i32, i64) to i64.
func (m *module) signature(text string) int {
	for i, s := range m.signatures {
		if s == text {
			return i
		}
	}
	m.signatures = append(m.signatures, text)
	return len(m.signatures) - 1
}

func (m *module) importIndex(name, signature string) uint32 {
	m.imports = append(m.imports, importedFunction{name, m.signature(signature)})
	return uint32(len(m.imports) - 1)
}

func (m *module) function(signature string, locals, code []byte) uint32 {
	m.functions = append(m.functions, moduleFunction{m.signature(signature), locals, code})
	return uint32(len(m.imports) + len(m.functions) - 1)
}

// signatureParts cuts "il:l" into parameters and results.
func signatureParts(s string) (parameters, results string) {
	for i := range len(s) {
		if s[i] == ':' {
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}

func appendTypes(b []byte, letters string) []byte {
	b = serial.AppendCount(b, len(letters))
	for i := range len(letters) {
		b = append(b, valueType(letters[i]))
	}
	return b
}

// encode returns the module's bytes.
func (m *module) encode() (out []byte) {
	out = []byte{0, 'a', 's', 'm', 1, 0, 0, 0}
	section := func(id byte, count int, body []byte) {
		if count > 0 {
			out = serial.AppendBytes(append(out, id), append(serial.AppendCount(nil, count), body...))
		}
	}
	var b []byte
	for _, s := range m.signatures {
		parameters, results := signatureParts(s)
		b = appendTypes(appendTypes(append(b, 0x60), parameters), results)
	}
	section(1, len(m.signatures), b)
	b = nil
	for _, f := range m.imports {
		b = serial.AppendString(serial.AppendString(b, "env"), f.name)
		b = serial.AppendCount(append(b, 0), f.signature)
	}
	section(2, len(m.imports), b)
	b = nil
	for _, f := range m.functions {
		b = serial.AppendCount(b, f.signature)
	}
	section(3, len(m.functions), b)
	if n := len(m.table); n > 0 {
		section(4, 1, serial.AppendCount([]byte{0x70, 0}, n))
	}
	if m.pages > 0 {
		section(5, 1, serial.AppendVaruint32([]byte{0}, m.pages))
	}
	b = nil
	for _, t := range m.globals {
		zero := map[byte][]byte{i32: {0x41, 0}, i64: {0x42, 0}, f32: {0x43, 0, 0, 0, 0},
			f64: {0x44, 0, 0, 0, 0, 0, 0, 0, 0}}[t]
		b = append(append(append(b, t, 1), zero...), 0x0b)
	}
	section(6, len(m.globals), b)
	b = nil
	for name, f := range m.exports { // contracts have one
		b = serial.AppendVaruint32(append(serial.AppendString(b, name), 0), f)
	}
	section(7, len(m.exports), b)
	if m.start >= 0 {
		out = serial.AppendBytes(append(out, 8), serial.AppendCount(nil, m.start))
	}
	if n := len(m.table); n > 0 {
		b = serial.AppendCount([]byte{0, 0x41, 0, 0x0b}, n)
		for _, f := range m.table {
			b = serial.AppendVaruint32(b, f)
		}
		section(9, 1, b)
	}
	m.encodeBodies(section)
	return out
}

// encodeBodies makes the sections of code and data.
func (m *module) encodeBodies(section func(id byte, count int, body []byte)) {
	var b []byte
	for _, f := range m.functions {
		body := serial.AppendCount(nil, len(f.locals))
		for _, t := range f.locals {
			body = append(body, 1, t)
		}
		body = append(append(body, f.code...), 0x0b)
		b = serial.AppendBytes(b, body)
	}
	section(10, len(m.functions), b)
	b = nil
	for _, d := range m.data {
		b = append(constant32(append(b, 0), int32(d.at)), 0x0b)
		b = serial.AppendBytes(b, d.bytes)
	}
	section(11, len(m.data), b)
}

// constant32 appends i32.const.
func constant32(b []byte, v int32) []byte { return appendSigned(append(b, 0x41), int64(v)) }

// constant64 appends i64.const.
func constant64(b []byte, v int64) []byte { return appendSigned(append(b, 0x42), v) }

// appendSigned appends a signed LEB128.
func appendSigned(b []byte, v int64) []byte {
	for {
		low := byte(v & 0x7f)
		v >>= 7
		if v == 0 && low&0x40 == 0 || v == -1 && low&0x40 != 0 {
			return append(b, low)
		}
		b = append(b, low|0x80)
	}
}
