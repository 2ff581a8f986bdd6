package blocklog

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"tarn/antelope/types"
	"tarn/store/vfs"
)

// openRetained makes the directories of a partitioned log and lists what they have.
func (l opening) openRetained() error {
	for _, dir := range []string{l.o.retainedDir(), l.o.archiveDir()} {
		if dir == "" {
			continue
		}
		if err := vfs.MkdirAll(l.o.FS, dir); err != nil {
			return err
		}
		if err := l.settleMoves(dir); err != nil {
			return err
		}
	}
	c, err := openCatalog(l.o.FS, l.o.retainedDir(), l.o.Logger, l.o.Now)
	if err != nil {
		return err
	}
	l.retained = c
	l.recovery.Index, l.recovery.Rebuilt = c.rebuilt, c.rebuilt
	return l.recall()
}

// settleMoves removes what interrupted copies into a folder left, and makes the names
// in it durable: a process that was killed may have moved a file there whose old name
// is about to be used again.
func (l opening) settleMoves(dir string) error {
	names, err := l.o.FS.List(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if movedName.MatchString(name) {
			if err := l.o.FS.Remove(filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	return l.o.FS.SyncDir(dir)
}

// recall lists the partitions in the archive that a start may ask for.
func (l opening) recall() error {
	dir := l.o.archiveDir()
	if dir == "" || l.o.Needed == nil {
		return nil
	}
	names, err := l.o.FS.List(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if last, ok := lastOf(name); !ok || last < l.o.needed() {
			continue
		}
		base := filepath.Join(dir, strings.TrimSuffix(name, ".log"))
		if err := l.retained.admit(base, l.o.Logger, l.o.Now); err != nil {
			l.o.Logger.Warn("an archived block log cannot be used", "file", logPath(base), "error", err)
			continue
		}
		l.o.Logger.Info("An archived block log has blocks that the saved state does not have yet: they are read from there", "file", logPath(base))
	}
	l.retained.sort()
	return nil
}

// lastOf is the last block of a partition by its file's name.
func lastOf(name string) (uint32, bool) {
	if !retainedName.MatchString(name) {
		return 0, false
	}
	text := strings.TrimSuffix(name[strings.LastIndexByte(name, '-')+1:], ".log")
	n, err := strconv.ParseUint(text, 10, 32)
	return uint32(n), err == nil
}

// archived tells whether a partition is where nothing is to be done with it any more.
func (l *Log) archived(r retainedLog) bool { return filepath.Dir(r.base) == l.o.archiveDir() }

// split ends a partition with the last block written and begins the next. The old
// names are durable before new files take them.
func (l *Log) split() error {
	if err := l.sync(); err != nil {
		return err
	}
	fs, base := l.o.FS, workingBase(l.o.Dir)
	old := l.work
	done := retainedLog{first: old.preamble.First, last: l.written}
	done.base = filepath.Join(l.o.retainedDir(), fmt.Sprintf("blocks-%d-%d", done.first, done.last))
	if err := movePair(fs, base, done.base, l.o.Logger); err != nil {
		return err
	}
	p := newPreamble(l.written+1, nil, old.preamble.ChainID)
	if err := createLog(fs, base, p); err != nil {
		return err
	}
	seg, err := openSegment(fs, base, true)
	if err != nil {
		return err
	}
	l.retained.chainID = p.ChainID
	l.mu.Lock()
	l.retained.list = append(l.retained.list, done)
	l.work, l.end, l.first = seg, seg.start, p.First
	l.mu.Unlock()
	if err := old.close(); err != nil {
		return err
	}
	if err := l.settleFiles(); err != nil {
		return err
	}
	return l.trimRetained()
}

// trimRetained archives or deletes the oldest partitions beyond the limit, but for those
// that a start may ask for. The caller holds writer.
func (l *Log) trimRetained() error {
	for len(l.retained.list) > 0 {
		oldest := l.retained.list[0]
		surplus := l.archived(oldest) || int64(len(l.retained.list)) > int64(l.o.maxRetained())
		if !surplus || oldest.last >= l.o.needed() {
			return nil
		}
		l.mu.Lock()
		l.retained.list = l.retained.list[1:]
		l.mu.Unlock()
		if err := l.retained.forget(oldest.base); err != nil {
			return err
		}
		if err := l.retire(oldest); err != nil {
			return err
		}
	}
	return nil
}

func (l *Log) retire(r retainedLog) error {
	fs := l.o.FS
	if l.archived(r) {
		return nil
	}
	if dir := l.o.archiveDir(); dir != "" {
		return movePair(fs, r.base, filepath.Join(dir, filepath.Base(r.base)), l.o.Logger)
	}
	return errors.Join(removeFile(fs, logPath(r.base)), removeFile(fs, indexPath(r.base)), fs.SyncDir(filepath.Dir(r.base)))
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
	fs := l.o.FS
	for !l.retained.empty() {
		r := l.retained.list[len(l.retained.list)-1]
		if r.last <= last {
			break
		}
		l.mu.Lock()
		l.retained.list = l.retained.list[:len(l.retained.list)-1]
		l.mu.Unlock()
		if err := l.retained.forget(r.base); err != nil {
			return err
		}
		if r.first > last && !l.retained.empty() {
			err := errors.Join(removeFile(fs, logPath(r.base)), removeFile(fs, indexPath(r.base)), fs.SyncDir(filepath.Dir(r.base)))
			if err != nil {
				return err
			}
			continue
		}
		return l.revive(r)
	}
	return l.begin(newPreamble(last+1, nil, l.work.preamble.ChainID))
}

// revive makes a partition the working log again.
func (l *Log) revive(r retainedLog) error {
	fs, base := l.o.FS, workingBase(l.o.Dir)
	if err := publishPair(fs, r.base, base); err != nil {
		return err
	}
	if err := fs.SyncDir(filepath.Dir(r.base)); err != nil {
		return err
	}
	seg, err := openSegment(fs, base, true)
	if err != nil {
		return err
	}
	size, err := seg.log.Size()
	if err != nil {
		return errors.Join(err, seg.close())
	}
	l.mu.Lock()
	old := l.work
	l.work, l.end, l.written, l.first = seg, size, r.last, r.first
	l.mu.Unlock()
	return errors.Join(old.close(), l.settleFiles())
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
		s := &source{file: seg.log, path: logPath(seg.base)}
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
