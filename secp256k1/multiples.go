package secp256k1

import (
	"slices"

	"github.com/consensys/gnark-crypto/ecc/secp256k1"
	"github.com/consensys/gnark-crypto/ecc/secp256k1/fr"
)

// Multiples are a point P of the curve, prepared for being multiplied: for each digit of
// a number of 128 bits, P times one to half the base, times the digit's weight; digits
// above half are taken as negative, with a carry. A number below the order is made of two
// such ([split]), the second for a point that P's multiples serve as well. So a product is a
// sum of some 2 * 128 / bits points. It never changes.
type Multiples struct {
	bits int // of a digit
	of   []point
}

// The digits of a key's multiples, which there are many of, and the generator's.
const (
	keyDigit       = 5  // 26 KiB, 52 points
	generatorDigit = 13 // 2.5 MiB, 20 points
)

// maxTerms bounds the points in each half of a sum of a product of each.
const maxTerms = splitBits/keyDigit + 1 + splitBits/generatorDigit + 1

// newMultiples takes as long as to recover three keys, for a key.
func newMultiples(of *point, bits int) *Multiples {
	rows, half := splitBits/bits+1, 1<<(bits-1)
	weighted := make([]secp256k1.G1Jac, rows)
	first := of.affine()
	weighted[0].FromAffine(&first)
	for i := 1; i < rows; i++ {
		p := weighted[i-1]
		for range bits {
			p.DoubleAssign()
		}
		weighted[i] = p
	}
	m := &Multiples{bits, make([]point, rows*half)}
	for i, p := range secp256k1.BatchJacobianToAffineG1(weighted) {
		m.of[i*half] = pointOf(&p)
	}
	d := newDivisors(rows * half / 2)
	for have := 1; have < half; have *= 2 {
		m.double(have, half, &d)
	}
	return m
}

// double makes as many multiples in each row as it has: by adding its last one to each,
// and to itself.
func (m *Multiples) double(have, half int, d *divisors) {
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
			row[have+k] = addPoints(&row[k], last, &inverses[k])
		}
		row[2*have-1] = doublePoint(last, &inverses[have-1])
		inverses = inverses[have:]
	}
}

// term is a point that is added, or its opposite if minus is one.
type term struct {
	point *point
	minus int
}

// appendTerms appends, to low and to high, the terms whose sums make the product with a
// scalar: that of low, and [endomorphism] of that of high. It fetches their points.
func (m *Multiples) appendTerms(low, high []term, scalar *fr.Element) (l, h []term) {
	first, second := split(scalar)
	return m.appendHalf(low, &first), m.appendHalf(high, &second)
}

// appendHalf appends the terms whose sum is the product with one that was split. What a
// digit is decides no branch, for nobody could predict it.
func (m *Multiples) appendHalf(list []term, scalar *fr.Element) []term {
	d, half := digitsOf(scalar, m.bits), 1<<(m.bits-1)
	for row := m.of; len(row) > 0; row = row[half:] {
		if value, minus := d.next(); value != 0 {
			p := &row[value-1]
			prefetch(p)
			list = append(list, term{p, minus})
		}
	}
	return list
}

// digits are those of half of a scalar that was split, the lowest first, each of at most half
// the base.
type digits struct {
	words           [4]uint64
	bits, at        int
	carry, negative int
}

func digitsOf(k *fr.Element, bits int) (d digits) {
	positive := *k
	if k.LexicographicallyLargest() {
		positive.Neg(k)
		d.negative = 1
	}
	d.words, d.bits = positive.Bits(), bits
	return d
}

// next returns a digit, and one as minus if the digit is below zero.
func (d *digits) next() (value, minus int) {
	digit := d.words[d.at/64] >> (d.at % 64)
	if d.at%64+d.bits > 64 {
		digit |= d.words[d.at/64+1] << (64 - d.at%64)
	}
	d.at += d.bits
	half := 1 << (d.bits - 1)
	value = int(digit&(1<<d.bits-1)) + d.carry
	d.carry = int(uint64(half-value) >> 63) // whether it is above half
	return value + d.carry*2*(half-value), d.carry ^ d.negative
}

// appendPoints appends the points of terms.
func appendPoints(list []point, terms []term) []point {
	n := len(list)
	list = slices.Grow(list, len(terms))[:n+len(terms)]
	for i, t := range terms {
		list[n+i] = *t.point
		list[n+i].y.negate(t.minus)
	}
	return list
}
