//go:build cgo

package secp256k1

import (
	"math/rand/v2"
	"testing"

	lib "github.com/ethereum/go-ethereum/crypto/secp256k1"
)

func BenchmarkLibrary(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	var g Signature
	newTestKey(b, r).sign(&g)
	sig := append(append(append([]byte(nil), g.R[:]...), g.S[:]...), g.Odd)
	for b.Loop() {
		if _, err := lib.RecoverPubkey(g.Digest[:], sig); err != nil {
			b.Fatal(err)
		}
	}
}
