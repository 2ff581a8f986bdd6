package blocklog

import (
	"encoding/binary"
	"errors"
	"fmt"

	"tarn/antelope/logcatalog"
	"tarn/store/vfs"
)

// mendPruned finds the first block that a pruned log still has, and makes its index
// and trailer say so.
func (l opening) mendPruned(s *source, e extent) (uint32, error) {
	first := s.preamble.First
	count, ok, err := s.trailer()
	if err != nil {
		return 0, err
	}
	ok = ok && s.size == e.end+trailerBytes
	if !e.blocks {
		if ok && count == 0 {
			return first, l.mendIndex(s, e, first)
		}
		return first, errors.Join(l.mendIndex(s, e, first), s.writeTrailer(e.end, 0))
	}
	if e.kept >= first && e.kept <= e.head.num {
		// The count may have been written over by a part of the next entry.
		first = e.kept
		if e.beyond {
			there, err := s.firstReadable(e)
			if err != nil {
				return 0, err
			}
			first = max(first, there)
		}
		if ok && count == e.head.num-first+1 {
			return first, l.mendIndex(s, e, first)
		}
		return first, errors.Join(l.mendIndex(s, e, first), s.writeTrailer(e.end, e.head.num-first+1))
	}
	if ok && count > 0 && count <= e.head.num-first+1 {
		first = e.head.num - count + 1
		readable, err := l.readable(s, e, first)
		if err != nil {
			return 0, err
		}
		if readable {
			return first, l.mendIndex(s, e, first)
		}
	}
	if first, err = s.firstReadable(e); err != nil {
		return 0, err
	}
	l.o.Logger.Warn("The pruned block log's count of blocks was wrong and was repaired", "first", first,
		"head", e.head.num)
	if err := l.mendIndex(s, e, first); err != nil {
		return 0, err
	}
	return first, s.writeTrailer(e.end, e.head.num-first+1)
}

// readable tells whether a block is whole where the index, as it is, says it begins.
func (l opening) readable(s *source, e extent, num uint32) (bool, error) {
	if num == e.head.num {
		return true, nil
	}
	size, err := logcatalog.Size(l.o.FS, workingBase(l.o.Dir).Index())
	if err != nil || size < int64(num-s.preamble.First+2)*positionBytes {
		return false, err
	}
	list, err := l.readIndex(s, num, 2)
	if err != nil || !s.plausible(uint64(list[0]), list[1]) || list[1] > e.end {
		return false, err
	}
	k, ok, err := s.link(list[0], list[1])
	return ok && k.num == num, err
}

// readIndex reads positions from the index of the log that is being opened.
func (l opening) readIndex(s *source, num uint32, n int) ([]int64, error) {
	path := workingBase(l.o.Dir).Index()
	f, err := l.o.FS.Open(path, false)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return (&segment{index: f, base: workingBase(l.o.Dir), preamble: s.preamble}).positions(num, n)
}

// firstReadable goes back from the end as far as whole blocks go.
func (s *source) firstReadable(e extent) (uint32, error) {
	first, ends := e.head.num, []int64{e.end, e.position}
	w := s.walkBack(e.position)
	for first > s.preamble.First {
		start, err := w.previous()
		if err != nil {
			break // a hole
		}
		num, ok, err := s.numberAt(start)
		if err != nil {
			return 0, err
		}
		if !ok || num != first-1 {
			break
		}
		first, ends = num, []int64{ends[1], start}
	}
	k, ok, err := s.link(ends[1], ends[0])
	if err == nil && (!ok || k.num != first) && first < e.head.num {
		first++ // its end was given back with what came before it
	}
	return first, err
}

// writeTrailer ends a pruned log with its count of blocks, durably.
func (s *source) writeTrailer(end int64, count uint32) error {
	_, err := s.file.WriteAt(binary.LittleEndian.AppendUint32(nil, count), end)
	if err == nil {
		err = s.file.Truncate(end + trailerBytes)
	}
	if err == nil {
		err = s.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("write count of blocks to %s: %w", s.path, err)
	}
	s.size = end + trailerBytes
	return nil
}

// convert makes the log pruned or not, as the options want it.
func (l opening) convert(s *source, e *extent) error {
	switch {
	case l.mode == pruned && !s.preamble.Pruned:
		l.recovery.Converted = true
		return l.toPruned(s, *e)
	case l.mode != pruned && s.preamble.Pruned:
		l.recovery.Converted = true
		return l.vacuum(s, e)
	}
	return nil
}

// toPruned appends the count of blocks, and then sets the flag: before that, the
// count is only something to be cut off an ordinary log.
func (l opening) toPruned(s *source, e extent) error {
	count := uint32(0)
	if e.blocks {
		count = e.head.num - l.first + 1
	}
	keep := *l.o.RetainBlocks
	if count > keep {
		l.first = max(l.first, min(e.head.num-keep+1, l.o.needed()))
		count = e.head.num - l.first + 1
	}
	if err := s.writeTrailer(e.end, count); err != nil {
		return err
	}
	s.preamble.Pruned = true
	if err := s.writeVersion(); err != nil {
		return err
	}
	if l.first == s.preamble.First {
		return nil
	}
	list, err := l.readIndex(s, l.first, 1)
	if err != nil {
		return err
	}
	if err = s.begins(l.first, list[0]); err == nil {
		l.punch, err = punchOut(s.file, s.start, list[0])
	}
	if err != nil {
		l.o.Logger.Warn("could not give back space of the block log", "error", err)
	}
	return nil
}

