package exposition

import (
	"math"
	"slices"
	"strconv"
	"sync/atomic"
)

// Histogram counts values in buckets, from when it was made. Its methods may be called by
// all goroutines; [NewHistogram] makes it.
type Histogram struct {
	bounds []float64
	counts []atomic.Uint64 // of each bound, and of what is above all of them
	sum    atomic.Uint64   // bits of a float64
}

// NewHistogram returns a histogram whose buckets end at bounds, which ascend and are finite.
func NewHistogram(bounds ...float64) *Histogram {
	return &Histogram{bounds: bounds, counts: make([]atomic.Uint64, len(bounds)+1)}
}

// Durations returns bounds in seconds that fit what a node does, from 100 us to a minute.
func Durations() []float64 {
	return []float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5,
		5, 10, 30, 60}
}

// Observe counts a value. What is no number is not counted: a sum with it would be none.
func (h *Histogram) Observe(v float64) {
	if math.IsNaN(v) {
		return
	}
	i, _ := slices.BinarySearch(h.bounds, v) // a bound is in its own bucket
	h.counts[i].Add(1)
	for {
		old := h.sum.Load()
		if h.sum.CompareAndSwap(old, math.Float64bits(math.Float64frombits(old)+v)) {
			return
		}
	}
}

// Read returns what was counted by now.
func (h *Histogram) Read() Distribution {
	d := Distribution{Bounds: h.bounds, Counts: make([]uint64, len(h.counts)), Sum: math.Float64frombits(h.sum.Load())}
	for i := range h.counts {
		d.Counts[i] = h.counts[i].Load()
	}
	return d
}

// Distribution is a reading of a histogram. Nobody changes Bounds.
type Distribution struct {
	Bounds []float64
	Counts []uint64 // in each bucket alone; one more than Bounds
	Sum    float64
}

// Count is how many values there are.
func (d Distribution) Count() (n uint64) {
	for _, c := range d.Counts {
		n += c
	}
	return n
}

// Since returns what was counted after an earlier reading of the same histogram; the zero
// Distribution stands for its beginning.
func (d Distribution) Since(before Distribution) Distribution {
	s := Distribution{Bounds: d.Bounds, Counts: slices.Clone(d.Counts), Sum: d.Sum - before.Sum}
	for i, c := range before.Counts {
		s.Counts[i] -= c
	}
	return s
}

// Quantile estimates below what a share of the values lies, 0 to 1, as Prometheus'
// histogram_quantile does: evenly inside a bucket, from 0 in the first one; the last bound
// for what is above it. It is NaN where there are no values.
func (d Distribution) Quantile(share float64) float64 {
	total := d.Count()
	if total == 0 || len(d.Bounds) == 0 {
		return math.NaN()
	}
	rank, below := share*float64(total), uint64(0)
	for i, high := range d.Bounds {
		in := d.Counts[i]
		if in > 0 && float64(below+in) >= rank {
			low := min(0, high)
			if i > 0 {
				low = d.Bounds[i-1]
			}
			return low + (high-low)*max(0, rank-float64(below))/float64(in)
		}
		below += in
	}
	return d.Bounds[len(d.Bounds)-1]
}

// Distribution adds the samples of a distribution to a metric of the kind [Buckets], with
// labels as pairs of name and value.
func (w *Writer) Distribution(d Distribution, labels ...string) {
	name := w.name
	defer func() { w.name = name }()
	w.name = name + "_bucket"
	labels = append(slices.Clone(labels), "le", "")
	total := uint64(0)
	for i, n := range d.Counts {
		bound := "+Inf"
		if i < len(d.Bounds) {
			bound = strconv.FormatFloat(d.Bounds[i], 'g', -1, 64)
		}
		labels[len(labels)-1] = bound
		total += n
		w.Sample(float64(total), labels...)
	}
	labels = labels[:len(labels)-2]
	w.name = name + "_sum"
	w.Sample(d.Sum, labels...)
	w.name = name + "_count"
	w.Sample(float64(total), labels...)
}
