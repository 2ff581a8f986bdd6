package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// Head is an entry of an index or a file of ids without the ids, which are most of it.
type Head struct {
	Kind   Kind
	ID     types.Checksum256 // of a block
	Number uint32
	Offset uint64 // of a block in the file of traces
	Bytes  int64  // of the whole entry
}

// Kind is the kind of an entry.
type Kind uint8

// The kinds, by their numbers in the files.
const (
	BlockKind        Kind = blockEntry
	IrreversibleKind Kind = libEntry
	IDsKind          Kind = idsEntry
)

// Skim reads an entry's head and skips its ids. It returns io.EOF where no entry begins,
// io.ErrUnexpectedEOF where one ends too early. It takes no memory for what an entry
// claims to have.
func Skim(r *bufio.Reader) (Head, error) {
	kind, err := r.ReadByte()
	if err != nil {
		return Head{}, err
	}
	h := Head{Kind: Kind(kind), Bytes: 1}
	switch h.Kind {
	case BlockKind:
		var b [checksumBytes + 4 + 8]byte
		err = h.fill(r, b[:])
		copy(h.ID[:], b[:])
		h.Number, h.Offset = binary.LittleEndian.Uint32(b[checksumBytes:]), binary.LittleEndian.Uint64(b[checksumBytes+4:])
	case IrreversibleKind:
		err = h.number(r)
	case IDsKind:
		var ids uint32
		if ids, err = h.count(r); err == nil {
			_, err = io.CopyN(io.Discard, r, int64(ids)*checksumBytes)
			h.Bytes += int64(ids) * checksumBytes
		}
		if err == nil {
			err = h.number(r)
		}
	default:
		return h, fmt.Errorf("entry of kind %d: %w", kind, serial.ErrValue)
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return h, err
}

func (h *Head) number(r io.Reader) error {
	var b [4]byte
	err := h.fill(r, b[:])
	h.Number = binary.LittleEndian.Uint32(b[:])
	return err
}

func (h *Head) fill(r io.Reader, b []byte) error {
	h.Bytes += int64(len(b))
	_, err := io.ReadFull(r, b)
	return err
}

func (h *Head) count(r io.ByteReader) (uint32, error) {
	var b [binary.MaxVarintLen32]byte
	for i := range b {
		c, err := r.ReadByte()
		if err != nil {
			return 0, err
		}
		h.Bytes++
		if b[i] = c; c < 0x80 {
			s := serial.NewReader(b[:i+1])
			return s.Varuint32(), s.Err()
		}
	}
	return 0, fmt.Errorf("count of ids: %w", serial.ErrValue)
}
