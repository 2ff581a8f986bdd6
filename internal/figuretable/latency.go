package figuretable

import (
	"math/bits"
	"time"
)

// Latencies counts durations in buckets that are at most 1/64 wide.
type Latencies struct {
	buckets [64 * 64]uint32
	Count   uint64
}

// Add counts one.
func (l *Latencies) Add(d time.Duration) {
	l.buckets[bucketOf(uint64(max(d, 0)))]++
	l.Count++
}

func bucketOf(ns uint64) int {
	if ns < 64 {
		return int(ns)
	}
	shift := bits.Len64(ns) - 7
	return (shift+1)*64 + int(ns>>shift)&63
}

// lowest is the least duration that falls into a bucket.
func lowest(bucket int) uint64 {
	if bucket < 64 {
		return uint64(bucket)
	}
	return uint64(64+bucket&63) << (bucket/64 - 1)
}

// Merge counts all of o.
func (l *Latencies) Merge(o *Latencies) {
	for i, n := range o.buckets {
		l.buckets[i] += n
	}
	l.Count += o.Count
}

// Quantile returns the duration, in nanoseconds, that a share q of all are not
// above, to within a hundredth.
func (l *Latencies) Quantile(q float64) float64 {
	rank, seen := uint64(q*float64(l.Count)), uint64(0)
	for i, n := range l.buckets {
		if seen += uint64(n); seen > rank {
			return float64(lowest(i)+lowest(i+1)) / 2
		}
	}
	return 0
}
