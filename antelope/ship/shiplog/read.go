package shiplog

import (
	"errors"
	"fmt"
	"io"

	"tarn/antelope/types"
	"tarn/store/vfs"
)

// Entry is what a log has of a block. It may be read once, and must be closed.
type Entry struct {
	ID     types.Checksum256
	Length int64 // unpacked; -1 if an old log does not say it

	Path   string // of the file that has it
	Offset int64  // where in that file it begins, in bytes

	l    *Log
	cuts uint64
	from vfs.File // its own: the log's may be closed for another meanwhile
	in   *unpacked
}

// Read returns the entry of a block, ErrNotFound if there is none. A later Append may
// take the entry back: then reading fails with ErrNotFound.
func (l *Log) Read(num uint32) (*Entry, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	e := &Entry{l: l, cuts: l.cuts}
	err := l.use(num, func(f *file) error {
		h, at, err := f.header(num)
		if err != nil {
			return err
		}
		e.ID, e.Path, e.Offset = h.id, f.Log(), at
		if e.from, err = l.fs.Open(f.Log(), false); err != nil {
			return err
		}
		if e.in, err = openPayload(e.from, at+headerBytes, h.payload, &l.inflaters); err != nil {
			return errors.Join(e.wrong(err), e.from.Close())
		}
		e.Length = e.in.length
		return nil
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

// wrong is an error of an entry, with where it is.
func (e *Entry) wrong(err error) error {
	return fmt.Errorf("%s: offset %d: read the history of block %d: %w", e.Path, e.Offset, number(e.ID), err)
}

// Read unpacks. What is said of an entry that is damaged wraps ErrCorrupt.
func (e *Entry) Read(b []byte) (int, error) {
	n, err := e.in.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = e.wrong(err)
	}
	e.l.mu.RLock()
	defer e.l.mu.RUnlock()
	if e.l.cuts == e.cuts {
		return n, err
	}
	now, ok, failed := e.l.id(number(e.ID))
	if failed != nil || !ok || now != e.ID {
		return 0, errors.Join(ErrNotFound, failed)
	}
	e.cuts = e.l.cuts
	return n, err
}

// Close ends the reading.
func (e *Entry) Close() error { return errors.Join(e.in.Close(), e.from.Close()) }

// Fill unpacks a whole entry into b, which is as long as the entry.
func (e *Entry) Fill(b []byte) error { return e.FillPart(b, 0, int64(len(b))) }

// FillPart unpacks a part of an entry into b: what follows its first skip bytes. length is how long the entry is. A part
// that ends with the entry is right only if the stream is whole.
func (e *Entry) FillPart(b []byte, skip, length int64) error {
	n, err := io.CopyN(io.Discard, e, skip)
	if err == nil {
		var read int
		read, err = io.ReadFull(e, b)
		n += int64(read)
	}
	if err == nil && n < length {
		return nil
	}
	if err == nil {
		var more [1]byte // the end of the stream has a checksum, which is looked at there
		var over int
		if over, err = io.ReadFull(e, more[:]); errors.Is(err, io.EOF) {
			return nil
		}
		n += int64(over)
	}
	if err == nil || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return e.wrong(fmt.Errorf("%d bytes or more where %d are said: %w", n, length, ErrCorrupt))
	}
	return err
}
