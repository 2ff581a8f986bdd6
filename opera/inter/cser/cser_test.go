package cser

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"math/big"
	"testing"
)

func write(f func(w *Writer)) []byte {
	var w Writer
	f(&w)
	return w.AppendTo(nil)
}

func TestNumbersTakeAsFewBytesAsTheyNeed(t *testing.T) {
	for _, c := range []struct {
		write func(w *Writer)
		want  string
	}{
		{func(*Writer) {}, "80"},
		{func(w *Writer) { w.U8(7) }, "0780"},
		{func(w *Writer) { w.U16(0x102) }, "02010181"},
		{func(w *Writer) { w.U32(0); w.U32(0x10000) }, "000000010881"},
		{func(w *Writer) { w.U64(math.MaxUint64) }, "ffffffffffffffff0781"},
		{func(w *Writer) { w.I64(-2) }, "020181"},
		{func(w *Writer) { w.I64(math.MinInt64) }, "00000000000000800f81"},
		{func(w *Writer) { w.Length(0); w.Slice([]byte{9}) }, "01090881"},
		{func(w *Writer) { w.Big(new(big.Int)) }, "0081"},
		{func(w *Writer) { w.Bits(6, 0x3f); w.Bits(5, 0x11) }, "7f0482"},
	} {
		if got := hex.EncodeToString(write(c.write)); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

func TestALongStreamOfBitsHasALongLength(t *testing.T) {
	b := write(func(w *Writer) {
		for range 1000 {
			w.Bits(8, 0xa5)
		}
	})
	if !bytes.Equal(b[1000:], []byte{0x80 | 1000>>7, 1000 & 0x7f}) {
		t.Errorf("the length is %x", b[1000:])
	}
	r := NewReader(b)
	for range 1000 {
		if v := r.Bits(8); v != 0xa5 {
			t.Fatalf("%#x", v)
		}
	}
	if err := r.End(); err != nil {
		t.Error(err)
	}
}

func TestEverythingIsReadAsItWasWritten(t *testing.T) {
	b := write(func(w *Writer) {
		for _, v := range []uint64{0, 1, 255, 256, 1 << 40, math.MaxUint64} {
			w.U64(v)
			w.U32(uint32(v))
			w.U16(uint16(v))
			w.I64(int64(v))
			w.Bool(v%2 == 1)
			w.Big(new(big.Int).SetUint64(v))
			w.Slice(make([]byte, v%300))
		}
	})
	r := NewReader(b)
	for _, v := range []uint64{0, 1, 255, 256, 1 << 40, math.MaxUint64} {
		if r.U64() != v || r.U32() != uint32(v) || r.U16() != uint16(v) || r.I64() != int64(v) ||
			r.Bool() != (v%2 == 1) ||
			r.Big().Cmp(new(big.Int).SetUint64(v)) != 0 || len(r.Slice(300)) != int(v%300) {
			t.Errorf("%d is read otherwise", v)
		}
	}
	if err := r.End(); err != nil {
		t.Error(err)
	}
}

func TestFormsThatNoWriterMakesAreRead(t *testing.T) {
	for _, c := range []struct {
		raw  string
		read func(r *Reader) bool
	}{
		{"000181", func(r *Reader) bool { return len(r.Slice(9)) == 0 }},
		{"0200050181", func(r *Reader) bool { return r.Big().Uint64() == 5 }},
		{"ff0082", func(r *Reader) bool { return r.Bits(8) == 0xff }},
	} {
		raw, err := hex.DecodeString(c.raw)
		if err != nil {
			t.Fatal(err)
		}
		if r := NewReader(raw); !c.read(r) || r.End() != nil {
			t.Errorf("%s: %v", c.raw, r.End())
		}
	}
}

func TestWhatIsLeftOverOrMissingIsRefused(t *testing.T) {
	for _, c := range []struct {
		raw  string
		read func(r *Reader)
		want error
	}{
		{"", func(r *Reader) {}, ErrMalformed},
		{"00", func(r *Reader) {}, ErrMalformed},                   // no end of the length
		{"8000", func(r *Reader) {}, ErrMalformed},                 // a length with a zero before
		{"81", func(r *Reader) {}, ErrMalformed},                   // bits that are not there
		{"0080", func(r *Reader) {}, ErrNotCanonical},              // a byte is left
		{"0181", func(r *Reader) {}, ErrNotCanonical},              // bits are left
		{"000082", func(r *Reader) {}, ErrNotCanonical},            // two spare bytes of bits
		{"0281", func(r *Reader) { r.Bits(1) }, ErrNotCanonical},   // a bit behind
		{"000081", func(r *Reader) { r.Bits(1) }, ErrNotCanonical}, // and a byte
		{"80", func(r *Reader) { r.Bits(1) }, ErrMalformed},
		{"80", func(r *Reader) { r.U8() }, ErrMalformed},
		{"01000181", func(r *Reader) { r.U16() }, ErrMalformed},          // a zero on top
		{"0181", func(r *Reader) { r.Slice(1) }, ErrMalformed},           // a byte that is not there
		{"02000000000181", func(r *Reader) { r.Slice(1) }, ErrMalformed}, // too many
		{"000181", func(r *Reader) { r.I64() }, ErrMalformed},            // minus zero
		{"050081", func(r *Reader) { r.Count(4, 1) }, ErrTooLarge},
		{"040081", func(r *Reader) { r.Count(4, 1) }, ErrMalformed},
	} {
		raw, err := hex.DecodeString(c.raw)
		if err != nil {
			t.Fatal(err)
		}
		r := NewReader(raw)
		c.read(r)
		if err := r.End(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.raw, err, c.want)
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte{}, []byte{0, 1, 2, 3, 4, 5, 6, 7, 8})
	f.Add(write(func(w *Writer) { w.U64(300); w.I64(-1); w.Slice([]byte("x")) }), []byte{2, 3, 5})
	f.Fuzz(func(t *testing.T, raw, kinds []byte) {
		r := NewReader(raw)
		var w Writer
		for _, k := range kinds {
			switch k % 9 {
			case 0:
				w.U8(r.U8())
			case 1:
				w.U16(r.U16())
			case 2:
				w.U64(r.U64())
			case 3:
				w.I64(r.I64())
			case 4:
				w.Bool(r.Bool())
			case 5:
				w.Slice(r.Slice(100))
			case 6:
				w.Big(r.Big())
			case 7:
				w.U32(r.U32())
			case 8:
				w.Bits(6, r.Bits(6))
			}
		}
		if r.End() != nil {
			return
		}
		again := NewReader(w.AppendTo(nil))
		for _, k := range kinds {
			switch k % 9 {
			case 0:
				again.U8()
			case 1:
				again.U16()
			case 2:
				again.U64()
			case 3:
				again.I64()
			case 4:
				again.Bool()
			case 5:
				again.Slice(100)
			case 6:
				again.Big()
			case 7:
				again.U32()
			case 8:
				again.Bits(6)
			}
		}
		if err := again.End(); err != nil {
			t.Errorf("what was read from %x is written as %x, which is not read: %v", raw, w.AppendTo(nil), err)
		}
	})
}
