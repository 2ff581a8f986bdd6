package crypto

import (
	"slices"

	"github.com/consensys/gnark-crypto/ecc/secp256k1"
	"github.com/consensys/gnark-crypto/ecc/secp256k1/fp"
	"github.com/consensys/gnark-crypto/ecc/secp256k1/fr"
)

// multiples is a point P of the K1 curve, prepared for being multiplied: for each digit of
// a number of 128 bits, P times one to half the base, times the digit's weight; digits
// above half are taken as negative, with a carry. A number below the order is made of two
// such ([split]), the second for a point that P's multiples serve as well. So a product is a
// sum of some 2 * 128 / bits points. It never changes.
type multiples struct {
	bits int // of a digit
	of   []secp256k1.G1Affine
}

// The digits of a key's multiples, which there are many of, and the generator's.
const (
	keyDigit       = 5  // 26 KiB, 52 points
	generatorDigit = 13 // 2.5 MiB, 20 points
)

// maxTerms bounds the points in each half of a sum of a product of each.
const maxTerms = splitBits/keyDigit + 1 + splitBits/generatorDigit + 1

// newMultiples takes as long as to recover three keys, for a key.
func newMultiples(of *secp256k1.G1Affine, bits int) *multiples {
	rows, half := splitBits/bits+1, 1<<(bits-1)
	weighted := make([]secp256k1.G1Jac, rows)
	weighted[0].FromAffine(of)
	for i := 1; i < rows; i++ {
		p := weighted[i-1]
		for range bits {
			p.DoubleAssign()
		}
		weighted[i] = p
	}
	m := &multiples{bits, make([]secp256k1.G1Affine, rows*half)}
	for i, p := range secp256k1.BatchJacobianToAffineG1(weighted) {
		m.of[i*half] = p
	}
	d := newDivisors(rows * half / 2)
	for have := 1; have < half; have *= 2 {
		m.double(have, half, &d)
	}
	return m
}

// double makes as many multiples in each row as it has: by adding its last one to each,
// and to itself.
func (m *multiples) double(have, half int, d *divisors) {
	d.reset()
	for row := m.of; len(row) > 0; row = row[half:] {
		last := &row[have-1]
		for k := range have - 1 {
			d.append(slopeDivisor(&row[k], last))
		}
		d.append(tangentDivisor(last))
	}
	inverses := d.invert()
	for row := m.of; len(row) > 0; row = row[half:] {
		last := &row[have-1]
		for k := range have - 1 {
			row[have+k] = added(&row[k], last, &inverses[k])
		}
		row[2*have-1] = doubled(last, &inverses[have-1])
		inverses = inverses[have:]
	}
}

// term is a point that is added, or its opposite if minus is one.
type term struct {
	point *secp256k1.G1Affine
	minus int
}

// appendTerms appends, to low and to high, the terms whose sums make the product with a
// scalar: that of low, and [endomorphism] of that of high. It fetches their points.
func (m *multiples) appendTerms(low, high []term, scalar *fr.Element) (l, h []term) {
	first, second := split(scalar)
	return m.appendHalf(low, &first), m.appendHalf(high, &second)
}

// appendHalf appends the terms whose sum is the product with one that was split. What a
// digit is decides no branch, for nobody could predict it.
func (m *multiples) appendHalf(list []term, scalar *fr.Element) []term {
	k, negative := *scalar, 0
	if scalar.LexicographicallyLargest() {
		k.Neg(&k)
		negative = 1
	}
	words := k.Bits()
	half, at, carry := 1<<(m.bits-1), 0, 0
	for row := m.of; len(row) > 0; row = row[half:] {
		digit := words[at/64] >> (at % 64)
		if at%64+m.bits > 64 {
			digit |= words[at/64+1] << (64 - at%64)
		}
		at += m.bits
		value := int(digit&(1<<m.bits-1)) + carry
		carry = int(uint(half-value) >> 63) // whether it is above half
		if value += carry * 2 * (half - value); value != 0 {
			p := &row[value-1]
			prefetch(p)
			list = append(list, term{p, carry ^ negative})
		}
	}
	return list
}

// appendPoints appends the points of terms.
func appendPoints(list []secp256k1.G1Affine, terms []term) []secp256k1.G1Affine {
	n := len(list)
	list = slices.Grow(list, len(terms))[:n+len(terms)]
	for i, t := range terms {
		p := &list[n+i]
		var minus fp.Element
		p.X = t.point.X
		minus.Neg(&t.point.Y)
		p.Y.Select(t.minus, &t.point.Y, &minus)
	}
	return list
}

