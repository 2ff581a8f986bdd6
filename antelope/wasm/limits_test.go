package wasm

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"tarn/antelope/exception"
)

// recursion calls itself n times, in one of several ways, and at last a host
// function.
func recursion(host string, n int, indirect, float bool) []byte {
	b := newBuilder()
	if host != "" {
		b.importing(host, nil, none)
	}
	self := uint32(len(b.imports))
	b.globals = []globalVar{{I32, true, uint64(n)}}
	args := func(e *encoder) {
		for i := range uint32(3) {
			e.get(i)
		}
	}
	var e encoder
	e.op(opGlobalGet, 0, opI32Eqz, opIf, none)
	if host != "" {
		e.index(opCall, 0)
	}
	e.op(opReturn, opEnd, opGlobalGet, 0)
	e.i32(1)
	e.op(opI32Sub, opGlobalSet, 0)
	if float {
		raw(&e, F64, 0x4009<<48)
		raw(&e, F64, 0x4008<<48)
		e.op(opF64Add+2, opDrop)
	}
	args(&e)
	if indirect {
		b.table = 2
		b.elements = []uint32{self, self}
		e.i32(0)
		e.index(opCallIndirect, b.typ([]ValueType{I64, I64, I64}, none))
		e.op(0)
	} else {
		e.index(opCall, self)
	}
	b.apply(nil, e)
	return b.bytes()
}

func TestCallsNestAsDeepAsInNodeos(t *testing.T) {
	for _, v := range engines(t) {
		for _, indirect := range []bool{false, true} {
			for _, host := range []string{"", "nop"} {
				for _, float := range []bool{false, true} {
					for _, depth := range []int{2, 17, 251} {
						last := depth - 1 // nested calls that fit
						if host != "" {
							last--
						}
						for n, ok := range map[int]bool{last: true, last + 1: false} {
							code := codeOf(recursion(host, n, indirect, float))
							code.Limits.CallDepth = uint32(depth)
							err := v.Apply(&hostless, code, 1, 2, 3, nil)
							if ok != (err == nil) || !ok && !exception.Is(err, exception.WasmExecutionError) {
								t.Errorf("%s: indirect %v, host %q, float %v: %d calls of %d: %v",
									v.name, indirect, host, float, n, depth, err)
							}
						}
					}
				}
			}
		}
	}
}

var hostless host

// A host function in the table counts as a call, too.
func TestHostFunctionsInTheTableCountAsCalls(t *testing.T) {
	b := newBuilder()
	nop := b.importing("nop", nil, none)
	b.table, b.elements = 1, []uint32{nop}
	b.globals = []globalVar{{I32, true, 3}}
	var e encoder
	e.op(opGlobalGet, 0, opI32Eqz, opIf, none)
	e.i32(0)
	e.op(opCallIndirect, 0, 0, opReturn, opEnd, opGlobalGet, 0)
	e.i32(1)
	e.op(opI32Sub, opGlobalSet, 0)
	for i := range uint32(3) {
		e.get(i)
	}
	e.index(opCall, 1)
	b.apply(nil, e)
	for _, v := range engines(t) {
		for depth, ok := range map[uint32]bool{4: false, 5: true} {
			code := codeOf(b.bytes())
			code.Limits.CallDepth = depth
			if err := v.Apply(&hostless, code, 1, 2, 3, nil); ok != (err == nil) {
				t.Errorf("%s: depth %d: %v", v.name, depth, err)
			}
		}
	}
}

