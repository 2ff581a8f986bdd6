// Package secp256k1 tells whose signatures on the curve secp256k1 are, many signatures at a
// time. Whether they are of certain keys ([Matcher]): keys that sign often are prepared, and
// divisions shared, so that it costs less to see that a signature is theirs than to find whose
// it is. And of which keys they are ([Recoverer]): eight at a time on processors that multiply eight
// numbers at once, one after the other elsewhere.
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

// parse reads the numbers; s is zero if they cannot be those of a signature.
func (g *Signature) parse() {
	if g.Odd > 1 || g.r.SetBytesCanonical(g.R[:]) != nil || g.s.SetBytesCanonical(g.S[:]) != nil || g.r.IsZero() {
		g.s.SetZero()
	}
	g.z.SetBytes(g.Digest[:]) // modulo the order
}

// NewGenerator prepares the curve's generator: 2.5 MiB, for everybody who matches or
// recovers. It takes some milliseconds.
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
