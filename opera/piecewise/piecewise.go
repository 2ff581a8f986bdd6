// Package piecewise has functions that are linear between given points, with the cuts of
// lachesis-base's utils/piecefunc: prices and worths that nodes agree on are computed with
// them.
//
// It owns how a value is computed. The points, and what they mean, are the callers'.
package piecewise

// Unit is 1 in numbers that stand for fractions: they count in millionths.
const Unit = 1_000_000

// Function is a function by its points: argument and value, with growing arguments. There is
// one at least. The difference of two arguments that follow one another, and each value, is
// at most 2^64/Unit.
type Function [][2]uint64

// At returns the value of the function, which is constant outside of its points.
func (c Function) At(x uint64) uint64 {
	i := 0
	for i < len(c) && c[i][0] <= x {
		i++
	}
	switch i {
	case 0:
		return c[0][1]
	case len(c):
		return c[i-1][1]
	}
	a, b := c[i-1], c[i]
	ratio := (x - a[0]) * Unit / (b[0] - a[0])
	return a[1]*(Unit-ratio)/Unit + b[1]*ratio/Unit
}