// endomorphism replaces a point by lambda times it.
func endomorphism(p *secp256k1.G1Affine) { multiply(&p.X, &p.X, &beta) }

// adder makes sums of points, many sums at a time: each addition takes a division, and
// a hundred divisions together cost little more than one. Two equal or opposite points,
// which nobody meets who does not look for them, are beyond it. Not for concurrent use.
type adder struct{ divisors }

// add replaces the points of each sum by their sum, or by nothing where there were none
// or two met that it cannot add.
func (a *adder) add(sums [][]secp256k1.G1Affine) {
	for {
		a.reset()
		for i, s := range sums {
			if !a.plan(s) {
				sums[i] = s[:0]
			}
		}
		inverses := a.invert()
		if len(inverses) == 0 {
			return
		}
		for i, s := range sums {
			pairs := len(s) / 2
			sums[i] = addPairs(s, inverses[:pairs])
			inverses = inverses[pairs:]
		}
	}
}

// plan notes what the additions of a sum's pairs divide by, unless one divides by zero.
func (a *adder) plan(s []secp256k1.G1Affine) bool {
	before := a.mark()
	for k := 0; k+1 < len(s); k += 2 {
		d := slopeDivisor(&s[k], &s[k+1])
		if d.IsZero() {
			a.back(before)
			return false
		}
		a.append(d)
	}
	return true
}

// addPairs adds each point to its neighbour, in place; a last one without stays.
func addPairs(s []secp256k1.G1Affine, inverses []fp.Element) []secp256k1.G1Affine {
	for k := range inverses {
		s[k] = added(&s[2*k], &s[2*k+1], &inverses[k])
	}
	n := len(inverses)
	if len(s)%2 == 1 {
		s[n] = s[len(s)-1]
		n++
	}
	return s[:n]
}

func slopeDivisor(a, b *secp256k1.G1Affine) (d fp.Element) { subtract(&d, &b.X, &a.X); return d }

func tangentDivisor(a *secp256k1.G1Affine) (d fp.Element) { d.Double(&a.Y); return d }

// added returns a + b; inverse is that of their [slopeDivisor].
func added(a, b *secp256k1.G1Affine, inverse *fp.Element) secp256k1.G1Affine {
	var slope fp.Element
	subtract(&slope, &b.Y, &a.Y)
	multiply(&slope, &slope, inverse)
	return third(a, b, &slope)
}

// doubled returns 2 a; inverse is that of its [tangentDivisor].
func doubled(a *secp256k1.G1Affine, inverse *fp.Element) secp256k1.G1Affine {
	var slope, twice fp.Element
	multiply(&slope, &a.X, &a.X)
	twice.Double(&slope)
	slope.Add(&slope, &twice)
	multiply(&slope, &slope, inverse)
	return third(a, a, &slope)
}

// third returns the opposite of the third point on a line through a and b.
func third(a, b *secp256k1.G1Affine, slope *fp.Element) (p secp256k1.G1Affine) {
	multiply(&p.X, slope, slope)
	subtract(&p.X, &p.X, &a.X)
	subtract(&p.X, &p.X, &b.X)
	subtract(&p.Y, &a.X, &p.X)
	multiply(&p.Y, &p.Y, slope)
	subtract(&p.Y, &p.Y, &a.Y)
	return p
}

// divisors are numbers by which is divided together.
type divisors struct {
	list, before []fp.Element // and the products of those before each
	product      fp.Element
}

// newDivisors has room for n.
func newDivisors(n int) divisors {
	list := make([]fp.Element, 2*n)
	return divisors{list: list[:0:n], before: list[n:n]}
}

func (d *divisors) reset() { d.back(divisorsMark{product: fp.One()}) }

// append adds a number, which is not zero.
func (d *divisors) append(x fp.Element) {
	d.list, d.before = append(d.list, x), append(d.before, d.product)
	multiply(&d.product, &d.product, &x)
}

// divisorsMark is where back goes back to.
type divisorsMark struct {
	n       int
	product fp.Element
}

func (d *divisors) mark() divisorsMark { return divisorsMark{len(d.list), d.product} }

func (d *divisors) back(m divisorsMark) {
	d.list, d.before, d.product = d.list[:m.n], d.before[:m.n], m.product
}

// invert returns the inverses. They are valid until the next reset.
func (d *divisors) invert() []fp.Element {
	if len(d.list) == 0 {
		return nil
	}
	var inverse fp.Element
	inverse.Inverse(&d.product)
	for i := len(d.list) - 1; i >= 0; i-- {
		multiply(&d.before[i], &d.before[i], &inverse)
		multiply(&inverse, &inverse, &d.list[i])
	}
	return d.before
}
