package shiplog

import (
	"encoding/binary"
	"errors"
	"fmt"

	"tarn/antelope/logfinding"
	"tarn/antelope/types"
	"tarn/store/vfs"
)

// oddIndex is what of an index is not as the log says.
type oddIndex struct {
	buf   []byte
	begin int64 // in the index, of buf
	size  int64 // of the index; -1 until it is asked
	wrong int64
	first int64 // offset of the first that is wrong
	block uint32
}

// position is where the index says that a block's entry is; false if it says nothing.
func (x *oddIndex) position(s *scanner, num uint32) (at int64, ok bool, err error) {
	if s.index == nil || num < s.base {
		return 0, false, nil
	}
	if x.buf == nil {
		if x.size, err = s.index.Size(); err != nil {
			return 0, false, err
		}
	}
	offset := int64(num-s.base) * indexBytes
	if offset+indexBytes > x.size {
		return 0, false, nil
	}
	if x.buf == nil || offset < x.begin || offset+indexBytes > x.begin+int64(len(x.buf)) {
		x.begin = offset
		x.buf = make([]byte, min(64<<10, x.size-offset)/indexBytes*indexBytes)
		if _, err := s.index.ReadAt(x.buf, offset); err != nil {
			return 0, false, err
		}
	}
	return int64(binary.LittleEndian.Uint64(x.buf[offset-x.begin:])), true, nil
}

// compare holds the position of an entry against the index. What the index lacks at its
// end counts elsewhere.
func (x *oddIndex) compare(s *scanner, num uint32, at int64) error {
	said, ok, err := x.position(s, num)
	if err == nil && ok && said != at {
		if x.wrong == 0 {
			x.first, x.block = int64(num-s.base)*indexBytes, num
		}
		x.wrong++
	}
	return err
}

// end looks at what follows the last whole entry, at the index and at the mark.
func (s *scanner) end() error {
	torn := len(s.waiting) > 0
	if !torn {
		s.keep, s.kept = s.at, s.num
	}
	if m := s.mark; m != nil && m.size == s.keep && (m.size == 0 || m.id == s.last) {
		s.fits = true
	}
	switch {
	case torn:
		s.tail()
	case s.pruned && !s.lost && s.keep > s.limit:
		s.found(logfinding.Finding{Offset: s.keep, Detail: "the end, with the number of entries, is cut off",
			Mend: s.cut("write the number of entries in it")})
	case s.pruned && !s.lost && s.said != s.kept-s.first:
		s.found(logfinding.Finding{Offset: s.limit, Detail: fmt.Sprintf("the log says that it ends with %d entries, "+
			"and there are %d", s.said, s.kept-s.first), Mend: s.cut("write the number of entries in it")})
	}
	if p := s.part; p != nil && !torn && s.num != p.Last+1 {
		s.found(logfinding.Finding{Offset: s.at, Block: s.num,
			Detail: fmt.Sprintf("the file ends before this block, and is named as if it had block %d", p.Last)})
	}
	if err := s.checkIndex(); err != nil {
		return err
	}
	return s.checkMark(torn)
}

// tail tells of what is broken at the end of the file, and mends it by cutting it off.
func (s *scanner) tail() {
	list := s.waiting
	s.waiting = nil
	_, err := readHeader(s.log, s.keep, s.size)
	start := s.part == nil &&
		(s.mark != nil && s.keep >= s.mark.size || s.mark == nil && !s.pruned && s.keep > 0 && err != nil)
	for i := range list {
		list[i].Start = start
	}
	last := &list[len(list)-1]
	switch {
	case s.part != nil && s.kept != s.part.Last+1, s.keep == 0 && !start:
		s.lost = true
	case s.pruned && s.lost: // nobody can tell how many entries the rest has
	default:
		last.Mend = s.cut(fmt.Sprintf("cut off %d bytes from offset %d on of", s.size-s.keep, s.keep))
	}
	for _, f := range list {
		s.found(f)
	}
}

