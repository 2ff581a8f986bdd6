package exposition

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/prometheus/common/expfmt"
)

func TestOthersReadHistogramsAsTheyWereFilled(t *testing.T) {
	h := NewHistogram(1, 2.5, 10)
	for _, v := range []float64{0, 1, 1.5, 2.5, 3, 10, 11, math.NaN(), -4} {
		h.Observe(v)
	}
	var w Writer
	w.Metric("tarn_seconds", Buckets, "times")
	w.Distribution(h.Read(), "handler", "a \"b\"")
	w.Distribution(NewHistogram(1, 2.5, 10).Read(), "handler", "none")
	w.One("tarn_after", Gauge, "what follows has its own name", 1)
	var p expfmt.TextParser
	families, err := p.TextToMetricFamilies(bytes.NewReader(w.Bytes()))
	if err != nil {
		t.Fatalf("%v in\n%s", err, w.Bytes())
	}
	if len(families) != 2 {
		t.Fatalf("%d families in\n%s", len(families), w.Bytes())
	}
	m := families["tarn_seconds"].GetMetric()
	if len(m) != 2 || m[0].GetLabel()[0].GetValue() != "a \"b\"" {
		t.Fatalf("%v", m)
	}
	got := m[0].GetHistogram()
	if got.GetSampleCount() != 8 || got.GetSampleSum() != 25 {
		t.Errorf("%d values, together %v", got.GetSampleCount(), got.GetSampleSum())
	}
	for i, want := range []struct {
		bound float64
		n     uint64
	}{{1, 3}, {2.5, 5}, {10, 7}, {math.Inf(1), 8}} {
		if b := got.GetBucket()[i]; b.GetUpperBound() != want.bound || b.GetCumulativeCount() != want.n {
			t.Errorf("bucket %d: %v, want %+v", i, b, want)
		}
	}
	if n := m[1].GetHistogram().GetSampleCount(); n != 0 {
		t.Errorf("%d values in an empty one", n)
	}
}

func TestAQuantileLiesInTheBucketOfTheValueThatItIsOf(t *testing.T) {
	const seed = 7
	random := rand.New(rand.NewPCG(seed, seed))
	for round := range 200 {
		h, before := NewHistogram(Durations()...), Distribution{}
		var values []float64
		for range random.IntN(50) { // of another time
			h.Observe(random.Float64())
		}
		if round%2 == 0 {
			before = h.Read()
		} else {
			h = NewHistogram(Durations()...)
		}
		for range 1 + random.IntN(500) {
			v := math.Exp(random.Float64()*14 - 10)
			values = append(values, v)
			h.Observe(v)
		}
		slices.Sort(values)
		d := h.Read().Since(before)
		if d.Count() != uint64(len(values)) {
			t.Fatalf("seed %d, round %d: %d values, want %d", seed, round, d.Count(), len(values))
		}
		for _, share := range []float64{0.001, 0.5, 0.9, 0.99, 1} {
			exact := values[max(0, int(math.Ceil(share*float64(len(values))))-1)]
			got := d.Quantile(share)
			i, _ := slices.BinarySearch(d.Bounds, exact)
			low, high := 0.0, d.Bounds[len(d.Bounds)-1]
			if i > 0 {
				low = d.Bounds[i-1]
			}
			if i < len(d.Bounds) {
				high = d.Bounds[i]
			}
			if got < low || got > high {
				t.Errorf("seed %d, round %d: %v of the values are below %v, estimated %v",
					seed, round, share, exact, got)
			}
		}
	}
	if q := (Distribution{}).Quantile(0.5); !math.IsNaN(q) {
		t.Errorf("the median of nothing is %v", q)
	}
}

func TestAHistogramLosesNothingBetweenGoroutines(t *testing.T) {
	h := NewHistogram(0.5)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 1000 {
				h.Observe(float64(i % 2))
			}
		})
	}
	wg.Wait()
	if d := h.Read(); d.Counts[0] != 4000 || d.Counts[1] != 4000 || d.Sum != 4000 {
		t.Errorf("%+v", d)
	}
}
