package wasm

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"tarn/antelope/exception"
)

// format is a binary floating point format, for an oracle that computes with
// rational numbers instead of the processor.
type format struct {
	typ       ValueType
	fraction  uint // bits
	exponent  uint // bits
	toInteger byte
	fromInt   byte
}

var (
	single = format{F32, 23, 8, opI32FromF32, opF32FromI32}
	double = format{F64, 52, 11, opI64FromF64, opF64FromI64}
)

func (f format) sign() uint64  { return 1 << (f.fraction + f.exponent) }
func (f format) quiet() uint64 { return 1 << (f.fraction - 1) }
func (f format) inf() uint64   { return (1<<f.exponent - 1) << f.fraction }
func (f format) canon() uint64 { return f.sign() | f.inf() | f.quiet() }

func (f format) isNaN(x uint64) bool { return x&^f.sign() > f.inf() }
func (f format) isInf(x uint64) bool { return x&^f.sign() == f.inf() }
func (f format) isZero(x uint64) bool {
	return x&^f.sign() == 0
}
func (f format) negative(x uint64) bool { return x&f.sign() != 0 }

// rat is the value of a finite x.
func (f format) rat(x uint64) *big.Rat {
	e := int(x>>f.fraction) & (1<<f.exponent - 1)
	m := int64(x & (1<<f.fraction - 1))
	if e > 0 {
		m |= 1 << f.fraction
	} else {
		e = 1
	}
	r := new(big.Rat).SetInt64(m)
	shift := e - (1<<(f.exponent-1) - 1) - int(f.fraction)
	p := new(big.Int).Lsh(big.NewInt(1), uint(max(shift, -shift)))
	if shift >= 0 {
		r.Mul(r, new(big.Rat).SetInt(p))
	} else {
		r.Quo(r, new(big.Rat).SetInt(p))
	}
	if f.negative(x) {
		r.Neg(r)
	}
	return r
}

// round is the nearest number, ties to even; a zero gets the sign.
func (f format) round(r *big.Rat, negative bool) uint64 {
	if r.Sign() != 0 {
		negative = r.Sign() < 0
	}
	var x uint64
	a := new(big.Rat).Abs(r)
	if f.typ == F32 {
		v, _ := a.Float32()
		x = uint64(math.Float32bits(v))
	} else {
		v, _ := a.Float64()
		x = math.Float64bits(v)
	}
	if negative {
		x |= f.sign()
	}
	return x
}

func (f format) signOf(negative bool) uint64 {
	if negative {
		return f.sign()
	}
	return 0
}

// add is SoftFloat's sum.
func (f format) add(a, b uint64) uint64 {
	switch {
	case f.isInf(a) && f.isInf(b) && a != b:
		return f.canon()
	case f.isInf(a):
		return a
	case f.isInf(b):
		return b
	}
	return f.round(new(big.Rat).Add(f.rat(a), f.rat(b)), f.negative(a) && f.negative(b))
}

func (f format) mul(a, b uint64) uint64 {
	sign := f.signOf(f.negative(a) != f.negative(b))
	if f.isInf(a) || f.isInf(b) {
		if f.isZero(a) || f.isZero(b) {
			return f.canon()
		}
		return f.inf() | sign
	}
	return f.round(new(big.Rat).Mul(f.rat(a), f.rat(b)), sign != 0)
}

func (f format) div(a, b uint64) uint64 {
	sign := f.signOf(f.negative(a) != f.negative(b))
	switch {
	case f.isInf(a) && f.isInf(b) || f.isZero(a) && f.isZero(b):
		return f.canon()
	case f.isInf(a) || f.isZero(b):
		return f.inf() | sign
	case f.isInf(b):
		return sign
	}
	return f.round(new(big.Rat).Quo(f.rat(a), f.rat(b)), sign != 0)
}

