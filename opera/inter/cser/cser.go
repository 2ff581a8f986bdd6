// Package cser is the container in which Opera's events travel: a stream of bytes, a
// stream of bits, and the length of the latter (go-opera, utils/cser and utils/bits).
// Numbers stand in as few bytes as they need, and how many that are stands in the bits.
//
// It owns the two streams and knows no event. A [Reader] accepts exactly what go-opera's
// does, three forms included that no [Writer] makes: a length of 0 in one byte, a big
// number with zeros before it, a spare byte of no bits. So what was read must be hashed
// and sent on from an encoding made anew.
package cser

import (
	"errors"
	"math/big"
	"slices"
)

// Errors of a reader. The first is go-opera's for everything that ends outside of the
// streams or breaks a rule within a value, the second for what is left over.
var (
	ErrMalformed    = errors.New("malformed encoding")
	ErrNotCanonical = errors.New("non canonical encoding")
	ErrTooLarge     = errors.New("too large allocation")
)

// maxBig is how many bytes a big number may have.
const maxBig = 512

// Writer writes a container. The zero value is empty.
type Writer struct {
	bytes, bits []byte
	offset      int // of the next bit in the last byte of bits; 0: there is none yet
}

// NewWriter returns an empty writer with room for that many bytes, and for the bits of some
// hundred numbers.
func NewWriter(size int) Writer {
	const bits = 32
	room := make([]byte, size+bits)
	return Writer{bytes: room[:0:size], bits: room[size:size]}
}

// Reset makes the writer empty; it keeps its memory.
func (w *Writer) Reset() { w.bytes, w.bits, w.offset = w.bytes[:0], w.bits[:0], 0 }

// AppendTo appends the container to b.
func (w *Writer) AppendTo(b []byte) []byte {
	b = slices.Grow(b, len(w.bytes)+len(w.bits)+10)
	b = append(append(b, w.bytes...), w.bits...)
	// The length comes last, seven bits a byte, lowest bits last, so that a reader finds
	// it from the end; its first byte has the uppermost bit.
	var length [10]byte
	at := len(length)
	for n := len(w.bits); ; n >>= 7 {
		at--
		length[at] = byte(n & 0x7f)
		if n>>7 == 0 {
			length[at] |= 0x80
			return append(b, length[at:]...)
		}
	}
}

// Bits writes the lowest n bits of v, at most 8.
func (w *Writer) Bits(n int, v uint) {
	for n > 0 {
		if w.offset == 0 {
			w.bits = append(w.bits, 0)
		}
		k := min(n, 8-w.offset)
		w.bits[len(w.bits)-1] |= byte(v & (1<<k - 1) << w.offset)
		w.offset = (w.offset + k) % 8
		v >>= k
		n -= k
	}
}

// number writes v in at least least bytes, and how many more there are in n bits.
func (w *Writer) number(least, n int, v uint64) {
	size := 0
	for size < least || v != 0 {
		w.bytes = append(w.bytes, byte(v))
		size++
		v >>= 8
	}
	w.Bits(n, uint(size-least))
}

// Bool writes a bit.
func (w *Writer) Bool(v bool) {
	bit := uint(0)
	if v {
		bit = 1
	}
	w.Bits(1, bit)
}

// U8 writes a byte.
func (w *Writer) U8(v uint8) { w.bytes = append(w.bytes, v) }

// U16 writes a number of one or two bytes.
func (w *Writer) U16(v uint16) { w.number(1, 1, uint64(v)) }

// U32 writes a number of one to four bytes.
func (w *Writer) U32(v uint32) { w.number(1, 2, uint64(v)) }

// U64 writes a number of one to eight bytes.
func (w *Writer) U64(v uint64) { w.number(1, 3, v) }

// I64 writes a number with its sign.
func (w *Writer) I64(v int64) {
	w.Bool(v < 0)
	if v < 0 {
		v = -v // the least one stays what it is, and is right as an unsigned number
	}
	w.U64(uint64(v))
}

// Fixed writes bytes whose number the reader knows.
func (w *Writer) Fixed(b []byte) { w.bytes = append(w.bytes, b...) }

// Length writes a number below 2^56.
func (w *Writer) Length(n int) { w.number(0, 3, uint64(n)) }

// Slice writes bytes with their number.
func (w *Writer) Slice(b []byte) {
	w.Length(len(b))
	w.Fixed(b)
}

// Big writes a number that is not negative.
func (w *Writer) Big(v *big.Int) { w.Slice(v.Bytes()) }

// Reader reads a container. After the first failure it returns zeros, and the failure
// stays; so many values may be read before one looks at Err.
type Reader struct {
	bytes, bits []byte
	at          int // of the next bit
	err         error
}

