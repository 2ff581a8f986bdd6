package appendonly

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"tarn/store/vfs"
)

// Cut forgets the entries from next on, for good: when it returns nil that is durable, and
// the next entry gets that number. A log that has no more is left alone.
func (l *Log) Cut(next uint64) error {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil {
		return l.failed
	}
	if next >= l.next() {
		return nil
	}
	if next < l.segments[0].first {
		return fmt.Errorf("cut %s before entry %d: it begins with %d", l.o.Dir, next, l.segments[0].first)
	}
	return l.fail(l.cut(next))
}

func (l *Log) cut(next uint64) error {
	err := l.flush(l.last())
	if err == nil {
		err = l.noteCut(next)
	}
	if err != nil {
		return err
	}
	err = l.file.Close()
	l.file = nil
	if err != nil {
		return err
	}
	// From the newest on, so that a crash leaves a shorter log.
	for len(l.segments) > 1 && l.last().first >= next {
		if err := l.remove(l.last()); err != nil {
			return err
		}
		l.segments = l.segments[:len(l.segments)-1]
	}
	s := l.last()
	if err := l.files.Forget(s.path()); err != nil {
		return err
	}
	f, err := l.o.FS.Open(s.path(), true)
	if err != nil {
		return err
	}
	l.file = f
	if s.finished {
		if s.offsets, err = readOffsets(f, s); err != nil {
			return err
		}
		s.finished = false
	}
	if keep := next - s.first; keep < s.count {
		s.end = int64(s.offsets[keep])
		s.offsets, s.count = s.offsets[:keep], keep
	}
	if err := f.Truncate(s.end); err != nil {
		return fmt.Errorf("cut %s at %d: %w", s.path(), s.end, err)
	}
	// Before anything is written there again: what was cut must not come back behind it.
	return f.Sync()
}

// readOffsets reads a finished segment's table and checks what is around it.
func readOffsets(f vfs.File, s *segment) ([]uint32, error) {
	raw := make([]byte, 4+4*s.count+trailerSize)
	if err := vfs.ReadFull(f, raw, s.table-4); err != nil {
		return nil, err
	}
	offsets := make([]uint32, s.count)
	for i := range offsets {
		offsets[i] = binary.LittleEndian.Uint32(raw[4+4*i:])
	}
	if !bytes.Equal(raw, appendFinish(nil, s.end, offsets)) {
		return nil, corrupt(s.path(), s.table-4, "checksum of the offsets")
	}
	return offsets, nil
}

// Drop removes the finished segments that have nothing but entries before a number.
func (l *Log) Drop(before uint64) error {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil {
		return l.failed
	}
	n := 0
	for n < len(l.segments)-1 && l.segments[n+1].first <= before {
		n++
	}
	if n == 0 {
		return nil
	}
	keep := l.segments[n]
	if err := l.writeBegin(beginning{keep.sequence, keep.first}); err != nil {
		return l.fail(err)
	}
	l.segments = l.segments[n:]
	return l.fail(l.removeBefore(keep.sequence))
}

// removeBefore removes the segments that the log does not begin with any more. The oldest
// goes first: a crash leaves some just before the first.
func (l *Log) removeBefore(sequence uint64) error {
	from := sequence
	for from > 1 {
		dir, err := l.where(from - 1)
		if err != nil {
			return err
		}
		if dir == "" {
			break
		}
		from--
	}
	for ; from < sequence; from++ {
		dir, err := l.where(from)
		if err != nil {
			return err
		}
		if err := l.remove(&segment{sequence: from, dir: dir}); err != nil {
			return err
		}
	}
	return nil
}

// Verify reads everything and reports what is not as it was written. Read, if not nil, is told
// how many bytes were read since the last time; its error ends this.
func (l *Log) Verify(report func(error), read func(bytes int64) error) error {
	l.mu.RLock()
	segments := append([]*segment(nil), l.segments...)
	l.mu.RUnlock()
	var buf []byte
	for _, s := range segments {
		l.mu.RLock()
		first, count, finished := s.first, s.count, s.finished
		l.mu.RUnlock()
		if finished {
			if err := l.verifyOffsets(s); err != nil {
				report(err)
			}
		}
		for number := first; number < first+count; number++ {
			entry, err := l.Read(number, buf[:0])
			if err != nil {
				report(err)
			} else {
				buf = entry
			}
			if read == nil {
				continue
			}
			if err := read(entryHead + int64(len(entry))); err != nil {
				return err
			}
		}
	}
	return nil
}

// verifyOffsets reads the table of a finished segment, which does not move meanwhile.
func (l *Log) verifyOffsets(s *segment) error {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.files.Use(s.path(), func(f vfs.File) error {
		_, err := readOffsets(f, s)
		return err
	})
}
