package softfloat

import (
	"math"
	"math/bits"
)

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

// Int128 is __fixdfti: see [F128.Int128].
func (a F64) Int128() (lo, hi uint64) { return a.F128().Int128() }

// Uint128 is __fixunsdfti: see [F128.Uint128].
func (a F64) Uint128() (lo, hi uint64) { return a.F128().Uint128() }

// F64FromInt32 is exact (__floatsidf).
func F64FromInt32(v int32) F64 { return F64(math.Float64bits(float64(v))) }

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
