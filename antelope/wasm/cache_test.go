package wasm

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"tarn/antelope/exception"
	"tarn/antelope/types"
)

// numberedModule is a module that puts a number.
func numberedModule(n int) []byte {
	b := newBuilder()
	put := b.put()
	var e encoder
	e.i64(int64(n))
	e.index(opCall, put)
	b.memory = []uint32{1}
	b.apply(nil, e)
	return b.bytes()
}

// instanceSize is the estimate for an instance of a module.
func instanceSize(t *testing.T, code []byte) int64 {
	v := engines(t)[0]
	if _, err := v.apply(code); err != nil {
		t.Fatal(err)
	}
	return v.instances[codeOf(code).Hash].bytes
}

func TestTheCacheAndTheInstancesAreBounded(t *testing.T) {
	const bytes = 10 * (moduleBytes + 8<<10)
	c, err := NewCache(Options{Functions: testFunctions(), CacheBytes: bytes,
		InstanceBytes: 3 * instanceSize(t, numberedModule(0))})
	if err != nil {
		t.Fatal(err)
	}
	m := c.NewMachine()
	for i := range 100 {
		// The first stays in use.
		for _, n := range []int{i, 0} {
			var h host
			if err := m.Apply(&h, codeOf(numberedModule(n)), 0, 0, 0, nil); err != nil ||
				!slices.Equal(h.out, []uint64{uint64(n)}) {
				t.Fatalf("%d: %v %v", n, h.out, err)
			}
		}
		if c.bytes > bytes || len(c.entries) > 10 || len(m.instances) > 3 {
			t.Fatalf("%d bytes, %d modules, %d instances", c.bytes, len(c.entries), len(m.instances))
		}
	}
	if e := c.entries[codeOf(numberedModule(0)).Hash]; e == nil || e.dropped.Load() {
		t.Error("the module in use was dropped")
	}
	if err := m.Close(); err != nil || m.bytes != 0 {
		t.Errorf("%d bytes of instances are left, %v", m.bytes, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// Machines share a cache that drops what they use, all the time.
func TestMachinesShareACache(t *testing.T) {
	c, err := NewCache(Options{Functions: testFunctions(), CacheBytes: 3 * (moduleBytes + 8<<10)})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			m := c.NewMachine()
			for i := range 200 {
				n := (i*7 + g*3) % 9
				var h host
				if err := m.Apply(&h, codeOf(numberedModule(n)), 0, 0, 0, nil); err != nil ||
					!slices.Equal(h.out, []uint64{uint64(n)}) {
					t.Errorf("%d: %v %v", n, h.out, err)
					return
				}
			}
			_ = m.Close()
		})
	}
	wg.Wait()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestWarmCodeIsNotLoadedAgain(t *testing.T) {
	c, err := NewCache(Options{Functions: testFunctions()})
	if err != nil {
		t.Fatal(err)
	}
	code := codeOf(numberedModule(1))
	code.Load = func(types.Checksum256) ([]byte, error) { return nil, errTest }
	code.Compiling = func(active bool) { t.Errorf("compiling %v", active) }
	c.Warm(code.Hash, numberedModule(1))
	c.tasks.Wait()
	m := c.NewMachine()
	if err := m.Apply(&host{}, code, 0, 0, 0, nil); err != nil {
		t.Error(err)
	}
	_ = m.Close()
	_ = c.Close()
}

// Who needs a module while somebody else compiles it waits, and says so.
func TestWaitingForACompilationIsNotBilled(t *testing.T) {
	c, err := NewCache(Options{Functions: testFunctions()})
	if err != nil {
		t.Fatal(err)
	}
	code, other := codeOf(numberedModule(1)), codeOf(numberedModule(2))
	loading, goOn := make(chan struct{}), make(chan struct{})
	slow := code
	slow.Load = func(h types.Checksum256) ([]byte, error) {
		close(loading)
		<-goOn
		return code.Load(h)
	}
	first := make(chan error, 1)
	m := c.NewMachine()
	go func() { first <- m.Apply(&host{}, slow, 0, 0, 0, nil) }()
	<-loading
	var active []bool
	code.Compiling = func(a bool) {
		if active = append(active, a); a {
			close(goOn)
		}
	}
	second := c.NewMachine()
	if err := errors.Join(second.Apply(&host{}, code, 0, 0, 0, nil), <-first); err != nil ||
		!slices.Equal(active, []bool{true, false}) {
		t.Errorf("compiling %v, %v", active, err)
	}
	// One that is busy takes no other.
	c.warming <- struct{}{}
	c.Warm(other.Hash, numberedModule(2))
	c.tasks.Wait()
	if len(c.entries) != 1 {
		t.Errorf("%d modules are compiled", len(c.entries))
	}
	_ = errors.Join(m.Close(), second.Close(), c.Close())
}

func TestCodeThatCannotBeLoadedIsTheNodesFault(t *testing.T) {
	c := engines(t)[0]
	code := codeOf(numberedModule(1))
	load := code.Load
	code.Load = func(types.Checksum256) ([]byte, error) { return nil, errTest }
	if err := c.Apply(&host{}, code, 0, 0, 0, nil); !errors.Is(err, errTest) || exception.Of(err) != nil {
		t.Error(err)
	}
	code.Load = load
	if err := c.Apply(&host{}, code, 0, 0, 0, nil); err != nil {
		t.Error("it is not asked for again:", err)
	}
}

// A module that takes the compiler long is interpreted until it is done; the results
// are the same before and after.
func TestTheCompilerTakesOverFromTheInterpreter(t *testing.T) {
	c, err := NewCache(Options{Functions: testFunctions()})
	if err != nil {
		t.Fatal(err)
	}
	m := c.NewMachine()
	b := newBuilder()
	put := b.put()
	var e encoder
	for range 4000 { // blocks enough
		e.get(0)
		e.op(opI32WrapI64, opIf, none, opLocalGet, 3)
		e.i64(3)
		e.op(0x7e, opLocalSet, 3, opEnd)
	}
	e.get(3)
	e.index(opCall, put)
	b.apply([]local{{1, I64}}, append(encoder{opI64Const, 1, opLocalSet, 3}, e...))
	code := codeOf(b.bytes())
	want := uint64(1)
	for range 4000 {
		want *= 3
	}
	apply := func() {
		t.Helper()
		var h host
		if err := m.Apply(&h, code, 1, 0, 0, nil); err != nil || !slices.Equal(h.out, []uint64{want}) {
			t.Fatalf("%v %v", h.out, err)
		}
	}
	apply()
	i := m.instances[code.Hash]
	if i.program.runtime != c.interpreter {
		t.Fatal("it was compiled at once")
	}
	for end := time.Now().Add(time.Minute); m.instances[code.Hash].program.runtime != c.native; time.Sleep(
		time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it is not compiled")
		}
		apply()
	}
	apply()
	countsOnce(t, c, &code)
	_ = m.Close()
	_ = c.Close()
}

