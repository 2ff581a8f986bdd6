//go:build race

package racedetector

// on tells whether this build has the race detector.
const on = true
