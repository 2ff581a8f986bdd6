package types

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"
)

// Texts of all lengths are those that the library makes, whatever zeros and ones they begin
// with.
func TestBase58IsThatOfTheLibrary(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for size := range manyBytes + 8 {
		for round := range 40 {
			data := make([]byte, size)
			for i := r.IntN(size + 1); i < size; i++ {
				data[i] = byte(r.Uint32())
			}
			if round == 0 {
				data = bytes.Repeat([]byte{0xff}, size)
			}
			zeros := len(data) - len(bytes.TrimLeft(data, "\x00"))
			want := string(bytes.Repeat([]byte{'1'}, zeros)) + string(appendBigBase58(nil, data[zeros:]))
			if got := string(appendBase58([]byte("x"), data)); got != "x"+want {
				t.Fatalf("%x: %s, want %s", data, got, want)
			}
		}
	}
}

func BenchmarkSignatureText(b *testing.B) {
	s := Signature{Type: K1}
	for i := range s.Compact {
		s.Compact[i] = byte(7 * i)
	}
	var text []byte
	for b.Loop() {
		text = s.AppendText(text[:0])
	}
}
