package intrinsic

import (
	"bytes"
	"encoding/binary"
	"math"

	"tarn/antelope/exception"
	"tarn/antelope/wasm"
)

// arg is what a host function takes: one or more WebAssembly values, and how they
// are checked before the function runs.
//
// A pointer's memory must exist; a span's too, where one of no elements may start
// anywhere up to the end. "Legacy" ones are of the first functions: a reference may
// not be null. Pointers need no alignment. nodeos works on a copy of what is not
// aligned and copies back in the end, which shows only where two outputs overlap:
// [aligned] (eos-vm: argument_proxy.hpp; Leap: webassembly/common.hpp).
type arg uint8

const (
	u32    arg = iota // an integer or bool
	u64               // an integer or name
	f32               // the bits of a float
	f64               // the bits of a double
	text              // a string that ends with a 0
	chars             // a legacy span of bytes: pointer and length
	words             // one of elements of 8 bytes, the length counting those
	quads             // one of 16 bytes
	block             // a span of bytes that may not overlap another of the call's
	ref8              // a legacy reference to 8 bytes
	ref16             // to 16
	ref20             // to 20
	ref32             // to 32
	ref64             // to 64
	copied            // what memcpy and memmove take: to, from, length
	equals            // what memcmp takes: two pointers, length
	filled            // what memset takes: to, value, length
)

// types returns the WebAssembly types of the argument's values.
func (a arg) types() []wasm.ValueType {
	switch a {
	case u64:
		return []wasm.ValueType{wasm.I64}
	case f32:
		return []wasm.ValueType{wasm.F32}
	case f64:
		return []wasm.ValueType{wasm.F64}
	case chars, words, quads, block:
		return []wasm.ValueType{wasm.I32, wasm.I32}
	case copied, equals, filled:
		return []wasm.ValueType{wasm.I32, wasm.I32, wasm.I32}
	default:
		return []wasm.ValueType{wasm.I32}
	}
}

// check is an argument whose memory is checked, at its place on the stack.
type check struct {
	arg arg
	at  int
}

// checks returns what is to be checked for these arguments, in nodeos' order: the
// last one first (eos-vm: host_function.hpp, get_values).
func checks(args []arg) []check {
	var list []check
	at := 0
	for _, a := range args {
		if a >= text {
			list = append(list, check{a, at})
		}
		at += len(a.types())
	}
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	return list
}

// run checks the argument, and returns the end of the memory that it gives the function
// to write to.
func (k check) run(a *Apply, m []byte, s []uint64) (uint64, error) {
	p := uint32(s[k.at])
	switch k.arg {
	case text:
		return 0, a.findTerminator(m, p)
	case chars, block:
		return spans(m, p, uint32(s[k.at+1]), 1)
	case words:
		return spans(m, p, uint32(s[k.at+1]), 8)
	case quads:
		return spans(m, p, uint32(s[k.at+1]), 16)
	case ref8:
		return refers(m, p, 8)
	case ref16:
		return refers(m, p, 16)
	case ref20:
		return refers(m, p, 20)
	case ref32:
		return refers(m, p, 32)
	case ref64:
		return refers(m, p, 64)
	}
	return k.transfers(m, s)
}

// length is how many bytes the argument's spans have together.
func (k check) length(s []uint64) uint64 {
	switch k.arg {
	case chars, block:
		return uint64(uint32(s[k.at+1]))
	case words:
		return 8 * uint64(uint32(s[k.at+1]))
	case quads:
		return 16 * uint64(uint32(s[k.at+1]))
	case copied, equals, filled:
		return uint64(uint32(s[k.at+2]))
	}
	return 0
}

// transfers checks the arguments of the memory functions. Those that write need the
// first byte of the destination even if there is nothing to write.
func (k check) transfers(m []byte, s []uint64) (uint64, error) {
	n := uint32(s[k.at+2])
	end, err := spans(m, uint32(s[k.at]), n, 1)
	if err != nil {
		return 0, err
	}
	if k.arg != filled {
		if _, err := spans(m, uint32(s[k.at+1]), n, 1); err != nil {
			return 0, err
		}
	}
	if k.arg != equals {
		_, err = spans(m, uint32(s[k.at]), 1, 1)
	}
	return end, err
}

func violation() error {
	return exception.New(exception.WasmExecutionError, "access violation")
}

// spans checks n elements of size bytes at p. nodeos reads the last byte to see
// whether it can: with no elements the one before p, and there is a readable page
// before the memory, but none if the contract declares no memory at all. The end of the
// span is returned.
func spans(m []byte, p, n, size uint32) (end uint64, err error) {
	if n > math.MaxUint32/size {
		return 0, exception.New(exception.WasmExecutionError, "eos-vm system failure")
	}
	end = uint64(p) + uint64(n)*uint64(size)
	if m == nil || end > uint64(len(m)) {
		return 0, violation()
	}
	return end, nil
}

func refers(m []byte, p, size uint32) (end uint64, err error) {
	if p == 0 {
		return 0, exception.New(exception.WasmExecutionError, "references cannot be created for null pointers")
	}
	end = uint64(p) + uint64(size)
	if end > uint64(len(m)) {
		return 0, violation()
	}
	return end, nil
}

// findTerminator looks for the end of a text, and charges for all but its first slice,
// which the price of the call covers.
func (a *Apply) findTerminator(m []byte, p uint32) error {
	if uint64(p) >= uint64(len(m)) {
		return violation()
	}
	for rest := m[p:]; ; a.Charge(textSlice) {
		part := rest[:min(len(rest), textSlice)]
		if bytes.IndexByte(part, 0) >= 0 {
			return nil
		}
		if rest = rest[len(part):]; len(rest) == 0 {
			return violation()
		}
	}
}

// overlap tells whether the spans at a and b of the stack share a byte (Leap:
// preconditions.hpp, is_aliasing).
func overlap(s []uint64, a, b int) bool {
	p, q := uint64(uint32(s[a])), uint64(uint32(s[b]))
	return max(p, q) < min(p+uint64(uint32(s[a+1])), q+uint64(uint32(s[b+1])))
}

// The rest takes arguments that were checked.

// span returns the bytes of the span of bytes at s[at].
func span(m []byte, s []uint64, at int) []byte {
	p := uint64(uint32(s[at]))
	end := p + uint64(uint32(s[at+1]))
	return m[p:end:end]
}

// ref returns n bytes at the pointer in s[at].
func ref(m []byte, s []uint64, at int, n uint64) []byte {
	p := uint64(uint32(s[at]))
	return m[p : p+n : p+n]
}

// cstring returns a string at the pointer in s[at], without its 0.
func cstring(m []byte, s []uint64, at int) []byte {
	b := m[uint32(s[at]):]
	return b[:bytes.IndexByte(b, 0)]
}

// aligned tells whether the pointer in s[at] is a multiple of size, so that nodeos
// uses the contract's memory directly.
func aligned(s []uint64, at int, size uint32) bool { return uint32(s[at])%size == 0 }

func put64(m []byte, s []uint64, at int, v uint64) {
	binary.LittleEndian.PutUint64(m[uint32(s[at]):], v)
}

// i32 is a result of a signed 32-bit type.
func i32(v int32) uint64 { return uint64(uint32(v)) }

// size is a length as a result.
func size(n int) uint64 { return uint64(uint32(n)) }

func truth(v bool) uint64 {
	if v {
		return 1
	}
	return 0
}
