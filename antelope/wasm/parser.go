package wasm

import (
	"bytes"
	"math"
	"slices"
	"unicode/utf8"
)

// Tables larger than this are refused whatever the rules say, as nodeos runs out of
// the memory that it parses into.
const tableCeiling = 1 << 24

// parser reads the sections of a module, under options; the code of the functions
// is the checker's.
type parser struct {
	reader
	o *options
	m *module

	mutableBytes uint32
}

// parse reads and checks a module's sections.
func parse(code []byte, o *options) (*module, error) {
	p := parser{reader: newReader(code), o: o, m: &module{start: noFunction}}
	p.require(p.fixed32() == 0x6d736100, "magic number did not match")
	p.require(p.fixed32() == 1, "version number did not match")
	var highest byte
	for p.more() {
		id := p.byte()
		size := p.u32()
		p.require(id == 0 || id > highest, "section out of order")
		p.require(uint64(size) <= uint64(len(code)-p.pos), "section size beyond the end of the module")
		if p.err != nil {
			break
		}
		highest = max(highest, id)
		p.end = p.pos + int(size)
		p.section(id)
		p.require(p.pos == p.end, "section contains more data than expected")
		p.end = len(code)
	}
	p.require(len(p.m.bodies) == len(p.m.functions), "code section must have the same size as the function section")
	return p.m, p.err
}

func (p *parser) section(id byte) {
	switch id {
	case 0:
		p.custom()
	case 1:
		p.typeSection()
	case 2:
		p.importSection()
	case 3:
		p.functionSection()
	case 4:
		p.tableSection()
	case 5:
		p.memorySection()
	case 6:
		p.globalSection()
	case 7:
		p.exportSection()
	case 8:
		p.startSection()
	case 9:
		p.elementSection()
	case 10:
		p.codeSection()
	case 11:
		p.dataSection()
	default:
		p.fail("invalid section id")
	}
}

// count reads the number of elements of a section; no element is smaller than a
// byte, so that what is made of them is bounded by the module's size.
func (p *parser) count(legacyLimit uint32) uint32 {
	n := p.u32()
	p.require(n <= p.o.sectionElements, "number of section elements exceeded limit")
	p.require(!p.o.legacy || n <= legacyLimit, "too many elements")
	p.require(uint64(n) <= uint64(p.end-p.pos), errShort.Error())
	if p.err != nil {
		return 0
	}
	return n
}

func (p *parser) custom() {
	p.name(math.MaxUint32)
	rest := uint32(p.end - p.pos)
	p.require(!p.o.legacy || rest <= legacyCustom, "custom section too large")
	p.take(rest)
}

// name reads a string that must be UTF-8.
func (p *parser) name(limit uint32) []byte {
	n := p.u32()
	p.require(n <= limit, "name too long")
	p.require(!p.o.legacy || n <= legacySymbol, "name too long")
	b := p.take(n)
	p.require(utf8.Valid(b), "invalid utf8 encoding")
	// wasm-jit takes none of the second bytes after this one (Leap: Inline/UTF8.h).
	p.require(!p.o.legacy || bytes.IndexByte(b, 0xed) < 0, "invalid utf8 encoding")
	return b
}

func (p *parser) typeSection() {
	n := p.count(legacyElements)
	p.m.types = make([]funcType, 0, n)
	for i := uint32(0); i < n && p.err == nil; i++ {
		p.require(p.byte() == 0x60, "invalid function type")
		params := p.u32()
		p.require(!p.o.legacy || params <= legacyElements, "too many parameters")
		t := funcType{params: p.take(params), result: none}
		p.require(!slices.ContainsFunc(t.params, func(c byte) bool { return !isValueType(c) }),
			"invalid function param type")
		results := p.byte()
		p.require(results < 2, "invalid function return count")
		if results == 1 {
			t.result = p.byte()
			p.require(isValueType(t.result), "invalid function return type")
		}
		p.m.types = append(p.m.types, t)
	}
}

func (p *parser) importSection() {
	n := p.count(math.MaxUint32)
	for i := uint32(0); i < n && p.err == nil; i++ {
		e := importEntry{module: p.name(p.o.symbolBytes), name: p.name(p.o.symbolBytes)}
		kind := p.byte()
		e.typ = p.u32()
		p.require(kind == kindFunction, "only function imports are supported")
		p.require(uint64(e.typ) < uint64(len(p.m.types)), "invalid function type")
		p.m.imports = append(p.m.imports, e)
		p.require(!p.o.legacy || len(p.m.imports) <= legacyFunctions, "too many function imports")
	}
}

