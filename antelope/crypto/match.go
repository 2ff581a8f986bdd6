package crypto

import (
	"github.com/consensys/gnark-crypto/ecc/secp256k1"
	"github.com/consensys/gnark-crypto/ecc/secp256k1/fp"
	"github.com/consensys/gnark-crypto/ecc/secp256k1/fr"
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
	points []secp256k1.G1Affine
	sums   [][]secp256k1.G1Affine
	before []fr.Element
}

// match finds out which claims are right. A signature (r, s) of z stands for the point
// R whose x is r, and for the parity of its y; recovery finds (s R - z G) / r. So Q is
// what it finds if and only if (z G + r Q) / s is R, and multiplying known points costs
// a third of multiplying R. A claim that cannot be checked like this, as a point's x
// above the order, is not called right. generator has the multiples of G.
func (m *matcher) match(claims []claim, generator *multiples) {
	m.before = m.before[:0]
	product := fr.One()
	for i := range claims {
		c := &claims[i]
		if !c.parse() {
			c.s.SetOne()
			c.r.SetZero()
		}
		m.before = append(m.before, product)
		product.Mul(&product, &c.s)
	}
	product.Inverse(&product)
	m.points, m.sums = m.points[:0], m.sums[:0]
	if need := len(claims) * maxTerms; cap(m.points) < need {
		m.points = make([]secp256k1.G1Affine, 0, need)
	}
	for i := len(claims) - 1; i >= 0; i-- {
		c := &claims[i]
		var inverse, u fr.Element
		inverse.Mul(&product, &m.before[i])
		product.Mul(&product, &c.s)
		start := len(m.points)
		if !c.r.IsZero() {
			m.points = generator.appendTerms(m.points, u.Mul(&c.z, &inverse))
			m.points = c.key.appendTerms(m.points, u.Mul(&c.r, &inverse))
		}
		m.sums = append(m.sums, m.points[start:])
	}
	m.add(m.sums)
	for i := range claims {
		c := &claims[i]
		if sum := m.sums[len(claims)-1-i]; len(sum) == 1 {
			c.right = c.is(&sum[0])
		}
	}
}

// parse reads the numbers of a signature; it fails for those that match leaves alone.
func (c *claim) parse() bool {
	recovery := (c.compact[0] - 27) & 3
	if !headerOK(c.compact[0]) || recovery > 1 ||
		c.r.SetBytesCanonical(c.compact[1:33]) != nil || c.s.SetBytesCanonical(c.compact[33:]) != nil {
		return false
	}
	c.z.SetBytes(c.digest[:]) // modulo the order
	return !c.r.IsZero() && !c.s.IsZero()
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
	var x, y, square, seven fp.Element
	if x.SetBytesCanonical(key[1:]) != nil {
		return nil, false
	}
	square.Square(&x)
	square.Mul(&square, &x)
	seven.SetUint64(7)
	square.Add(&square, &seven)
	if y.Sqrt(&square) == nil {
		return nil, false
	}
	if byte(y.Bits()[0]&1) != key[0]&1 {
		y.Neg(&y)
	}
	return newMultiples(&secp256k1.G1Affine{X: x, Y: y}, keyDigit), true
}
