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
