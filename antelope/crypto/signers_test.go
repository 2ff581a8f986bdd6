package crypto

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc/secp256k1"
	"github.com/consensys/gnark-crypto/ecc/secp256k1/fr"
	dcr "github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"

	"tarn/antelope/types"
)

// testKey is a secret and its prepared key.
type testKey struct {
	secret    *dcr.PrivateKey
	point     [33]byte
	multiples *multiples
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
	if k.multiples, ok = newMultiplesOf(&k.point); !ok {
		t.Fatalf("key %x is not prepared", k.point)
	}
	return k
}

func (k testKey) sign(digest [32]byte) (compact [65]byte) {
	copy(compact[:], ecdsa.SignCompact(k.secret, digest[:], true))
	return compact
}

func testGenerator() *multiples {
	_, g := secp256k1.Generators()
	return newMultiples(&g, generatorDigit)
}

// A claim is right exactly when recovery finds the claimed key, whatever is wrong with
// the signature, and whatever else is checked at the same time.
func TestAClaimIsRightWhenRecoveryFindsTheKey(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	keys := []testKey{newTestKey(t, r), newTestKey(t, r), testKeyOf(t, dcr.PrivKeyFromBytes([]byte{1})), testKeyOf(t, dcr.PrivKeyFromBytes([]byte{2}))}
	generator := testGenerator()
	var m matcher
	right := 0
	for range 400 {
		claims := make([]claim, r.IntN(20))
		for i := range claims {
			claims[i] = randomClaim(r, keys)
		}
		m.match(claims, generator)
		for i := range claims {
			c := &claims[i]
			found, ok := RecoverK1(&c.compact, &c.digest)
			want := ok && found == pointOf(keys, c.key)
			if c.right && !want {
				t.Fatalf("claim %d of %d: %x of %x is said to be of %x, recovery says %x %v", i, len(claims), c.compact, c.digest, pointOf(keys, c.key), found, ok)
			}
			if want && !c.right && !met(c, generator) {
				t.Fatalf("claim %d of %d: %x of %x is of %x and is called wrong", i, len(claims), c.compact, c.digest, found)
			}
			if c.right {
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
func met(c *claim, generator *multiples) bool {
	var inverse, u fr.Element
	inverse.Inverse(&c.s)
	low, high := generator.appendTerms(nil, nil, u.Mul(&c.z, &inverse))
	low, high = c.key.appendTerms(low, high, u.Mul(&c.r, &inverse))
	m := matcher{sums: [][]secp256k1.G1Affine{appendPoints(nil, low), appendPoints(nil, high)}}
	m.add(m.sums)
	m.joinHalves(1)
	m.add(m.sums)
	return len(m.sums[0]) == 0
}

func pointOf(keys []testKey, m *multiples) [33]byte {
	for _, k := range keys {
		if k.multiples == m {
			return k.point
		}
	}
	return [33]byte{}
}

// randomClaim makes a claim, half of them right.
func randomClaim(r *rand.Rand, keys []testKey) claim {
	k := keys[r.IntN(len(keys))]
	c := claim{key: k.multiples}
	for i := range c.digest {
		c.digest[i] = byte(r.Uint32())
	}
	switch r.IntN(8) {
	case 0:
		c.digest = [32]byte{}
	case 1:
		for i := range c.digest {
			c.digest[i] = 0xff // above the order
		}
	}
	c.compact = k.sign(c.digest)
	switch r.IntN(16) {
	case 0:
		c.compact[0] = byte(r.Uint32())
	case 1:
		c.compact[r.IntN(65)] ^= 1 << r.IntN(8)
	case 2:
		c.digest[r.IntN(32)] ^= 1 << r.IntN(8)
	case 3:
		c.compact[0] ^= 1 // the other y
	case 4:
		c.key = keys[r.IntN(len(keys))].multiples
	case 5:
		clear(c.compact[1:33])
	case 6:
		clear(c.compact[33:])
	case 7:
		n := dcr.Params().N.Bytes()
		copy(c.compact[1+32*r.IntN(2):], n)
	case 8: // the opposite s, with the opposite y: high, and right
		var s dcr.ModNScalar
		s.SetByteSlice(c.compact[33:])
		s.Negate()
		b := s.Bytes()
		copy(c.compact[33:], b[:])
		c.compact[0] ^= 1
	}
	return c
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
	for _, width := range []int{keyDigit, generatorDigit} {
		m := newMultiples(&g, width)
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
				got.AddMixed(&p)
			}
			for _, p := range appendPoints(nil, low) {
				got.AddMixed(&p)
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
	generator := testGenerator()
	for _, secret := range []byte{1, 2, 3, 128, 255} {
		k := testKeyOf(t, dcr.PrivKeyFromBytes([]byte{secret}))
		var m matcher
		// R = kG with small k: both scalars are small, or add up to a small one.
		for nonce := uint64(1); nonce < 300; nonce++ {
			var n, rr, z, s fr.Element
			n.SetUint64(nonce)
			_, g := secp256k1.Generators()
			var point secp256k1.G1Affine
			point.ScalarMultiplication(&g, new(big.Int).SetUint64(nonce))
			x := point.X.Bytes()
			rr.SetBytes(x[:])
			// u1 + u2 secret = nonce, with u2 = 1: s = r, z = (nonce - secret) r.
			var d fr.Element
			d.SetUint64(uint64(secret))
			z.Sub(&n, &d)
			z.Mul(&z, &rr)
			s = rr
			c := claim{key: k.multiples}
			c.compact[0] = 31 + byte(point.Y.Bits()[0]&1)
			b := rr.Bytes()
			copy(c.compact[1:], b[:])
			b = s.Bytes()
			copy(c.compact[33:], b[:])
			c.digest = z.Bytes()
			found, ok := RecoverK1(&c.compact, &c.digest)
			if !ok || found != k.point {
				t.Fatalf("secret %d, nonce %d: recovery finds %x %v", secret, nonce, found, ok)
			}
			claims := []claim{c}
			m.match(claims, generator)
			if !claims[0].right && !met(&claims[0], generator) {
				t.Errorf("secret %d, nonce %d: called wrong", secret, nonce)
			}
			claims[0].right = false
			claims[0].compact[0] ^= 1
			if m.match(claims, generator); claims[0].right {
				t.Errorf("secret %d, nonce %d: right with the other y", secret, nonce)
			}
		}
	}
}

// Signers find what Recover finds, whoever is said to have signed, from many goroutines.
func TestSignersFindWhatRecoveryFinds(t *testing.T) {
	s := NewSigners(0)
	var done sync.WaitGroup
	for w := range 4 {
		done.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 1))
			keys := []testKey{newTestKey(t, r), newTestKey(t, r), newTestKey(t, r)}
			for range 150 {
				list := make([]Signed, r.IntN(40))
				for i := range list {
					c := randomClaim(r, keys)
					list[i] = Signed{
						Signature: &types.Signature{Type: types.K1, Compact: c.compact}, Digest: c.digest,
						By: Signer{types.PermissionLevel{Actor: types.Name(r.IntN(5))}, r.IntN(2)},
					}
				}
				s.Recover(list)
				for i, x := range list {
					key, err := Recover(*x.Signature, x.Digest, true)
					if key != x.Key || fmt.Sprint(err) != fmt.Sprint(x.Err) {
						t.Errorf("signature %d: %s %v, recovery says %s %v", i, x.Key, x.Err, key, err)
					}
				}
			}
		})
	}
	done.Wait()
	if len(s.prepared) == 0 {
		t.Error("no key was prepared")
	}
}

// Few signatures of many goroutines are looked at together, and each gets its own key.
func TestFewSignaturesOfManyGoroutines(t *testing.T) {
	s := NewSigners(0)
	r := rand.New(rand.NewPCG(7, 8))
	keys := []testKey{newTestKey(t, r), newTestKey(t, r)}
	var done sync.WaitGroup
	for w := range 32 {
		done.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 9))
			for range 100 {
				list := make([]Signed, r.IntN(few+1))
				for i := range list {
					c := randomClaim(r, keys)
					list[i] = Signed{Signature: &types.Signature{Type: types.K1, Compact: c.compact}, Digest: c.digest, By: Signer{Place: 1 + r.IntN(3)}}
				}
				s.Recover(list)
				for _, x := range list {
					if key, err := Recover(*x.Signature, x.Digest, true); key != x.Key || fmt.Sprint(err) != fmt.Sprint(x.Err) {
						t.Errorf("%s %v, recovery says %s %v", x.Key, x.Err, key, err)
					}
				}
			}
		})
	}
	done.Wait()
	if s.queue.working != 0 || len(s.queue.waiting) != 0 {
		t.Errorf("%d are still working, %d waiting", s.queue.working, len(s.queue.waiting))
	}
}