func (p *parser) functionSection() {
	n := p.count(legacyFunctions)
	p.m.functions = make([]uint32, 0, n)
	for i := uint32(0); i < n && p.err == nil; i++ {
		t := p.u32()
		p.require(uint64(t) < uint64(len(p.m.types)), "invalid function type index")
		p.m.functions = append(p.m.functions, t)
	}
}

// flags reads whether limits have a maximum.
func (p *parser) flags() bool {
	if p.o.u32Flags {
		return p.u32()&1 != 0
	}
	f := p.byte()
	p.require(f <= 1, "invalid flags")
	return f == 1
}

func (p *parser) tableSection() {
	n := p.u32()
	p.require(n <= 1, "number of section elements exceeded limit")
	if n == 0 || p.err != nil {
		return
	}
	p.require(p.byte() == 0x70, "table must have type anyfunc")
	hasMax := p.flags()
	size := p.u32()
	if hasMax {
		p.require(size <= p.u32(), "table max size less than min size")
	}
	p.require(size <= p.o.tableElements && size <= tableCeiling, "table size exceeds limit")
	if p.err != nil {
		return
	}
	p.m.tables = 1
	p.m.table = slices.Repeat([]uint32{noFunction}, int(size))
}

func (p *parser) memorySection() {
	n := p.u32()
	p.require(n <= 1, "only one memory is permitted")
	if n == 0 || p.err != nil {
		return
	}
	m := p.m
	m.memories = 1
	m.hasMax = p.flags()
	m.pages = p.u32()
	p.require(m.pages <= p.o.pages && m.pages <= 65536, "initial memory out of range")
	if m.hasMax {
		m.maxPages = p.u32()
		p.require(m.maxPages >= m.pages, "maximum must be at least minimum")
		p.require(m.maxPages <= 65536, "maximum memory out of range")
	}
}

func (p *parser) globalSection() {
	n := p.count(legacyElements)
	for i := uint32(0); i < n && p.err == nil; i++ {
		g := globalVar{typ: p.byte()}
		p.require(isValueType(g.typ), "invalid global content type")
		g.mutable = p.u1() == 1
		if g.mutable {
			size := sizeOf(g.typ)
			p.mutableBytes += size
			p.require(p.mutableBytes <= p.o.mutableGlobalBytes && p.mutableBytes >= size,
				"mutable globals exceeded limit")
		}
		g.bits = p.constant(g.typ)
		p.m.globals = append(p.m.globals, g)
	}
}

// constant reads an initialiser of type t and returns its bits.
func (p *parser) constant(t ValueType) uint64 {
	var bits uint64
	var got ValueType
	switch p.byte() {
	case 0x41:
		got, bits = I32, uint64(uint32(p.s32()))
	case 0x42:
		got, bits = I64, uint64(p.s64())
	case 0x43:
		got, bits = F32, uint64(p.fixed32())
	case 0x44:
		got, bits = F64, p.fixed64()
	default:
		p.fail("an initializer can only be a constant")
	}
	p.require(got == t, "wrong type of initializer")
	p.require(p.byte() == 0x0b, "no end op found")
	return bits
}

func (p *parser) exportSection() {
	n := p.count(legacyElements)
	p.m.exports = make([]exportEntry, 0, n)
	for i := uint32(0); i < n && p.err == nil; i++ {
		e := exportEntry{name: p.name(p.o.symbolBytes), kind: p.byte(), index: p.u32()}
		switch index := uint64(e.index); e.kind {
		case kindFunction:
			p.require(index < p.m.functionCount(), "function export out of range")
		case kindTable:
			p.require(index < uint64(p.m.tables), "table export out of range")
		case kindMemory:
			p.require(index < uint64(p.m.memories), "memory export out of range")
		case kindGlobal:
			ok := index < uint64(len(p.m.globals))
			p.require(ok, "global export out of range")
			p.require(!ok || !p.o.legacy || !p.m.globals[index].mutable, "cannot export mutable globals")
		default:
			p.fail("unknown export kind")
		}
		p.m.exports = append(p.m.exports, e)
	}
	names := make([][]byte, len(p.m.exports))
	for i, e := range p.m.exports {
		names[i] = e.name
	}
	slices.SortFunc(names, bytes.Compare)
	for i := 1; i < len(names); i++ {
		p.require(!bytes.Equal(names[i-1], names[i]), "duplicate export name")
	}
}

