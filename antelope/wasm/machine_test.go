package wasm

import (
	"errors"
	"slices"
	"testing"

	"tarn/antelope/exception"
)

var (
	errTest     = errors.New("the host says no")
	errDeadline = errors.New("out of time")
)

func (b *builder) put() uint32 { return b.importing("put", []ValueType{I64}, none) }

func TestApplyGetsItsArguments(t *testing.T) {
	b := newBuilder()
	put := b.put()
	var e encoder
	for i := range uint32(3) {
		e.get(i)
		e.index(opCall, put)
	}
	b.apply(nil, e)
	for _, v := range engines(t) {
		for range 2 {
			if out, err := v.apply(b.bytes()); err != nil || !slices.Equal(out, []uint64{1, 2, 3}) {
				t.Errorf("%s: put %v, %v", v.name, out, err)
			}
		}
	}
}

func TestErrorsSayWhoseFaultTheyAre(t *testing.T) {
	for _, c := range []struct {
		name string
		call string
		ok   func(error) bool
	}{
		{"abort", "fail", func(err error) bool { return err == errTest }},
		{"exit", "leave", func(err error) bool { return err == nil }},
		{"bug", "bug", func(err error) bool { return err != nil && exception.Of(err) == nil }},
		{"trap", "", func(err error) bool { return exception.Is(err, exception.WasmExecutionError) }},
	} {
		b := newBuilder()
		var e encoder
		if c.call != "" {
			e.index(opCall, b.importing(c.call, nil, none))
		}
		e.op(opUnreachable)
		b.apply(nil, e)
		for _, v := range engines(t) {
			for range 2 {
				if _, err := v.apply(b.bytes()); !c.ok(err) {
					t.Errorf("%s: %s: %v", v.name, c.name, err)
				}
			}
		}
	}
}

// exit ends the action, wherever it is called: apply is not called after it.
func TestExitInTheStartFunctionEndsTheAction(t *testing.T) {
	b := newBuilder()
	leave := b.importing("leave", nil, none)
	b.start = b.function(nil, none, nil, encoder{opCall, byte(leave)})
	b.apply(nil, encoder{opUnreachable})
	for _, v := range engines(t) {
		for range 2 {
			if _, err := v.apply(b.bytes()); err != nil {
				t.Errorf("%s: %v", v.name, err)
			}
		}
	}
}

func TestTheStartFunctionMayBeTheHosts(t *testing.T) {
	b := newBuilder()
	b.start = b.importing("fail", nil, none)
	b.apply(nil, nil)
	for _, v := range engines(t) {
		for range 2 {
			if _, err := v.apply(b.bytes()); err != errTest {
				t.Errorf("%s: %v", v.name, err)
			}
		}
	}
}

// largeFrames calls itself as deep as may be, with n operands in each frame. The
// number tells modules apart.
func largeFrames(n, number int) []byte {
	b := newBuilder()
	b.globals = []globalVar{{I32, true, 250}, {I64, true, 0}}
	var e encoder
	for i := range n {
		e.get(uint32(i % 3))
		e.i64(int64(i + number))
		e.op(opI64Add)
	}
	e.op(opGlobalGet, 0, opIf, none, opGlobalGet, 0)
	e.i32(1)
	e.op(opI32Sub, opGlobalSet, 0)
	for i := range uint32(3) {
		e.get(i)
	}
	e.op(opCall, 0, opEnd)
	for range n - 1 {
		e.op(opI64Xor)
	}
	e.op(opGlobalSet, 1) // or the compiler drops it all
	b.apply(nil, e)
	return b.bytes()
}

// Frames as large as legacy code may have, as deep as calls may nest.
func TestLargeFramesNestAsDeepAsSmallOnes(t *testing.T) {
	for _, n := range []int{1000, 8000, 20000} {
		code := largeFrames(n, 0)
		for _, v := range engines(t) {
			if _, err := v.apply(code); err != nil {
				t.Errorf("%s: %d: %v", v.name, n, err)
			}
		}
	}
}

// A module whose elements or data are out of range may be set, and fails when it is to run. nodeos
// looks at elements first, then at memory, then at data.
func TestModulesThatCannotBeInstantiatedSayWhy(t *testing.T) {
	const system, access = "eos-vm system failure", "access violation"
	beyond := dataSegment{offset: PageSize - 1, bytes: []byte{1, 2}}
	for _, c := range []struct {
		name, want string
		build      func(b *builder)
	}{
		{"elements", system, func(b *builder) { b.table, b.elements = 1, []uint32{0, 0} }},
		{"data", access, func(b *builder) { b.data = []dataSegment{beyond} }},
		{"one of the data", access, func(b *builder) { b.data = []dataSegment{beyond, {bytes: []byte{1}}} }},
		{"both", system, func(b *builder) {
			b.table, b.elements, b.data = 1, []uint32{0, 0}, []dataSegment{beyond}
		}},
		{"memory and data", system, func(b *builder) {
			b.memory, b.data = []uint32{DefaultPages + 1}, []dataSegment{{offset: 1 << 31, bytes: []byte{1}}}
		}},
	} {
		b := newBuilder()
		b.memory = []uint32{1}
		b.apply(nil, nil)
		c.build(b)
		for _, v := range engines(t) {
			_, err := v.apply(b.bytes())
			if e := exception.Of(err); e == nil || e.Kind != exception.WasmExecutionError || e.Message() != c.want {
				t.Errorf("%s: %s: %v, want %s", v.name, c.name, err, c.want)
			}
		}
	}
}
