package wasm

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"tarn/antelope/exception"
	"tarn/antelope/types"
)

// generator makes a valid module of whatever bytes there are.
type generator struct {
	data  []byte
	b     *builder
	depth int
	put   uint32
	nop   uint32
	funcs []uint32 // that may be called
	loops uint32   // counters in use, from local loopLocals on

	labels []ValueType
	real   bool // import what nodeos has

	// Of a module whose indirect calls take results of other types.
	mixed  [][]ValueType // parameters of functions in the table, four of each: one a type of result
	base   uint32        // of the parameters and locals of the function at hand
	within bool          // one of those functions, which call no others
}

// Locals of generated functions after their parameters (i64 i64 i64): two of each
// type, and counters of loops.
const (
	firstLocal = 3
	loopLocals = firstLocal + 8
	maxLoops   = 6
)

var valueTypes = []ValueType{I32, I64, F32, F64}

func (g *generator) next() int {
	if len(g.data) == 0 {
		return 0
	}
	c := g.data[0]
	g.data = g.data[1:]
	return int(c)
}

func (g *generator) bits() uint64 {
	special := []uint64{0, 1, 1<<64 - 1, 1 << 31, 1 << 63, 0x7fa00001, 0x7ff4000000000001, 0xc1e0000000080000,
		0x3fe0000000000000, 0x3f000000, 0x7f800000, 100}
	c := g.next()
	if c < 128 {
		return special[c%len(special)]
	}
	var v uint64
	for range 8 {
		v = v<<8 | uint64(g.next())
	}
	return v
}

func (g *generator) local(t ValueType) uint32 {
	return g.base + uint32(slices.Index(valueTypes, t))*2 + uint32(g.next()%2)
}

// address pushes an address that is mostly inside of memory.
func (g *generator) address(e *encoder) {
	g.expression(e, I32)
	if g.next()%16 != 0 {
		e.i32(0xffff)
		e.op(opI32And)
	} else if g.mixed != nil { // with upper bits it may be in nodeos' own memory
		e.i32(0)
		e.op(opI32Or)
	}
}

// mixedCall calls a function for a result that may be of another type.
func (g *generator) mixedCall(e *encoder, t ValueType) {
	which := g.next() % len(g.mixed)
	for _, p := range g.mixed[which] {
		g.expression(e, p)
	}
	if n := g.next(); n%8 == 0 {
		g.expression(e, I32)
	} else {
		e.i32(int32(firstMixed + which*len(valueTypes) + n%len(valueTypes)))
	}
	e.index(opCallIndirect, g.b.typ(g.mixed[which], t))
	e.op(0)
}

// firstMixed is where these functions begin in the table.
const firstMixed = 3

// mixedFunctions makes them.
func (g *generator) mixedFunctions(locals []local) []uint32 {
	var functions []uint32
	for range 2 {
		params := make([]ValueType, g.next()%5)
		if g.next()%32 == 0 {
			params = make([]ValueType, maxParams+g.next()%5)
		}
		for i := range params {
			params[i] = valueTypes[g.next()%4]
		}
		g.mixed = append(g.mixed, params)
		g.base, g.within = uint32(len(params)), true
		for _, t := range valueTypes {
			var e encoder
			for i, p := range params {
				e.get(uint32(i))
				e.index(opLocalSet, g.local(p))
			}
			g.expression(&e, t)
			functions = append(functions, g.b.function(params, t, locals, e))
		}
	}
	g.base, g.within = firstLocal, false
	return functions
}

// of lists the plain instructions that give a type.
func of(t ValueType) []byte {
	var ops []byte
	for op := range 256 {
		if p := plains[op]; p.operand != 0 && p.result == t {
			ops = append(ops, byte(op))
		}
	}
	return ops
}

