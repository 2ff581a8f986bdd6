package bench

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

// The size of every row, in bytes.
const (
	KeySize   = 32
	ValueSize = 120
)

// Rows is the data set: row i of n has a key that sorts at place i, is spread
// evenly over all keys, and ends in 24 bytes that look random. Values look random
// throughout, so that no library gains by compressing them, but for the number of
// the row, which every read checks.
type Rows struct {
	n, stride uint64
}

// NewRows returns the data set of n rows.
func NewRows(n int) Rows {
	return Rows{n: uint64(n), stride: ^uint64(0) / uint64(n)}
}

// Len is the number of rows.
func (r Rows) Len() int { return int(r.n) }

// Key writes the key of row i to dst, which has KeySize bytes.
func (r Rows) Key(dst []byte, i uint64) {
	x := mix(i)
	binary.BigEndian.PutUint64(dst, i*r.stride+x%r.stride)
	for at := 8; at < KeySize; at += 8 {
		x = mix(x)
		binary.BigEndian.PutUint64(dst[at:], x)
	}
}

// Value writes a value of row i to dst, which has ValueSize bytes.
func (r Rows) Value(dst []byte, i, version uint64) {
	binary.LittleEndian.PutUint64(dst, i)
	x := mix(i ^ version<<40)
	for at := 8; at < ValueSize; at += 8 {
		x = mix(x)
		binary.LittleEndian.PutUint64(dst[at:], x)
	}
}

// check reports whether value is one of row i.
func check(value []byte, i uint64) error {
	if len(value) != ValueSize || binary.LittleEndian.Uint64(value) != i {
		return fmt.Errorf("row %d has another row's value, of %d bytes", i, len(value))
	}
	return nil
}

// mix is the finalizer of splitmix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// batchRows is how many rows are prepared at a time, out of the measured time:
// few enough to stay in the processor's cache, enough that reading the clock does
// not count. It is also the number of updates in a revision.
const batchRows = 1000

// batch is a number of rows to be read or written.
type batch struct {
	rows   [batchRows]uint64
	keys   [batchRows][KeySize]byte
	values [batchRows][ValueSize]byte
}

// source makes batches of random rows, the same ones for the same seed and stream.
type source struct {
	Rows
	rng     *rand.Rand
	version uint64
	batch   batch
}

func newSource(r Rows, seed, stream uint64) *source {
	return &source{Rows: r, rng: rand.New(rand.NewPCG(seed, stream))}
}

// random fills the batch with keys of random rows among the first below.
func (s *source) random(below uint64) *batch {
	b := &s.batch
	for i := range b.rows {
		b.rows[i] = s.rng.Uint64N(below)
		s.Key(b.keys[i][:], b.rows[i])
	}
	return b
}

// changes fills the batch with new values of random rows.
func (s *source) changes() *batch {
	b := s.random(s.n)
	s.version++
	for i := range b.rows {
		s.Value(b.values[i][:], b.rows[i], s.version)
	}
	return b
}

// shuffledRows returns the numbers of all rows in random order.
func (s *source) shuffledRows() []uint32 {
	order := make([]uint32, s.n)
	for i := range order {
		order[i] = uint32(i)
	}
	s.rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order
}
