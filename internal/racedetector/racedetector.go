// Package racedetector lets tests that measure leave themselves out of builds with the race detector.
//
// It knows nothing of what is measured.
package racedetector

import "testing"

// SkipMeasure skips a test that measures memory or time where the test is built with the race detector, which takes its
// own of both.
func SkipMeasure(t testing.TB) {
	t.Helper()
	if on {
		t.Skip("measures memory or time, of which the race detector takes its own")
	}
}