func (f format) sqrt(a uint64) uint64 {
	switch {
	case f.isZero(a) || a == f.inf():
		return a
	case f.negative(a):
		return f.canon()
	}
	// An even power of two makes the root of the scaled integer exact to 300 bits.
	r := f.rat(a)
	n := new(big.Int).Lsh(r.Num(), 2400)
	n.Quo(n, r.Denom())
	root := new(big.Int).Sqrt(n)
	exact := new(big.Int).Mul(root, root).Cmp(n) == 0
	n = root.Lsh(root, 1)
	if !exact {
		n.Add(n, big.NewInt(1)) // so that it is no tie
	}
	return f.round(new(big.Rat).SetFrac(n, new(big.Int).Lsh(big.NewInt(1), 1201)), false)
}

// whole rounds to an integer: which is -1 for floor, 1 for ceil, 0 for trunc, 2 for
// nearest.
func (f format) whole(a uint64, which int) uint64 {
	if f.isNaN(a) || f.isInf(a) || f.isZero(a) {
		return a
	}
	return f.round(new(big.Rat).SetInt(wholeOf(f.rat(a), which)), f.negative(a))
}

func wholeOf(r *big.Rat, which int) *big.Int {
	floor := new(big.Int).Div(r.Num(), r.Denom()) // Euclidean; the denominator is positive
	if r.IsInt() {
		return floor
	}
	up := new(big.Int).Add(floor, big.NewInt(1))
	switch {
	case which == 1 || which == 0 && r.Sign() < 0:
		return up
	case which == 2:
		rest := new(big.Rat).Sub(r, new(big.Rat).SetInt(floor))
		if c := rest.Cmp(big.NewRat(1, 2)); c > 0 || c == 0 && floor.Bit(0) == 1 {
			return up
		}
	}
	return floor
}

// less compares numbers.
func (f format) less(a, b uint64) bool {
	key := func(x uint64) int64 {
		if f.negative(x) {
			return -int64(x &^ f.sign())
		}
		return int64(x)
	}
	return key(a) < key(b)
}

// oracle is what nodeos computes for a float instruction; ok is false if it fails.
func oracle(op byte, a, b uint64) (result uint64, ok bool) {
	p := plains[op]
	f := single
	if p.operand == F64 || p.result == F64 && p.operand != F32 {
		f = double
	}
	truth := func(v bool) (uint64, bool) {
		if v {
			return 1, true
		}
		return 0, true
	}
	unordered := f.isNaN(a) || f.isNaN(b)
	equal := !unordered && (a == b || f.isZero(a) && f.isZero(b))
	less := !unordered && f.less(a, b)
	switch {
	case op >= 0x5b && op <= 0x66:
		return truth([]bool{equal, !equal, less, !unordered && !less && !equal, less ||
			equal, !unordered && !less}[(op-0x5b)%6])
	case op >= 0xa8 && op <= 0xb1 && op != 0xac && op != 0xad:
		return toInteger(f, op, a)
	case op >= 0xb2:
		return convert(op, a), true
	}
	kind := op - 0x8b
	if f.typ == F64 {
		kind = op - 0x99
	}
	quieted := func() uint64 {
		if f.isNaN(a) {
			return a | f.quiet()
		}
		return b | f.quiet()
	}
	switch kind {
	case 0:
		return a &^ f.sign(), true
	case 1:
		return a ^ f.sign(), true
	case 2:
		return f.whole(a, 1), true
	case 3:
		return f.whole(a, -1), true
	case 4:
		return f.whole(a, 0), true
	case 5:
		return f.whole(a, 2), true
	case 11, 12:
		return extreme(f, a, b, kind == 12), true
	case 13:
		return a&^f.sign() | b&f.sign(), true
	}
	if f.isNaN(a) || kind != 6 && f.isNaN(b) {
		return quieted(), true
	}
	switch kind {
	case 6:
		return f.sqrt(a), true
	case 7:
		return f.add(a, b), true
	case 8:
		return f.add(a, b^f.sign()), true
	case 9:
		return f.mul(a, b), true
	default:
		return f.div(a, b), true
	}
}

func extreme(f format, a, b uint64, greatest bool) uint64 {
	switch {
	case f.isNaN(a):
		return a
	case f.isNaN(b):
		return b
	case f.negative(a) != f.negative(b):
		if f.negative(a) != greatest {
			return a
		}
		return b
	case f.less(a, b) != greatest:
		return a
	}
	return b
}

