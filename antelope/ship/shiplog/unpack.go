package shiplog

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"

	"github.com/klauspost/compress/zlib"
)

// unpacked is a payload that is being unpacked. Its length is -1 if the payload does
// not say it.
type unpacked struct {
	*inflater // nil for an empty stream
	length    int64
	disk      *source // of the stream
	idle      *sync.Pool
}

// inflater is what unpacking takes, some 60 kB, to be used again.
type inflater struct {
	in *bufio.Reader
	z  io.ReadCloser
}

// inflateBuffer is how much of a payload is read at once, in bytes.
const inflateBuffer = 16 << 10

// openPayload reads a payload that begins at a position. Pool has inflaters that nobody
// uses.
func openPayload(f io.ReaderAt, at int64, payload uint64, idle *sync.Pool) (*unpacked, error) {
	var b [prefixBytes]byte
	n := min(int64(payload), prefixBytes)
	if _, err := f.ReadAt(b[:n], at); err != nil {
		return nil, err
	}
	u, skip := &unpacked{length: -1, idle: idle}, int64(4)
	if binary.LittleEndian.Uint32(b[:]) == 1 && payload > prefixBytes-4 {
		length := binary.LittleEndian.Uint64(b[4:])
		if length > math.MaxInt64 {
			return nil, fmt.Errorf("%d bytes unpacked: %w", length, ErrCorrupt)
		}
		u.length, skip = int64(length), prefixBytes
	}
	if int64(payload) == skip { // an empty stream is none at all in old logs
		return u, nil
	}
	u.disk = &source{Reader: io.NewSectionReader(f, at+skip, int64(payload)-skip)}
	if err := u.inflate(u.disk); err != nil {
		return nil, u.cause(err)
	}
	return u, nil
}

// inflate begins to unpack.
func (u *unpacked) inflate(in io.Reader) (err error) {
	x, again := u.idle.Get().(*inflater)
	if !again {
		x = &inflater{in: bufio.NewReaderSize(in, inflateBuffer)}
		if x.z, err = zlib.NewReader(x.in); err != nil {
			return err
		}
		u.inflater = x
		return nil
	}
	x.in.Reset(in)
	r, ok := x.z.(zlib.Resetter)
	if !ok {
		return errors.New("zlib's reader cannot be used again")
	}
	if err := r.Reset(x.in, nil); err != nil {
		return err
	}
	u.inflater = x
	return nil
}

// Read implements io.Reader. What is wrong with the stream wraps ErrCorrupt.
func (u *unpacked) Read(b []byte) (int, error) {
	if u.inflater == nil {
		return 0, io.EOF
	}
	n, err := u.z.Read(b)
	return n, u.cause(err)
}

// cause tells what is wrong with a stream from what is wrong with the disk.
func (u *unpacked) cause(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	if u.disk != nil && u.disk.err != nil {
		return u.disk.err
	}
	return fmt.Errorf("%w: %w", ErrCorrupt, err)
}

// source reads a file, and keeps what the disk said.
type source struct {
	io.Reader
	err error
}

// Read implements io.Reader.
func (s *source) Read(b []byte) (int, error) {
	n, err := s.Reader.Read(b)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		s.err = err
	}
	return n, err
}

// Close gives back what unpacking took. It may be called again.
func (u *unpacked) Close() error {
	if u.inflater == nil {
		return nil
	}
	err := u.z.Close()
	u.in.Reset(nil)
	u.idle.Put(u.inflater)
	u.inflater = nil
	return err
}

// check unpacks a payload and keeps nothing of it: the stream has a checksum.
func check(f io.ReaderAt, at int64, payload uint64, idle *sync.Pool) error {
	u, err := openPayload(f, at, payload, idle)
	if err != nil {
		return err
	}
	n, err := io.Copy(io.Discard, u)
	if err == nil && u.length >= 0 && n != u.length {
		err = fmt.Errorf("%w: %d bytes unpacked, %d expected", ErrCorrupt, n, u.length)
	}
	return errors.Join(err, u.Close())
}
