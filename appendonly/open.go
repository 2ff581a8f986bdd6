package appendonly

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"tarn/store/vfs"
	"tarn/store/vfs/torntail"
)

// Is tells whether a folder has a log, an index, or both.
func Is(files vfs.FS, dir string) (bool, error) {
	log, err := files.Exists(filepath.Join(dir, beginName))
	if err != nil || log {
		return log, err
	}
	return files.Exists(filepath.Join(dir, listName))
}

// folders are those in which segments lie.
func (l *Log) folders() []string {
	if l.o.OldDir == "" || l.o.OldDir == l.o.Dir {
		return []string{l.o.Dir}
	}
	return []string{l.o.Dir, l.o.OldDir}
}

// opening is a log that nobody uses yet: what finds its files, and mends what a crash has left.
type opening struct {
	*Log
	unmade *segment // which was being made when a crash came
	// mends change files. They are done when it is known that the log opens.
	mends []func() error
}

func (l *opening) open() error {
	for _, dir := range l.folders() {
		if err := vfs.MkdirAll(l.o.FS, dir); err != nil {
			return err
		}
		// The names in it may be those of a process that was killed before it made them
		// durable.
		if err := l.o.FS.SyncDir(dir); err != nil {
			return err
		}
	}
	begin, err := l.readBegin()
	if err != nil {
		return err
	}
	if l.mark, err = torntail.OpenMark(l.o.FS, markPath(l.o.Dir)); err != nil {
		return err
	}
	if err := l.find(begin); err != nil {
		return err
	}
	if begin, err = l.skip(begin); err != nil {
		return err
	}
	if next := l.next(); next < l.o.Need {
		return l.missing(next)
	}
	if err := l.judge(begin); err != nil {
		return err
	}
	for _, mend := range l.mends {
		if err := mend(); err != nil {
			return err
		}
	}
	if err := l.removeUnmade(); err != nil {
		return err
	}
	if err := l.removeBefore(begin.sequence); err != nil {
		return err
	}
	if len(l.segments) == 0 {
		err = l.begin(begin.sequence, begin.first)
	} else {
		err = l.resume()
	}
	if err != nil {
		return err
	}
	return l.note(l.next())
}

// skip has a log that ends before First begin anew there: its owner counts on none of its
// entries any more. The beginning is durable before segments go, so that a crash leaves the one
// log or the other.
func (l *opening) skip(b beginning) (beginning, error) {
	end := b.first
	if len(l.segments) != 0 {
		end = l.next()
	}
	said := l.mark.Said()
	if said.Known {
		end = max(end, said.End)
	}
	if end >= l.o.First || l.o.Need > l.o.First {
		return b, nil
	}
	if !said.There { // nothing tells whether the log ends where it is whole
		if err := l.judge(b); err != nil {
			return b, err
		}
	}
	b = beginning{b.sequence + uint64(len(l.segments)), l.o.First}
	l.segments = nil
	return b, l.writeBegin(b)
}

// missing is the error for entries that are needed and not whole.
func (l *opening) missing(next uint64) error {
	if len(l.segments) == 0 {
		return corrupt(l.o.Dir, 0, "entries from %d to %d are needed and not there; %s", l.o.First, l.o.Need, restore)
	}
	s := l.last()
	return corrupt(s.path(), s.end, "entry %d is not whole, and entries up to %d are needed; %s",
		next, l.o.Need, restore)
}

// find reads the segments from the first on, until there is none. It changes nothing.
func (l *opening) find(begin beginning) error {
	next := begin.first
	for sequence := begin.sequence; ; sequence++ {
		dir, err := l.where(sequence)
		if err != nil {
			return err
		}
		if dir == "" {
			return l.endsBefore(sequence)
		}
		following, err := l.where(sequence + 1)
		if err != nil {
			return err
		}
		s := &segment{sequence: sequence, dir: dir}
		err = l.files.Use(s.path(), func(f vfs.File) error { return readSegment(f, s, following == "") })
		if errors.Is(err, errHeader) {
			if s.size <= headerSize && following == "" {
				// A segment's header is durable before the segment is used: this one was being made
				// when the crash came.
				l.unmade = s
				return nil
			}
			err = l.withoutHeader(s, next, following == "")
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", s.path(), err)
		}
		l.mends = append(l.mends, func() error { return l.removeCopy(s) })
		if s.first != next {
			return corrupt(s.path(), 12, "begins with entry %d; the one before ends with %d", s.first, next)
		}
		l.segments, next = append(l.segments, s), next+s.count
	}
}

