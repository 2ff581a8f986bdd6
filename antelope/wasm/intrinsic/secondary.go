package intrinsic

import (
	"encoding/binary"

	"tarn/antelope/softfloat"
	"tarn/antelope/types"
)

// Index is one of the five kinds of secondary index.
type Index uint8

// The kinds, by their keys.
const (
	Index64         Index = iota // an unsigned integer of 64 bits
	Index128                     // one of 128 bits
	Index256                     // two of 128 bits, the first being the more significant
	IndexDouble                  // IEEE 754 double
	IndexLongDouble              // IEEE 754 quadruple

	Indexes = 5 // how many kinds there are
)

// Size is how many bytes a key has in a contract's memory and in a row.
func (i Index) Size() int {
	switch i {
	case Index128, IndexLongDouble:
		return 16
	case Index256:
		return 32
	default:
		return 8
	}
}

// SecondaryKey is a key of any kind as the contract's memory and the state's rows
// have it: words of 64 bits, each kind using its first Size()/8 ones and leaving the
// rest 0. A number of 128 bits is its low word, then its high one. It keeps every
// bit, -0 and NaN too.
type SecondaryKey [4]uint64

// ReadSecondaryKey takes a key of kind i from the first i.Size() bytes of b.
func ReadSecondaryKey(i Index, b []byte) SecondaryKey {
	var k SecondaryKey
	for w := 0; w < i.Size()/8; w++ {
		k[w] = binary.LittleEndian.Uint64(b[8*w:])
	}
	return k
}

// Put writes the key over the first i.Size() bytes of b.
func (k SecondaryKey) Put(i Index, b []byte) {
	for w := 0; w < i.Size()/8; w++ {
		binary.LittleEndian.PutUint64(b[8*w:], k[w])
	}
}

// Append appends the key as a row's encoding has it.
func (k SecondaryKey) Append(i Index, b []byte) []byte {
	for w := 0; w < i.Size()/8; w++ {
		b = binary.LittleEndian.AppendUint64(b, k[w])
	}
	return b
}

// Uint128 returns the key's first 128 bits.
func (k SecondaryKey) Uint128() types.Uint128 { return types.Uint128{Lo: k[0], Hi: k[1]} }

// AppendOrdered appends i.Size() bytes whose order, byte by byte, is the order of
// the index (Leap: soft_double_less, soft_long_double_less). Keys that compare equal
// have the same bytes: -0 has those of 0, so the key cannot be had back from them.
// A NaN, which a contract cannot store, is ordered by its bits.
func (k SecondaryKey) AppendOrdered(i Index, b []byte) []byte {
	switch i {
	case Index128:
		return appendBig(b, k[1], k[0])
	case Index256:
		return appendBig(appendBig(b, k[1], k[0]), k[3], k[2])
	case IndexDouble:
		return binary.BigEndian.AppendUint64(b, orderedDouble(k[0]))
	case IndexLongDouble:
		hi, lo := orderedQuad(k[1], k[0])
		return appendBig(b, hi, lo)
	default:
		return binary.BigEndian.AppendUint64(b, k[0])
	}
}

func appendBig(b []byte, hi, lo uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, hi), lo)
}

const signBit = uint64(1) << 63

// orderedDouble maps the bits of a double to an integer of the same order: positive
// numbers are already ordered and go above, negative ones are reversed.
func orderedDouble(v uint64) uint64 {
	if v == signBit {
		v = 0
	}
	if v&signBit != 0 {
		return ^v
	}
	return v | signBit
}

func orderedQuad(hi, lo uint64) (uint64, uint64) {
	if hi == signBit && lo == 0 {
		hi = 0
	}
	if hi&signBit != 0 {
		return ^hi, ^lo
	}
	return hi | signBit, lo
}

// nan tells whether the key is a floating-point number that is none.
func (k SecondaryKey) nan(i Index) bool {
	switch i {
	case IndexDouble:
		return softfloat.F64(k[0]).IsNaN()
	case IndexLongDouble:
		return softfloat.F128{Lo: k[0], Hi: k[1]}.IsNaN()
	default:
		return false
	}
}
