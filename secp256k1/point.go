package secp256k1

import (
	"github.com/consensys/gnark-crypto/ecc/secp256k1"
	"github.com/consensys/gnark-crypto/ecc/secp256k1/fp"
)

// point is a point of the curve but the one at infinity.
type point struct{ x, y element }

// pointBytes are those of a point in memory.
const pointBytes = 64

// pointOf is a point of the library's.
func pointOf(p *secp256k1.G1Affine) point { return point{element(p.X.Bits()), element(p.Y.Bits())} }

// affine is the point as the library has it.
func (p *point) affine() (q secp256k1.G1Affine) {
	q.X.Mul((*fp.Element)(&p.x), &library)
	q.Y.Mul((*fp.Element)(&p.y), &library)
	return q
}

// lift sets p to the point of an x whose y has a parity, and tells whether there is one.
func (p *point) lift(x *element, parity byte) bool {
	p.x = *x
	var square element
	multiply(&square, x, x)
	multiply(&square, &square, x)
	add(&square, &square, &element{7})
	ok := root(&p.y, &square)
	p.y.negate(int(p.y.parity() ^ parity))
	return ok
}

// rescale replaces (x, y) by (x d^2, y d^3): the same point on another of the curves that are alike, or
// one of coordinates whose z has the inverse d.
func (p *point) rescale(d *element) {
	var power element
	multiply(&power, d, d)
	multiply(&p.x, &p.x, &power)
	multiply(&power, &power, d)
	multiply(&p.y, &p.y, &power)
}

// endomorphism replaces a point by lambda times it.
func endomorphism(p *point) { multiply(&p.x, &p.x, &beta) }

// adder makes sums of points, many sums at a time: each addition takes a division, and
// a hundred divisions together cost little more than one. Two equal or opposite points,
// which nobody meets who does not look for them, are beyond it. Not for concurrent use.
type adder struct{ divisors }

// add replaces the points of each sum by their sum, or by nothing where there were none
// or two met that it cannot add.
func (a *adder) add(sums [][]point) {
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
func (a *adder) plan(s []point) bool {
	before := a.mark()
	for k := 0; k+1 < len(s); k += 2 {
		d := slopeDivisor(&s[k], &s[k+1])
		if d.isZero() {
			a.back(before)
			return false
		}
		a.append(d)
	}
	return true
}

// addPairs adds each point to its neighbour, in place; a last one without stays.
func addPairs(s []point, inverses []element) []point {
	for k := range inverses {
		s[k] = addPoints(&s[2*k], &s[2*k+1], &inverses[k])
	}
	n := len(inverses)
	if len(s)%2 == 1 {
		s[n] = s[len(s)-1]
		n++
	}
	return s[:n]
}

func slopeDivisor(a, b *point) (d element) { subtract(&d, &b.x, &a.x); return d }

func tangentDivisor(a *point) (d element) { add(&d, &a.y, &a.y); return d }

// addPoints returns a + b; inverse is that of their [slopeDivisor].
func addPoints(a, b *point, inverse *element) point {
	var slope element
	subtract(&slope, &b.y, &a.y)
	multiply(&slope, &slope, inverse)
	return third(a, b, &slope)
}

// doublePoint returns 2 a; inverse is that of its [tangentDivisor].
func doublePoint(a *point, inverse *element) point {
	var slope, twice element
	multiply(&slope, &a.x, &a.x)
	add(&twice, &slope, &slope)
	add(&slope, &slope, &twice)
	multiply(&slope, &slope, inverse)
	return third(a, a, &slope)
}

// third returns the opposite of the third point on a line through a and b.
func third(a, b *point, slope *element) (p point) {
	multiply(&p.x, slope, slope)
	subtract(&p.x, &p.x, &a.x)
	subtract(&p.x, &p.x, &b.x)
	subtract(&p.y, &a.x, &p.x)
	multiply(&p.y, &p.y, slope)
	subtract(&p.y, &p.y, &a.y)
	return p
}

// divisors are numbers by which is divided together.
type divisors struct {
	list, before []element // and the products of those before each
	product      element
}

// newDivisors has room for n.
func newDivisors(n int) divisors {
	list := make([]element, 2*n)
	return divisors{list: list[:0:n], before: list[n:n]}
}

func (d *divisors) reset() { d.back(divisorsMark{product: one()}) }

// append adds a number, which is not zero.
func (d *divisors) append(x element) {
	d.list, d.before = append(d.list, x), append(d.before, d.product)
	multiply(&d.product, &d.product, &x)
}

// divisorsMark is where back goes back to.
type divisorsMark struct {
	n       int
	product element
}

func (d *divisors) mark() divisorsMark { return divisorsMark{len(d.list), d.product} }

func (d *divisors) back(m divisorsMark) {
	d.list, d.before, d.product = d.list[:m.n], d.before[:m.n], m.product
}

// invert returns the inverses. They are valid until the next reset.
func (d *divisors) invert() []element {
	if len(d.list) == 0 {
		return nil
	}
	back := inverse(&d.product)
	for i := len(d.list) - 1; i >= 0; i-- {
		multiply(&d.before[i], &d.before[i], &back)
		multiply(&back, &back, &d.list[i])
	}
	return d.before
}
