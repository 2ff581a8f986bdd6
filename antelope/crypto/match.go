package crypto

import (
	"github.com/consensys/gnark-crypto/ecc/secp256k1"
	"github.com/consensys/gnark-crypto/ecc/secp256k1/fp"
	"github.com/consensys/gnark-crypto/ecc/secp256k1/fr"
	dcr "github.com/decred/dcrd/dcrec/secp256k1/v4"
)

// claim is a signature of which one guesses by whom it is.
type claim struct {
	compact [65]byte
	digest  [32]byte
	key     *multiples
	right   bool // the key is the one that the signature's recovery finds

	r, s, z fr.Element
}

// matcher checks claims. Not for concurrent use.
type matcher struct {
	adder
	terms  [][]term
	points []secp256k1.G1Affine
	sums   [][]secp256k1.G1Affine
	s      []fr.Element
}

// match finds out which claims are right. A signature (r, s) of z stands for the point
// R whose x is r, and for the parity of its y; recovery finds (s R - z G) / r. So Q is
// what it finds if and only if (z G + r Q) / s is R, and multiplying known points costs
// less than multiplying R. A claim that cannot be checked like this, as a point's x
// above the order, is not called right. generator has the multiples of G.
func (m *matcher) match(claims []claim, generator *multiples) {
	m.s = m.s[:0]
	for i := range claims {
		claims[i].parse()
		m.s = append(m.s, claims[i].s)
	}
	inverses := fr.BatchInvert(m.s)
	m.expand(claims, inverses, generator)
	m.add(m.sums)
	m.joinHalves(len(claims))
	m.add(m.sums)
	for i := range claims {
		c := &claims[i]
		if sum := m.sums[i]; len(sum) == 1 {
			c.right = c.is(&sum[0])
		}
	}
}

// expand makes the sums of two halves of each claim, which are empty where there is
// nothing to check. The terms of all are chosen before a point is read: multiples of many
// keys are in no cache, and so the memory brings them while others are chosen.
func (m *matcher) expand(claims []claim, inverses []fr.Element, generator *multiples) {
	for len(m.terms) < 2*len(claims) {
		m.terms = append(m.terms, make([]term, 0, maxTerms))
	}
	for i := range claims {
		c, low, high := &claims[i], m.terms[2*i][:0], m.terms[2*i+1][:0]
		if !c.s.IsZero() {
			var u fr.Element
			low, high = generator.appendTerms(low, high, u.Mul(&c.z, &inverses[i]))
			low, high = c.key.appendTerms(low, high, u.Mul(&c.r, &inverses[i]))
		}
		m.terms[2*i], m.terms[2*i+1] = low, high
	}
	if need := len(claims) * 2 * maxTerms; cap(m.points) < need {
		m.points = make([]secp256k1.G1Affine, need)
	}
	room := m.points[:cap(m.points)]
	m.sums = m.sums[:0]
	for _, terms := range m.terms[:2*len(claims)] {
		m.sums = append(m.sums, appendPoints(room[:0:maxTerms], terms))
		clear(terms) // which may be a key's that is forgotten
		room = room[maxTerms:]
	}
}

// joinHalves makes one sum of each two: of low, and of high after the endomorphism.
func (m *matcher) joinHalves(sums int) {
	for i := range sums {
		low, high := m.sums[2*i], m.sums[2*i+1]
		if len(high) == 1 {
			endomorphism(&high[0])
		}
		if len(low) != 1 || len(high) != 1 {
			low, high = low[:0], nil // one of them met what cannot be added, or is nothing
		}
		m.sums[i] = append(low, high...)
	}
	m.sums = m.sums[:sums]
}

// parse reads the numbers of a signature; s is zero for those that match leaves alone.
func (c *claim) parse() {
	recovery := (c.compact[0] - 27) & 3
	if !headerOK(c.compact[0]) || recovery > 1 ||
		c.r.SetBytesCanonical(c.compact[1:33]) != nil || c.s.SetBytesCanonical(c.compact[33:]) != nil || c.r.IsZero() {
		c.s.SetZero()
	}
	c.z.SetBytes(c.digest[:]) // modulo the order
}

// is tells whether a point is that of the signature.
func (c *claim) is(p *secp256k1.G1Affine) bool {
	var x fp.Element
	if x.SetBytesCanonical(c.compact[1:33]) != nil {
		return false
	}
	return p.X.Equal(&x) && byte(p.Y.Bits()[0]&1) == (c.compact[0]-27)&1
}

// newMultiplesOf prepares a compressed key, which is one.
func newMultiplesOf(key *[33]byte) (*multiples, bool) {
	public, err := dcr.ParsePubKey(key[:])
	if err != nil {
		return nil, false
	}
	var p secp256k1.G1Affine
	p.X.SetBigInt(public.X())
	p.Y.SetBigInt(public.Y())
	return newMultiples(&p, keyDigit), true
}
