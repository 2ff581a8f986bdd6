package blocklog

import (
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"sync"

	"tarn/antelope/logcatalog"
	"tarn/antelope/types"
)

// Log is a block log that is open for appending. One goroutine appends; any number
// read beside it, and wait neither for the disk's syncs nor for each other.
//
// What a start repairs is an opening's. It has many methods still, because appending, reading,
// starting anew and letting go of blocks, in one file or in parts, keep one list of files true
// under one lock.
type Log struct {
	o    Options
	mode mode

	// writer is held by whoever changes files: a flush, a sync, a reset.
	writer sync.Mutex
	tail   *tail
	marked tailMark
	dirty  int64  // bytes written to the working log and not known durable
	punch  int64  // up to here the working log's blocks were given back
	room   []byte // of the batch that was written last, for the next one

	sums   sums      // of blocks that need not be checked
	stored *sumsFile // of those that were appended here

	// mu guards what follows. It is never held over a write or sync.
	mu       sync.RWMutex
	work     *segment // nil as long as there is no log
	end      int64    // of the entries in the working log's file
	written  uint32   // number of the last block in the working log's file; first-1 if none
	first    uint32   // first block of the working log that can be read
	pending  []pendingBlock
	waiting  int // bytes of pending
	head     link
	blocks   bool                          // whether there is a head
	durable  uint32                        // all blocks up to this number are durable
	retained *logcatalog.Catalog[*segment] // finished partitions; it guards itself
	chain    types.Checksum256             // of those
	failed   error
	closed   bool

	recovery Recovery
}

// pendingBlock is a block that was appended and is not in the file yet.
type pendingBlock struct {
	num    uint32
	data   []byte
	record [sumBytes]byte // of its checksum
}

// waitingMax is how much may wait for a sync that is under way before Append waits
// for it too.
const waitingMax = 64 << 20

// Recovery is what opening found to be repaired.
type Recovery struct {
	CutBytes  int64  // of the log's end
	CutFile   string // where they were kept; "" if there were none
	Index     bool   // whether blocks.index was repaired
	Rebuilt   bool   // whether it was written anew
	Converted bool   // whether the log was pruned or vacuumed to fit the options
}

// Recovery tells what Open had to repair.
func (l *Log) Recovery() Recovery { return l.recovery }

// Head returns the number and id of the last block; ok is false if there is none.
func (l *Log) Head() (num uint32, id types.Checksum256, ok bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.head.num, l.head.id, l.blocks
}

// First returns the number of the first block from which on all up to the head can be
// read. Partitions before a gap, which a change of the options may have left, are read by
// number only. In a log without blocks it is the number that the first one must have, 0
// before any reset.
func (l *Log) First() uint32 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.mode == empty && l.blocks {
		return l.head.num
	}
	return l.retained.Behind(l.first)
}

// Durable returns the number of the last block that is known to survive a power
// cut, 0 if none is.
func (l *Log) Durable() uint32 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.durable
}

// ChainID returns the id of the log's chain; ok is false before any reset.
func (l *Log) ChainID() (id types.Checksum256, ok bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.work == nil {
		return id, false
	}
	return l.work.preamble.ChainID, true
}

// Version returns the format version of the working log, 0 if there is none.
func (l *Log) Version() uint32 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.work == nil {
		return 0
	}
	return l.work.preamble.Version
}

// Append adds a packed block, which must not change afterwards. Its number must
// follow the head's. After an error nothing is appended any more, unless the error
// is of the block itself (block_log_append_fail).
func (l *Log) Append(num uint32, id types.Checksum256, block []byte) error {
	sum := crc32.Checksum(block, castagnoli)
	l.mu.Lock()
	err := l.accept(num, id, block, sum)
	if err == nil && l.mode != empty {
		l.sums.set(num, sum)
	}
	busy := l.waiting > waitingMax
	full := l.waiting > l.o.BufferBytes
	l.mu.Unlock()
	if err != nil || l.mode == empty || !full {
		return err
	}
	if busy {
		l.writer.Lock()
	} else if !l.writer.TryLock() {
		return nil // who holds it flushes
	}
	defer l.yield()
	if err := l.flush(); err != nil {
		return err
	}
	if l.dirty >= l.o.SyncBytes {
		return l.sync()
	}
	return nil
}

// accept takes a block in. The caller holds mu.
func (l *Log) accept(num uint32, id types.Checksum256, block []byte, sum uint32) error {
	switch {
	case l.closed:
		return ErrClosed
	case l.failed != nil:
		return l.failed
	case l.mode == empty:
		l.head, l.blocks = link{num: num, id: id}, true
		l.durable = num // nothing that could be lost
		return nil
	case l.work == nil:
		return fault(NotNext,
			"Cannot append to block log until the genesis is first written")
	case num != l.next():
		return fault(NotNext,
			"Append to index file occuring at wrong position. block %d, expected %d", num, l.next())
	}
	if is, ok := blockNumber(block); !ok || is != num || len(block) > maxBlockBytes {
		return fault(NotNext, "what is appended is not block %d", num)
	}
	p := pendingBlock{num: num, data: block}
	appendSum(p.record[:0], &id, sum)
	l.pending = append(l.pending, p)
	l.waiting += len(block) + positionBytes
	l.head, l.blocks = link{num: num, id: id}, true
	return nil
}