func (g *generator) expression(e *encoder, t ValueType) {
	g.depth++
	defer func() { g.depth-- }()
	choice := g.next() % 12
	if g.mixed == nil || g.within {
		choice %= 10
	}
	if g.depth > 8 || len(g.data) == 0 {
		choice = g.next() % 3
	}
	switch choice {
	case 0:
		raw(e, t, g.bits())
	case 1:
		e.get(g.local(t))
	case 2:
		e.index(opGlobalGet, uint32(slices.Index(valueTypes, t)))
	case 3:
		g.expression(e, I32)
		e.op(opIf, t)
		g.labels = append(g.labels, t)
		g.expression(e, t)
		e.op(opElse)
		g.expression(e, t)
		e.op(opEnd)
		g.labels = g.labels[:len(g.labels)-1]
	case 4:
		g.expression(e, t)
		g.expression(e, t)
		g.expression(e, I32)
		e.op(opSelect)
	case 5:
		if t != I32 {
			g.expression(e, t)
			return
		}
		if g.next()%2 == 0 {
			e.op(opMemorySize, 0)
			return
		}
		e.i32(int32(g.next()%7) - 3)
		e.op(opMemoryGrow, 0)
	case 10, 11:
		g.mixedCall(e, t)
	default:
		ops := of(t)
		op := ops[g.next()%len(ops)]
		p := plains[op]
		if p.memory {
			g.address(e)
			e.mem(op, 0, uint32(g.next()))
			return
		}
		for range p.count {
			g.expression(e, p.operand)
		}
		e.op(op)
	}
}

func (g *generator) statement(e *encoder) {
	g.depth++
	defer func() { g.depth-- }()
	choice := g.next() % 12
	if g.depth > 8 {
		choice %= 4
	}
	t := valueTypes[g.next()%4]
	switch choice {
	case 0, 1:
		g.expression(e, t)
		e.index(opLocalSet, g.local(t))
	case 2:
		g.expression(e, t)
		e.index(opGlobalSet, uint32(slices.Index(valueTypes, t)))
	case 3:
		op := byte(0x36 + g.next()%9)
		g.address(e)
		g.expression(e, plains[op].operand)
		e.mem(op, 0, uint32(g.next()))
	case 4, 5:
		e.op(opBlock, none)
		g.labels = append(g.labels, none)
		g.statements(e)
		e.op(opEnd)
		g.labels = g.labels[:len(g.labels)-1]
	case 6:
		g.loop(e)
	case 7:
		g.branch(e)
	case 8:
		g.expression(e, I64)
		e.index(opCall, g.put)
	case 9:
		if len(g.funcs) > 0 {
			for range 3 {
				g.expression(e, I64)
			}
			if g.next()%2 == 0 {
				e.index(opCall, g.funcs[g.next()%len(g.funcs)])
				return
			}
			g.expression(e, I32)
			e.i32(3)
			e.op(opI32And)
			e.index(opCallIndirect, g.b.typ([]ValueType{I64, I64, I64}, none))
			e.op(0)
		}
	case 10:
		g.expression(e, I32)
		e.op(opIf, none)
		g.labels = append(g.labels, none)
		g.statements(e)
		if g.next()%2 == 0 {
			e.op(opElse)
			g.statements(e)
		}
		e.op(opEnd)
		g.labels = g.labels[:len(g.labels)-1]
	default:
		e.index(opCall, g.nop)
	}
}

func (g *generator) statements(e *encoder) {
	for n := g.next() % 4; n >= 0 && len(g.data) > 0; n-- {
		g.statement(e)
	}
}

// loop repeats statements a few times.
func (g *generator) loop(e *encoder) {
	if g.loops == maxLoops {
		return
	}
	counter := loopLocals + g.loops
	g.loops++
	e.i32(int32(g.next() % 9))
	e.index(opLocalSet, counter)
	e.op(opLoop, none)
	g.labels = append(g.labels, 0) // no target
	g.statements(e)
	e.get(counter)
	e.i32(1)
	e.op(opI32Sub)
	e.index(opLocalTee, counter)
	e.i32(0)
	e.op(0x4a, opBrIf, 0, opEnd) // i32.gt_s
	g.labels = g.labels[:len(g.labels)-1]
	g.loops--
}

// branch leaves a block, one way or another.
func (g *generator) branch(e *encoder) {
	var targets []uint32
	for i, t := range g.labels {
		if t == none {
			targets = append(targets, uint32(len(g.labels)-1-i))
		}
	}
	if len(targets) == 0 {
		return
	}
	target := targets[g.next()%len(targets)]
	switch g.next() % 8 {
	case 0:
		e.index(opBr, target)
	case 1:
		e.op(opReturn)
	case 2:
		e.op(opUnreachable)
	case 3, 4:
		g.expression(e, I32)
		n := uint32(g.next())
		e.index(opBrTable, n)
		for range n + 1 {
			e.u32(targets[g.next()%len(targets)])
		}
	default:
		g.expression(e, I32)
		e.index(opBrIf, target)
	}
}