// where tells in which folder a segment is, "" if in none. One that is in both was being
// moved, and is whole in the other folder.
func (l *Log) where(sequence uint64) (string, error) {
	if l.o.OldDir != "" {
		if there, err := l.o.FS.Exists(segmentPath(l.o.OldDir, sequence)); err != nil || there {
			return l.o.OldDir, err
		}
	}
	there, err := l.o.FS.Exists(segmentPath(l.o.Dir, sequence))
	if err != nil || !there {
		return "", err
	}
	return l.o.Dir, nil
}

func (l *Log) remove(s *segment) error {
	if err := l.removeCopy(s); err != nil {
		return err
	}
	if err := l.files.Forget(s.path()); err != nil {
		return err
	}
	return vfs.RemoveDurably(l.o.FS, s.path())
}

// removeCopy removes what an interrupted Move left of a segment, where it was before.
func (l *Log) removeCopy(s *segment) error {
	if s.dir == l.o.Dir {
		return nil
	}
	from := &segment{sequence: s.sequence, dir: l.o.Dir}
	if there, err := l.o.FS.Exists(from.path()); err != nil || !there {
		return err
	}
	return vfs.RemoveDurably(l.o.FS, from.path())
}

// resume makes the last segment ready for more, its torn tail cut off.
func (l *opening) resume() error {
	s := l.last()
	if err := l.files.Forget(s.path()); err != nil {
		return err
	}
	f, err := l.o.FS.Open(s.path(), true)
	if err != nil {
		return err
	}
	if s.finished {
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return fmt.Errorf("sync %s: %w", s.path(), err)
		}
		return l.begin(s.sequence+1, s.first+s.count)
	}
	l.file = f
	if s.size > s.end {
		removed, err := torntail.Cut(l.o.FS, f, s.path(), s.end, s.size)
		if err != nil {
			return err
		}
		l.o.Notice(fmt.Errorf("an entry that was being written when the node ended is not whole: %v", removed))
	}
	// What is there may have been written by a process that was killed before it synced.
	return f.Sync()
}

// beginning is the small file that says with which segment a log begins.
type beginning struct {
	sequence, first uint64
}

const (
	beginName  = "BEGIN"
	beginMagic = "tarnlog1"
	beginSize  = 8 + 8 + 8 + 4
)

func (l *Log) beginPath() string { return filepath.Join(l.o.Dir, beginName) }

func (l *Log) readBegin() (beginning, error) {
	b, there, err := l.loadBegin()
	if err != nil || there {
		return b, err
	}
	if old, err := l.where(1); err != nil || old != "" {
		return beginning{}, errors.Join(err, corrupt(l.beginPath(), 0, "missing, and there is a segment in %s", old))
	}
	b = beginning{sequence: 1, first: l.o.First}
	return b, l.writeBegin(b)
}

// loadBegin reads the file, and tells whether there is one.
func (l *Log) loadBegin() (b beginning, there bool, err error) {
	there, err = l.o.FS.Exists(l.beginPath())
	if err != nil || !there {
		return beginning{}, false, err
	}
	err = l.files.Use(l.beginPath(), func(f vfs.File) error {
		raw := make([]byte, beginSize)
		if err := vfs.ReadFull(f, raw, 0); errors.Is(err, io.ErrUnexpectedEOF) {
			return corrupt(l.beginPath(), 0, "too short")
		} else if err != nil {
			return fmt.Errorf("read %s: %w", l.beginPath(), err)
		}
		if string(raw[:8]) != beginMagic || checksum(raw[:24]) != binary.LittleEndian.Uint32(raw[24:]) {
			return corrupt(l.beginPath(), 0, "not the beginning of a log")
		}
		b = beginning{binary.LittleEndian.Uint64(raw[8:]), binary.LittleEndian.Uint64(raw[16:])}
		return nil
	})
	return b, true, errors.Join(err, l.files.Forget(l.beginPath()))
}

func (l *Log) writeBegin(b beginning) error {
	raw := binary.LittleEndian.AppendUint64([]byte(beginMagic), b.sequence)
	raw = binary.LittleEndian.AppendUint64(raw, b.first)
	raw = binary.LittleEndian.AppendUint32(raw, checksum(raw))
	return vfs.WriteDurably(l.o.FS, l.beginPath(), raw)
}
