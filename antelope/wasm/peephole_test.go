package wasm

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// peephole makes modules for what a compiler does to a few instructions at a time: short
// expressions of constants, variables and loads, whose values decide branches, choose and
// are addresses, while more values live than there are registers, and memory grows and
// shrinks.
type peephole struct {
	*rand.Rand
	b     *builder
	put   uint32
	many  []uint32 // functions of many parameters, by result, as valueTypes
	grow  uint32   // (i32)
	ops   [4][]byte
	depth int
	loops int
	level int // blocks that are open
}

// Locals of each type, after three parameters of type i64; the last two of each type are
// never set. Then come counters of loops.
const (
	peepholeLocals = 8
	peepholeUnset  = 2
	peepholeLoops  = 4
)

var manyParams = []ValueType{I32, F64, I64, F32, I32, I64, F64, F64, F32, I64, I32, F64, I64, I64, F32, F64, F64,
	F64, I32, F32}

func (g *peephole) index(t ValueType) uint32 { return uint32(slices.Index(valueTypes, t)) }

func (g *peephole) local(t ValueType) uint32 {
	return 3 + g.index(t)*peepholeLocals + uint32(g.IntN(peepholeLocals))
}

func (g *peephole) setLocal(t ValueType) uint32 {
	n := uint32(g.IntN(peepholeLocals - peepholeUnset))
	if t == I32 && n < 3 && g.IntN(8) > 0 { // addresses
		n += 3
	}
	return 3 + g.index(t)*peepholeLocals + n
}

// constant pushes a constant at which something changes.
func (g *peephole) constant(e *encoder, t ValueType) {
	bits := []uint64{
		0, 0, 0, 1, 2, 3, 4, 8, 31, 32, 33, 63, 64, 0x7f, 0x80, 0xff, 0xffff, 0x10000, 65528, 1<<31 - 1, 1 << 31,
		1<<32 - 1, 1 << 32, 1<<63 - 1, 1 << 63, 1<<64 - 1, 1<<64 - 2, 0xffffffff80000000, 0x3f800000, 0xbf800000,
		0x4f000000, 0xcf000000, 0x4f800000, 0x5f000000, 0x7f800000, 0x7fc00000, 0x7fa00001, 0x80000001,
		0x3ff0000000000000, 0xbff0000000000000, 0x41e0000000000000, 0xc1e0000000200000, 0x43e0000000000000,
		0xc3e0000000000000, 0x43f0000000000000, 0x7ff0000000000000, 0x7ff8000000000000, 0x7ff4000000000001,
		0x41dfffffffc00000,
	}[g.IntN(47)]
	switch g.IntN(8) {
	case 0:
		bits = g.Uint64()
	case 1:
		bits = 1 << g.IntN(64)
	case 2:
		bits = uint64(g.IntN(300))
	}
	raw(e, t, bits)
}

func (g *peephole) address(e *encoder) {
	switch n := g.IntN(200); {
	case n < 2:
		g.value(e, I32)
	case n < 4:
		g.constant(e, I32)
	case n < 100: // in memory, unless it shrank
		e.get(3 + uint32(g.IntN(3)))
	default:
		g.value(e, I32)
		e.i32(int32([]int{0xfff, 0xfff, 0xfff, 7, 7, 0xffff}[g.IntN(6)]))
		e.op(opI32And)
	}
}

func (g *peephole) offset() uint32 {
	if g.IntN(100) == 0 {
		return []uint32{65528, 65536, 1<<31 - 1, 1 << 31, 1<<32 - 1}[g.IntN(5)]
	}
	return []uint32{0, 1, 8, 127, 128}[g.IntN(5)]
}

