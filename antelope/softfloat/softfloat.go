// Package softfloat computes with IEEE 754 numbers exactly as contracts see them on
// every node: rounding to nearest, ties to even, and the NaNs of Berkeley SoftFloat
// with its 8086-SSE specialisation, whatever the processor does. [F128] has
// the operations of the compiler's built-in functions for quadruple precision (Leap:
// webassembly/compiler_builtins.cpp), [F32] and [F64] are what those take and give, and
// all three can be printed as the print functions of contracts do. What WebAssembly's
// own instructions compute is package wasm's.
//
// It owns no state: there are no flags, modes or traps. All functions may be used by
// many goroutines at a time.
//
// The rules for NaN: an operation on NaNs returns the first operand that is one, made
// quiet; one that has no result (0/0, inf-inf) returns the quiet NaN with the sign set
// and no payload. Neg passes a NaN on as it is, signalling or not.
package softfloat

import (
	"math"
	"math/bits"
)

// F32 is the bits of a single.
type F32 uint32

// F64 is the bits of a double.
type F64 uint64

// F128 is the bits of a quadruple: the sign is the highest bit of Hi.
type F128 struct{ Lo, Hi uint64 }

const (
	sign32  F32 = 1 << 31
	inf32   F32 = 0x7f800000
	quiet32 F32 = 0x00400000

	sign64  F64 = 1 << 63
	inf64   F64 = 0x7ff0000000000000
	quiet64 F64 = 0x0008000000000000

	sign128  uint64 = 1 << 63
	inf128   uint64 = 0x7fff000000000000 // of Hi
	quiet128 uint64 = 0x0000800000000000
	nan128   uint64 = 0xffff800000000000 // of Hi; what invalid operations return
	frac128  uint64 = 0x0000ffffffffffff
	bias128         = 0x3fff
	max128          = 0x7fff
)

// IsNaN tells whether a is a NaN.
func (a F32) IsNaN() bool { return a&^sign32 > inf32 }

// IsNaN tells whether a is a NaN.
func (a F64) IsNaN() bool { return a&^sign64 > inf64 }

// IsNaN tells whether a is a NaN.
func (a F128) IsNaN() bool {
	abs := a.Hi &^ sign128
	return abs > inf128 || abs == inf128 && a.Lo != 0
}

func (a F32) float() float32 { return math.Float32frombits(uint32(a)) }
func (a F64) float() float64 { return math.Float64frombits(uint64(a)) }

// nanOf128 is the result of an operation of which a or b is a NaN.
func nanOf128(a, b F128) F128 {
	if !a.IsNaN() {
		a = b
	}
	a.Hi |= quiet128
	return a
}

// shiftRightSticky shifts hi:lo right by n bits; what falls out is ored into the
// lowest bit.
func shiftRightSticky(hi, lo uint64, n uint) (uint64, uint64) {
	switch {
	case n == 0:
		return hi, lo
	case n < 64:
		out := lo << (64 - n)
		return hi >> n, hi<<(64-n) | lo>>n | sticky(out)
	case n < 128:
		out := lo
		if n > 64 {
			out |= hi << (128 - n)
		}
		return 0, hi>>(n-64) | sticky(out)
	}
	return 0, sticky(hi | lo)
}

func sticky(out uint64) uint64 {
	if out != 0 {
		return 1
	}
	return 0
}

// shiftLeft shifts hi:lo left by less than 128 bits.
func shiftLeft(hi, lo uint64, n uint) (uint64, uint64) {
	if n >= 64 {
		return lo << (n - 64), 0
	}
	return hi<<n | lo>>1>>(63-n), lo << n
}

func leadingZeros(hi, lo uint64) uint {
	if hi == 0 {
		return 64 + uint(bits.LeadingZeros64(lo))
	}
	return uint(bits.LeadingZeros64(hi))
}
