package softfloat

import "math/bits"

// A number is (-1)^sign * 2^exp * 1.f, where 1.f is hi:lo with its highest bit set:
// 113 bits of precision and 15 below, of which the lowest also stands for all that
// is smaller.
type number struct {
	sign   uint64 // in the highest bit
	exp    int32
	hi, lo uint64
}

// unpack takes a finite a apart; a zero has no highest bit.
func (a F128) unpack() number {
	n := number{sign: a.Hi & sign128, exp: int32(a.Hi >> 48 & max128), hi: a.Hi & frac128, lo: a.Lo}
	if n.exp != 0 {
		n.hi |= 1 << 48
		n.hi, n.lo = shiftLeft(n.hi, n.lo, 15)
		n.exp -= bias128
		return n
	}
	if n.hi|n.lo == 0 {
		return n
	}
	shift := leadingZeros(n.hi, n.lo)
	n.hi, n.lo = shiftLeft(n.hi, n.lo, shift)
	n.exp = 1 - bias128 - int32(shift-15)
	return n
}

// pack rounds n, whose highest bit is set.
func (n number) pack() F128 {
	hi, lo, exp := n.hi, n.lo, n.exp+bias128
	if exp <= 0 { // subnormal
		hi, lo = shiftRightSticky(hi, lo, uint(min(1-exp, 128)))
		exp = 0
	} else if exp >= max128 {
		return F128{Hi: n.sign | inf128}
	}
	const drop, half = 15, 1 << 14
	rest := lo & (1<<drop - 1)
	hi, lo = hi>>drop, hi<<(64-drop)|lo>>drop
	if rest > half || rest == half && lo&1 != 0 {
		var carry uint64
		lo, carry = bits.Add64(lo, 1, 0)
		hi += carry
	}
	// The implicit bit, if it is there, adds one to the exponent.
	return F128{Lo: lo, Hi: n.sign | uint64(max(exp-1, 0))<<48 + hi}
}

func (a F128) isInf() bool  { return a.Hi&^sign128 == inf128 && a.Lo == 0 }
func (a F128) isZero() bool { return a.Hi&^sign128 == 0 && a.Lo == 0 }

// Add returns a + b (__addtf3).
func (a F128) Add(b F128) F128 {
	if a.IsNaN() || b.IsNaN() {
		return nanOf128(a, b)
	}
	return add128(a, b)
}

// Sub returns a - b (__subtf3).
func (a F128) Sub(b F128) F128 {
	if a.IsNaN() || b.IsNaN() {
		return nanOf128(a, b)
	}
	return add128(a, b.Neg())
}

// add128 adds what is no NaN.
func add128(a, b F128) F128 {
	differ := (a.Hi^b.Hi)&sign128 != 0
	switch {
	case a.isInf():
		if differ && b.isInf() {
			return F128{Hi: nan128}
		}
		return a
	case b.isInf():
		return b
	case a.isZero() && b.isZero():
		return F128{Hi: a.Hi & b.Hi} // -0 only if both are
	case b.isZero():
		return a
	case a.isZero():
		return b
	}
	x, y := a.unpack(), b.unpack()
	if x.exp < y.exp || x.exp == y.exp && (x.hi < y.hi || x.hi == y.hi && x.lo < y.lo) {
		x, y = y, x
	}
	y.hi, y.lo = shiftRightSticky(y.hi, y.lo, uint(min(x.exp-y.exp, 128)))
	if !differ {
		lo, carry := bits.Add64(x.lo, y.lo, 0)
		hi, carry := bits.Add64(x.hi, y.hi, carry)
		if carry != 0 {
			hi, lo = shiftRightSticky(hi, lo, 1)
			hi |= 1 << 63
			x.exp++
		}
		x.hi, x.lo = hi, lo
		return x.pack()
	}
	lo, borrow := bits.Sub64(x.lo, y.lo, 0)
	hi, _ := bits.Sub64(x.hi, y.hi, borrow)
	if hi|lo == 0 {
		return F128{}
	}
	shift := leadingZeros(hi, lo)
	x.hi, x.lo = shiftLeft(hi, lo, shift)
	x.exp -= int32(shift)
	return x.pack()
}

// Mul returns a * b (__multf3).
func (a F128) Mul(b F128) F128 {
	sign := (a.Hi ^ b.Hi) & sign128
	switch {
	case a.IsNaN() || b.IsNaN():
		return nanOf128(a, b)
	case a.isInf() || b.isInf():
		if a.isZero() || b.isZero() {
			return F128{Hi: nan128}
		}
		return F128{Hi: sign | inf128}
	case a.isZero() || b.isZero():
		return F128{Hi: sign}
	}
	x, y := a.unpack(), b.unpack()
	p3, p2, p1, p0 := multiply(x.hi, x.lo, y.hi, y.lo)
	exp := x.exp + y.exp + 1
	if p3>>63 == 0 {
		p3, p2, p1 = p3<<1|p2>>63, p2<<1|p1>>63, p1<<1
		exp--
	}
	return number{sign: sign, exp: exp, hi: p3, lo: p2 | sticky(p1|p0)}.pack()
}

