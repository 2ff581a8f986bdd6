package secp256k1

import "golang.org/x/sys/cpu"

// wide tells whether the processor multiplies eight numbers of 52 bits at once.
var wide = cpu.X86.HasAVX512F && cpu.X86.HasAVX512IFMA && adx

// lanes are eight numbers modulo the field's prime, side by side: five limbs of 52 bits each,
// the lowest first. The last limb is at most 2^48 + 2^6, so that a number may be above the
// prime.
type lanes [5][8]uint64

// limbBits are those of a limb.
const limbBits = 52

// set puts a number into a lane.
func (l *lanes) set(lane int, x *element) {
	const all = 1<<limbBits - 1
	l[0][lane] = x[0] & all
	l[1][lane] = (x[0]>>52 | x[1]<<12) & all
	l[2][lane] = (x[1]>>40 | x[2]<<24) & all
	l[3][lane] = (x[2]>>28 | x[3]<<36) & all
	l[4][lane] = x[3] >> 16
}

// get returns the number of a lane, below the prime.
func (l *lanes) get(lane int) (x element) {
	a, b, c, d, e := l[0][lane], l[1][lane], l[2][lane], l[3][lane], l[4][lane]
	x.reduce(a|b<<52, b>>12|c<<40, c>>24|d<<28, d>>36|e<<16, e>>48)
	return x
}

// fill puts one number into all lanes.
func (l *lanes) fill(x *element) {
	for i := range 8 {
		l.set(i, x)
	}
}

// multiplyLanes sets z to x * y. z may be x or y.
//
//go:noescape
func multiplyLanes(z, x, y *lanes)

// squareLanes sets z to x^(2^n), for n of one or more. z may be x.
//
//go:noescape
func squareLanes(z, x *lanes, n int)

// sum is a point in each lane: (x / z^2, y / z^3), and no point where z is zero. An addition
// multiplies z by h.
type sum struct {
	x, y, z, h lanes
	_          [5]lanes // what additions need meanwhile
}

// doubleLanes doubles n times, for n of one or more.
//
//go:noescape
func doubleLanes(s *sum, n int)

// choice says what is added in each lane: which point, by its distance in bytes from the
// first; whether its opposite (a bit of minus for each lane), or nothing (a bit of none);
// and whether lambda times the point.
type choice struct {
	at          [8]uint32
	minus, none uint16
	mapped      uint16
}

// addLanes adds a point in each lane. Where the two are the same or opposite, or the sum has
// become no point before, it becomes no point.
//
//go:noescape
func addLanes(s *sum, base *point, c *choice)

// packLanes makes points of coordinates, which may be above the prime and are below 2^256.
//
//go:noescape
func packLanes(to *[8]point, x, y *lanes)

// rootLanes sets z to what is a square root of x where there is one, see [root].
func rootLanes(z, x *lanes) {
	var n2, n3, n22, n44, n88, t lanes
	grow := func(to, from, by *lanes, n int) { // of by's n ones after from's
		squareLanes(&t, from, n)
		multiplyLanes(to, &t, by)
	}
	grow(&n2, x, x, 1)
	grow(&n3, &n2, x, 1)
	grow(z, &n3, &n3, 3)
	grow(z, z, &n3, 3)
	grow(z, z, &n2, 2) // 11
	grow(&n22, z, z, 11)
	grow(&n44, &n22, &n22, 22)
	grow(&n88, &n44, &n44, 44)
	grow(z, &n88, &n88, 88)
	grow(z, z, &n44, 44)
	grow(z, z, &n3, 3) // 223
	grow(z, z, &n22, 23)
	grow(z, z, &n2, 6)
	squareLanes(z, z, 2)
}