// countsOnce checks that a module that the compiler took over is counted as what it is
// now, not as what it was besides.
func countsOnce(t *testing.T, c *Cache, code *Code) {
	t.Helper()
	source, err := code.Load(code.Hash)
	if err != nil {
		t.Fatal(err)
	}
	o := applyOptions()
	m, err := parse(source, &o)
	if err == nil {
		err = c.resolve(m)
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := rewrite(m, &o)
	if err != nil {
		t.Fatal(err)
	}
	want := c.estimate(r, c.entries[code.Hash].program.Load())
	counted := func() int64 {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.bytes
	}
	for end := time.Now().Add(time.Minute); counted() != want; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d bytes are counted for a module of %d", counted(), want)
		}
	}
}

// An instance's stack, which grew in a deep recursion, is within the estimate or
// given back.
func TestStacksAreGivenBack(t *testing.T) {
	for _, n := range []int{10, 1000, 8000} {
		c, err := NewCache(Options{Functions: testFunctions()})
		if err != nil {
			t.Fatal(err)
		}
		m := c.NewMachine()
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		const contracts = 40
		estimate := int64(0)
		for i := range contracts {
			code := codeOf(largeFrames(n, i))
			if err := m.Apply(&hostless, code, 1, 2, 3, nil); err != nil {
				t.Fatal(err)
			}
		}
		for _, i := range m.instances {
			estimate += i.bytes
		}
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&after)
		if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 2*estimate+64<<20 {
			t.Errorf("%d operands: %d instances hold %d MiB, estimate %d MiB", n, len(m.instances),
				grown>>20, estimate>>20)
		}
		_ = m.Close()
		_ = c.Close()
	}
}

