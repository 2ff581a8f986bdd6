package clog

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"tarn/internal/refdata"
)

func text(random *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(random.IntN(4)) // compressible, and full of repetitions across points
	}
	return b
}

// What is compressed can be read from every offset, and by a plain inflater from every
// point, as nodeos does.
func TestEveryOffsetReadsAsItWas(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for _, stride := range []int64{1, 7, 512, 4096, 1 << 20} {
		for _, size := range []int{1, 2, 511, 512, 513, 1024, 1025, 3000} {
			plain := text(random, size)
			var out bytes.Buffer
			if err := Compress(&out, bytes.NewReader(plain), int64(size), stride); err != nil {
				t.Fatal(err)
			}
			r, err := NewReader(bytes.NewReader(out.Bytes()), int64(out.Len()))
			if err != nil {
				t.Fatal(err)
			}
			if want := (int64(size) - 1) / stride; int64(len(r.points)) != want {
				t.Fatalf("%d bytes, a point each %d: %d points, nodeos makes %d", size, stride, len(r.points), want)
			}
			for range 20 {
				at := random.IntN(size + 1)
				same(t, r, int64(at), plain[at:])
			}
			for _, p := range r.points {
				b, err := io.ReadAll(flate.NewReader(bytes.NewReader(out.Bytes()[p.packed:])))
				if err != nil || !bytes.Equal(b, plain[p.plain:]) {
					t.Fatalf("a plain inflater from point %v of %d bytes: %v", p, size, err)
				}
			}
			if _, err := r.At(int64(size) + 1); !errors.Is(err, ErrCorrupt) {
				t.Fatalf("beyond the end: %v", err)
			}
		}
	}
}

func same(t *testing.T, r *Reader, at int64, want []byte) {
	t.Helper()
	z, err := r.At(at)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(z); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("from offset %d: %d bytes, %v, want %d", at, len(got), err, len(want))
	}
}

// A point's place in the file stands before its place in the slice, as in nodeos' files.
func TestAPointBeginsWithItsPlaceInTheFile(t *testing.T) {
	var out bytes.Buffer
	if err := Compress(&out, bytes.NewReader(make([]byte, 1000)), 1000, 600); err != nil {
		t.Fatal(err)
	}
	b := out.Bytes()
	entry := b[len(b)-countBytes-pointBytes:]
	packed, plain := binary.LittleEndian.Uint64(entry), binary.LittleEndian.Uint64(entry[8:])
	if plain != 600 || packed == 0 || packed >= uint64(len(b)) || binary.LittleEndian.Uint16(entry[pointBytes:]) != 1 {
		t.Fatalf("the table of a file of %d bytes is % x", len(b), entry)
	}
}

// The count of points has two bytes: a stride that would need more is widened.
func TestPointsNeverOverflowTheirCount(t *testing.T) {
	for _, c := range []struct {
		asked uint32
		size  int64
	}{{512, 32<<20 + 1}, {512, 1 << 40}, {1, 1 << 20}, {0, 1}, {512, 1}} {
		if s := Stride(c.asked, c.size); points(c.size, s) > MaxPoints ||
			s > int64(max(1, c.asked)) && points(c.size, s/2) <= MaxPoints {
			t.Errorf("stride %d of %v", s, c)
		}
	}
	if err := Compress(io.Discard, bytes.NewReader(make([]byte, 70000)), 70000, 1); err == nil {
		t.Error("more points than a file can have")
	}
	if err := Compress(io.Discard, bytes.NewReader(nil), 0, 1); err == nil {
		t.Error("an empty file is compressed, which nodeos refuses to read")
	}
	if err := Compress(io.Discard, bytes.NewReader(make([]byte, 5)), 6, 4); !errors.Is(err, io.EOF) {
		t.Errorf("a file that is shorter than it was: %v", err)
	}
}

// Files of a real nodeos are read.
func TestNodeosFilesAreRead(t *testing.T) {
	names, err := filepath.Glob(filepath.Join(refdata.Path(t, "history-sample/traces"), "*.clog"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%d files: %v", len(names), err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		want, err := io.ReadAll(flate.NewReader(bytes.NewReader(b)))
		if err != nil {
			t.Fatal(err)
		}
		r, err := NewReader(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		same(t, r, 0, want)
		same(t, r, int64(len(want)/2), want[len(want)/2:])
	}
}

// Whatever a file holds, reading it ends, and takes no more memory than its bytes allow.
func FuzzReader(f *testing.F) {
	var out bytes.Buffer
	if err := Compress(&out, bytes.NewReader(text(rand.New(rand.NewPCG(1, 2)), 1000)), 1000, 100); err != nil {
		f.Fatal(err)
	}
	f.Add(out.Bytes(), int64(500))
	f.Add([]byte{0, 0}, int64(0))
	f.Add(binary.LittleEndian.AppendUint16(nil, 9), int64(1))
	f.Fuzz(func(t *testing.T, b []byte, at int64) {
		r, err := NewReader(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		z, err := r.At(max(0, at))
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, io.LimitReader(z, 1<<20)); err != nil && errors.Is(err, ErrCorrupt) {
			t.Fatal("an error of the stream is called one of the table")
		}
	})
}
