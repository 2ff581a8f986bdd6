// Package eventfile reads and writes files of events, those of go-opera's `export events`
// and `import events`: eight bytes of header, then the events, each as in messages between
// peers, in the order of their ids.
//
// It owns the file's form and hands out events as they are in it; it decodes none.
package eventfile

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"sync/atomic"

	"github.com/ethereum/go-ethereum/rlp"

	"tarn/opera/inter"
)

// header is go-opera's mark and version (cmd/opera/launcher/export.go).
const header = "\x7e\x99\x56\x78\x00\x01\x00\x01"

// ErrNotEvents is wrapped where a file is no file of events, or one of another version.
var ErrNotEvents = errors.New("not an events file of version 1.1")

// Reader reads the events of a file. One goroutine may use it.
type Reader struct {
	name   string
	close  []io.Closer
	in     counter
	stream *rlp.Stream
	file   *position // nil without a file
}

// position counts what was read of a file.
type position struct {
	file *os.File
	read atomic.Int64
}

// Read implements io.Reader.
func (p *position) Read(b []byte) (int, error) {
	n, err := p.file.Read(b)
	p.read.Add(int64(n))
	return n, err
}

// counter counts what was read of a file's content.
type counter struct {
	from *bufio.Reader
	read int64
}

// Read implements io.Reader.
func (c *counter) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.read += int64(n)
	return n, err
}

// ReadByte implements io.ByteReader.
func (c *counter) ReadByte() (byte, error) {
	b, err := c.from.ReadByte()
	if err == nil {
		c.read++
	}
	return b, err
}

// Open opens a file, and uncompresses one whose name ends with ".gz".
func Open(path string) (*Reader, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open a file of events: %w", err)
	}
	at := &position{file: file}
	var in io.Reader = bufio.NewReaderSize(at, 1<<20)
	closers := []io.Closer{file}
	if strings.HasSuffix(path, ".gz") {
		unzipped, err := gzip.NewReader(in)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), file.Close())
		}
		in, closers = unzipped, append(closers, unzipped)
	}
	r, err := NewReader(path, in)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	r.close, r.file = closers, at
	return r, nil
}

// NewReader reads the header of a file's content. The name is for errors.
func NewReader(name string, in io.Reader) (*Reader, error) {
	r := &Reader{name: name, in: counter{from: bufio.NewReaderSize(in, 1<<20)}}
	var begin [len(header)]byte
	if _, err := io.ReadFull(&r.in, begin[:]); err != nil {
		return nil, fmt.Errorf("%s: %w: its header ends too early", name, ErrNotEvents)
	}
	if string(begin[:]) != header {
		return nil, fmt.Errorf("%s: %w: it begins with %x", name, ErrNotEvents, begin)
	}
	r.stream = rlp.NewStream(&r.in, 0)
	return r, nil
}

// Next returns the next event's bytes, which are the caller's, and io.EOF at the end.
func (r *Reader) Next() ([]byte, error) {
	at := r.in.read
	kind, size, err := r.stream.Kind()
	if errors.Is(err, io.EOF) {
		return nil, io.EOF
	}
	if err == nil && (kind != rlp.String || size > inter.MaxEventSize) {
		err = fmt.Errorf("not an event: a %v of %d bytes", kind, size)
	}
	var raw []byte
	if err == nil {
		raw, err = r.stream.Bytes()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: event at offset %d of the content: %w", r.name, at, err)
	}
	return raw, nil
}

// All yields the events from where the reader is, which are the caller's; an error is the
// last thing that it yields.
func (r *Reader) All() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for {
			raw, err := r.Next()
			if errors.Is(err, io.EOF) || !yield(raw, err) || err != nil {
				return
			}
		}
	}
}

// Position returns how many bytes of the file were read, compressed ones of a compressed
// file: for progress. Any goroutine may ask.
func (r *Reader) Position() int64 {
	if r.file == nil {
		return 0
	}
	return r.file.read.Load()
}

// Close closes the file.
func (r *Reader) Close() error {
	var err error
	for i := len(r.close) - 1; i >= 0; i-- {
		err = errors.Join(err, r.close[i].Close())
	}
	return err
}

// Writer writes a file of events. One goroutine may use it.
type Writer struct {
	out   *bufio.Writer
	close []io.Closer
	sync  func() error
}

// Create creates a file, and compresses it if its name ends with ".gz".
func Create(path string) (*Writer, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("create a file of events: %w", err)
	}
	w := &Writer{out: bufio.NewWriterSize(file, 1<<20), close: []io.Closer{file}, sync: file.Sync}
	if strings.HasSuffix(path, ".gz") {
		zipped := gzip.NewWriter(file)
		w.out, w.close = bufio.NewWriterSize(zipped, 1<<20), append(w.close, zipped)
	}
	if _, err := w.out.WriteString(header); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return w, nil
}

// Write appends an event's bytes.
func (w *Writer) Write(raw []byte) error { return rlp.Encode(w.out, raw) }

// Close ends the file and makes it durable. The file is whole only if there is no error.
func (w *Writer) Close() error {
	err := w.out.Flush()
	for i := len(w.close) - 1; i >= 0; i-- {
		if i == 0 {
			err = errors.Join(err, w.sync())
		}
		err = errors.Join(err, w.close[i].Close())
	}
	return err
}
