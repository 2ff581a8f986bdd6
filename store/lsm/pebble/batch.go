package pebble

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
)

// batch implements lsm.Batch. As long as it fits half a memtable it goes through
// the log. A larger one is written, in order as it comes, into tables beside the
// library's, which then takes them all up in one change of its list: its rows are
// written once, and a full disk is found while nothing depends on it yet.
type batch struct {
	base   *Base
	rows   *pebble.Batch
	tables []string
	out    *sstable.Writer // the table being written
	size   int64           // of its rows
}

const (
	tablePattern   = "batch-%d" // no name that the library knows
	tableBytes     = 32 << 20   // of rows in a table
	directCategory = "tarn-batch"
)

func (b *batch) Put(key, value []byte) error {
	if b.rows != nil {
		if err := b.rows.Set(key, value, nil); err != nil {
			return b.explain(err)
		}
		return b.spill()
	}
	return b.add(key, value, false)
}

func (b *batch) Delete(key []byte) error {
	if b.rows != nil {
		if err := b.rows.Delete(key, nil); err != nil {
			return b.explain(err)
		}
		return b.spill()
	}
	return b.add(key, nil, true)
}

// spill moves over to tables what has become too large for the log.
func (b *batch) spill() error {
	if b.rows.Len() < int(b.base.options.MemTableSize/2) {
		return nil
	}
	rows := b.rows
	b.rows = nil
	r := rows.Reader()
	for {
		kind, key, value, ok, err := r.Next()
		if err == nil && ok {
			err = b.add(key, value, kind == pebble.InternalKeyKindDelete)
		}
		if err != nil || !ok {
			return errors.Join(err, rows.Close())
		}
	}
}

// add appends a row to the tables.
func (b *batch) add(key, value []byte, remove bool) error {
	if b.out != nil && b.size >= tableBytes {
		if err := b.finish(); err != nil {
			return err
		}
	}
	if b.out == nil {
		if err := b.begin(); err != nil {
			return err
		}
	}
	b.size += int64(len(key) + len(value))
	if remove {
		return b.explain(b.out.Delete(key))
	}
	return b.explain(b.out.Set(key, value))
}

func (b *batch) begin() error {
	if err := b.base.failure(); err != nil {
		return err
	}
	path := filepath.Join(b.base.folder.Path(), fmt.Sprintf(tablePattern, len(b.tables)))
	f, err := b.base.files.Create(path, directCategory)
	if err != nil {
		return b.explain(err)
	}
	b.tables = append(b.tables, path)
	options := b.base.options.MakeWriterOptions(0, b.base.db.TableFormat())
	b.out, b.size = sstable.NewWriter(objstorageprovider.NewFileWritable(f), options), 0
	return nil
}

// finish ends a table; its bytes are durable.
func (b *batch) finish() error {
	out := b.out
	b.out = nil
	return b.explain(out.Close())
}

// Commit implements lsm.Batch.
func (b *batch) Commit() error {
	if b.rows != nil {
		if err := b.base.files.watch(func() error { return b.base.db.Apply(b.rows, pebble.Sync) }); err != nil {
			return b.explain(err)
		}
		return b.explain(b.rows.Close())
	}
	err := b.finish()
	if err == nil {
		err = b.explain(b.base.files.watch(func() error { return b.base.db.Ingest(context.Background(), b.tables) }))
	}
	if err != nil {
		b.Discard()
	}
	return err
}

// Discard implements lsm.Batch.
func (b *batch) Discard() {
	if b.rows != nil {
		b.rows.Close() //nolint:errcheck // it was never applied
		return
	}
	if b.base.files.failure() != nil {
		return // the library may be at work on them
	}
	if b.out != nil {
		b.out.Close() //nolint:errcheck // it is removed
	}
	for _, path := range b.tables {
		b.base.files.Remove(path) //nolint:errcheck // the next opening clears what is left
	}
	b.tables = nil
}

// explain adds to a failure whether it is the end.
func (b *batch) explain(err error) error {
	if err == nil {
		return nil
	}
	err = translate(b.base.folder.Path(), err)
	if failed := b.base.failure(); failed != nil {
		return fmt.Errorf("%w: %w", failed, err)
	}
	return err
}
