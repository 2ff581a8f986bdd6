package slicefile

import (
	"errors"
	"fmt"
	"io"

	"tarn/antelope/serial"
	"tarn/antelope/tracelog/clog"
	"tarn/antelope/tracelog/wire"
	"tarn/antelope/types"
	"tarn/store/vfs"
)

// MaxEntry bounds the entry of one block, in bytes.
const MaxEntry = 1 << 30

// Read returns what the transactions of a block did, and whether it is irreversible. take,
// unless nil, is asked before memory is taken, in bytes; its error is the answer.
func (l *Log) Read(num uint32, take func(bytes int64) error) (b *wire.Block, irreversible bool, err error) {
	if take == nil {
		take = func(int64) error { return nil }
	}
	// A slice may be compressed or removed in between.
	for range 3 {
		x, ok, err := l.lookup(num, func(t *table) spans { return t.traces })
		if err != nil {
			return nil, false, err
		}
		if !ok {
			return nil, false, ErrNotFound
		}
		raw, gone, err := l.readEntry(num, x, take)
		if err != nil {
			return nil, false, fmt.Errorf("read the traces of block %d: %w", num, corrupt(err))
		}
		if gone {
			continue
		}
		b := new(wire.Block)
		r := serial.NewReader(raw)
		b.Read(r)
		err = r.Err()
		if err == nil {
			err = l.checkConsistent(num, x, b)
		}
		if err != nil {
			return nil, false, fmt.Errorf("%w: %s: offset %d: the traces of block %d: %w",
				ErrCorrupt, l.path(tracesPrefix, l.Slice(num), logSuffix), x.from, num, err)
		}
		return b, num <= l.Irreversible(), nil
	}
	return nil, false, fmt.Errorf("%w: %s is missing, and its index is there",
		ErrCorrupt, l.path(tracesPrefix, l.Slice(num), logSuffix))
}

// Where says where the traces of a block are, for a message.
func (l *Log) Where(num uint32) string {
	path := l.path(tracesPrefix, l.Slice(num), logSuffix)
	x, ok, err := l.lookup(num, func(t *table) spans { return t.traces })
	if err != nil || !ok {
		return path
	}
	return fmt.Sprintf("%s at offset %d, with %s", path, x.from, l.path(idsPrefix, l.Slice(num), logSuffix))
}

// readEntry reads an entry from a file of traces, compressed or not.
func (l *Log) readEntry(num uint32, x span, take func(int64) error) (b []byte, gone bool, err error) {
	gone, err = l.use(l.path(tracesPrefix, l.Slice(num), logSuffix), func(f vfs.File, size int64) error {
		to := x.to
		if to == toEnd {
			to = size
		}
		if x.from >= to || to > size {
			return fmt.Errorf("%w: an entry of block %d from offset %d to %d in a file of %d bytes",
				ErrCorrupt, num, x.from, to, size)
		}
		var err error
		b, err = readAll(io.NewSectionReader(f, x.from, to-x.from), to-x.from, take)
		return err
	})
	if !gone || err != nil {
		return b, false, err
	}
	gone, err = l.use(l.path(tracesPrefix, l.Slice(num), clogSuffix), func(f vfs.File, size int64) error {
		c, err := clog.NewReader(f, size)
		if err != nil {
			return err
		}
		z, err := c.At(x.from)
		if err != nil {
			return err
		}
		if x.to == toEnd {
			b, err = readRest(z, take)
		} else {
			b, err = readAll(z, x.to-x.from, take)
		}
		return errors.Join(err, z.Close())
	})
	return b, gone, err
}

func readAll(r io.Reader, size int64, take func(int64) error) ([]byte, error) {
	if size > MaxEntry {
		return nil, fmt.Errorf("%w: an entry of %d bytes", ErrCorrupt, size)
	}
	if err := take(size); err != nil {
		return nil, err
	}
	b := make([]byte, size)
	_, err := io.ReadFull(r, b)
	return b, err
}

// readRest reads to the end of a stream, whose length nothing tells.
func readRest(r io.Reader, take func(int64) error) ([]byte, error) {
	b := make([]byte, 0, 64<<10)
	if err := take(int64(cap(b))); err != nil {
		return nil, err
	}
	for {
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if errors.Is(err, io.EOF) {
			return b, nil
		}
		if err == nil && len(b) == cap(b) {
			if len(b) >= MaxEntry {
				return nil, fmt.Errorf("%w: an entry of more than %d bytes", ErrCorrupt, MaxEntry)
			}
			if err = take(int64(cap(b))); err == nil {
				b = append(make([]byte, 0, 2*cap(b)), b...)
			}
		}
		if err != nil {
			return nil, err
		}
	}
}

// IDs returns the ids of the transactions that have a receipt in a block; none of one
// that is not there.
func (l *Log) IDs(num uint32) ([]types.Checksum256, error) {
	x, ok, err := l.lookup(num, func(t *table) spans { return t.ids })
	if err != nil || !ok {
		return nil, err
	}
	var e wire.Entry
	_, err = l.use(l.path(idsPrefix, l.Slice(num), logSuffix), func(f vfs.File, _ int64) error {
		b, err := readAll(io.NewSectionReader(f, x.from, x.to-x.from), x.to-x.from, func(int64) error { return nil })
		if err != nil {
			return err
		}
		r := serial.NewReader(b)
		e.Read(r)
		if err = r.Err(); err == nil && e.Transactions == nil {
			err = serial.ErrValue
		}
		if err != nil {
			return fmt.Errorf("%w: offset %d: %w", ErrCorrupt, x.from, err)
		}
		if e.Transactions.Number != num {
			return fmt.Errorf("%w: offset %d: the ids of block %d, where those of %d belong",
				ErrCorrupt, x.from, e.Transactions.Number, num)
		}
		return nil
	})
	if err != nil || e.Transactions == nil { // none if the slice is gone
		return nil, err
	}
	return e.Transactions.IDs, nil
}
