package fleet

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/klauspost/compress/zstd"

	"tarn/store"
)

// ImageHeader says of which state an image is.
type ImageHeader struct {
	Ledger string // the protocol's name
	Chain  ID
	Point
	// Records are entries of the ledger's logs that it needs besides the state, and what each is, is the ledger's.
	Records []Record
}

// mostRecordBytes is how many bytes the records of an image may have together.
const mostRecordBytes = 256 << 20

// recordBytes is what a record takes in memory besides its data.
const recordBytes = 32

// imageMagic begins an image, with its version in the last byte.
const imageMagic = "tarnimg\x01"

// RowsSum is a hash over all rows of a state.
type RowsSum struct {
	Rows   int64      `json:"rows"`
	Hash   ID         `json:"hash"`   // SHA-256 of the tables' sums
	Tables []TableSum `json:"tables"` // in the order of their handles
}

// TableSum is a hash over the rows of a table.
type TableSum struct {
	Name string `json:"name"`
	Rows int64  `json:"rows"`
	Hash ID     `json:"hash"` // SHA-256 of the rows as an image has them
}

// Same tells whether the rows are the same, as far as a hash can tell.
func (s *RowsSum) Same(as *RowsSum) bool { return s.Rows == as.Rows && s.Hash == as.Hash }

// Difference names the tables whose rows are not the same, or that one of the states does not have.
func (s *RowsSum) Difference(from *RowsSum) (names []string) {
	left := make(map[string]TableSum, len(from.Tables))
	for _, t := range from.Tables {
		left[t.Name] = t
	}
	for _, t := range s.Tables {
		if left[t.Name] != t {
			names = append(names, t.Name)
		}
		delete(left, t.Name)
	}
	return append(names, slices.Sorted(maps.Keys(left))...)
}

// Sum reads all rows that a view shows. progress is told of the rows so far, now and then; an error of it ends the
// reading.
func Sum(v store.View, progress func(rows int64) error) (RowsSum, error) {
	x := &imageWriter{progress: progress}
	err := x.tables(v)
	if err != nil {
		return RowsSum{}, fmt.Errorf("read all rows: %w", err)
	}
	return x.rowsSum(), nil
}

// WriteImage writes all rows that a view shows, of the block that the header names. progress is told of
// the rows so far, now and then; an error of it ends the writing. It returns what [Sum] does.
//
// An image is the magic, and one zstd frame with a checksum: the header with its records, then each table with its name
// and its rows (a key of length 0 ends them), in the order of their handles, a name of length 0, and the number of all
// rows.
func WriteImage(w io.Writer, h ImageHeader, v store.View, progress func(rows int64) error) (sum RowsSum, err error) {
	if _, err := io.WriteString(w, imageMagic); err != nil {
		return sum, fmt.Errorf("write an image: %w", err)
	}
	zip, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return sum, fmt.Errorf("write an image: %w", err)
	}
	x := &imageWriter{out: bufio.NewWriterSize(zip, 1<<16), progress: progress}
	x.buf = appendPoint(append(appendString(x.buf, h.Ledger), h.Chain[:]...), h.Point)
	x.buf = binary.AppendUvarint(x.buf, uint64(len(h.Records)))
	for _, r := range h.Records {
		x.buf = appendBytes(append(x.buf, r.Log), r.Data)
	}
	if err := x.flush(); err != nil {
		return sum, errors.Join(fmt.Errorf("write an image: %w", err), zip.Close())
	}
	if err := x.tables(v); err != nil {
		return sum, errors.Join(fmt.Errorf("write an image: %w", err), zip.Close())
	}
	if err := errors.Join(x.out.Flush(), zip.Close()); err != nil {
		return sum, fmt.Errorf("write an image: %w", err)
	}
	return x.rowsSum(), nil
}

// imageWriter writes the rows of a state, or only reads them.
type imageWriter struct {
	out      *bufio.Writer // nil for none
	buf      []byte
	sums     []TableSum
	rows     int64
	progress func(int64) error
}

