package blocklog

import (
	"encoding/binary"

	"tarn/store/vfs"
)

const flushBytes = 4 << 20

// roomKept is how much memory of a batch is kept for the next one.
const roomKept = 2 << 20

// batch is what one flush writes.
type batch struct {
	blocks    []pendingBlock
	log       []byte
	index     []byte
	records   []byte
	sums      []byte
	end       int64 // of the entries, without a trailer
	first     uint32
	positions []int64
	split     bool // the last block ends a partition
}

// flush writes all that is pending. The caller holds writer.
func (l *Log) flush() error {
	for {
		b := l.gather()
		if len(b.blocks) == 0 {
			return nil
		}
		if err := l.write(&b); err != nil {
			return err
		}
		if l.room = b.log; cap(l.room) > roomKept {
			l.room = nil
		}
		if b.split {
			if err := l.split(); err != nil {
				return l.fail("split block log", err)
			}
		}
	}
}

// gather encodes the next pending blocks: not beyond the end of a partition, and
// not much more than flushBytes. The caller holds writer.
func (l *Log) gather() batch {
	l.mu.RLock()
	defer l.mu.RUnlock()
	b := batch{log: l.room[:0], end: l.end, first: l.first}
	stride := l.o.stride()
	for _, p := range l.pending {
		at := b.end
		from := len(b.log)
		b.log = append(b.log, p.data...)
		b.log = binary.LittleEndian.AppendUint64(b.log, uint64(at))
		b.index = binary.LittleEndian.AppendUint64(b.index, uint64(at))
		b.records = appendTailRecord(b.records, at, b.log[from:])
		b.sums = append(b.sums, p.record[:]...)
		b.end += int64(len(p.data)) + positionBytes
		b.blocks = append(b.blocks, p)
		b.positions = append(b.positions, at)
		if l.mode == pruned && at&^(l.o.PruneBytes-1) != b.end&^(l.o.PruneBytes-1) {
			if keep := *l.o.RetainBlocks; p.num-b.first >= keep {
				b.first = max(b.first, min(p.num-keep+1, l.o.needed()))
			}
		}
		if b.split = l.mode == partitioned && p.num%stride == 0; b.split || len(b.log) >= flushBytes {
			break
		}
	}
	if l.mode == pruned && len(b.blocks) > 0 {
		count := b.blocks[len(b.blocks)-1].num - b.first + 1
		b.log = binary.LittleEndian.AppendUint32(b.log, count)
	}
	return b
}

// write does a batch to the files, and makes it visible there. The checksums go
// first: an entry without one counts for nothing after a crash.
func (l *Log) write(b *batch) error {
	num := b.blocks[0].num
	if err := l.tail.write(b.records); err != nil {
		return l.fail("append to block log", err)
	}
	if _, err := l.work.log.WriteAt(b.log, l.end); err != nil {
		return l.fail("append to "+l.work.base.Log(), err)
	}
	if _, err := l.work.index.WriteAt(b.index, int64(num-l.work.preamble.First)*positionBytes); err != nil {
		return l.fail("append to "+l.work.base.Index(), err)
	}
	l.stored.add(num, b.sums)
	l.dirty += int64(len(b.log))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end = b.end
	l.written = b.blocks[len(b.blocks)-1].num
	l.first = b.first
	rest := copy(l.pending, l.pending[len(b.blocks):])
	clear(l.pending[rest:])
	l.pending = l.pending[:rest]
	l.waiting -= int(b.end - b.positions[0])
	return nil
}

// holePage is the unit in which file systems give space back.
const holePage = 4096

// giveBack punches out the blocks that a pruned log has no more, once the newer ones
// are durable: what a crash can take back must not leave the log with fewer blocks
// than it is to keep.
func (l *Log) giveBack() {
	if l.mode != pruned || l.first > l.written {
		return
	}
	to, err := l.work.place(l.first)
	if err == nil {
		l.punch, err = punchOut(l.work.log, max(l.work.start, l.punch), to)
	}
	if err != nil {
		l.o.Logger.Warn("could not give back space of the block log", "error", err)
		return
	}
	l.o.Logger.Debug("blocks.log pruned", "first", l.first, "head", l.written)
}

// punchOut makes a hole of the whole pages between two offsets, and returns up to
// where there is nothing left.
func punchOut(f vfs.File, from, to int64) (int64, error) {
	from = (from + holePage - 1) / holePage * holePage
	to = to / holePage * holePage
	if from >= to {
		return from, nil
	}
	return to, f.Punch(from, to-from)
}
