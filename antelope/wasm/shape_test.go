package wasm

import (
	"context"
	"testing"
	"time"
)

// shapes are legal modules that are hard for a compiler, with n as their size.
func shapes() map[string]func(n int) []byte {
	body := func(locals []local, e encoder) []byte {
		b := newBuilder()
		b.memory = []uint32{1}
		b.apply(locals, e)
		return b.bytes()
	}
	return map[string]func(n int) []byte{
		"table": func(n int) []byte { // one br_table
			var e encoder
			for range 64 {
				e.op(opBlock, none)
			}
			e.get(0)
			e.op(opI32WrapI64)
			e.index(opBrTable, uint32(n))
			for i := range n + 1 {
				e.u32(uint32(i * 7 % 64))
			}
			for range 64 {
				e.op(opEnd)
			}
			return body(nil, e)
		},
		"tables": func(n int) []byte { // many of the greatest size that is left alone
			var e encoder
			for range n / maxTable {
				for range 64 {
					e.op(opBlock, none)
				}
				e.get(0)
				e.op(opI32WrapI64)
				e.index(opBrTable, uint32(maxTable-1))
				for i := range maxTable {
					e.u32(uint32(i % 64))
				}
				for range 64 {
					e.op(opEnd)
				}
			}
			return body(nil, e)
		},
		"loops": func(n int) []byte { // nested as deep as may be, again and again
			var e encoder
			for range n / 1000 {
				for range 1000 {
					e.op(opLoop, none)
				}
				for range 1000 {
					e.op(opEnd)
				}
			}
			return body([]local{{1000, I64}}, e)
		},
		"deep": func(n int) []byte { // nested without bound
			var e encoder
			for range n {
				e.op(opLoop, none)
			}
			for range n {
				e.op(opEnd)
			}
			return body(nil, e)
		},
		"variables": func(n int) []byte { // blocks that change variables
			var e encoder
			for i := range n {
				e.get(0)
				e.op(opI32WrapI64, opIf, none)
				e.get(1)
				e.index(opLocalSet, uint32(3+i%1000))
				e.op(opEnd)
			}
			return body([]local{{1000, I64}}, e)
		},
		"moves": func(n int) []byte {
			var e encoder
			for i := range n {
				e.get(uint32(3 + i*7%1000))
				e.index(opLocalSet, uint32(3+i%1000))
			}
			return body([]local{{1000, I64}}, e)
		},
		"operands": func(n int) []byte { // a deep operand stack
			var e encoder
			for i := range n {
				e.get(uint32(i % 3))
			}
			for range n - 1 {
				e.op(opI64Add)
			}
			e.op(opDrop)
			return body(nil, e)
		},
		"calls": func(n int) []byte {
			b := newBuilder()
			put := b.put()
			var e encoder
			for i := range n {
				e.get(uint32(i % 3))
				e.index(opCall, put)
			}
			b.apply(nil, e)
			return b.bytes()
		},
		"functions": func(n int) []byte {
			b := newBuilder()
			for range n {
				b.function(nil, none, nil, nil)
			}
			b.apply(nil, nil)
			return b.bytes()
		},
	}
}

// budget is how long a module of such a shape, legal by the default limits, may keep
// its first action waiting.
const budget = 10 * time.Second

// What the compiler cannot do in time is interpreted.
func TestHardModulesRunWithoutDelay(t *testing.T) {
	c, err := NewCache(Options{Functions: testFunctions()})
	if err != nil {
		t.Fatal(err)
	}
	m := c.NewMachine()
	for name, shape := range shapes() {
		for _, n := range []int{300, 8000, 60000} {
			start := time.Now()
			var h host
			code := codeOf(shape(n))
			if err := m.Apply(&h, code, 0, 0, 0, until(budget)); err != nil {
				t.Errorf("%s %d: %v", name, n, err)
			}
			if d := time.Since(start); d > budget {
				t.Errorf("%s %d: took %v", name, n, d)
			}
			// Nothing is left for the compiler to do in the background.
			c.drop(code.Hash, c.entries[code.Hash])
		}
	}
	_ = m.Close()
	_ = c.Close()
}

// The estimate may be too high, but not too low by much, on a machine however slow.
func TestTheEstimateOfTheCompilersTimeIsNotTooLow(t *testing.T) {
	c := engines(t)[0]
	measure := func(shape func(int) []byte, n int) (estimate, took time.Duration) {
		o := applyOptions()
		m, err := parse(shape(n), &o)
		if err != nil {
			t.Fatal(err)
		}
		r, err := rewrite(m, &o)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		compiled, err := compileModule(c.native, r.code)
		if err != nil {
			t.Fatal(err)
		}
		took = time.Since(start)
		_ = compiled.Close(context.Background())
		return r.size.duration(), took
	}
	all := shapes()
	estimate, took := measure(all["functions"], 2000)
	slow := max(1, float64(took)/float64(estimate))
	for name, shape := range all {
		for _, n := range []int{1000, 4000} {
			estimate, took := measure(shape, n)
			limit := 20*time.Duration(slow*float64(estimate)) + 200*time.Millisecond
			for try := 0; try < 3 && took > limit; try++ { // the machine may have stood still
				_, again := measure(shape, n)
				took = min(took, again)
			}
			if took > limit {
				t.Errorf("%s %d: took %v, estimate %v, on a machine slower by %.1f", name, n, took, estimate, slow)
			}
		}
	}
}
