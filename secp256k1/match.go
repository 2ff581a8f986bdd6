package secp256k1

import "github.com/consensys/gnark-crypto/ecc/secp256k1/fr"

// Claim is a signature of which one guesses by whom it is.
type Claim struct {
	Signature
	Key    *Multiples
	Either bool // the signature says nothing of the parity of y: both are right
	Right  bool // the key is the one that the signature's recovery finds
}

// Matcher checks claims. Not for concurrent use.
type Matcher struct {
	adder
	sums
	s []fr.Element
}

// Match finds out which claims are right. A signature (r, s) of z stands for the point
// R whose x is r, and for the parity of its y; recovery finds (s R - z G) / r. So Q is
// what it finds if and only if (z G + r Q) / s is R, and multiplying known points costs
// less than multiplying R. A claim that cannot be checked like this, as one whose points
// meet, is not called right. generator has the multiples of G.
func (m *Matcher) Match(claims []Claim, generator *Multiples) {
	m.s = m.s[:0]
	for i := range claims {
		claims[i].parse()
		claims[i].Right = false
		m.s = append(m.s, claims[i].s)
	}
	inverses := fr.BatchInvert(m.s)
	m.expand(claims, inverses, generator)
	m.add(m.of)
	m.joinHalves()
	m.add(m.of)
	for i := range claims {
		c := &claims[i]
		if sum := m.of[i]; len(sum) == 1 {
			c.Right = c.is(&sum[0])
		}
	}
}

// expand makes the sums of two halves of each claim, which are empty where there is
// nothing to check.
func (m *Matcher) expand(claims []Claim, inverses []fr.Element, generator *Multiples) {
	m.begin(len(claims))
	for i := range claims {
		c := &claims[i]
		if !c.s.IsZero() {
			var u fr.Element
			m.product(i, generator, u.Mul(&c.z, &inverses[i]))
			m.product(i, c.Key, u.Mul(&c.r, &inverses[i]))
		}
	}
	m.lay()
}

// is tells whether a point is that of the signature.
func (c *Claim) is(p *point) bool {
	var x element
	return x.read(c.R[:]) && p.x == x && (c.Either || p.y.parity() == c.Odd)
}
