package softfloat

import (
	"flag"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

var seedFlag = flag.Uint64("softfloat.seed", 1, "seed of the random tests")

func random(t *testing.T) *rand.Rand {
	t.Helper()
	t.Logf("repeat with -softfloat.seed=%d", *seedFlag)
	return rand.New(rand.NewPCG(*seedFlag, 0))
}

// format is a binary floating-point format: the bits of its significand, the
// implicit one included, and of its exponent.
type format struct{ width, exp int }

var (
	single    = format{24, 8}
	double    = format{53, 11}
	quadruple = format{113, 15}
)

// refPrec is enough for one operation on quadruples, cut off, to be rounded right:
// what is cut off is known as inexactness.
const refPrec = 260

// reference rounds v, which was cut off if inexact, to a format: to nearest, ties to
// even. It returns the bits without the sign.
func (f format) reference(v *big.Float, inexact bool) *big.Int {
	bias := 1<<(f.exp-1) - 1
	if v.Sign() == 0 {
		return new(big.Int)
	}
	mant := new(big.Float)
	exp := v.MantExp(mant) - 1
	m, _ := mant.Abs(mant).SetMantExp(mant, refPrec).Int(nil)
	m.Lsh(m, 1)
	if inexact {
		m.SetBit(m, 0, 1)
	}
	drop := m.BitLen() - f.width
	biased := exp + bias
	if biased < 1 {
		drop += 1 - biased
		biased = 0
	}
	q := new(big.Int).Rsh(m, uint(drop))
	rest := new(big.Int).Sub(m, new(big.Int).Lsh(q, uint(drop)))
	c := rest.Cmp(new(big.Int).Lsh(big.NewInt(1), uint(drop-1)))
	if c > 0 || c == 0 && q.Bit(0) == 1 {
		q.Add(q, big.NewInt(1))
	}
	q.Add(q, new(big.Int).Lsh(big.NewInt(int64(max(biased-1, 0))), uint(f.width-1)))
	if inf := new(big.Int).Lsh(big.NewInt(1<<f.exp-1), uint(f.width-1)); q.Cmp(inf) > 0 {
		return inf
	}
	return q
}

func bigOf(a F128) *big.Float {
	n := a.unpack()
	m := new(big.Int).SetUint64(n.hi)
	m.Lsh(m, 64).Or(m, new(big.Int).SetUint64(n.lo))
	v := new(big.Float).SetPrec(refPrec).SetMode(big.ToZero).SetInt(m)
	v.SetMantExp(v, int(n.exp)-127)
	if n.sign != 0 {
		v.Neg(v)
	}
	return v
}

func f128Of(sign bool, bits *big.Int) F128 {
	mask := new(big.Int).SetUint64(math.MaxUint64)
	f := F128{Lo: new(big.Int).And(bits, mask).Uint64(), Hi: new(big.Int).Rsh(bits, 64).Uint64()}
	if sign {
		f.Hi |= sign128
	}
	return f
}

// roundTo returns v in quadruple precision; a zero has the sign given.
func roundTo(v *big.Float, negativeZero bool) F128 {
	return f128Of(v.Sign() < 0 || v.Sign() == 0 && negativeZero, quadruple.reference(v, v.Acc() != big.Exact))
}

// expect is what an operation on finite numbers must give.
func expect(op byte, a, b F128) F128 {
	x, y := bigOf(a), bigOf(b)
	negA, negB := a.Hi>>63 != 0, b.Hi>>63 != 0
	z := new(big.Float).SetPrec(refPrec).SetMode(big.ToZero)
	switch op {
	case '-':
		y.Neg(y)
		negB = !negB
		fallthrough
	case '+':
		z.Add(x, y)
		return roundTo(z, negA && negB)
	case '*':
		return roundTo(z.Mul(x, y), negA != negB)
	}
	if y.Sign() == 0 {
		if x.Sign() == 0 {
			return F128{Hi: nan128}
		}
		return F128{Hi: (a.Hi^b.Hi)&sign128 | inf128}
	}
	return roundTo(z.Quo(x, y), negA != negB)
}

var operations = map[byte]func(a, b F128) F128{'+': F128.Add, '-': F128.Sub, '*': F128.Mul, '/': F128.Div}

func (a F128) finite() bool { return a.Hi&inf128 != inf128 }

// pattern returns random bits with long runs.
func pattern(r *rand.Rand) uint64 {
	switch r.IntN(6) {
	case 0:
		return 0
	case 1:
		return math.MaxUint64
	case 2:
		return 1 << r.IntN(64)
	case 3:
		return 1<<r.IntN(64) - 1
	}
	return r.Uint64()
}

func randomF128(r *rand.Rand) F128 {
	a := F128{pattern(r), pattern(r)}
	exponents := []uint64{0, 1, 2, 112, 113, 0x3fff, 0x7ffe, 0x7ffd, 0x5fff, 0x1fff, 0x3fff - 16382/2, bias128 - 1074,
		bias128 - 149}
	switch r.IntN(4) {
	case 0:
		a.Hi = a.Hi&^inf128 | exponents[r.IntN(len(exponents))]<<48
	case 1:
		a.Hi = a.Hi&^inf128 | uint64(bias128-10+r.IntN(150))<<48
	case 2:
		a.Hi = a.Hi&^inf128 | uint64(bias128-1090+r.IntN(70))<<48
	}
	return a
}

// near returns something close to a in value or bits.
func near(r *rand.Rand, a F128) F128 {
	a.Lo += uint64(r.IntN(5)) - 2
	a.Hi ^= uint64(r.IntN(2)) << 63
	a.Hi += uint64(r.IntN(3)) << 48 * uint64(r.IntN(60))
	return a
}

func TestQuadruplesAreRoundedAsExactResultsAre(t *testing.T) {
	r := random(t)
	for range 30_000 {
		a, b := randomF128(r), randomF128(r)
		if r.IntN(3) == 0 {
			b = near(r, a)
		}
		if !a.finite() || !b.finite() {
			continue
		}
		for op, do := range operations {
			if got, want := do(a, b), expect(op, a, b); got != want {
				t.Fatalf("%016x %c %016x = %016x, want %016x", a, op, b, got, want)
			}
		}
		c := bigOf(a).Cmp(bigOf(b))
		if a.Lt(b) != (c < 0) || a.Eq(b) != (c == 0) || a.Compare(b, 9) != int32(c) {
			t.Fatalf("%016x and %016x compare wrongly", a, b)
		}
	}
}

func FuzzF128(f *testing.F) {
	f.Add(uint64(1), uint64(0x3fff000000000000), uint64(0), uint64(0xbffe000000000000))
	f.Add(uint64(0), uint64(1), uint64(math.MaxUint64), uint64(0x7ffeffffffffffff))
	f.Fuzz(func(t *testing.T, al, ah, bl, bh uint64) {
		a, b := F128{al, ah}, F128{bl, bh}
		for op, do := range operations {
			got := do(a, b)
			switch {
			case a.IsNaN() || b.IsNaN():
				if want := nanOf128(a, b); got != want {
					t.Fatalf("%016x %c %016x = %016x, want %016x", a, op, b, got, want)
				}
			case a.finite() && b.finite():
				if want := expect(op, a, b); got != want {
					t.Fatalf("%016x %c %016x = %016x, want %016x", a, op, b, got, want)
				}
			}
		}
	})
}

func TestQuadruplesAreNarrowedWithOneRounding(t *testing.T) {
	r := random(t)
	for range 60_000 {
		a := randomF128(r)
		if !a.finite() {
			continue
		}
		sign := a.Hi >> 63
		if got, want := a.F64(), F64(double.reference(bigOf(a), false).Uint64()|sign<<63); got != want {
			t.Fatalf("%016x is %016x as a double, want %016x", a, got, want)
		}
		if got, want := a.F32(), F32(single.reference(bigOf(a), false).Uint64()|sign<<31); got != want {
			t.Fatalf("%016x is %08x as a single, want %08x", a, got, want)
		}
	}
}

func TestDoublesAndSinglesWidenExactly(t *testing.T) {
	r := random(t)
	for range 60_000 {
		d := F64(pattern(r))
		if r.IntN(3) == 0 {
			d &= 0x800fffffffffffff // zero or subnormal
		}
		if !d.IsNaN() && d&^sign64 != inf64 {
			w := d.F128()
			if v, _ := bigOf(w).Float64(); v != d.float() || w.F64() != d {
				t.Fatalf("%016x widens to %016x", d, w)
			}
		}
		s := F32(pattern(r))
		if r.IntN(3) == 0 {
			s &= 0x807fffff
		}
		if !s.IsNaN() && s&^sign32 != inf32 {
			if w := s.F128(); w.F32() != s || w.F64() != s.F64() {
				t.Fatalf("%08x widens to %016x", s, w)
			}
		}
	}
}

// wantNumber compares a number made of an integer with the exact result.
func wantNumber(t *testing.T, f format, op string, got uint64, v *big.Float, negativeZero bool) {
	t.Helper()
	want := f.reference(v, v.Acc() != big.Exact).Uint64()
	if v.Sign() < 0 || v.Sign() == 0 && negativeZero {
		want |= 1 << (f.width + f.exp - 1)
	}
	if got != want {
		t.Fatalf("%s: %x, want %x", op, got, want)
	}
}

func TestIntegersAreRoundedOnce(t *testing.T) {
	r := random(t)
	for range 60_000 {
		lo, hi := pattern(r), pattern(r)
		if r.IntN(2) == 0 {
			hi >>= r.IntN(64)
		}
		u := new(big.Int).SetUint64(hi)
		u.Lsh(u, 64).Or(u, new(big.Int).SetUint64(lo))
		s := new(big.Int).Set(u)
		if hi>>63 != 0 {
			s.Sub(s, new(big.Int).Lsh(big.NewInt(1), 128))
		}
		for _, c := range []struct {
			name string
			f    format
			got  uint64
			v    *big.Int
		}{
			{"double of uint128", double, uint64(F64FromUint128(lo, hi)), u},
			{"double of int128", double, uint64(F64FromInt128(lo, hi)), s},
			{"double of int32", double, uint64(F64FromInt32(int32(lo))), big.NewInt(int64(int32(lo)))},
		} {
			v := new(big.Float).SetPrec(refPrec).SetInt(c.v)
			wantNumber(t, c.f, c.name+" "+c.v.String(), c.got, v, false)
		}
		for _, c := range []struct {
			got  F128
			want *big.Int
		}{
			{F128FromUint64(lo), new(big.Int).SetUint64(lo)}, {F128FromInt64(int64(lo)), big.NewInt(int64(lo))},
			{F128FromUint32(uint32(lo)), big.NewInt(int64(uint32(lo)))},
			{F128FromInt32(int32(lo)), big.NewInt(int64(int32(lo)))},
		} {
			if v, acc := bigOf(c.got).Int(nil); v.Cmp(c.want) != 0 || acc != big.Exact {
				t.Fatalf("%s became %s", c.want, v)
			}
		}
	}
}

// Printed numbers against the exact decimal conversion of the standard library.
func FuzzPrint(f *testing.F) {
	f.Add(uint64(0), uint64(0x3fff000000000000))
	f.Add(uint64(math.MaxUint64), uint64(0x7ffeffffffffffff))
	f.Add(uint64(1)<<49, uint64(0))
	extended := format{64, 15}
	f.Fuzz(func(t *testing.T, lo, hi uint64) {
		a := F128{lo, hi}
		got := string(a.AppendScientific(nil))
		if !a.finite() {
			return
		}
		bits := extended.reference(bigOf(a), false)
		exp := new(big.Int).Rsh(bits, 63).Uint64()
		m := new(big.Int).And(bits, new(big.Int).SetUint64(1<<63-1))
		if exp > 0 {
			m.SetBit(m, 63, 1)
		}
		v := new(big.Float).SetPrec(64).SetInt(m)
		v.SetMantExp(v, int(max(exp, 1))-bias128-63)
		if a.Hi>>63 != 0 {
			v.Neg(v)
		}
		want := v.Text('e', 18)
		if exp == max128 {
			want = got[:len(got)-3] + "inf"
		}
		if got != want {
			t.Fatalf("%016x: %s, want %s", a, got, want)
		}
	})
}
