package record

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The ranks of the interval are those of published tables of the sign test.
func TestTheIntervalOfAMedianIsTheTables(t *testing.T) {
	for _, c := range []struct{ n, low, high int }{ // from 1; 0 is none
		{1, 0, 0}, {5, 0, 0}, {6, 1, 6}, {8, 1, 8}, {9, 2, 8}, {10, 2, 9}, {12, 3, 10}, {15, 4, 12}, {20, 6, 15},
		{25, 8, 18}, {30, 10, 21},
	} {
		values := make([]float64, c.n)
		for i := range values {
			values[(i*7)%c.n] = float64(i + 1)
		}
		if c.n%7 == 0 {
			t.Fatal("7 must not divide the number")
		}
		e := Estimated(values)
		if e.Sure != (c.low > 0) || e.Sure && (e.Low != float64(c.low) || e.High != float64(c.high)) {
			t.Errorf("%d values: from %v to %v (%v), want %d to %d", c.n, e.Low, e.High, e.Sure, c.low, c.high)
		}
		if want := float64(c.n+1) / 2; e.Median != want {
			t.Errorf("%d values: the median is %v, not %v", c.n, e.Median, want)
		}
	}
	if e := Estimated(nil); e.N != 0 || !math.IsNaN(e.Median) || e.Sure {
		t.Errorf("of nothing: %+v", e)
	}
}

func TestTheIntervalHoldsTheMedianAsOftenAsItSays(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const tries = 20_000
	for _, n := range []int{6, 11, 20} {
		held := 0
		for range tries {
			values := make([]float64, n)
			for i := range values {
				values[i] = rng.ExpFloat64() // not symmetric; its median is ln 2
			}
			if e := Estimated(values); e.Low <= math.Ln2 && math.Ln2 <= e.High {
				held++
			}
		}
		if share := float64(held) / tries; share < Confidence-0.005 {
			t.Errorf("of %d values: held %.3f of the time", n, share)
		}
	}
}

// Known samples, with the chances of published tables and of R's wilcox.test.
func TestMannWhitneyIsTheTables(t *testing.T) {
	for _, c := range []struct {
		a, b []float64
		p    float64
	}{
		{[]float64{1, 2, 3}, []float64{4, 5, 6}, 0.1},
		{[]float64{4, 5, 6, 7}, []float64{0, 1, 2, 3}, 2.0 / 70},
		{[]float64{1, 2, 3, 4, 5}, []float64{6, 7, 8, 9, 10}, 2.0 / 252},
		{[]float64{1, 3, 5}, []float64{2, 4, 6}, 0.7},
		{[]float64{1, 2, 3, 4, 5, 6}, []float64{7, 8, 9, 10, 11, 12}, 2.0 / 924},
		{[]float64{1}, []float64{2}, 1},
		{[]float64{5, 5, 5}, []float64{5, 5}, 1},
		{nil, []float64{1}, 1},
		// The example of its manual page.
		{[]float64{0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46}, []float64{1.15, 0.88, 0.90, 0.74, 1.21}, 0.2544},
	} {
		for _, p := range []float64{MannWhitney(c.a, c.b), MannWhitney(c.b, c.a)} {
			if math.Abs(p-c.p) > 0.0005 {
				t.Errorf("%v, %v: %.4f, want %.4f", c.a, c.b, p, c.p)
			}
		}
	}
}

func TestExactAndCurveAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		a, b := make([]float64, 12+rng.IntN(8)), make([]float64, 12+rng.IntN(8))
		for i := range a {
			a[i] = rng.NormFloat64()
		}
		for i := range b {
			b[i] = rng.NormFloat64() + 0.3
		}
		u := 0
		for _, x := range a {
			for _, y := range b {
				if x > y {
					u++
				}
			}
		}
		u = min(u, len(a)*len(b)-u)
		all := append(append([]float64{}, a...), b...)
		exact, curve := exactU(u, len(a), len(b)), normalU(float64(u), len(a), len(b), all)
		if math.Abs(exact-curve) > 0.02 {
			t.Errorf("%d and %d values, U %d: %.4f counted, %.4f by the curve", len(a), len(b), u, exact, curve)
		}
	}
}

func TestRatiosAreOfPairs(t *testing.T) {
	r := Run{Suites: []Suite{{Name: "s"}}, Subjects: []Subject{{Name: "a"}, {Name: "b"}}}
	add := func(round int, subject string, v float64, unsteady bool) {
		l := Life{Suite: "s", Round: round, Subject: subject, Unsteady: unsteady}
		if v > 0 {
			l.Values = map[string]float64{"time": v}
		} else {
			l.Failure = "lost"
		}
		r.Lives = append(r.Lives, l)
	}
	add(1, "a", 2, false)
	add(1, "b", 1, false)
	add(2, "b", 1, false)
	add(2, "a", 0, false) // failed: no pair
	add(3, "a", 9, true)  // the machine was of another speed: no pair
	add(3, "b", 1, false)
	add(4, "a", 3, false)
	add(4, "b", 1, false)
	got := r.Ratios("s", "a", "b", "time")
	if len(got) != 2 || got[0] != 2 || got[1] != 3 {
		t.Errorf("ratios %v", got)
	}
	if v := r.Values("s", "a", "time"); len(v) != 3 { // nothing that was measured is left out
		t.Errorf("values %v", v)
	}
	if r.Rounds("s") != 4 {
		t.Errorf("%d rounds", r.Rounds("s"))
	}
}
