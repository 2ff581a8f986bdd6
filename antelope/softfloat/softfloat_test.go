package softfloat

import (
	"math"
	"testing"
)

func quad(v float64) F128 { return F64(math.Float64bits(v)).F128() }

func TestNaNsAreThoseOfSoftFloat(t *testing.T) {
	const (
		signalling32, quietA32 F32 = 0x7f800001, 0xffc12345
		signalling64           F64 = 0xfff0000000000001
	)
	for i, c := range []struct{ got, want F32 }{
		{F128{1, inf128}.F32(), 0x7fc00000}, {F128{0, sign128 | inf128 | 1<<25}.F32(), 0xffc00001},
	} {
		if c.got != c.want {
			t.Errorf("case %d of singles: %08x, want %08x", i, c.got, c.want)
		}
	}
	for i, c := range []struct{ got, want F64 }{
		{signalling32.F64(), 0x7ff8000020000000}, {quietA32.F64(), 0xfff82468a0000000},
		{F128{1, sign128 | inf128}.F64(), 0xfff8000000000000}, {F128{1 << 60, inf128 | 1}.F64(), 0x7ff8000000000011},
	} {
		if c.got != c.want {
			t.Errorf("case %d of doubles: %016x, want %016x", i, c.got, c.want)
		}
	}
	signalling, quietA, quietB := F128{5, inf128}, F128{7, 0xffff800000000001}, F128{0, 0x7fff800000000000}
	invalid := F128{Hi: nan128}
	inf := F128{Hi: inf128}
	for i, c := range []struct{ got, want F128 }{
		{signalling.Add(quietA), F128{5, inf128 | quiet128}}, {quietA.Add(signalling), quietA},
		{quietB.Sub(quietA), quietB},
		{quad(1).Sub(quietA), quietA}, {quad(0).Mul(signalling), F128{5, inf128 | quiet128}},
		{quietA.Div(quad(0)), quietA},
		{inf.Sub(inf), invalid}, {inf.Add(inf.Neg()), invalid}, {inf.Mul(quad(0)), invalid},
		{quad(0).Mul(inf.Neg()), invalid},
		{inf.Div(inf), invalid}, {quad(0).Div(quad(0)), invalid}, {quad(1).Div(quad(0).Neg()), inf.Neg()},
		{inf.Add(quad(1)), inf}, {quad(1).Sub(inf), inf.Neg()}, {inf.Mul(quad(-2)), inf.Neg()},
		{quad(-2).Div(inf), quad(0).Neg()},
		{signalling.Neg(), F128{5, sign128 | inf128}},
		{signalling32.F128(), F128{0, 0x7fff800002000000}}, {signalling64.F128(), F128{1 << 60, 0xffff800000000000}},
		{F32(inf32 | sign32).F128(), inf.Neg()}, {inf64.F128(), inf},
	} {
		if c.got != c.want {
			t.Errorf("case %d of quadruples: %016x, want %016x", i, c.got, c.want)
		}
	}
}

func TestComparisonsKnowUnordered(t *testing.T) {
	nan := F128{1, inf128}
	for _, u := range []int32{-1, 0, 1} {
		if nan.Compare(quad(1), u) != u || quad(1).Compare(nan, u) != u || nan.Compare(nan, u) != u {
			t.Errorf("a NaN compares as other than %d", u)
		}
	}
	if nan.Eq(nan) || nan.Lt(quad(1)) || !nan.Unordered(quad(0)) || quad(0).Unordered(quad(1)) {
		t.Error("a NaN has an order")
	}
	if !quad(0).Eq(quad(0).Neg()) || quad(0).Neg().Lt(quad(0)) || quad(0).Compare(quad(0).Neg(), 9) != 0 {
		t.Error("zeros differ")
	}
}

func TestQuadruplesBecomeIntegersToNearest(t *testing.T) {
	tiny := F128{Lo: 1}
	for _, c := range []struct {
		v   F128
		i32 int32
		u32 uint32
		i64 int64
		u64 uint64
	}{
		// too small to matter
		{quad(0.5), 0, 0, 0, 0}, {quad(1.5), 2, 2, 2, 2}, {quad(2.5), 2, 2, 2, 2}, {quad(0.5).Add(tiny), 0, 0, 0, 0},
		{F128{1, 0x3ffe000000000000}, 1, 1, 1, 1}, {quad(-0.5), 0, 0, 0, 0}, {tiny.Neg(), 0, 0, 0, 0},
		{quad(-0.75), -1, math.MaxUint32, -1, math.MaxUint64}, {quad(-1.5), -2, math.MaxUint32, -2, math.MaxUint64},
		{quad(math.MaxInt32 + 0.5), math.MinInt32, 1 << 31, 1 << 31, 1 << 31},
		{quad(math.MaxInt32 + 0.25), math.MaxInt32, math.MaxInt32, math.MaxInt32, math.MaxInt32},
		{quad(math.MinInt32 - 0.5), math.MinInt32, math.MaxUint32, math.MinInt32, math.MaxUint64},
		{quad(math.MaxUint32 + 0.5), math.MinInt32, math.MaxUint32, 1 << 32, 1 << 32},
		{F128FromInt64(math.MaxInt64).Add(quad(0.25)), math.MinInt32, math.MaxUint32, math.MaxInt64, math.MaxInt64},
		{F128FromInt64(math.MaxInt64).Add(quad(0.5)), math.MinInt32, math.MaxUint32, math.MinInt64, 1 << 63},
		{F128FromInt64(math.MinInt64), math.MinInt32, math.MaxUint32, math.MinInt64, math.MaxUint64},
		{F128FromUint64(math.MaxUint64).Add(quad(0.25)), math.MinInt32, math.MaxUint32, math.MinInt64, math.MaxUint64},
		{quad(1 << 64), math.MinInt32, math.MaxUint32, math.MinInt64, math.MaxUint64},
		{F128{Hi: inf128}, math.MinInt32, math.MaxUint32, math.MinInt64, math.MaxUint64},
		{F128{Hi: nan128}, math.MinInt32, math.MaxUint32, math.MinInt64, math.MaxUint64},
	} {
		if g := c.v.Int32(); g != c.i32 {
			t.Errorf("%016x: int32 %d, want %d", c.v, g, c.i32)
		}
		if g := c.v.Uint32(); g != c.u32 {
			t.Errorf("%016x: uint32 %d, want %d", c.v, g, c.u32)
		}
		if g := c.v.Int64(); g != c.i64 {
			t.Errorf("%016x: int64 %d, want %d", c.v, g, c.i64)
		}
		if g := c.v.Uint64(); g != c.u64 {
			t.Errorf("%016x: uint64 %d, want %d", c.v, g, c.u64)
		}
	}
}

