package intrinsic

import (
	"math"
	"math/big"
	"math/rand/v2"

	"tarn/antelope/exception"
)

// values are halves of numbers that are worth trying, in pairs with each other.
var values = []uint64{0, 1, 2, 3, 10, 1<<32 - 1, 1 << 32, 1<<63 - 1, 1 << 63, 1<<63 + 1, ^uint64(0) - 1, ^uint64(0),
	0x0123456789abcdef}

var modulo = new(big.Int).Lsh(big.NewInt(1), 128)

func wide(lo, hi uint64) *big.Int {
	v := new(big.Int).SetUint64(hi)
	return v.Lsh(v, 64).Or(v, new(big.Int).SetUint64(lo))
}

func wideSigned(lo, hi uint64) *big.Int {
	v := wide(lo, hi)
	if hi>>63 != 0 {
		v.Sub(v, modulo)
	}
	return v
}

// leaves expects the number v, wrapped, at 104 and at an odd place.
func (h *harness) leaves(v *big.Int, fn string, args ...uint64) {
	h.Helper()
	v = new(big.Int).Mod(v, modulo)
	for _, p := range []uint64{104, 201} {
		h.call(fn, append([]uint64{p}, args...)...)
		if got := wide(h.word(int(p)), h.word(int(p)+8)); got.Cmp(v) != 0 {
			h.Fatalf("%s%x leaves %x, want %x", fn, args, got, v)
		}
	}
	if h.word(120) != 0 || h.word(217) != 0 {
		h.Errorf("%s writes too much", fn)
	}
}

func operation(fn string, signed, divides bool, op func(a, b *big.Int) *big.Int) behaviour {
	return func(h *harness) {
		number := wide
		if signed {
			number = wideSigned
		}
		r := rand.New(rand.NewPCG(1, 2))
		pick := func() uint64 {
			if r.IntN(4) == 0 {
				return r.Uint64() >> r.IntN(64)
			}
			return values[r.IntN(len(values))]
		}
		for n := 0; n < 5000; n++ {
			la, ha, lb, hb := pick(), pick(), pick(), pick()
			if divides && lb|hb == 0 {
				h.fails(exception.Arithmetic, "divide by zero", fn, 104, la, ha, 0, 0)
				continue
			}
			h.leaves(op(number(la, ha), number(lb, hb)), fn, la, ha, lb, hb)
		}
	}
}

func shift(fn string, signed bool, op func(v *big.Int, n uint) *big.Int, mask uint32) behaviour {
	return func(h *harness) {
		for _, lo := range values {
			for _, hi := range values {
				for _, n := range []uint32{0, 1, 31, 63, 64, 65, 100, 127, 128, 129, 192, 255, 1 << 31} {
					v := wide(lo, hi)
					if signed {
						v = wideSigned(lo, hi)
					}
					h.leaves(op(v, min(uint(n&mask), 1000)), fn, lo, hi, uint64(n))
				}
			}
		}
	}
}

// Quadruples, as the high half where the low one is 0.
const (
	quadOne   = 0x3fff000000000000
	quadTwo   = 0x4000000000000000
	quadThree = 0x4000800000000000
	quadHalf  = 0x3ffe000000000000
	quadNaN   = 0x7fff800000000000
	minus     = 1 << 63
)

// makes expects a quadruple with a low half of 0.
func makes(fn string, want uint64, args ...uint64) behaviour {
	return func(h *harness) {
		h.Helper()
		h.leaves(wide(0, want), fn, args...)
	}
}

func all(tests ...behaviour) behaviour {
	return func(h *harness) {
		for _, t := range tests {
			t(h)
		}
	}
}

func gives(fn string, want uint64, args ...uint64) behaviour {
	return func(h *harness) { h.returns(want, fn, args...) }
}

func leavesWide(fn string, lo, hi uint64, args ...uint64) behaviour {
	return func(h *harness) { h.leaves(wide(lo, hi), fn, args...) }
}

// compares tests a comparison on less, equal, greater, and NaN on either side.
func compares(fn string, less, equal, greater, unordered int32) behaviour {
	return all(
		gives(fn, i32(less), 0, quadOne, 0, quadTwo), gives(fn, i32(less), 5, quadOne, 6, quadOne),
		gives(fn, i32(less), 0, minus|quadTwo, 0, minus|quadOne),
		gives(fn, i32(equal), 7, quadOne, 7, quadOne), gives(fn, i32(equal), 0, 0, 0, minus),
		gives(fn, i32(greater), 0, quadTwo, 0, quadOne),
		gives(fn, i32(unordered), 0, quadNaN, 0, quadOne), gives(fn, i32(unordered), 0, quadOne, 1, 0x7fff000000000000),
	)
}

