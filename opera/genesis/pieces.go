package genesis

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
)

const (
	// PieceSize is how many bytes of content one hash covers in files that are
	// written.
	PieceSize = 64 << 20
	// memoryLimit bounds the memory that reading a unit takes (go-opera,
	// opera/genesisstore): one piece, and 128 bytes for each hash.
	memoryLimit = 256 << 20
	hashMemory  = 128
)

// root is the hash over a content's pieces.
func root(piece uint32, size uint64, hashes []byte) [32]byte {
	h := sha256.New()
	var head [12]byte
	binary.BigEndian.PutUint32(head[0:], piece)
	binary.BigEndian.PutUint64(head[4:], size)
	h.Write(head[:])
	h.Write(hashes)
	return [32]byte(h.Sum(nil))
}

// content reads a unit piece by piece and hands out none whose hash was not
// compared.
type content struct {
	file   *File
	unit   Unit
	body   io.Reader
	size   uint64
	piece  uint64
	hashes []byte // of pieces not read yet
	read   uint64 // bytes of content in all pieces that were read
	have   []byte // of the present piece what was not handed out
	buffer []byte
}

// open begins a unit: what stands before its content is read and compared with the
// root.
func (f *File) open(unit Unit) (*content, error) {
	c := &content{file: f, unit: unit}
	body, err := gzip.NewReader(bufio.NewReaderSize(io.NewSectionReader(f.in, unit.Offset, unit.Length), 1<<16))
	if err == nil {
		c.body = body
		err = c.begin()
	}
	if err != nil {
		return nil, &Error{File: f.name, Unit: unit.Name, Offset: unit.Offset,
			Err: fmt.Errorf("open its content: %w", early(err))}
	}
	return c, nil
}

// early names an end that came too soon.
func early(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrTruncated
	}
	return err
}

func (c *content) begin() error {
	var head [12]byte
	if _, err := io.ReadFull(c.body, head[:]); err != nil {
		return err
	}
	c.piece = uint64(binary.BigEndian.Uint32(head[0:]))
	c.size = binary.BigEndian.Uint64(head[4:])
	if c.piece == 0 {
		return fmt.Errorf("%w: pieces of no bytes", ErrMalformed)
	}
	count := c.size / c.piece
	if c.size%c.piece != 0 {
		count++
	}
	if count > memoryLimit/hashMemory || c.piece+count*hashMemory > memoryLimit {
		return fmt.Errorf("%w: %d pieces of %d bytes", ErrTooLarge, count, c.piece)
	}
	hashes, err := readAtMost(c.body, int64(count*sha256.Size), nil)
	if err != nil {
		return err
	}
	if root(uint32(c.piece), c.size, hashes) != c.unit.Root {
		return ErrRoot
	}
	c.hashes = hashes
	return nil
}

// readAtMost reads n bytes into a buffer, which grows with what is there and not with
// what is promised.
func readAtMost(in io.Reader, n int64, buffer []byte) ([]byte, error) {
	buffer = buffer[:0]
	for int64(len(buffer)) < n {
		if len(buffer) == cap(buffer) {
			more := make([]byte, len(buffer), min(n, max(1<<16, 2*int64(cap(buffer)))))
			copy(more, buffer)
			buffer = more
		}
		next := buffer[len(buffer):min(n, int64(cap(buffer)))]
		got, err := io.ReadFull(in, next)
		buffer = buffer[:len(buffer)+got]
		if err != nil {
			return buffer, err
		}
	}
	return buffer, nil
}

// Read implements io.Reader. It returns io.EOF at the end of the content.
func (c *content) Read(p []byte) (int, error) {
	if len(c.have) == 0 {
		if c.read == c.size {
			return 0, io.EOF
		}
		if err := c.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.have)
	c.have = c.have[n:]
	return n, nil
}

func (c *content) next() error {
	buffer, err := readAtMost(c.body, int64(min(c.piece, c.size-c.read)), c.buffer)
	if err != nil {
		return c.fail(fmt.Errorf("read a piece: %w", early(err)))
	}
	c.buffer = buffer
	if sum := sha256.Sum256(buffer); sum != [32]byte(c.hashes) {
		return c.fail(fmt.Errorf("%w: %x, not %x", ErrPiece, sum, c.hashes[:32]))
	}
	c.hashes = c.hashes[32:]
	c.have = buffer
	c.read += uint64(len(buffer))
	if c.file.options.Progress != nil {
		c.file.options.Progress(c.unit.Name, c.read, c.size)
	}
	return nil
}

// position is how much of the content was handed out.
func (c *content) position() int64 { return int64(c.read) - int64(len(c.have)) }

func (c *content) fail(err error) error {
	return c.failAt(c.position(), err)
}

func (c *content) failAt(at int64, err error) error {
	return &Error{File: c.file.name, Unit: c.unit.Name, Offset: at, Content: true, Err: err}
}
