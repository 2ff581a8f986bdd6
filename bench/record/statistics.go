package record

import (
	"math"
	"slices"
)

// Confidence is the least with which an interval holds the median.
const Confidence = 0.95

// Estimate is a median and how sure it is. With fewer than six values there is no
// interval: the least and the greatest of five hold the median with 93.75 %.
type Estimate struct {
	N           int
	Median      float64
	Least, Most float64
	Low, High   float64 // the interval
	Sure        bool    // there is one
}

// Estimated is what values come to; all NaN without values.
func Estimated(values []float64) Estimate {
	xs := slices.Sorted(slices.Values(values))
	n := len(xs)
	nan := math.NaN()
	e := Estimate{N: n, Median: nan, Least: nan, Most: nan, Low: nan, High: nan}
	if n == 0 {
		return e
	}
	e.Median, e.Least, e.Most = (xs[(n-1)/2]+xs[n/2])/2, xs[0], xs[n-1]
	if cut, ok := outside(n); ok {
		e.Low, e.High, e.Sure = xs[cut], xs[n-1-cut], true
	}
	return e
}

// outside is how many of n sorted values may be left out at each end, so that the rest
// holds the median of what they were drawn from with [Confidence]: each value is above
// that with an even chance, independently (Thompson 1936).
func outside(n int) (cut int, ok bool) {
	// A tail of k values or fewer has the chance sum of C(n,i)/2^n for i to k.
	chance, tail := math.Exp2(-float64(n)), 0.0
	for k := 0; 2*k < n; k++ {
		tail += chance
		if 2*tail > 1-Confidence {
			return k - 1, k > 0
		}
		chance *= float64(n-k) / float64(k+1)
	}
	return 0, false
}

// Values are a metric's of a subject in a suite, in the order of the rounds; what failed
// has none.
func (r *Run) Values(suite, subject, metric string) []float64 {
	var all []float64
	for _, l := range r.Lives {
		if v, ok := l.Values[metric]; ok && l.Suite == suite && l.Subject == subject {
			all = append(all, v)
		}
	}
	return all
}

// Ratios are those of a subject's values to another's, a pair for each round in which
// both have one. Lives that the machine's speed made unlike are no pairs.
func (r *Run) Ratios(suite, subject, other, metric string) []float64 {
	value := func(round int, name string) (float64, bool) {
		for _, l := range r.Lives {
			if l.Suite == suite && l.Round == round && l.Subject == name && !l.Unsteady {
				v, ok := l.Values[metric]
				return v, ok
			}
		}
		return 0, false
	}
	var all []float64
	for round := 1; round <= r.Rounds(suite); round++ {
		a, ok := value(round, subject)
		b, too := value(round, other)
		if ok && too && b != 0 {
			all = append(all, a/b)
		}
	}
	return all
}

// Rounds is the last round of a suite.
func (r *Run) Rounds(suite string) (last int) {
	for _, l := range r.Lives {
		if l.Suite == suite {
			last = max(last, l.Round)
		}
	}
	return last
}

// exactLimit is the most values on both sides together for which [MannWhitney] counts
// all orders; beyond, the normal curve is near enough.
const exactLimit = 40

// MannWhitney is the chance that two sets of values, drawn from one and the same
// distribution, lie at least as far apart as these do (two-sided U test; values that are
// equal share their ranks). It is 1 if a set is empty.
func MannWhitney(a, b []float64) float64 {
	n, m := len(a), len(b)
	if n == 0 || m == 0 {
		return 1
	}
	u, ties := 0.0, false
	for _, x := range a {
		for _, y := range b {
			switch {
			case x > y:
				u++
			case x == y:
				u += 0.5
			}
		}
	}
	all := slices.Sorted(slices.Values(slices.Concat(a, b)))
	for i := 1; i < len(all); i++ {
		ties = ties || all[i] == all[i-1]
	}
	if u = min(u, float64(n*m)-u); ties || n+m > exactLimit {
		return normalU(u, n, m, all)
	}
	return exactU(int(u), n, m)
}

// exactU counts the orders of n and m different values whose U is at most u.
func exactU(u, n, m int) float64 {
	// ways[i][k]: of i values of the first set among those seen so far, with U = k.
	size := n*m + 1
	ways := make([][]float64, n+1)
	for i := range ways {
		ways[i] = make([]float64, size)
	}
	ways[0][0] = 1
	// U is a sum of n different ranks, less the least possible one: a partition into at
	// most n parts of at most m. Parts are added one rank at a time.
	for rank := 1; rank <= n+m; rank++ {
		for i := min(n, rank); i >= 1; i-- {
			add := rank - i // what this value's rank adds to U as the i-th of its set
			for k := size - 1; k >= add; k-- {
				ways[i][k] += ways[i-1][k-add]
			}
		}
	}
	sum, most := 0.0, 0.0
	for k, w := range ways[n] {
		if most += w; k <= u {
			sum += w
		}
	}
	return min(1, 2*sum/most)
}

// normalU is the normal curve's, with the correction for equal values and for steps.
func normalU(u float64, n, m int, sorted []float64) float64 {
	total := float64(n + m)
	equal := 0.0
	for i := 0; i < len(sorted); {
		j := i
		for j < len(sorted) && sorted[j] == sorted[i] {
			j++
		}
		t := float64(j - i)
		equal += t*t*t - t
		i = j
	}
	variance := float64(n) * float64(m) / 12 * (total + 1 - equal/(total*(total-1)))
	if variance <= 0 { // all are equal
		return 1
	}
	z := (float64(n)*float64(m)/2 - u - 0.5) / math.Sqrt(variance)
	return min(1, math.Erfc(max(z, 0)/math.Sqrt2))
}
