package secp256k1

import (
	"encoding/binary"
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/secp256k1/fp"
)

// element is a number modulo the field's prime, which is 2^256 - gap: its words, the
// lowest first, always below the prime.
type element [4]uint64

const gap = 1<<32 + 977

// one is the number one.
func one() element { return element{1} }

// read sets z to a number of 32 bytes, the highest first, and tells whether it is below
// the prime.
func (z *element) read(b []byte) bool {
	for i := range z {
		z[i] = binary.BigEndian.Uint64(b[24-8*i:])
	}
	return z[1]&z[2]&z[3] != ^uint64(0) || z[0] < ^uint64(gap-1)
}

func (z *element) isZero() bool { return z[0]|z[1]|z[2]|z[3] == 0 }

// parity is the lowest bit of z.
func (z *element) parity() byte { return byte(z[0] & 1) }

// reduce sets z to words with a carry above them, which are below twice the prime: to
// subtract that is to add the gap. What is done decides no branch, for nobody could predict
// it.
func (z *element) reduce(t0, t1, t2, t3, above uint64) {
	s0, carry := bits.Add64(t0, gap, 0)
	s1, carry := bits.Add64(t1, 0, carry)
	s2, carry := bits.Add64(t2, 0, carry)
	s3, carry := bits.Add64(t3, 0, carry)
	subtract := -(above | carry)
	z[0] = t0 ^ (t0^s0)&subtract
	z[1] = t1 ^ (t1^s1)&subtract
	z[2] = t2 ^ (t2^s2)&subtract
	z[3] = t3 ^ (t3^s3)&subtract
}

// multiplyWords sets z to x * y: the portable form of [multiply]. z may be x or y.
func multiplyWords(z, x, y *element) {
	t0, t1, t2, t3, t4 := multiplyRow(x[0], y, 0, 0, 0, 0)
	t1, t2, t3, t4, t5 := multiplyRow(x[1], y, t1, t2, t3, t4)
	t2, t3, t4, t5, t6 := multiplyRow(x[2], y, t2, t3, t4, t5)
	t3, t4, t5, t6, t7 := multiplyRow(x[3], y, t3, t4, t5, t6)

	// The upper half counts for gap times as much in the lower.
	upper := element{t4, t5, t6, t7}
	t0, t1, t2, t3, t4 = multiplyRow(gap, &upper, t0, t1, t2, t3)
	high, low := bits.Mul64(t4, gap)
	t0, carry := bits.Add64(t0, low, 0)
	t1, carry = bits.Add64(t1, high, carry)
	t2, carry = bits.Add64(t2, 0, carry)
	t3, carry = bits.Add64(t3, 0, carry)
	z.reduce(t0, t1, t2, t3, carry)
}

// multiplyRow returns x * y + t, the lowest word first.
func multiplyRow(x uint64, y *element, t0, t1, t2, t3 uint64) (r0, r1, r2, r3, r4 uint64) {
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

// add sets z to x + y.
func add(z, x, y *element) {
	t0, carry := bits.Add64(x[0], y[0], 0)
	t1, carry := bits.Add64(x[1], y[1], carry)
	t2, carry := bits.Add64(x[2], y[2], carry)
	t3, carry := bits.Add64(x[3], y[3], carry)
	z.reduce(t0, t1, t2, t3, carry)
}

// subtract sets z to x - y.
func subtract(z, x, y *element) {
	z0, borrow := bits.Sub64(x[0], y[0], 0)
	z1, borrow := bits.Sub64(x[1], y[1], borrow)
	z2, borrow := bits.Sub64(x[2], y[2], borrow)
	z3, borrow := bits.Sub64(x[3], y[3], borrow)
	z[0], borrow = bits.Sub64(z0, gap&-borrow, 0) // to add the prime
	z[1], borrow = bits.Sub64(z1, 0, borrow)
	z[2], borrow = bits.Sub64(z2, 0, borrow)
	z[3], _ = bits.Sub64(z3, 0, borrow)
}

// negate sets z to -z if minus is one, and leaves it if it is zero; no branch is decided.
func (z *element) negate(minus int) {
	var n element
	subtract(&n, &n, z)
	mask := -uint64(minus)
	for i := range z {
		z[i] ^= (z[i] ^ n[i]) & mask
	}
}

// power sets z to x^(2^n), for n of one or more.
func power(z, x *element, n int) {
	multiply(z, x, x)
	for range n - 1 {
		multiply(z, z, z)
	}
}

// root sets z to a square root of x, and tells whether there is one: x to the power of
// (prime + 1) / 4. In binary that is 223 ones, a zero, 22 ones, four zeros, two ones and
// two zeros; what x has to the power of n ones is made of shorter ones.
func root(z, x *element) bool {
	var n2, n3, n22, n44, n88, t element
	grow := func(from, by *element, n int) (to element) { // of by's n ones after from's
		power(&to, from, n)
		multiply(&to, &to, by)
		return to
	}
	n2 = grow(x, x, 1)
	n3 = grow(&n2, x, 1)
	t = grow(&n3, &n3, 3)
	t = grow(&t, &n3, 3)
	t = grow(&t, &n2, 2) // 11
	n22 = grow(&t, &t, 11)
	n44 = grow(&n22, &n22, 22)
	n88 = grow(&n44, &n44, 44)
	t = grow(&n88, &n88, 88)
	t = grow(&t, &n44, 44)
	t = grow(&t, &n3, 3) // 223
	t = grow(&t, &n22, 23)
	t = grow(&t, &n2, 6)
	power(&t, &t, 2)
	var square element
	multiply(&square, &t, &t)
	same := square == *x
	*z = t
	return same
}

// inverse returns 1 / x, and 0 for 0, by the library's algorithm, in whose representation x
// stands for 2^256 times as much.
func inverse(x *element) element {
	var y fp.Element
	y.Mul((*fp.Element)(x), &library)
	y.Inverse(&y)
	return element(y.Bits())
}

// library is what makes an element the library's: 2^512 in words, because the library's
// products are divided by 2^256.
var library = func() fp.Element {
	var b [32]byte
	binary.BigEndian.PutUint64(b[24:], gap) // 2^256 is the gap
	x := fp.Element{}
	x.SetBytes(b[:])
	return x
}()
