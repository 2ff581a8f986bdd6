package genesis

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"github.com/ethereum/go-ethereum/rlp"
	"github.com/klauspost/compress/gzip"

	"tarn/opera/inter"
)

// Writer writes a genesis file, unit after unit. One goroutine may use it.
type Writer struct {
	out    io.Writer
	header Header
	folder string
	piece  uint32
	names  map[string]bool
}

// NewWriter begins a file with that header. The hashes of a unit precede its content,
// so the content waits, compressed, in a temporary file in the folder.
func NewWriter(out io.Writer, header Header, folder string) *Writer {
	return &Writer{out: out, header: header, folder: folder, piece: PieceSize, names: map[string]bool{}}
}

// UnitWriter writes one unit's content.
type UnitWriter struct {
	w      *Writer
	name   string
	body   *os.File
	zip    *gzip.Writer
	size   uint64
	left   uint32 // bytes that the present piece still takes
	sum    hash.Hash
	hashes []byte
	raw    bytes.Buffer
}

// Unit begins a unit, the one before being closed. Its name is that of a part of a
// section ([UnitName]).
func (w *Writer) Unit(name string) (*UnitWriter, error) {
	if w.names[name] {
		return nil, fmt.Errorf("begin unit %q of a genesis file: %w", name, ErrDuplicate)
	}
	w.names[name] = true
	body, err := os.CreateTemp(w.folder, "genesis-*.unit")
	if err != nil {
		return nil, fmt.Errorf("begin unit %q of a genesis file: %w", name, err)
	}
	return &UnitWriter{w: w, name: name, body: body, zip: gzip.NewWriter(body), left: w.piece, sum: sha256.New()}, nil
}

// Write appends to the content.
func (u *UnitWriter) Write(p []byte) (int, error) {
	done := 0
	for done < len(p) {
		part := p[done:min(len(p), done+int(u.left))]
		n, err := u.zip.Write(part)
		if err != nil {
			return done, fmt.Errorf("write unit %q of a genesis file, byte %d of its content: %w", u.name, u.size, err)
		}
		u.sum.Write(part)
		u.size += uint64(n)
		u.left -= uint32(n)
		done += n
		if u.left == 0 {
			u.endPiece()
		}
	}
	return done, nil
}

func (u *UnitWriter) endPiece() {
	u.hashes = u.sum.Sum(u.hashes)
	u.sum.Reset()
	u.left = u.w.piece
}

// Epoch appends a record to a part of [Epochs].
func (u *UnitWriter) Epoch(record *inter.EpochRecord) error { return u.record(record) }

// Block appends a record to a part of [Blocks].
func (u *UnitWriter) Block(record *inter.BlockRecord) error { return u.record(record) }

func (u *UnitWriter) record(record any) error {
	u.raw.Reset()
	if err := rlp.Encode(&u.raw, record); err != nil {
		return fmt.Errorf("encode a record for unit %q of a genesis file: %w", u.name, err)
	}
	_, err := u.Write(u.raw.Bytes())
	return err
}

// Item appends a key and a value to a part of [State].
func (u *UnitWriter) Item(item Item) error {
	for _, part := range [][]byte{item.Key, item.Value} {
		var size [4]byte
		binary.BigEndian.PutUint32(size[:], uint32(len(part)))
		if _, err := u.Write(size[:]); err != nil {
			return err
		}
		if _, err := u.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// Discard gives the unit up, after an error: the file does not get it.
func (u *UnitWriter) Discard() error {
	if err := errors.Join(u.body.Close(), os.Remove(u.body.Name())); err != nil {
		return fmt.Errorf("discard unit %q of a genesis file: %w", u.name, err)
	}
	return nil
}

// Close ends the unit, copies it to the file, and returns the root of its hashes. A
// unit is closed or discarded once.
func (u *UnitWriter) Close() (root [32]byte, err error) {
	defer func() {
		if err = errors.Join(err, u.body.Close(), os.Remove(u.body.Name())); err != nil {
			err = fmt.Errorf("end unit %q of a genesis file: %w", u.name, err)
		}
	}()
	if u.left < u.w.piece {
		u.endPiece()
	}
	root, before, err := u.before()
	if err != nil {
		return root, err
	}
	if err := u.zip.Close(); err != nil {
		return root, err
	}
	length, err := u.body.Seek(0, io.SeekCurrent)
	if err == nil {
		_, err = u.body.Seek(0, io.SeekStart)
	}
	if err != nil {
		return root, err
	}
	head := []byte(intro)
	raw, err := rlp.EncodeToBytes(unitHeader{Name: u.name, Header: u.w.header})
	if err != nil {
		return root, err
	}
	head = append(append(head, raw...), root[:]...)
	head = binary.BigEndian.AppendUint64(head, uint64(length)+uint64(len(before)))
	head = binary.BigEndian.AppendUint64(head, u.size)
	if _, err := u.w.out.Write(append(head, before...)); err != nil {
		return root, err
	}
	_, err = io.Copy(u.w.out, u.body)
	return root, err
}

// before makes what precedes the content: a gzip member of its own, which readers
// take for one stream with the member of the content.
func (u *UnitWriter) before() (sum [32]byte, compressed []byte, err error) {
	head := binary.BigEndian.AppendUint32(nil, u.w.piece)
	head = binary.BigEndian.AppendUint64(head, u.size)
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	_, err = zip.Write(append(head, u.hashes...))
	err = errors.Join(err, zip.Close())
	return root(u.w.piece, u.size, u.hashes), out.Bytes(), err
}
