package badger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/dgraph-io/badger/v4"
	"golang.org/x/sys/unix"

	"tarn/store/lsm"
)

// Batch implements lsm.Base.
func (b *Base) Batch(size int64) (lsm.Batch, error) {
	if err := b.failure(); err != nil {
		return nil, err
	}
	if err := b.roomToWrite(size); err != nil {
		return nil, err
	}
	if b.leftover {
		if err := b.takeBack(); err != nil {
			return nil, err
		}
	}
	return b.begin(), nil
}

func (b *Base) begin() *batch {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tried++
	w := &batch{base: b, version: b.tried}
	w.txn = b.db.NewTransactionAt(w.version, true)
	return w
}

// batch implements lsm.Batch: transactions at one version, one after the other,
// and the marker.
type batch struct {
	base    *Base
	version uint64
	txn     *badger.Txn
	memory  []byte // keys and values of the transaction, which the library does not copy
}

const batchMemory = 4 << 20

func (b *batch) Put(key, value []byte) error { return b.add(key, value, false) }
func (b *batch) Delete(key []byte) error     { return b.add(key, nil, true) }

func (b *batch) add(key, value []byte, remove bool) error {
	if len(b.memory) > 0 && len(b.memory)+len(key)+len(value) > batchMemory {
		if err := b.send(); err != nil {
			return err
		}
	}
	from := len(b.memory)
	b.memory = append(append(b.memory, key...), value...)
	key = b.memory[from : from+len(key) : from+len(key)]
	value = b.memory[from+len(key):]
	err := b.change(key, value, remove)
	if errors.Is(err, badger.ErrTxnTooBig) {
		keep := append(append([]byte(nil), key...), value...)
		if err := b.send(); err != nil {
			return err
		}
		b.memory = append(b.memory, keep...)
		err = b.change(b.memory[:len(key):len(key)], b.memory[len(key):], remove)
	}
	if err != nil {
		return fmt.Errorf("add a row to a transaction: %w", err)
	}
	return nil
}

func (b *batch) change(key, value []byte, remove bool) error {
	if remove {
		return b.txn.Delete(key)
	}
	return b.txn.Set(key, value)
}

// send commits the transaction and begins the next, while there is room: others write to the disk,
// too, and a batch that is taken back was not announced.
func (b *batch) send() error {
	if err := b.base.roomToWrite(int64(len(b.memory))); err != nil {
		return err
	}
	return b.commit()
}

func (b *batch) commit() error {
	b.base.leftover = true
	err := b.txn.CommitAt(b.version, nil)
	b.txn = b.base.db.NewTransactionAt(b.version, true)
	if cap(b.memory) > 2*batchMemory {
		b.memory = nil
	}
	b.memory = b.memory[:0]
	if err != nil {
		return fmt.Errorf("commit a transaction: %w", err)
	}
	return nil
}

// Commit implements lsm.Batch. Before the marker is written, all rows are either
// in tables or, in front of it, in the same log: damage to a log can then not
// take rows away and leave the marker.
func (b *batch) Commit() error {
	defer b.txn.Discard()
	base := b.base
	if err := b.send(); err != nil {
		return err
	}
	if err := base.settle(); err != nil {
		return err
	}
	if err := base.sync(); err != nil {
		return base.fail(err)
	}
	marker := binary.LittleEndian.AppendUint64(nil, b.version)
	if err := b.add(markerKey, marker, false); err != nil {
		return base.fail(err)
	}
	// From here on the flush may be durable, whatever happens.
	if err := b.commit(); err != nil {
		return base.fail(err)
	}
	if err := base.sync(); err != nil {
		return base.fail(err)
	}
	if err := base.settle(); err != nil {
		return base.fail(err)
	}
	base.mu.Lock()
	base.version, base.leftover = b.version, false
	base.discardable()
	base.mu.Unlock()
	return nil
}

// Discard implements lsm.Batch. What was sent stays above the marker, and is taken
// back before the next batch, which would show it.
func (b *batch) Discard() { b.txn.Discard() }

// settle waits until the library has written out every memtable but the one that
// it is filling.
func (b *Base) settle() error {
	const patience = time.Minute
	start := time.Now()
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		logs, err := filepath.Glob(filepath.Join(b.folder.Path(), "*.mem"))
		if err != nil {
			return err
		}
		if len(logs) <= 1 {
			return nil
		}
		if time.Since(start) > patience {
			return fmt.Errorf("%d memtables wait to be written out for %v: %w", len(logs), patience, b.logger.failure())
		}
		time.Sleep(wait)
	}
}

// sync makes every log durable, and the names of all files. The library's own
// Sync leaves out memtables that wait.
func (b *Base) sync() error {
	entries, err := os.ReadDir(b.folder.Path())
	if err != nil {
		return fmt.Errorf("sync the logs: %w", err)
	}
	for _, e := range entries {
		if x := filepath.Ext(e.Name()); x != ".mem" && x != ".vlog" {
			continue
		}
		err := syncFile(filepath.Join(b.folder.Path(), e.Name()))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("sync the logs: %w", err)
		}
	}
	return syncFile(b.folder.Path())
}

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	if err := unix.Fsync(int(f.Fd())); err != nil {
		return errors.Join(&os.PathError{Op: "fsync", Path: path, Err: err}, f.Close())
	}
	return f.Close()
}