// What finding keys took is billed: waiting for others is no part of it.
func TestTimeIsThatOfTheWork(t *testing.T) {
	s := NewSigners(0)
	r := rand.New(rand.NewPCG(7, 8))
	keys := []testKey{newTestKey(t, r), newTestKey(t, r)}
	var done sync.WaitGroup
	var sum atomic.Int64
	lists := make([][]Signed, 64)
	for w := range lists {
		for range few {
			c := randomClaim(r, keys)
			lists[w] = append(lists[w], Signed{Signature: &types.Signature{Type: types.K1, Compact: c.compact}, Digest: c.digest, By: Signer{Place: 1 + r.IntN(3)}})
		}
	}
	start := time.Now()
	for _, list := range lists {
		done.Go(func() {
			for range 10 {
				s.Recover(list)
				for _, x := range list {
					if x.Took <= 0 {
						t.Errorf("a key was found in %s", x.Took)
					}
					sum.Add(int64(x.Took))
				}
			}
		})
	}
	done.Wait()
	if there := time.Since(start) * time.Duration(runtime.GOMAXPROCS(0)); time.Duration(sum.Load()) > there {
		t.Errorf("%s were used, there were %s", time.Duration(sum.Load()), there)
	}
}

// What is remembered is bounded, and a key that is used stays.
func TestSignersRememberABoundedNumber(t *testing.T) {
	s := NewSigners(0)
	often := testKeyOf(t, dcr.PrivKeyFromBytes([]byte{77}))
	for i := range 3 * maxSigners {
		s.note(Signer{Place: i}, [33]byte{2, byte(i), byte(i >> 8), byte(i >> 16)})
	}
	for range oftenSeen {
		s.note(Signer{Place: -1}, often.point)
	}
	for i := range 2 * maxSigners { // with one signer, many keys
		s.note(Signer{Place: -2}, [33]byte{3, byte(i), byte(i >> 8), byte(i >> 16)})
	}
	if len(s.young) > maxSigners || len(s.old) > maxSigners || len(s.keys) > maxSigners {
		t.Errorf("%d young, %d old, %d keys", len(s.young), len(s.old), len(s.keys))
	}
	if k := s.keys[often.point]; k == nil || k.multiples == nil {
		t.Fatal("a prepared key is forgotten")
	}
}

