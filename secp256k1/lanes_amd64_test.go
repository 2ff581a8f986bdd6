package secp256k1

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/secp256k1/fp"
)

// needLanes skips a test where the processor has no such instructions.
func needLanes(t testing.TB) {
	if !wide {
		t.Skip("the processor has no AVX-512 IFMA")
	}
}

// The bounds of limbs, of which everything must be right.
const (
	mostLimb = 1<<limbBits - 1
	mostLast = 1<<48 + 1<<6
)

// laneNumbers makes lanes of limbs, above all full and empty ones.
type laneNumbers struct{ *rand.Rand }

func (r laneNumbers) limb(most uint64) uint64 {
	switch r.IntN(6) {
	case 0:
		return 0
	case 1:
		return most
	case 2:
		return r.Uint64N(3)
	case 3:
		return most - r.Uint64N(66)
	}
	return r.Uint64N(most + 1)
}

func (r laneNumbers) lanes() (l lanes) {
	full := r.IntN(20) == 0
	for i := range l {
		most := uint64(mostLimb)
		if i == 4 {
			most = mostLast
		}
		for lane := range l[i] {
			if l[i][lane] = r.limb(most); full {
				l[i][lane] = most
			}
		}
	}
	return l
}

// number is that of a lane, as it stands.
func (l *lanes) number(lane int) *big.Int {
	n := new(big.Int)
	for i := 4; i >= 0; i-- {
		n.Lsh(n, limbBits)
		n.Add(n, new(big.Int).SetUint64(l[i][lane]))
	}
	return n
}

// number is a lane of a result: the test fails if it is not within its bounds, or not want
// modulo the prime.
func checkLane(t *testing.T, what string, l *lanes, lane int, want *big.Int) {
	t.Helper()
	for i := range 4 {
		if l[i][lane] > mostLimb {
			t.Fatalf("%s, lane %d: limb %d is %x", what, lane, i, l[i][lane])
		}
	}
	if l[4][lane] > mostLast {
		t.Fatalf("%s, lane %d: the last limb is %x", what, lane, l[4][lane])
	}
	n := elementOf(want)
	if got := elementOf(l.number(lane)); got != n {
		t.Fatalf("%s, lane %d: %x, not %x", what, lane, got, n)
	}
	if got := l.get(lane); got != n {
		t.Fatalf("%s, lane %d is read as %x, not %x", what, lane, got, n)
	}
}

// of makes a number of numbers: the sum of products, of which each is given by its factors.
func of(products ...[]*big.Int) *big.Int {
	s := new(big.Int)
	for _, factors := range products {
		p := big.NewInt(1)
		for _, f := range factors {
			p.Mul(p, f)
			p.Mod(p, fp.Modulus())
		}
		s.Add(s, p)
	}
	return s
}

type factors = []*big.Int

var minusOne, two, three, four, eight = big.NewInt(-1), big.NewInt(2), big.NewInt(3), big.NewInt(4), big.NewInt(8)

// Products and squares in lanes are those of numbers modulo the prime, for all limbs within
// the bounds, also where the result replaces a factor.
func TestLanesMultiply(t *testing.T) {
	needLanes(t)
	r := laneNumbers{rand.New(rand.NewPCG(*seed, 1))}
	for range rounds(3000) {
		x, y := r.lanes(), r.lanes()
		var product lanes
		over, under, square, eighth := x, y, x, x
		multiplyLanes(&product, &x, &y)
		multiplyLanes(&over, &over, &y)
		multiplyLanes(&under, &x, &under)
		squareLanes(&square, &square, 1)
		squareLanes(&eighth, &x, 3)
		for lane := range 8 {
			a, b := x.number(lane), y.number(lane)
			want := of(factors{a, b})
			checkLane(t, "a product", &product, lane, want)
			checkLane(t, "a product over its first factor", &over, lane, want)
			checkLane(t, "a product over its second factor", &under, lane, want)
			checkLane(t, "a square", &square, lane, of(factors{a, a}))
			checkLane(t, "an eighth power", &eighth, lane, of(factors{a, a, a, a, a, a, a, a}))
		}
	}
}

// Sums in lanes are what their formulas say, for all limbs within the bounds, on the curve
// or not.
func TestLanesDoubleAndAdd(t *testing.T) {
	needLanes(t)
	r := laneNumbers{rand.New(rand.NewPCG(*seed, 2))}
	e := fieldNumbers(r)
	for range rounds(3000) {
		s := sum{x: r.lanes(), y: r.lanes(), z: r.lanes()}
		before := s
		doubleLanes(&s, 1)
		checkDoubled(t, &before, &s)
		twice := before
		doubleLanes(&s, 1)
		if doubleLanes(&twice, 2); twice.x != s.x || twice.y != s.y || twice.z != s.z {
			t.Fatal("doubled twice together is not doubled twice")
		}
		var points [20]point
		for i := range points {
			points[i] = point{e.element(), e.element()}
			if r.IntN(8) == 0 {
				points[i].x = element{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)} // above the prime
				points[i].y = points[i].x
			}
		}
		c := choice{minus: uint16(r.Uint32N(256)), none: uint16(r.Uint32N(256) & r.Uint32N(256)),
			mapped: uint16(r.IntN(2))}
		for lane := range c.at {
			c.at[lane] = uint32(r.IntN(len(points))) * pointBytes
		}
		s = before
		addLanes(&s, &points[0], &c)
		checkAdded(t, &before, &s, points[:], &c)
	}
}