func (x *imageWriter) rowsSum() RowsSum {
	var b []byte
	for _, t := range x.sums {
		b = append(binary.AppendUvarint(appendString(b, t.Name), uint64(t.Rows)), t.Hash[:]...)
	}
	return RowsSum{Rows: x.rows, Hash: sha256.Sum256(b), Tables: x.sums}
}

func (x *imageWriter) flush() (err error) {
	if x.out != nil {
		_, err = x.out.Write(x.buf)
	}
	x.buf = x.buf[:0]
	return err
}

// tables writes all tables, and the number of their rows.
func (x *imageWriter) tables(v store.View) error {
	for _, t := range v.Tables() {
		if err := x.table(v, t); err != nil {
			return fmt.Errorf("table %s: %w", t.Name, err)
		}
	}
	x.buf = binary.AppendUvarint(append(x.buf, 0), uint64(x.rows))
	return x.flush()
}

// progressRows is the number of rows between two reports.
const progressRows = 1 << 14

func (x *imageWriter) table(v store.View, t store.TableInfo) error {
	c, err := v.Cursor(t.ID)
	if err != nil {
		return err
	}
	sum, before := sha256.New(), x.rows
	x.buf = appendString(x.buf, t.Name)
	err = x.flush()
	for ok := c.First(); ok && err == nil; ok = c.Next() {
		x.buf = appendBytes(appendBytes(x.buf, c.Key()), c.Value())
		if err = c.Err(); err == nil {
			sum.Write(x.buf) //nolint:errcheck // it never fails
			err = x.flush()
		}
		if x.rows++; err == nil && x.rows%progressRows == 0 {
			err = x.progress(x.rows)
		}
	}
	x.buf = append(x.buf, 0)
	x.sums = append(x.sums, TableSum{t.Name, x.rows - before, ID(sum.Sum(nil))})
	return errors.Join(err, c.Err(), c.Close())
}

// ImageReader reads an image that anybody may have written.
type ImageReader struct {
	ImageHeader
	zip *zstd.Decoder
	in  *bufio.Reader
	key [store.MaxKey]byte
	buf []byte
}

// imageWindow bounds the memory that decompressing takes, in bytes.
const imageWindow = 8 << 20

// ReadImage reads the header of an image; [ImageReader.Load] reads the rest. An error wraps [ErrDamaged] if the bytes
// are not an image.
func ReadImage(r io.Reader) (*ImageReader, error) {
	magic := make([]byte, len(imageMagic))
	if _, err := io.ReadFull(r, magic); err != nil {
		return nil, fmt.Errorf("read an image: %w", damagedEnd(err))
	}
	if string(magic) != imageMagic {
		return nil, fmt.Errorf("read an image: %w: it begins with %q", ErrDamaged, magic)
	}
	zip, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(imageWindow))
	if err != nil {
		return nil, fmt.Errorf("read an image: %w", err)
	}
	x := &ImageReader{zip: zip, in: bufio.NewReaderSize(zip, 1<<16)}
	if err := x.header(); err != nil {
		zip.Close()
		return nil, fmt.Errorf("read an image: %w", err)
	}
	return x, nil
}

// Close frees what the reader holds. What it reads from stays the caller's to close.
func (x *ImageReader) Close() { x.zip.Close() }

func (x *ImageReader) header() error {
	name, err := x.bytes(x.key[:])
	if err != nil {
		return err
	}
	x.Ledger = string(name)
	if _, err := io.ReadFull(x.in, x.Chain[:]); err != nil {
		return damagedEnd(err)
	}
	if x.Revision, err = x.number(); err != nil {
		return err
	}
	if _, err = io.ReadFull(x.in, x.ID[:]); err != nil {
		return damagedEnd(err)
	}
	return x.records()
}