// toInteger truncates; nodeos refuses an f64 below the least i32 by a fraction.
func toInteger(f format, op byte, a uint64) (uint64, bool) {
	if f.isNaN(a) || f.isInf(a) {
		return 0, false
	}
	r := f.rat(a)
	v := wholeOf(r, 0)
	bits, signed := uint(32), op%2 == 0
	if plains[op].result == I64 {
		bits = 64
	}
	least, limit := new(big.Int), new(big.Int).Lsh(big.NewInt(1), bits)
	if signed {
		limit.Rsh(limit, 1)
		least.Neg(limit)
		if r.Cmp(new(big.Rat).SetInt(least)) < 0 {
			return 0, false
		}
	}
	if v.Cmp(least) < 0 || v.Cmp(limit) >= 0 {
		return 0, false
	}
	if signed {
		return uint64(v.Int64()) & (1<<bits - 1), true
	}
	return v.Uint64(), true
}

func convert(op byte, a uint64) uint64 {
	to := single
	if plains[op].result == F64 {
		to = double
	}
	switch op {
	case opF32Demote, opF64Promote:
		from, shift := single, 29
		if op == opF32Demote {
			from, shift = double, -29
		}
		sign := to.signOf(from.negative(a))
		switch {
		case from.isNaN(a) && shift > 0:
			return sign | to.inf() | to.quiet() | a<<shift&(to.quiet()-1)
		case from.isNaN(a):
			return sign | to.inf() | to.quiet() | a>>29&(to.quiet()-1)
		case from.isInf(a):
			return sign | to.inf()
		}
		return to.round(from.rat(a), sign != 0)
	case 0xb2, 0xb7:
		return to.round(new(big.Rat).SetInt64(int64(int32(a))), false)
	case 0xb3, 0xb8:
		return to.round(new(big.Rat).SetInt64(int64(uint32(a))), false)
	case 0xb4, 0xb9:
		return to.round(new(big.Rat).SetInt64(int64(a)), false)
	case 0xb5, 0xba:
		return to.round(new(big.Rat).SetUint64(a), false)
	}
	return a // reinterpretations
}

// operands are values that are special in a format, and some at random.
func operands(t ValueType, r *rand.Rand) []uint64 {
	if t == I32 || t == I64 {
		v := []uint64{0, 1, 2, 1<<24 + 1, 1<<24 + 2, 1<<25 + 2, 1<<25 + 6, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1<<32 - 129,
			1<<53 + 1, 1<<53 + 3, 1<<63 - 1, 1 << 63, math.MaxUint64, 1<<63 + 1025, math.MaxUint64 - 1024}
		for range 12 {
			v = append(v, r.Uint64()>>r.IntN(64))
		}
		return v
	}
	f := single
	if t == F64 {
		f = double
	}
	one := uint64(1)<<(f.exponent-1) - 1
	v := []uint64{
		0, 1, 2, 1<<f.fraction - 1, 1 << f.fraction, 1<<f.fraction + 1, // subnormal, least normal
		one << f.fraction, one<<f.fraction + 1, one<<f.fraction - 1, (one - 1) << f.fraction,
		(one+1)<<f.fraction | 1<<(f.fraction-2), (one+uint64(f.fraction))<<f.fraction | 1,
		(one+uint64(f.fraction)-1)<<f.fraction | 1, (one+uint64(f.fraction)-1)<<f.fraction | 3,
		f.inf() - 1, f.inf(), f.inf() | 1, f.inf() | f.quiet(), f.inf() | f.quiet() | 5, f.inf() | f.quiet()>>1,
		f.inf() | (1<<f.fraction - 1),
	}
	for _, e := range []uint64{31, 32, 63, 64} { // about the integers' limits
		x := (one + e) << f.fraction
		v = append(v, x, x-1, x+1)
	}
	if f.typ == F64 {
		for _, x := range []float64{2147483647.5, 2147483648.5, 4294967295.5, 0.5, 1.5, 2.5} {
			v = append(v, math.Float64bits(x))
		}
	}
	for range 6 {
		v = append(v, r.Uint64()&(f.sign()-1), (one-4+r.Uint64()%9)<<f.fraction|r.Uint64()&(1<<f.fraction-1))
	}
	for _, x := range v[:len(v):len(v)] {
		v = append(v, x|f.sign())
	}
	return v
}

