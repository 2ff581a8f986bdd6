package intrinsic

import (
	"bytes"
	"slices"
	"testing"

	"tarn/antelope/exception"
)

// Leap multiplies the number of elements by their size in 32 bits: 2^27 of 96, 192 and 32
// bytes are 0 bytes, and are read from there on.
func TestSumsOfMoreThanMemoryCanHold(t *testing.T) {
	const wrap = 1 << 27
	for _, c := range []struct {
		name          string
		first, second int
		result        uint64
	}{
		{"bls_g1_weighted_sum", 96, 32, 96}, {"bls_g2_weighted_sum", 192, 32, 192}, {"bls_pairing", 96, 192, 576},
	} {
		for _, k := range []int{0, 1, 2} { // what is left of the number
			h := newHarness(t)
			infinity := make([]byte, len(h.m)) // each a point, to the end of memory
			at := uint64(len(h.m) - 96*20)
			args := func(n uint64) []uint64 {
				return []uint64{at, uint64(k * c.first), 4096, uint64(k * c.second), n, 64, c.result}
			}
			for _, n := range []uint64{wrap, 31 * wrap} {
				copy(h.m, infinity)
				h.fails(exception.WasmExecutionError, "access violation", c.name, args(n+uint64(k))...)
				copy(h.m[at+uint64(3*c.first):], bytes.Repeat([]byte{0xff}, c.first))
				h.returns(1<<32-1, c.name, args(n+uint64(k))...)
				h.returns(1<<32-1, c.name, args(n+uint64(k)+1)...)
				short := slices.Clone(args(n + uint64(k)))
				copy(h.m, infinity)
				short[6]--
				h.returns(1<<32-1, c.name, short...)
				short[6]++
				h.chain.timeLeft = 0
				h.fails(exception.Deadline, "time is up", c.name, short...)
				h.chain.timeLeft = 1 << 30
			}
		}
	}
}
