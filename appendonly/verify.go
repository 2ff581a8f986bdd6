package appendonly

import (
	"errors"
	"fmt"

	"tarn/store/vfs"
	"tarn/store/vfs/torntail"
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
// leaves, unless it was durable already (package torntail). A log does not know what is needed of it: that is
// its owner's to say.
func Verify(o VerifyOptions) (Verified, error) {
	if o.FS == nil {
		o.FS = vfs.OS
	}
	if o.Notice == nil {
		o.Notice = func(error) {}
	}
	v := &verification{VerifyOptions: o, log: &Log{o: LogOptions{FS: o.FS, Dir: o.Dir, OldDir: o.OldDir},
		files: newFiles(o.FS)}}
	v.Damage = func(err error) {
		v.hurt = true
		o.Damage(err)
	}
	err := v.verifyLog()
	if err == nil {
		err = v.verifyRuns()
	}
	if err = errors.Join(err, v.log.files.Close()); err != nil {
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
	hurt bool   // whether damage was found
}

// reportDamage reports damage, and passes on every other error.
func (v *verification) reportDamage(err error) error {
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
		return v.reportDamage(err)
	}
	if v.has = ok; !ok {
		return nil
	}
	v.next = begin.first
	if v.log.mark, err = torntail.OpenMark(v.FS, markPath(v.Dir)); err != nil {
		return err
	}
	if v.log.mark.Said().Torn {
		v.Notice(fmt.Errorf("%s: half of it cannot be read: the next sync writes it again", markPath(v.Dir)))
	}
	for sequence := begin.sequence; ; sequence++ {
		dir, err := v.log.where(sequence)
		if err != nil {
			return err
		}
		later, err := v.log.later(sequence)
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
			return v.ends(sequence)
		}
		s := &segment{sequence: sequence, dir: dir}
		err = v.log.files.Use(s.path(), func(f vfs.File) error { return v.segment(f, s, !later) })
		if err = errors.Join(v.reportDamage(err), v.log.files.Forget(s.path())); err != nil {
			return err
		}
	}
}

// ends verifies that the log does not end before what was durable, if nothing else was found.
func (v *verification) ends(sequence uint64) error {
	if v.hurt {
		return nil
	}
	end := v.log.end(&segment{sequence: sequence, dir: v.Dir}, v.next)
	return v.reportDamage(asCorruption(end.Judge()))
}

// segment verifies one. The damage that it returns hides the rest of the segment.
func (v *verification) segment(f vfs.File, s *segment, last bool) error {
	size, err := f.Size()
	if err != nil {
		return err
	}
	err = readSegment(f, s, last)
	if last && size <= headerSize && errors.Is(err, errHeader) {
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
		return v.verifyFinished(f, s, size)
	}
	// Entries up to the end were read whole.
	v.done.Entries += s.count
	if err := v.read(size); err != nil || size == s.end {
		return err
	}
	end := v.log.end(s, v.next)
	if err := end.Judge(); err != nil {
		return asCorruption(err)
	}
	v.Notice(fmt.Errorf(
		"%s: offset %d: %d bytes of entry %d, which is not whole: the next start cuts them off and keeps them, "+
			"unless it needs them", s.path(), s.end, size-s.end, v.next))
	return nil
}

// verifyFinished verifies the offsets and the entries of a finished segment.
func (v *verification) verifyFinished(f vfs.File, s *segment, size int64) error {
	offsets, err := readOffsets(f, s)
	if err != nil {
		return err
	}
	var buf []byte
	for i := range offsets {
		number := s.first + uint64(i)
		entry, err := readEntry(f, s, number, buf[:0])
		if err := v.reportDamage(err); err != nil {
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
		return v.reportDamage(err)
	}
	for i, r := range listed {
		if n := i - 1; n >= 0 && listed[n].to > r.from {
			v.Damage(corrupt(r.path, 0, "run of entries from %d follows one up to %d", r.from, listed[n].to))
		}
		if v.has && r.to > v.next {
			v.Notice(fmt.Errorf(
				"%s: run of entries up to %d, and the log has them up to %d: the next start gives it up",
				r.path, r.to, v.next))
		}
		if there, err := v.FS.Exists(r.path); err != nil {
			return err
		} else if !there {
			v.Damage(corrupt(r.path, 0, "missing"))
			continue
		}
		err := v.log.files.Use(r.path, func(f vfs.File) error {
			if err := r.open(f); err != nil {
				return err
			}
			if err := r.verify(f, v.Damage); err != nil {
				return err
			}
			v.done.Postings += r.postings
			return v.read(r.size)
		})
		if err = errors.Join(v.reportDamage(err), v.log.files.Forget(r.path)); err != nil {
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