func (p *parser) startSection() {
	index := p.u32()
	if uint64(index) >= p.m.functionCount() {
		p.fail("start function out of range")
		return
	}
	t := p.m.typeOf(index)
	p.require(len(t.params) == 0 && t.result == none, "wrong type for start")
	p.m.start = index
}

func (p *parser) elementSection() {
	n := p.count(legacyElements)
	for i := uint32(0); i < n && p.err == nil; i++ {
		p.require(p.m.tables > 0, "table not declared")
		p.require(p.u32() == 0, "only table index of 0 is supported")
		offset := uint32(p.constant(I32))
		size := p.u32()
		p.require(!p.o.legacy || size <= legacyElements, "elem segment too large")
		fits := uint64(offset)+uint64(size) <= uint64(len(p.m.table))
		for j := uint32(0); j < size && p.err == nil; j++ {
			index := p.u32()
			p.require(uint64(index) < p.m.functionCount(), "elem for undefined function")
			if fits && p.err == nil {
				p.m.table[offset+j] = index
			}
		}
		if !fits {
			p.m.broken = "elem out of range"
		}
	}
}

func (p *parser) codeSection() {
	n := p.count(math.MaxUint32)
	p.require(uint64(n) <= uint64(len(p.m.functions)), "code section must have the same size as the function section")
	p.m.bodies = make([]funcBody, 0, n)
	for i := uint32(0); i < n && p.err == nil; i++ {
		p.body(p.m.functions[i])
	}
}

func (p *parser) body(typ uint32) {
	size := p.u32()
	p.require(size <= p.o.codeBytes, "function body too large")
	p.require(!p.o.legacy || size <= legacyBody, "function body too large")
	before := p.pos
	b := funcBody{typ: typ}
	p.locals(&b)
	declared := uint32(p.pos - before)
	p.require(declared < size, "function body too short")
	if p.err != nil {
		return
	}
	b.code = p.take(size - declared)
	p.require(p.o.trailing || p.err != nil || b.code[len(b.code)-1] == 0x0b,
		"failed parsing function body, expected 'end'")
	p.m.bodies = append(p.m.bodies, b)
}

func (p *parser) locals(b *funcBody) {
	total := uint64(len(p.m.types[b.typ].params))
	var used, legacy uint64
	sets := p.u32()
	p.require(!p.o.legacy || sets <= legacyLocalSets, "too many local sets")
	for i := uint32(0); i < sets && p.err == nil; i++ {
		count, t := p.u32(), p.byte()
		p.require(!p.o.legacy || t < 0x80, "invalid local type")
		if p.o.emptyLocals && count == 0 {
			t = I32
		}
		p.require(isValueType(t), "invalid local type")
		used += uint64(count) * uint64(sizeOf(t))
		p.require(!p.o.countLocals || used <= uint64(p.o.localBytes), "local variable limit exceeded")
		legacy += uint64(count) * 4
		p.require(!p.o.legacy || legacy <= legacyLocals, "too many locals")
		total += uint64(count)
		p.require(total <= math.MaxUint32, "too many locals")
		switch n := len(b.locals); {
		case p.err != nil || count == 0:
		case n > 0 && b.locals[n-1].typ == t:
			b.locals[n-1].end += count
		default:
			b.locals = append(b.locals, localRun{end: uint32(total), typ: t})
		}
	}
	b.used = uint32(used)
}

// dataOutOfRange is why a module cannot be instantiated whose elements are all in their table.
const dataOutOfRange = "data out of range"

func (p *parser) dataSection() {
	n := p.count(legacyElements)
	for i := uint32(0); i < n && p.err == nil; i++ {
		p.require(p.m.memories > 0, "data requires memory")
		index := p.u32()
		p.require(!p.o.legacy || index == 0, "invalid memory index")
		d := dataSegment{offset: uint32(p.constant(I32))}
		size := p.u32()
		p.require(!p.o.legacy || size <= legacyElements, "data segment too large")
		p.require(uint64(d.offset)+uint64(size) <= p.o.linearMemoryInit, "out-of-bounds data section")
		d.bytes = p.take(size)
		p.m.data = append(p.m.data, d)
	}
	limit := uint64(p.m.pages) * PageSize
	for _, d := range p.m.data {
		if uint64(d.offset)+uint64(len(d.bytes)) > limit && p.m.broken == "" {
			p.m.broken = dataOutOfRange
		}
	}
}