func builtinBehaviours() map[string]behaviour {
	f64, f32 := math.Float64bits, func(v float32) uint64 { return uint64(math.Float32bits(v)) }
	ones := ^uint64(0)
	big2 := func(op func(z, a, b *big.Int) *big.Int) func(a, b *big.Int) *big.Int {
		return func(a, b *big.Int) *big.Int { return op(new(big.Int), a, b) }
	}
	left := func(v *big.Int, n uint) *big.Int { return v.Lsh(v, n) }
	right := func(v *big.Int, n uint) *big.Int { return v.Rsh(v, n) }
	return map[string]behaviour{
		"__ashlti3": shift("__ashlti3", false, left, 1<<32-1),
		"__lshlti3": shift("__lshlti3", false, left, 1<<32-1),
		"__lshrti3": shift("__lshrti3", false, right, 1<<32-1),
		"__ashrti3": shift("__ashrti3", true, right, 127),
		"__multi3":  operation("__multi3", true, false, big2((*big.Int).Mul)),
		"__divti3":  operation("__divti3", true, true, big2((*big.Int).Quo)),
		"__modti3":  operation("__modti3", true, true, big2((*big.Int).Rem)),
		"__udivti3": operation("__udivti3", false, true, big2((*big.Int).Quo)),
		"__umodti3": operation("__umodti3", false, true, big2((*big.Int).Rem)),

		"__addtf3": makes("__addtf3", quadThree, 0, quadOne, 0, quadTwo),
		"__subtf3": all(makes("__subtf3", quadOne, 0, quadThree, 0, quadTwo), makes("__subtf3", minus|quadOne, 0, quadTwo, 0, quadThree)),
		"__multf3": makes("__multf3", quadThree, 0, quadThree, 0, quadOne),
		"__divtf3": all(makes("__divtf3", quadHalf, 0, quadOne, 0, quadTwo), makes("__divtf3", quadTwo, 0, quadOne, 0, quadHalf)),
		"__negtf2": all(makes("__negtf2", minus|quadOne, 0, quadOne), leavesWide("__negtf2", 7, quadOne, 7, minus|quadOne)),

		"__extendsftf2": makes("__extendsftf2", minus|quadThree, f32(-3)),
		"__extenddftf2": makes("__extenddftf2", quadHalf, f64(0.5)),
		"__floatsitf":   all(makes("__floatsitf", minus|quadThree, i32(-3)), makes("__floatsitf", 0, 0)),
		"__floatunsitf": leavesWide("__floatunsitf", 0, 0x401efffffffa0000, i32(-3)),
		"__floatditf":   makes("__floatditf", minus|quadThree, ones-2),
		"__floatunditf": leavesWide("__floatunditf", 0xfffa000000000000, 0x403effffffffffff, ones-2),

		"__trunctfdf2": all(gives("__trunctfdf2", f64(-1.5), 0, minus|0x3fff800000000000), gives("__trunctfdf2", f64(1), 1, quadOne)),
		"__trunctfsf2": all(gives("__trunctfsf2", f32(-1.5), 0, minus|0x3fff800000000000), gives("__trunctfsf2", f32(1), 1, quadOne)),
		// To nearest, ties to even: what contracts see, though not what C says.
		"__fixtfsi": all(gives("__fixtfsi", i32(-3), 0, minus|quadThree), gives("__fixtfsi", 2, 0, 0x3fff800000000000),
			gives("__fixtfsi", 1<<31, 0, quadNaN)),
		"__fixtfdi":     all(gives("__fixtfdi", ones-2, 0, minus|quadThree), gives("__fixtfdi", 1<<63, 0, quadNaN)),
		"__fixunstfsi":  all(gives("__fixunstfsi", 3, 0, quadThree), gives("__fixunstfsi", 1<<32-1, 0, minus|quadThree)),
		"__fixunstfdi":  all(gives("__fixunstfdi", 3, 0, quadThree), gives("__fixunstfdi", ones, 0, minus|quadThree)),
		"__floatsidf":   all(gives("__floatsidf", f64(-7), i32(-7)), gives("__floatsidf", f64(math.MinInt32), 1<<31)),
		"__floattidf":   all(gives("__floattidf", f64(-1), ones, ones), gives("__floattidf", f64(0x1p64), 0, 1), gives("__floattidf", f64(-0x1p127), 0, minus)),
		"__floatuntidf": all(gives("__floatuntidf", f64(0x1p128), ones, ones), gives("__floatuntidf", f64(0x1p64+4096), 4096, 1)),

		"__fixtfti": all(leavesWide("__fixtfti", ones-2, ones, 0, minus|quadThree), leavesWide("__fixtfti", ones, ones>>1, 0, quadNaN)),
		"__fixunstfti": all(leavesWide("__fixunstfti", 3, 0, 0, quadThree),
			leavesWide("__fixunstfti", 0, 0, 0, minus|quadThree), leavesWide("__fixunstfti", ones, ones, 0, quadNaN)),
		"__fixsfti":    all(leavesWide("__fixsfti", ones-2, ones, f32(-3.9)), leavesWide("__fixsfti", 0, 1<<36, f32(0x1p100))),
		"__fixunssfti": all(leavesWide("__fixunssfti", 3, 0, f32(3.9)), leavesWide("__fixunssfti", 0, 0, f32(-3.9))),
		"__fixdfti":    all(leavesWide("__fixdfti", ones-2, ones, f64(-3.9)), leavesWide("__fixdfti", 0, 1<<36, f64(0x1p100))),
		"__fixunsdfti": all(leavesWide("__fixunsdfti", 3, 0, f64(3.9)), leavesWide("__fixunsdfti", ones, ones, f64(math.Inf(1)))),

		"__cmptf2":   compares("__cmptf2", -1, 0, 1, 1),
		"__eqtf2":    compares("__eqtf2", -1, 0, 1, 1),
		"__netf2":    compares("__netf2", -1, 0, 1, 1),
		"__letf2":    compares("__letf2", -1, 0, 1, 1),
		"__getf2":    compares("__getf2", -1, 0, 1, -1),
		"__gttf2":    compares("__gttf2", -1, 0, 1, 0),
		"__lttf2":    compares("__lttf2", -1, 0, 1, 0),
		"__unordtf2": compares("__unordtf2", 0, 0, 0, 1),
	}
}
