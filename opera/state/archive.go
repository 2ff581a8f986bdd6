package state

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/ethereum/go-ethereum/common"

	"tarn/appendonly"
)

// ArchiveOptions say where an archive is. Each block is an entry of the log with the
// block's number: First is the number of the first block after the state that the chain
// began with, Need that after the store's head. The index' Log and Keys are set here.
type ArchiveOptions struct {
	Log   appendonly.LogOptions
	Index appendonly.IndexOptions
}

// Archive keeps what each block's changes replaced, so that older states can be read: all of
// them, or those of the last blocks if the owner calls Drop. It never has less than the
// store counts on, if the owner calls Sync before the store's meta page, and Cut after an
// open.
//
// Append and Cut are the writer's. Drop, Move and Settle are of one goroutine, beside the writer
// but for Cut. Sync, and what reads, are anybody's.
type Archive struct {
	log   *appendonly.Log
	index *appendonly.Index
}

// OpenArchive opens an archive, or makes one.
func OpenArchive(o ArchiveOptions) (*Archive, error) {
	log, err := appendonly.OpenLog(o.Log)
	if err != nil {
		return nil, fmt.Errorf("open the archive: %w", err)
	}
	o.Index.Log, o.Index.Keys = log, archiveKeys
	index, err := appendonly.OpenIndex(o.Index)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the archive: %w", err), log.Close())
	}
	a := &Archive{log: log, index: index}
	if err := index.Drop(); err != nil {
		return nil, errors.Join(fmt.Errorf("open the archive: %w", err), a.Close())
	}
	return a, nil
}

// archiveKey is under what the index has an account, or a slot of it: the first bytes of the
// hashes. Different ones may share it; the entry says which it was.
func archiveKey(b []byte, account common.Hash, slot *common.Hash) []byte {
	const part = 8
	b = append(b, account[:part]...)
	if slot != nil {
		b = append(b, slot[:part]...)
	}
	return b
}

// archiveKeys tells the index where in an entry each account and slot is.
func archiveKeys(_ uint64, entry []byte, emit func(key, value []byte)) error {
	var key, value [binary.MaxVarintLen64 + 16]byte
	at := func(rest []byte) []byte { return binary.AppendUvarint(value[:0], uint64(len(entry)-len(rest))) }
	for b := entry; len(b) != 0; {
		a, slots, rest, ok := takeValue(b)
		if !ok {
			return fmt.Errorf("%w at offset %d", errValues, len(entry)-len(b))
		}
		emit(archiveKey(key[:0], a.hash, nil), at(b))
		for b = rest; slots > 0; slots-- {
			s, rest, ok := takeSlot(b)
			if !ok {
				return fmt.Errorf("%w at offset %d", errValues, len(entry)-len(b))
			}
			emit(archiveKey(key[:0], a.hash, &s.hash), at(b))
			b = rest
		}
	}
	return nil
}

// Append adds a block, before it is published. Blocks come one after the other, without a
// gap.
func (a *Archive) Append(c *Changes) error {
	if next := a.log.Next(); c.Number != next {
		return fmt.Errorf("archive block %d: the next one is %d", c.Number, next)
	}
	entry := encodeValues(c.before())
	number, err := a.log.Append(entry)
	if err != nil {
		return fmt.Errorf("archive block %d: %w", c.Number, err)
	}
	return a.index.Add(number, entry)
}

// Sync makes durable what was appended: to be called before the store's meta page.
func (a *Archive) Sync() error { return a.log.Sync() }

// Settle tells that the store's image has the blocks up to head: they will not be cut any
// more, and may be sorted. It takes as long as writing some of them does, and may be called
// beside the writer, but not beside Cut and Drop.
func (a *Archive) Settle(head uint64) error { return a.index.Settle(head + 1) }

// Save is [appendonly.Index.Save], of the blocks up to head.
func (a *Archive) Save(head uint64) error { return a.index.Save(head + 1) }

// Cut forgets the blocks after the store's head, which is all that a crash leaves to do.
func (a *Archive) Cut(head uint64) error {
	return errors.Join(a.log.Cut(head+1), a.index.Cut(head+1))
}

// Drop forgets what is only needed for states before that of a block. Files go as wholes,
// so more may be left.
func (a *Archive) Drop(block uint64) error {
	return errors.Join(a.log.Drop(block+1), a.index.Drop())
}

// Move moves a segment of nothing but blocks up to head to the other folder, and tells whether
// there was one.
func (a *Archive) Move(head uint64) (bool, error) { return a.log.Move(head + 1) }

// Verify reads everything and reports what is not as it was written. Read, if not nil, is told
// how many bytes were read since the last time; its error ends this.
func (a *Archive) Verify(report func(error), read func(bytes int64) error) error {
	return errors.Join(a.log.Verify(report, read), a.index.Verify(report, read))
}

// ArchiveStats are an archive's figures.
type ArchiveStats struct {
	LogBytes int64 // of the log's files, written once
	Index    appendonly.IndexStats
}

