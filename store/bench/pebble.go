package bench

import (
	"errors"
	"io"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
)

// barePebble is Pebble as its users use it: one write of a batch for a block, not
// synced.
type barePebble struct {
	db *pebble.DB
}

func openPebble(dir string, b budget) (subject, error) {
	o := &pebble.Options{
		CacheSize:                   b.blocks() + 2*b.memtable(), // it charges its memtables to the cache
		MemTableSize:                uint64(b.memtable()),
		MemTableStopWritesThreshold: 2,
		L0CompactionThreshold:       2,
		L0StopWritesThreshold:       24,
		LBaseMaxBytes:               64 << 20,
		CompactionConcurrencyRange:  func() (int, int) { return 1, 2 },
		MaxOpenFiles:                1000,
		FormatMajorVersion:          pebble.FormatValueSeparation,
		Logger:                      quiet{pebble.DefaultLogger},
	}
	o.TargetFileSizes[0] = 8 << 20
	for i := range o.Levels {
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(bloomBits)
	}
	o.Experimental.ReadSamplingMultiplier = -1
	o.EnsureDefaults()
	db, err := pebble.Open(dir, o)
	if err != nil {
		return nil, err
	}
	return &barePebble{db}, nil
}

// quiet is Pebble's logger without its account of every compaction.
type quiet struct{ pebble.Logger }

func (quiet) Infof(string, ...any) {}

func (p *barePebble) Apply(b *batch) error { return p.Append(b, batchRows) }

func (p *barePebble) Append(b *batch, n int) error {
	w := p.db.NewBatchWithSize(n * (KeySize + ValueSize + 8))
	for i := range n {
		if err := w.Set(b.keys[i][:], b.values[i][:], nil); err != nil {
			return errors.Join(err, w.Close())
		}
	}
	return errors.Join(w.Commit(pebble.NoSync), w.Close())
}

// Settle syncs the log, and with it all that was written before.
func (p *barePebble) Settle() error { return p.db.LogData(nil, pebble.Sync) }

func (p *barePebble) Close() error { return p.db.Close() }

// Reader returns the database itself: for single reads a snapshot would only add
// to them.
func (p *barePebble) Reader() (reader, error) { return &pebbleReader{db: p.db}, nil }

type pebbleReader struct {
	db   *pebble.DB
	last io.Closer
}

func (r *pebbleReader) Get(key []byte) ([]byte, error) {
	if r.last != nil {
		if err := r.last.Close(); err != nil {
			return nil, err
		}
		r.last = nil
	}
	v, c, err := r.db.Get(key)
	r.last = c
	return v, err
}

func (r *pebbleReader) Cursor() (cursor, error) {
	it, err := r.db.NewIter(nil)
	if err != nil {
		return nil, err
	}
	return pebbleCursor{it}, nil
}

func (r *pebbleReader) Close() error {
	if r.last == nil {
		return nil
	}
	return r.last.Close()
}

type pebbleCursor struct{ *pebble.Iterator }

func (c pebbleCursor) Seek(key []byte) bool { return c.SeekGE(key) }
