package crypto

import (
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/secp256k1/fp"
)

// The K1 curve's field has 2^256 - fieldGap elements; fieldInverse is 1 / fieldGap modulo
// 2^64.
const (
	fieldGap     = 1<<32 + 977
	fieldInverse = 0xd838091dd2253531
)

// multiply sets z to x * y. It is the library's Mul, in its representation (x stands for
// x / 2^256), in little more than half of the time: the library serves any modulus, and
// takes sixteen multiplications to reduce a product, where the gap needs four. z may be
// x or y.
func multiply(z, x, y *fp.Element) {
	t0, t1, t2, t3, t4 := multiplyRow(x[0], y, 0, 0, 0, 0)
	t1, t2, t3, t4, t5 := multiplyRow(x[1], y, t1, t2, t3, t4)
	t2, t3, t4, t5, t6 := multiplyRow(x[2], y, t2, t3, t4, t5)
	t3, t4, t5, t6, t7 := multiplyRow(x[3], y, t3, t4, t5, t6)

	// Montgomery's reduction adds a multiple m of the modulus that makes the lowest word
	// zero, four times. That is m words higher up, less m * gap, whose low word is the
	// word that vanishes: what remains is to subtract its high word from the next.
	m0 := t0 * fieldInverse
	high, _ := bits.Mul64(m0, fieldGap)
	t1, borrow := bits.Sub64(t1, high, 0)
	m1 := t1 * fieldInverse
	high, _ = bits.Mul64(m1, fieldGap)
	t2, borrow = bits.Sub64(t2, high, borrow)
	m2 := t2 * fieldInverse
	high, _ = bits.Mul64(m2, fieldGap)
	t3, borrow = bits.Sub64(t3, high, borrow)
	m3 := t3 * fieldInverse
	high, _ = bits.Mul64(m3, fieldGap)
	t4, borrow = bits.Sub64(t4, high, borrow)
	t5, borrow = bits.Sub64(t5, 0, borrow)
	t6, borrow = bits.Sub64(t6, 0, borrow)
	t7, borrow = bits.Sub64(t7, 0, borrow)
	t4, carry := bits.Add64(t4, m0, 0)
	t5, carry = bits.Add64(t5, m1, carry)
	t6, carry = bits.Add64(t6, m2, carry)
	t7, carry = bits.Add64(t7, m3, carry)
	above := carry - borrow

	// The sum is below twice the modulus; to subtract that is to add the gap.
	s0, carry := bits.Add64(t4, fieldGap, 0)
	s1, carry := bits.Add64(t5, 0, carry)
	s2, carry := bits.Add64(t6, 0, carry)
	s3, carry := bits.Add64(t7, 0, carry)
	subtract := -(above | carry)
	z[0] = t4 ^ (t4^s0)&subtract
	z[1] = t5 ^ (t5^s1)&subtract
	z[2] = t6 ^ (t6^s2)&subtract
	z[3] = t7 ^ (t7^s3)&subtract
}

// multiplyRow returns x * y + t, the lowest word first.
func multiplyRow(x uint64, y *fp.Element, t0, t1, t2, t3 uint64) (r0, r1, r2, r3, r4 uint64) {
	h0, l0 := bits.Mul64(x, y[0])
	h1, l1 := bits.Mul64(x, y[1])
	h2, l2 := bits.Mul64(x, y[2])
	h3, l3 := bits.Mul64(x, y[3])
	r0, carry := bits.Add64(t0, l0, 0)
	r1, carry = bits.Add64(t1, l1, carry)
	r2, carry = bits.Add64(t2, l2, carry)
	r3, carry = bits.Add64(t3, l3, carry)
	r4 = h3 + carry
	r1, carry = bits.Add64(r1, h0, 0)
	r2, carry = bits.Add64(r2, h1, carry)
	r3, carry = bits.Add64(r3, h2, carry)
	return r0, r1, r2, r3, r4 + carry
}

// subtract sets z to x - y. Which is the larger decides no branch, for nobody could
// predict it.
func subtract(z, x, y *fp.Element) {
	z0, borrow := bits.Sub64(x[0], y[0], 0)
	z1, borrow := bits.Sub64(x[1], y[1], borrow)
	z2, borrow := bits.Sub64(x[2], y[2], borrow)
	z3, borrow := bits.Sub64(x[3], y[3], borrow)
	z[0], borrow = bits.Sub64(z0, fieldGap&-borrow, 0) // to add the modulus
	z[1], borrow = bits.Sub64(z1, 0, borrow)
	z[2], borrow = bits.Sub64(z2, 0, borrow)
	z[3], _ = bits.Sub64(z3, 0, borrow)
}
