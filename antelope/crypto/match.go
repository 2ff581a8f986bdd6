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
// less than multiplying R. A claim that cannot be checked like this, as a point's x
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
	m.sums = m.sums[:0]
	if need := len(claims) * 2 * maxTerms; cap(m.points) < need {
		m.points = make([]secp256k1.G1Affine, need)
	}
	room := m.points[:cap(m.points)]
	for i := len(claims) - 1; i >= 0; i-- {
		c := &claims[i]
		var inverse, u fr.Element
		inverse.Mul(&product, &m.before[i])
		product.Mul(&product, &c.s)
		low, high := room[:0:maxTerms], room[maxTerms:maxTerms:2*maxTerms]
		room = room[2*maxTerms:]
		if !c.r.IsZero() {
			low, high = generator.appendTerms(low, high, u.Mul(&c.z, &inverse))
			low, high = c.key.appendTerms(low, high, u.Mul(&c.r, &inverse))
		}
		m.sums = append(m.sums, low, high)
	}
	m.add(m.sums)
	m.joinHalves(len(claims))
	m.add(m.sums)
	for i := range claims {
		c := &claims[i]
		if sum := m.sums[len(claims)-1-i]; len(sum) == 1 {
			c.right = c.is(&sum[0])
		}
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