func checkDoubled(t *testing.T, before, after *sum) {
	t.Helper()
	for lane := range 8 {
		x, y, z := before.x.number(lane), before.y.number(lane), before.z.number(lane)
		b := of(factors{y, y})
		m, s := of(factors{three, x, x}), of(factors{four, x, b})
		x3 := of(factors{m, m}, factors{minusOne, two, s})
		checkLane(t, "doubled x", &after.x, lane, x3)
		checkLane(t, "doubled y", &after.y, lane,
			of(factors{m, s}, factors{minusOne, m, x3}, factors{minusOne, eight, b, b}))
		checkLane(t, "doubled z", &after.z, lane, of(factors{two, y, z}))
	}
}

func checkAdded(t *testing.T, before, after *sum, points []point, c *choice) {
	t.Helper()
	for lane := range 8 {
		x, y, z := before.x.number(lane), before.y.number(lane), before.z.number(lane)
		if c.none>>lane&1 == 1 {
			checkLane(t, "x without an addition", &after.x, lane, x)
			checkLane(t, "y without an addition", &after.y, lane, y)
			checkLane(t, "z without an addition", &after.z, lane, z)
			continue
		}
		p := &points[c.at[lane]/pointBytes]
		x2, y2 := p.x.number(), p.y.number()
		if c.minus>>lane&1 == 1 {
			y2 = of(factors{minusOne, y2})
		}
		if c.mapped == 1 {
			x2 = of(factors{x2, beta.number()})
		}
		h := of(factors{x2, z, z}, factors{minusOne, x})
		slope := of(factors{y2, z, z, z}, factors{minusOne, y})
		v := of(factors{x, h, h})
		x3 := of(factors{slope, slope}, factors{minusOne, h, h, h}, factors{minusOne, two, v})
		checkLane(t, "h of an addition", &after.h, lane, h)
		checkLane(t, "x of an addition", &after.x, lane, x3)
		checkLane(t, "y of an addition", &after.y, lane,
			of(factors{slope, v}, factors{minusOne, slope, x3}, factors{minusOne, y, h, h, h}))
		checkLane(t, "z of an addition", &after.z, lane, of(factors{z, h}))
	}
}

// A point is packed as it is, and may be above the prime.
func TestLanesPack(t *testing.T) {
	needLanes(t)
	r := laneNumbers{rand.New(rand.NewPCG(*seed, 3))}
	for range rounds(3000) {
		x, y := r.lanes(), r.lanes()
		var got [8]point
		packLanes(&got, &x, &y)
		for lane := range got {
			if a, b := elementOf(got[lane].x.number()), elementOf(got[lane].y.number()); a != x.get(lane) ||
				b != y.get(lane) {
				t.Fatalf("lane %d is packed as %x", lane, got[lane])
			}
		}
	}
}

// Roots in lanes are the ones without.
func TestLanesRoot(t *testing.T) {
	needLanes(t)
	r := fieldNumbers{rand.New(rand.NewPCG(*seed, 4))}
	for range rounds(60) {
		var x, y lanes
		for lane := range 8 {
			n := r.element()
			x.set(lane, &n)
			if got := x.get(lane); got != n {
				t.Fatalf("%x is read as %x", n, got)
			}
		}
		rootLanes(&y, &x)
		for lane := range 8 {
			var want element
			n := x.get(lane)
			root(&want, &n)
			if got := y.get(lane); got != want {
				t.Fatalf("lane %d: the root of %x is %x, not %x", lane, n, got, want)
			}
		}
	}
}

// A lane in which equal or opposite points met is no point, and stays so.
func TestLanesWithoutAPointStaySo(t *testing.T) {
	needLanes(t)
	generator := NewGenerator()
	g := generator.of[0]
	for _, minus := range []uint16{0, 0xff} {
		var s sum
		s.x.fill(&g.x)
		s.y.fill(&g.y)
		s.z.fill(&element{1})
		c := choice{minus: minus}
		addLanes(&s, &g, &c)
		c.at = [8]uint32{64, 128, 192, 256, 320, 384, 448, 512}
		addLanes(&s, &generator.of[0], &c)
		doubleLanes(&s, 3)
		addLanes(&s, &generator.of[0], &c)
		for lane := range 8 {
			if z := s.z.get(lane); !z.isZero() {
				t.Errorf("lane %d with minus %x has z %x", lane, minus, z)
			}
		}
	}
}
