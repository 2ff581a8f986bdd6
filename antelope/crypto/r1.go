package crypto

import (
	"crypto/elliptic"
	"math/big"

	"filippo.io/nistec"
)

// recoverR1 recovers a key of P-256 (SEC 1, 4.1.6), with the leniency of nodeos: r and
// s are taken modulo the order, s may be zero, and a key that is the point at infinity
// is reported as such (libfc: ECDSA_SIG_recover_key_GFp without its check).
func recoverR1(compact *[65]byte, digest *[32]byte) (point [33]byte, infinity, ok bool) {
	curve := elliptic.P256().Params()
	id := (compact[0] - 27) & 3
	r, s := new(big.Int).SetBytes(compact[1:33]), new(big.Int).SetBytes(compact[33:])
	x := r
	if id&2 != 0 {
		x = new(big.Int).Add(r, curve.N)
	}
	if x.Cmp(curve.P) >= 0 {
		return point, false, false
	}
	var encoded [33]byte
	encoded[0] = 2 + id&1
	x.FillBytes(encoded[1:])
	nonce, err := nistec.NewP256Point().SetBytes(encoded[:])
	if err != nil {
		return point, false, false
	}
	inverse := new(big.Int).ModInverse(r, curve.N)
	if inverse == nil { // r is a multiple of the order
		return point, false, false
	}
	// Q = (s*R - e*G) / r
	u1 := new(big.Int).SetBytes(digest[:])
	u1.Neg(u1).Mul(u1, inverse).Mod(u1, curve.N)
	u2 := s.Mul(s, inverse)
	u2.Mod(u2, curve.N)
	var k [32]byte
	q, err := nistec.NewP256Point().ScalarBaseMult(u1.FillBytes(k[:]))
	if err != nil {
		return point, false, false
	}
	t, err := nistec.NewP256Point().ScalarMult(nonce, u2.FillBytes(k[:]))
	if err != nil {
		return point, false, false
	}
	b := q.Add(q, t).BytesCompressed()
	if len(b) != len(point) {
		return point, true, true
	}
	copy(point[:], b)
	return point, false, true
}

// highS tells whether s is above half of the order of P-256.
func highS(compact *[65]byte) bool {
	half := new(big.Int).Rsh(elliptic.P256().Params().N, 1)
	return new(big.Int).SetBytes(compact[33:]).Cmp(half) > 0
}
