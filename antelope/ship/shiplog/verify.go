package shiplog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"sync"

	"tarn/antelope/logcatalog"
	"tarn/antelope/logfinding"
	"tarn/antelope/types"
	"tarn/store/vfs"
)

// VerifyOptions say which log is read, and who is told.
type VerifyOptions struct {
	Name string
	Dir  string        // of the file that is appended to
	Old  []string      // folders with parts of it, retained or archived; they need not exist
	FS   logcatalog.FS // nil for the machine's own

	logfinding.Reporter
	// Decode reads the unpacked content of an entry; nil looks at the checksum only.
	Decode func(io.Reader) error
	// ID is the id that a block has elsewhere, false if it is not known there; nil knows none.
	ID func(num uint32) (types.Checksum256, bool, error)
}

// Verify reads all of a log, entry by entry, and changes nothing. It goes on after a
// finding at the next whole entry. A log that is not there has nothing to read. The error
// is that of what could not be read at all.
func Verify(o VerifyOptions) (logfinding.Counts, error) {
	if o.FS == nil {
		o.FS = logcatalog.OS
	}
	var total logfinding.Counts
	for _, dir := range o.Old {
		list, err := logcatalog.Parts(o.FS, dir, o.Name, nil, nil)
		if err != nil {
			return total, fmt.Errorf("list %s: %w", dir, err)
		}
		for i, p := range list {
			if i > 0 && p.First != list[i-1].Last+1 {
				o.Found(logfinding.Finding{Path: p.Log(), Offset: -1, Block: p.First,
					Detail: fmt.Sprintf("the file before it ends with block %d", list[i-1].Last)})
			}
			if err := o.file(p.Pair, &p, &total); err != nil {
				return total, err
			}
		}
	}
	return total, o.file(logcatalog.Pair(filepath.Join(o.Dir, o.Name)), nil, &total)
}

