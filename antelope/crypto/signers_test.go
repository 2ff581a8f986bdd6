package crypto

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	dcr "github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"

	"tarn/antelope/types"
	"tarn/secp256k1"
)

// testKey is a secret and its key.
type testKey struct {
	secret *dcr.PrivateKey
	point  [33]byte
}

func newTestKey(r *rand.Rand) testKey {
	var b [32]byte
	for i := range 4 {
		binary.LittleEndian.PutUint64(b[8*i:], r.Uint64())
	}
	return testKeyOf(dcr.PrivKeyFromBytes(b[:]))
}

func testKeyOf(secret *dcr.PrivateKey) testKey {
	return testKey{secret: secret, point: [33]byte(secret.PubKey().SerializeCompressed())}
}

func (k testKey) sign(digest [32]byte) (compact [65]byte) {
	copy(compact[:], ecdsa.SignCompact(k.secret, digest[:], true))
	return compact
}

// randomSigned makes a signature of a digest, half of them right.
func randomSigned(r *rand.Rand, keys []testKey) (compact [65]byte, digest [32]byte) {
	k := keys[r.IntN(len(keys))]
	for i := range digest {
		digest[i] = byte(r.Uint32())
	}
	switch r.IntN(8) {
	case 0:
		digest = [32]byte{}
	case 1:
		for i := range digest {
			digest[i] = 0xff // above the order
		}
	}
	compact = k.sign(digest)
	switch r.IntN(16) {
	case 0:
		compact[0] = byte(r.Uint32())
	case 1:
		compact[r.IntN(65)] ^= 1 << r.IntN(8)
	case 2:
		digest[r.IntN(32)] ^= 1 << r.IntN(8)
	case 3:
		compact[0] ^= 1 // the other y
	case 5:
		clear(compact[1:33])
	case 6:
		clear(compact[33:])
	case 7:
		n := dcr.Params().N.Bytes()
		copy(compact[1+32*r.IntN(2):], n)
	case 8: // the opposite s, with the opposite y: high, and right
		var s dcr.ModNScalar
		s.SetByteSlice(compact[33:])
		s.Negate()
		b := s.Bytes()
		copy(compact[33:], b[:])
		compact[0] ^= 1
	}
	return compact, digest
}

// Signers find what Recover finds, whoever is said to have signed, from many goroutines.
func TestSignersFindWhatRecoveryFinds(t *testing.T) {
	for _, x := range []struct{ wide, rest bool }{{true, true}, {true, false}, {false, true}, {false, false}} {
		t.Run(fmt.Sprintf("wide %v, rest %v", x.wide, x.rest), func(t *testing.T) {
			s := NewSigners(0)
			s.wide, s.rest = s.wide && x.wide, x.rest
			findAsRecovery(t, s)
			if !s.wide && len(s.prepared) == 0 {
				t.Error("no key was prepared")
			}
		})
	}
}

func findAsRecovery(t *testing.T, s *Signers) {
	t.Helper()
	var done sync.WaitGroup
	for w := range 4 {
		done.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 1))
			keys := []testKey{newTestKey(r), newTestKey(r), newTestKey(r)}
			for range 150 {
				list := make([]Signed, r.IntN(40))
				for i := range list {
					compact, digest := randomSigned(r, keys)
					list[i] = Signed{
						Signature: &types.Signature{Type: types.K1, Compact: compact}, Digest: digest,
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
}

// Few signatures of many goroutines are looked at together, and each gets its own key.
func TestFewSignaturesOfManyGoroutines(t *testing.T) {
	s := NewSigners(0)
	r := rand.New(rand.NewPCG(7, 8))
	keys := []testKey{newTestKey(r), newTestKey(r)}
	var done sync.WaitGroup
	for w := range 32 {
		done.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 9))
			for range 100 {
				list := make([]Signed, r.IntN(few+1))
				for i := range list {
					compact, digest := randomSigned(r, keys)
					list[i] = Signed{Signature: &types.Signature{Type: types.K1, Compact: compact}, Digest: digest,
						By: Signer{Place: 1 + r.IntN(3)}}
				}
				s.Recover(list)
				for _, x := range list {
					if key, err := Recover(*x.Signature, x.Digest, true); key != x.Key ||
						fmt.Sprint(err) != fmt.Sprint(x.Err) {
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

// Lists without signatures, of which any number may come together, wait for nobody, and nobody looks at
// them.
func TestNoSignaturesOfManyGoroutines(t *testing.T) {
	s := NewSigners(0)
	s.queue.working = 1 // somebody is at work, and never ends
	var done sync.WaitGroup
	for range 2 * Together {
		done.Go(func() { s.Recover(nil) })
	}
	done.Wait()
	if len(s.queue.waiting) != 0 {
		t.Errorf("%d are waiting", len(s.queue.waiting))
	}
}

// What finding keys took is billed: waiting for others is no part of it.
func TestTimeIsThatOfTheWork(t *testing.T) {
	s := NewSigners(0)
	r := rand.New(rand.NewPCG(7, 8))
	keys := []testKey{newTestKey(r), newTestKey(r)}
	var done sync.WaitGroup
	var sum atomic.Int64
	lists := make([][]Signed, 64)
	for w := range lists {
		for range few {
			compact, digest := randomSigned(r, keys)
			lists[w] = append(lists[w], Signed{Signature: &types.Signature{Type: types.K1, Compact: compact},
				Digest: digest, By: Signer{Place: 1 + r.IntN(3)}})
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
	often := testKeyOf(dcr.PrivKeyFromBytes([]byte{77}))
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
		k := &signingKey{point: [33]byte{2, byte(i), byte(i >> 8)}, multiples: new(secp256k1.Multiples)}
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
		k := newTestKey(r)
		for len(all) < (i+1)*signatures/keys {
			digest := [32]byte{byte(i), byte(r.Uint32()), byte(r.Uint32()), byte(r.Uint32())}
			x := &types.Signature{Type: types.K1, Compact: k.sign(digest)}
			if IsCanonical(&x.Compact) {
				all = append(all, Signed{Signature: x, Digest: digest, By: Signer{Place: i + 1}})
			}
		}
	}
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, how := range []string{"checked", "recovered", "wide"} {
		for _, n := range []int{1, 2, 4, 8, 16, 64} {
			b.Run(fmt.Sprintf("%s/together=%d", how, n), func(b *testing.B) {
				s := NewSigners(0)
				wide := s.wide && how == "wide"
				s.wide = false
				list := slices.Clone(all)
				if how == "recovered" {
					for i := range list {
						list[i].By = Signer{}
					}
				}
				s.Recover(list)
				s.wide = wide
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
	k := newTestKey(rand.New(rand.NewPCG(5, 6)))
	for b.Loop() {
		secp256k1.Prepare(&k.point)
	}
}
