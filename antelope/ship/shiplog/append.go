package shiplog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"tarn/antelope/types"
)

// Append adds the entry of a block, which write packs; prev is the id of the block
// before. A block that the log has is left as it is. One in the place of another takes
// that one away, with all that follow (Leap: state_history_log::write_entry).
//
// An entry that cannot follow is refused with ErrMissed. What was appended is durable
// after the next Sync.
func (l *Log) Append(id, prev types.Checksum256, write func(io.Writer) error) error {
	if l.failed != nil {
		return l.failed
	}
	num := number(id)
	has, err := l.makeRoom(num, id, prev)
	if err != nil || has {
		return err
	}
	if err := l.append(num, id, write); err != nil {
		return l.fail(fmt.Errorf("append block %d to %s: %w", num, l.o.logPath(), err))
	}
	return l.retire(num)
}

// makeRoom takes back what the entry of a block would replace, and tells whether the
// block is there already.
func (l *Log) makeRoom(num uint32, id, prev types.Checksum256) (has bool, err error) {
	l.mu.RLock()
	first, end := l.bounds()
	l.mu.RUnlock()
	if first == end {
		return false, nil
	}
	switch {
	case num > end:
		return false, fmt.Errorf("%w in %s: block %d follows %d (delete the history, or restore the blocks from "+
			"before and replay)", ErrMissed, l.o.logPath(), num, end-1)
	case num < first: // it is recorded from a later block on
		return true, nil
	case num < end:
		old, ok, err := l.ID(num)
		if err == nil && ok && Near(old, id) {
			old, err = id, l.CorrectID(num, id)
		}
		if err != nil || ok && old == id {
			return true, err
		}
	}
	if num > first {
		before, ok, err := l.ID(num - 1)
		if err == nil && ok && Near(before, prev) {
			before, err = prev, l.CorrectID(num-1, prev)
		}
		if err != nil {
			return false, err
		}
		if ok && before != prev {
			return false, fmt.Errorf("%w in %s: block %d follows %s, which is not %s",
				ErrMissed, l.o.logPath(), num, before, prev)
		}
	}
	if num == end {
		return false, nil
	}
	l.o.Logger.Info(fmt.Sprintf("fork or replay: removed %d blocks from %s.log", end-num, l.o.Name))
	return false, l.truncate(num)
}

// append writes an entry after the last one.
func (l *Log) append(num uint32, id types.Checksum256, write func(io.Writer) error) error {
	f := l.live
	w := newEntryWriter(f.log, f.size, l.z)
	if err := write(w); err != nil {
		return err
	}
	var more []byte
	pruned := false
	if l.o.Retain > 0 {
		pruned = f.empty()
		more = binary.LittleEndian.AppendUint32(nil, f.end-f.first+1)
		if pruned {
			more = binary.LittleEndian.AppendUint32(nil, 1)
		}
	}
	span, err := w.finish(id, pruned, more)
	if err != nil {
		return err
	}
	if f.empty() {
		f.base = num
	}
	if err := f.setPosition(num, f.size); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if f.empty() {
		f.first = num
	}
	f.end, f.size, l.last = num+1, f.size+span, id
	l.stats.Written += uint64(span) + uint64(len(more))
	l.stats.Entries++
	return nil
}

func (f *file) setPosition(num uint32, at int64) error {
	var b [indexBytes]byte
	binary.LittleEndian.PutUint64(b[:], uint64(at))
	_, err := f.index.WriteAt(b[:], int64(num-f.base)*indexBytes)
	return err
}

// truncate takes back the entries from a block on.
func (l *Log) truncate(num uint32) error {
	for l.parts.Len() > 0 && (l.live.empty() || num <= l.live.base) && num <= l.parts.Newest().Last {
		if err := l.restorePart(); err != nil {
			return l.fail(fmt.Errorf("take back blocks from %d on: %w", num, err))
		}
	}
	f := l.live
	at := int64(0)
	if num > f.first {
		h, before, err := f.header(num - 1) // which stays: it tells better than an index where it ends
		if err != nil {
			return err
		}
		at = before + h.span()
	}
	// What is promised to be durable must not be replaced.
	if at < l.mark.size {
		m, err := l.markAt(at, num)
		if err == nil {
			err = l.setMark(m)
		}
		if err != nil {
			return l.fail(err)
		}
	}
	l.mu.Lock()
	f.end, f.size = max(num, f.first), at
	if at == 0 {
		f.end = f.first
	}
	l.cuts++
	l.last = types.Checksum256{}
	l.mu.Unlock()
	size := at
	if f.pruned = l.o.Retain > 0; f.pruned && !f.empty() {
		if _, err := f.log.WriteAt(binary.LittleEndian.AppendUint32(nil, f.end-f.first), at); err != nil {
			return l.fail(err)
		}
		size += countBytes
	}
	if err := errors.Join(f.log.Truncate(size), f.index.Truncate(int64(f.end-f.base)*indexBytes)); err != nil {
		return l.fail(err)
	}
	// What was there must be gone before other bytes come in its place: a power cut that tears
	// those could make an entry of both, with an id that no block has and a payload that is whole.
	if err := f.log.Sync(); err != nil {
		return l.fail(fmt.Errorf("take back blocks from %d on: %w", num, err))
	}
	if !f.empty() {
		h, _, err := f.header(f.end - 1)
		l.mu.Lock()
		l.last = h.id
		l.mu.Unlock()
		return err
	}
	return nil
}

// retire lets go of what is old, after the entry of a block.
func (l *Log) retire(num uint32) error {
	switch {
	case l.o.Retain > 0:
		return l.prune()
	case l.o.Partition != nil && num%l.o.Partition.Stride == 0:
		if err := l.split(); err != nil {
			return l.fail(fmt.Errorf("begin a new %s after block %d: %w", l.o.logPath(), num, err))
		}
	}
	return nil
}
