package wasm

import (
	"encoding/binary"
	"errors"
)

// reader decodes a module. The first error sticks; after it every read gives zero,
// so that loops over counts that were read end by asking for err.
type reader struct {
	b   []byte
	pos int
	end int // reads beyond fail
	err error
}

var errShort = errors.New("unexpected end of the module or section")

func newReader(b []byte) reader { return reader{b: b, end: len(b)} }

func (r *reader) fail(text string) {
	if r.err == nil {
		r.err = errors.New(text)
	}
}

// require fails with text unless ok.
func (r *reader) require(ok bool, text string) {
	if !ok && r.err == nil {
		r.err = errors.New(text)
	}
}

func (r *reader) more() bool { return r.err == nil && r.pos < r.end }

func (r *reader) byte() byte {
	if r.err != nil || r.pos >= r.end {
		if r.err == nil {
			r.err = errShort
		}
		return 0
	}
	c := r.b[r.pos]
	r.pos++
	return c
}

// take returns the next n bytes, without a copy.
func (r *reader) take(n uint32) []byte {
	if r.err != nil || uint64(n) > uint64(r.end-r.pos) {
		if r.err == nil {
			r.err = errShort
		}
		return nil
	}
	b := r.b[r.pos : r.pos+int(n) : r.pos+int(n)]
	r.pos += int(n)
	return b
}

func (r *reader) fixed32() uint32 {
	if b := r.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) fixed64() uint64 {
	if b := r.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// u32 reads a LEB128 of up to five bytes whose unused bits must be zero.
func (r *reader) u32() uint32 {
	if r.err == nil && r.pos < r.end && r.b[r.pos] < 0x80 {
		r.pos++
		return uint32(r.b[r.pos-1])
	}
	var v uint32
	for shift := 0; ; shift += 7 {
		c := r.byte()
		if r.err != nil {
			return 0
		}
		if shift == 28 && c > 0x0f {
			r.fail("incorrect LEB128 encoding of an unsigned number")
			return 0
		}
		v |= uint32(c&0x7f) << shift
		if c < 0x80 {
			return v
		}
	}
}

// u1 reads a byte that must be 0 or 1.
func (r *reader) u1() byte {
	c := r.byte()
	r.require(c <= 1, "incorrect LEB128 encoding of a flag")
	return c
}

func (r *reader) s32() int32 { return int32(r.readSigned(32)) }
func (r *reader) s64() int64 { return r.readSigned(64) }

// readSigned reads a LEB128 whose unused bits must equal the sign.
func (r *reader) readSigned(bits int) int64 {
	last := (bits+6)/7*7 - 7 // shift of the last byte that is possible
	var v int64
	for shift := 0; ; shift += 7 {
		c := r.byte()
		if r.err != nil {
			return 0
		}
		if shift == last {
			// The bits above the sign, and the one for continuation.
			used := bits - last
			if s := int8(c<<1) >> used; c >= 0x80 || s != 0 && s != -1 {
				r.fail("incorrect LEB128 encoding of a signed number")
				return 0
			}
		}
		v |= int64(c&0x7f) << shift
		if c < 0x80 {
			if shift += 7; shift < 64 {
				v = v << (64 - shift) >> (64 - shift)
			}
			return v
		}
	}
}