// records reads the header's records, whose memory grows only with what really comes.
func (x *ImageReader) records() error {
	n, err := x.number()
	left := mostRecordBytes
	for ; err == nil && n > 0; n-- {
		var r Record
		if r.Log, err = x.in.ReadByte(); err != nil {
			return damagedEnd(err)
		}
		if r.Data, err = x.long(uint64(max(0, left)), "a record"); err != nil {
			return err
		}
		x.Records = append(x.Records, Record{r.Log, bytes.Clone(r.Data)})
		if left -= len(r.Data) + recordBytes; left < 0 {
			return fmt.Errorf("%w: its records have more than %d bytes", ErrDamaged, mostRecordBytes)
		}
	}
	return err
}

// damagedEnd is the error of a read that came to the end too early, or met bytes that are not compressed.
func damagedEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it ends too early", ErrDamaged)
	}
	return err
}

func (x *ImageReader) number() (uint64, error) {
	n, err := binary.ReadUvarint(x.in)
	return n, damagedEnd(err)
}

// bytes reads a length and as many bytes into buf, which bounds them.
func (x *ImageReader) bytes(buf []byte) ([]byte, error) {
	n, err := x.number()
	if err == nil && n > uint64(len(buf)) {
		err = fmt.Errorf("%w: a length of %d, where %d is the most", ErrDamaged, n, len(buf))
	}
	if err != nil {
		return nil, err
	}
	_, err = io.ReadFull(x.in, buf[:n])
	return buf[:n], damagedEnd(err)
}

func (x *ImageReader) value() ([]byte, error) { return x.long(store.MaxValue, "a value") }

// long reads a length and as many bytes, whose memory grows only with what really comes. They are valid until the next
// call.
func (x *ImageReader) long(most uint64, what string) ([]byte, error) {
	n, err := x.number()
	if err == nil && n > most {
		err = fmt.Errorf("%w: %s of %d bytes", ErrDamaged, what, n)
	}
	x.buf = x.buf[:0]
	for err == nil && uint64(len(x.buf)) < n {
		at := len(x.buf)
		x.buf = append(x.buf, make([]byte, min(1<<16, int(n)-at))...)
		_, err = io.ReadFull(x.in, x.buf[at:])
	}
	return x.buf, damagedEnd(err)
}

// Load fills a store, which has no table but its own, and names its revision. progress is told of the rows so
// far, now and then, between changes. On an error the store is half filled. Load is called once.
func (x *ImageReader) Load(s store.Store, progress func(rows int64) error) error {
	rows, err := int64(0), error(nil)
	for last := store.Table(0); err == nil; {
		var name []byte
		if name, err = x.bytes(x.key[:255]); err != nil || len(name) == 0 {
			break
		}
		var t store.Table
		if t, err = s.CreateTable(string(name)); err == nil && t <= last {
			err = fmt.Errorf("%w: table %s has handle %d, after one of handle %d", ErrDiffers, name, t, last)
		}
		last = t
		if err == nil {
			rows, err = x.table(s, t, rows, progress)
		}
	}
	if err == nil {
		err = x.end(rows)
	}
	if err == nil {
		err = s.SetRevision(x.Revision)
	}
	if err != nil {
		return fmt.Errorf("load the image of block %d: %w", x.Revision, err)
	}
	return nil
}

func (x *ImageReader) table(s store.Store, t store.Table, rows int64, progress func(int64) error) (int64, error) {
	for {
		key, err := x.bytes(x.key[:])
		if err != nil || len(key) == 0 {
			return rows, err
		}
		value, err := x.value()
		if err == nil {
			err = s.Put(t, key, value)
		}
		if rows++; err == nil && rows%progressRows == 0 {
			err = progress(rows)
		}
		if err != nil {
			return rows, err
		}
	}
}

// end checks that all rows have come, and nothing after them.
func (x *ImageReader) end(rows int64) error {
	n, err := x.number()
	if err != nil {
		return err
	}
	if n != uint64(rows) {
		return fmt.Errorf("%w: it has %d rows, and says %d", ErrDamaged, rows, n)
	}
	switch _, err := x.in.ReadByte(); {
	case err == nil:
		return fmt.Errorf("%w: bytes behind its end", ErrDamaged)
	case !errors.Is(err, io.EOF):
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return nil
}
