package secp256k1

import "github.com/consensys/gnark-crypto/ecc/secp256k1/fr"

// group are up to eight signatures whose keys are found together, in lanes.
//
// The key is u1 G + u2 R. Scalars have two halves, see [split], and halves have signed digits,
// see [Multiples]. All lanes do the same: for each digit a multiple of the lane's point is
// added, or the lane stays as it is. Sums begin with a point, so that no lane is without.
type group struct {
	s         sum
	multiples [laneMultiples]multiple
	packed    [laneMultiples][8]point // of R, as a curve has it on which scale is one
	scale     lanes
	x, y      lanes // of R

	ofR    [2][laneRows]choice
	ofG    [2][generatorRows]choice
	roots  [8]element // whose squares R's y are to have
	usable [8]bool
}

// multiple is a point of which z was ratio times that of the one before.
type multiple struct{ x, y, ratio lanes }

// load takes signatures that are parsed, and what their r's inverses are.
func (g *group) load(list []Search, inverses []fr.Element, generator *Multiples) {
	clear(g.ofR[0][:])
	clear(g.ofR[1][:])
	clear(g.ofG[0][:])
	clear(g.ofG[1][:])
	g.lift(list)
	for lane := range 8 {
		var u1, u2 fr.Element // zero in lanes that are not used
		if g.usable[lane] {
			u1.Mul(&list[lane].z, &inverses[lane])
			u1.Neg(&u1)
			u2.Mul(&list[lane].s, &inverses[lane])
		}
		low, high := split(&u1)
		g.chooseG(lane, 0, &low, generator)
		g.chooseG(lane, 1, &high, generator)
		low, high = split(&u2)
		g.chooseR(lane, 0, &low)
		g.chooseR(lane, 1, &high)
	}
}

// lift finds the points R, and tells which lanes have one.
func (g *group) lift(list []Search) {
	var xs [8]element
	for lane := range 8 {
		var square element
		if g.usable[lane] = lane < len(list) && !list[lane].s.IsZero(); g.usable[lane] {
			x := &xs[lane]
			x.read(list[lane].R[:])
			multiply(&square, x, x)
			multiply(&square, &square, x)
			add(&square, &square, &element{7})
		}
		g.roots[lane] = square
		g.x.set(lane, &xs[lane])
		g.y.set(lane, &square)
	}
	rootLanes(&g.y, &g.y)
	for lane := range 8 {
		if !g.usable[lane] {
			continue
		}
		p := point{xs[lane], g.y.get(lane)}
		var square element
		multiply(&square, &p.y, &p.y)
		g.usable[lane] = square == g.roots[lane]
		p.y.negate(int(p.y.parity() ^ list[lane].Odd))
		g.y.set(lane, &p.y)
	}
}

// chooseG chooses the generator's multiples for a half of a scalar.
func (g *group) chooseG(lane, half int, k *fr.Element, generator *Multiples) {
	d := digitsOf(k, generatorDigit)
	for row := range g.ofG[half] {
		c := &g.ofG[half][row]
		c.mapped = uint16(half)
		if value, minus := d.next(); value != 0 {
			at := row<<(generatorDigit-1) + value - 1
			prefetch(&generator.of[at])
			c.take(lane, at, minus)
		} else {
			c.none |= 1 << lane
		}
	}
}

// chooseR chooses the multiples of the lane's point for a half of a scalar.
func (g *group) chooseR(lane, half int, k *fr.Element) {
	d := digitsOf(k, laneDigit)
	for row := range g.ofR[half] {
		c := &g.ofR[half][row]
		c.mapped = uint16(half)
		if value, minus := d.next(); value != 0 {
			c.take(lane, (value-1)*8+lane, minus)
		} else {
			c.none |= 1 << lane
		}
	}
}

// take chooses a point for a lane, or its opposite.
func (c *choice) take(lane, at, minus int) {
	c.at[lane] = uint32(at * pointBytes)
	c.minus |= uint16(minus) << lane
}

// sum adds everything up.
func (g *group) sum(m *Recoverer) {
	g.prepare()
	// The beginning, where scale is one.
	var t lanes
	g.s.z.fill(&element{1})
	g.s.x.fill(&m.begin.x)
	g.s.y.fill(&m.begin.y)
	squareLanes(&t, &g.scale, 1)
	multiplyLanes(&g.s.x, &g.s.x, &t)
	multiplyLanes(&t, &t, &g.scale)
	multiplyLanes(&g.s.y, &g.s.y, &t)
	for row := laneRows - 1; row >= 0; row-- {
		addLanes(&g.s, &g.packed[0][0], &g.ofR[0][row])
		addLanes(&g.s, &g.packed[0][0], &g.ofR[1][row])
		if row > 0 {
			doubleLanes(&g.s, laneDigit)
		}
	}
	multiplyLanes(&g.s.z, &g.s.z, &g.scale)
	for row := range generatorRows {
		addLanes(&g.s, &m.generator.of[0], &g.ofG[0][row])
		addLanes(&g.s, &m.generator.of[0], &g.ofG[1][row])
	}
	addLanes(&g.s, &m.back, new(choice))
}

// prepare makes the multiples of the lanes' points. Each is R more than the one before, with
// a z of its own. On the curve on which the last one's z is one, (x, y) of the others becomes
// (x d^2, y d^3), with d what the last z is times theirs; no sum of points depends on which
// of these curves they are on. So there is no division.
func (g *group) prepare() {
	own := choice{}
	for lane := range 8 {
		own.take(lane, lane, 0)
	}
	packLanes(&g.packed[0], &g.x, &g.y)
	g.s.x, g.s.y = g.x, g.y
	g.s.z.fill(&element{1})
	doubleLanes(&g.s, 1)
	g.s.h = g.s.z
	for i := 1; ; i++ {
		g.multiples[i] = multiple{g.s.x, g.s.y, g.s.h}
		if i == laneMultiples-1 {
			break
		}
		addLanes(&g.s, &g.packed[0][0], &own)
	}
	g.multiples[0].x, g.multiples[0].y = g.x, g.y
	g.scale.fill(&element{1})
	for i := laneMultiples - 1; ; i-- {
		p := &g.multiples[i]
		if i < laneMultiples-1 {
			var power lanes
			squareLanes(&power, &g.scale, 1)
			multiplyLanes(&p.x, &p.x, &power)
			multiplyLanes(&power, &power, &g.scale)
			multiplyLanes(&p.y, &p.y, &power)
		}
		packLanes(&g.packed[i], &p.x, &p.y)
		if i == 0 {
			return
		}
		multiplyLanes(&g.scale, &g.scale, &p.ratio)
	}
}

// appendEnds appends what was found for the lanes' signatures, of which the first is at a
// place in a list.
func (g *group) appendEnds(list []end, first, n int) []end {
	for lane := range n {
		if z := g.s.z.get(lane); g.usable[lane] && !z.isZero() {
			list = append(list, end{first + lane, g.s.x.get(lane), g.s.y.get(lane), z})
		}
	}
	return list
}
