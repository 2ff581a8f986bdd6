package storetest

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"tarn/store"
)

// keyspace draws the keys of one table. Each keyspace is small enough that rows
// are met again, and strains a tree in its own way.
type keyspace func(r *rand.Rand) string

// keyspaces are those a round of the model test chooses from.
func keyspaces() []keyspace {
	prefix := strings.Repeat("prefix/", 140) // 980 bytes in common
	return []keyspace{
		func(r *rand.Rand) string { return fmt.Sprintf("hot%d", r.IntN(16)) },
		func(r *rand.Rand) string { return string(rune('a' + r.IntN(26))) },
		// Composite keys of 32 bytes, dense at the end.
		func(r *rand.Rand) string { return composite(r.Uint64N(3), r.Uint64N(5), r.Uint64N(1500)) },
		// Long keys that differ late, and some of the greatest length.
		func(r *rand.Rand) string { return prefix + fmt.Sprintf("%0*d", 1+r.IntN(store.MaxKey-980), r.IntN(40)) },
		func(r *rand.Rand) string { return strings.Repeat(string(rune(r.IntN(40))), store.MaxKey) },
		// Any bytes, zeros and 0xff among them, many keys the start of others.
		func(r *rand.Rand) string {
			b := make([]byte, 1+r.IntN(12))
			for i := range b {
				b[i] = []byte{0, 1, 'a', 0xfe, 0xff}[r.IntN(5)]
			}
			return string(b)
		},
	}
}

// composite is a key like those that ledgers use: three numbers and padding.
func composite(a, b, c uint64) string {
	k := make([]byte, 8, 32)
	k = binary.BigEndian.AppendUint64(k, a)
	k = binary.BigEndian.AppendUint64(k, b)
	return string(binary.BigEndian.AppendUint64(k, c))
}

// valueSize draws from nothing to a few MiB, most values small, with a weight
// on the sizes around a page.
func valueSize(r *rand.Rand) int {
	switch n := r.IntN(1000); {
	case n < 80:
		return 0
	case n < 500:
		return 1 + r.IntN(40)
	case n < 820:
		return 80 + r.IntN(300)
	case n < 930:
		return 900 + r.IntN(4000)
	case n < 950:
		return max(0, 4096*(1+r.IntN(8))-40+r.IntN(80))
	case n < 996:
		return 5000 + r.IntN(80_000)
	}
	return 1<<20 + r.IntN(2<<20)
}

// value draws a value of a size: random bytes, or, every fourth time, bytes that
// compress well.
func value(r *rand.Rand, size int) string {
	b := make([]byte, size+8)
	step := 8
	if r.IntN(4) == 0 {
		step = 512
	}
	for i := 0; i < size; i += step {
		binary.LittleEndian.PutUint64(b[i:], r.Uint64())
	}
	return string(b[:size])
}

// pick draws an index with the given weights.
func pick(r *rand.Rand, weights ...int) int {
	total := 0
	for _, w := range weights {
		total += w
	}
	n := r.IntN(total)
	return slices.IndexFunc(weights, func(w int) bool {
		n -= w
		return n < 0
	})
}
