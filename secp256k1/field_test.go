package secp256k1

import (
	"encoding/binary"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/secp256k1/fp"
)

// fieldNumbers makes elements, above all such with full and empty words, and such near
// where sums meet the prime.
type fieldNumbers struct{ *rand.Rand }

func (r fieldNumbers) word(i int) uint64 {
	switch r.IntN(8) {
	case 0:
		return 0
	case 1:
		return ^uint64(0)
	case 2:
		return uint64(r.IntN(3))
	case 3:
		return ^uint64(0) - uint64(r.IntN(3))
	case 4:
		if i == 0 {
			return ^uint64(gap-1) + uint64(r.IntN(5)) - 3
		}
	}
	return r.Uint64()
}

func (r fieldNumbers) element() (x element) {
	for {
		for i := range x {
			x[i] = r.word(i)
		}
		b := x.bytes()
		if x.read(b[:]) {
			return x
		}
	}
}

// bytes returns z in 32 bytes, the highest first.
func (z *element) bytes() (b [32]byte) {
	for i, w := range z {
		binary.BigEndian.PutUint64(b[24-8*i:], w)
	}
	return b
}

func (z *element) number() *big.Int {
	b := z.bytes()
	return new(big.Int).SetBytes(b[:])
}

func elementOf(n *big.Int) (z element) {
	var b [32]byte
	n.Mod(n, fp.Modulus()).FillBytes(b[:])
	z.read(b[:])
	return z
}

// Arithmetic is that of numbers modulo the prime, by the processor's instructions and
// without them, also where the result replaces a factor.
func TestField(t *testing.T) {
	r := fieldNumbers{rand.New(rand.NewPCG(1, 2))}
	for range 200_000 {
		x, y := r.element(), r.element()
		if r.IntN(10) == 0 {
			y = x
		}
		a, b := x.number(), y.number()
		product := elementOf(new(big.Int).Mul(a, b))
		for name, f := range map[string]func(z, x, y *element){"multiply": multiply, "multiplyWords": multiplyWords} {
			got, over, under := element{1, 2, 3, 4}, x, y
			f(&got, &x, &y)
			f(&over, &over, &y)
			f(&under, &x, &under)
			if got != product || over != product || under != product {
				t.Fatalf("%s: %x * %x is %x, %x, %x, not %x", name, x, y, got, over, under, product)
			}
		}
		var sum, difference element
		add(&sum, &x, &y)
		subtract(&difference, &x, &y)
		if sum != elementOf(new(big.Int).Add(a, b)) || difference != elementOf(new(big.Int).Sub(a, b)) {
			t.Fatalf("%x and %x: sum %x, difference %x", x, y, sum, difference)
		}
		minus, same := x, x
		minus.negate(1)
		same.negate(0)
		if minus != elementOf(new(big.Int).Neg(a)) || same != x {
			t.Fatalf("%x negated is %x, and not negated %x", x, minus, same)
		}
	}
}

func TestRootsAndInverses(t *testing.T) {
	r := fieldNumbers{rand.New(rand.NewPCG(3, 4))}
	for range 3000 {
		x := r.element()
		n := x.number()
		var got element
		want := new(big.Int).ModSqrt(n, fp.Modulus())
		if ok := root(&got, &x); ok != (want != nil) {
			t.Fatalf("%x has a root: %v", x, ok)
		} else if ok {
			if multiply(&got, &got, &got); got != x {
				t.Fatalf("the root of %x is none", x)
			}
		}
		i := inverse(&x)
		if x.isZero() {
			if !i.isZero() {
				t.Fatal("zero has an inverse")
			}
			continue
		}
		if multiply(&i, &i, &x); i != one() {
			t.Fatalf("the inverse of %x is none", x)
		}
	}
}

func TestOnlyNumbersBelowThePrimeAreRead(t *testing.T) {
	for d := int64(-3); d <= 3; d++ {
		n := new(big.Int).Add(fp.Modulus(), big.NewInt(d))
		var z element
		if ok := z.read(n.FillBytes(make([]byte, 32))); ok != (d < 0) {
			t.Errorf("the prime and %d: %v", d, ok)
		}
	}
}

func BenchmarkMultiply(b *testing.B) {
	x, y := element{1, 2, 3, 4}, element{5, 6, 7, 8}
	for name, f := range map[string]func(z, x, y *element){"multiply": multiply, "portable": multiplyWords} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				f(&x, &x, &y)
			}
		})
	}
}
