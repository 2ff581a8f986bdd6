package shiplog

import (
	"encoding/binary"
	"errors"
	"fmt"

	"tarn/store/vfs"
)

// usualStep is how much a pruned log grows between two prunings, in bytes (Leap:
// prune_config).
const usualStep = 4 << 20

// prune lets go of the oldest entries, when the log has crossed a step. What is gone
// stays a hole in the file; only the first header is kept, since it says which block the
// index begins with.
func (l *Log) prune() error {
	f := l.live
	_, at, err := f.header(f.end - 1)
	if err != nil || at/l.o.step == f.size/l.o.step {
		return err
	}
	return l.pruneTo()
}

func (l *Log) pruneTo() error {
	f := l.live
	if f.end-f.first <= l.o.Retain {
		return nil
	}
	first, at, err := l.toKeep()
	if err != nil {
		return err
	}
	l.mu.Lock()
	f.first = first
	l.mu.Unlock()
	if _, err := f.log.WriteAt(binary.LittleEndian.AppendUint32(nil, f.end-f.first), f.size); err != nil {
		return l.fail(err)
	}
	// Nobody may look for entries in the hole after a crash.
	if err := l.Sync(); err != nil {
		return err
	}
	if err := f.log.Punch(headerBytes, at-headerBytes); err != nil {
		return l.fail(fmt.Errorf("let go of blocks before %d in %s: %w", first, l.o.logPath(), err))
	}
	return nil
}

// toKeep is the first block that stays, and where it begins: by the log too, because a start
// looks at the last position of an index only.
func (l *Log) toKeep() (first uint32, at int64, err error) {
	f := l.live
	first = f.end - min(l.o.Retain, f.end-f.first)
	_, at, err = f.header(first)
	return first, at, err
}

// convert makes a log pruned, or whole again, as the options say.
func (l *Log) convert() error {
	f := l.live
	switch {
	case f.empty():
		f.pruned = l.o.Retain > 0
		return nil
	case l.o.Retain > 0 && !f.pruned:
		return l.toPruned()
	case l.o.Retain == 0 && f.pruned:
		return l.vacuum()
	}
	return nil
}

func (l *Log) toPruned() error {
	f := l.live
	if _, _, err := l.toKeep(); err != nil {
		return err
	}
	h, err := readFirst(f.log, f.size)
	if err != nil {
		return err
	}
	if _, err := f.log.WriteAt(binary.LittleEndian.AppendUint32(nil, f.end-f.first), f.size); err != nil {
		return err
	}
	h.pruned = true
	if _, err := f.log.WriteAt(h.append(nil), 0); err != nil {
		return err
	}
	f.pruned = true
	return l.pruneTo()
}

// vacuum makes a file without a hole of what is left of a pruned one.
func (l *Log) vacuum() error {
	f := l.live
	l.o.Logger.Info(fmt.Sprintf("vacuum %s.log: blocks %d to %d", l.o.Name, f.first, f.end-1))
	to := l.newFile(l.o.pair())
	to.base, to.first, to.end = f.first, f.first, f.first
	path := l.o.logPath() + vfs.NewSuffix
	var err error
	if to.log, err = l.fs.Create(path); err != nil {
		return err
	}
	if to.index, err = l.fs.Create(l.o.indexPath() + vfs.NewSuffix); err != nil {
		return errors.Join(err, to.log.Close())
	}
	for num := f.first; num < f.end && err == nil; num++ {
		err = f.copyEntry(num, to)
	}
	if err == nil {
		err = errors.Join(to.log.Sync(), to.index.Sync())
	}
	if err != nil {
		return errors.Join(fmt.Errorf("vacuum %s: %w", l.o.logPath(), err), to.Close())
	}
	// The mark is about the old file; without one the new file is looked at whole. An
	// index that does not fit is made again.
	if err := vfs.RemoveDurably(l.fs, l.o.markPath()); err != nil {
		return errors.Join(err, to.Close())
	}
	if err := errors.Join(f.Close(), to.Close(),
		vfs.RenameDurably(l.fs, path, l.o.logPath()),
		vfs.RenameDurably(l.fs, l.o.indexPath()+vfs.NewSuffix, l.o.indexPath())); err != nil {
		return err
	}
	if l.live, err = l.openLive(); err != nil {
		return err
	}
	return l.recover()
}

// copyEntry copies an entry to the end of another file.
func (f *file) copyEntry(num uint32, to *file) error {
	h, at, err := f.header(num)
	if err != nil {
		return err
	}
	h.pruned = false
	from, size := at+headerBytes, int64(h.payload)
	if _, err := to.log.WriteAt(h.append(nil), to.size); err != nil {
		return err
	}
	if err := vfs.CopyTo(to.log, to.size+headerBytes, f.log, from, from+size); err != nil {
		return err
	}
	if _, err := to.log.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(to.size)),
		to.size+headerBytes+size); err != nil {
		return err
	}
	if err := to.setPosition(num, to.size); err != nil {
		return err
	}
	to.end, to.size = num+1, to.size+h.span()
	return nil
}
