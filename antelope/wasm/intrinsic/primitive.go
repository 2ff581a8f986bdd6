package intrinsic

import (
	"tarn/antelope/crypto"
	"tarn/antelope/wasm"
)

// primitiveEntries are the functions of CRYPTO_PRIMITIVES and BLS_PRIMITIVES (Leap:
// webassembly/crypto.cpp). What of them depends on the lengths of spans is in
// package crypto.
func primitiveEntries() []entry {
	return []entry{
		{"alt_bn128_add", anywhere, []arg{block, block, block}, wasm.I32, price{adding, 1}, combiningBytes(crypto.AltBn128Add)},
		{"alt_bn128_mul", anywhere, []arg{block, block, block}, wasm.I32, price{long, 1}, combiningBytes(crypto.AltBn128Mul)},
		{"alt_bn128_pair", anywhere, []arg{block}, wasm.I32, price{long, 1}, altBn128Pair},
		{"mod_exp", anywhere, []arg{block, block, block, block}, wasm.I32, price{long, 1}, modExp},
		{"blake2_f", anywhere, []arg{u32, block, block, block, block, u32, block}, wasm.I32, price{long, 1}, blake2F},
		{"sha3", anywhere, []arg{block, block, u32}, none, price{floating, hashing}, sha3},
		{"k1_recover", anywhere, []arg{block, block, block}, wasm.I32, price{long, 1}, combiningBytes(crypto.K1Recover)},

		{"bls_g1_add", anywhere, []arg{block, block, block}, wasm.I32, price{long, 1}, combiningBytes(crypto.BLSG1Add)},
		{"bls_g2_add", anywhere, []arg{block, block, block}, wasm.I32, price{long, 1}, combiningBytes(crypto.BLSG2Add)},
		{"bls_g1_weighted_sum", anywhere, []arg{block, block, u32, block}, wasm.I32, price{long, 1},
			summing(crypto.BLSG1WeightedSum, g1Sum())},
		{"bls_g2_weighted_sum", anywhere, []arg{block, block, u32, block}, wasm.I32, price{long, 1},
			summing(crypto.BLSG2WeightedSum, g2Sum())},
		{"bls_pairing", anywhere, []arg{block, block, u32, block}, wasm.I32, price{long, 1}, summing(crypto.BLSPairing, pairing())},
		{"bls_g1_map", anywhere, []arg{block, block}, wasm.I32, price{long, 1}, mapping(crypto.BLSG1Map)},
		{"bls_g2_map", anywhere, []arg{block, block}, wasm.I32, price{long, 1}, mapping(crypto.BLSG2Map)},
		{"bls_fp_mod", anywhere, []arg{block, block}, wasm.I32, price{floating, 1}, mapping(crypto.BLSFpMod)},
		{"bls_fp_mul", anywhere, []arg{block, block, block}, wasm.I32, price{floating, 1}, combiningBytes(crypto.BLSFpMul)},
		{"bls_fp_exp", anywhere, []arg{block, block, block}, wasm.I32, price{long, 1}, combiningBytes(crypto.BLSFpExp)},
	}
}

// mapping takes what goes in, then what comes out.
func mapping(f func(to, from []byte) int32) body {
	return func(_ *Apply, m []byte, s []uint64) (uint64, error) {
		return i32(f(span(m, s, 2), span(m, s, 0))), nil
	}
}

// combiningBytes takes two spans that go in, then the one that comes out.
func combiningBytes(f func(to, x, y []byte) int32) body {
	return func(_ *Apply, m []byte, s []uint64) (uint64, error) {
		return i32(f(span(m, s, 4), span(m, s, 0), span(m, s, 2))), nil
	}
}

// summing takes two arrays, how many elements each has, and what comes out.
func summing(f func(to, x, y []byte, n uint32, check func()) int32, shape sumShape) body {
	return func(a *Apply, m []byte, s []uint64) (uint64, error) {
		if shape.overruns(s) {
			return shape.overrun(a, m, s)
		}
		return i32(f(span(m, s, 5), span(m, s, 0), span(m, s, 2), uint32(s[4]), a.check())), nil
	}
}

func altBn128Pair(a *Apply, m []byte, s []uint64) (uint64, error) {
	return i32(crypto.AltBn128Pair(span(m, s, 0), a.check())), nil
}

func modExp(a *Apply, m []byte, s []uint64) (uint64, error) {
	base, exponent, modulus := span(m, s, 0), span(m, s, 2), span(m, s, 4)
	if a.Speculative {
		if err := crypto.ModExpProducible(len(base), len(exponent), len(modulus)); err != nil {
			return 0, err
		}
	}
	return i32(crypto.ModExp(span(m, s, 6), base, exponent, modulus)), nil
}

func blake2F(a *Apply, m []byte, s []uint64) (uint64, error) {
	return i32(crypto.Blake2F(span(m, s, 10), uint32(s[0]), span(m, s, 1), span(m, s, 3), span(m, s, 5), span(m, s, 7),
		int32(s[9]), a.check())), nil
}

func sha3(a *Apply, m []byte, s []uint64) (uint64, error) {
	crypto.SHA3(span(m, s, 2), span(m, s, 0), int32(s[4]), a.check())
	return 0, nil
}
