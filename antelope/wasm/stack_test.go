package wasm

import (
	"flag"
	"math/rand/v2"
	"slices"
	"testing"

	"tarn/antelope/exception"
)

var deepRounds = flag.Int("wasm.deep", 1, "rounds of values deep on the stack")

// spilling makes a module that nests calls, each of which makes values in batches that are
// on the operand stack together, and lets them live until they are added up at last.
type spilling struct {
	batches, width, depth int
	how                   byte // what the values are
	indirect, far         bool // the recursion goes through a table, or another function
}

// Where the values come from.
const (
	byCalls = iota
	byGlobals
	byLocals // that are set on two paths
	byMemory
	byFloats
	waysToSpill
)

func (s spilling) module() []byte {
	b := newBuilder()
	put := b.put()
	b.memory = []uint32{1}
	b.globals = []globalVar{{I32, true, uint64(s.depth)}, {I64, true, 3}}
	give := b.function(nil, I64, nil, encoder{opGlobalGet, 1})
	self := give + 1
	if s.far {
		self++
	}
	var e encoder
	for k := range s.batches {
		for i := range s.width {
			s.value(&e, k*s.width+i, give)
		}
		if k == s.batches/2 {
			s.recurse(b, &e, self)
		}
		for range s.width - 1 {
			e.op(opI64Add)
		}
		e.op(opGlobalGet, 1, opI64Add, opGlobalSet, 1)
	}
	sig := []ValueType{I64, I64, I64}
	locals := []local{{50, I64}}
	if s.far {
		b.function(sig, none, nil, encoder{opLocalGet, 0, opLocalGet, 1, opLocalGet, 2, opCall, byte(self)})
	}
	f := b.function(sig, none, locals, e)
	b.table, b.elements = 1, []uint32{f}
	b.export("apply", kindFunction, b.function(sig, none, nil, encoder{
		opLocalGet, 0, opLocalGet, 1, opLocalGet, 2, opCall, byte(f), opGlobalGet, 1, opCall, byte(put),
	}))
	return b.bytes()
}

func (s spilling) value(e *encoder, n int, give uint32) {
	switch s.how {
	case byGlobals:
		e.op(opGlobalGet, 1)
		e.i64(int64(n))
		e.op(opI64Xor)
	case byLocals:
		l := uint32(3 + n%50)
		e.op(opGlobalGet, 0, opIf, none, opGlobalGet, 1)
		e.index(opLocalSet, l)
		e.op(opEnd)
		e.get(l)
	case byMemory:
		e.op(opGlobalGet, 0)
		e.mem(opI64Load, 0, uint32(n%1000))
	case byFloats:
		e.op(opGlobalGet, 1, opF64FromI64)
		raw(e, F64, uint64(n))
		e.op(opF64Add, opI64FromF64)
	default:
		e.index(opCall, give)
	}
}

// recurse goes down until the global says no more.
func (s spilling) recurse(b *builder, e *encoder, self uint32) {
	e.op(opGlobalGet, 0, opIf, none, opGlobalGet, 0)
	e.i32(1)
	e.op(opI32Sub, opGlobalSet, 0)
	for i := range uint32(3) {
		e.get(i)
	}
	switch {
	case s.indirect:
		e.i32(0)
		e.index(opCallIndirect, b.typ([]ValueType{I64, I64, I64}, none))
		e.op(0)
	case s.far:
		e.index(opCall, self-1)
	default:
		e.index(opCall, self)
	}
	e.op(opEnd)
}

// deepest is the largest depth whose calls are all allowed: one call runs above the
// recursion, and those that give values run below it.
func (s spilling) deepest() int {
	switch {
	case s.far:
		return 124
	case s.how == byCalls:
		return 248
	}
	return 249
}

// agree runs it on both engines.
func (s spilling) agree(t *testing.T, all []engine) {
	t.Helper()
	module := s.module()
	var first []uint64
	for i, v := range all {
		out, err := v.apply(module)
		if ok := s.depth <= s.deepest(); ok != (err == nil) || !ok && !exception.Is(err, exception.WasmExecutionError) {
			t.Errorf("%s: %+v: %v", v.name, s, err)
		}
		if i == 0 {
			first = out
		} else if !slices.Equal(out, first) {
			t.Errorf("%s: %+v: put %d, and %d by the other", v.name, s, out, first)
		}
	}
}

func TestWhatIsSpilledFitsTheCompilersStack(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; not with -short")
	}
	all := engines(t)
	for _, s := range []spilling{
		{70, 1000, 248, byCalls, false, false}, {2, 20, 250, byCalls, true, false},
		{40, 300, 120, byCalls, false, true},
		{100, 20, 248, byLocals, false, false}, {4, 500, 248, byMemory, true, false},
		{2, 3, 249, byCalls, false, false}, {2, 3, 249, byCalls, true, false}, {2, 3, 124, byCalls, false, true},
		{2, 3, 125, byCalls, false, true}, {2, 3, 249, byLocals, false, false}, {2, 3, 250, byLocals, false, false},
	} {
		s.agree(t, all)
	}
}

// Random shapes, most of them at the edge where the compiler is not used any more.
func TestEnginesAgreeHoweverDeepValuesAre(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	all := engines(t)
	for range *deepRounds {
		values := 1 << (6 + r.IntN(10))
		width := 1 + r.IntN(min(values, 3000))
		s := spilling{max(values/width, 1), width, 200 + r.IntN(52), byte(r.IntN(waysToSpill)), r.IntN(3) == 0, false}
		if !s.indirect && r.IntN(3) == 0 {
			s.far = true
			s.depth /= 2
		}
		s.agree(t, all)
	}
}

// A program that was chosen for few nested calls is chosen anew for more.
func TestAProgramIsForTheDepthThatIsAllowed(t *testing.T) {
	module := spilling{30, 200, 248, byCalls, false, false}.module()
	for _, v := range engines(t) {
		for _, depth := range []uint32{4, 300, 1900} {
			code := codeOf(module)
			code.Limits.CallDepth = depth
			var h host
			if err := v.Apply(&h, code, 1, 2, 3, nil); (depth >= 300) != (err == nil) {
				t.Errorf("%s: depth %d: %v", v.name, depth, err)
			}
			native := v.entries[code.Hash].program.Load().runtime == v.native
			if v.name == "compiler" && native != (v.entries[code.Hash].depth < maxDepth) {
				t.Errorf("depth %d: compiled is %v, for %d", depth, native, v.entries[code.Hash].depth)
			}
		}
	}
}
