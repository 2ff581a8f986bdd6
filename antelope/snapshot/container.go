// Package snapshot reads and writes the snapshots of nodeos: the container of
// named sections ([Reader], [Writer]), the rows in it for the versions 2 to 6, and
// their way to and from a chain's state ([Load], [Write]). It computes the
// integrity hash ([Hash]) and prints rows as JSON ([NewJSON]).
//
// It knows no rules of the chain, nor when and where snapshots are to be made.
package snapshot

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"tarn/antelope/exception"
	"tarn/antelope/serial"
)

// The container (Leap: snapshot.cpp): magic number and version, then sections
//
//	size   uint64  of what follows it
//	rows   uint64
//	name   ended by a zero byte
//	rows, one after the other
//
// and an end marker in the place of a size.
const (
	magic            = 0x30510550
	containerVersion = 1
	endMarker        = math.MaxUint64
	headerLen        = 8
)

// Limits on what is read.
const (
	maxSections = 1024
	maxName     = 256
	maxRow      = 64 << 20 // bytes; code and contract rows are far below
)

// Row is a row to be written, in the two forms that there are.
type Row interface {
	Append(b []byte) []byte     // appends the encoding
	AppendJSON(b []byte) []byte // appends the JSON of nodeos
}

// Sink takes the rows of a snapshot, section after section, on one goroutine. After an error
// it is of no use.
type Sink interface {
	// Begin opens a section of that name. The section before must have ended.
	Begin(section string) error
	// Row adds a row to the open section. It must not keep its argument, which the caller
	// uses again.
	Row(Row) error
	// End closes the open section.
	End() error
	// Finish comes after the last section. What is underneath stays open.
	Finish() error
}

// Writer writes the container.
type Writer struct {
	w    io.WriteSeeker
	buf  *bufio.Writer
	row  []byte
	pos  int64 // of the next byte, from where the snapshot starts
	from int64 // where the open section starts; -1 without one
	rows uint64
}

// NewWriter starts a snapshot where w stands. When a section ends its size and
// number of rows are written at its start.
func NewWriter(w io.WriteSeeker) (*Writer, error) {
	s := &Writer{w: w, buf: bufio.NewWriterSize(w, window), from: -1}
	b := binary.LittleEndian.AppendUint32(nil, magic)
	return s, s.write(binary.LittleEndian.AppendUint32(b, containerVersion))
}

var _ Sink = (*Writer)(nil)

func (s *Writer) write(b []byte) error {
	n, err := s.buf.Write(b)
	s.pos += int64(n)
	if err != nil {
		return fmt.Errorf("write snapshot at offset %d: %w", s.pos, err)
	}
	return nil
}

func (s *Writer) Begin(section string) error {
	if s.from >= 0 {
		return exception.New(exception.Snapshot,
			"Attempting to write a new section without closing the previous section")
	}
	s.from, s.rows = s.pos, 0
	b := binary.LittleEndian.AppendUint64(s.row[:0], endMarker)
	b = binary.LittleEndian.AppendUint64(b, endMarker)
	s.row = append(append(b, section...), 0)
	return s.write(s.row)
}

func (s *Writer) Row(r Row) error {
	s.row = r.Append(s.row[:0])
	s.rows++
	return s.write(s.row)
}

func (s *Writer) End() error {
	size := s.pos - s.from - 8
	err := s.buf.Flush()
	if err == nil {
		_, err = s.w.Seek(s.from-s.pos, io.SeekCurrent)
	}
	if err == nil {
		b := binary.LittleEndian.AppendUint64(s.row[:0], uint64(size))
		_, err = s.w.Write(binary.LittleEndian.AppendUint64(b, s.rows))
	}
	if err == nil {
		_, err = s.w.Seek(size-8, io.SeekCurrent)
	}
	if err != nil {
		return fmt.Errorf("write the size of the section at offset %d of a snapshot: %w", s.from, err)
	}
	s.from = -1
	return nil
}

