// Package seeded gives tests randomness that can be had again. It owns the flag -seed of a
// test's program.
package seeded

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the random tests; 0 takes one from the clock")

// Random returns a source whose seed is in the test's log. Of one seed each stream is another
// source.
func Random(t *testing.T, stream uint64) *rand.Rand {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("repeat with -run '^%s$' -seed=%d", t.Name(), seed)
	return rand.New(rand.NewPCG(seed, stream))
}