// Stats may be called by any goroutine.
func (a *Archive) Stats() ArchiveStats {
	return ArchiveStats{LogBytes: a.log.Size(), Index: a.index.Stats()}
}

// Close closes the files; what was not synced may be lost.
func (a *Archive) Close() error { return errors.Join(a.index.Close(), a.log.Close()) }

// ErrNoState is returned for a block whose state is not kept.
var ErrNoState = errors.New("the state of this block is not kept")

// ErrFar is returned where a block is so old that more would have to be read than was
// allowed.
var ErrFar = errors.New("too much has changed since this block")

// Old is the state after a block that is not the newest. It is as safe for concurrent use
// as the newest state that it was made with.
type Old struct {
	archive      *Archive
	number, head uint64
	now          Source
	limit        int
	read         atomic.Pointer[changesOf] // last
}

// changesOf is an entry of the archive. It is never changed.
type changesOf struct {
	number uint64
	entry  []byte
}

var _ Source = (*Old)(nil)

// At returns the state after a block. Now is that of a block at or after it, head; limit is
// how many accounts and slots a walk of an account's slots may go through.
func (a *Archive) At(number, head uint64, now Source, limit int) (*Old, error) {
	if number > head || number+1 < a.log.First() || head >= a.log.Next() && head != number {
		return nil, fmt.Errorf("state of block %d at block %d: %w", number, head, ErrNoState)
	}
	return &Old{archive: a, number: number, head: head, now: now, limit: limit}, nil
}

// Account implements Source.
func (o *Old) Account(address common.Hash) (*Account, error) {
	var found *accountValue
	err := o.first(archiveKey(nil, address, nil), func(at []byte) bool {
		if a, _, _, ok := takeValue(at); ok && a.hash == address {
			found = &a
		}
		return found == nil
	})
	if err != nil {
		return nil, fmt.Errorf("account %x at block %d: %w", address, o.number, err)
	}
	if found == nil {
		return o.now.Account(address)
	}
	return found.account, nil
}

// Slot implements Source.
func (o *Old) Slot(address, slot common.Hash) (common.Hash, error) {
	var found *slotValue
	err := o.first(archiveKey(nil, address, &slot), func(at []byte) bool {
		if s, _, ok := takeSlot(at); ok && s.hash == slot {
			found = &s
		}
		return found == nil
	})
	if err != nil {
		return common.Hash{}, fmt.Errorf("slot %x of %x at block %d: %w", slot, address, o.number, err)
	}
	if found == nil {
		return o.now.Slot(address, slot)
	}
	return found.value, nil
}

// first calls each with what is at the places of a key in the entries after the block,
// oldest first, until it returns false.
func (o *Old) first(key []byte, each func(at []byte) bool) error {
	var failed error
	err := o.archive.index.Find(key, o.number+1, func(number uint64, value []byte) bool {
		if number > o.head {
			return false
		}
		entry, err := o.entry(number)
		if err != nil {
			failed = err
			return false
		}
		at, n := binary.Uvarint(value)
		if n <= 0 || at > uint64(len(entry)) {
			failed = fmt.Errorf("the archive's index places %x at %x of block %d", key, value, number)
			return false
		}
		return each(entry[at:])
	})
	return errors.Join(err, failed)
}

// entry reads what a block has changed. Many slots of a contract are often changed by one block, which may have
// changed many more: it is not read for each of them.
func (o *Old) entry(number uint64) ([]byte, error) {
	if last := o.read.Load(); last != nil && last.number == number {
		return last.entry, nil
	}
	entry, err := o.archive.log.Read(number, nil)
	if err != nil {
		return nil, err
	}
	o.read.Store(&changesOf{number, entry})
	return entry, nil
}

// Code implements Source: code stays for ever.
func (o *Old) Code(hash common.Hash) ([]byte, error) { return o.now.Code(hash) }

// Slots implements Source. It reads all changes since the block, up to the limit.
func (o *Old) Slots(address, from common.Hash, each func(Slot) bool) error {
	values, err := o.archive.since(context.Background(), o.number, o.head, o.limit)
	if err != nil {
		return err
	}
	old := values[address]
	more := true
	// Slots that are not there now come between those that are.
	between := func(to *common.Hash) {
		for more && old != nil && len(old.slots) != 0 && (to == nil || old.slots[0].hash.Cmp(*to) < 0) {
			if s := old.slots[0]; s.value != (common.Hash{}) && s.hash.Cmp(from) >= 0 {
				more = each(Slot{Hash: s.hash, Value: s.value})
			}
			old.slots = old.slots[1:]
		}
	}
	err = o.now.Slots(address, from, func(s Slot) bool {
		between(&s.Hash)
		if old != nil && len(old.slots) != 0 && old.slots[0].hash == s.Hash {
			s.Value, old.slots = old.slots[0].value, old.slots[1:]
		}
		if more && s.Value != (common.Hash{}) {
			more = each(s)
		}
		return more
	})
	between(nil)
	return err
}