// endless are modules that never end.
func endless() map[string][]byte {
	simple := func(f func(b *builder, e *encoder)) []byte {
		b := newBuilder()
		b.memory = []uint32{1}
		nop := b.importing("nop", nil, none)
		var e encoder
		f(b, &e)
		_ = nop
		b.apply(nil, e)
		return b.bytes()
	}
	all := map[string][]byte{
		"loop": simple(func(b *builder, e *encoder) { e.op(opLoop, none, opBr, 0, opEnd) }),
		"host": simple(func(b *builder, e *encoder) { e.op(opLoop, none, opCall, 0, opBr, 0, opEnd) }),
		"grow": simple(func(b *builder, e *encoder) {
			e.op(opLoop, none)
			e.i32(1)
			e.op(opMemoryGrow, 0, opDrop, opBr, 0, opEnd)
		}),
		"leaf": simple(func(b *builder, e *encoder) {
			f := b.function(nil, none, nil, encoder{opNop})
			e.op(opLoop, none)
			e.index(opCall, f)
			e.op(opBr, 0, opEnd)
		}),
		"deep": simple(func(b *builder, e *encoder) {
			for range 100 {
				e.op(opLoop, none)
			}
			e.op(opBr, 99)
			for range 100 {
				e.op(opEnd)
			}
		}),
	}
	// A tree of calls, without a loop: as many as 2^200.
	b := newBuilder()
	var e encoder
	b.globals = []globalVar{{I32, true, 200}}
	e.op(opGlobalGet, 0, opI32Eqz, opIf, none, opReturn, opEnd)
	for _, op := range []byte{opI32Sub, opI32Add} {
		e.op(opGlobalGet, 0)
		e.i32(1)
		e.op(op, opGlobalSet, 0)
		if op == opI32Sub {
			e.op(opCall, 0, opCall, 0)
		}
	}
	f := b.function(nil, none, nil, e)
	b.apply(nil, encoder{opCall, byte(f)})
	all["tree"] = b.bytes()
	// A copy of all memory, again and again.
	b = newBuilder()
	b.memory = []uint32{500}
	set := b.importing("memset", []ValueType{I32, I32, I32}, I32)
	e = encoder{opLoop, none}
	e.i32(0)
	e.i32(0)
	e.i32(500 * PageSize)
	e.index(opCall, set)
	e.op(opDrop, opBr, 0, opEnd)
	b.apply(nil, e)
	all["memset"] = b.bytes()
	b = newBuilder()
	b.start = b.function(nil, none, nil, encoder{opLoop, none, opBr, 0, opEnd})
	b.apply(nil, nil)
	all["start"] = b.bytes()
	return all
}

// The garbage collector stops the world meanwhile, which code that is not preempted
// must not hold up.
func TestNothingRunsLongerThanItsDeadline(t *testing.T) {
	done := make(chan bool)
	go func() {
		for {
			select {
			case <-done:
				return
			default:
				runtime.GC()
			}
		}
	}()
	defer close(done)
	for _, v := range engines(t) {
		for name, code := range endless() {
			for range 2 {
				start := time.Now()
				err := v.Apply(&hostless, codeOf(code), 1, 2, 3, until(20*time.Millisecond))
				if !errors.Is(err, errDeadline) {
					t.Errorf("%s: %s: %v", v.name, name, err)
				}
				if d := time.Since(start); d > 5*time.Second {
					t.Errorf("%s: %s ran %v", v.name, name, d)
				}
			}
		}
	}
}

func TestTimeIsCheckedOften(t *testing.T) {
	v := engines(t)[0]
	for name, code := range endless() {
		var last time.Time
		var gaps []time.Duration
		_ = v.Apply(&hostless, codeOf(code), 1, 2, 3, func() error {
			now := time.Now()
			if !last.IsZero() {
				gaps = append(gaps, now.Sub(last))
			}
			last = now
			if len(gaps) == 50 {
				return errDeadline
			}
			return nil
		})
		slices.Sort(gaps)
		if len(gaps) < 50 || gaps[25] > 50*time.Millisecond {
			t.Errorf("%s: %v between two ticks", name, gaps)
		} else {
			t.Logf("%s: %v between two ticks", name, gaps[25])
		}
	}
}

