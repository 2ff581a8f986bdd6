package shiplog

import (
	"errors"
	"fmt"
	"math"

	"tarn/antelope/logcatalog"
	"tarn/antelope/types"
)

// openParts lists the retained files, and lets go of those that the options do not want any more.
func (l *Log) openParts() (err error) {
	p := l.o.Partition
	l.parts, err = logcatalog.OpenCatalog(logcatalog.Options{
		FS: l.fs, Name: l.o.Name, Retained: p.Retained, Archive: p.Archive, Most: p.MaxFiles, Logger: l.o.Logger,
	}, nil, l.openPart)
	if err != nil {
		return err
	}
	return l.letGo()
}

// letGo moves the oldest retained files to the archive, or deletes them.
func (l *Log) letGo() error { return l.parts.LetGo(math.MaxUint32) }

// openPart opens a retained file. Its name tells which blocks it has: what is damaged in it is
// told of by who reads that, and leaves the rest to be read.
func (l *Log) openPart(p logcatalog.Part) (*file, error) {
	f := l.newFile(p.Pair)
	f.base, f.first, f.end = p.First, p.First, p.Last+1
	var err error
	if f.log, err = l.fs.Open(f.Log(), false); err != nil {
		return nil, err
	}
	if f.index, err = l.openOrCreate(f.Index()); err != nil {
		return nil, errors.Join(err, f.log.Close())
	}
	if f.size, err = f.log.Size(); err == nil {
		err = f.ensureIndex()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", f.Log(), err), f.Close())
	}
	return f, nil
}

// split makes the live file a retained one and begins another.
func (l *Log) split() error {
	if err := l.Sync(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.live
	if err := f.Close(); err != nil {
		return err
	}
	if err := l.parts.Finish(f.Pair, f.first, f.end-1); err != nil {
		return err
	}
	if err := l.beginLive(); err != nil {
		return err
	}
	return l.letGo()
}

// beginLive makes an empty live file.
func (l *Log) beginLive() (err error) {
	if l.live, err = l.openLive(); err != nil {
		return err
	}
	return l.setMark(mark{})
}

// restorePart makes the newest retained file the live one again: a switch of forks goes
// back behind its end.
func (l *Log) restorePart() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	live := l.o.pair()
	if err := errors.Join(l.live.Close(), l.setMark(mark{})); err != nil {
		return err
	}
	// A live file that is empty does no harm after a crash between these.
	if err := live.Remove(l.fs); err != nil {
		return err
	}
	if err := l.parts.Revive(live); err != nil {
		return err
	}
	l.cuts++
	var err error
	if l.live, err = l.openLive(); err != nil {
		return err
	}
	size, err := l.live.log.Size()
	if err == nil {
		err = l.adopt(size, false)
	}
	l.last = types.Checksum256{}
	return err
}
