package snapshot

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"strconv"

	"tarn/antelope/types"
)

// Hasher computes the integrity hash: SHA-256 of all rows in their order, without
// the names and sizes of sections.
type Hasher struct {
	h   hash.Hash
	row []byte
}

// NewHasher starts a hash.
func NewHasher() *Hasher { return &Hasher{h: sha256.New()} }

var _ Sink = (*Hasher)(nil)

func (s *Hasher) Begin(string) error { return nil }

func (s *Hasher) Row(r Row) error {
	s.row = r.Append(s.row[:0])
	s.h.Write(s.row)
	return nil
}

func (s *Hasher) End() error { return nil }

func (s *Hasher) Finish() error { return nil }

// Sum returns the hash of what was written so far.
func (s *Hasher) Sum() (sum types.Checksum256) {
	s.h.Sum(sum[:0])
	return sum
}

// JSON writes rows as `leap-util snapshot to-json` does, to the byte.
type JSON struct {
	w    *bufio.Writer
	row  []byte
	rows uint64
}

// NewJSON starts a document.
func NewJSON(w io.Writer) *JSON {
	s := &JSON{w: bufio.NewWriterSize(w, window)}
	fmt.Fprintf(s.w, "{\n\"magic_number\":%d\n,\"version\":%d\n", magic, containerVersion) // an error sticks to w
	return s
}

var _ Sink = (*JSON)(nil)

func (s *JSON) Begin(section string) error {
	s.rows = 0
	return s.write(",\"" + section + "\":{\n\"rows\":[\n")
}

func (s *JSON) Row(r Row) error {
	s.row = s.row[:0]
	if s.rows > 0 {
		s.row = append(s.row, ',')
	}
	s.rows++
	s.row = append(r.AppendJSON(s.row), '\n')
	if _, err := s.w.Write(s.row); err != nil {
		return fmt.Errorf("write snapshot as JSON: %w", err)
	}
	return nil
}

func (s *JSON) End() error {
	return s.write("],\n\"num_rows\":" + strconv.FormatUint(s.rows, 10) + "\n}\n")
}

func (s *JSON) Finish() error {
	if err := s.write("}\n"); err != nil {
		return err
	}
	if err := s.w.Flush(); err != nil {
		return fmt.Errorf("write snapshot as JSON: %w", err)
	}
	return nil
}

func (s *JSON) write(text string) error {
	if _, err := s.w.WriteString(text); err != nil {
		return fmt.Errorf("write snapshot as JSON: %w", err)
	}
	return nil
}