func TestMemoryGrowsAsInNodeos(t *testing.T) {
	for _, c := range []struct {
		memory []uint32
		limit  uint32
		grow   []int32
		want   []uint64 // result and size after each
	}{
		{[]uint32{1}, 528, []int32{0, 1, 526, 1, 0}, []uint64{1, 1, 1, 2, 2, 528, 1<<32 - 1, 528, 528, 528}},
		{[]uint32{1, 3}, 528, []int32{2, 1, -2, 3, 2}, []uint64{1, 3, 1<<32 - 1, 3, 3, 1, 1<<32 - 1, 1, 1, 3}},
		{[]uint32{2}, 3, []int32{1, 1, -1 << 31, 1<<31 - 1}, []uint64{2, 3, 1<<32 - 1, 3, 1<<32 - 1, 3, 1<<32 - 1, 3}},
		{[]uint32{1}, 528, []int32{-1, -1, 1}, []uint64{1, 0, 1<<32 - 1, 0, 0, 1}},
		{[]uint32{0}, 528, []int32{-1, 2}, []uint64{1<<32 - 1, 0, 0, 2}},
	} {
		b := newBuilder()
		put := b.put()
		size := b.importing("size", nil, I32)
		b.memory = c.memory
		var e encoder
		for _, n := range c.grow {
			e.i32(n)
			e.op(opMemoryGrow, 0, opI64ExtendI32)
			e.index(opCall, put)
			e.op(opMemorySize, 0, opI64ExtendI32)
			e.index(opCall, put)
			e.index(opCall, size)
			e.op(opMemorySize, 0)
			e.i32(16)
			e.op(opI32Shl, opI32Ne, opIf, none, opUnreachable, opEnd)
		}
		b.apply(nil, e)
		for _, v := range engines(t) {
			for range 3 {
				code := codeOf(b.bytes())
				code.Limits.Pages = c.limit
				var h host
				if err := v.Apply(&h, code, 1, 2, 3, nil); err != nil || !slices.Equal(h.out, c.want) {
					t.Errorf("%s: %v limit %d grow %v: %d %v, want %d", v.name, c.memory, c.limit, c.grow,
						h.out, err, c.want)
				}
			}
		}
	}
}

// What shrank and grew again is zero, and beyond the end nothing can be reached.
func TestShrunkMemoryIsGone(t *testing.T) {
	b := newBuilder()
	put := b.put()
	b.memory = []uint32{1}
	step := func(e *encoder, delta int32) {
		e.i32(delta)
		e.op(opMemoryGrow, 0, opDrop)
	}
	load := func(e *encoder) {
		e.i32(0)
		e.mem(opI64Load, 0, 65528)
		e.index(opCall, put)
	}
	var e encoder
	e.i32(0)
	e.i64(-1)
	e.mem(0x37, 0, 65528)
	load(&e)
	step(&e, -1)
	step(&e, 1)
	load(&e)
	step(&e, -1)
	load(&e)
	b.apply(nil, e)
	for _, v := range engines(t) {
		for range 2 {
			out, err := v.apply(b.bytes())
			if !slices.Equal(out, []uint64{1<<64 - 1, 0}) || !exception.Is(err, exception.WasmExecutionError) {
				t.Errorf("%s: %x, %v", v.name, out, err)
			}
		}
	}
}

// memoryCall calls one of memcpy's family on a memory whose byte i is i modulo 251 in
// the first page, and puts the result and a sum of the memory.
func memoryCall(show, name string, pages uint32, a, b, n int32) []byte {
	m := newBuilder()
	put := m.importing(show, []ValueType{I64}, none)
	f := m.importing(name, []ValueType{I32, I32, I32}, I32)
	if pages > 0 {
		m.memory = []uint32{pages}
		for at := uint32(0); at < PageSize; at += 4096 {
			d := make([]byte, 4096)
			for i := range d {
				d[i] = byte((int(at) + i) % 251)
			}
			m.data = append(m.data, dataSegment{at, d})
		}
	}
	var e encoder
	e.i32(a)
	e.i32(b)
	e.i32(n)
	e.index(opCall, f)
	e.op(opI64ExtendI32)
	e.index(opCall, put)
	if pages > 0 {
		// sum = sum*31 + byte, over all memory
		e.op(opLoop, none)
		e.op(opLocalGet, 4)
		e.i64(31)
		e.op(0x7e, opLocalGet, 3)
		e.mem(0x31, 0, 0)
		e.op(opI64Add, opLocalSet, 4, opLocalGet, 3)
		e.i32(1)
		e.op(opI32Add, opLocalTee, 3, opMemorySize, 0)
		e.i32(16)
		e.op(opI32Shl, opI32LtU, opBrIf, 0, opEnd)
		e.op(opLocalGet, 4)
		e.index(opCall, put)
	}
	m.apply([]local{{1, I32}, {1, I64}}, e)
	return m.bytes()
}

