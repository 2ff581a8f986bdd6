package softfloat

import "math"

// The processor adds, subtracts, multiplies, divides and takes roots of numbers as
// IEEE 754 says, on every platform of Go; NaNs never get there. Each result is
// converted at once, so that no two operations are fused.

// Add returns a + b.
func (a F32) Add(b F32) F32 {
	if a.IsNaN() || b.IsNaN() {
		return nanOf32(a, b)
	}
	return result32(float32(a.float() + b.float()))
}

// Sub returns a - b.
func (a F32) Sub(b F32) F32 {
	if a.IsNaN() || b.IsNaN() {
		return nanOf32(a, b)
	}
	return result32(float32(a.float() - b.float()))
}

// Mul returns a * b.
func (a F32) Mul(b F32) F32 {
	if a.IsNaN() || b.IsNaN() {
		return nanOf32(a, b)
	}
	return result32(float32(a.float() * b.float()))
}

// Div returns a / b.
func (a F32) Div(b F32) F32 {
	if a.IsNaN() || b.IsNaN() {
		return nanOf32(a, b)
	}
	return result32(float32(a.float() / b.float()))
}

// Sqrt returns the square root of a.
func (a F32) Sqrt() F32 {
	if a.IsNaN() {
		return a | quiet32
	}
	// A double has more than twice the bits of a single, so rounding twice does no harm.
	return result32(float32(math.Sqrt(float64(a.float()))))
}

// Min returns the smaller number; -0 is smaller than 0. A NaN is returned as it is,
// a rather than b.
func (a F32) Min(b F32) F32 {
	switch {
	case a.IsNaN():
		return a
	case b.IsNaN():
		return b
	case (a^b)&sign32 != 0:
		if a&sign32 != 0 {
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
func (a F32) Max(b F32) F32 {
	switch {
	case a.IsNaN():
		return a
	case b.IsNaN():
		return b
	case (a^b)&sign32 != 0:
		if a&sign32 != 0 {
			return b
		}
		return a
	case a.Lt(b):
		return b
	}
	return a
}

// Abs clears the sign.
func (a F32) Abs() F32 { return a &^ sign32 }

// Neg inverts the sign.
func (a F32) Neg() F32 { return a ^ sign32 }

// Copysign returns a with the sign of b.
func (a F32) Copysign(b F32) F32 { return a&^sign32 | b&sign32 }

// whole applies a rounding to a number that has a fraction.
func (a F32) whole(round func(float64) float64) F32 {
	if a>>23&0xff >= 127+23 { // large, infinite or NaN
		return a
	}
	return F32(math.Float32bits(float32(round(float64(a.float())))))
}

// Ceil rounds up.
func (a F32) Ceil() F32 { return a.whole(math.Ceil) }

// Floor rounds down.
func (a F32) Floor() F32 { return a.whole(math.Floor) }

// Trunc rounds towards zero.
func (a F32) Trunc() F32 { return a.whole(math.Trunc) }

// Nearest rounds to the nearest integer, ties to even.
func (a F32) Nearest() F32 { return a.whole(math.RoundToEven) }

// Eq tells whether a == b; NaN equals nothing.
func (a F32) Eq(b F32) bool { return a.float() == b.float() }

// Lt tells whether a < b; false for NaN.
func (a F32) Lt(b F32) bool { return a.float() < b.float() }

// Le tells whether a <= b; false for NaN.
func (a F32) Le(b F32) bool { return a.float() <= b.float() }

// F64 promotes a. A NaN becomes quiet and keeps its sign and payload.
func (a F32) F64() F64 {
	if a.IsNaN() {
		return F64(a&sign32)<<32 | inf64 | quiet64 | F64(a&^sign32&^inf32)<<29
	}
	return F64(math.Float64bits(float64(a.float())))
}

// F128 is __extendsftf2.
func (a F32) F128() F128 { return a.F64().F128() }

// Int32 truncates a; ok is false if the result does not fit.
func (a F32) Int32() (v int32, ok bool) { return a.F64().Int32() }

// Uint32 truncates a; ok is false if the result does not fit.
func (a F32) Uint32() (v uint32, ok bool) { return a.F64().Uint32() }

// Int64 truncates a; ok is false if the result does not fit.
func (a F32) Int64() (v int64, ok bool) { return a.F64().Int64() }

// Uint64 truncates a; ok is false if the result does not fit.
func (a F32) Uint64() (v uint64, ok bool) { return a.F64().Uint64() }

// Int128 is __fixsfti: see [F64.Int128].
func (a F32) Int128() (lo, hi uint64) { return a.F64().Int128() }

// Uint128 is __fixunssfti: see [F64.Uint128].
func (a F32) Uint128() (lo, hi uint64) { return a.F64().Uint128() }

// F32FromInt32 rounds v.
func F32FromInt32(v int32) F32 { return F32(math.Float32bits(float32(v))) }

// F32FromUint32 rounds v.
func F32FromUint32(v uint32) F32 { return F32(math.Float32bits(float32(v))) }

// F32FromInt64 rounds v.
func F32FromInt64(v int64) F32 { return F32(math.Float32bits(float32(v))) }

// F32FromUint64 rounds v.
func F32FromUint64(v uint64) F32 { return F32(math.Float32bits(float32(v))) }