// When there is no room, keys make it that were not used for long.
func TestPreparedKeysStayWhileTheyAreUsed(t *testing.T) {
	s := NewSigners(0)
	var first [33]byte
	for i := range maxPrepared {
		k := &signingKey{point: [33]byte{2, byte(i), byte(i >> 8)}, multiples: new(multiples)}
		if s.prepared = append(s.prepared, k); i == 0 {
			first = k.point
		}
		s.keys[k.point] = k
	}
	newcomer := &signingKey{point: [33]byte(dcr.PrivKeyFromBytes([]byte{78}).PubKey().SerializeCompressed())}
	s.clock = longUnused - 1
	if s.prepare(newcomer); newcomer.multiples != nil || len(s.prepared) != maxPrepared {
		t.Error("a key in use made room")
	}
	s.clock += longUnused / 16
	s.keys[first].used = s.clock
	if s.prepare(newcomer); newcomer.multiples == nil || len(s.prepared) != 2 || s.keys[first].multiples == nil {
		t.Errorf("%d keys are prepared", len(s.prepared))
	}
}

func BenchmarkSigners(b *testing.B) {
	const signatures, keys = 4096, 256
	r := rand.New(rand.NewPCG(3, 4))
	all := make([]Signed, 0, signatures)
	for i := range keys {
		k := newTestKey(b, r)
		for len(all) < (i+1)*signatures/keys {
			digest := [32]byte{byte(i), byte(r.Uint32()), byte(r.Uint32()), byte(r.Uint32())}
			x := &types.Signature{Type: types.K1, Compact: k.sign(digest)}
			if IsCanonical(&x.Compact) {
				all = append(all, Signed{Signature: x, Digest: digest, By: Signer{Place: i + 1}})
			}
		}
	}
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, known := range []bool{true, false} {
		for _, n := range []int{1, 4, 16} {
			b.Run(fmt.Sprintf("known=%v/together=%d", known, n), func(b *testing.B) {
				s := NewSigners(0)
				list := slices.Clone(all)
				if !known {
					for i := range list {
						list[i].By = Signer{}
					}
				}
				s.Recover(list)
				b.ResetTimer()
				for i := 0; b.Loop(); i = (i + n) % signatures {
					s.Recover(list[i : i+n])
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/signature")
			})
		}
	}
}

func BenchmarkPrepare(b *testing.B) {
	k := newTestKey(b, rand.New(rand.NewPCG(5, 6)))
	for b.Loop() {
		newMultiplesOf(&k.point)
	}
}
