package crypto

import (
	"math/rand/v2"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/secp256k1/fp"
)

// Products and differences must be the library's, above all where words are full or empty and
// where the sum before the last step is at the modulus.
func TestField(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	word := func(i int) uint64 {
		switch rng.IntN(8) {
		case 0:
			return 0
		case 1:
			return ^uint64(0)
		case 2:
			return uint64(rng.IntN(3))
		case 3:
			return ^uint64(0) - uint64(rng.IntN(3))
		case 4:
			if i == 0 {
				return ^uint64(fieldGap-1) + uint64(rng.IntN(5)) - 3
			}
		}
		return rng.Uint64()
	}
	element := func() (x fp.Element) {
		for {
			for i := range x {
				x[i] = word(i)
			}
			// Below the modulus, which is what elements are.
			if x[3] != ^uint64(0) || x[2] != ^uint64(0) || x[1] != ^uint64(0) || x[0] < ^uint64(fieldGap-1) {
				return x
			}
		}
	}
	for range 300_000 {
		x, y := element(), element()
		if rng.IntN(10) == 0 {
			y = x
		}
		var want, got fp.Element
		want.Mul(&x, &y)
		if multiply(&got, &x, &y); got != want {
			t.Fatalf("%v * %v is %v, not %v", x, y, want, got)
		}
		if multiply(&x, &x, &y); x != want {
			t.Fatal("the product differs when it replaces a factor")
		}
		want.Sub(&x, &y)
		if subtract(&got, &x, &y); got != want {
			t.Fatalf("%v - %v is %v, not %v", x, y, want, got)
		}
	}
}

func BenchmarkMultiply(b *testing.B) {
	var x, y fp.Element
	x.SetUint64(12345)
	y.SetUint64(67890)
	b.Run("ours", func(b *testing.B) {
		for b.Loop() {
			multiply(&x, &x, &y)
		}
	})
	b.Run("library", func(b *testing.B) {
		for b.Loop() {
			x.Mul(&x, &y)
		}
	})
}