// floatModule runs an instruction on the bits of apply's first arguments, and puts
// the bits of the result.
func floatModule(op byte) []byte {
	b := newBuilder()
	put := b.put()
	p := plains[op]
	var e encoder
	for i := range uint32(p.count) {
		e.get(i)
		switch p.operand {
		case I32:
			e.op(opI32WrapI64)
		case F32:
			e.op(opI32WrapI64, opF32FromI32)
		case F64:
			e.op(opF64FromI64)
		}
	}
	e.op(op)
	switch p.result {
	case I32:
		e.op(opI64ExtendI32)
	case F32:
		e.op(opI32FromF32, opI64ExtendI32)
	case F64:
		e.op(opI64FromF64)
	}
	e.index(opCall, put)
	b.apply(nil, e)
	return b.bytes()
}

func TestFloatsAreSoftFloats(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for _, v := range engines(t) {
		r := rand.New(rand.NewPCG(seed, 1))
		bad := 0
		for op := 0x5b; op <= 0xbf; op++ {
			p := plains[op]
			if op >= 0x67 && op <= 0x8a || op == opI32WrapI64 || op == 0xac || op == 0xad {
				continue
			}
			code := codeOf(floatModule(byte(op)))
			as := operands(p.operand, r)
			bs := as
			if p.count == 1 {
				bs = []uint64{0}
			}
			for _, a := range as {
				if p.operand == I32 {
					a = uint64(uint32(a))
				}
				for _, b := range bs {
					want, ok := oracle(byte(op), a, b)
					var h host
					err := v.Apply(&h, code, a, b, 0, nil)
					got := fmt.Sprintf("%x", h.out)
					switch {
					case !ok && exception.Is(err, exception.WasmExecutionError) && len(h.out) == 0:
					case ok && err == nil && len(h.out) == 1 && h.out[0] == want:
					default:
						if bad++; bad < 20 {
							t.Errorf("%s: op %#x of %#x, %#x: %s, %v; want %#x %v",
								v.name, op, a, b, got, err, want, ok)
						}
					}
				}
			}
		}
	}
}

// A constant or global that is a signalling NaN must stay one.
func TestNaNsAreNotTouchedOnTheWay(t *testing.T) {
	for _, nan := range []struct {
		typ  ValueType
		bits uint64
	}{{F32, 0x7fa00001}, {F32, 0xff800001}, {F32, 0x7fc12345}, {F64, 0x7ff4000000000001}, {F64, 0xfff0000000000001}} {
		b := newBuilder()
		put := b.put()
		b.memory = []uint32{1}
		b.globals = []globalVar{{nan.typ, true, nan.bits}, {nan.typ, false, nan.bits}}
		f := single
		extend := []byte{opI64ExtendI32}
		store, load := byte(0x38), byte(0x2a)
		if nan.typ == F64 {
			f, extend, store, load = double, nil, 0x39, 0x2b
		}
		identity := b.function([]ValueType{nan.typ}, nan.typ, nil, encoder{opLocalGet, 0})
		var e encoder
		show := func() {
			e.index(opCall, identity)
			e.op(f.toInteger)
			e.op(extend...)
			e.index(opCall, put)
		}
		raw(&e, nan.typ, nan.bits)
		show()
		e.op(opGlobalGet, 0)
		show()
		e.op(opGlobalGet, 1)
		show()
		e.i32(8)
		raw(&e, nan.typ, nan.bits)
		e.mem(store, 0, 0)
		e.i32(8)
		e.mem(load, 0, 0)
		e.op(opLocalTee, 3)
		e.op(opLocalGet, 3)
		e.op(opI32Const, 1, opSelect)
		show()
		b.apply([]local{{1, nan.typ}}, e)
		for _, v := range engines(t) {
			out, err := v.apply(b.bytes())
			if err != nil || len(out) != 4 {
				t.Fatal(v.name, out, err)
			}
			for i, x := range out {
				if x != nan.bits {
					t.Errorf("%s: way %d: %#x became %#x", v.name, i, nan.bits, x)
				}
			}
		}
	}
}
