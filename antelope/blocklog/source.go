package blocklog

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"time"

	"tarn/internal/progress"
	"tarn/store/vfs"
)

// source is a log's file as a row of entries, each a packed block and the
// position at which it begins.
type source struct {
	file     vfs.File
	path     string
	preamble Preamble
	start    int64 // where entries begin
	size     int64 // of the file
}

// openSource reads the preamble of an open log.
func openSource(f vfs.File, path string) (*source, error) {
	p, start, err := readPreamble(f, path)
	if err != nil {
		return nil, err
	}
	size, err := f.Size()
	if err != nil {
		return nil, fmt.Errorf("size of %s: %w", path, err)
	}
	return &source{file: f, path: path, preamble: p, start: start, size: size}, nil
}

// read returns the n bytes at an offset.
func (s *source) read(at int64, n int) ([]byte, error) {
	b := make([]byte, n)
	if err := readFull(s.file, s.path, b, at); err != nil {
		return nil, err
	}
	return b, nil
}

// readFull fills b from an offset of a file that it names in errors.
func readFull(f vfs.File, path string, b []byte, at int64) error {
	if err := vfs.ReadFull(f, b, at); err != nil {
		return fmt.Errorf("read %d bytes at offset %d of %s: %w", len(b), at, path, err)
	}
	return nil
}

// before tells where the entry that ends at an offset says it begins, and whether
// that can be true.
func (s *source) before(end int64) (int64, bool, error) {
	if end-positionBytes < s.start+minBlockBytes {
		return 0, false, nil
	}
	b, err := s.read(end-positionBytes, positionBytes)
	if err != nil {
		return 0, false, err
	}
	start := binary.LittleEndian.Uint64(b)
	return int64(start), s.plausible(start, end), nil
}

// plausible tells whether an entry can go from a position that was read to an end that perhaps
// was read too: both may be anything.
func (s *source) plausible(start uint64, end int64) bool {
	at := int64(start)
	return at >= s.start && end > at && end-at >= minBlockBytes+positionBytes && end-at <= maxBlockBytes+positionBytes
}

// link decodes the entry between two offsets; ok is false if it is no block.
func (s *source) link(start, end int64) (l link, ok bool, err error) {
	b, err := s.read(start, int(end-positionBytes-start))
	if err != nil {
		return link{}, false, err
	}
	l, bad := decodeLink(b)
	return l, bad == nil && l.num >= s.preamble.First, nil
}

// numberAt tells the number of the block at an offset, and whether one can be there.
func (s *source) numberAt(start int64) (uint32, bool, error) {
	if start < s.start || start > s.size-minBlockBytes {
		return 0, false, nil
	}
	b, err := s.read(start, minBlockBytes)
	if err != nil {
		return 0, false, err
	}
	num, ok := blockNumber(b)
	return num, ok, nil
}

// holds tells whether a block begins at an offset: its number is there, and either the entry that
// ends there is that of the block before, or the block and its entry are whole. The number alone is
// little: what is inside a block may read like it.
func (s *source) holds(num uint32, at int64) (bool, error) {
	is, ok, err := s.numberAt(at)
	if err != nil || !ok || is != num || at == s.start {
		return err == nil && ok && is == num, err
	}
	follows, err := s.follows(num, at)
	if err != nil || follows {
		return follows, err
	}
	row := row{source: s, at: at, offset: at}
	x := inspectors.Get().(*inspector) //nolint:forcetypeassert // it holds nothing else
	defer inspectors.Put(x)
	_, ok, err = row.next(x)
	return ok, err
}

// follows tells whether the entry that ends at an offset is that of the block before one. What was
// given back reads as zeros, and tells nothing.
func (s *source) follows(num uint32, at int64) (bool, error) {
	before, ok, err := s.before(at)
	if err != nil || !ok {
		return err == nil && uint64(before) < uint64(s.start), err
	}
	is, ok, err := s.numberAt(before)
	return ok && (is == num-1 || is == 1), err // 1 is what zeros read like
}

// begins is an error unless a block begins at an offset, which its index has.
func (s *source) begins(num uint32, at int64) error {
	ok, err := s.holds(num, at)
	if err == nil && !ok {
		err = fmt.Errorf("block %d is not at offset %d of %s, where its index says it is (block-log make-index "+
			"writes the index anew)", num, at, s.path)
	}
	return err
}

// walker goes back through a log from one entry's end to that of the entry before.
// It reads in pieces, so that small entries cost less than a call each.
type walker struct {
	*source
	at     int64 // the end of the next entry
	buf    []byte
	offset int64 // of buf in the file
}

const walkBytes = 64 << 10

func (s *source) walkBack(from int64) *walker { return &walker{source: s, at: from} }

// previous moves to the beginning of the entry that ends where the walker is.
func (w *walker) previous() (int64, error) {
	at := w.at - positionBytes
	if at < w.start {
		return 0, fmt.Errorf("offset %d of %s: no entry ends there", w.at, w.path)
	}
	if at < w.offset || w.at > w.offset+int64(len(w.buf)) {
		w.offset = max(w.start, w.at-walkBytes)
		if w.buf = w.buf[:0]; cap(w.buf) == 0 {
			w.buf = make([]byte, 0, walkBytes)
		}
		w.buf = w.buf[:w.at-w.offset]
		if err := readFull(w.file, w.path, w.buf, w.offset); err != nil {
			w.buf = w.buf[:0]
			return 0, err
		}
	}
	start := binary.LittleEndian.Uint64(w.buf[at-w.offset:])
	if !w.plausible(start, w.at) {
		return 0, fmt.Errorf("offset %d of %s: block position %d is not in the range of entries", at, w.path, start)
	}
	w.at = int64(start)
	return w.at, nil
}

// surface says every few seconds how far a walk over a log is.
type surface struct {
	log   *slog.Logger
	what  string
	total uint64
	work  progress.Work
}

const surfaceEvery = 5 * time.Second

func newSurface(log *slog.Logger, now func() time.Time, what string, total uint64) *surface {
	return &surface{log: log, what: what, total: total, work: progress.Begin(now, 0, surfaceEvery)}
}

func (s *surface) at(done uint64) {
	if done == 0 || !s.work.Due(surfaceEvery) {
		return
	}
	left := time.Duration(s.work.Left(done, s.total) * float64(time.Second))
	s.log.Info(s.what, "done", done, "total", s.total, "per_second", int64(s.work.Rate(done)),
		"left", left.Round(time.Second))
}
