package secp256k1

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/secp256k1"
	"github.com/consensys/gnark-crypto/ecc/secp256k1/fr"
	dcr "github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"
)

// testKey is a secret and its prepared key.
type testKey struct {
	secret    *dcr.PrivateKey
	point     [33]byte
	multiples *Multiples
}

func newTestKey(t testing.TB, r *rand.Rand) testKey {
	var b [32]byte
	for i := range 4 {
		binary.LittleEndian.PutUint64(b[8*i:], r.Uint64())
	}
	return testKeyOf(t, dcr.PrivKeyFromBytes(b[:]))
}

func testKeyOf(t testing.TB, secret *dcr.PrivateKey) testKey {
	k := testKey{secret: secret, point: [33]byte(secret.PubKey().SerializeCompressed())}
	var ok bool
	if k.multiples, ok = Prepare(&k.point); !ok {
		t.Fatalf("key %x is not prepared", k.point)
	}
	return k
}

func (k testKey) sign(g *Signature) {
	compact := ecdsa.SignCompact(k.secret, g.Digest[:], false)
	g.Odd = compact[0] - 27
	copy(g.R[:], compact[1:])
	copy(g.S[:], compact[33:])
}

// recoverKey is what another library finds.
func recoverKey(g *Signature) (key [33]byte, ok bool) {
	compact := [65]byte{27 + g.Odd}
	copy(compact[1:], g.R[:])
	copy(compact[33:], g.S[:])
	if g.Odd > 1 {
		return key, false
	}
	found, _, err := ecdsa.RecoverCompact(compact[:], g.Digest[:])
	if err != nil {
		return key, false
	}
	copy(key[:], found.SerializeCompressed())
	return key, true
}

// A claim is right exactly when recovery finds the claimed key, whatever is wrong with
// the signature, and whatever else is checked at the same time.
func TestAClaimIsRightWhenRecoveryFindsTheKey(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	keys := []testKey{newTestKey(t, r), newTestKey(t, r), testKeyOf(t, dcr.PrivKeyFromBytes([]byte{1})),
		testKeyOf(t, dcr.PrivKeyFromBytes([]byte{2}))}
	generator := NewGenerator()
	var m Matcher
	right := 0
	for range 400 {
		claims := make([]Claim, r.IntN(20))
		for i := range claims {
			k := keys[r.IntN(len(keys))]
			claims[i] = Claim{Signature: randomSignature(r, k), Key: k.multiples}
			if r.IntN(16) == 0 {
				claims[i].Key = keys[r.IntN(len(keys))].multiples
			}
			claims[i].Either = r.IntN(4) == 0
		}
		m.Match(claims, generator)
		for i := range claims {
			c := &claims[i]
			found, ok := recoverKey(&c.Signature)
			want := ok && found == keyOf(keys, c.Key)
			if c.Either && !want && c.Odd <= 1 { // or the other parity finds it
				other := c.Signature
				other.Odd ^= 1
				found, ok = recoverKey(&other)
				want = ok && found == keyOf(keys, c.Key)
			}
			if c.Right && !want {
				t.Fatalf("claim %d of %d: %+v is said to be of %x, recovery says %x %v",
					i, len(claims), c.Signature, keyOf(keys, c.Key), found, ok)
			}
			if want && !c.Right && !met(c, generator) {
				t.Fatalf("claim %d of %d: %+v is of %x and is called wrong", i, len(claims), c.Signature, found)
			}
			if c.Right {
				right++
			}
		}
	}
	if right < 500 {
		t.Errorf("only %d claims were right", right)
	}
}

// met tells whether two of the points that a claim adds are the same or opposite, or
// there are none: then it may be called wrong.
func met(c *Claim, generator *Multiples) bool {
	var inverse, u fr.Element
	inverse.Inverse(&c.s)
	var m Matcher
	m.begin(1)
	m.product(0, generator, u.Mul(&c.z, &inverse))
	m.product(0, c.Key, u.Mul(&c.r, &inverse))
	m.lay()
	m.add(m.of)
	m.joinHalves()
	m.add(m.of)
	return len(m.of[0]) == 0
}

func keyOf(keys []testKey, m *Multiples) [33]byte {
	for _, k := range keys {
		if k.multiples == m {
			return k.point
		}
	}
	return [33]byte{}
}

// randomSignature makes a signature, half of them right.
func randomSignature(r *rand.Rand, k testKey) (g Signature) {
	for i := range g.Digest {
		g.Digest[i] = byte(r.Uint32())
	}
	switch r.IntN(8) {
	case 0:
		g.Digest = [32]byte{}
	case 1:
		for i := range g.Digest {
			g.Digest[i] = 0xff // above the order
		}
	}
	k.sign(&g)
	of := &g.R
	if r.IntN(2) == 0 {
		of = &g.S
	}
	switch r.IntN(16) {
	case 0:
		g.Odd = byte(r.IntN(4))
	case 1:
		of[r.IntN(32)] ^= 1 << r.IntN(8)
	case 2:
		g.Digest[r.IntN(32)] ^= 1 << r.IntN(8)
	case 3:
		g.Odd ^= 1 // the other y
	case 4:
		clear(of[:])
	case 5:
		dcr.Params().N.FillBytes(of[:])
	case 6: // the opposite s, with the opposite y: high, and right
		var s dcr.ModNScalar
		s.SetByteSlice(g.S[:])
		s.Negate()
		g.S = s.Bytes()
		g.Odd ^= 1
	case 7:
		for i := range of {
			of[i] = byte(r.Uint32())
		}
	}
	return g
}

