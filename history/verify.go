package history

import (
	"encoding/binary"
	"errors"
	"fmt"

	"tarn/store/vfs"
)

// VerifyOptions say what is verified. Zero values stand for the defaults.
type VerifyOptions struct {
	FS  vfs.FS // vfs.OS
	Dir string // of a log, of an index, or of both
	// OldDir, if not empty, is where segments may lie that were moved.
	OldDir string
	// Damage is told of each thing that is not as it was written; one that names a place is a
	// [CorruptError].
	Damage func(error)
	// Notice, if not nil, is told what a crash may have left, and the next open mends.
	Notice func(error)
	// Read, if not nil, is told how many bytes were read since the last time. An error that it
	// returns ends the verification.
	Read func(bytes int64) error
}

// Verified counts what was read and is whole.
type Verified struct {
	Entries, Postings uint64
	Bytes             int64 // of the files
}

// Verify reads the files of a log and of an index that nobody has open for writing, and changes
// nothing. An error says that it could not go on.
//
// What follows the last whole entry of a log's last segment is a torn tail, which a crash
// leaves, unless it has the length of an entry, or a whole entry comes behind it. A log does not
// know what is needed of it: that is its owner's to say.
func Verify(o VerifyOptions) (Verified, error) {
	if o.FS == nil {
		o.FS = vfs.OS
	}
	if o.Notice == nil {
		o.Notice = func(error) {}
	}
	v := &verification{VerifyOptions: o, log: &Log{o: LogOptions{FS: o.FS, Dir: o.Dir, OldDir: o.OldDir}, files: newFiles(o.FS)}}
	err := v.verifyLog()
	if err == nil {
		err = v.verifyRuns()
	}
	if err = errors.Join(err, v.log.files.close()); err != nil {
		err = fmt.Errorf("verify %s: %w", o.Dir, err)
	}
	return v.done, err
}

type verification struct {
	VerifyOptions
	log  *Log // not opened: it only knows where things are
	done Verified
	next uint64 // the number that the next entry has; without a log the greatest one
	has  bool   // whether there is a log
}

// damaged reports damage, and passes on every other error.
func (v *verification) damaged(err error) error {
	var damage *CorruptError
	if err == nil || !errors.As(err, &damage) {
		return err
	}
	v.Damage(damage)
	return nil
}

func (v *verification) read(bytes int64) error {
	v.done.Bytes += bytes
	if v.Read == nil {
		return nil
	}
	return v.Read(bytes)
}

// verifyLog verifies the segments, from the first on.
func (v *verification) verifyLog() error {
	begin, ok, err := v.log.loadBegin()
	if err != nil {
		return v.damaged(err)
	}
	if v.has = ok; !ok {
		return nil
	}
	v.next = begin.first
	for sequence := begin.sequence; ; sequence++ {
		dir, err := v.log.where(sequence)
		if err != nil {
			return err
		}
		later, err := v.later(sequence)
		if err != nil {
			return err
		}
		if dir == "" {
			if later {
				v.Damage(corrupt(segmentPath(v.Dir, sequence), 0, "missing, and later segments are there"))
				continue
			}
			if sequence == begin.sequence {
				v.Notice(fmt.Errorf("%s: a log without segments", v.Dir))
			}
			return nil
		}
		s := &segment{sequence: sequence, dir: dir}
		err = v.log.files.use(s.path(), func(f vfs.File) error { return v.segment(f, s, !later) })
		if err = errors.Join(v.damaged(err), v.log.files.forget(s.path())); err != nil {
			return err
		}
	}
}

// missingInRow is how many segments may be missing before no later one is looked for.
const missingInRow = 64

// later tells whether there is a segment after one.
func (v *verification) later(sequence uint64) (bool, error) {
	for n := sequence + 1; n <= sequence+missingInRow; n++ {
		if dir, err := v.log.where(n); err != nil || dir != "" {
			return dir != "", err
		}
	}
	return false, nil
}

// segment verifies one. The damage that it returns hides the rest of the segment.
func (v *verification) segment(f vfs.File, s *segment, last bool) error {
	size, err := f.Size()
	if err != nil {
		return err
	}
	err = readSegment(f, s, last)
	var damage *CorruptError
	if last && size <= headerSize && errors.As(err, &damage) {
		v.Notice(fmt.Errorf("%s: %d bytes of a segment that was being made", s.path(), size))
		return nil
	}
	if err != nil {
		return err
	}
	if s.first != v.next {
		v.Damage(corrupt(s.path(), 12, "begins with entry %d; the one before ends with %d", s.first, v.next))
	}
	v.next = s.first + s.count
	if s.finished {
		return v.finished(f, s, size)
	}
	// Entries up to the end were read whole.
	v.done.Entries += s.count
	if err := v.read(size); err != nil || size == s.end {
		return err
	}
	follows, err := s.goesOn(f, size)
	if err != nil {
		return err
	}
	if follows {
		return corrupt(s.path(), s.end, "checksum of entry %d, or its length: it is not torn off", v.next)
	}
	v.Notice(fmt.Errorf("%s: offset %d: %d bytes of entry %d, which is not whole: the next start cuts them off, unless it needs them", s.path(), s.end, size-s.end, v.next))
	return nil
}