// file reads one file with its index; p is nil for the one that is appended to.
func (o *VerifyOptions) file(pair logcatalog.Pair, p *logcatalog.Part, total *logfinding.Counts) (err error) {
	log, err := o.FS.Open(pair.Log(), false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	s := &scanner{o: o, pair: pair, part: p, log: log, count: total}
	if s.size, err = log.Size(); err != nil {
		return err
	}
	if s.index, err = o.FS.Open(pair.Index(), false); errors.Is(err, fs.ErrNotExist) {
		s.index, err = nil, nil
	}
	if err != nil {
		return err
	}
	if s.index != nil {
		defer func() { err = errors.Join(err, s.index.Close()) }()
	}
	total.Files++
	if err := s.run(); err != nil {
		return fmt.Errorf("%s: %w", pair.Log(), err)
	}
	return nil
}

// scanner reads one file.
type scanner struct {
	o     *VerifyOptions
	pair  logcatalog.Pair
	part  *logcatalog.Part
	log   vfs.File
	index vfs.File // nil if there is none
	size  int64
	count *logfinding.Counts

	limit  int64 // where entries end at the latest
	pruned bool
	magic  bool   // the first magic number is told of
	base   uint32 // block that the index begins with
	first  uint32 // block that is read first
	from   int64  // where it begins
	num    uint32 // block that is next
	at     int64  // where it begins
	last   types.Checksum256
	mark   *mark // of the file that is appended to, if it has one
	fits   bool  // the mark does

	waiting []logfinding.Finding // after the last whole entry: perhaps they are its end
	keep    int64                // where the first of them begins, and its block
	kept    uint32
	stop    bool   // what follows is cut off by a start
	lost    bool   // headers are lost: nobody can tell where blocks are
	unsure  bool   // so it is, if a whole entry follows what waits
	said    uint32 // how many entries a pruned file says that it ends with
	odd     oddIndex
	idle    sync.Pool
}

func (s *scanner) path() string { return s.pair.Log() }

func (s *scanner) found(f logfinding.Finding) {
	if f.Path == "" {
		f.Path = s.path()
	}
	s.o.Found(f)
}

func (s *scanner) run() error {
	if err := s.findMark(); err != nil {
		return err
	}
	s.limit = s.size
	if s.size == 0 {
		return s.end()
	}
	if ok, err := s.begin(); err != nil || !ok {
		return err
	}
	for s.at < s.limit && !s.stop {
		if err := s.entry(); err != nil {
			return err
		}
	}
	return s.end()
}

// findMark reads the mark of the file that is appended to.
func (s *scanner) findMark() error {
	if s.part != nil {
		return nil
	}
	m, err := readMark(s.o.FS, markPath(s.pair))
	switch {
	case err == nil:
		s.mark = &m
	case errors.Is(err, logcatalog.ErrMark):
		s.found(logfinding.Finding{Path: markPath(s.pair), Offset: -1,
			Detail: "the mark is not whole; without it the last entry of the log is looked at", Start: true})
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return nil
}

// entry reads the entry that is next, or goes on behind it at the next whole one.
func (s *scanner) entry() error {
	if s.mark != nil && s.at == s.mark.size && s.last == s.mark.id {
		s.fits = true
	}
	h, back, err := readEnds(s.log, s.at, s.limit)
	if errors.Is(err, ErrCorrupt) && s.limit < s.size { // the end with the count may be cut off
		if x, from, e := readEnds(s.log, s.at, s.size); e == nil && from == s.at {
			h, back, err = x, from, nil
		}
	}
	if errors.Is(err, ErrCorrupt) {
		return s.resume(err)
	}
	if err != nil {
		return err
	}
	if back != s.at {
		return s.resume(fmt.Errorf("its last 8 bytes, at offset %d, say that it begins at %d",
			s.at+h.span()-trailerBytes, back))
	}
	if lost, err := s.skipOrphan(h); err != nil || lost {
		return err
	}
	if number(h.id) != s.num {
		return s.resynchronize(h)
	}
	return s.content(h)
}

// skipOrphan passes over an entry of a branch that has lost, and tells whether it was one; one of a block
// in the place of others becomes the next. Spring leaves the former where they are and appends the
// latter; its index leads to the last entry of each block.
func (s *scanner) skipOrphan(h header) (lost bool, err error) {
	num := number(h.id)
	if num < s.first || num > s.num {
		return false, nil
	}
	at, ok, err := s.odd.position(s, num)
	switch {
	case err != nil || ok && at < s.at || !ok && (s.index == nil || num == s.num):
		return false, err
	case ok && at == s.at:
		s.num = num
		return false, nil
	case ok: // else the log has come to end before this block
		later, back, err := readEnds(s.log, at, s.size)
		if errors.Is(err, ErrCorrupt) || err == nil && (back != at || number(later.id) != num) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	s.settle()
	span := h.span()
	s.num, s.at, s.last = num+1, s.at+span, h.id
	return true, s.read(span)
}

// resynchronize goes on with an entry of another block than is expected: either blocks are
// missing, or its id is wrong, as the one that follows tells.
func (s *scanner) resynchronize(h header) error {
	why := fmt.Sprintf("block %d where %d is expected", number(h.id), s.num)
	next, err := readHeader(s.log, s.at+h.span(), s.limit)
	if err != nil && !errors.Is(err, ErrCorrupt) {
		return err
	}
	if err == nil && number(next.id) == number(h.id)+1 {
		s.found(logfinding.Finding{Offset: s.at + 8, Block: s.num, Detail: why})
		s.num, s.lost = number(h.id), true
		return s.content(h)
	}
	f := logfinding.Finding{Offset: s.at + 8, Block: s.num, Detail: why}
	id, ok, err := s.known(s.at + h.span())
	if err != nil {
		return err
	}
	err = s.unpack(s.at, h)
	switch {
	case err == nil && ok:
		s.settle()
		f.Mend = s.mendBytes([]write{writeID(s.at, &id)})
		s.found(f)
		s.last = id
	case err == nil: // it is whole but for its id, and is not cut off
		s.settle()
		s.lost = true
		s.found(f)
	case errors.Is(err, ErrCorrupt):
		s.wait(f)
		s.unsure = true
	default:
		return err
	}
	if err := s.odd.compare(s, s.num, s.at); err != nil {
		return err
	}
	s.num, s.at = s.num+1, s.at+h.span()
	return s.read(h.span())
}

// known is the id of the block that is next as something else than its entry tells it, which
// ends at end.
func (s *scanner) known(end int64) (id types.Checksum256, ok bool, err error) {
	if m := s.mark; m != nil && m.size == end && m.end == s.num+1 {
		return m.id, true, nil
	}
	if s.o.ID == nil {
		return id, false, nil
	}
	return s.o.ID(s.num)
}

func (s *scanner) read(bytes int64) error {
	s.count.Bytes += bytes
	return s.o.Read(bytes)
}

// content reads what an entry has, whose length is certain.
func (s *scanner) content(h header) error {
	if err := s.read(h.span()); err != nil {
		return err
	}
	err := s.unpack(s.at, h)
	switch {
	case errors.Is(err, ErrCorrupt):
		s.wait(logfinding.Finding{Offset: s.at, Block: s.num, Detail: err.Error()})
	case err != nil:
		return err
	default:
		if err := s.isWhole(h); err != nil {
			return err
		}
	}
	if err := s.odd.compare(s, s.num, s.at); err != nil {
		return err
	}
	s.num, s.at = s.num+1, s.at+h.span()
	return nil
}

// isWhole takes note of an entry that is as it should be.
func (s *scanner) isWhole(h header) error {
	s.settle()
	s.count.Entries++
	s.last = h.id
	end := s.at + h.span()
	if m := s.mark; m != nil && m.size == end && m.end == s.num+1 && m.id != h.id {
		id := m.id
		s.found(logfinding.Finding{Offset: s.at + 8, Block: s.num,
			Detail: fmt.Sprintf("the entry is of block %s, and %s was durable", h.id, id),
			Mend:   s.mendBytes([]write{writeID(s.at, &id)})})
		s.last, s.fits = id, true
		return nil
	}
	if s.o.ID == nil {
		return nil
	}
	id, ok, err := s.o.ID(s.num)
	if err == nil && ok && id != h.id {
		s.found(logfinding.Finding{Offset: s.at + 8, Block: s.num,
			Detail: fmt.Sprintf("the entry is of block %s, elsewhere it is %s", h.id, id)})
	}
	return err
}

// wait keeps a finding until it is known whether whole entries follow. Behind the mark
// nobody asks: a start cuts off all from there on.
func (s *scanner) wait(f logfinding.Finding) {
	f.Path = s.path()
	if len(s.waiting) == 0 {
		s.keep, s.kept = s.at, s.num
		s.stop = s.mark != nil && s.at >= s.mark.size
	}
	if len(s.waiting) < mostWaiting {
		s.waiting = append(s.waiting, f)
	}
}

// mostWaiting bounds what is told of the end of a file.
const mostWaiting = 1000

// settle tells of what waits: a whole entry follows, so it is not the end of the file.
func (s *scanner) settle() {
	for _, f := range s.waiting {
		s.found(f)
	}
	s.waiting = nil
	s.lost, s.unsure = s.lost || s.unsure, false
}

// unpack reads a payload to its end.
func (s *scanner) unpack(at int64, h header) error {
	if err := check(s.log, at+headerBytes, h.payload, &s.idle); err != nil || s.o.Decode == nil {
		return err
	}
	u, err := openPayload(s.log, at+headerBytes, h.payload, &s.idle)
	if err != nil {
		return err
	}
	if err := errors.Join(s.o.Decode(u), u.Close()); err != nil {
		return fmt.Errorf("%w: its content: %w", ErrCorrupt, err)
	}
	return nil
}

// resume goes on behind an entry whose header or end is wrong, and mends it if the one
// that follows and its checksum tell what they were.
func (s *scanner) resume(why error) error {
	if s.mark != nil && s.at >= s.mark.size {
		s.wait(logfinding.Finding{Offset: s.at, Block: s.num, Detail: why.Error()})
		s.stop = true
		return nil
	}
	at, num, ok, err := s.whole(s.at+1, 0) // its number may be any: that which is expected may be wrong
	if err != nil {
		return err
	}
	if !ok {
		at = s.limit
	}
	if err := s.read(at - s.at); err != nil {
		return err
	}
	f := logfinding.Finding{Offset: s.at, Block: s.num, Detail: why.Error()}
	if !ok || num == s.num+1 {
		h, mend, err := s.derive(at)
		if err != nil {
			return err
		}
		if mend != nil {
			if err := s.isWhole(h); err != nil {
				return err
			}
			f.Detail, f.Mend = f.Detail+"; its content is whole", mend
			s.found(f)
			if err := s.odd.compare(s, s.num, s.at); err != nil {
				return err
			}
			s.num, s.at = s.num+1, at
			return nil
		}
	}
	if ok {
		s.unsure = true
		f.Detail += fmt.Sprintf("; the next whole entry is of block %d at offset %d", num, at)
	}
	s.wait(f)
	s.at = at
	if ok {
		s.num = num
	}
	return nil
}