// module makes a module whose apply puts its locals and globals at the end.
func (g *generator) module() []byte {
	b := newBuilder()
	g.b = b
	if g.real {
		g.put = b.importing("printui", []ValueType{I64}, none)
		g.nop = b.function(nil, none, nil, nil)
	} else {
		g.put, g.nop = b.put(), b.importing("nop", nil, none)
	}
	b.memory = []uint32{1, 4}
	b.data = []dataSegment{{uint32(g.next()), []byte{1, 2, 3, 4, 5, 6, 7, 8, 0x7f, 0x80, 0xff}}}
	for _, t := range valueTypes {
		b.globals = append(b.globals, globalVar{t, true, g.bits()})
	}
	locals := []local{{2, I32}, {2, I64}, {2, F32}, {2, F64}, {maxLoops, I32}}
	b.table = firstMixed
	g.base = firstLocal
	var others []uint32
	if g.next()%2 == 0 {
		others = g.mixedFunctions(locals)
		b.table += len(others)
	}
	for range 3 {
		g.labels = g.labels[:0]
		var e encoder
		g.statements(&e)
		for _, t := range valueTypes {
			for i := range uint32(2) {
				e.get(firstLocal + uint32(slices.Index(valueTypes, t))*2 + i)
				g.show(&e, t)
			}
			e.index(opGlobalGet, uint32(slices.Index(valueTypes, t)))
			g.show(&e, t)
		}
		g.funcs = append(g.funcs, b.function([]ValueType{I64, I64, I64}, none, locals, e))
	}
	b.elements = append([]uint32{g.funcs[0], g.nop, g.funcs[1]}, others...)
	b.export("apply", kindFunction, g.funcs[2])
	return b.bytes()
}

// show puts the bits of what is on the stack.
func (g *generator) show(e *encoder, t ValueType) {
	switch t {
	case I32:
		e.op(opI64ExtendI32)
	case F32:
		e.op(opI32FromF32, opI64ExtendI32)
	case F64:
		e.op(opI64FromF64)
	}
	e.index(opCall, g.put)
}

// outcome is what can be observed of an action.
type outcome struct {
	out  []uint64
	sum  uint64 // of the memory it left
	kind string
}

func observe(e engine, code Code) outcome {
	var h host
	ticks := 0
	err := e.Apply(&h, code, 1, 2, 3, func() error {
		if ticks++; ticks > 50 {
			return errDeadline
		}
		return nil
	})
	o := outcome{out: h.out, kind: "none"}
	switch {
	case errors.Is(err, errDeadline):
		o.kind = "deadline"
	case exception.Is(err, exception.WasmExecutionError):
		o.kind = "trap"
	case err != nil:
		o.kind = err.Error()
	}
	if i := e.instances[code.Hash]; i != nil && i.memory != nil {
		for _, c := range i.memory.bytes {
			o.sum = o.sum*31 + uint64(c)
		}
	}
	return o
}

// compare runs a module on both engines, twice on each.
func compare(t *testing.T, all []engine, module []byte) outcome {
	t.Helper()
	code := codeOf(module)
	var first outcome
	for i, e := range all {
		for j := range 2 {
			o := observe(e, code)
			checkReset(t, e, code)
			if i == 0 && j == 0 {
				first = o
			} else if o.kind != first.kind || o.sum != first.sum || !slices.Equal(o.out, first.out) {
				t.Errorf("%s, run %d: %x %x %s; first run: %x %x %s\n%x", e.name, j, o.out, o.sum, o.kind, first.out,
					first.sum, first.kind, module)
			}
		}
	}
	return first
}

func generateModule(seed, n uint64) []byte {
	r := rand.New(rand.NewPCG(seed, n))
	data := make([]byte, 100+r.IntN(900))
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return (&generator{data: data}).module()
}

