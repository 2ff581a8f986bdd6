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
	f, path, err := l.fileOf(num)
	if err == nil && f == nil {
		err = ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	h, at, err := f.header(num)
	if err != nil {
		return nil, err
	}
	e := &Entry{ID: h.id, l: l, cuts: l.cuts}
	if e.from, err = l.fs.Open(path, false); err != nil {
		return nil, err
	}
	if e.in, err = openPayload(e.from, at+headerBytes, h.payload); err != nil {
		return nil, errors.Join(fmt.Errorf("read the history of block %d in %s: %w", num, path, err), e.from.Close())
	}
	e.Length = e.in.length
	return e, nil
}

// Read unpacks.
func (e *Entry) Read(b []byte) (int, error) {
	n, err := e.in.Read(b)
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

// Bytes unpacks all of an entry of at most so many bytes, and closes it.
func (e *Entry) Bytes(most int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(e, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("the history of block %d has more than %d bytes", number(e.ID), most)
	}
	return b, errors.Join(err, e.Close())
}