func (s *Writer) Finish() error {
	err := s.write(binary.LittleEndian.AppendUint64(s.row[:0], endMarker))
	if err == nil {
		err = s.buf.Flush()
	}
	return err
}

// Reader reads the container. It holds no more in memory than two windows of it, or
// what the longest row needs. One goroutine may use it. Sections read ahead on
// another one, which asks the source once more, at most, after the last call.
type Reader struct {
	src      io.ReaderAt
	sections []sectionRange
	size     int64
}

// sectionRange is where a section is.
type sectionRange struct {
	name     string
	rows     uint64
	from, to int64 // of the rows
}

// NewReader finds the sections of a snapshot of size bytes. What follows the end
// marker is ignored, as by nodeos.
func NewReader(src io.ReaderAt, size int64) (*Reader, error) {
	r := &Reader{src: src, size: size}
	var b [headerLen]byte
	if err := r.read(b[:], 0); err != nil {
		return nil, err
	}
	if binary.LittleEndian.Uint32(b[:]) != magic {
		return nil, unknownForm(b[:], exception.New(exception.Snapshot, "Binary snapshot has unexpected magic number!"))
	}
	if v := binary.LittleEndian.Uint32(b[4:]); v != containerVersion {
		return nil, exception.New(exception.Snapshot,
			"Binary snapshot is an unsupported version.  Expected : ${expected}, Got: ${actual}",
			"expected", containerVersion, "actual", v)
	}
	for at := int64(headerLen); ; {
		next, err := r.readPlace(at)
		if err != nil {
			return nil, err
		}
		if next < 0 {
			return r, nil
		}
		if len(r.sections) > maxSections {
			return nil, exception.New(exception.Snapshot, "Binary snapshot has more than ${most} sections",
				"most", maxSections)
		}
		at = next
	}
}

// unknownForm adds to an error what a file is that begins so, if that is known, and what to do.
func unknownForm(begin []byte, err error) error {
	for _, p := range []struct{ begin, name, tool string }{
		{"\x1f\x8b", "gzip", "gunzip FILE, or for a .tar.gz tar -xzf FILE"},
		{"\x28\xb5\x2f\xfd", "zstd", "zstd -d FILE"},
		{"\xfd7zXZ", "xz", "unxz FILE"},
		{"BZh", "bzip2", "bunzip2 FILE"},
		{"PK\x03\x04", "zip", "unzip FILE"},
	} {
		if strings.HasPrefix(string(begin), p.begin) {
			return fmt.Errorf("the file is packed with %s: unpack it first (%s): %w", p.name, p.tool, err)
		}
	}
	if begin[0] == '{' {
		return fmt.Errorf("the file is a snapshot as JSON, which cannot be loaded: take the binary one: %w", err)
	}
	return err
}

// FromFile is NewReader for an open file, which its errors name.
func FromFile(f *os.File) (*Reader, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	r, err := NewReader(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("snapshot %s: %w", f.Name(), err)
	}
	return r, nil
}

func (r *Reader) read(b []byte, at int64) error {
	if at > r.size-int64(len(b)) {
		return exception.New(exception.Snapshot,
			"Binary snapshot ends at offset ${offset}, where ${missing} bytes are missing",
			"offset", r.size, "missing", at+int64(len(b))-r.size)
	}
	if n, err := r.src.ReadAt(b, at); n < len(b) {
		return fmt.Errorf("read %d bytes at offset %d of the snapshot: %w", len(b), at, err)
	}
	return nil
}

