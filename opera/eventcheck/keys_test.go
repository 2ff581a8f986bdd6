package eventcheck

import (
	"bytes"
	"flag"
	"fmt"
	"math/big"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/ethereum/go-ethereum/crypto"

	"tarn/opera/inter"
)

var keysSeed = flag.Uint64("keys.seed", 1, "seed of signatures that are checked with prepared keys")

// With prepared keys the same signatures are right as without, whatever is wrong with a signature or a key.
func TestPreparedKeysChangeNoAnswer(t *testing.T) {
	t.Logf("repeat with -keys.seed=%d", *keysSeed)
	r := rand.New(rand.NewPCG(*keysSeed, 9))
	n := crypto.S256().Params().N
	k, none := NewKeys(), (*Keys)(nil)
	right, matched := 0, 0
	for range 6 {
		private, err := crypto.ToECDSA(word(r))
		if err != nil {
			t.Fatal(err)
		}
		raw := crypto.FromECDSAPub(&private.PublicKey)
		off := bytes.Clone(raw) // of the same x and parity, and not on the curve
		off[40] ^= 1
		hybrid := bytes.Clone(raw)
		hybrid[0] = 6 + raw[64]&1
		keys := [][]byte{raw, raw, raw, raw, crypto.CompressPubkey(&private.PublicKey), off, hybrid, raw[:64], nil}
		for range 250 {
			hash := [32]byte(word(r))
			sig, err := crypto.Sign(hash[:], private)
			if err != nil {
				t.Fatal(err)
			}
			s := inter.Signature(sig[:64])
			switch r.IntN(8) {
			case 0:
				s[r.IntN(64)] ^= 1 << r.IntN(8)
			case 1: // as right by the curve, and refused
				new(big.Int).Sub(n, new(big.Int).SetBytes(s[32:])).FillBytes(s[32:])
			case 2:
				clear(s[32*r.IntN(2):][:32])
			case 3:
				n.FillBytes(s[32*r.IntN(2):][:32])
			case 4:
				hash[3] ^= 1
			}
			key := inter.PublicKey{Type: inter.Secp256k1Key, Raw: keys[r.IntN(len(keys))]}
			if r.IntN(30) == 0 {
				key.Type = 1
			}
			want := none.verify(hash, &s, key)
			if got := k.verify(hash, &s, key); got != want {
				t.Fatalf("key %x, hash %x, signature %x: %v, without prepared keys %v", key.Raw, hash, s, got, want)
			}
			if want {
				right++
			}
			if k.match(hash, &s, key.Raw) {
				matched++
			}
		}
	}
	if right < 300 || matched < 200 {
		t.Errorf("%d were right, %d by a prepared key", right, matched)
	}
}

func word(r *rand.Rand) []byte {
	b := make([]byte, 32)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	b[0] &= 0x7f
	return b
}

// However many keys sign, few are kept, and many goroutines may check at once.
func TestFewKeysAreKept(t *testing.T) {
	k := NewKeys()
	hash := [32]byte{1}
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range 400 {
				private, err := crypto.ToECDSA(fmt.Appendf(nil, "%032d", 1+i/9+100*g))
				if err != nil {
					t.Error(err)
					return
				}
				sig, err := crypto.Sign(hash[:], private)
				if err != nil {
					t.Error(err)
					return
				}
				s := inter.Signature(sig[:64])
				key := inter.PublicKey{Type: inter.Secp256k1Key, Raw: crypto.FromECDSAPub(&private.PublicKey)}
				if !k.verify(hash, &s, key) {
					t.Error("a signature is wrong")
				}
			}
		})
	}
	all.Wait()
	for i := range 2 * keysMost {
		k.match(hash, &inter.Signature{}, []byte{byte(i), byte(i >> 8)})
	}
	if len(k.known) > keysMost {
		t.Errorf("%d keys are kept", len(k.known))
	}
}

func BenchmarkVerify(b *testing.B) {
	private, err := crypto.GenerateKey()
	if err != nil {
		b.Fatal(err)
	}
	hash := [32]byte{7}
	sig, err := crypto.Sign(hash[:], private)
	if err != nil {
		b.Fatal(err)
	}
	s := inter.Signature(sig[:64])
	key := inter.PublicKey{Type: inter.Secp256k1Key, Raw: crypto.FromECDSAPub(&private.PublicKey)}
	for name, k := range map[string]*Keys{"prepared": NewKeys(), "library": nil} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if !k.verify(hash, &s, key) {
					b.Fatal("wrong")
				}
			}
		})
	}
}
