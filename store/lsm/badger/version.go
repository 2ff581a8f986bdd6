package badger

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/dgraph-io/badger/v4"

	"tarn/store"
)

// markerKey is among the adapter's own keys; its value is the version u64,
// little-endian, that is whole.
var markerKey = []byte{0, 0, 0, 'v'}

// recover finds the version that is whole, and takes back what lies above it. Before
// anybody is told of that version, the logs that it may lie in are tables: their
// last sync may have failed.
func (b *Base) recover() error {
	txn := b.db.NewTransactionAt(math.MaxUint64, false)
	v, err := b.get(txn, nil, markerKey)
	txn.Discard()
	switch {
	case errors.Is(err, store.ErrNotFound): // nothing has been committed
	case err != nil:
		return fmt.Errorf("read the marker: %w", err)
	case len(v) != 8:
		return b.asDamage(fmt.Errorf("marker of %d bytes", len(v)))
	default:
		b.version = binary.LittleEndian.Uint64(v)
	}
	b.tried = max(b.db.MaxVersion(), b.version)
	if b.folder.New() {
		return nil
	}
	if err := b.folder.Check(b.current); err != nil || b.options.ReadOnly {
		return err
	}
	if err := b.settle(); err != nil {
		return fmt.Errorf("write out the logs of the process before: %w", err)
	}
	b.db.SetDiscardTs(b.version)
	if b.leftover = b.tried > b.version; b.leftover {
		return b.takeBack()
	}
	return nil
}

// current reads at the version that is whole.
func (b *Base) current(key []byte) ([]byte, error) {
	txn := b.db.NewTransactionAt(b.version, false)
	defer txn.Discard()
	return b.get(txn, nil, key)
}

// takeBack writes, for every row of an interrupted flush, what it was before, at
// a version above all that were used. Until the marker of that one is durable,
// the interrupted flush stays above the marker, and this can be done again.
func (b *Base) takeBack() error {
	top := b.tried
	w := b.begin()
	err := b.eachAbove(b.version, top, func(key []byte) error {
		old, err := b.current(key)
		if errors.Is(err, store.ErrNotFound) {
			return w.Delete(key)
		}
		if err != nil {
			return err
		}
		return w.Put(key, old)
	})
	if err == nil {
		err = w.Commit()
	} else {
		w.Discard()
	}
	if err != nil {
		return fmt.Errorf("take back an interrupted flush: %w", err)
	}
	return nil
}

// eachAbove calls fn for each key that has a version above one, up to another.
func (b *Base) eachAbove(version, top uint64, fn func(key []byte) error) error {
	txn := b.db.NewTransactionAt(top, false)
	defer txn.Discard()
	it := txn.NewIterator(badger.IteratorOptions{AllVersions: true, SinceTs: version})
	defer it.Close() // it holds memtables, for which Commit waits
	var last []byte
	for it.Rewind(); it.Valid(); it.Next() {
		key := it.Item().Key()
		if bytes.Equal(key, markerKey) || bytes.Equal(key, last) {
			continue
		}
		last = append(last[:0], key...)
		if err := fn(last); err != nil {
			return err
		}
	}
	return nil
}

// discardable tells the library which versions nobody can read any more. The
// caller holds mu.
func (b *Base) discardable() {
	oldest := b.version
	for v := range b.snapshots {
		oldest = min(oldest, v)
	}
	b.db.SetDiscardTs(oldest)
}