// readPlace reads the start of the section at an offset and returns where the next
// one is, -1 at the end marker.
func (r *Reader) readPlace(at int64) (next int64, err error) {
	var b [16 + maxName]byte
	if err := r.read(b[:8], at); err != nil {
		return 0, err
	}
	size := binary.LittleEndian.Uint64(b[:])
	if size == endMarker {
		return -1, nil
	}
	if size < 9 || size > uint64(r.size-at-8) {
		return 0, exception.New(exception.Snapshot,
			"Section at offset ${offset} of the binary snapshot has ${size} bytes, of which ${left} are there",
			"offset", at, "size", size, "left", r.size-at-8)
	}
	n := min(16+maxName, int64(8+size))
	if err := r.read(b[8:n], at+8); err != nil {
		return 0, err
	}
	length := 0
	for 16+length < int(n) && b[16+length] != 0 {
		length++
	}
	if 16+length == int(n) {
		return 0, exception.New(exception.Snapshot, "Section at offset ${offset} of the binary snapshot has no name",
			"offset", at)
	}
	p := sectionRange{name: string(b[16 : 16+length]), rows: binary.LittleEndian.Uint64(b[8:]),
		from: at + 17 + int64(length), to: at + 8 + int64(size)}
	if p.rows > uint64(p.to-p.from) {
		return 0, exception.New(exception.Snapshot,
			"Section ${name} at offset ${offset} of the binary snapshot has ${rows} rows in ${size} bytes",
			"name", p.name, "offset", at, "rows", p.rows, "size", p.to-p.from)
	}
	r.sections = append(r.sections, p)
	return p.to, nil
}

// Size returns the size of the snapshot in bytes.
func (r *Reader) Size() int64 { return r.size }

// Section opens the first section of a name.
func (r *Reader) Section(name string) (*Section, error) {
	for _, p := range r.sections {
		if p.name == name {
			return &Section{sectionRange: p, left: p.rows, at: p.from, windows: r.windows(p.from, p.to)}, nil
		}
	}
	return nil, exception.New(exception.Snapshot, "Binary snapshot has no section named ${n}", "n", name)
}

// Section is the rows of a section, read one after the other.
type Section struct {
	sectionRange
	windows windows
	left    uint64 // rows that were not read
	at      int64  // offset in the snapshot of buf[next]
	buf     []byte
	next    int
	serial  serial.Reader
}

// Len returns the number of rows.
func (s *Section) Len() uint64 { return s.rows }

// More tells whether there are rows that were not read.
func (s *Section) More() bool { return s.left > 0 }

// Offset returns where the next row is in the snapshot.
func (s *Section) Offset() int64 { return s.at }

// Next decodes the next row into v. What v keeps of the encoding is good until the
// next call.
func (s *Section) Next(v interface{ Read(*serial.Reader) }) error {
	if s.left == 0 {
		return exception.New(exception.Snapshot, "Section ${name} of the binary snapshot has more than ${rows} rows",
			"name", s.name, "rows", s.rows)
	}
	for {
		s.serial.Reset(s.buf[s.next:])
		v.Read(&s.serial)
		err := s.serial.Err()
		if err == nil {
			break
		}
		if errors.Is(err, serial.ErrShort) {
			if more, err := s.fill(); err != nil {
				return err
			} else if more {
				continue
			}
		}
		return exception.Wrap(exception.Snapshot, err,
			"Row ${row} of section ${name} of the binary snapshot, which starts at offset ${offset}, cannot be read",
			"row", s.rows-s.left, "name", s.name, "offset", s.at)
	}
	s.left--
	s.next += s.serial.Offset()
	s.at += int64(s.serial.Offset())
	return nil
}

// fill makes more of the section visible from the next row on; false if there is
// no more, or more than a row may have is visible already.
func (s *Section) fill() (bool, error) {
	rest := s.buf[s.next:]
	if s.windows.remaining() == 0 || len(rest) >= maxRow {
		return false, nil
	}
	b, err := s.windows.next(rest)
	if err != nil {
		return false, err
	}
	s.buf, s.next = b, 0
	return true, nil
}

// Close makes sure that all rows were read, and nothing is left.
func (s *Section) Close() error {
	if s.left > 0 {
		return exception.New(exception.Snapshot,
			"Section ${name} of the binary snapshot has ${rows} rows more than expected, from offset ${offset} on",
			"name", s.name, "rows", s.left, "offset", s.at)
	}
	if s.at != s.to {
		return exception.New(exception.Snapshot,
			"Section ${name} of the binary snapshot has ${size} bytes after its last row, at offset ${offset}",
			"name", s.name, "size", s.to-s.at, "offset", s.at)
	}
	return nil
}
