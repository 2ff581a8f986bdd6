package softfloat

import "math/bits"

// F64 is __trunctfdf2. A NaN becomes quiet and keeps its sign and the high bits of
// its payload.
func (a F128) F64() F64 {
	sign := F64(a.Hi & sign128)
	switch {
	case a.IsNaN():
		return sign | inf64 | quiet64 | F64((a.Hi&frac128)<<4|a.Lo>>60)
	case a.isInf():
		return sign | inf64
	case a.isZero():
		return sign
	}
	n := a.unpack()
	return packF64(sign, n.exp, n.hi, n.lo)
}

// F32 is __trunctfsf2. A NaN becomes quiet and keeps its sign and the high bits of
// its payload.
func (a F128) F32() F32 {
	sign := F32(a.Hi>>32) & sign32
	switch {
	case a.IsNaN():
		return sign | inf32 | quiet32 | F32((a.Hi&frac128)>>25)
	case a.isInf():
		return sign | inf32
	case a.isZero():
		return sign
	}
	n := a.unpack()
	return packF32(sign, n.exp, n.hi, n.lo)
}

// magnitude rounds |a| to an integer, to nearest, ties to even; ok is false if that
// has more than 64 bits, or if a is no number.
func (a F128) magnitude() (v uint64, ok bool) {
	if a.isZero() {
		return 0, true
	}
	n := a.unpack()
	if a.IsNaN() || n.exp >= 64 {
		return 0, false
	}
	hi, lo := n.hi, n.lo
	if n.exp < 63 {
		hi, lo = shiftRightSticky(hi, lo, uint(min(63-n.exp, 128)))
	}
	const half = 1 << 63
	if lo > half || lo == half && hi&1 != 0 {
		hi++
		return hi, hi != 0
	}
	return hi, true
}

// Int32 rounds a to nearest, ties to even, where C truncates (__fixtfsi, Leap:
// f128_to_i32 with its first rounding mode). What does not fit, and NaN, is -2^31.
func (a F128) Int32() int32 {
	const smallest = -1 << 31
	v, ok := a.magnitude()
	if a.Hi&sign128 != 0 {
		if !ok || v > 1<<31 {
			return smallest
		}
		return int32(-int64(v))
	}
	if !ok || v >= 1<<31 {
		return smallest
	}
	return int32(v)
}

// Uint32 rounds a to nearest, ties to even (__fixunstfsi). What does not fit, and
// NaN, is 2^32-1; what rounds to 0 fits.
func (a F128) Uint32() uint32 {
	v, ok := a.magnitude()
	if !ok || v >= 1<<32 || v != 0 && a.Hi&sign128 != 0 {
		return 1<<32 - 1
	}
	return uint32(v)
}

// Int64 rounds a to nearest, ties to even (__fixtfdi). What does not fit, and NaN, is
// -2^63.
func (a F128) Int64() int64 {
	const smallest = -1 << 63
	v, ok := a.magnitude()
	if a.Hi&sign128 != 0 {
		if !ok || v > 1<<63 {
			return smallest
		}
		return -int64(v)
	}
	if !ok || v >= 1<<63 {
		return smallest
	}
	return int64(v)
}

// Uint64 rounds a to nearest, ties to even (__fixunstfdi). What does not fit, and
// NaN, is 2^64-1; what rounds to 0 fits.
func (a F128) Uint64() uint64 {
	v, ok := a.magnitude()
	if !ok || v != 0 && a.Hi&sign128 != 0 {
		return 1<<64 - 1
	}
	return v
}

// integer truncates |a| to 128 bits; large tells that it has more.
func (a F128) integer() (lo, hi uint64, large bool) {
	exp := int32(a.Hi>>48&max128) - bias128
	switch {
	case exp < 0:
		return 0, 0, false
	case exp >= 128: // infinite and NaN too
		return 0, 0, true
	}
	hi, lo = shiftLeft(a.Hi&frac128|1<<48, a.Lo, 15)
	if drop := uint(127 - exp); drop >= 64 {
		hi, lo = 0, hi>>(drop-64)
	} else {
		hi, lo = hi>>drop, hi<<1<<(63-drop)|lo>>drop
	}
	return lo, hi, false
}

// Int128 truncates a (__fixtfti). What has more than 128 bits, and NaN, is the largest
// or smallest number, by the sign; from 2^127 to there the result wraps, as Leap's
// fixtfti.c does.
func (a F128) Int128() (lo, hi uint64) {
	lo, hi, large := a.integer()
	negative := a.Hi&sign128 != 0
	switch {
	case large && negative:
		return 0, 1 << 63
	case large:
		return ^uint64(0), 1<<63 - 1
	case negative:
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, borrow)
	}
	return lo, hi
}

// Uint128 truncates a (__fixunstfti). What has more than 128 bits, and NaN, is the
// largest number; what has a sign is 0.
func (a F128) Uint128() (lo, hi uint64) {
	if a.Hi&sign128 != 0 {
		return 0, 0
	}
	lo, hi, large := a.integer()
	if large {
		return ^uint64(0), ^uint64(0)
	}
	return lo, hi
}

// F128FromUint64 is exact (__floatunditf).
func F128FromUint64(v uint64) F128 {
	if v == 0 {
		return F128{}
	}
	shift := uint(bits.LeadingZeros64(v))
	return number{exp: 63 - int32(shift), hi: v << shift}.pack()
}

// F128FromInt64 is exact (__floatditf).
func F128FromInt64(v int64) F128 {
	if v < 0 {
		return F128FromUint64(-uint64(v)).Neg()
	}
	return F128FromUint64(uint64(v))
}

// F128FromInt32 is exact (__floatsitf).
func F128FromInt32(v int32) F128 { return F128FromInt64(int64(v)) }

// F128FromUint32 is exact (__floatunsitf).
func F128FromUint32(v uint32) F128 { return F128FromUint64(uint64(v)) }
