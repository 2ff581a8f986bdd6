package crypto

import (
	"math/big"
	"math/bits"

	"tarn/antelope/exception"
)

// ModExp is mod_exp: it writes base^exponent mod modulus, as long as modulus, to the
// start of dst. All numbers are big-endian; an empty one is zero, but an empty modulus
// fails. Modulo zero everything is zero, and 0^0 is 1.
func ModExp(dst, base, exponent, modulus []byte) int32 {
	if len(modulus) == 0 || len(dst) < len(modulus) {
		return failure
	}
	dst = dst[:len(modulus)]
	m := new(big.Int).SetBytes(modulus)
	if m.Sign() == 0 {
		clear(dst)
		return success
	}
	b, e := new(big.Int).SetBytes(base), new(big.Int).SetBytes(exponent)
	b.Exp(b, e, m).FillBytes(dst)
	return success
}

// ModExpProducible returns the error that mod_exp throws while a block is produced or
// a transaction judged, for operands of these lengths in bytes; nil if it computes
// them. While blocks are applied there is no such limit.
func ModExpProducible(base, exponent, modulus int) error {
	size := max(base, modulus)
	if size < exponent {
		return exception.New(exception.SubjectiveBlockProduction,
			"mod_exp restriction: exponent bit size cannot exceed bit size of either base or modulus")
	}
	if 5*ceilLog2(exponent)+8*ceilLog2(size) > 106 {
		return exception.New(exception.SubjectiveBlockProduction,
			"mod_exp restriction: bit size too large for input arguments")
	}
	return nil
}

func ceilLog2(n int) int {
	if n <= 1 {
		return 0
	}
	return bits.Len(uint(n - 1))
}