// cut makes a file end after its last whole entry.
func (s *scanner) cut(what string) *logfinding.Mend {
	pruned, path, files, keep, count, m := s.pruned && s.keep > 0, s.path(), s.o.FS, s.keep, s.kept-s.first, s.newMark()
	lower := ""                                         // the mark, if it says more
	if s.mark != nil && s.mark.size > keep && !s.lost { // else nobody can tell the blocks of a mark
		lower = markPath(s.pair)
	}
	return &logfinding.Mend{What: what + " " + path, Do: func() error {
		f, err := files.Open(path, true)
		if err != nil {
			return err
		}
		size := keep
		if pruned { // before the rest goes: a pruned file without a count is refused
			size += countBytes
			if _, err = f.WriteAt(binary.LittleEndian.AppendUint32(nil, count), keep); err == nil {
				err = f.Sync()
			}
		}
		if err == nil {
			err = f.Truncate(size)
		}
		if err == nil {
			err = f.Sync()
		}
		if err = errors.Join(err, f.Close()); err == nil && lower != "" {
			err = m.write(files, lower)
		}
		return err
	}}
}

// newMark is that of the whole entries.
func (s *scanner) newMark() mark {
	if s.keep == 0 {
		return mark{}
	}
	return mark{first: s.first, end: s.kept, size: s.keep, id: s.last}
}

// checkIndex tells what is wrong with the index.
func (s *scanner) checkIndex() error {
	path := s.pair.Index()
	want := int64(s.kept-s.base) * indexBytes
	if s.keep == 0 {
		want = 0
	}
	if s.index == nil {
		s.found(logfinding.Finding{Path: path, Offset: -1, Detail: "there is no index", Start: true, Mend: s.rebuild()})
		return nil
	}
	size, err := s.index.Size()
	if err != nil {
		return err
	}
	x := &s.odd
	switch {
	case x.wrong > 0 && x.first < want:
		s.found(logfinding.Finding{Path: path, Offset: x.first, Block: x.block,
			Detail: fmt.Sprintf("%d positions are not where the log has the blocks", x.wrong), Mend: s.rebuild()})
	case size != want && !s.lost:
		s.found(logfinding.Finding{Path: path, Offset: min(size, want),
			Detail: fmt.Sprintf("%d bytes where %d belong", size, want), Start: true, Mend: s.rebuild()})
	}
	return nil
}

// rebuild makes the index again; nil if headers are lost that would be needed.
func (s *scanner) rebuild() *logfinding.Mend {
	if s.lost {
		return nil
	}
	files, logPath, path := s.o.FS, s.path(), s.pair.Index()
	f := file{base: s.base, end: s.kept, size: s.keep}
	first, from := s.first, s.from
	if s.keep == 0 {
		f.end = first
	}
	return &logfinding.Mend{What: "make " + path + " again", Do: func() (err error) {
		if f.log, err = files.Open(logPath, false); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.log.Close()) }()
		to, err := files.Create(path + vfs.NewSuffix)
		if err != nil {
			return err
		}
		if err = errors.Join(f.writeIndex(to, first, from), to.Close()); err != nil {
			return errors.Join(fmt.Errorf("make %s: %w", path, err), files.Remove(path+vfs.NewSuffix))
		}
		return vfs.RenameDurably(files, path+vfs.NewSuffix, path)
	}}
}

// checkMark tells what is wrong with the mark; one that is cut with its file is mended so.
func (s *scanner) checkMark(torn bool) error {
	m := s.mark
	if m != nil && s.fits && s.pruned && !s.lost && s.keep > 0 && m.first < s.first {
		path := markPath(s.pair)
		s.found(logfinding.Finding{Path: path, Offset: 0, Block: m.first,
			Detail: fmt.Sprintf("the mark says that blocks from this one on can be read, and the first entry is that "+
				"of block %d", s.first), Mend: s.remark()})
	}
	if m == nil || s.fits || torn && s.keep < m.size {
		return nil
	}
	f := logfinding.Finding{Path: markPath(s.pair), Offset: -1}
	if m.size > s.keep {
		f.Path, f.Offset = s.path(), s.keep
		f.Detail = fmt.Sprintf("the log ends here, and %d bytes, up to block %d, were durable", m.size, m.end-1)
	} else {
		f.Detail = fmt.Sprintf("no entry ends at offset %d with block %s, as the mark says; without a mark that fits "+
			"the last entry of the log is looked at", m.size, m.id)
		f.Start = m.size != s.keep // else the last id is wrong, or its number
	}
	if !s.lost && m.size != s.keep && (s.last != (types.Checksum256{}) || s.keep == 0) {
		f.Mend = s.remark()
	}
	s.found(f)
	return nil
}

// remark writes the mark for the whole entries.
func (s *scanner) remark() *logfinding.Mend {
	path, files, to := markPath(s.pair), s.o.FS, s.newMark()
	return &logfinding.Mend{What: "write " + path + " for what the log has",
		Do: func() error { return to.write(files, path) }}
}
