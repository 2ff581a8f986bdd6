package types

import (
	"encoding/hex"
	"math/big"
	"math/bits"
	"strconv"
	"strings"

	"tarn/antelope/exception"
	"tarn/antelope/serial"
)

// U128 returns v as a 128-bit integer.
func U128(v uint64) Uint128 { return Uint128{Lo: v} }

// Mul64 returns the whole product of a and b.
func Mul64(a, b uint64) Uint128 {
	hi, lo := bits.Mul64(a, b)
	return Uint128{lo, hi}
}

// IsZero tells whether u is 0.
func (u Uint128) IsZero() bool { return u.Lo|u.Hi == 0 }

// Compare orders numbers by value.
func (u Uint128) Compare(v Uint128) int {
	switch {
	case u == v:
		return 0
	case u.Hi < v.Hi || u.Hi == v.Hi && u.Lo < v.Lo:
		return -1
	}
	return 1
}

// Add returns u + v modulo 2^128.
func (u Uint128) Add(v Uint128) Uint128 {
	lo, carry := bits.Add64(u.Lo, v.Lo, 0)
	hi, _ := bits.Add64(u.Hi, v.Hi, carry)
	return Uint128{lo, hi}
}

// Sub returns u - v modulo 2^128.
func (u Uint128) Sub(v Uint128) Uint128 {
	lo, borrow := bits.Sub64(u.Lo, v.Lo, 0)
	hi, _ := bits.Sub64(u.Hi, v.Hi, borrow)
	return Uint128{lo, hi}
}

// Mul returns u * v modulo 2^128.
func (u Uint128) Mul(v Uint128) Uint128 {
	hi, lo := bits.Mul64(u.Lo, v.Lo)
	return Uint128{lo, hi + u.Hi*v.Lo + u.Lo*v.Hi}
}

// Div64 returns the quotient and the remainder of u by v, which must not be 0.
func (u Uint128) Div64(v uint64) (q Uint128, r uint64) {
	q.Hi, r = u.Hi/v, u.Hi%v
	q.Lo, r = bits.Div64(r, u.Lo, v)
	return q, r
}

// Div returns the quotient and the remainder of u by v, which must not be 0.
func (u Uint128) Div(v Uint128) (q, r Uint128) {
	if v.Hi == 0 {
		q, rem := u.Div64(v.Lo)
		return q, U128(rem)
	}
	// v has more than 64 bits, so the quotient has at most 64: divide the halves
	// by v's highest 64 bits, which is one too much at most.
	shift := uint(bits.LeadingZeros64(v.Hi))
	top := v.Hi<<shift | (v.Lo>>1)>>(63-shift)
	half := Uint128{u.Lo>>1 | u.Hi<<63, u.Hi >> 1}
	estimate, _ := bits.Div64(half.Hi, half.Lo, top)
	estimate >>= 63 - shift
	if estimate != 0 {
		estimate--
	}
	q = U128(estimate)
	r = u.Sub(v.Mul(q))
	if r.Compare(v) >= 0 {
		q = q.Add(U128(1))
		r = r.Sub(v)
	}
	return q, r
}

// AppendText appends u in decimal.
func (u Uint128) AppendText(b []byte) []byte {
	if u.Hi == 0 {
		return strconv.AppendUint(b, u.Lo, 10)
	}
	const chunk = 10_000_000_000_000_000_000 // 19 digits
	q, r := u.Div64(chunk)
	b = q.AppendText(b)
	low := strconv.FormatUint(r, 10)
	return append(append(b, "0000000000000000000"[len(low):]...), low...)
}

// String returns u in decimal.
func (u Uint128) String() string { return string(u.AppendText(nil)) }

// AppendText appends v in decimal.
func (v Int128) AppendText(b []byte) []byte {
	u := Uint128(v)
	if v.Hi>>63 != 0 {
		u = Uint128{}.Sub(u)
		b = append(b, '-')
	}
	return u.AppendText(b)
}

// String returns v in decimal.
func (v Int128) String() string { return string(v.AppendText(nil)) }

