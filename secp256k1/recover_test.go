package secp256k1

import (
	"flag"
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/secp256k1"
	"github.com/consensys/gnark-crypto/ecc/secp256k1/fr"
)

var (
	seed   = flag.Uint64("secp256k1.seed", 1, "of random signatures and numbers; 0 takes one by chance")
	effort = flag.Int("secp256k1.effort", 1, "how many times as much random work")
)

// rounds is how often a random test goes on.
func rounds(n int) int {
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	return n * *effort
}

// newTestRecoverer makes one that finds eight keys together, or one after the other. It skips a test of
// the first where the processor cannot.
func newTestRecoverer(t testing.TB, together bool) *Recoverer {
	m := NewRecoverer(NewGenerator())
	if together && m.group == nil {
		t.Skip("the processor has no AVX-512 IFMA")
	}
	if !together {
		m.group = nil
	}
	return m
}

// eachRecoverer runs a test with each kind.
func eachRecoverer(t *testing.T, test func(*testing.T, *Recoverer)) {
	t.Run("eight together", func(t *testing.T) { test(t, newTestRecoverer(t, true)) })
	t.Run("one after the other", func(t *testing.T) { test(t, newTestRecoverer(t, false)) })
}

// scalars makes scalars, above all such whose halves and digits are at a border.
type scalars struct{ *rand.Rand }

func (r scalars) scalar() (k fr.Element) {
	switch r.IntN(5) {
	case 0:
		k.SetUint64(r.Uint64N(40))
	case 1: // near a power of two
		k.SetUint64(2)
		k.Exp(k, big.NewInt(int64(r.IntN(256))))
		var d fr.Element
		k.Add(&k, d.SetInt64(int64(r.IntN(5)-2)))
	case 2: // halves of few bits
		var low, high fr.Element
		low.SetUint64(r.Uint64N(1 << r.IntN(14)))
		high.SetUint64(r.Uint64N(1 << r.IntN(14)))
		k.Mul(&high, &lambda)
		if r.IntN(2) == 0 {
			k.Neg(&k)
		}
		k.Add(&k, &low)
	default:
		k = r.any()
	}
	if r.IntN(2) == 0 {
		k.Neg(&k)
	}
	return k
}

func (r scalars) any() (k fr.Element) {
	var b [32]byte
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	k.SetBytes(b[:])
	return k
}

// makeSignature is the signature whose key is u1 G + u2 R, for R nonce times G.
func makeSignature(u1, u2, nonce *fr.Element) (g Signature) {
	_, base := secp256k1.Generators()
	var at secp256k1.G1Affine
	at.ScalarMultiplication(&base, nonce.BigInt(new(big.Int)))
	x := at.X.Bytes()
	var r, s, z fr.Element
	r.SetBytes(x[:])
	s.Mul(u2, &r)
	z.Mul(u1, &r)
	z.Neg(&z)
	g.R, g.S, g.Digest, g.Odd = r.Bytes(), s.Bytes(), z.Bytes(), byte(at.Y.Bits()[0]&1)
	return g
}

// signature makes one: of a key, changed at random, or made of scalars.
func (r scalars) signature(keys []testKey) (g Signature) {
	if r.IntN(3) == 0 {
		return randomSignature(r.Rand, keys[r.IntN(len(keys))])
	}
	u1, u2, nonce := r.scalar(), r.scalar(), r.any()
	if r.IntN(2) == 0 {
		nonce.SetUint64(1 + r.Uint64N(40))
	}
	switch r.IntN(16) {
	case 0: // no key
		u1.Mul(&u2, &nonce)
		u1.Neg(&u1)
	case 1: // the generator, or its opposite
		u1.Mul(&u2, &nonce)
		u1.Sub(new(fr.Element).SetOne(), &u1)
		if r.IntN(2) == 0 {
			u1.Neg(&u1)
			u2.Neg(&u2)
		}
	}
	g = makeSignature(&u1, &u2, &nonce)
	switch r.IntN(16) {
	case 0: // R is another point, or none
		g.R[r.IntN(32)] ^= 1 << r.IntN(8)
	case 1: // numbers that are not below the order
		for i := range 16 {
			g.S[i] = 0xff
		}
	case 2:
		for i := range 16 {
			g.R[i] = 0xff
		}
	case 3: // a digest that is not below the order
		var d fr.Element
		d.SetUint64(r.Uint64())
		n := new(big.Int).Add(d.BigInt(new(big.Int)), fr.Modulus())
		n.FillBytes(g.Digest[:])
	}
	return g
}

// checkFound compares what was found with what another library finds. It tells whether
// there is something to be found.
func checkFound(t *testing.T, g *Search, mustFind bool) bool {
	t.Helper()
	want, ok := recoverKey(&g.Signature)
	if g.Found && (!ok || [32]byte(g.Key[:32]) != [32]byte(want[1:]) || g.Key[63]&1 != want[0]&1 || !onCurve(&g.Key)) {
		t.Fatalf("%+v: found %x, the library says %x %v", g.Signature, g.Key, want, ok)
	}
	if ok && !g.Found && mustFind {
		t.Fatalf("%+v: not found, the library says %x", g.Signature, want)
	}
	return ok
}