// memoryModel does the same in Go.
func memoryModel(name string, pages uint32, a, b, n int32) (out []uint64, kind *exception.Kind) {
	size := uint64(pages) * PageSize
	x, y, l := uint64(uint32(a)), uint64(uint32(b)), uint64(uint32(n))
	switch {
	case pages == 0, x+l > size, name != "memset" && y+l > size, name != "memcmp" && x >= size:
		return nil, exception.WasmExecutionError
	case name == "memcpy" && max(x, y)-min(x, y) < l:
		return nil, exception.OverlappingMemoryError
	}
	m := make([]byte, size)
	for i := range PageSize {
		m[i] = byte(i % 251)
	}
	result := x
	switch name {
	case "memset":
		for i := x; i < x+l; i++ {
			m[i] = byte(b)
		}
	case "memcmp":
		result = uint64(uint32(slices.Compare(m[x:x+l], m[y:y+l])))
	default:
		copy(m[x:x+l], slices.Clone(m[y:y+l]))
	}
	sum := uint64(0)
	for _, c := range m {
		sum = sum*31 + uint64(c)
	}
	return []uint64{result, sum}, nil
}

// memoryCases are arguments for a memory of two pages.
func memoryCases() [][3]int32 {
	const end = 2 * PageSize
	return [][3]int32{
		{0, 100, 50}, {100, 0, 50}, {0, 251, 251}, {251, 0, 100}, {0, 8, 9}, {8, 0, 9}, {8, 0, 8}, {5, 5, 0}, {5, 5, 1},
		{0, 0, end}, {0, 0, end + 1}, {1, 0, end}, {end, 0, 0}, {0, end, 0}, {end - 1, 0, 1}, {end - 1, 5, 2},
		{end + 1, 0, 0},
		{0, end + 1, 0}, {-1, 0, 1}, {-1, 0, 0}, {0, -1, 2}, {0, 0, -1}, {3, 3 + 251*3, 501},
		{1000, 999, 77}, {17, 18, 3},
		{0, 251 + 7, 1}, {251, 7 + 251, 20}, {251 + 7, 251, 20},
	}
}

func TestMemcpyAndItsLikeCheckAsNodeosDoes(t *testing.T) {
	for _, v := range engines(t) {
		for _, name := range []string{"memcpy", "memmove", "memset", "memcmp"} {
			for _, c := range memoryCases() {
				for _, pages := range []uint32{2, 0} {
					want, kind := memoryModel(name, pages, c[0], c[1], c[2])
					out, err := v.apply(memoryCall("put", name, pages, c[0], c[1], c[2]))
					ok := err == nil
					if kind != nil {
						e := exception.Of(err)
						ok = e != nil && e.Kind == kind
					}
					if !ok || !slices.Equal(out, want) {
						t.Errorf("%s: %s(%d, %d, %d) of %d pages: %v %v; want %v %v",
							v.name, name, c[0], c[1], c[2], pages, out, err, want, kind)
					}
				}
			}
		}
	}
}

