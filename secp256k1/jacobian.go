package secp256k1

import (
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/secp256k1/fr"
)

// jacobian is the point (x / z^2, y / z^3), that at infinity if z is zero.
type jacobian struct{ x, y, z element }

// affine returns the point, which is not that at infinity; inverse is that of z.
func (p *jacobian) affine(inverse *element) (q point) {
	var power element
	multiply(&power, inverse, inverse)
	multiply(&q.x, &p.x, &power)
	multiply(&power, &power, inverse)
	multiply(&q.y, &p.y, &power)
	return q
}

// double doubles a point, with two products and five squares.
func (p *jacobian) double() {
	var xx, yy, y4, s, m element
	multiply(&xx, &p.x, &p.x)
	multiply(&yy, &p.y, &p.y)
	multiply(&y4, &yy, &yy)
	multiply(&s, &p.x, &yy)
	multiply(&p.z, &p.y, &p.z)
	add(&p.z, &p.z, &p.z)
	add(&s, &s, &s)
	add(&s, &s, &s) // 4 x y^2
	add(&m, &xx, &xx)
	add(&m, &m, &xx) // 3 x^2
	multiply(&p.x, &m, &m)
	subtract(&p.x, &p.x, &s)
	subtract(&p.x, &p.x, &s)
	subtract(&s, &s, &p.x)
	multiply(&p.y, &m, &s)
	add(&y4, &y4, &y4)
	add(&y4, &y4, &y4)
	add(&y4, &y4, &y4)
	subtract(&p.y, &p.y, &y4)
}

// add adds a point, unless it is the same or the opposite.
func (p *jacobian) add(q *point) bool {
	if p.z.isZero() {
		p.x, p.y, p.z = q.x, q.y, one()
		return true
	}
	var zz, h, hh, hhh, r, v element
	multiply(&zz, &p.z, &p.z)
	multiply(&h, &q.x, &zz)
	multiply(&r, &q.y, &p.z)
	multiply(&r, &r, &zz)
	subtract(&h, &h, &p.x)
	if h.isZero() {
		return false
	}
	subtract(&r, &r, &p.y)
	multiply(&hh, &h, &h)
	multiply(&p.z, &p.z, &h)
	multiply(&hhh, &hh, &h)
	multiply(&v, &p.x, &hh)
	multiply(&p.x, &r, &r)
	subtract(&p.x, &p.x, &hhh)
	subtract(&p.x, &p.x, &v)
	subtract(&p.x, &p.x, &v)
	subtract(&v, &v, &p.x)
	multiply(&hhh, &hhh, &p.y)
	multiply(&p.y, &v, &r)
	subtract(&p.y, &p.y, &hhh)
	return true
}

// oddMultiples are a point, three times it, and so on up to fifteen.
type oddMultiples [8]point

// multiply sets p to low times a point and high times its image under the endomorphism. It
// fails where points meet.
func (p *jacobian) multiply(of *oddMultiples, low, high *digits) bool {
	*p = jacobian{x: one(), y: one()}
	for i := max(low.length, high.length) - 1; i >= 0; i-- {
		p.double()
		if d := low.of[i]; d != 0 {
			if q := of.times(d); !p.add(&q) {
				return false
			}
		}
		if d := high.of[i]; d != 0 {
			q := of.times(d)
			endomorphism(&q)
			if !p.add(&q) {
				return false
			}
		}
	}
	return true
}

// times returns the product with a digit, which is odd.
func (m *oddMultiples) times(digit int8) point {
	sign := digit >> 7 // -1 if it is negative
	q := m[(digit^sign-sign)>>1]
	q.y.negate(int(-sign))
	return q
}

// digitBits is the length of digits that odd multiples serve.
const digitBits = 5

// digits are those of a number, each of its place's weight: odd ones between -15 and 15, and
// at least four zeros between two of them.
type digits struct {
	of     [splitBits + 2]int8
	length int
}

// set takes a number that was split.
func (d *digits) set(scalar *fr.Element) {
	k, sign := *scalar, int8(1)
	if scalar.LexicographicallyLargest() {
		k.Neg(&k)
		sign = -1
	}
	clear(d.of[:d.length])
	d.length = 0
	words := k.Bits()
	low, high, above := words[0], words[1], words[2]
	for at := 0; low|high|above != 0; {
		if zeros := bits.TrailingZeros64(low); zeros > 0 {
			zeros = min(zeros, 63)
			low = low>>zeros | high<<(64-zeros)
			high = high>>zeros | above<<(64-zeros)
			above >>= zeros
			at += zeros
			continue
		}
		digit := int8(low & (1<<digitBits - 1))
		if digit > 1<<(digitBits-1) {
			digit -= 1 << digitBits
		}
		d.of[at], d.length = sign*digit, at+1
		minus := uint64(int64(digit) >> 63) // the digit is subtracted, as three words
		var borrow uint64
		low, borrow = bits.Sub64(low, uint64(int64(digit)), 0)
		high, borrow = bits.Sub64(high, minus, borrow)
		above, _ = bits.Sub64(above, minus, borrow)
	}
}