// finished verifies the offsets and the entries of a finished segment.
func (v *verification) finished(f vfs.File, s *segment, size int64) error {
	offsets, err := readOffsets(f, s)
	if err != nil {
		return err
	}
	var buf []byte
	for i := range offsets {
		number := s.first + uint64(i)
		entry, err := readEntry(f, s, number, buf[:0])
		if err := v.damaged(err); err != nil {
			return err
		}
		if err == nil {
			buf = entry
			v.done.Entries++
		}
		if err := v.read(entryHead + int64(len(entry))); err != nil {
			return err
		}
	}
	return v.read(size - s.end + headerSize)
}

// tornWindow is how far behind an entry that is not whole one that is whole is looked for.
const tornWindow = 1 << 20

// goesOn tells whether what is not whole at the end of an unfinished segment is no torn tail: it
// has its length, or a whole entry, the one after the next, or the end of a finished segment
// follows.
func (s *segment) goesOn(f vfs.File, size int64) (bool, error) {
	if size-s.end >= trailerSize {
		t := make([]byte, trailerSize)
		if err := vfs.ReadFull(f, t, size-trailerSize); err != nil {
			return false, err
		}
		if string(t[16:]) == trailerMagic && checksum(t[:12]) == binary.LittleEndian.Uint32(t[12:]) {
			return true, nil
		}
	}
	raw := make([]byte, min(size-s.end, tornWindow))
	if err := vfs.ReadFull(f, raw, s.end); err != nil {
		return false, err
	}
	if len(raw) >= entryHead && int64(binary.LittleEndian.Uint32(raw))+entryHead <= size-s.end {
		return true, nil
	}
	number := s.first + s.count + 1
	for at := entryHead; at+entryHead <= len(raw); at++ {
		length := int(binary.LittleEndian.Uint32(raw[at:]))
		if rest := raw[at+entryHead:]; length <= len(rest) && entrySum(number, rest[:length]) == binary.LittleEndian.Uint32(raw[at+4:]) {
			return true, nil
		}
	}
	return false, nil
}

// verifyRuns verifies an index. A start gives damaged runs up and makes them again from the
// log.
func (v *verification) verifyRuns() error {
	x := &Index{o: IndexOptions{FS: v.FS, Dir: v.Dir}, files: v.log.files}
	there, err := v.FS.Exists(x.listPath())
	if err != nil || !there {
		return err
	}
	listed, _, err := x.loadList()
	if err != nil {
		return v.damaged(err)
	}
	for i, r := range listed {
		if n := i - 1; n >= 0 && listed[n].to > r.from {
			v.Damage(corrupt(r.path, 0, "run of entries from %d follows one up to %d", r.from, listed[n].to))
		}
		if v.has && r.to > v.next {
			v.Notice(fmt.Errorf("%s: run of entries up to %d, and the log has them up to %d: the next start gives it up", r.path, r.to, v.next))
		}
		if there, err := v.FS.Exists(r.path); err != nil {
			return err
		} else if !there {
			v.Damage(corrupt(r.path, 0, "missing"))
			continue
		}
		err := v.log.files.use(r.path, func(f vfs.File) error {
			if err := r.open(f); err != nil {
				return err
			}
			if err := r.verify(f, v.Damage); err != nil {
				return err
			}
			v.done.Postings += r.postings
			return v.read(r.size)
		})
		if err = errors.Join(v.damaged(err), v.log.files.forget(r.path)); err != nil {
			return err
		}
	}
	return nil
}

// verify reads a run that is open, and reports what is not in order.
func (r *run) verify(f vfs.File, report func(error)) error {
	var n uint64
	var last posting
	err := r.scan(f, 0, func(p *posting) (bool, error) {
		if n++; n > 1 && p.before(&last) {
			report(corrupt(r.path, 0, "key %x comes after %x", p.key, last.key))
		}
		last = posting{key: append(last.key[:0], p.key...), number: p.number}
		return true, nil
	})
	if err == nil && n != r.postings {
		err = corrupt(r.path, 0, "%d postings, want %d", n, r.postings)
	}
	return err
}