func TestWideIntegersAreTruncatedAndSaturate(t *testing.T) {
	const maxU = math.MaxUint64
	two127 := quad(math.Ldexp(1, 127))
	for _, c := range []struct {
		v              F128
		il, ih, ul, uh uint64
	}{
		{quad(0.99), 0, 0, 0, 0}, {quad(-0.99), 0, 0, 0, 0}, {quad(1.99), 1, 0, 1, 0}, {quad(-1.99), maxU, maxU, 0, 0},
		{quad(1 << 63), 1 << 63, 0, 1 << 63, 0}, {quad(1 << 64), 0, 1, 0, 1}, {quad(-1 << 64), 0, maxU, 0, 0},
		{quad(math.Ldexp(1, 112)), 0, 1 << 48, 0, 1 << 48}, {F128{1, 0x3fff<<48 + 112<<48}, 1, 1 << 48, 1, 1 << 48},
		{two127, 0, 1 << 63, 0, 1 << 63}, {two127.Neg(), 0, 1 << 63, 0, 0},
		{two127.Mul(quad(1.5)), 0, 3 << 62, 0, 3 << 62}, {two127.Mul(quad(-1.5)), 0, 1 << 62, 0, 0},
		{quad(math.Ldexp(1, 128)), maxU, maxU >> 1, maxU, maxU}, {quad(math.Ldexp(-1, 128)), 0, 1 << 63, 0, 0},
		{F128{Hi: inf128}, maxU, maxU >> 1, maxU, maxU}, {F128{Hi: nan128}, 0, 1 << 63, 0, 0},
		{F128{1, inf128}, maxU, maxU >> 1, maxU, maxU},
	} {
		if lo, hi := c.v.Int128(); lo != c.il || hi != c.ih {
			t.Errorf("%016x: int128 %016x:%016x, want %016x:%016x", c.v, hi, lo, c.ih, c.il)
		}
		if lo, hi := c.v.Uint128(); lo != c.ul || hi != c.uh {
			t.Errorf("%016x: uint128 %016x:%016x, want %016x:%016x", c.v, hi, lo, c.uh, c.ul)
		}
	}
	if lo, hi := F32(0x7f7fffff).Int128(); lo != 0 || hi != 0xffffff<<40 {
		t.Errorf("the largest single wraps to %016x:%016x", hi, lo)
	}
	if lo, hi := F64(0xfff8000000000000).Uint128(); lo|hi != 0 {
		t.Error("a negative NaN is no 0")
	}
}

func TestNumbersArePrintedAsByNodeos(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{string(F32(0x3f800000).AppendScientific(nil)), "1.000000e+00"},
		{string(F32(0x7f7fffff).AppendScientific(nil)), "3.402823e+38"},
		{string(F32(0x80000001).AppendScientific(nil)), "-1.401298e-45"},
		{string(F32(0x7f800000).AppendScientific(nil)), "inf"},
		{string(F32(0xffc00000).AppendScientific(nil)), "-nan"},
		{string(F64(0x3fe0000000000000).AppendScientific(nil)), "5.000000000000000e-01"},
		{string(F64(0xffefffffffffffff).AppendScientific(nil)), "-1.797693134862316e+308"},
		{string(F64(0x8000000000000000).AppendScientific(nil)), "-0.000000000000000e+00"},
		{string(F64(0xfff0000000000000).AppendScientific(nil)), "-inf"},
		{string(F64(0x7ff0000000000001).AppendScientific(nil)), "nan"},
		{string(quad(0.5).AppendScientific(nil)), "5.000000000000000000e-01"},
		{string(quad(-3.75).AppendScientific(nil)), "-3.750000000000000000e+00"},
		{string(quad(0).Neg().AppendScientific(nil)), "-0.000000000000000000e+00"},
		{string(F128{math.MaxUint64, 0x3ffeffffffffffff}.AppendScientific(nil)), "1.000000000000000000e+00"},
		{string(F128{math.MaxUint64, 0x7ffeffffffffffff}.AppendScientific(nil)), "inf"},
		{string(F128{0, 0x7ffeffffffffffff}.AppendScientific(nil)), "1.189731495357229652e+4932"},
		{string(F128{Lo: 1}.AppendScientific(nil)), "0.000000000000000000e+00"},
		{string(F128{Hi: 1}.AppendScientific(nil)), "1.194458982607249278e-4946"},
		{string(F128{Hi: 1 << 34}.AppendScientific(nil)), "2.052064906684627384e-4936"},
		{string(F128{Hi: inf128 | sign128}.AppendScientific(nil)), "-inf"},
		{string(F128{Hi: nan128}.AppendScientific(nil)), "-nan"},
	} {
		if c.got != c.want {
			t.Errorf("printed %s, want %s", c.got, c.want)
		}
	}
}
