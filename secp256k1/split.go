package secp256k1

import (
	"math/big"
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/secp256k1/fr"
)

// splitBits bounds what [split] returns.
const splitBits = 128

// The curve has an endomorphism: (beta x, y) is lambda times (x, y), with cube roots
// of one modulo the field's prime and modulo the order. (a1, b1) and (a2, b2) are short
// vectors of the lattice of those pairs with a + b lambda = 0; g1 and g2 are b2 and -b1
// times 2^384, divided by the order and rounded (Guide to Elliptic Curve Cryptography,
// algorithm 3.74 with the division made a multiplication).
var (
	beta   = element{0xc1396c28719501ee, 0x9cf0497512f58995, 0x6e64479eac3434e9, 0x7ae96a2b657c0710}
	lambda = *new(fr.Element).SetBigInt(number(0x5363ad4cc05c30e0, 0xa5261c028812645a, 0x122e22ea20816678,
		0xdf02967c1b23bd72))

	// minusB1 and minusB2 are for multiplying words: 2^256 times as large.
	minusB1 = *new(fr.Element).SetBigInt(number(0xe4437ed6010e8828, 0x6f547fa90abfe4c3, 0, 0, 0, 0))
	minusB2 = *new(fr.Element).SetBigInt(new(big.Int).Neg(number(0x3086d221a7d46bcd, 0xe86c90e49284eb15, 0, 0, 0, 0)))

	// the lowest word first
	g1 = [4]uint64{0xe893209a45dbb031, 0x3daa8a1471e8ca7f, 0xe86c90e49284eb15, 0x3086d221a7d46bcd}
	g2 = [4]uint64{0x1571b4ae8ac47f71, 0x221208ac9df506c6, 0x6f547fa90abfe4c4, 0xe4437ed6010e8828}
)

// number makes a number of words, the highest first.
func number(words ...uint64) *big.Int {
	n := new(big.Int)
	for _, w := range words {
		n.Or(n.Lsh(n, 64), new(big.Int).SetUint64(w))
	}
	return n
}

// split returns numbers with k = low + lambda high, each below 2^128 or minus one below.
func split(k *fr.Element) (low, high fr.Element) {
	words := k.Bits()
	c1, c2 := multiplyShift(&words, &g1), multiplyShift(&words, &g2)
	var x fr.Element
	high.Mul(&c1, &minusB1)
	high.Add(&high, x.Mul(&c2, &minusB2))
	low.Sub(k, x.Mul(&high, &lambda))
	return low, high
}

// multiplyShift returns a b / 2^384, rounded, as words.
func multiplyShift(a, b *[4]uint64) fr.Element {
	var p [8]uint64
	for i := range a {
		var carry uint64
		for j := range b {
			high, low := bits.Mul64(a[i], b[j])
			var c uint64
			low, c = bits.Add64(low, p[i+j], 0)
			high += c
			p[i+j], c = bits.Add64(low, carry, 0)
			carry = high + c
		}
		p[i+4] = carry
	}
	low, carry := bits.Add64(p[6], p[5]>>63, 0)
	return fr.Element{low, p[7] + carry}
}