// A split scalar has two short halves that make it again.
func TestSplitScalarsAreShort(t *testing.T) {
	bound := new(big.Int).Lsh(big.NewInt(1), splitBits)
	order := fr.Modulus()
	check := func(k fr.Element) {
		low, high := split(&k)
		var back fr.Element
		if back.Add(&low, back.Mul(&high, &lambda)); !back.Equal(&k) {
			t.Fatalf("%s is not %s + lambda %s", k.Text(16), low.Text(16), high.Text(16))
		}
		for _, half := range []fr.Element{low, high} {
			n := half.BigInt(new(big.Int))
			if n.Cmp(new(big.Int).Rsh(order, 1)) > 0 {
				n.Sub(order, n)
			}
			if n.Cmp(bound) >= 0 {
				t.Fatalf("%s: a half is %s", k.Text(16), half.Text(16))
			}
		}
	}
	for i := int64(-300); i < 300; i++ {
		var k, times fr.Element
		k.SetInt64(i)
		check(k)
		check(*times.Mul(&k, &lambda))
		k.SetBigInt(new(big.Int).Rsh(order, uint(i&255)))
		check(k)
		check(*k.Neg(&k))
	}
	for range 10_000 {
		var k fr.Element
		check(*k.MustSetRandom())
	}
}

// Multiples are those that the library computes.
func TestMultiplesMakeProducts(t *testing.T) {
	_, g := secp256k1.Generators()
	base := pointOf(&g)
	for _, width := range []int{keyDigit, generatorDigit} {
		m := newMultiples(&base, width)
		for i := range 300 {
			var k fr.Element
			if k.SetInt64(int64(i - 150)); i%3 == 0 {
				k.MustSetRandom()
			}
			var want, got secp256k1.G1Jac
			want.FromAffine(&g)
			want.ScalarMultiplication(&want, k.BigInt(new(big.Int)))
			got.X.SetOne()
			got.Y.SetOne()
			low, high := m.appendTerms(nil, nil, &k)
			for _, p := range appendPoints(nil, high) {
				endomorphism(&p)
				q := p.affine()
				got.AddMixed(&q)
			}
			for _, p := range appendPoints(nil, low) {
				q := p.affine()
				got.AddMixed(&q)
			}
			if !got.Equal(&want) {
				t.Fatalf("%d bits a digit: %s G is wrong", width, k.Text(16))
			}
		}
	}
}

// Signatures of one who knows the secret, chosen so that the same points meet in the
// sum, are not right by accident, and their key is found all the same.
func TestSignaturesMadeForPointsToMeet(t *testing.T) {
	generator := NewGenerator()
	var m Matcher
	for _, secret := range []byte{1, 2, 3, 128, 255} {
		k := testKeyOf(t, dcr.PrivKeyFromBytes([]byte{secret}))
		// R = kG with small k: both scalars are small, or add up to a small one.
		for nonce := uint64(1); nonce < 300; nonce++ {
			g := meeting(secret, nonce)
			found, ok := recoverKey(&g)
			if !ok || found != k.point {
				t.Fatalf("secret %d, nonce %d: recovery finds %x %v", secret, nonce, found, ok)
			}
			claims := []Claim{{Signature: g, Key: k.multiples}}
			m.Match(claims, generator)
			if !claims[0].Right && !met(&claims[0], generator) {
				t.Errorf("secret %d, nonce %d: called wrong", secret, nonce)
			}
			claims[0].Odd ^= 1
			if m.Match(claims, generator); claims[0].Right {
				t.Errorf("secret %d, nonce %d: right with the other y", secret, nonce)
			}
		}
	}
}

// meeting is a signature with a small nonce and s = r: then the key is R - (nonce - secret)
// G, and the check's sum u1 + u2 secret is the nonce, with u2 = 1.
func meeting(secret byte, nonce uint64) (g Signature) {
	var n, r, z, d fr.Element
	n.SetUint64(nonce)
	_, base := secp256k1.Generators()
	var at secp256k1.G1Affine
	at.ScalarMultiplication(&base, new(big.Int).SetUint64(nonce))
	x := at.X.Bytes()
	r.SetBytes(x[:])
	d.SetUint64(uint64(secret))
	z.Sub(&n, &d)
	z.Mul(&z, &r)
	g.R, g.S, g.Digest = r.Bytes(), r.Bytes(), z.Bytes()
	g.Odd = byte(at.Y.Bits()[0] & 1)
	return g
}

// What is no key is not prepared.
func TestOnlyKeysArePrepared(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		var key [33]byte
		for i := range key {
			key[i] = byte(r.Uint32())
		}
		key[0] = byte(r.IntN(6))
		_, err := dcr.ParsePubKey(key[:])
		if _, ok := Prepare(&key); ok != (err == nil) {
			t.Errorf("key %x is prepared: %v", key, ok)
		}
	}
}

func BenchmarkSignatures(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	generator := NewGenerator()
	for _, n := range []int{1, 4, Together, 64} {
		claims := make([]Claim, n)
		for i := range claims {
			k := newTestKey(b, r)
			claims[i].Digest = [32]byte{byte(i), 1}
			k.sign(&claims[i].Signature)
			claims[i].Key = k.multiples
		}
		b.Run(fmt.Sprint("match/", n), func(b *testing.B) {
			var m Matcher
			for b.Loop() {
				m.Match(claims, generator)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/1e3/float64(b.N*n), "us/signature")
		})
	}
}
