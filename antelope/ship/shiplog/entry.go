package shiplog

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/klauspost/compress/zlib"

	"tarn/antelope/types"
	"tarn/store/vfs"
)

// An entry is a header, a payload, and its own position. A payload is a word 1, how
// long it is unpacked, and a zlib stream; old ones have another word, which is then the
// low half of the stream's length, and no length unpacked (Leap: log.hpp).
const (
	magic       = 0xc35d_5000_0000_0000 // name("ship"), version 0
	magicMask   = 0xffff_ffff_0000_ffff // without the features
	featureGone = 1 << 16               // in the file's first entry: the entries after it may be gone

	headerBytes  = 8 + 32 + 8
	prefixBytes  = 4 + 8
	trailerBytes = 8
	countBytes   = 4 // at the end of a pruned file: how many entries are there
	indexBytes   = 8

	// smallest is an entry of an empty stream.
	smallest = headerBytes + 4 + trailerBytes
)

// header is that of an entry.
type header struct {
	pruned  bool
	id      types.Checksum256
	payload uint64 // bytes
}

func (h *header) append(b []byte) []byte {
	m := uint64(magic)
	if h.pruned {
		m |= featureGone
	}
	b = binary.LittleEndian.AppendUint64(b, m)
	b = append(b, h.id[:]...)
	return binary.LittleEndian.AppendUint64(b, h.payload)
}

// span is the size of the whole entry.
func (h *header) span() int64 { return headerBytes + int64(h.payload) + trailerBytes }

// decodeHeader reads a header of an entry of which at most room bytes can be there.
func decodeHeader(b []byte, room int64) (h header, err error) {
	m := binary.LittleEndian.Uint64(b)
	if m&magicMask != magic {
		return h, fmt.Errorf("magic number %x: %w", m, ErrCorrupt)
	}
	h.pruned = m&featureGone != 0
	copy(h.id[:], b[8:])
	if number(h.id) == math.MaxUint32 { // where a log ends is the number after its last block
		return h, fmt.Errorf("block %d, which has no next: %w", number(h.id), ErrCorrupt)
	}
	h.payload = binary.LittleEndian.Uint64(b[40:])
	if h.payload < 4 || h.payload > math.MaxInt64 || int64(h.payload) > room-headerBytes-trailerBytes {
		return h, fmt.Errorf("a payload of %d bytes where %d follow: %w", h.payload, room, ErrCorrupt)
	}
	return h, nil
}

// readHeader reads the header at a position of a file that ends at end.
func readHeader(f io.ReaderAt, at, end int64) (header, error) {
	var b [headerBytes]byte
	if at < 0 || end-at < smallest {
		return header{}, fmt.Errorf("%d bytes for an entry: %w", end-at, ErrCorrupt)
	}
	if _, err := f.ReadAt(b[:], at); err != nil {
		return header{}, err
	}
	return decodeHeader(b[:], end-at)
}

// readEnds reads the header at a position, and where the entry says at its end that it
// begins: an entry whose two ends agree is certain of its length.
func readEnds(f io.ReaderAt, at, end int64) (h header, back int64, err error) {
	if h, err = readHeader(f, at, end); err == nil {
		back, err = readTrailer(f, at+h.span())
	}
	return h, back, err
}

// readTrailer reads where an entry begins that ends at end, as it says.
func readTrailer(f io.ReaderAt, end int64) (int64, error) {
	var b [trailerBytes]byte
	_, err := f.ReadAt(b[:], end-trailerBytes)
	return int64(binary.LittleEndian.Uint64(b[:])), err
}

// readCount reads how many entries a pruned file of so many bytes says that it ends with.
func readCount(f io.ReaderAt, size int64) (uint32, error) {
	var b [countBytes]byte
	_, err := f.ReadAt(b[:], size-countBytes)
	return binary.LittleEndian.Uint32(b[:]), err
}

// spill is how much of an entry is gathered before it is written.
const spill = 1 << 20

// entryWriter packs an entry into a file, from a position on. The header goes last, so
// that what is not whole is not taken for an entry.
type entryWriter struct {
	f       vfs.File
	at      int64  // of the entry
	buf     []byte // the part that is not written yet, at
	written int64  // bytes of the entry before it
	z       *zlib.Writer
	length  uint64 // unpacked
}

func newEntryWriter(f vfs.File, at int64, z *zlib.Writer) *entryWriter {
	w := &entryWriter{f: f, at: at, z: z, buf: make([]byte, headerBytes+prefixBytes, 4096)}
	z.Reset(gather{w})
	return w
}

// Write packs bytes.
func (w *entryWriter) Write(b []byte) (int, error) {
	w.length += uint64(len(b))
	return w.z.Write(b)
}

// gather is where the packed bytes go.
type gather struct{ w *entryWriter }

// Write gathers, and writes what is much.
func (g gather) Write(b []byte) (int, error) {
	g.w.buf = append(g.w.buf, b...)
	if len(g.w.buf) < spill {
		return len(b), nil
	}
	return len(b), g.w.flush()
}

func (w *entryWriter) flush() error {
	if w.written == 0 { // without what goes last
		w.written = headerBytes + prefixBytes
		w.buf = append(w.buf[:0], w.buf[w.written:]...)
	}
	if _, err := w.f.WriteAt(w.buf, w.at+w.written); err != nil {
		return err
	}
	w.written += int64(len(w.buf))
	w.buf = w.buf[:0]
	return nil
}

// finish ends the entry, with more after it, and returns its size without that.
func (w *entryWriter) finish(id types.Checksum256, pruned bool, more []byte) (int64, error) {
	if err := w.z.Close(); err != nil {
		return 0, err
	}
	size := w.written + int64(len(w.buf))
	h := header{pruned: pruned, id: id, payload: uint64(size - headerBytes)}
	b := binary.LittleEndian.AppendUint32(h.append(nil), 1)
	b = binary.LittleEndian.AppendUint64(b, w.length)
	w.buf = append(binary.LittleEndian.AppendUint64(w.buf, uint64(w.at)), more...)
	if w.written == 0 {
		copy(w.buf, b)
		_, err := w.f.WriteAt(w.buf, w.at)
		return h.span(), err
	}
	if err := w.flush(); err != nil {
		return 0, err
	}
	_, err := w.f.WriteAt(b, w.at)
	return h.span(), err
}