// multiply returns the product of two numbers of 128 bits, its highest word first.
func multiply(ah, al, bh, bl uint64) (p3, p2, p1, p0 uint64) {
	p1, p0 = bits.Mul64(al, bl)
	h, l := bits.Mul64(ah, bl)
	p1, carry := bits.Add64(p1, l, 0)
	p2, _ = bits.Add64(h, 0, carry)
	h, l = bits.Mul64(al, bh)
	p1, carry = bits.Add64(p1, l, 0)
	p2, carry = bits.Add64(p2, h, carry)
	p3 = carry
	h, l = bits.Mul64(ah, bh)
	p2, carry = bits.Add64(p2, l, 0)
	p3, _ = bits.Add64(p3, h, carry)
	return p3, p2, p1, p0
}

// Div returns a / b (__divtf3).
func (a F128) Div(b F128) F128 {
	sign := (a.Hi ^ b.Hi) & sign128
	switch {
	case a.IsNaN() || b.IsNaN():
		return nanOf128(a, b)
	case a.isInf() && b.isInf(), a.isZero() && b.isZero():
		return F128{Hi: nan128}
	case a.isInf() || b.isZero():
		return F128{Hi: sign | inf128}
	case a.isZero() || b.isInf():
		return F128{Hi: sign}
	}
	x, y := a.unpack(), b.unpack()
	// Half of x over y is between a quarter and one: the quotient of 128 bits has its
	// highest bit in one of the two highest places.
	rh, rl := x.hi>>1, x.hi<<63|x.lo>>1
	qh, rh, rl := divideWord(rh, rl, x.lo<<63, y.hi, y.lo)
	ql, rh, rl := divideWord(rh, rl, 0, y.hi, y.lo)
	exp := x.exp - y.exp
	if qh>>63 == 0 {
		qh, ql = qh<<1|ql>>63, ql<<1
		exp--
	}
	return number{sign: sign, exp: exp, hi: qh, lo: ql | sticky(rh|rl)}.pack()
}

// divideWord divides the three words n2:n1:n0 by dh:dl, of which the highest bit is
// set and which is larger than n2:n1.
func divideWord(n2, n1, n0, dh, dl uint64) (q, rh, rl uint64) {
	q = ^uint64(0)
	if n2 < dh {
		q, _ = bits.Div64(n2, n1, dh)
	}
	// q is too large by two at most.
	ph, pl := bits.Mul64(q, dl)
	p2, p1 := bits.Mul64(q, dh)
	p1, carry := bits.Add64(p1, ph, 0)
	p2 += carry
	rl, borrow := bits.Sub64(n0, pl, 0)
	rh, borrow = bits.Sub64(n1, p1, borrow)
	top, _ := bits.Sub64(n2, p2, borrow)
	for top != 0 { // negative
		q--
		rl, carry = bits.Add64(rl, dl, 0)
		rh, carry = bits.Add64(rh, dh, carry)
		top += carry
	}
	return q, rh, rl
}

// Neg inverts the sign, of a NaN too (__negtf2).
func (a F128) Neg() F128 { return F128{Lo: a.Lo, Hi: a.Hi ^ sign128} }

// Eq tells whether a == b; NaN equals nothing.
func (a F128) Eq(b F128) bool {
	return !a.IsNaN() && !b.IsNaN() && (a == b || a.isZero() && b.isZero())
}

// Lt tells whether a < b; false for NaN.
func (a F128) Lt(b F128) bool {
	if a.IsNaN() || b.IsNaN() || a == b {
		return false
	}
	negA, negB := a.Hi&sign128 != 0, b.Hi&sign128 != 0
	if negA != negB {
		return negA && !(a.isZero() && b.isZero())
	}
	return negA != (a.Hi < b.Hi || a.Hi == b.Hi && a.Lo < b.Lo)
}

// Unordered tells whether a or b is a NaN (__unordtf2, as 1 or 0).
func (a F128) Unordered(b F128) bool { return a.IsNaN() || b.IsNaN() }

// Compare returns -1, 0 or 1 for less, equal or greater, and unordered if a or b is
// a NaN. The functions that contracts call differ in that only (Leap: cmptf2_impl):
// 1 for __eqtf2, __netf2, __letf2 and __cmptf2, 0 for __gttf2 and __lttf2, -1 for
// __getf2.
func (a F128) Compare(b F128, unordered int32) int32 {
	switch {
	case a.Unordered(b):
		return unordered
	case a.Lt(b):
		return -1
	case a.Eq(b):
		return 0
	}
	return 1
}
