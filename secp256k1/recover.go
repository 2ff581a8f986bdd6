package secp256k1

import (
	"encoding/binary"
	"slices"

	"github.com/consensys/gnark-crypto/ecc/secp256k1"
	"github.com/consensys/gnark-crypto/ecc/secp256k1/fr"
)

// The digits of scalars that multiply a signature's point, which is prepared for one product,
// and the rows of those that multiply the generator.
const (
	laneDigit     = 5
	laneMultiples = 1 << (laneDigit - 1)
	laneRows      = splitBits/laneDigit + 1
	laneDoublings = (laneRows - 1) * laneDigit
	generatorRows = splitBits/generatorDigit + 1
)

// Search is a signature of which one asks whose it is.
type Search struct {
	Signature
	Key   [64]byte // the coordinates of its point, the highest byte first, if it is found
	Found bool
}

// Recoverer finds keys, eight at a time where the processor is wide. It has 50 KiB. Not for concurrent use.
type Recoverer struct {
	generator   *Multiples
	begin, back point  // where sums begin, and what they have of it in the end, the opposite
	group       *group // nil: the processor is not wide
	lone        lone
	r           []fr.Element
	ends        []end
	divisors    divisors
}

// end is what was found for one signature of a list: a point (x / z^2, y / z^3).
type end struct {
	at      int
	x, y, z element
}

// Wide tells whether the processor multiplies eight numbers at once (AVX-512 IFMA): then eight keys
// are found in the time of one.
func Wide() bool { return wide }

// Least is from how many signatures on a recoverer finds keys in less time than the library with which
// go-ethereum finds them in this build; 0 if in none.
func Least() int {
	switch {
	case !libraryInC:
		return 1
	case wide:
		return 2
	}
	return 0
}

// NewRecoverer returns a recoverer with the multiples of the curve's generator.
func NewRecoverer(generator *Multiples) *Recoverer {
	r := &Recoverer{generator: generator}
	if wide {
		r.group = new(group)
	}
	// Of which multiple of the generator this is, nobody knows, so that sums do not meet
	// points that are added.
	for x := (element{0, 0, 0, 1 << 62}); !r.begin.lift(&x, 0); x[0]++ {
	}
	first := r.begin.affine()
	var p secp256k1.G1Jac
	p.FromAffine(&first)
	for range laneDoublings {
		p.DoubleAssign()
	}
	p.Neg(&p)
	first.FromJacobian(&p)
	r.back = pointOf(&first)
	return r
}

// Recover finds whose the signatures are: for (r, s) of z, and R the point whose x is r and
// whose y has the parity, the key is (s R - z G) / r. What it does not find another library
// has to look for: what is no signature, what has no key, and what makes equal or opposite
// points meet in a sum, which happens to nobody who does not look for it.
func (m *Recoverer) Recover(list []Search) {
	m.r = slices.Grow(m.r[:0], len(list))[:len(list)]
	for i := range list {
		g := &list[i]
		g.Found = false
		if g.parse(); g.s.IsZero() {
			g.r.SetZero() // which has no inverse, and whose product with it is zero
		}
		m.r[i] = g.r
	}
	inverses := fr.BatchInvert(m.r)
	m.ends = m.ends[:0]
	if m.group != nil && len(list) > 1 {
		m.sumGroups(list, inverses)
	} else {
		m.sumEach(list, inverses)
	}
	m.divisors.reset()
	for i := range m.ends {
		m.divisors.append(m.ends[i].z)
	}
	for i, inverse := range m.divisors.invert() {
		e := &m.ends[i]
		e.finish(&inverse, &list[e.at])
	}
}

// sumGroups appends the ends of eight signatures after the other.
func (m *Recoverer) sumGroups(list []Search, inverses []fr.Element) {
	for i := 0; i < len(list); i += 8 {
		n := min(8, len(list)-i)
		m.group.load(list[i:i+n], inverses[i:], m.generator)
		m.group.sum(m)
		m.ends = m.group.appendEnds(m.ends, i, n)
	}
}

// sumEach appends the ends of one signature after the other.
func (m *Recoverer) sumEach(list []Search, inverses []fr.Element) {
	for i := range list {
		if !m.lone.load(&list[i]) {
			continue
		}
		if m.lone.sum(m, &list[i], &inverses[i]); !m.lone.s.z.isZero() {
			m.ends = append(m.ends, end{i, m.lone.s.x, m.lone.s.y, m.lone.s.z})
		}
	}
}

// finish writes a key down; inverse is that of z.
func (e *end) finish(inverse *element, g *Search) {
	p := point{e.x, e.y}
	p.rescale(inverse)
	for i := range 4 {
		binary.BigEndian.PutUint64(g.Key[24-8*i:], p.x[i])
		binary.BigEndian.PutUint64(g.Key[56-8*i:], p.y[i])
	}
	g.Found = true
}
