package serial_test

import (
	"bytes"
	"errors"
	"testing"

	"tarn/antelope/serial"
)

func TestPrimitivesComeBack(t *testing.T) {
	var b []byte
	b = serial.AppendBool(serial.AppendBool(b, true), false)
	b = serial.AppendUint16(b, 0x1234)
	b = serial.AppendUint32(b, 0x12345678)
	b = serial.AppendUint64(b, 0x123456789abcdef0)
	b = serial.AppendInt64(b, -2)
	b = serial.AppendString(serial.AppendBytes(b, []byte{1, 2}), "xyz")
	want := []byte{1, 0, 0x34, 0x12, 0x78, 0x56, 0x34, 0x12, 0xf0, 0xde, 0xbc, 0x9a, 0x78, 0x56, 0x34, 0x12,
		0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 1, 2, 3, 'x', 'y', 'z'}
	if !bytes.Equal(b, want) {
		t.Fatalf("%x, want %x", b, want)
	}
	r := serial.NewReader(b)
	if !r.Bool() || r.Bool() || r.Uint16() != 0x1234 || r.Uint32() != 0x12345678 || r.Uint64() != 0x123456789abcdef0 ||
		r.Int64() != -2 || !bytes.Equal(r.Bytes(), []byte{1, 2}) || r.String() != "xyz" {
		t.Error("values differ")
	}
	if err := r.End(); err != nil || r.Offset() != len(b) {
		t.Errorf("%v at %d", err, r.Offset())
	}
}

func TestVaruint32ReadsWhatNodeosReads(t *testing.T) {
	for _, v := range []struct {
		in   []byte
		want uint32
		left int
	}{
		{[]byte{0}, 0, 0},
		{[]byte{0x7f}, 127, 0},
		{[]byte{0x80, 1}, 128, 0},
		{[]byte{0x80, 0x80, 0x80, 0x80, 0x00, 9}, 0, 1},         // longer than need be
		{[]byte{0xff, 0xff, 0xff, 0xff, 0x0f}, 1<<32 - 1, 0},    // the largest
		{[]byte{0xff, 0xff, 0xff, 0xff, 0xff, 9}, 1<<32 - 1, 1}, // stops after five, drops what is above
		{[]byte{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1}, 0, 2},   // says that more follow
	} {
		r := serial.NewReader(v.in)
		if got := r.Varuint32(); got != v.want || r.Len() != v.left || r.Err() != nil {
			t.Errorf("%x: %d, %d left, %v", v.in, got, r.Len(), r.Err())
		}
	}
	for _, v := range []uint32{0, 1, 127, 128, 1<<14 - 1, 1 << 14, 1<<32 - 1} {
		r := serial.NewReader(serial.AppendVaruint32(nil, v))
		if got := r.Varuint32(); got != v || r.End() != nil {
			t.Errorf("%d came back as %d", v, got)
		}
	}
}

func TestTheFirstErrorSticks(t *testing.T) {
	r := serial.NewReader([]byte{2, 1, 1, 1, 1, 1, 1, 1, 1})
	if r.Bool() != true && r.Err() == nil {
		t.Error("a bool of 2 is read")
	}
	first := r.Err()
	if !errors.Is(first, serial.ErrValue) {
		t.Fatalf("error %v", first)
	}
	if r.Uint8() != 0 || r.Uint16() != 0 || r.Uint32() != 0 || r.Uint64() != 0 || r.Varuint32() != 0 ||
		r.Count(1) != 0 ||
		r.Bytes() != nil || r.String() != "" || r.Raw(1) != nil || r.Len() != 0 {
		t.Error("something is read after an error")
	}
	r.Fail(serial.ErrShort)
	if r.Err() != first || r.End() != first {
		t.Errorf("error %v, then %v", first, r.Err())
	}
	r.Reset([]byte{7})
	if r.Uint8() != 7 || r.End() != nil {
		t.Error("Reset leaves the error")
	}
}

func TestLengthsAreCheckedBeforeAnythingIsTaken(t *testing.T) {
	for _, v := range []struct {
		name string
		in   []byte
		read func(r *serial.Reader)
		want error
	}{
		{"count over the data", serial.AppendVaruint32(nil, 3), func(r *serial.Reader) { r.Count(1) }, serial.ErrShort},
		{"count of larger elements", append(serial.AppendVaruint32(nil, 2), make([]byte, 15)...), func(r *serial.Reader) { r.Count(8) }, serial.ErrShort},
		{"count over the limit",
			append(serial.AppendVaruint32(nil, serial.MaxElements+1), make([]byte, serial.MaxElements+1)...),
			func(r *serial.Reader) { r.Count(1) }, serial.ErrLimit},
		{"bytes over the data", []byte{5, 1}, func(r *serial.Reader) { r.Bytes() }, serial.ErrShort},
		{"bytes over the limit",
			append(serial.AppendVaruint32(nil, serial.MaxBytes+1), make([]byte, serial.MaxBytes+1)...),
			func(r *serial.Reader) { r.Bytes() }, serial.ErrLimit},
		{"negative length", []byte{1}, func(r *serial.Reader) { r.Raw(-1) }, serial.ErrShort},
		{"nothing at all", nil, func(r *serial.Reader) { r.Uint8() }, serial.ErrShort},
		{"bytes left", []byte{1, 2}, func(r *serial.Reader) { r.Uint8(); r.End() }, serial.ErrValue},
	} {
		r := serial.NewReader(v.in)
		if v.read(r); !errors.Is(r.Err(), v.want) {
			t.Errorf("%s: %v, want %v", v.name, r.Err(), v.want)
		}
	}
	r := serial.NewReader(append(serial.AppendVaruint32(nil, serial.MaxElements), make([]byte, serial.MaxElements)...))
	if n := r.Count(1); n != serial.MaxElements || r.Err() != nil {
		t.Errorf("%d elements, %v", n, r.Err())
	}
	if b := serial.NewReader([]byte{0}).Bytes(); b != nil {
		t.Errorf("no bytes are %v", b)
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7}, []byte{1, 0x80, 1, 3, 'a', 'b', 'c', 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, steps, data []byte) {
		r := serial.NewReader(data)
		for _, s := range steps {
			before := r.Offset()
			switch s % 9 {
			case 0:
				r.Uint8()
			case 1:
				r.Bool()
			case 2:
				r.Uint16()
			case 3:
				r.Uint32()
			case 4:
				r.Uint64()
			case 5:
				r.Varuint32()
			case 6:
				if n := r.Count(int(s) / 9); n*max(int(s)/9, 1) > r.Len() {
					t.Fatalf("%d elements of %d bytes in %d", n, s/9, r.Len())
				}
			case 7:
				r.Bytes()
			case 8:
				r.Copy(make([]byte, int(s)/9))
			}
			if r.Offset() < before || r.Offset() > len(data) || r.Err() != nil && r.Len() != 0 {
				t.Fatalf("from %d to %d of %d", before, r.Offset(), len(data))
			}
		}
	})
}
