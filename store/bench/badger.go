package bench

import (
	"errors"

	"github.com/dgraph-io/badger/v4"
)

// bareBadger is Badger as its users use it: one write of a batch for a block, not
// synced.
type bareBadger struct {
	db *badger.DB
}

func openBadger(dir string, b budget) (subject, error) {
	o := badger.DefaultOptions(dir).
		WithLogger(nil).
		WithMetricsEnabled(false).
		WithBlockCacheSize(b.blocks()).
		WithMemTableSize(b.memtable()).
		WithNumMemtables(1). // that wait
		WithBaseTableSize(8 << 20).
		WithBaseLevelSize(64 << 20).
		WithNumCompactors(2).
		WithValueThreshold(64 << 10).
		WithNumVersionsToKeep(1).
		WithDetectConflicts(false)
	db, err := badger.Open(o)
	if err != nil {
		return nil, err
	}
	return &bareBadger{db}, nil
}

func (d *bareBadger) Apply(b *batch) error { return d.Append(b, batchRows) }

func (d *bareBadger) Append(b *batch, n int) error {
	w := d.db.NewWriteBatch()
	defer w.Cancel()
	for i := range n {
		// The batch keeps what it is given until it is flushed, and a row may
		// come twice.
		if err := w.Set(b.keys[i][:], b.values[i][:]); err != nil {
			return err
		}
	}
	return w.Flush()
}

// Settle syncs the logs.
func (d *bareBadger) Settle() error { return d.db.Sync() }

func (d *bareBadger) Close() error { return d.db.Close() }

func (d *bareBadger) Reader() (reader, error) {
	return &badgerReader{txn: d.db.NewTransaction(false)}, nil
}

type badgerReader struct {
	txn   *badger.Txn
	value []byte
}

func (r *badgerReader) Get(key []byte) ([]byte, error) {
	item, err := r.txn.Get(key)
	if err != nil {
		return nil, err
	}
	r.value, err = item.ValueCopy(r.value)
	return r.value, err
}

func (r *badgerReader) Close() error {
	r.txn.Discard()
	return nil
}

func (r *badgerReader) Cursor() (cursor, error) {
	return &badgerCursor{it: r.txn.NewIterator(badger.DefaultIteratorOptions)}, nil
}

type badgerCursor struct {
	it    *badger.Iterator
	value []byte
	err   error
}

func (c *badgerCursor) Seek(key []byte) bool {
	c.it.Seek(key)
	return c.it.Valid()
}

func (c *badgerCursor) Next() bool {
	c.it.Next()
	return c.it.Valid()
}

func (c *badgerCursor) Key() []byte { return c.it.Item().Key() }

func (c *badgerCursor) Value() []byte {
	var err error
	c.value, err = c.it.Item().ValueCopy(c.value)
	c.err = errors.Join(c.err, err)
	return c.value
}

func (c *badgerCursor) Close() error {
	c.it.Close()
	return c.err
}