// writeVersion rewrites the first four bytes, durably.
func (s *source) writeVersion() error {
	_, err := s.file.WriteAt(s.preamble.Append(nil)[:4], 0)
	if err == nil {
		err = s.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("write version of %s: %w", s.path, err)
	}
	return nil
}

// vacuum makes an ordinary log of a pruned one, of the newest version. Where nothing
// was given back it only takes the flag and the trailer away.
func (l opening) vacuum(s *source, e *extent) error {
	l.o.Logger.Info("Vacuuming pruned block log", "first", l.first)
	sameLength := s.preamble.Version == maxVersion || s.preamble.Version == anyFirst && s.preamble.First == 1
	plain := s.start
	if e.blocks {
		list, err := l.readIndex(s, l.first, 1)
		if err != nil {
			return err
		}
		plain = list[0]
	}
	if l.first == s.preamble.First && sameLength && plain == s.start {
		s.preamble.Pruned, s.preamble.Version = false, maxVersion
		if err := s.writeVersion(); err != nil {
			return err
		}
		if err := s.file.Truncate(e.end); err != nil {
			return fmt.Errorf("vacuum %s: %w", s.path, err)
		}
		return nil
	}
	c := &cutter{fs: l.o.FS, source: s, end: e.end,
		surface: newSurface(l.o.Logger, l.o.Now, "Vacuuming pruned block log, bytes", uint64(e.end-plain))}
	temporary := workingBase(l.o.Dir) + ".tmp"
	preamble := newPreamble(l.first, s.preamble.Genesis, s.preamble.ChainID)
	shift, err := c.cut(plain, preamble, temporary)
	if err != nil {
		return fmt.Errorf("vacuum %s: %w", s.path, err)
	}
	e.end += shift
	e.position += shift
	return temporary.Replace(l.o.FS, workingBase(l.o.Dir))
}

// cutter copies consecutive entries into a new log, with the positions that they
// have there.
type cutter struct {
	fs      logcatalog.FS
	source  *source
	end     int64 // where to stop
	surface *surface
}

// cut makes a new log and index under a path without extension, durable but for
// their names, from the entries between an offset and the cutter's end. It returns
// by how much positions changed.
func (c *cutter) cut(from int64, p Preamble, base logcatalog.Pair) (shift int64, err error) {
	log, err := c.fs.Create(base.Log())
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	index, err := c.fs.Create(base.Index())
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, index.Close()) }()
	head := p.Append(nil)
	if _, err := log.WriteAt(head, 0); err != nil {
		return 0, err
	}
	shift = int64(len(head)) - from
	if err := c.copyEntries(from, int64(len(head)), log); err != nil {
		return 0, err
	}
	written := &source{file: log, path: base.Log(), preamble: p, start: int64(len(head)), size: c.end + shift}
	if err := written.reposition(from, shift, c.end+shift, index, 0); err != nil {
		return 0, err
	}
	return shift, errors.Join(log.Sync(), index.Sync())
}

// surfaceBytes is how much is copied between two words of progress.
const surfaceBytes = 4 << 20

func (c *cutter) copyEntries(from, at int64, out vfs.File) error {
	for begin := from; from < c.end; {
		to := min(from+surfaceBytes, c.end)
		if err := vfs.CopyTo(out, at, c.source.file, from, to); err != nil {
			return fmt.Errorf("entries of %s: %w", c.source.path, err)
		}
		at += to - from
		from = to
		if c.surface != nil {
			c.surface.at(uint64(from - begin))
		}
	}
	return nil
}

// reposition adds shift to the position in each copied entry, from the last to the
// first, and writes the index from a count on. Copied entries began at offset from in
// their old log.
func (s *source) reposition(from, shift, end int64, index vfs.File, count int64) error {
	var starts []uint64
	for at := end; at > s.start; {
		b, err := s.read(at-positionBytes, positionBytes)
		if err != nil {
			return err
		}
		start := int64(binary.LittleEndian.Uint64(b))
		if start < from || !s.plausible(uint64(start+shift), at) {
			return fmt.Errorf("block position %d before offset %d of %s is not in the range of entries",
				start, at, s.path)
		}
		if _, err := s.file.WriteAt(binary.LittleEndian.AppendUint64(b[:0], uint64(start+shift)),
			at-positionBytes); err != nil {
			return err
		}
		at = start + shift
		starts = append(starts, uint64(at))
	}
	const chunk = 1 << 16
	buf := make([]uint64, 0, chunk)
	for i := len(starts) - 1; i >= 0; {
		at := count + int64(len(starts)-1-i)
		buf = buf[:0]
		for ; i >= 0 && len(buf) < chunk; i-- {
			buf = append(buf, starts[i])
		}
		if _, err := index.WriteAt(appendPositions(nil, buf), at*positionBytes); err != nil {
			return err
		}
	}
	return nil
}