// next is the number of the block that can be appended. The caller holds mu.
func (l *Log) next() uint32 { return l.written + uint32(len(l.pending)) + 1 }

// Flush hands everything that was appended to the kernel.
func (l *Log) Flush() error {
	l.writer.Lock()
	defer l.yield()
	if err := l.usable(); err != nil {
		return err
	}
	return l.flush()
}

// yield lets the next writer have its turn. Who appended meanwhile and found it taken
// relies on it: what waits is written before the files are left alone.
func (l *Log) yield() {
	for {
		l.writer.Unlock()
		l.mu.RLock()
		left := len(l.pending) > 0 && l.waiting > l.o.BufferBytes && l.failed == nil && !l.closed
		l.mu.RUnlock()
		if !left || !l.writer.TryLock() {
			return
		}
		if l.flush() != nil { // the next call returns it
			l.writer.Unlock()
			return
		}
	}
}

// Sync makes all blocks up to a number durable, and what else was appended before. If
// they are it does nothing. Blocks may be appended meanwhile.
//
// After an error the log takes nothing more: a sync that failed is not tried again
// as if it could still cover what the first one lost.
func (l *Log) Sync(upTo uint32) error {
	l.mu.RLock()
	head, blocks := l.head.num, l.blocks
	l.mu.RUnlock()
	if l.mode == empty {
		return nil
	}
	if upTo > head || !blocks {
		return fmt.Errorf("sync block log up to block %d: its head is block %d", upTo, head)
	}
	l.writer.Lock()
	defer l.yield()
	if err := l.usable(); err != nil {
		return err
	}
	if upTo <= l.durable { // changes only under writer
		return nil
	}
	if err := l.flush(); err != nil {
		return err
	}
	if err := l.sync(); err != nil {
		return err
	}
	return l.flush()
}

func (l *Log) usable() error {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.closed {
		return ErrClosed
	}
	return l.failed
}

// fail remembers the first failure and returns it.
func (l *Log) fail(what string, err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed == nil {
		l.failed = fmt.Errorf("%s: %w: %w", what, err, ErrFailed)
		l.o.Logger.Error("block log takes no more blocks", "error", l.failed)
	}
	return l.failed
}

// sync makes durable what was flushed. The caller holds writer.
func (l *Log) sync() error {
	if l.work == nil || l.dirty == 0 {
		return nil
	}
	if err := l.work.log.Sync(); err != nil {
		return l.fail("sync "+l.work.base.Log(), err)
	}
	if err := l.work.index.Sync(); err != nil {
		return l.fail("sync "+l.work.base.Index(), err)
	}
	if err := l.stored.sync(); err != nil {
		return l.fail("sync block log", err)
	}
	m := tailMark{first: l.work.preamble.First, next: l.written + 1, durable: l.end, record: l.tail.records,
		kept: l.first}
	if m.record >= tailRestart {
		m.record = 0
	}
	if err := l.mark(m); err != nil {
		return err
	}
	l.giveBack()
	if l.mode != partitioned {
		return nil
	}
	if err := l.retained.LetGo(l.o.needed()); err != nil {
		return l.fail("let finished block logs go", err)
	}
	return nil
}

// mark says in the tail's file what is durable. The caller holds writer.
func (l *Log) mark(m tailMark) error {
	if err := l.tail.mark(m); err != nil {
		return l.fail("sync block log", err)
	}
	l.marked, l.dirty = m, 0
	l.mu.Lock()
	defer l.mu.Unlock()
	l.durable = m.next - 1
	if m.next == m.first && l.retained.Len() == 0 {
		l.durable = 0
	}
	return nil
}

// Close makes everything durable and closes the files. Readers that are under way
// finish first. A log that has failed is only closed.
func (l *Log) Close() error {
	l.writer.Lock()
	defer l.writer.Unlock()
	l.mu.RLock()
	closed, failed := l.closed, l.failed
	l.mu.RUnlock()
	if closed {
		return nil
	}
	var err error
	if failed == nil && l.mode != empty {
		if err = l.flush(); err == nil {
			err = l.sync()
		}
	}
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	return errors.Join(err, l.shut(failed == nil && err == nil))
}

// shut closes the files, and removes the tail's where nothing is in doubt.
func (l *Log) shut(sound bool) error {
	var errs []error
	if l.work != nil {
		errs = append(errs, l.work.Close())
	}
	errs = append(errs, l.retained.Close(), l.stored.close())
	if l.tail != nil {
		errs = append(errs, l.tail.file.Close())
		if sound {
			errs = append(errs, removeFile(l.o.FS, l.tail.path), l.o.FS.SyncDir(l.o.Dir))
		}
		l.tail = nil
	}
	return errors.Join(errs...)
}

func (l *Log) tailPath() string { return filepath.Join(l.o.Dir, TailName) }
