package crypto

import (
	"math/big"

	"github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bn254/fp"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
)

const (
	bnG1 = 64  // bytes of a point: x and y, big-endian
	bnG2 = 128 // imaginary parts before real ones
)

// AltBn128Add is alt_bn128_add: points of 64 bytes, zeros for the one at infinity. It
// fails for coordinates not below the modulus and for points not on the curve.
func AltBn128Add(dst, a, b []byte) int32 {
	var p, q bn254.G1Affine
	if len(a) != bnG1 || len(b) != bnG1 || len(dst) < bnG1 || !readBnG1(&p, a) || !readBnG1(&q, b) {
		return failure
	}
	p.Add(&p, &q)
	writeBnG1(dst, &p)
	return success
}

// AltBn128Mul is alt_bn128_mul: a point of 64 bytes and any scalar of 32, big-endian.
func AltBn128Mul(dst, point, scalar []byte) int32 {
	var p bn254.G1Affine
	if len(point) != bnG1 || len(scalar) != 32 || len(dst) < bnG1 || !readBnG1(&p, point) {
		return failure
	}
	k := new(big.Int).SetBytes(scalar)
	p.ScalarMultiplication(&p, k.Mod(k, fr.Modulus())) // the curve has prime order
	writeBnG1(dst, &p)
	return success
}

// AltBn128Pair is alt_bn128_pair: 0 if the product of the pairings is one, as it is of
// none, 1 if it is not; -1 for a length that is no multiple of 192 and for a point
// that is not on its curve or, in G2, not in the subgroup.
func AltBn128Pair(pairs []byte, check func()) int32 {
	if len(pairs)%(bnG1+bnG2) != 0 {
		return failure
	}
	var product bn254.GT
	product.SetOne()
	for ; len(pairs) > 0; pairs = pairs[bnG1+bnG2:] {
		if check != nil {
			check() // reading points is work too, where one is at infinity
		}
		var p bn254.G1Affine
		var q bn254.G2Affine
		if !readBnG1(&p, pairs) || !readBnG2(&q, pairs[bnG1:]) {
			return failure
		}
		if p.IsInfinity() || q.IsInfinity() {
			continue
		}
		f, err := bn254.MillerLoop([]bn254.G1Affine{p}, []bn254.G2Affine{q})
		if err != nil {
			return failure
		}
		product.Mul(&product, &f)
	}
	result := bn254.FinalExponentiation(&product)
	if result.IsOne() {
		return 0
	}
	return 1
}

func readBnG1(p *bn254.G1Affine, b []byte) bool {
	return readBnFp(&p.X, b) && readBnFp(&p.Y, b[32:]) && (p.IsInfinity() || p.IsOnCurve())
}

func readBnG2(q *bn254.G2Affine, b []byte) bool {
	return readBnFp(&q.X.A1, b) && readBnFp(&q.X.A0, b[32:]) &&
		readBnFp(&q.Y.A1, b[64:]) && readBnFp(&q.Y.A0, b[96:]) &&
		(q.IsInfinity() || q.IsOnCurve() && q.IsInSubGroup())
}

func readBnFp(e *fp.Element, b []byte) bool {
	return e.SetBytesCanonical(b[:32]) == nil
}

func writeBnG1(dst []byte, p *bn254.G1Affine) {
	x, y := p.X.Bytes(), p.Y.Bytes()
	copy(dst, x[:])
	copy(dst[32:], y[:])
}
