//go:build race

package storetest

// slowness divides the size of tests that show nothing more for being large: the
// race detector makes everything many times slower.
const slowness = 5