// Instances do not keep what a contract made memory grow by, and big memories work.
func TestMemoryIsGivenBack(t *testing.T) {
	for _, pages := range []uint32{1, 300} {
		b := newBuilder()
		b.memory = []uint32{pages}
		var e encoder
		e.i32(200)
		e.op(opMemoryGrow, 0, opDrop)
		e.i32(0)
		e.i64(-1)
		e.mem(0x37, 0, (pages+200)*PageSize-8)
		b.apply(nil, e)
		for _, v := range engines(t) {
			for range 3 {
				if _, err := v.apply(b.bytes()); err != nil {
					t.Fatal(err)
				}
				i := v.instances[codeOf(b.bytes()).Hash]
				if got := cap(i.memory.bytes); got > int(pages+keptPages)*PageSize {
					t.Errorf("%s: %d bytes are kept for %d pages", v.name, got, pages)
				}
			}
		}
	}
}

func BenchmarkHostCall(b *testing.B) {
	benchmark(b, func(m *builder) {
		nop := m.importing("nop", nil, none)
		loop(m, func(e *encoder) { e.index(opCall, nop) })
	})
}

func BenchmarkCall(b *testing.B) {
	benchmark(b, func(m *builder) {
		inner := m.function(nil, none, nil, encoder{opNop})
		outer := m.function(nil, none, nil, encoder{opCall, byte(inner)})
		loop(m, func(e *encoder) { e.index(opCall, outer) })
	})
}

func BenchmarkLoop(b *testing.B) {
	benchmark(b, func(m *builder) { loop(m, func(*encoder) {}) })
}

func BenchmarkFloat(b *testing.B) {
	benchmark(b, func(m *builder) {
		loop(m, func(e *encoder) {
			e.get(4)
			e.bits(F64, 0x3ff8<<48)
			e.op(opF64Add, opLocalSet, 4)
		})
	})
}

func BenchmarkMemcpy(b *testing.B) {
	benchmark(b, func(m *builder) {
		f := m.importing("memcpy", []ValueType{I32, I32, I32}, I32)
		loop(m, func(e *encoder) {
			e.i32(0)
			e.i32(100)
			e.i32(8)
			e.index(opCall, f)
			e.op(opDrop)
		})
	})
}

func BenchmarkEmptyAction(b *testing.B) {
	for _, pages := range []uint32{1, 16, 528} {
		b.Run(fmt.Sprint(pages), func(b *testing.B) {
			m := newBuilder()
			m.memory = []uint32{pages}
			m.apply(nil, nil)
			v := engines(b)[0]
			code := codeOf(m.bytes())
			for b.Loop() {
				_ = v.Apply(&hostless, code, 1, 2, 3, nil)
			}
		})
	}
}

// loop makes apply repeat code as often as its first argument says.
func loop(m *builder, body func(e *encoder)) {
	m.memory = []uint32{1}
	var e encoder
	e.op(opLoop, none)
	body(&e)
	e.op(opLocalGet, 3)
	e.i64(1)
	e.op(opI64Add, opLocalTee, 3, opLocalGet, 0, opI64LtU, opBrIf, 0, opEnd)
	m.apply([]local{{1, I64}, {1, F64}}, e)
}

func benchmark(b *testing.B, f func(m *builder)) {
	m := newBuilder()
	f(m)
	v := engines(b)[0]
	if err := v.Apply(&hostless, codeOf(m.bytes()), uint64(b.N), 2, 3, func() error { return nil }); err != nil {
		b.Fatal(err)
	}
}
