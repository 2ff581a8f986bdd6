package difftest

import (
	"encoding/hex"
	"math/big"

	"tarn/antelope/crypto"
	"tarn/antelope/types"
)

// The generator of alt_bn128's second group, and the prime of the field, from EIP-197.
const (
	bnSecond = "198e9393920d483a7260bfb731fb5d25f1aa493335a9e71297e485b7aef312c2" +
		"1800deef121f1e76426a00665e5c4479674322d4f75edadd46debd5cd992f6ed" +
		"090689d0585ff075ec9e99ad690c3395bc4b313370b38ef355acdadcd122975b" +
		"12c85ea5db8c6deb4aab71808dcb408fe3d1e7690c43d37b4ce6cc0166fa7daa"
	bnPrime = "30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47"
)

func fromHex(s string) []byte {
	b, _ := hex.DecodeString(s) // of constants
	return b
}

// bnPoint is a multiple of the generator of alt_bn128's first group, and the point
// that is as far on the other side.
func (g *scripts) bnPoint() (p, opposite [64]byte) {
	one := append(big.NewInt(1).FillBytes(make([]byte, 32)), big.NewInt(2).FillBytes(make([]byte, 32))...)
	scalar := g.bytes(32)
	crypto.AltBn128Mul(p[:], one, append(make([]byte, 32-len(scalar)), scalar...))
	copy(opposite[:], p[:32])
	y := new(big.Int).SetBytes(p[32:])
	if y.Sign() > 0 {
		y.Sub(new(big.Int).SetBytes(fromHex(bnPrime)), y)
	}
	y.FillBytes(opposite[32:])
	return p, opposite
}

// breakBytes changes bytes now and then, to others or to what is no element of the field.
func (g *scripts) breakBytes(b []byte) []byte {
	switch {
	case len(b) == 0 || !g.One(3):
	case g.One(3) && len(b) >= 32:
		copy(b[32*g.Rand.IntN(len(b)/32):], fromHex(bnPrime))
	case g.One(3):
		return b[:g.Rand.IntN(len(b))]
	default:
		b[g.Rand.IntN(len(b))] ^= 1 << g.Rand.IntN(8)
	}
	return b
}

// length of data as a function is told it: now and then one less or more.
func (g *scripts) length(n int) operand {
	if g.One(8) {
		n += g.Rand.IntN(3) - 1
	}
	return number(uint64(max(0, n)))
}

// curves calls what CRYPTO_PRIMITIVES brought for alt_bn128, with points that are
// valid and ones that are not.
func (g *scripts) curves(s *script) {
	var pairs []byte
	for range g.Rand.IntN(3) {
		p, opposite := g.bnPoint()
		for _, x := range [][64]byte{p, opposite} {
			if g.One(8) {
				x = [64]byte{} // infinity
			}
			second := fromHex(bnSecond)
			if g.One(10) {
				clear(second)
			}
			pairs = append(append(pairs, x[:]...), second...)
		}
	}
	pairs = g.breakBytes(pairs)
	s.call("alt_bn128_pair", 1, pointer(s.data(pairs)), g.length(len(pairs)))
	p, opposite := g.bnPoint()
	q, _ := g.bnPoint()
	a, b := g.breakBytes(p[:]), g.breakBytes(q[:])
	if g.One(4) {
		b = opposite[:]
	}
	out := scratchAt + 2048
	s.call("alt_bn128_add", 2, pointer(s.data(a)), g.length(len(a)), pointer(s.data(b)), g.length(len(b)),
		pointer(out), g.length(64))
	s.call("mix", -1, pointer(out), number(66))
	scalar := g.breakBytes(append(g.bytes(16), make([]byte, 32)...)[:32])
	s.call("alt_bn128_mul", 3, pointer(s.data(a)), g.length(len(a)), pointer(s.data(scalar)), g.length(len(scalar)),
		pointer(out), g.length(64))
	s.call("mix", -1, pointer(out), number(66))
}

// numbers calls mod_exp, blake2_f and sha3 at the edges of what they take.
func (g *scripts) numbers(s *script) {
	out := scratchAt + 2048
	base, exponent, modulus := g.bytes(120), g.bytes(20), g.bytes(120)
	if g.One(5) {
		clear(modulus)
	}
	if g.One(5) && len(modulus) > 0 {
		clear(modulus)
		modulus[len(modulus)-1] = 1
	}
	size := len(modulus)
	if g.One(4) {
		size += g.Rand.IntN(5) - 2
	}
	s.call("mod_exp", 1, pointer(s.data(base)), number(uint64(len(base))), pointer(s.data(exponent)),
		number(uint64(len(exponent))),
		pointer(s.data(modulus)), number(uint64(len(modulus))), pointer(out), number(uint64(max(0, size))))
	s.call("mix", -1, pointer(out), number(124))
	state, message, counts := make([]byte, 64), make([]byte, 128), g.bytes(16)
	copy(state, g.bytes(64))
	copy(message, g.bytes(128))
	counts = append(counts, make([]byte, 16)...)
	at := s.data(counts)
	s.call("blake2_f", 2, number(g.Rand.Uint64N(40)), pointer(s.data(state)), g.length(64), pointer(s.data(message)),
		g.length(128),
		pointer(at), g.length(8), pointer(at+8), g.length(8), number(g.Rand.Uint64N(3)), pointer(out), g.length(64))
	s.call("mix", -1, pointer(out), number(66))
	b := g.bytes(300)
	s.call("sha3", -1, pointer(s.data(b)), number(uint64(len(b))), pointer(out), number(g.Rand.Uint64N(40)),
		number(g.Rand.Uint64N(3)))
	s.call("mix", -1, pointer(out), number(40))
}

// recoveries calls the functions that recover keys, with signatures of every kind
// that are valid, and ones that are not.
func (g *scripts) recoveries(s *script) {
	digest := types.Hash(g.bytes(40))
	key := pick(g.Driver, g.pool)
	signed, err := key.Sign(digest)
	if err != nil {
		s.err = err
		return
	}
	out := scratchAt + 2048
	sig := signed.Append(nil)
	switch g.Rand.IntN(8) {
	case 0:
		sig[0] = byte(g.Rand.IntN(5))
	case 1:
		sig[1] = byte(20 + g.Rand.IntN(20))
	case 2:
		clear(sig[2:34])
	case 3:
		clear(sig[34:66])
	case 4:
		copy(sig[2+32*g.Rand.IntN(2):], fromHex("ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"))
	case 5:
		sig[1+g.Rand.IntN(len(sig)-1)] ^= 1 << g.Rand.IntN(8)
	}
	d, at := s.data(digest[:]), s.data(sig)
	public := key.Public().Append(nil)
	s.call("k1_recover", 1, pointer(at+1), g.length(65), pointer(d), g.length(32), pointer(out), g.length(65))
	s.call("mix", -1, pointer(out), number(66))
	s.call("recover_key", 2, pointer(d), pointer(at), g.length(len(sig)), pointer(out), number(g.Rand.Uint64N(300)))
	s.call("mix", -1, pointer(out), number(300))
	s.call("assert_recover_key", -1, pointer(d), pointer(at), g.length(len(sig)), pointer(s.data(public)),
		g.length(len(public)))
}
