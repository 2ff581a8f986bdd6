package piecewise

import (
	"math"
	"math/big"
	"testing"
)

func TestACurveGoesThroughItsPointsAndIsConstantOutside(t *testing.T) {
	c := Function{{10, 5 * Unit}, {20, 7 * Unit}, {21, 0}, {1_000_000, 3}}
	for _, e := range [][2]uint64{
		{0, 5 * Unit}, {9, 5 * Unit}, {10, 5 * Unit}, {11, 5_200_000}, {15, 6 * Unit}, {20, 7 * Unit}, {21, 0}, {22, 0},
		{1_000_000, 3}, {1_000_001, 3}, {math.MaxUint64, 3},
	} {
		if got := c.At(e[0]); got != e[1] {
			t.Errorf("at %d it is %d, want %d", e[0], got, e[1])
		}
	}
	if got := (Function{{5, 7}}).At(100); got != 7 {
		t.Errorf("of one point it is %d, want 7", got)
	}
}

// Both products are cut for themselves, after the share of the way was.
func TestAValueIsCutAsThere(t *testing.T) {
	c := Function{{3, 1_000_003}, {10, 2_999_999}, {1 << 40, 17}}
	for x := uint64(0); x < 40; x++ {
		i := 0
		for i < len(c)-2 && c[i+1][0] <= x {
			i++
		}
		if x < c[0][0] {
			continue
		}
		a, b := c[i], c[i+1]
		whole, share := big.NewInt(Unit), new(big.Int).SetUint64(x-a[0])
		share.Div(share.Mul(share, whole), new(big.Int).SetUint64(b[0]-a[0]))
		one := new(big.Int).Sub(whole, share)
		one.Div(one.Mul(one, new(big.Int).SetUint64(a[1])), whole)
		other := new(big.Int).Mul(share, new(big.Int).SetUint64(b[1]))
		want := one.Add(one, other.Div(other, whole)).Uint64()
		if got := c.At(x); got != want {
			t.Errorf("at %d it is %d, want %d", x, got, want)
		}
	}
}
