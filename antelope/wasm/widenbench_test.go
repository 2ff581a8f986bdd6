package wasm

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// widenCode is a module that does the same and is widened: one more type, which nothing
// uses, has more parameters than are passed as such.
func widenCode(tb testing.TB, code []byte) []byte {
	tb.Helper()
	const header, typeSection = 8, 1
	if code[header] != typeSection {
		tb.Fatal("the module does not begin with its types")
	}
	size, n := binary.Uvarint(code[header+1:])
	from := header + 1 + n
	body, rest := code[from:from+int(size)], code[from+int(size):]
	count, n := binary.Uvarint(body)
	body = append(binary.AppendUvarint(nil, count+1), body[n:]...)
	body = append(body, 0x60, maxParams+1)
	body = append(body, bytes.Repeat([]byte{I64}, maxParams+1)...)
	body = append(body, 0)
	wide := binary.AppendUvarint(slices.Clone(code[:header+1]), uint64(len(body)))
	wide = append(append(wide, body...), rest...)
	o := applyOptions()
	m, err := parse(wide, &o)
	if err != nil {
		tb.Fatal(err)
	}
	if large, err := m.large(); !large || err != nil {
		tb.Fatalf("the module is not widened: %v", err)
	}
	return wide
}

// user is the processor time of the process outside the kernel.
func user(tb testing.TB) time.Duration {
	tb.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano())
}

// BenchmarkWidened runs modules as they are and widened, in turns, and reports what the
// latter cost in times of the former: the median of the turns, by processor time.
func BenchmarkWidened(b *testing.B) {
	loops := map[string]func(m *builder){
		"loop": func(m *builder) { loop(m, func(*encoder) {}) },
		"call": func(m *builder) {
			f := m.function([]ValueType{I32, I32}, I32, nil, encoder{opLocalGet, 0, opLocalGet, 1, opI32Or})
			loop(m, func(e *encoder) {
				e.i32(1)
				e.i32(2)
				e.index(opCall, f)
				e.op(opDrop)
			})
		},
		"memory": func(m *builder) {
			loop(m, func(e *encoder) {
				e.i32(64)
				e.i32(64)
				e.mem(0x28, 2, 0) // i32.load
				e.i32(7)
				e.op(opI32Add)
				e.mem(0x36, 2, 0) // i32.store
			})
		},
		"float": func(m *builder) {
			loop(m, func(e *encoder) {
				e.get(4)
				e.bits(F64, 0x3ff8<<48)
				e.op(opF64Add, opLocalSet, 4)
			})
		},
	}
	for _, name := range []string{"loop", "call", "memory", "float"} {
		b.Run(name, func(b *testing.B) {
			m := newBuilder()
			loops[name](m)
			v := engines(b)[0]
			run := func(code []byte) func() error {
				c := codeOf(code)
				return func() error {
					return v.Apply(&hostless, c, 3_000_000, 2, 3, func() error { return nil })
				}
			}
			inTurns(b, run(m.bytes()), run(widenCode(b, m.bytes())))
		})
	}
	b.Run("transfer", func(b *testing.B) {
		code := contract(b, "eosio.token")
		many := func(code []byte) func() error {
			_, transfer := tokenOf(b, code, false)
			return func() error {
				for range 5000 {
					if err := transfer(); err != nil {
						return err
					}
				}
				return nil
			}
		}
		inTurns(b, many(code), many(widenCode(b, code)))
	})
}

// inTurns runs two pieces of work in turns and reports the second's part of the first.
func inTurns(b *testing.B, plain, wide func() error) {
	b.Helper()
	const turns = 15
	took := func(work func() error) float64 {
		from := user(b)
		if err := work(); err != nil {
			b.Fatal(err)
		}
		return float64(user(b) - from)
	}
	took(plain) // compiles
	took(wide)
	for b.Loop() {
		var ratios []float64
		for range turns {
			ratios = append(ratios, took(wide)/took(plain))
		}
		slices.Sort(ratios)
		b.ReportMetric(ratios[turns/2], "times")
		b.ReportMetric(ratios[turns/4], "quartile")
		b.ReportMetric(ratios[turns*3/4], "quartile-3")
	}
}
