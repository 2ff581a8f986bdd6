package appendonly

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"path/filepath"

	"tarn/store/vfs"
	"tarn/store/vfs/torntail"
)

// markName is the file that says up to which entry a log is durable. Every sync writes it, and none
// waits for it.
const markName = "MARK"

func markPath(dir string) string { return filepath.Join(dir, markName) }

// note says that entries before a number are durable; with syncing held.
func (l *Log) note(next uint64) error { return l.mark.Set(0, next) }

// noteCut says, durably, that entries from a number on are not counted on. Else what is written in
// their place would be taken for damage when a crash tears it.
func (l *Log) noteCut(next uint64) error {
	if said := l.mark.Said(); said.There && said.Known && said.End <= next {
		return nil
	}
	return l.mark.Reset(0, next)
}

const restore = "put it back from a copy of the data folder, or take the whole data folder from one"

// judge returns an error if what is behind the whole entries, or missing there, cannot be what a
// crash has left. Nothing was changed then.
func (l *opening) judge(b beginning) error {
	s, next := &segment{sequence: b.sequence, dir: l.o.Dir}, b.first
	if len(l.segments) != 0 {
		s = l.last()
		next = s.first + s.count
	}
	if l.unmade != nil {
		s = l.unmade
	}
	end := l.end(s, next)
	err := asCorruption(end.Judge())
	if damage := new(CorruptError); !l.o.Spare || next < l.o.Need || !errors.As(err, &damage) {
		return err
	}
	// What is cut must not be counted on before: it is durable that it is not.
	l.o.Notice(fmt.Errorf("nothing counts on entries from %d on, so they go: %w", next, err))
	return l.mark.Reset(0, next)
}

// end is how a log ends whose last segment is given, if there is one, and whose next entry has a
// number.
func (l *Log) end(s *segment, next uint64) torntail.End {
	end := torntail.End{Path: s.path(), Whole: s.end, Size: s.size, Remedy: restore}
	if s.finished {
		end.Whole = s.size
	}
	if s.size > headerSize {
		end.Remedy = fmt.Sprintf(
			"%s; without one, if nothing needs entries from %d on: keep a copy of the file, shorten it (truncate -s "+
				"%d %s), remove %s, and the node gets what followed from its peers again",
			restore, next, end.Whole, s.path(), markPath(l.o.Dir))
	}
	end.Behind = func(int64) (at int64, found bool, err error) {
		err = l.files.Use(s.path(), func(f vfs.File) error {
			at, found, err = s.behind(f)
			return err
		})
		return at, found, err
	}
	said := l.mark.Said()
	switch {
	case !said.There:
		end.Durable = torntail.Unnoted
	case said.Known && said.End > next:
		end.Durable = end.Whole + 1
		end.Noted = fmt.Sprintf("entries up to %d were durable, and they are whole up to %d", said.End, next)
	}
	return end
}

// asCorruption makes damage of a log's end an error of this package.
func asCorruption(err error) error {
	var d *torntail.Damage
	if !errors.As(err, &d) {
		return err
	}
	if d.Remedy == "" {
		return corrupt(d.Path, d.Offset, "%s", d.Detail)
	}
	return corrupt(d.Path, d.Offset, "%s; %s", d.Detail, d.Remedy)
}

// mostMissing is how many entries may be damaged in a row for a whole one behind them to be known
// for one: an entry's number is not in it, but in its checksum.
const mostMissing = 256

// behind finds what tells that the end of an unfinished segment is not torn: a whole entry, or the end
// of a finished segment.
func (s *segment) behind(f vfs.File) (at int64, found bool, err error) {
	if s.size-s.end >= trailerSize {
		t := make([]byte, trailerSize)
		if err := vfs.ReadFull(f, t, s.size-trailerSize); err != nil {
			return 0, false, err
		}
		if isTrailer(t) {
			return s.size - trailerSize, true, nil
		}
	}
	entries := torntail.Records{
		Head: entryHead,
		Parse: func(head []byte) (int64, uint32, bool) {
			length, sum := binary.LittleEndian.Uint32(head), binary.LittleEndian.Uint32(head[4:])
			return int64(length), sum, length <= MaxEntry && (length != 0 || sum != 0)
		},
		Prefixes: func(at int64, head []byte) iter.Seq[[]byte] {
			most := min((at-s.end)/entryHead, mostMissing)
			return func(yield func([]byte) bool) {
				for n := int64(1); n <= most &&
					yield(sumHead(s.first+s.count+uint64(n), binary.LittleEndian.Uint32(head))); n++ {
				}
			}
		},
	}
	return entries.Next(f, s.end, s.size)
}

// missingInRow is how many segments may be missing before no later one is looked for.
const missingInRow = 64

// later tells whether there is a segment after one.
func (l *Log) later(sequence uint64) (bool, error) {
	for n := sequence + 1; n <= sequence+missingInRow; n++ {
		if dir, err := l.where(n); err != nil || dir != "" {
			return dir != "", err
		}
	}
	return false, nil
}

// endsBefore returns an error if there are segments behind one that is missing.
func (l *opening) endsBefore(sequence uint64) error {
	later, err := l.later(sequence)
	if err == nil && later {
		err = corrupt(segmentPath(l.o.Dir, sequence), 0, "the segment is missing, and later ones are there; %s",
			restore)
	}
	return err
}

// removeUnmade removes a segment that was being made when a crash came, and has no entry.
func (l *opening) removeUnmade() error {
	s := l.unmade
	if s == nil {
		return nil
	}
	l.unmade = nil
	if err := l.remove(s); err != nil {
		return err
	}
	l.o.Notice(fmt.Errorf("removed %s, %d bytes of a segment without entries, which was being made when the node ended",
		s.path(), s.size))
	return nil
}

// withoutHeader reads a segment whose header is damaged and that is to begin with an entry, if that is there
// and whole. All of a header is known.
func (l *opening) withoutHeader(s *segment, first uint64, last bool) error {
	l.mends = append(l.mends, func() error { return l.mendHeader(s, first) })
	return l.files.Use(s.path(), func(f vfs.File) error {
		found, err := entryAt(f, headerSize, s.size, first)
		if err != nil {
			return err
		}
		if !found {
			return corrupt(s.path(), 0, "the header is damaged, and so is the first entry; %s", restore)
		}
		s.first = first
		return s.readEntries(f, last)
	})
}

// mendHeader writes the header of a segment anew, which begins with an entry.
func (l *opening) mendHeader(s *segment, first uint64) error {
	if err := l.files.Forget(s.path()); err != nil {
		return err
	}
	f, err := l.o.FS.Open(s.path(), true)
	if err != nil {
		return err
	}
	if _, err = f.WriteAt(segmentHeader(first), 0); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		l.o.Notice(fmt.Errorf("%s: offset 0: the header was damaged, and is written again: its entries begin with %d",
			s.path(), first))
	}
	return err
}

// entryAt tells whether a whole entry of a number is at an offset.
func entryAt(f vfs.File, at, size int64, number uint64) (bool, error) {
	if size-at < entryHead {
		return false, nil
	}
	head := make([]byte, entryHead)
	if err := vfs.ReadFull(f, head, at); err != nil {
		return false, err
	}
	length := int64(binary.LittleEndian.Uint32(head))
	if length > MaxEntry || length > size-at-entryHead {
		return false, nil
	}
	entry := make([]byte, length)
	if err := vfs.ReadFull(f, entry, at+entryHead); err != nil {
		return false, err
	}
	return entrySum(number, entry) == binary.LittleEndian.Uint32(head[4:]), nil
}
