package softfloat

import "math"

// F64 promotes a. A NaN becomes quiet and keeps its sign and payload.
func (a F32) F64() F64 {
	if a.IsNaN() {
		return F64(a&sign32)<<32 | inf64 | quiet64 | F64(a&^sign32&^inf32)<<29
	}
	return F64(math.Float64bits(float64(a.float())))
}

// F128 is __extendsftf2.
func (a F32) F128() F128 { return a.F64().F128() }

// Int128 is __fixsfti: see [F64.Int128].
func (a F32) Int128() (lo, hi uint64) { return a.F64().Int128() }

// Uint128 is __fixunssfti: see [F64.Uint128].
func (a F32) Uint128() (lo, hi uint64) { return a.F64().Uint128() }
