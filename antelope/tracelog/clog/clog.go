// Package clog is the files into which trace_api_plugin of nodeos compresses slices of
// traces: a deflated stream with points from which it can be read, and a table of them
// at the end (Leap: compressed_file.cpp). It owns that format. It does not know what the
// bytes mean, nor which files are to be compressed.
//
// docs/formats/traces.md tells the bytes.
package clog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"sort"

	"github.com/klauspost/compress/flate"
)

// ErrCorrupt is wrapped by what is said of files that are not what they should be.
var ErrCorrupt = errors.New("corrupt compressed traces")

const (
	pointBytes = 8 + 8
	countBytes = 2
	// MaxPoints is how many points a file has at most.
	MaxPoints = math.MaxUint16
)

// Stride is the distance of points, in bytes, that a file of so many bytes gets who asks
// for one: nodeos writes a file that it cannot read if there are more points than
// [MaxPoints], so they are put further apart.
func Stride(asked uint32, size int64) int64 {
	stride := max(1, int64(asked))
	for points(size, stride) > MaxPoints {
		stride *= 2
	}
	return stride
}

// points is how many a file has: one for each stride that begins before the last byte.
func points(size, stride int64) int64 { return (size - 1) / stride }

// Compress writes size bytes of from, which are at least one, with a point each stride.
// The stride is one of those that [Stride] gives.
func Compress(to io.Writer, from io.Reader, size, stride int64) error {
	if size < 1 || stride < 1 || points(size, stride) > MaxPoints {
		return fmt.Errorf("compress %d bytes with a point each %d bytes: not possible", size, stride)
	}
	out := &counter{w: to}
	z, err := flate.NewWriter(out, flate.BestCompression)
	if err != nil {
		return err
	}
	var table []byte
	for at := int64(0); at < size; {
		n := min(stride, size-at)
		if _, err := io.CopyN(z, from, n); err != nil {
			return fmt.Errorf("compress at offset %d: %w", at, err)
		}
		if at += n; at == size {
			err = z.Close()
		} else {
			// A new dictionary after the flush is what lets reading begin there.
			if err = z.Flush(); err == nil {
				table = point{plain: at, packed: out.n}.append(table)
			}
			z.Reset(out)
		}
		if err != nil {
			return fmt.Errorf("compress at offset %d: %w", at, err)
		}
	}
	_, err = to.Write(binary.LittleEndian.AppendUint16(table, uint16(len(table)/pointBytes)))
	return err
}

// counter counts what is written.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

// point is a place in the file from which it can be read: bytes before it, as they were
// and compressed.
type point struct{ plain, packed int64 }

// append appends the point as nodeos writes it: it writes a std::tuple as it lies in memory, and
// libstdc++ has the last member first.
func (p point) append(b []byte) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, uint64(p.packed)), uint64(p.plain))
}

// readPoint reads what append appends.
func readPoint(b []byte) point {
	return point{packed: int64(binary.LittleEndian.Uint64(b)), plain: int64(binary.LittleEndian.Uint64(b[8:]))}
}

// Reader reads a compressed file. Its methods may be called by all goroutines.
type Reader struct {
	from   io.ReaderAt
	packed int64 // bytes of the stream
	points []point
}

// NewReader reads the table of a file of size bytes.
func NewReader(from io.ReaderAt, size int64) (*Reader, error) {
	if size < countBytes {
		return nil, fmt.Errorf("%w: %d bytes", ErrCorrupt, size)
	}
	var b [countBytes]byte
	if _, err := from.ReadAt(b[:], size-countBytes); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	n := int64(binary.LittleEndian.Uint16(b[:]))
	r := &Reader{from: from, packed: size - countBytes - n*pointBytes, points: make([]point, n)}
	if r.packed < 0 {
		return nil, fmt.Errorf("%w: %d points in %d bytes", ErrCorrupt, n, size)
	}
	table := make([]byte, n*pointBytes)
	if _, err := from.ReadAt(table, r.packed); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	last := point{}
	for i := range r.points {
		p := readPoint(table[i*pointBytes:])
		if p.plain <= last.plain || p.packed < last.packed || p.packed > r.packed {
			return nil, fmt.Errorf("%w: offset %d: point %d is at %d of %d bytes",
				ErrCorrupt, r.packed+int64(i)*pointBytes, i, p.packed, r.packed)
		}
		r.points[i], last = p, p
	}
	return r, nil
}

// At returns what reads the plain bytes from an offset on. They end with io.EOF where
// the stream does.
func (r *Reader) At(offset int64) (io.ReadCloser, error) {
	i := sort.Search(len(r.points), func(i int) bool { return r.points[i].plain > offset })
	from := point{}
	if i > 0 {
		from = r.points[i-1]
	}
	z := flate.NewReader(io.NewSectionReader(r.from, from.packed, r.packed-from.packed))
	if n, err := io.CopyN(io.Discard, z, offset-from.plain); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: plain offset %d: %w", ErrCorrupt, from.plain+n, noEnd(err)), z.Close())
	}
	return z, nil
}

// noEnd is an error of a stream that ends too early.
func noEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
