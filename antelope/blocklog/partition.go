package blocklog

import (
	"errors"
	"fmt"

	"tarn/antelope/logcatalog"
	"tarn/antelope/types"
)

// openRetained makes the directories of a partitioned log and lists what they have, also the
// partitions in the archive that a start may ask for.
func (l opening) openRetained() error {
	x := &inspection{fs: l.o.FS, log: l.o.Logger, now: l.o.Now}
	c, err := logcatalog.OpenCatalog(logcatalog.Options{
		FS: l.o.FS, Name: logName, Retained: l.o.retainedDir(), Archive: l.o.archiveDir(), Most: l.o.maxRetained(),
		Logger: l.o.Logger,
	}, x.look, l.openPart)
	if err != nil {
		return err
	}
	l.retained, l.recovery.Index, l.recovery.Rebuilt = c, x.rebuilt, x.rebuilt
	if l.o.Needed != nil {
		err = c.Recall(l.o.needed(), x.look)
	}
	l.chain = x.chain
	return err
}

// split ends a partition with the last block written and begins the next. The old
// names are durable before new files take them.
func (l *Log) split() error {
	if err := l.sync(); err != nil {
		return err
	}
	base, old := workingBase(l.o.Dir), l.work
	if err := l.retained.Finish(base, old.preamble.First, l.written); err != nil {
		return err
	}
	p := newPreamble(l.written+1, nil, old.preamble.ChainID)
	if err := createLog(l.o.FS, base, p); err != nil {
		return err
	}
	seg, err := openSegment(l.o.FS, base, true)
	if err != nil {
		return err
	}
	l.chain = p.ChainID
	l.mu.Lock()
	l.work, l.end, l.first = seg, seg.start, p.First
	l.mu.Unlock()
	if err := old.Close(); err != nil {
		return err
	}
	if err := l.settleFiles(); err != nil {
		return err
	}
	return l.retained.LetGo(l.o.needed())
}

// Truncate removes all blocks after a number, durably. Everything after it can be
// appended again. It fails if the log does not reach that far back; with the number
// before its first block it leaves the log empty.
func (l *Log) Truncate(last uint32) error {
	l.writer.Lock()
	defer l.writer.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	if l.mode == empty || l.work == nil || last < l.First()-1 {
		return fmt.Errorf("truncate block log after block %d: %w", last, ErrNotFound)
	}
	if err := l.flush(); err != nil {
		return err
	}
	if last >= l.written {
		return nil
	}
	if err := l.sync(); err != nil {
		return err
	}
	if last < l.work.preamble.First-1 {
		if err := l.reviveRetained(last); err != nil {
			return l.fail("truncate block log", err)
		}
	}
	if err := l.truncate(last); err != nil {
		return l.fail("truncate block log", err)
	}
	return nil
}

// reviveRetained makes the partition that has a block the working log again, and
// deletes those after it.
func (l *Log) reviveRetained(last uint32) error {
	for l.retained.Len() > 0 {
		p := l.retained.Newest()
		if p.Last <= last {
			break
		}
		if p.First <= last || l.retained.Len() == 1 {
			return l.revive(p)
		}
		if err := l.retained.Remove(p); err != nil {
			return err
		}
	}
	return l.begin(newPreamble(last+1, nil, l.work.preamble.ChainID))
}

// revive makes the newest partition the working log again.
func (l *Log) revive(p logcatalog.Part) error {
	base := workingBase(l.o.Dir)
	if err := l.retained.Revive(base); err != nil {
		return err
	}
	seg, err := openSegment(l.o.FS, base, true)
	if err != nil {
		return err
	}
	size, err := seg.log.Size()
	if err != nil {
		return errors.Join(err, seg.Close())
	}
	l.mu.Lock()
	old := l.work
	l.work, l.end, l.written, l.first = seg, size, p.Last, p.First
	l.mu.Unlock()
	return errors.Join(old.Close(), l.settleFiles())
}

// truncate cuts the working log after a block.
func (l *Log) truncate(last uint32) error {
	if last >= l.written {
		return l.headAt(last)
	}
	seg := l.work
	list, err := seg.positions(last+1, 1)
	if err != nil {
		return err
	}
	end := list[0]
	l.mu.Lock()
	l.end, l.written = end, last
	l.sums.forget()
	l.mu.Unlock()
	if err := l.headAt(last); err != nil {
		return err
	}
	// What follows is given up before it is damaged.
	m := tailMark{first: seg.preamble.First, next: last + 1, durable: end, record: l.tail.records, kept: l.first}
	if err := l.mark(m); err != nil {
		return err
	}
	if err := seg.log.Truncate(end); err != nil {
		return err
	}
	if l.mode == pruned {
		s := &source{file: seg.log, path: seg.base.Log()}
		if err := s.writeTrailer(end, last-l.first+1); err != nil {
			return err
		}
	}
	if err := seg.index.Truncate(int64(last-seg.preamble.First+1) * positionBytes); err != nil {
		return err
	}
	return l.settleFiles()
}

// headAt makes a block the head, or none if the log has none left.
func (l *Log) headAt(num uint32) error {
	var head link
	blocks := num >= l.First()
	if blocks {
		l.mu.Lock()
		l.head, l.blocks = link{num: num, id: types.Checksum256{}}, true
		l.mu.Unlock()
		b, err := l.ReadRaw(num)
		if err != nil {
			return err
		}
		if head, err = decodeLink(b); err != nil {
			return fmt.Errorf("decode block %d: %w", num, err)
		}
	}
	l.mu.Lock()
	l.head, l.blocks = head, blocks
	l.mu.Unlock()
	return nil
}