func TestEveryActionStartsFromTheInitialState(t *testing.T) {
	b := newBuilder()
	put := b.put()
	b.memory = []uint32{1}
	b.globals = []globalVar{{I32, true, 7}, {I64, true, 8}, {F32, true, 0x7fa00001}, {F64, true, 9}, {I64, false, 10}}
	b.data = []dataSegment{{100, []byte{1, 2, 3}}, {102, []byte{4}}}
	var start encoder
	start.i32(0)
	start.i64(5)
	start.mem(0x37, 0, 200)
	b.start = b.function(nil, none, nil, start)
	var e encoder
	for i, to := range [][]byte{{opI64ExtendI32}, nil, {opI32FromF32, opI64ExtendI32}, {opI64FromF64}, nil} {
		e.index(opGlobalGet, uint32(i))
		e.op(to...)
		e.index(opCall, put)
	}
	for _, at := range []uint32{96, 200, 65528} {
		e.i32(0)
		e.mem(opI64Load, 0, at)
		e.index(opCall, put)
	}
	for i, g := range b.globals[:4] {
		raw(&e, g.typ, 0)
		e.index(opGlobalSet, uint32(i))
	}
	for _, at := range []uint32{96, 200, 65528} {
		e.i32(0)
		e.i64(-1)
		e.mem(0x37, 0, at)
	}
	e.i32(3)
	e.op(opMemoryGrow, 0, opDrop)
	e.i32(3 * PageSize)
	e.i64(-1)
	e.mem(0x37, 0, 0)
	e.get(0)
	e.op(opI32WrapI64, opIf, none, opUnreachable, opEnd)
	b.apply(nil, e)
	want := []uint64{7, 8, 0x7fa00001, 9, 10, 0x04_02_01 << 32, 5, 0}
	for _, v := range engines(t) {
		for i := range 6 {
			var h host
			err := v.Apply(&h, codeOf(b.bytes()), uint64(i%2), 2, 3, nil)
			if (err != nil) != (i%2 == 1) || !slices.Equal(h.out, want) {
				t.Errorf("%s: action %d: %x, %v", v.name, i, h.out, err)
			}
		}
	}
}

func TestTablesAndIndirectCallsTrap(t *testing.T) {
	for index, want := range map[int32]string{0: "[1]", 1: "trap", 2: "trap", 3: "trap", -1: "trap"} {
		b := newBuilder()
		put := b.put()
		b.table = 3
		other := b.function([]ValueType{I32}, none, nil, nil)
		b.elements = []uint32{put, other}
		var e encoder
		e.get(0)
		e.i32(index)
		e.op(opCallIndirect, 0, 0)
		b.apply(nil, e)
		for _, v := range engines(t) {
			out, err := v.apply(b.bytes())
			got := fmt.Sprint(out)
			if exception.Is(err, exception.WasmExecutionError) {
				got = "trap"
			}
			if got != want {
				t.Errorf("%s: %d: %s %v", v.name, index, got, err)
			}
		}
	}
}

func TestWhatCannotBeInstantiatedFailsWhenItRuns(t *testing.T) {
	for name, f := range map[string]func(b *builder){
		"element": func(b *builder) { b.table, b.elements = 1, []uint32{0, 0} },
		"data":    func(b *builder) { b.memory, b.data = []uint32{1}, []dataSegment{{65535, []byte{1, 2}}} },
		"memory":  func(b *builder) { b.memory = []uint32{529} },
		"import":  func(b *builder) { b.importing("unknown", nil, none) },
		"type":    func(b *builder) { b.importing("put", nil, none) },
	} {
		b := newBuilder()
		f(b)
		b.apply(nil, nil)
		for _, v := range engines(t) {
			for range 2 {
				if _, err := v.apply(b.bytes()); !exception.Is(err, exception.WasmExecutionError) {
					t.Errorf("%s: %s: %v", v.name, name, err)
				}
			}
		}
	}
}

// A big br_table goes where a small one does.
func TestBigTablesBranchWhereTheySay(t *testing.T) {
	const n = 5000
	b := newBuilder()
	put := b.put()
	var e encoder
	for range 100 {
		e.op(opBlock, none)
	}
	e.get(0)
	e.op(opI32WrapI64)
	e.index(opBrTable, n)
	for i := range uint32(n) {
		e.u32(i * 37 % 99)
	}
	e.u32(99)
	for i := range 100 {
		e.op(opEnd)
		e.i64(int64(i))
		e.index(opCall, put)
		e.op(opReturn)
	}
	b.apply(nil, e)
	for _, v := range engines(t) {
		for _, i := range []uint64{0, 1, 2, 98, 99, 100, 4999, 5000, 5001, 1<<32 - 1} {
			want := uint64(99)
			if i < n {
				want = i * 37 % 99
			}
			var h host
			if err := v.Apply(&h, codeOf(b.bytes()), i, 0, 0, nil); err != nil || !slices.Equal(h.out, []uint64{want}) {
				t.Errorf("%s: %d: %d %v, want %d", v.name, i, h.out, err, want)
			}
		}
	}
}

