package secp256k1

import (
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/secp256k1/fr"
)

// lone is a signature whose key is found by itself, by the way of a [group]: where the processor is
// not wide, and where there is no other signature.
type lone struct {
	s         jacobian
	r         point
	multiples [laneMultiples]scaled
	of        [2][laneMultiples]point // of R, and lambda times these, as a curve has them on which scale is one
	scale     element
}

// jacobian is a point (x / z^2, y / z^3). A z of zero stays zero: two points met that cannot be added.
type jacobian struct{ x, y, z element }

// scaled is a point of which z was ratio times that of the one before.
type scaled struct{ x, y, ratio element }

// load reads a signature that is parsed, and tells whether it has a point R.
func (l *lone) load(g *Search) bool {
	var x element
	return !g.s.IsZero() && x.read(g.R[:]) && l.r.lift(&x, g.Odd)
}

// sum adds up the key of a signature: u1 G + u2 R, given the inverse of its r.
func (l *lone) sum(m *Recoverer, g *Search, inverse *fr.Element) {
	var u1, u2 fr.Element
	u1.Mul(&g.z, inverse)
	u1.Neg(&u1)
	u2.Mul(&g.s, inverse)
	l.prepare()
	l.begin(&m.begin)
	low, high := split(&u2)
	l.addR(&low, &high)
	multiply(&l.s.z, &l.s.z, &l.scale)
	low, high = split(&u1)
	l.addG(m.generator, &low, false)
	l.addG(m.generator, &high, true)
	l.s.add(&m.back, 0)
}

// begin begins the sum with a point, on the curve on which scale is one.
func (l *lone) begin(p *point) {
	first := *p
	first.rescale(&l.scale)
	l.s = jacobian{first.x, first.y, one()}
}

// addR adds the products of both halves of a scalar with R, whose digits come the highest first.
func (l *lone) addR(low, high *fr.Element) {
	var of [2][laneRows]term
	for half, k := range []*fr.Element{low, high} {
		d := digitsOf(k, laneDigit)
		for row := range laneRows {
			if value, minus := d.next(); value != 0 {
				of[half][row] = term{&l.of[half][value-1], minus}
			}
		}
	}
	for row := laneRows - 1; row >= 0; row-- {
		for half := range of {
			if t := &of[half][row]; t.point != nil {
				l.s.add(t.point, t.minus)
			}
		}
		if row > 0 {
			for range laneDigit {
				l.s.double()
			}
		}
	}
}

// addG adds the product of half a scalar with the generator.
func (l *lone) addG(generator *Multiples, k *fr.Element, mapped bool) {
	var room [generatorRows]term
	for _, t := range generator.appendHalf(room[:0], k) {
		p := *t.point
		if mapped {
			endomorphism(&p)
		}
		l.s.add(&p, t.minus)
	}
}

// prepare makes the multiples of R as [group.prepare] does.
func (l *lone) prepare() {
	l.s = jacobian{l.r.x, l.r.y, one()}
	l.s.double()
	ratio := l.s.z
	for i := 1; ; i++ {
		l.multiples[i] = scaled{l.s.x, l.s.y, ratio}
		if i == laneMultiples-1 {
			break
		}
		ratio = l.s.add(&l.r, 0)
	}
	l.multiples[0] = scaled{x: l.r.x, y: l.r.y}
	l.scale = one()
	for i := laneMultiples - 1; i >= 0; i-- {
		p, to := &l.multiples[i], &l.of[0][i]
		*to = point{p.x, p.y}
		if i < laneMultiples-1 {
			to.rescale(&l.scale)
		}
		l.of[1][i] = *to
		endomorphism(&l.of[1][i])
		if i > 0 {
			multiply(&l.scale, &l.scale, &p.ratio)
		}
	}
}

// double doubles p.
func (p *jacobian) double() {
	var slope, square, t, u element
	multiply(&slope, &p.x, &p.x)
	add(&t, &slope, &slope)
	add(&slope, &slope, &t)
	halve(&slope) // 3 x^2 / 2
	multiply(&square, &p.y, &p.y)
	multiply(&t, &p.x, &square)
	multiply(&p.z, &p.z, &p.y)
	multiply(&p.x, &slope, &slope)
	add(&u, &t, &t)
	subtract(&p.x, &p.x, &u)
	subtract(&t, &t, &p.x)
	multiply(&t, &t, &slope)
	multiply(&square, &square, &square)
	subtract(&p.y, &t, &square)
}

// add adds a point, or its opposite if minus is one. It returns what z was multiplied by.
func (p *jacobian) add(q *point, minus int) (ratio element) {
	var square, cube, slope, t element
	multiply(&square, &p.z, &p.z)
	multiply(&ratio, &q.x, &square)
	subtract(&ratio, &ratio, &p.x)
	multiply(&square, &square, &p.z)
	t = q.y
	t.negate(minus)
	multiply(&slope, &t, &square)
	subtract(&slope, &slope, &p.y)
	multiply(&p.z, &p.z, &ratio)
	multiply(&square, &ratio, &ratio)
	multiply(&cube, &square, &ratio)
	multiply(&t, &p.x, &square)
	multiply(&p.x, &slope, &slope)
	subtract(&p.x, &p.x, &cube)
	subtract(&p.x, &p.x, &t)
	subtract(&p.x, &p.x, &t)
	subtract(&t, &t, &p.x)
	multiply(&t, &t, &slope)
	multiply(&cube, &cube, &p.y)
	subtract(&p.y, &t, &cube)
	return ratio
}

// halve sets z to z / 2: the prime is added to an odd number. No branch is decided.
func halve(z *element) {
	odd := -(z[0] & 1)
	prime := [4]uint64{^uint64(gap-1) & odd, odd, odd, odd}
	t0, carry := bits.Add64(z[0], prime[0], 0)
	t1, carry := bits.Add64(z[1], prime[1], carry)
	t2, carry := bits.Add64(z[2], prime[2], carry)
	t3, above := bits.Add64(z[3], prime[3], carry)
	*z = element{t0>>1 | t1<<63, t1>>1 | t2<<63, t2>>1 | t3<<63, t3>>1 | above<<63}
}
