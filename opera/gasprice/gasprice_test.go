package gasprice

import (
	"math/big"
	"testing"
)

// What an operator sets too high is cut to the greatest that makes sense, as go-opera does.
func TestBoundsAreCut(t *testing.T) {
	for _, c := range []struct {
		name            string
		certainty, want uint64
		tip, wantTip    int64
	}{
		{"the defaults", 0, Unit / 2, 0, 0},
		{"what is possible", Unit * 9 / 10, Unit * 9 / 10, 60, 60},
		{"too much", Unit + 1, Unit, 61, 60},
	} {
		o := New(Options{Bounds: Bounds{Max: big.NewInt(100), Min: big.NewInt(40), MinTip: big.NewInt(c.tip),
			Certainty: c.certainty}})
		if b := o.o.Bounds; b.Certainty != c.want || b.MinTip.Cmp(big.NewInt(c.wantTip)) != 0 {
			t.Errorf("%s: a certainty of %d, a least tip of %v", c.name, b.Certainty, b.MinTip)
		}
		o.Close()
	}
	b := New(Options{Bounds: Bounds{Max: big.NewInt(100), Min: big.NewInt(200), MinTip: big.NewInt(1)}}).o.Bounds
	if b.Min.Cmp(b.Max) != 0 || b.MinTip.Sign() != 0 {
		t.Errorf("a least price above the greatest: %v, with a tip of %v", b.Min, b.MinTip)
	}
}
