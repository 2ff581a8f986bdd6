package shiplog

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"strconv"

	"tarn/antelope/blocklog"
	"tarn/antelope/types"
	"tarn/store/vfs"
)

// part is a retained file: a path without ending, and its blocks.
type part struct {
	path        string
	first, last uint32
}

var partName = regexp.MustCompile(`^(.+)-(\d+)-(\d+)\.log$`)

// parts lists the retained files of a log, in order.
func parts(fs blocklog.FS, dir, name string) ([]part, error) {
	names, err := fs.List(dir)
	if err != nil {
		return nil, err
	}
	var list []part
	for _, n := range names {
		m := partName.FindStringSubmatch(n)
		if m == nil || m[1] != name {
			continue
		}
		first, err1 := strconv.ParseUint(m[2], 10, 32)
		last, err2 := strconv.ParseUint(m[3], 10, 32)
		if err1 != nil || err2 != nil || first > last || last == math.MaxUint32 {
			continue
		}
		list = append(list, part{filepath.Join(dir, n[:len(n)-len(".log")]), uint32(first), uint32(last)})
	}
	return sortParts(list), nil
}

func (l *Log) openParts() (err error) {
	p := l.o.Partition
	if err := vfs.MkdirAll(l.fs, p.Retained); err != nil {
		return err
	}
	if p.Archive != "" {
		if err := vfs.MkdirAll(l.fs, p.Archive); err != nil {
			return err
		}
	}
	for _, dir := range []string{p.Retained, p.Archive} {
		if err := l.removeCopies(dir); err != nil {
			return err
		}
	}
	if l.older, err = parts(l.o.fs(), p.Retained, l.o.Name); err != nil {
		return err
	}
	return l.letGo()
}

// copyName is that of a copy to another file system while it is made.
var copyName = regexp.MustCompile(`^(.+)-\d+-\d+\.(log|index)` + regexp.QuoteMeta(vfs.NewSuffix) + `$`)

// removeCopies removes what a crash left of copies into a folder; "" is none.
func (l *Log) removeCopies(dir string) error {
	if dir == "" {
		return nil
	}
	names, err := l.o.fs().List(dir)
	if err != nil {
		return err
	}
	for _, n := range names {
		if m := copyName.FindStringSubmatch(n); m != nil && m[1] == l.o.Name {
			if err := vfs.RemoveDurably(l.fs, filepath.Join(dir, n)); err != nil {
				return err
			}
		}
	}
	return nil
}

// part is the retained file with a block; false if there is none. The lock is held, at least
// for reading.
func (l *Log) part(num uint32) (part, bool) {
	for i := len(l.older) - 1; i >= 0; i-- {
		if p := l.older[i]; num >= p.first && num <= p.last {
			return p, true
		}
	}
	return part{}, false
}

// openPart opens a retained file. Its name tells which blocks it has: what is damaged in it is
// told of by who reads that, and leaves the rest to be read.
func (l *Log) openPart(p part) (*file, error) {
	f := l.newFile(p.path+".log", p.path+".index")
	f.base, f.first, f.end = p.first, p.first, p.last+1
	var err error
	if f.log, err = l.fs.Open(f.path, false); err != nil {
		return nil, err
	}
	if f.index, err = l.openOrCreate(f.indexPath); err != nil {
		return nil, errors.Join(err, f.log.Close())
	}
	if f.size, err = f.log.Size(); err == nil {
		err = f.ensureIndex()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", f.path, err), f.close())
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
	p := part{filepath.Join(l.o.Partition.Retained, fmt.Sprintf("%s-%d-%d", l.o.Name, f.first, f.end-1)), f.first, f.end - 1}
	if err := f.close(); err != nil {
		return err
	}
	if err := errors.Join(move(l.fs, l.o.indexPath(), p.path+".index"), move(l.fs, l.o.logPath(), p.path+".log")); err != nil {
		return err
	}
	l.older = append(l.older, p)
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

// letGo moves the oldest retained files to the archive, or deletes them.
func (l *Log) letGo() error {
	for len(l.older) > int(l.o.Partition.MaxFiles) {
		p := l.older[0]
		if err := l.retained.forget(p.path); err != nil {
			return err
		}
		archive := l.o.Partition.Archive
		for _, ending := range []string{".log", ".index"} {
			from := p.path + ending
			if archive == "" {
				if err := remove(l.fs, from); err != nil {
					return err
				}
				continue
			}
			to := filepath.Join(archive, filepath.Base(from))
			there, err := l.fs.Exists(to)
			switch {
			case err != nil:
				return err
			case there: // as nodeos, the archive's own stays
				err = remove(l.fs, from)
			default:
				err = move(l.fs, from, to)
			}
			if err != nil {
				return err
			}
		}
		l.older = l.older[1:]
	}
	return nil
}

// restorePart makes the newest retained file the live one again: a switch of forks goes
// back behind its end.
func (l *Log) restorePart() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.older[len(l.older)-1]
	if err := errors.Join(l.retained.forget(p.path), l.live.close(), l.setMark(mark{})); err != nil {
		return err
	}
	// A live file that is empty does no harm after a crash between these.
	if err := errors.Join(remove(l.fs, l.o.logPath()), remove(l.fs, l.o.indexPath())); err != nil {
		return err
	}
	if err := errors.Join(move(l.fs, p.path+".log", l.o.logPath()), move(l.fs, p.path+".index", l.o.indexPath())); err != nil {
		return err
	}
	l.older = l.older[:len(l.older)-1]
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

// move moves a file, if there is one: an index is made again.
func move(fs vfs.FS, from, to string) error {
	there, err := fs.Exists(from)
	if err != nil || !there {
		return err
	}
	return vfs.MoveDurably(fs, from, to)
}
