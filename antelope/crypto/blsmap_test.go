package crypto

import (
	"fmt"
	"math/rand/v2"
	"testing"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/hash_to_curve"
)

// TestMessagesAreTheLibrarysPoints compares with the library's map, of which RFC 9380 has values.
func TestMessagesAreTheLibrarysPoints(t *testing.T) {
	for i := range 500 {
		message := fmt.Appendf(nil, "message %d", i)
		for _, suite := range []string{blsVoteSuite, blsPopSuite} {
			got, err := hashBLSMessage(message, suite)
			want, wantErr := bls.HashToG2(message, []byte(suite))
			if err != nil || wantErr != nil || got != want || !got.IsInSubGroup() {
				t.Fatalf("message %q of suite %s: %v, %v; the library's is %v, %v",
					message, suite, got, err, want, wantErr)
			}
		}
	}
}

// TestElementsAreTheLibrarysPoints does so with elements that no hash gives: small ones, those of one part,
// and those with which the map would divide by zero.
func TestElementsAreTheLibrarysPoints(t *testing.T) {
	var list []bls.E2
	for i := range int64(12) {
		for j := range int64(12) {
			var u bls.E2
			u.A0.SetInt64(i - 6)
			u.A1.SetInt64(j - 6)
			list = append(list, u)
		}
	}
	z := hash_to_curve.G2SSWUIsogenyZ()
	var zero, square bls.E2 // z*u^2 = -1
	zero.Inverse(&z).Neg(&zero)
	if square.Set(&zero); zero.Legendre() == 1 {
		zero.Sqrt(&square)
		list = append(list, zero)
	}
	r := rand.New(rand.NewPCG(3, 8))
	for range 500 {
		var u bls.E2
		for _, part := range []*fp.Element{&u.A0, &u.A1} {
			if r.IntN(8) > 0 {
				part.SetUint64(r.Uint64()).Inverse(part)
			}
		}
		list = append(list, u)
	}
	for _, u := range list {
		got := mapToTwist(&u)
		if got.ClearCofactor(&got); got != bls.MapToG2(u) {
			t.Fatalf("%v: %v, the library's is %v", u, got, bls.MapToG2(u))
		}
	}
}

func BenchmarkBLSMessage(b *testing.B) {
	for b.Loop() {
		NewBLSMessage(make([]byte, 32))
	}
}

func BenchmarkBLSMessageOfTheLibrary(b *testing.B) {
	for b.Loop() {
		if _, err := bls.HashToG2(make([]byte, 32), []byte(blsVoteSuite)); err != nil {
			b.Fatal(err)
		}
	}
}
