package softfloat

import (
	"math"
	"math/big"
	"strconv"
)

// AppendScientific appends a as printsf prints it: d.dddddde±dd, and inf or nan, with
// a minus where the sign is set.
func (a F32) AppendScientific(b []byte) []byte { return a.F64().appendScientific(b, 6) }

// AppendScientific appends a as printdf prints it, with fifteen digits after the
// point.
func (a F64) AppendScientific(b []byte) []byte { return a.appendScientific(b, 15) }

func (a F64) appendScientific(b []byte, digits int) []byte {
	if a&^sign64 >= inf64 {
		return appendSpecial(b, a&sign64 != 0, a.IsNaN())
	}
	return strconv.AppendFloat(b, a.float(), 'e', digits, 64)
}

func appendSpecial(b []byte, negative, nan bool) []byte {
	if negative {
		b = append(b, '-')
	}
	if nan {
		return append(b, "nan"...)
	}
	return append(b, "inf"...)
}

// AppendScientific appends a as printqf prints it on x86-64: rounded to the 64 bits of
// an 80-bit extended number first, then with eighteen digits after the point (Leap:
// interface::printqf).
func (a F128) AppendScientific(b []byte) []byte {
	negative := a.Hi&sign128 != 0
	switch {
	case a.IsNaN() || a.isInf():
		return appendSpecial(b, negative, a.IsNaN())
	case a.isZero():
		return strconv.AppendFloat(b, math.Copysign(0, 1-2*float64(a.Hi>>63)), 'e', 18, 64)
	}
	n := a.unpack()
	significand, exp := n.hi, n.exp-63
	rest := n.lo
	if shift := 1 - bias128 - n.exp; shift > 0 { // subnormal there too
		significand, rest = shiftRightSticky(significand, rest, uint(min(shift, 128)))
		exp = 1 - bias128 - 63
	}
	const half = 1 << 63
	v := new(big.Int).SetUint64(significand)
	if rest > half || rest == half && significand&1 != 0 {
		v.Add(v, big.NewInt(1))
	}
	if int32(v.BitLen())+exp > bias128+1 {
		return appendSpecial(b, negative, false)
	}
	if negative {
		b = append(b, '-')
	}
	return appendDecimal(b, v, int(exp))
}

// appendDecimal appends v * 2^exp with eighteen digits after the point, rounded to
// nearest, ties to even. It divides once; the decimal conversion of [big.Float] would
// handle all of up to five thousand digits.
func appendDecimal(b []byte, v *big.Int, exp int) []byte {
	const digits = 19
	if v.Sign() == 0 {
		return append(b, "0.000000000000000000e+00"...)
	}
	low, high := power(10, digits-1), power(10, digits)
	// The power of ten of the first digit, by the logarithm: one off at most.
	k := int(math.Floor(float64(v.BitLen()-1+exp) * math.Log10(2)))
	var q *big.Int
	for {
		q = scaleDecimal(v, exp, digits-1-k)
		if q.Cmp(low) < 0 {
			k--
		} else if q.Cmp(high) >= 0 {
			k++
		} else {
			break
		}
	}
	text := q.String()
	b = append(append(append(b, text[0], '.'), text[1:]...), 'e')
	if k < 0 {
		b, k = append(b, '-'), -k
	} else {
		b = append(b, '+')
	}
	if k < 10 {
		b = append(b, '0')
	}
	return strconv.AppendInt(b, int64(k), 10)
}

func power(base, n int) *big.Int {
	return new(big.Int).Exp(big.NewInt(int64(base)), big.NewInt(int64(n)), nil)
}

// scaleDecimal returns v * 2^exp * 10^s, rounded to nearest, ties to even. A result that is
// rounded up to the next number of digits is the same at the next s.
func scaleDecimal(v *big.Int, exp, s int) *big.Int {
	num, den := new(big.Int).Set(v), big.NewInt(1)
	if s >= 0 {
		num.Mul(num, power(5, s))
	} else {
		den = power(5, -s)
	}
	if exp += s; exp >= 0 {
		num.Lsh(num, uint(exp))
	} else {
		den.Lsh(den, uint(-exp))
	}
	q, r := num.QuoRem(num, den, new(big.Int))
	if c := r.Lsh(r, 1).Cmp(den); c > 0 || c == 0 && q.Bit(0) != 0 {
		q.Add(q, big.NewInt(1))
	}
	return q
}
