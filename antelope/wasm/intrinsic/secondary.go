package intrinsic

import (
	"encoding/binary"

	"tarn/antelope/softfloat"
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
