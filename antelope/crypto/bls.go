package crypto

import (
	"math/big"
	"slices"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
)

// Sizes of the encodings: elements of Fp are 48 bytes, little-endian, below the
// modulus; of larger fields their parts, the lowest first; points are x and y, all
// zero for the one at infinity. Points must be on the curve; whether they are in the
// subgroup is not looked at, so nothing here may take it for granted.
const (
	blsFp     = 48
	blsG1     = 2 * blsFp
	blsFp2    = 2 * blsFp
	blsG2     = 2 * blsFp2
	blsGT     = 12 * blsFp
	blsScalar = 32
	blsWide   = 64 // exponents, and what is reduced
)

func readBLSFp(e *fp.Element, b []byte) bool {
	v, err := fp.LittleEndian.Element((*[blsFp]byte)(b))
	*e = v
	return err == nil
}

func writeBLSFp(dst []byte, e *fp.Element) {
	fp.LittleEndian.PutElement((*[blsFp]byte)(dst), *e)
}

func readBLSFp2(e *bls.E2, b []byte) bool {
	return readBLSFp(&e.A0, b) && readBLSFp(&e.A1, b[blsFp:])
}

func writeBLSFp2(dst []byte, e *bls.E2) {
	writeBLSFp(dst, &e.A0)
	writeBLSFp(dst[blsFp:], &e.A1)
}

// BLSG1Valid tells whether the sums take the first bytes of b for a point.
func BLSG1Valid(b []byte) bool { return readBLSG1(new(bls.G1Affine), b) }

// BLSG2Valid is BLSG1Valid for the other group.
func BLSG2Valid(b []byte) bool { return readBLSG2(new(bls.G2Affine), b) }

func readBLSG1(p *bls.G1Affine, b []byte) bool {
	return readBLSFp(&p.X, b) && readBLSFp(&p.Y, b[blsFp:]) && (p.IsInfinity() || p.IsOnCurve())
}

func writeBLSG1(dst []byte, p *bls.G1Jac) {
	var a bls.G1Affine
	a.FromJacobian(p)
	writeBLSFp(dst, &a.X)
	writeBLSFp(dst[blsFp:], &a.Y)
}

func readBLSG2(p *bls.G2Affine, b []byte) bool {
	return readBLSFp2(&p.X, b) && readBLSFp2(&p.Y, b[blsFp2:]) && (p.IsInfinity() || p.IsOnCurve())
}

func writeBLSG2(dst []byte, p *bls.G2Jac) {
	var a bls.G2Affine
	a.FromJacobian(p)
	writeBLSFp2(dst, &a.X)
	writeBLSFp2(dst[blsFp2:], &a.Y)
}

// BLSG1Add is bls_g1_add.
func BLSG1Add(dst, a, b []byte) int32 {
	var p, q bls.G1Affine
	if len(a) != blsG1 || len(b) != blsG1 || len(dst) != blsG1 || !readBLSG1(&p, a) || !readBLSG1(&q, b) {
		return failure
	}
	var sum, term bls.G1Jac
	sum.FromAffine(&p)
	term.FromAffine(&q)
	writeBLSG1(dst, sum.AddAssign(&term))
	return success
}

// BLSG2Add is bls_g2_add.
func BLSG2Add(dst, a, b []byte) int32 {
	var p, q bls.G2Affine
	if len(a) != blsG2 || len(b) != blsG2 || len(dst) != blsG2 || !readBLSG2(&p, a) || !readBLSG2(&q, b) {
		return failure
	}
	var sum, term bls.G2Jac
	sum.FromAffine(&p)
	term.FromAffine(&q)
	writeBLSG2(dst, sum.AddAssign(&term))
	return success
}

// BLSPairing is bls_pairing: the product of the pairings of n points, to the power of
// three that both libraries' final exponentiation has. Where a point is not in the
// subgroup, it is what Miller's loop gives that doubles and adds by the formulas of
// Costello, Lange and Naehrig (ePrint 2010/526), which both do.
func BLSPairing(dst, g1, g2 []byte, n uint32, check func()) int32 {
	if n == 0 || uint64(len(g1)) != uint64(n)*blsG1 || uint64(len(g2)) != uint64(n)*blsG2 || len(dst) != blsGT {
		return failure
	}
	var f bls.GT
	f.SetOne()
	const batch = 8
	p, q := make([]bls.G1Affine, 0, batch), make([]bls.G2Affine, 0, batch)
	for len(g1) > 0 {
		p, q = p[:0], q[:0]
		for len(p) < batch && len(g1) > 0 {
			var a bls.G1Affine
			var b bls.G2Affine
			if !readBLSG1(&a, g1) || !readBLSG2(&b, g2) {
				return failure
			}
			g1, g2 = g1[blsG1:], g2[blsG2:]
			p, q = append(p, a), append(q, b)
		}
		part, err := bls.MillerLoop(p, q)
		if err != nil {
			return failure
		}
		f.Mul(&f, &part)
		if check != nil {
			check()
		}
	}
	f = bls.FinalExponentiation(&f) // zero, as points of small order can make it, stays zero
	for i, e := range []*bls.E2{&f.C0.B0, &f.C0.B1, &f.C0.B2, &f.C1.B0, &f.C1.B1, &f.C1.B2} {
		writeBLSFp2(dst[i*blsFp2:], e)
	}
	return success
}

// BLSG1Map is bls_g1_map: an element of Fp to a point of the subgroup.
func BLSG1Map(dst, e []byte) int32 {
	var u fp.Element
	if len(e) != blsFp || len(dst) != blsG1 || !readBLSFp(&u, e) {
		return failure
	}
	a := bls.MapToG1(u)
	writeBLSFp(dst, &a.X)
	writeBLSFp(dst[blsFp:], &a.Y)
	return success
}

// BLSG2Map is bls_g2_map: an element of Fp2 to a point of the subgroup.
func BLSG2Map(dst, e []byte) int32 {
	var u bls.E2
	if len(e) != blsFp2 || len(dst) != blsG2 || !readBLSFp2(&u, e) {
		return failure
	}
	a := mapToTwist(&u)
	a.ClearCofactor(&a)
	writeBLSFp2(dst, &a.X)
	writeBLSFp2(dst[blsFp2:], &a.Y)
	return success
}

// bigLE reads a little-endian number.
func bigLE(b []byte) *big.Int {
	b = slices.Clone(b)
	slices.Reverse(b)
	return new(big.Int).SetBytes(b)
}

// BLSFpMod is bls_fp_mod: 64 bytes modulo p.
func BLSFpMod(dst, s []byte) int32 {
	if len(s) != blsWide || len(dst) != blsFp {
		return failure
	}
	var e fp.Element
	e.SetBigInt(bigLE(s))
	writeBLSFp(dst, &e)
	return success
}

// BLSFpMul is bls_fp_mul.
func BLSFpMul(dst, a, b []byte) int32 {
	var x, y fp.Element
	if len(a) != blsFp || len(b) != blsFp || len(dst) != blsFp || !readBLSFp(&x, a) || !readBLSFp(&y, b) {
		return failure
	}
	x.Mul(&x, &y)
	writeBLSFp(dst, &x)
	return success
}

// BLSFpExp is bls_fp_exp: an exponent of 64 bytes; 0^0 is 1.
func BLSFpExp(dst, base, exponent []byte) int32 {
	var x fp.Element
	if len(base) != blsFp || len(exponent) != blsWide || len(dst) != blsFp || !readBLSFp(&x, base) {
		return failure
	}
	x.Exp(x, bigLE(exponent))
	writeBLSFp(dst, &x)
	return success
}
