// Package serial is the binary encoding of the Antelope protocol: little-endian
// integers, varuint32 lengths, structs as their fields in order. It owns the
// primitives; what a type's fields are is the type's own business
// (antelope/types). It never uses reflection, does no I/O, and allocates only
// what the caller asks it to copy.
//
// Encoding appends to a slice and cannot fail. Decoding reads from a [Reader],
// whose first error sticks: a decoder reads all its fields and looks at Err once
// at the end.
package serial

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Limits that hold for everything decoded from outside, as nodeos has them
// (libfc: MAX_SIZE_OF_BYTE_ARRAYS, MAX_NUM_ARRAY_ELEMENTS).
const (
	MaxBytes    = 20 * 1024 * 1024 // length of a byte string
	MaxElements = 1024 * 1024      // elements of an array, map or set
)

// Errors of decoding. What a Reader reports wraps one of them with the offset.
var (
	ErrShort = errors.New("unexpected end of data")
	ErrLimit = errors.New("length over the limit")
	ErrValue = errors.New("value not allowed")
)

// Reader decodes one slice from its start. It is used by one goroutine. After an
// error every method returns zero values, so that a decoder needs to check Err
// only once; loops over a count end because Count returns 0.
type Reader struct {
	buf []byte
	off int
	err error

	counted func(elements int)
}

// NewReader returns a Reader of b, which must not change while it is used.
func NewReader(b []byte) *Reader { return &Reader{buf: b} }

// Reset makes r read b from its start, without an error.
func (r *Reader) Reset(b []byte) { r.buf, r.off, r.err = b, 0, nil }

// OnCount has fn called with the number of elements of each array, before anything is
// allocated for it or read of it: by it work is charged for before it is done. fn may
// panic to end the decoding.
func (r *Reader) OnCount(fn func(elements int)) { r.counted = fn }

// Err returns the first error, nil if there was none.
func (r *Reader) Err() error { return r.err }

// Offset returns how many bytes were read.
func (r *Reader) Offset() int { return r.off }

// Len returns how many bytes are left; 0 after an error.
func (r *Reader) Len() int {
	if r.err != nil {
		return 0
	}
	return len(r.buf) - r.off
}

// Fail records err, with the present offset, if it is the first.
func (r *Reader) Fail(err error) {
	if r.err == nil {
		r.err = fmt.Errorf("at offset %d: %w", r.off, err)
	}
}

// take returns the next n bytes of the slice itself, or nil after an error.
func (r *Reader) take(n int) []byte {
	if r.err != nil {
		return nil
	}
	if n < 0 || len(r.buf)-r.off < n {
		r.Fail(ErrShort)
		return nil
	}
	b := r.buf[r.off : r.off+n : r.off+n]
	r.off += n
	return b
}

// Raw returns the next n bytes, which belong to the slice that is read.
func (r *Reader) Raw(n int) []byte { return r.take(n) }

// Copy fills dst with the next bytes.
func (r *Reader) Copy(dst []byte) { copy(dst, r.take(len(dst))) }

// Uint8 reads one byte.
func (r *Reader) Uint8() uint8 {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

// Bool reads a byte that must be 0 or 1.
func (r *Reader) Bool() bool {
	v := r.Uint8()
	if v > 1 {
		r.Fail(fmt.Errorf("bool of %d: %w", v, ErrValue))
	}
	return v == 1
}

// Uint16 reads two bytes.
func (r *Reader) Uint16() uint16 {
	if b := r.take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

// Uint32 reads four bytes.
func (r *Reader) Uint32() uint32 {
	if b := r.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// Uint64 reads eight bytes.
func (r *Reader) Uint64() uint64 {
	if b := r.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Int64 reads eight bytes, two's complement.
func (r *Reader) Int64() int64 { return int64(r.Uint64()) }

// Varuint32 reads seven bits a byte, lowest first. Like nodeos (libfc: unpack of
// unsigned_int) it accepts encodings longer than need be, stops after five bytes
// whatever the fifth says, and drops bits above the 32nd.
func (r *Reader) Varuint32() uint32 {
	var v uint32
	for shift := 0; shift < 32; shift += 7 {
		b := r.take(1)
		if b == nil {
			return 0
		}
		v |= uint32(b[0]&0x7f) << shift
		if b[0]&0x80 == 0 {
			break
		}
	}
	return v
}

// Count reads the number of elements of an array whose elements take at least
// size bytes each (at least 1). A count that the rest of the data cannot hold is
// refused before anything is allocated for it.
func (r *Reader) Count(size int) int {
	n := r.Varuint32()
	switch {
	case r.err != nil:
		return 0
	case n > MaxElements:
		r.Fail(fmt.Errorf("%d elements: %w", n, ErrLimit))
		return 0
	case int64(n)*int64(max(size, 1)) > int64(len(r.buf)-r.off):
		r.Fail(fmt.Errorf("%d elements: %w", n, ErrShort))
		return 0
	}
	if r.counted != nil {
		r.counted(int(n))
	}
	return int(n)
}

// Bytes reads a length and that many bytes, which belong to the slice that is
// read. It returns nil for length 0.
func (r *Reader) Bytes() []byte {
	n := r.Varuint32()
	if r.err == nil && n > MaxBytes {
		r.Fail(fmt.Errorf("%d bytes: %w", n, ErrLimit))
	}
	if n == 0 {
		return nil
	}
	return r.take(int(n))
}

// String reads a length and that many bytes.
func (r *Reader) String() string { return string(r.Bytes()) }

// End fails if bytes are left, and returns Err.
func (r *Reader) End() error {
	if r.err == nil && r.off != len(r.buf) {
		r.Fail(fmt.Errorf("%d bytes too many: %w", len(r.buf)-r.off, ErrValue))
	}
	return r.err
}

// AppendBool appends 0 or 1.
func AppendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

// AppendUint16 appends two bytes.
func AppendUint16(b []byte, v uint16) []byte { return binary.LittleEndian.AppendUint16(b, v) }

// AppendUint32 appends four bytes.
func AppendUint32(b []byte, v uint32) []byte { return binary.LittleEndian.AppendUint32(b, v) }

// AppendUint64 appends eight bytes.
func AppendUint64(b []byte, v uint64) []byte { return binary.LittleEndian.AppendUint64(b, v) }

// AppendInt64 appends eight bytes.
func AppendInt64(b []byte, v int64) []byte { return binary.LittleEndian.AppendUint64(b, uint64(v)) }

// AppendVaruint32 appends v in the fewest bytes, seven bits each.
func AppendVaruint32(b []byte, v uint32) []byte { return binary.AppendUvarint(b, uint64(v)) }

// AppendCount appends the length of an array, which is never above MaxBytes.
func AppendCount(b []byte, n int) []byte { return AppendVaruint32(b, uint32(n)) }

// AppendBytes appends the length of v, and v.
func AppendBytes(b, v []byte) []byte { return append(AppendCount(b, len(v)), v...) }

// AppendString appends the length of v, and v.
func AppendString(b []byte, v string) []byte { return append(AppendCount(b, len(v)), v...) }
