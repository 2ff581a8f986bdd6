package badger

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/dgraph-io/badger/v4"

	"tarn/store"
	"tarn/store/lsm"
)

// snapshot implements lsm.Snapshot: a version, and a transaction that reads at it.
type snapshot struct {
	base    *Base
	version uint64
	txn     *badger.Txn
	closed  atomic.Bool
}

// Snapshot implements lsm.Base.
func (b *Base) Snapshot() (lsm.Snapshot, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.snapshots[b.version]++
	return &snapshot{base: b, version: b.version, txn: b.db.NewTransactionAt(b.version, false)}, nil
}

func (s *snapshot) Get(dst, key []byte) ([]byte, error) { return s.base.get(s.txn, dst, key) }

func (s *snapshot) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	s.txn.Discard()
	b := s.base
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.snapshots[s.version]--; b.snapshots[s.version] == 0 {
		delete(b.snapshots, s.version)
		b.discardable()
	}
	return nil
}

// get appends the value at key to dst.
func (b *Base) get(txn *badger.Txn, dst, key []byte) ([]byte, error) {
	item, err := txn.Get(key)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return nil, store.ErrNotFound
	}
	if err != nil {
		if strings.Contains(err.Error(), "checksum") {
			err = b.asDamage(err)
		}
		return nil, fmt.Errorf("get %x: %w", key, err)
	}
	return b.appendValue(dst, item)
}

// appendValue appends an item's value. The library hands out no value, and no
// error, where it cannot read a large one.
func (b *Base) appendValue(dst []byte, item *badger.Item) ([]byte, error) {
	from := len(dst)
	err := item.Value(func(v []byte) error {
		dst = append(dst, v...)
		return nil
	})
	if err == nil && len(dst) == from && item.ValueSize() > 0 {
		err = b.asDamage(fmt.Errorf("the value of %x cannot be read: %w", item.Key(), b.logger.failure()))
	}
	if err != nil {
		return nil, err
	}
	return dst, nil
}
