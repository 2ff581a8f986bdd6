package intrinsic

import (
	"math/bits"

	"tarn/antelope/exception"
	"tarn/antelope/softfloat"
	"tarn/antelope/types"
	"tarn/antelope/wasm"
)

// integerEntries are what compilers call for integers of 128 bits, which they hand
// over as the low and the high half (Leap: webassembly/compiler_builtins.cpp).
func integerEntries() []entry {
	shift := []arg{ref16, u64, u64, u32}
	binary := []arg{ref16, u64, u64, u64, u64}
	return []entry{
		{"__ashlti3", anywhere, shift, none, price{light, 1}, shifting(shiftLeft)},
		{"__lshlti3", anywhere, shift, none, price{light, 1}, shifting(shiftLeft)},
		{"__lshrti3", anywhere, shift, none, price{light, 1}, shifting(shiftRight)},
		{"__ashrti3", anywhere, shift, none, price{light, 1}, shifting(shiftRightSigned)},
		{"__multi3", anywhere, binary, none, price{light, 1}, combining(types.Uint128.Mul)},
		{"__divti3", anywhere, binary, none, price{floating, 1}, dividing(true, false)},
		{"__modti3", anywhere, binary, none, price{floating, 1}, dividing(true, true)},
		{"__udivti3", anywhere, binary, none, price{floating, 1}, dividing(false, false)},
		{"__umodti3", anywhere, binary, none, price{floating, 1}, dividing(false, true)},
	}
}

// put128 writes the result that a builtin returns through its first parameter.
func put128(m []byte, s []uint64, v types.Uint128) {
	put64(m, s, 0, v.Lo)
	put64(m[8:], s, 0, v.Hi)
}

func shifting(f func(v types.Uint128, n uint32) types.Uint128) body {
	return func(_ *Apply, m []byte, s []uint64) (uint64, error) {
		put128(m, s, f(types.Uint128{Lo: s[1], Hi: s[2]}, uint32(s[3])))
		return 0, nil
	}
}

func shiftLeft(v types.Uint128, n uint32) types.Uint128 {
	if n >= 64 {
		return types.Uint128{Hi: v.Lo << (n - 64)}
	}
	return types.Uint128{Lo: v.Lo << n, Hi: v.Hi<<n | v.Lo>>(64-n)}
}

func shiftRight(v types.Uint128, n uint32) types.Uint128 {
	if n >= 64 {
		return types.Uint128{Lo: v.Hi >> (n - 64)}
	}
	return types.Uint128{Lo: v.Lo>>n | v.Hi<<(64-n), Hi: v.Hi >> n}
}

// shiftRightSigned keeps the sign. Unlike the others, nodeos has the processor do
// this one, which looks at the last seven bits of n only.
func shiftRightSigned(v types.Uint128, n uint32) types.Uint128 {
	n &= 127
	if v.Hi>>63 == 0 {
		return shiftRight(v, n)
	}
	v = shiftRight(types.Uint128{Lo: ^v.Lo, Hi: ^v.Hi}, n)
	return types.Uint128{Lo: ^v.Lo, Hi: ^v.Hi}
}

func combining(f func(a, b types.Uint128) types.Uint128) body {
	return func(_ *Apply, m []byte, s []uint64) (uint64, error) {
		put128(m, s, f(types.Uint128{Lo: s[1], Hi: s[2]}, types.Uint128{Lo: s[3], Hi: s[4]}))
		return 0, nil
	}
}

// negate is -v, which for the smallest number is that number.
func negate(v types.Uint128) types.Uint128 {
	lo, borrow := bits.Sub64(0, v.Lo, 0)
	hi, _ := bits.Sub64(0, v.Hi, borrow)
	return types.Uint128{Lo: lo, Hi: hi}
}

