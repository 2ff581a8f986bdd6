package secp256k1

import "github.com/consensys/gnark-crypto/ecc/secp256k1/fr"

// Recovery is a signature whose key is wanted.
type Recovery struct {
	Signature
	Key   Point
	Found bool // false too where points met, which says nothing

	at point // the signature's
}

// Finder finds keys. Not for concurrent use.
type Finder struct {
	adder
	sums
	work   []*Recovery
	r      []fr.Element
	odd    []oddMultiples
	even   []point
	totals []jacobian
}

// Find finds the keys of signatures. A signature (r, s) of z stands for the point R whose x
// is r, and for the parity of its y; its key is (s R - z G) / r. generator has the
// multiples of G. What is not found may still be there.
func (f *Finder) Find(list []Recovery, generator *Multiples) {
	f.work, f.r = f.work[:0], f.r[:0]
	for i := range list {
		c := &list[i]
		var x element
		if c.Found = c.parse() && x.read(c.R[:]) && c.at.lift(&x, c.Odd); c.Found {
			f.work, f.r = append(f.work, c), append(f.r, c.r)
		}
	}
	if len(f.work) == 0 {
		return
	}
	f.multiplyPoints(fr.BatchInvert(f.r), generator)
	f.add(f.of)
	for i, c := range f.work {
		low, high := f.of[2*i], f.of[2*i+1]
		if len(low) != 1 || len(high) != 1 {
			c.Found = false
			continue
		}
		endomorphism(&high[0])
		total := &f.totals[i]
		c.Found = c.Found && total.add(&low[0]) && total.add(&high[0]) && !total.z.isZero()
	}
	f.tell()
	clear(f.work)
}

// multiplyPoints makes the product of each signature's point, and the terms of the
// generator's.
func (f *Finder) multiplyPoints(inverses []fr.Element, generator *Multiples) {
	f.prepare()
	f.begin(len(f.work))
	f.totals = f.totals[:0]
	var low, high digits
	for i, c := range f.work {
		var u fr.Element
		u.Mul(&c.z, &inverses[i])
		f.product(i, generator, u.Neg(&u))
		a, b := split(u.Mul(&c.s, &inverses[i]))
		low.set(&a)
		high.set(&b)
		var total jacobian
		c.Found = total.multiply(&f.odd[i], &low, &high)
		f.totals = append(f.totals, total)
	}
	f.lay()
}

// prepare makes the odd multiples of the signatures' points: those of one, then as many
// more as there are by adding twice as much as the last time.
func (f *Finder) prepare() {
	n := len(f.work)
	if cap(f.odd) < n {
		f.odd, f.even = make([]oddMultiples, n), make([]point, n)
	}
	f.odd, f.even = f.odd[:n], f.even[:n]
	f.reset()
	for i, c := range f.work {
		f.odd[i][0] = c.at
		f.append(tangentDivisor(&c.at))
	}
	for i, inverse := range f.invert() {
		f.even[i] = doubled(&f.odd[i][0], &inverse)
	}
	for have := 1; have < len(oddMultiples{}); have *= 2 {
		f.reset()
		for i := range n {
			for k := range have {
				f.append(slopeDivisor(&f.even[i], &f.odd[i][k]))
			}
			f.append(tangentDivisor(&f.even[i]))
		}
		inverses := f.invert()
		for i := range n {
			for k := range have {
				f.odd[i][have+k] = added(&f.even[i], &f.odd[i][k], &inverses[k])
			}
			f.even[i] = doubled(&f.even[i], &inverses[have])
			inverses = inverses[have+1:]
		}
	}
}

// tell writes the keys.
func (f *Finder) tell() {
	f.reset()
	for i, c := range f.work {
		if c.Found {
			f.append(f.totals[i].z)
		}
	}
	inverses := f.invert()
	for i, c := range f.work {
		if !c.Found {
			continue
		}
		p := f.totals[i].affine(&inverses[0])
		inverses = inverses[1:]
		x, y := p.x.bytes(), p.y.bytes()
		copy(c.Key[:32], x[:])
		copy(c.Key[32:], y[:])
	}
}