func (g *peephole) value(e *encoder, t ValueType) {
	g.depth++
	defer func() { g.depth-- }()
	n := g.IntN(20)
	if g.depth > 3 {
		n = g.IntN(7)
	}
	switch {
	case n < 2:
		g.constant(e, t)
	case n < 5:
		e.get(g.local(t))
	case n < 6:
		e.index(opGlobalGet, 2*g.index(t)+uint32(g.IntN(2)))
	case n < 7:
		g.load(e, t)
	case n < 9:
		g.value(e, t)
		g.value(e, t)
		g.condition(e)
		e.op(opSelect)
	case n < 10:
		g.condition(e)
		e.op(opIf, t)
		g.level++
		g.value(e, t)
		e.op(opElse)
		g.value(e, t)
		e.op(opEnd)
		g.level--
	case n < 11 && g.depth < 3:
		for _, p := range manyParams {
			e.get(g.local(p))
		}
		e.index(opCall, g.many[g.index(t)])
	case n < 12:
		g.value(e, t)
		e.index(opLocalTee, g.setLocal(t))
	default:
		op := g.ops[g.index(t)][g.IntN(len(g.ops[g.index(t)]))]
		p := plains[op]
		if p.memory {
			g.load(e, t)
			return
		}
		for range p.count {
			g.value(e, p.operand)
		}
		if op >= 0x6d && op <= 0x70 && g.IntN(200) > 0 { // divisions trap less
			e.i32(int32(1 + g.IntN(3)))
			e.op(opI32Or)
		} else if op >= 0x7f && op <= 0x82 && g.IntN(200) > 0 {
			e.i64(int64(1 + g.IntN(3)))
			e.op(opI64Or)
		} else if op >= 0xa8 && op <= 0xb1 && op != 0xac && op != 0xad && g.IntN(200) > 0 { // and so do truncations
			if p.operand == F32 {
				e.op(opI32FromF32)
				e.i32(0x40000001)
				e.op(opI32And, opF32FromI32)
			} else {
				e.op(opI64FromF64)
				e.i64(0x4000000000000001)
				e.op(opI64And, opF64FromI64)
			}
		}
		e.op(op)
	}
}

// condition pushes what decides: mostly a comparison with an operand that a compiler looks
// into.
func (g *peephole) condition(e *encoder) {
	if g.IntN(4) == 0 {
		g.value(e, I32)
		return
	}
	g.depth++
	t := valueTypes[g.IntN(6)%4]
	for range 2 {
		switch n := g.IntN(8); {
		case n < 3:
			raw(e, t, 0)
		case n < 6 && t == I32:
			g.value(e, t)
			g.value(e, t)
			e.op(byte(opI32And + g.IntN(6)))
		case n < 6 && t == I64:
			g.value(e, t)
			g.value(e, t)
			e.op(byte(opI64And + g.IntN(6)))
		default:
			g.value(e, t)
		}
		if g.IntN(4) == 0 && (t == I32 || t == I64) { // by nothing
			raw(e, t, 64)
			e.op(byte(opI32Shl + int(I32-t)*(opI64Shl-opI32Shl) + g.IntN(3)))
		}
	}
	g.depth--
	switch t {
	case I32:
		e.op(byte(opI32Eq + g.IntN(10)))
	case I64:
		e.op(byte(opI64Eq + g.IntN(10)))
	case F32:
		e.op(byte(opF32Eq + g.IntN(6)))
	default:
		e.op(byte(opF64Eq + g.IntN(6)))
	}
}

func (g *peephole) load(e *encoder, t ValueType) {
	var ops []byte
	for _, op := range g.ops[g.index(t)] {
		if plains[op].memory {
			ops = append(ops, op)
		}
	}
	g.address(e)
	e.mem(ops[g.IntN(len(ops))], 0, g.offset())
}

func (g *peephole) statement(e *encoder) {
	t := valueTypes[g.IntN(4)]
	n := g.IntN(14)
	if g.level > 4 && n > 6 {
		n %= 7
	}
	switch n {
	case 0, 1, 2:
		g.value(e, t)
		e.index(opLocalSet, g.setLocal(t))
	case 3:
		g.value(e, t)
		e.index(opGlobalSet, 2*g.index(t)+uint32(g.IntN(2)))
	case 4, 5:
		op := byte(0x36 + g.IntN(9))
		g.address(e)
		g.value(e, plains[op].operand)
		e.mem(op, 0, g.offset())
	case 6:
		e.i32(int32([]int{-1, -1, -2, 0, 1, 1, 2, 2}[g.IntN(8)]))
		if g.IntN(2) == 0 {
			e.index(opCall, g.grow)
		} else {
			e.op(opMemoryGrow, 0, opDrop)
		}
	case 7, 8:
		g.condition(e)
		e.op(opIf, none)
		g.block(e)
		if g.IntN(2) == 0 {
			e.op(opElse)
			g.block(e)
		}
		e.op(opEnd)
	case 9, 10:
		e.op(opBlock, none)
		g.condition(e)
		e.index(opBrIf, 0)
		g.block(e)
		e.op(opEnd)
	case 11:
		e.op(opBlock, none, opBlock, none, opBlock, none)
		g.value(e, I32)
		e.index(opBrTable, 3)
		for range 4 {
			e.u32(uint32(g.IntN(3)))
		}
		e.op(opEnd)
		g.level += 2
		g.block(e)
		e.op(opEnd)
		g.level--
		g.block(e)
		e.op(opEnd)
		g.level--
	case 12:
		if g.loops == peepholeLoops {
			return
		}
		counter := 3 + 4*peepholeLocals + uint32(g.loops)
		g.loops++
		e.i32(int32(1 + g.IntN(4)))
		e.index(opLocalSet, counter)
		e.op(opLoop, none)
		g.block(e)
		e.get(counter)
		e.i32(1)
		e.op(opI32Sub)
		e.index(opLocalTee, counter)
		e.op(opBrIf, 0, opEnd)
		g.loops--
	default:
		g.value(e, t)
		g.show(e, t)
	}
}