// NewReader returns a reader of a whole container. What it returns of bytes is part of
// raw, which must stay as it is.
func NewReader(raw []byte) *Reader {
	r := new(Reader)
	n, shift := uint64(0), 0
	for end := len(raw) - 1; ; end-- {
		if end < 0 || shift > 56 {
			return r.fail(ErrMalformed)
		}
		b := raw[end]
		n |= uint64(b&0x7f) << shift
		if b&0x80 != 0 {
			if shift > 0 && b == 0x80 || n > uint64(end) {
				return r.fail(ErrMalformed)
			}
			r.bytes, r.bits = raw[:end-int(n)], raw[end-int(n):end]
			return r
		}
		shift += 7
	}
}

func (r *Reader) fail(err error) *Reader {
	if r.err == nil {
		r.err = err
	}
	r.bytes, r.bits, r.at = nil, nil, 0
	return r
}

// Fail makes the reader fail, for a rule that the caller knows.
func (r *Reader) Fail(err error) { r.fail(err) }

// Err returns the first failure.
func (r *Reader) Err() error { return r.err }

// End returns the first failure, or that something is left over.
func (r *Reader) End() error {
	if r.err != nil {
		return r.err
	}
	left := len(r.bits) - r.at/8
	if left > 1 || len(r.bytes) > 0 || left == 1 && r.bits[len(r.bits)-1]>>(r.at%8) != 0 {
		return ErrNotCanonical
	}
	return nil
}

// Peek returns the next n bits, at most 8, and stays where it is.
func (r *Reader) Peek(n int) uint {
	if r.at+n > 8*len(r.bits) {
		r.fail(ErrMalformed)
		return 0
	}
	first := r.at / 8
	v := uint(r.bits[first])
	if first+1 < len(r.bits) {
		v |= uint(r.bits[first+1]) << 8
	}
	return v >> (r.at % 8) & (1<<n - 1)
}

// Bits reads n bits, at most 8.
func (r *Reader) Bits(n int) uint {
	v := r.Peek(n)
	if r.err == nil {
		r.at += n
	}
	return v
}

// take returns the next n bytes.
func (r *Reader) take(n int) []byte {
	if n > len(r.bytes) {
		r.fail(ErrMalformed)
		return nil
	}
	b := r.bytes[:n:n]
	r.bytes = r.bytes[n:]
	return b
}

func (r *Reader) number(least, n int) uint64 {
	b := r.take(least + int(r.Bits(n)))
	v := uint64(0)
	for i, x := range b {
		v |= uint64(x) << (8 * i)
	}
	if len(b) > 1 && b[len(b)-1] == 0 {
		r.fail(ErrMalformed)
	}
	return v
}

// Bool reads a bit.
func (r *Reader) Bool() bool { return r.Bits(1) != 0 }

// U8 reads a byte.
func (r *Reader) U8() uint8 {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

// U16 reads what Writer.U16 writes.
func (r *Reader) U16() uint16 { return uint16(r.number(1, 1)) }

// U32 reads what Writer.U32 writes.
func (r *Reader) U32() uint32 { return uint32(r.number(1, 2)) }

// U64 reads what Writer.U64 writes.
func (r *Reader) U64() uint64 { return r.number(1, 3) }

// I64 reads what Writer.I64 writes. An absolute value of 2^63 and more wraps.
func (r *Reader) I64() int64 {
	negative := r.Bool()
	v := int64(r.U64())
	if negative && v == 0 {
		r.fail(ErrMalformed)
	}
	if negative {
		return -v
	}
	return v
}

// Fixed fills b.
func (r *Reader) Fixed(b []byte) { copy(b, r.take(len(b))) }

// Length reads what Writer.Length writes.
func (r *Reader) Length() uint64 { return r.number(0, 3) }

// Slice reads bytes with their number, of which there may be limit.
func (r *Reader) Slice(limit int) []byte {
	n := r.Length()
	if n > uint64(limit) {
		r.fail(ErrMalformed)
		return nil
	}
	return r.take(int(n))
}

// Big reads what Writer.Big writes.
func (r *Reader) Big() *big.Int { return new(big.Int).SetBytes(r.Slice(maxBig)) }

// Count reads a number of elements that take at least size bytes each. More than limit,
// or than there can be bytes for, is refused before anybody makes room for them.
func (r *Reader) Count(limit, size int) int {
	n := r.U32()
	switch {
	case uint64(n) > uint64(limit):
		r.fail(ErrTooLarge)
		return 0
	case int(n) > len(r.bytes)/size:
		r.fail(ErrMalformed)
		return 0
	}
	return int(n)
}
