package softfloat

import (
	"math"
	"math/bits"
)

// Add returns a + b.
func (a F64) Add(b F64) F64 {
	if a.IsNaN() || b.IsNaN() {
		return nanOf64(a, b)
	}
	return result64(float64(a.float() + b.float()))
}

// Sub returns a - b.
func (a F64) Sub(b F64) F64 {
	if a.IsNaN() || b.IsNaN() {
		return nanOf64(a, b)
	}
	return result64(float64(a.float() - b.float()))
}

// Mul returns a * b.
func (a F64) Mul(b F64) F64 {
	if a.IsNaN() || b.IsNaN() {
		return nanOf64(a, b)
	}
	return result64(float64(a.float() * b.float()))
}

// Div returns a / b.
func (a F64) Div(b F64) F64 {
	if a.IsNaN() || b.IsNaN() {
		return nanOf64(a, b)
	}
	return result64(float64(a.float() / b.float()))
}

// Sqrt returns the square root of a.
func (a F64) Sqrt() F64 {
	if a.IsNaN() {
		return a | quiet64
	}
	return result64(math.Sqrt(a.float()))
}

// Min returns the smaller number; -0 is smaller than 0. A NaN is returned as it is,
// a rather than b.
func (a F64) Min(b F64) F64 {
	switch {
	case a.IsNaN():
		return a
	case b.IsNaN():
		return b
	case (a^b)&sign64 != 0:
		if a&sign64 != 0 {
			return a
		}
		return b
	case a.Lt(b):
		return a
	}
	return b
}

// Max returns the larger number; 0 is larger than -0. A NaN is returned as it is, a
// rather than b.
func (a F64) Max(b F64) F64 {
	switch {
	case a.IsNaN():
		return a
	case b.IsNaN():
		return b
	case (a^b)&sign64 != 0:
		if a&sign64 != 0 {
			return b
		}
		return a
	case a.Lt(b):
		return b
	}
	return a
}

// Abs clears the sign.
func (a F64) Abs() F64 { return a &^ sign64 }

// Neg inverts the sign.
func (a F64) Neg() F64 { return a ^ sign64 }

// Copysign returns a with the sign of b.
func (a F64) Copysign(b F64) F64 { return a&^sign64 | b&sign64 }

// whole applies a rounding to a number that has a fraction.
func (a F64) whole(round func(float64) float64) F64 {
	if a>>52&0x7ff >= 1023+52 { // large, infinite or NaN
		return a
	}
	return F64(math.Float64bits(round(a.float())))
}

// Ceil rounds up.
func (a F64) Ceil() F64 { return a.whole(math.Ceil) }

// Floor rounds down.
func (a F64) Floor() F64 { return a.whole(math.Floor) }

// Trunc rounds towards zero.
func (a F64) Trunc() F64 { return a.whole(math.Trunc) }

// Nearest rounds to the nearest integer, ties to even.
func (a F64) Nearest() F64 { return a.whole(math.RoundToEven) }

// Eq tells whether a == b; NaN equals nothing.
func (a F64) Eq(b F64) bool { return a.float() == b.float() }

// Lt tells whether a < b; false for NaN.
func (a F64) Lt(b F64) bool { return a.float() < b.float() }

// Le tells whether a <= b; false for NaN.
func (a F64) Le(b F64) bool { return a.float() <= b.float() }

// F32 demotes a, rounding. A NaN becomes quiet and keeps its sign and the high bits
// of its payload.
func (a F64) F32() F32 {
	if a.IsNaN() {
		return F32(a>>32)&sign32 | inf32 | quiet32 | F32(a&^sign64&^inf64>>29)
	}
	return F32(math.Float32bits(float32(a.float())))
}

// F128 is __extenddftf2. A NaN becomes quiet and keeps its sign and payload.
func (a F64) F128() F128 {
	sign, exp, frac := uint64(a&sign64), int32(a>>52&0x7ff), uint64(a&(1<<52-1))
	switch {
	case exp == 0x7ff && frac != 0:
		return F128{Lo: frac << 60, Hi: sign | inf128 | quiet128 | frac>>4}
	case exp == 0x7ff:
		return F128{Hi: sign | inf128}
	case exp == 0 && frac == 0:
		return F128{Hi: sign}
	case exp == 0:
		shift := uint(bits.LeadingZeros64(frac)) - 11 // to the place of the implicit bit
		frac = frac << shift & (1<<52 - 1)
		exp = 1 - int32(shift)
	}
	return F128{Lo: frac << 60, Hi: sign | uint64(exp-1023+bias128)<<48 | frac>>4}
}