func (g *peephole) block(e *encoder) {
	g.level++
	for range 1 + g.IntN(3) {
		g.statement(e)
	}
	g.level--
}

func (g *peephole) show(e *encoder, t ValueType) {
	(&generator{put: g.put}).show(e, t)
}

// module makes a module whose apply puts its locals and globals in the end.
func (g *peephole) module() []byte {
	g.b = newBuilder()
	b := g.b
	g.put = b.put()
	b.memory = []uint32{2, 5}
	var bytes []byte
	for range 64 {
		bytes = append(bytes, byte(g.Uint32()))
	}
	b.data = []dataSegment{{0, bytes}, {65530, bytes}}
	if g.IntN(2) == 0 {
		b.data = b.data[:1] // what is beyond the near part counts
	}
	for i, t := range valueTypes {
		for range 2 {
			b.globals = append(b.globals, globalVar{t, true, g.Uint64() >> g.IntN(64)})
		}
		g.ops[i] = of(t)
	}
	for _, t := range valueTypes {
		var e encoder
		for i, p := range manyParams {
			if p == t {
				e.get(uint32(i))
				g.show(&e, t)
			}
		}
		e.get(uint32(slices.Index(manyParams, t)))
		g.many = append(g.many, b.function(manyParams, t, nil, e))
	}
	var e encoder
	e.get(0)
	e.op(opMemoryGrow, 0, opDrop)
	g.grow = b.function([]ValueType{I32}, none, nil, e)
	var locals []local
	e = e[:0]
	for i, t := range valueTypes {
		locals = append(locals, local{peepholeLocals, t})
		for j := range uint32(peepholeLocals - peepholeUnset) {
			if j < 3 && t == I32 {
				e.i32(int32([]int{0, 60, 1000, 32760, 65000, 70000}[g.IntN(6)]))
			} else {
				g.constant(&e, t)
			}
			e.index(opLocalSet, 3+uint32(i)*peepholeLocals+j)
		}
	}
	locals = append(locals, local{peepholeLoops, I32})
	for range 3 + g.IntN(12) {
		g.statement(&e)
	}
	for i, t := range valueTypes {
		for j := range uint32(peepholeLocals) {
			e.get(3 + uint32(i)*peepholeLocals + j)
			g.show(&e, t)
		}
		for j := range uint32(2) {
			e.index(opGlobalGet, 2*uint32(i)+j)
			g.show(&e, t)
		}
	}
	b.apply(locals, e)
	return b.bytes()
}

func TestEnginesAgreeOnPeepholes(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	all := engines(t)
	kinds := map[string]int{}
	const modules = 60 // the fuzz target has more
	for n := range uint64(modules) {
		o := compare(t, all, peepholes(seed, n))
		kinds[o.kind]++
	}
	t.Log(kinds)
	if kinds["none"] < modules/6 || kinds["trap"] < modules/6 {
		t.Errorf("the modules are of no use: %v", kinds)
	}
}

func peepholes(seed, n uint64) []byte {
	return (&peephole{Rand: rand.New(rand.NewPCG(seed, n))}).module()
}

func FuzzPeepholes(f *testing.F) {
	f.Add(uint64(7), uint64(0))
	all := engines(f)
	f.Fuzz(func(t *testing.T, seed, n uint64) { compare(t, all, peepholes(seed, n)) })
}