// dividing truncates towards zero; a remainder has the dividend's sign.
func dividing(signed, remainder bool) body {
	return func(_ *Apply, m []byte, s []uint64) (uint64, error) {
		a, b := types.Uint128{Lo: s[1], Hi: s[2]}, types.Uint128{Lo: s[3], Hi: s[4]}
		if b.IsZero() {
			return 0, exception.New(exception.Arithmetic, "divide by zero")
		}
		negativeA, negativeB := signed && a.Hi>>63 != 0, signed && b.Hi>>63 != 0
		if negativeA {
			a = negate(a)
		}
		if negativeB {
			b = negate(b)
		}
		result, rest := a.Div(b)
		negative := negativeA != negativeB
		if remainder {
			result, negative = rest, negativeA
		}
		if negative {
			result = negate(result)
		}
		put128(m, s, result)
		return 0, nil
	}
}

// quadEntries are what compilers call for floating-point numbers of 128 bits, and
// for conversions between floating-point numbers and integers of 128 bits.
func quadEntries() []entry {
	binary, two, four := []arg{ref16, u64, u64, u64, u64}, []arg{u64, u64}, []arg{u64, u64, u64, u64}
	return []entry{
		{"__addtf3", anywhere, binary, none, price{floating, 1}, calculating(softfloat.F128.Add)},
		{"__subtf3", anywhere, binary, none, price{floating, 1}, calculating(softfloat.F128.Sub)},
		{"__multf3", anywhere, binary, none, price{floating, 1}, calculating(softfloat.F128.Mul)},
		{"__divtf3", anywhere, binary, none, price{floating, 1}, calculating(softfloat.F128.Div)},
		{"__negtf2", anywhere, []arg{ref16, u64, u64}, none, price{floating, 1},
			making(func(s []uint64) softfloat.F128 { return quad(s, 1).Neg() })},

		{"__extendsftf2", anywhere, []arg{ref16, f32}, none, price{floating, 1},
			making(func(s []uint64) softfloat.F128 { return softfloat.F32(s[1]).F128() })},
		{"__extenddftf2", anywhere, []arg{ref16, f64}, none, price{floating, 1},
			making(func(s []uint64) softfloat.F128 { return softfloat.F64(s[1]).F128() })},
		{"__floatsitf", anywhere, []arg{ref16, u32}, none, price{floating, 1}, making(func(s []uint64) softfloat.F128 {
			return softfloat.F128FromInt32(int32(s[1]))
		})},
		{"__floatunsitf", anywhere, []arg{ref16, u32}, none, price{floating, 1},
			making(func(s []uint64) softfloat.F128 { return softfloat.F128FromUint32(uint32(s[1])) })},
		{"__floatditf", anywhere, []arg{ref16, u64}, none, price{floating, 1}, making(func(s []uint64) softfloat.F128 {
			return softfloat.F128FromInt64(int64(s[1]))
		})},
		{"__floatunditf", anywhere, []arg{ref16, u64}, none, price{floating, 1},
			making(func(s []uint64) softfloat.F128 { return softfloat.F128FromUint64(s[1]) })},

		{"__trunctfdf2", anywhere, two, wasm.F64, price{floating, 1},
			returning(func(s []uint64) uint64 { return uint64(quad(s, 0).F64()) })},
		{"__trunctfsf2", anywhere, two, wasm.F32, price{floating, 1},
			returning(func(s []uint64) uint64 { return uint64(quad(s, 0).F32()) })},
		{"__fixtfsi", anywhere, two, wasm.I32, price{floating, 1}, returning(func(s []uint64) uint64 { return i32(quad(s, 0).Int32()) })},
		{"__fixtfdi", anywhere, two, wasm.I64, price{floating, 1},
			returning(func(s []uint64) uint64 { return uint64(quad(s, 0).Int64()) })},
		{"__fixunstfsi", anywhere, two, wasm.I32, price{floating, 1},
			returning(func(s []uint64) uint64 { return uint64(quad(s, 0).Uint32()) })},
		{"__fixunstfdi", anywhere, two, wasm.I64, price{floating, 1}, returning(func(s []uint64) uint64 { return quad(s, 0).Uint64() })},
		{"__floatsidf", anywhere, []arg{u32}, wasm.F64, price{floating, 1}, returning(func(s []uint64) uint64 {
			return uint64(softfloat.F64FromInt32(int32(s[0])))
		})},
		{"__floattidf", anywhere, two, wasm.F64, price{floating, 1},
			returning(func(s []uint64) uint64 { return uint64(softfloat.F64FromInt128(s[0], s[1])) })},
		{"__floatuntidf", anywhere, two, wasm.F64, price{floating, 1},
			returning(func(s []uint64) uint64 { return uint64(softfloat.F64FromUint128(s[0], s[1])) })},

		{"__fixtfti", anywhere, []arg{ref16, u64, u64}, none, price{floating, 1},
			fixing(func(s []uint64) (lo, hi uint64) { return quad(s, 1).Int128() })},
		{"__fixunstfti", anywhere, []arg{ref16, u64, u64}, none, price{floating, 1},
			fixing(func(s []uint64) (lo, hi uint64) { return quad(s, 1).Uint128() })},
		{"__fixsfti", anywhere, []arg{ref16, f32}, none, price{floating, 1},
			fixing(func(s []uint64) (lo, hi uint64) { return softfloat.F32(s[1]).Int128() })},
		{"__fixunssfti", anywhere, []arg{ref16, f32}, none, price{floating, 1},
			fixing(func(s []uint64) (lo, hi uint64) { return softfloat.F32(s[1]).Uint128() })},
		{"__fixdfti", anywhere, []arg{ref16, f64}, none, price{floating, 1},
			fixing(func(s []uint64) (lo, hi uint64) { return softfloat.F64(s[1]).Int128() })},
		{"__fixunsdfti", anywhere, []arg{ref16, f64}, none, price{floating, 1},
			fixing(func(s []uint64) (lo, hi uint64) { return softfloat.F64(s[1]).Uint128() })},

		{"__cmptf2", anywhere, four, wasm.I32, price{floating, 1}, comparing(1)},
		{"__eqtf2", anywhere, four, wasm.I32, price{floating, 1}, comparing(1)},
		{"__netf2", anywhere, four, wasm.I32, price{floating, 1}, comparing(1)},
		{"__letf2", anywhere, four, wasm.I32, price{floating, 1}, comparing(1)},
		{"__getf2", anywhere, four, wasm.I32, price{floating, 1}, comparing(-1)},
		{"__gttf2", anywhere, four, wasm.I32, price{floating, 1}, comparing(0)},
		{"__lttf2", anywhere, four, wasm.I32, price{floating, 1}, comparing(0)},
		{"__unordtf2", anywhere, four, wasm.I32, price{floating, 1},
			returning(func(s []uint64) uint64 { return truth(quad(s, 0).Unordered(quad(s, 2))) })},
	}
}

// quad is the number whose low half is s[at].
func quad(s []uint64, at int) softfloat.F128 { return softfloat.F128{Lo: s[at], Hi: s[at+1]} }

func calculating(f func(a, b softfloat.F128) softfloat.F128) body {
	return making(func(s []uint64) softfloat.F128 { return f(quad(s, 1), quad(s, 3)) })
}

func making(f func(s []uint64) softfloat.F128) body {
	return func(_ *Apply, m []byte, s []uint64) (uint64, error) {
		put128(m, s, types.Uint128(f(s)))
		return 0, nil
	}
}

func fixing(f func(s []uint64) (lo, hi uint64)) body {
	return func(_ *Apply, m []byte, s []uint64) (uint64, error) {
		lo, hi := f(s)
		put128(m, s, types.Uint128{Lo: lo, Hi: hi})
		return 0, nil
	}
}

func returning(f func(s []uint64) uint64) body {
	return func(_ *Apply, _ []byte, s []uint64) (uint64, error) { return f(s), nil }
}

// comparing returns -1, 0 or 1, and unordered if a number is NaN.
func comparing(unordered int32) body {
	return returning(func(s []uint64) uint64 { return i32(quad(s, 0).Compare(quad(s, 2), unordered)) })
}