// Compare orders numbers by value.
func (v Int128) Compare(w Int128) int {
	const sign = 1 << 63
	return Uint128{v.Lo, v.Hi ^ sign}.Compare(Uint128{w.Lo, w.Hi ^ sign})
}

// ParseInteger reads a number as boost::multiprecision does for integers of all sizes:
// decimal, hex after 0x, octal after 0, after a minus if there is one; no digits are 0. What
// does not fit its type is the caller's to cut off. It returns nil for what is no number.
func ParseInteger(s string) *big.Int {
	if len(s) > 1000 { // would take long, and can be meant by nobody
		return nil
	}
	digits, negative := strings.CutPrefix(s, "-")
	base := 10
	switch {
	case strings.HasPrefix(digits, "0x") || strings.HasPrefix(digits, "0X"):
		base, digits = 16, digits[2:]
	case strings.HasPrefix(digits, "0"):
		base, digits = 8, digits[1:]
	}
	n := new(big.Int)
	if digits != "" {
		if strings.ContainsAny(digits, "_+-") {
			return nil
		}
		if _, ok := n.SetString(digits, base); !ok {
			return nil
		}
	}
	if negative {
		n.Neg(n)
	}
	return n
}

// parse128 reads a number; a magnitude that is over wraps.
func parse128(s string) (magnitude Uint128, negative bool, err error) {
	n := ParseInteger(s)
	if n == nil {
		return magnitude, false, exception.New(exception.FCStd,
			"Unexpected content found while parsing character string.")
	}
	negative = n.Sign() < 0
	n.Abs(n)
	mask := new(big.Int).SetUint64(1<<64 - 1)
	magnitude.Lo = new(big.Int).And(n, mask).Uint64()
	magnitude.Hi = new(big.Int).And(n.Rsh(n, 64), mask).Uint64()
	return magnitude, negative, nil
}

// ParseUint128 reads a number in decimal, in hex after 0x, or in octal after 0.
// What does not fit wraps.
func ParseUint128(s string) (Uint128, error) {
	u, negative, err := parse128(s)
	if negative {
		u = Uint128{}.Sub(u)
	}
	return u, err
}

// ParseInt128 reads a number in decimal, in hex after 0x, or in octal after 0. A
// magnitude that is over 127 bits becomes the number that is next to it, one that
// is over 128 wraps first.
func ParseInt128(s string) (Int128, error) {
	u, negative, err := parse128(s)
	const top = 1 << 63
	switch {
	case u.Hi < top:
	case negative:
		u = Uint128{Hi: top}
	default:
		u = Uint128{Lo: 1<<64 - 1, Hi: top - 1}
	}
	if negative {
		u = Uint128{}.Sub(u)
	}
	return Int128(u), err
}

// AppendText appends "0x" and the sixteen bytes of the encoding in hex.
func (f Float128) AppendText(b []byte) []byte {
	var raw [16]byte
	return hex.AppendEncode(append(b, "0x"...), f.Append(raw[:0]))
}

// String returns "0x" and the sixteen bytes of the encoding in hex.
func (f Float128) String() string { return string(f.AppendText(nil)) }

// Append appends sixteen bytes, little-endian.
func (u Uint128) Append(b []byte) []byte {
	return serial.AppendUint64(serial.AppendUint64(b, u.Lo), u.Hi)
}

// Append appends sixteen bytes, little-endian.
func (v Int128) Append(b []byte) []byte { return Uint128(v).Append(b) }

// Append appends sixteen bytes, little-endian.
func (f Float128) Append(b []byte) []byte { return Uint128(f).Append(b) }

// Read reads sixteen bytes.
func (u *Uint128) Read(r *serial.Reader) { u.Lo, u.Hi = r.Uint64(), r.Uint64() }

// Read reads sixteen bytes.
func (v *Int128) Read(r *serial.Reader) { v.Lo, v.Hi = r.Uint64(), r.Uint64() }

// Read reads sixteen bytes.
func (f *Float128) Read(r *serial.Reader) { f.Lo, f.Hi = r.Uint64(), r.Uint64() }
