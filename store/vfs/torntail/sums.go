package torntail

import (
	"hash/crc32"
	"io"

	"tarn/store/vfs"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// sumBytes is the distance at which sums of a file's beginning are kept.
const sumBytes = 2 << 10

// sums are the CRC-32C of any range of a file, each found from those of two beginnings: the sum
// of A and B together is that of A, multiplied by x to the bits of B, plus that of B.
type sums struct {
	file   io.ReaderAt
	from   int64
	kept   []uint32 // of the bytes from there on, up to each multiple of sumBytes
	shifts *shifts
	buf    [sumBytes]byte
}

// of returns the sum of a range.
func (s *sums) of(from, to int64) (uint32, error) {
	before, err := s.upTo(from)
	if err != nil {
		return 0, err
	}
	all, err := s.upTo(to)
	return all ^ multiply(s.shifts.by(to-from), before), err
}

// upTo returns the sum of all bytes before an offset.
func (s *sums) upTo(offset int64) (uint32, error) {
	if s.kept == nil {
		s.kept = []uint32{0}
	}
	n := (offset - s.from) / sumBytes
	for int64(len(s.kept)) <= n {
		last := len(s.kept) - 1
		if err := vfs.ReadFull(s.file, s.buf[:], s.from+int64(last)*sumBytes); err != nil {
			return 0, err
		}
		s.kept = append(s.kept, crc32.Update(s.kept[last], castagnoli, s.buf[:]))
	}
	rest := s.buf[:(offset-s.from)%sumBytes]
	if len(rest) == 0 {
		return s.kept[n], nil
	}
	err := vfs.ReadFull(s.file, rest, s.from+n*sumBytes)
	return crc32.Update(s.kept[n], castagnoli, rest), err
}

// shifts are x to the powers of two, as polynomials modulo that of the checksum, whose lowest bit
// stands for the highest power.
type shifts [64]uint32

func newShifts() *shifts {
	var s shifts
	s[0] = 1 << 30
	for i := 1; i < len(s); i++ {
		s[i] = multiply(s[i-1], s[i-1])
	}
	return &s
}

// by returns x to the bits of so many bytes.
func (s *shifts) by(bytes int64) uint32 {
	p := uint32(1 << 31)
	for i := 3; bytes != 0; i++ {
		if bytes&1 != 0 {
			p = multiply(s[i], p)
		}
		bytes >>= 1
	}
	return p
}

// multiply multiplies two polynomials.
func multiply(a, b uint32) (p uint32) {
	for ; a != 0; a <<= 1 {
		if a&(1<<31) != 0 {
			p ^= b
		}
		b = b>>1 ^ -(b&1)&crc32.Castagnoli
	}
	return p
}
