// Package secp256k1 finds the keys that made signatures on the curve secp256k1, many
// signatures at a time: whose divisions are shared, and by whom keys that sign often can be
// prepared, so that it costs less to see that a signature is theirs than to find whose it
// is.
//
// It owns the arithmetic for that and nothing else: it knows no form of keys of any
// protocol, hashes nothing, signs nothing, and remembers nothing between calls. Its time
// depends on what it is given: it is for public signatures, never for secrets. Whatever it
// leaves out (sums in which points meet, which only somebody who chose them so brings
// about) it says, and another library has the word.
package secp256k1

import (
	"github.com/consensys/gnark-crypto/ecc/secp256k1"
	"github.com/consensys/gnark-crypto/ecc/secp256k1/fr"
)

// Together is how many signatures are looked at together with profit: more gain little.
const Together = 16

// Signature is one of a digest. R is the x of a point, which must be below the curve's
// order; Odd is 1 if its y is odd, and 0 if not.
type Signature struct {
	R, S   [32]byte // the highest byte first
	Odd    byte
	Digest [32]byte

	r, s, z fr.Element
}

// parse reads the numbers, and tells whether they may be those of a signature; s is zero if
// not.
func (g *Signature) parse() bool {
	if g.Odd > 1 || g.r.SetBytesCanonical(g.R[:]) != nil || g.s.SetBytesCanonical(g.S[:]) != nil || g.r.IsZero() {
		g.s.SetZero()
	}
	g.z.SetBytes(g.Digest[:]) // modulo the order
	return !g.s.IsZero()
}

// Point is a point of the curve, not the one at infinity: the 32 bytes of x, then those of
// y, the highest first.
type Point [64]byte

// Compressed returns x after 2 or 3, as y is even or odd.
func (p *Point) Compressed() (b [33]byte) {
	b[0] = 2 + p[63]&1
	copy(b[1:], p[:32])
	return b
}

// NewGenerator prepares the curve's generator: 2.5 MiB, for everybody who recovers or
// matches. It takes some milliseconds.
func NewGenerator() *Multiples {
	_, g := secp256k1.Generators()
	p := pointOf(&g)
	return newMultiples(&p, generatorDigit)
}

// Prepare prepares a compressed key: 26 KiB. It fails for what is no key.
func Prepare(key *[33]byte) (*Multiples, bool) {
	var p point
	var x element
	if key[0]&^1 != 2 || !x.read(key[1:]) || !p.lift(&x, key[0]&1) {
		return nil, false
	}
	return newMultiples(&p, keyDigit), true
}