// Int32 truncates a; ok is false if a is NaN, is less than -2^31 or at least 2^31:
// nodeos ends the action then. Unlike what WebAssembly says, the lower bound is that
// of a itself, not of its integral part (Leap: _eosio_f64_trunc_i32s).
func (a F64) Int32() (v int32, ok bool) {
	f := a.float()
	if !(f >= -1<<31 && f < 1<<31) {
		return 0, false
	}
	return int32(f), true
}

// Uint32 truncates a; ok is false if a is NaN, at most -1 or at least 2^32.
func (a F64) Uint32() (v uint32, ok bool) {
	f := a.float()
	if !(f > -1 && f < 1<<32) {
		return 0, false
	}
	return uint32(int64(f)), true
}

// Int64 truncates a; ok is false if a is NaN, less than -2^63 or at least 2^63.
func (a F64) Int64() (v int64, ok bool) {
	f := a.float()
	if !(f >= -1<<63 && f < 1<<63) {
		return 0, false
	}
	return int64(f), true
}

// Uint64 truncates a; ok is false if a is NaN, at most -1 or at least 2^64.
func (a F64) Uint64() (v uint64, ok bool) {
	f := a.float()
	if !(f > -1 && f < 1<<64) {
		return 0, false
	}
	lo, _ := a.Uint128()
	return lo, true
}

// Int128 is __fixdfti: see [F128.Int128].
func (a F64) Int128() (lo, hi uint64) { return a.F128().Int128() }

// Uint128 is __fixunsdfti: see [F128.Uint128].
func (a F64) Uint128() (lo, hi uint64) { return a.F128().Uint128() }

// F64FromInt32 is exact (__floatsidf).
func F64FromInt32(v int32) F64 { return F64(math.Float64bits(float64(v))) }

// F64FromUint32 is exact.
func F64FromUint32(v uint32) F64 { return F64(math.Float64bits(float64(v))) }

// F64FromInt64 rounds v.
func F64FromInt64(v int64) F64 { return F64(math.Float64bits(float64(v))) }

// F64FromUint64 rounds v.
func F64FromUint64(v uint64) F64 { return F64(math.Float64bits(float64(v))) }

// F64FromUint128 rounds the number hi:lo (__floatuntidf).
func F64FromUint128(lo, hi uint64) F64 {
	if hi|lo == 0 {
		return 0
	}
	shift := leadingZeros(hi, lo)
	hi, lo = shiftLeft(hi, lo, shift)
	return packF64(0, 127-int32(shift), hi, lo)
}

// F64FromInt128 rounds the number hi:lo, in two's complement (__floattidf).
func F64FromInt128(lo, hi uint64) F64 {
	if hi>>63 == 0 {
		return F64FromUint128(lo, hi)
	}
	lo, borrow := bits.Sub64(0, lo, 0)
	hi, _ = bits.Sub64(0, hi, borrow)
	return F64FromUint128(lo, hi) | sign64
}

// packF64 rounds 2^exp * 1.f, where 1.f is hi:lo with its highest bit set.
func packF64(sign F64, exp int32, hi, lo uint64) F64 {
	const width, bias = 53, 1023
	hi |= sticky(lo) // 11 bits of hi are below the precision
	exp += bias
	shift := uint(64 - width)
	if exp <= 0 { // subnormal
		hi, lo = shiftRightSticky(hi, 0, uint(min(1-exp, 64)))
		hi |= sticky(lo)
		exp = 0
	} else if exp >= 0x7ff {
		return sign | inf64
	}
	return sign | F64(uint64(max(exp-1, 0))<<52+roundEven(hi, shift))
}

// packF32 rounds 2^exp * 1.f, where 1.f is hi:lo with its highest bit set.
func packF32(sign F32, exp int32, hi, lo uint64) F32 {
	const width, bias = 24, 127
	hi |= sticky(lo)
	exp += bias
	if exp <= 0 {
		hi, lo = shiftRightSticky(hi, 0, uint(min(1-exp, 64)))
		hi |= sticky(lo)
		exp = 0
	} else if exp >= 0xff {
		return sign | inf32
	}
	return sign | F32(uint64(max(exp-1, 0))<<23+roundEven(hi, 64-width))
}

// roundEven drops the low bits of v: to nearest, ties to even. Added to an exponent,
// the bit that rounding or the implicit bit carries is right there.
func roundEven(v uint64, drop uint) uint64 {
	q, rest, half := v>>drop, v&(1<<drop-1), uint64(1)<<(drop-1)
	if rest > half || rest == half && q&1 != 0 {
		q++
	}
	return q
}
