package suite

import "time"

// The calibration is a fixed work of the processor, long enough that the clock's grain
// does not show. It is done in pieces, of which the fastest counts: another process that
// comes between slows some, a machine at its lower speed all.
const (
	calibrationPieces = 6
	calibrationSteps  = 6_000_000
	steadyWithin      = 0.10 // that the calibrations of a pair may differ
)

// calibrate says how long the work takes now, in seconds.
func calibrate() float64 {
	best := 0.0
	x := uint64(88172645463325252)
	for range calibrationPieces {
		begin := time.Now()
		for range calibrationSteps {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
		}
		if took := time.Since(begin).Seconds(); best == 0 || took < best {
			best = took
		}
	}
	if x == 0 { // never of this generator; so that the compiler must do the work
		return 0
	}
	return best
}