func onCurve(key *[64]byte) bool {
	var p secp256k1.G1Affine
	return p.X.SetBytesCanonical(key[:32]) == nil && p.Y.SetBytesCanonical(key[32:]) == nil && p.IsOnCurve()
}

// What is found is what another library finds, and everything is found, whatever other
// signatures are looked at together with one.
func TestKeysAreFoundThatTheLibraryFinds(t *testing.T) {
	eachRecoverer(t, testKeysAreFound)
}

func testKeysAreFound(t *testing.T, m *Recoverer) {
	work := rounds(300)
	t.Logf("seed %d", *seed)
	r := scalars{rand.New(rand.NewPCG(*seed, 5))}
	keys := []testKey{newTestKey(t, r.Rand), newTestKey(t, r.Rand), newTestKey(t, r.Rand)}
	found, all := 0, 0
	for range work {
		list := make([]Search, r.IntN(36))
		for i := range list {
			list[i].Signature = r.signature(keys)
			list[i].Found = true // left by somebody
		}
		m.Recover(list)
		for i := range list {
			if checkFound(t, &list[i], true) {
				found++
			}
			all++
		}
	}
	t.Logf("%d signatures, %d have a key", all, found)
	if found < all/2 || found == all {
		t.Errorf("%d of %d signatures have a key", found, all)
	}
}

// Where points meet in a sum, its key is not found, and the ones beside are.
func TestPointsThatMeetInASum(t *testing.T) {
	eachRecoverer(t, testPointsMeet)
}

func testPointsMeet(t *testing.T, m *Recoverer) {
	_, base := secp256k1.Generators()
	begin := pointOf(&base)
	var back fr.Element
	back.Exp(*back.SetUint64(2), big.NewInt(laneDoublings))
	back.Neg(&back)
	m.begin = begin // of which the multiple is known
	base.ScalarMultiplication(&base, back.BigInt(new(big.Int)))
	m.back = pointOf(&base)
	work := rounds(100)
	r := scalars{rand.New(rand.NewPCG(*seed, 6))}
	met := 0
	for range work {
		list := make([]Search, 8)
		meet := r.IntN(8)
		for i := range list {
			u1, u2, nonce := r.any(), r.any(), r.any()
			if i == meet {
				// At a row R's multiple is added to the beginning's, doubled for each row above.
				row, digit := r.IntN(laneRows-1), 1+r.Uint64N(laneMultiples)
				u2.SetUint64(2)
				u2.Exp(u2, big.NewInt(int64(row*laneDigit)))
				nonce.SetUint64(2)
				nonce.Exp(nonce, big.NewInt(int64((laneRows-1-row)*laneDigit)))
				var d, inverse fr.Element
				u2.Mul(&u2, d.SetUint64(digit))
				nonce.Mul(&nonce, inverse.Inverse(&d))
				if r.IntN(2) == 0 {
					nonce.Neg(&nonce) // opposite ones
				}
			}
			list[i].Signature = makeSignature(&u1, &u2, &nonce)
		}
		m.Recover(list)
		for i := range list {
			checkFound(t, &list[i], i != meet)
			if !list[i].Found {
				met++
			}
		}
	}
	if met < work/2 {
		t.Errorf("only in %d sums of %d points met", met, work)
	}
}

func FuzzRecover(f *testing.F) {
	kinds := []*Recoverer{newTestRecoverer(f, false)}
	if Wide() {
		kinds = append(kinds, newTestRecoverer(f, true))
	}
	r := scalars{rand.New(rand.NewPCG(7, 8))}
	keys := []testKey{newTestKey(f, r.Rand)}
	for range 30 {
		g, beside := r.signature(keys), r.signature(keys)
		f.Add(g.R[:], g.S[:], g.Digest[:], g.Odd, beside.R[:], beside.S[:], byte(r.IntN(8)))
	}
	f.Fuzz(func(t *testing.T, a, s, z []byte, odd byte, besideR, besideS []byte, lane byte) {
		list := make([]Search, 8)
		for i := range list {
			g := &list[i].Signature
			copy(g.Digest[:], z)
			if g.Odd = odd; i == int(lane%8) {
				copy(g.R[:], a)
				copy(g.S[:], s)
			} else {
				copy(g.R[:], besideR)
				copy(g.S[:], besideS)
			}
		}
		for _, m := range kinds {
			m.Recover(list)
			checkFound(t, &list[lane%8], true)
			checkFound(t, &list[(lane+1)%8], true)
		}
	})
}

func BenchmarkRecover(b *testing.B) {
	b.Run("eight together", func(b *testing.B) { benchmarkRecover(b, newTestRecoverer(b, true)) })
	b.Run("one after the other", func(b *testing.B) { benchmarkRecover(b, newTestRecoverer(b, false)) })
}

func benchmarkRecover(b *testing.B, m *Recoverer) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 8, 64, 256} {
		list := make([]Search, n)
		for i := range list {
			k := newTestKey(b, r)
			list[i].Digest = [32]byte{byte(i), 1}
			k.sign(&list[i].Signature)
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				m.Recover(list)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/1e3/float64(b.N*n), "us/key")
		})
	}
}
