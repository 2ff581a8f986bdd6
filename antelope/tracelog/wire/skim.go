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
func Skim(r *bufio.Reader) (h Head, err error) {
	kind, err := h.varuint(r)
	if h.Bytes == 0 { // no byte was there
		return h, err
	}
	if err == nil {
		err = h.rest(r, kind)
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return h, err
}

// rest reads what follows the kind.
func (h *Head) rest(r *bufio.Reader, kind uint32) (err error) {
	switch kind {
	case blockEntry:
		var b [checksumBytes + 4 + 8]byte
		err = h.fill(r, b[:])
		copy(h.ID[:], b[:])
		h.Number, h.Offset = binary.LittleEndian.Uint32(b[checksumBytes:]),
			binary.LittleEndian.Uint64(b[checksumBytes+4:])
	case libEntry:
		err = h.number(r)
	case idsEntry:
		var ids uint32
		if ids, err = h.varuint(r); err == nil {
			_, err = io.CopyN(io.Discard, r, int64(ids)*checksumBytes)
			h.Bytes += int64(ids) * checksumBytes
		}
		if err == nil {
			err = h.number(r)
		}
	default:
		return fmt.Errorf("entry of kind %d: %w", kind, serial.ErrValue)
	}
	h.Kind = Kind(kind)
	return err
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

// varuint reads what [serial.Reader.Varuint32] does.
func (h *Head) varuint(r io.ByteReader) (v uint32, err error) {
	for shift := 0; shift < 32; shift += 7 {
		c, err := r.ReadByte()
		if err != nil {
			return 0, err
		}
		h.Bytes++
		if v |= uint32(c&0x7f) << shift; c < 0x80 {
			break
		}
	}
	return v, nil
}