// manyParameters makes a module with a function of n parameters, the last of which it puts. The code
// before the call keeps the operands from being counted towards max_func_local_bytes, as
// eos-vm does.
func manyParameters(show string, n int, indirect bool) []byte {
	b := newBuilder()
	put := b.importing(show, []ValueType{I64}, none)
	params := slots(n)
	for i := range params {
		params[i] = valueTypes[i%4]
	}
	params[n-1] = I64
	f := b.function(params, none, []local{{3, I64}}, func() encoder {
		var e encoder
		e.get(uint32(n - 1))
		e.index(opCall, put)
		e.get(uint32(n + 2))
		e.index(opCall, put)
		return e
	}())
	b.table, b.elements = 1, []uint32{f}
	e := encoder{opBlock, none, opBr, 0, opBr, 0, opEnd}
	for i, t := range params {
		raw(&e, t, uint64(i))
	}
	if indirect {
		e.i32(0)
		e.index(opCallIndirect, b.typ(params, none))
		e.op(0)
	} else {
		e.index(opCall, f)
	}
	b.apply(nil, e)
	return b.bytes()
}

func TestAFunctionMayHaveAnyNumberOfParameters(t *testing.T) {
	all := engines(t)
	for _, n := range []int{60_000} {
		for _, indirect := range []bool{false, true} {
			module := manyParameters("put", n, indirect)
			if err := Validate(module, Rules{Import: importOf(testFunctions()), Limits: defaultConfig()}); err != nil {
				t.Errorf("%d: %v", n, err)
			}
			for _, v := range all {
				if out, err := v.apply(module); err != nil || !slices.Equal(out, []uint64{uint64(n - 1), 0}) {
					t.Errorf("%s: %d parameters: put %d, %v", v.name, n, out, err)
				}
			}
		}
	}
}

func TestTheGreatestLimitsAreLimits(t *testing.T) {
	far := func(locals ...local) []byte {
		b := newBuilder()
		put := b.put()
		n := uint32(3)
		for _, l := range locals {
			n += l.n
		}
		var e encoder
		for range 2 { // the last local is 0, until it is set
			e.get(n - 1)
			e.index(opCall, put)
			e.get(0)
			e.index(opLocalSet, n-1)
		}
		b.apply(locals, e)
		return b.bytes()
	}
	initial := func(pages uint32) []byte {
		b := newBuilder()
		b.memory = []uint32{pages}
		plainApply(b)
		return b.bytes()
	}
	for _, v := range engines(t) {
		for _, c := range []struct {
			name string
			code []byte
			ok   bool
		}{
			{"1000 calls", recursion("nop", 1000, true, false), true},
			{"1880 calls", recursion("nop", 1880, false, true), true},
			{"2000 calls", recursion("nop", 2000, false, false), false},
			{"49000 locals", far(local{48_999, I32}, local{1, I64}), true},
			{"2^28 locals but one", far(local{1<<28 - 2, F64}, local{1, I64}), true},
			{"2^28 locals", far(local{1<<28 - 1, F64}, local{1, I64}), false},
			{"65536 pages", initial(65536), false},
		} {
			code := codeOf(c.code)
			code.Limits = Limits{Pages: 65536, CallDepth: 1<<32 - 1}
			limits := defaultConfig()
			limits.MaxFuncLocalBytes, limits.MaxPages = 1<<32-1, 65536
			if err := Validate(c.code, Rules{Import: importOf(testFunctions()), Limits: limits}); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			var h host
			err := v.Apply(&h, code, 7, 2, 3, nil)
			if c.ok != (err == nil) || !c.ok && !exception.Is(err, exception.WasmExecutionError) ||
				len(h.out) == 2 && (h.out[0] != 0 || h.out[1] != 7) {
				t.Errorf("%s: %s: put %d, %v", v.name, c.name, h.out, err)
			}
		}
	}
}