func TestEnginesAgreeOnRandomModules(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	all := engines(t)
	kinds := map[string]int{}
	puts := 0
	const modules = 120 // the fuzz target has more
	for n := range uint64(modules) {
		module := generateModule(seed, n)
		for _, limits := range []*types.WasmConfig{nil, defaultConfig()} {
			if err := Validate(module,
				Rules{Limits: limits, Import: importOf(testFunctions()), Speculative: true}); err != nil {
				t.Fatalf("module %d: %v", n, err)
			}
		}
		o := compare(t, all, module)
		kinds[o.kind]++
		puts += len(o.out)
	}
	t.Log(kinds, puts)
	if kinds["none"] < modules/20 || kinds["trap"] < modules/20 || kinds["none"]+kinds["trap"]+
		kinds["deadline"] != modules {
		t.Errorf("the modules are of no use: %v", kinds)
	}
}

// testdata/select.wasm is a random module in which wazero's compiler for amd64, given a
// select of floats as it stands, chooses the wrong one: see rewriter.choose.
func TestFloatsAreChosenRightWhenRegistersAreShort(t *testing.T) {
	module, err := os.ReadFile("testdata/select.wasm")
	if err != nil {
		t.Fatal(err)
	}
	o := compare(t, engines(t), module)
	// The value before the last is the square root of the last, of which it is chosen.
	if n := len(o.out); n < 2 || math.Float64frombits(o.out[n-2]) != math.Sqrt(math.Float64frombits(o.out[n-1])) {
		t.Errorf("%x", o.out)
	}
}

// testdata/order.wasm is a module in which wazero's compiler for amd64 takes
// 0 >= global&9699328 for global&9699328 >= 0: see rewriter.veil. What should be 0 is the
// global, unchanged.
func TestZeroIsComparedWithAConjunctionInTheRightOrder(t *testing.T) {
	module, err := os.ReadFile("testdata/order.wasm")
	if err != nil {
		t.Fatal(err)
	}
	if o := compare(t, engines(t), module); len(o.out) != 13 || o.out[3] != 2139095040 {
		t.Errorf("%x", o.out)
	}
}

// A shift by 0 is dropped, and what it shifted is taken for the right operand.
func TestZeroIsComparedWithAShiftedConjunctionInTheRightOrder(t *testing.T) {
	for _, shift := range []byte{opI32Shl, 0x75, opI32ShrU} {
		b := newBuilder()
		put := b.put()
		b.globals = []globalVar{{I32, true, 1}}
		var e encoder
		e.i32(0)
		e.index(opGlobalGet, 0)
		e.i32(9)
		e.op(opI32And)
		e.i32(32)
		e.op(shift)
		e.op(0x4e, opIf, none) // i32.ge_s
		e.get(0)
		e.index(opCall, put)
		e.op(opEnd)
		b.apply(nil, e)
		if o := compare(t, engines(t), b.bytes()); len(o.out) != 0 {
			t.Errorf("%#x: %x", shift, o.out)
		}
	}
}

func FuzzEngines(f *testing.F) {
	for n := range uint64(20) {
		r := rand.New(rand.NewPCG(7, n))
		data := make([]byte, 300)
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		f.Add(data)
	}
	all := engines(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 {
			return
		}
		compare(t, all, (&generator{data: data}).module())
	})
}

// FuzzValidate gives the checks any bytes; what they accept must run, the same on
// both engines.
func FuzzValidate(f *testing.F) {
	for n := range uint64(20) {
		f.Add(generateModule(7, n))
	}
	f.Add(recursion("nop", 3, true, true))
	f.Add(memoryCall("put", "memcpy", 1, 1, 2, 3))
	all := engines(f)
	f.Fuzz(func(t *testing.T, module []byte) {
		if len(module) > 1<<16 {
			return
		}
		legacy := Validate(module, Rules{Import: importOf(testFunctions()), Speculative: true})
		limited := Validate(module, Rules{Import: importOf(testFunctions()), Limits: defaultConfig()})
		if legacy == nil || limited == nil {
			if o := compare(t, all, module); o.kind != "none" && o.kind != "trap" && o.kind != "deadline" &&
				o.kind != errTest.Error() {
				t.Errorf("%s\n%x", o.kind, module)
			}
		} else {
			for _, e := range all {
				_ = observe(e, codeOf(module)) // must not panic, whatever it is
			}
		}
	})
}
