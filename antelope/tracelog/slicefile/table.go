package slicefile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"tarn/antelope/tracelog/wire"
	"tarn/antelope/types"
	"tarn/store/vfs"
)

// span is where an entry is in a file: the zero span is none.
type span struct {
	from, to int64
	id       uint64 // of a block, folded; 0 where it is not of traces
}

// toEnd is the end of a span that goes to the end of its file, wherever that is.
const toEnd = -1

// spans are where the entries of blocks are. A page has those of neighbours.
type spans map[uint32]*[pageSpans]span

const pageSpans = 64

func (s spans) get(num uint32) (span, bool) {
	if p := s[num/pageSpans]; p != nil {
		x := p[num%pageSpans]
		return x, x != span{}
	}
	return span{}, false
}

func (s spans) set(num uint32, x span) {
	p := s[num/pageSpans]
	if p == nil {
		p = new([pageSpans]span)
		s[num/pageSpans] = p
	}
	p[num%pageSpans] = x
}

// table is where the blocks of a slice are. Of several entries of a number the last one
// before the block became irreversible counts.
type table struct {
	traces, ids spans
	lib         uint32 // greatest that its entries tell
	last        uint32 // greatest number of a block
	blocks      int    // entries of blocks
}

func newTable() *table { return &table{traces: spans{}, ids: spans{}} }

// counts tells whether an entry counts that comes now.
func (t *table) counts(where spans, num, lib uint32) bool {
	_, there := where.get(num)
	return !there || num > lib
}

// scan calls each with the entries of a file from an offset on, and where each begins. It
// returns where the last whole one ends.
func scan(f io.ReaderAt, from, size int64, each func(h *wire.Head, at int64) error) (end int64, err error) {
	r := bufio.NewReaderSize(io.NewSectionReader(f, from, size-from), 64<<10)
	for at := from; ; {
		h, err := wire.Skim(r)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return at, nil
		}
		if err == nil {
			err = each(&h, at)
		}
		if err != nil {
			return at, fmt.Errorf("offset %d: %w", at, corrupt(err))
		}
		at += h.Bytes
	}
}

// use calls do with a file that is only read; missing tells that there is none.
func (d *directory) use(path string, do func(f vfs.File, size int64) error) (missing bool, err error) {
	f, err := d.fs.Open(path, false)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	size, err := f.Size()
	if err == nil {
		if err = do(f, size); err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
	}
	return false, errors.Join(err, f.Close())
}

// indexHeader is the bytes that an index begins with.
const indexHeader = 4

// scanIndex calls each with the entries of a slice's index, and where each begins. It returns
// where the last whole one ends; 0 without an index that has its header.
func (d *directory) scanIndex(number uint32, each func(h *wire.Head, at int64) error) (end int64, err error) {
	_, err = d.use(d.path(indexPrefix, number, logSuffix), func(f vfs.File, size int64) (err error) {
		if size < indexHeader {
			return nil
		}
		if err := checkHeader(f); err != nil {
			return err
		}
		end, err = scan(f, indexHeader, size, d.eachAllowed(number, wire.BlockKind, each))
		return err
	})
	return end, err
}

// scanIDs calls each with the entries of a slice's file of ids, and where each begins. It
// returns where the last whole one ends.
func (d *directory) scanIDs(number uint32, each func(h *wire.Head, at int64) error) (end int64, err error) {
	_, err = d.use(d.path(idsPrefix, number, logSuffix), func(f vfs.File, size int64) (err error) {
		end, err = scan(f, 0, size, d.eachAllowed(number, wire.IDsKind, each))
		return err
	})
	return end, err
}

// eachAllowed calls each with the entries that a slice may have; others are an error.
func (d *directory) eachAllowed(
	number uint32, kind wire.Kind, each func(h *wire.Head, at int64) error,
) func(h *wire.Head, at int64) error {
	return func(h *wire.Head, at int64) error {
		if err := d.mayHave(number, h, kind); err != nil {
			return err
		}
		return each(h, at)
	}
}

// mayHave tells what is wrong with an entry of a slice.
func (d *directory) mayHave(number uint32, h *wire.Head, kind wire.Kind) error {
	if h.Kind != kind && h.Kind != wire.IrreversibleKind {
		return fmt.Errorf("%w: entry of kind %d", ErrCorrupt, h.Kind)
	}
	if h.Kind == wire.BlockKind && types.BlockNum(h.ID) != h.Number {
		return fmt.Errorf("%w: block %d, with the id %s", ErrCorrupt, h.Number, h.ID)
	}
	if d.Slice(h.Number) != number {
		return fmt.Errorf("%w: block %d, which is not in this slice", ErrCorrupt, h.Number)
	}
	return nil
}

func checkHeader(f io.ReaderAt) error {
	var b [indexHeader]byte
	if _, err := f.ReadAt(b[:], 0); err != nil {
		return err
	}
	if v := uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24; v != wire.IndexVersion {
		return fmt.Errorf("%w: Old slice file with version: %d is in directory, only supporting version: %d",
			ErrCorrupt, v, wire.IndexVersion)
	}
	return nil
}

// load reads a slice's table from its files.
func (l *Log) load(number uint32) (*table, error) {
	t := newTable()
	var last *wire.Head // entry of a block, whose end the next one tells
	end := func(to int64) error {
		if last == nil {
			return nil
		}
		if from := int64(last.Offset); from < 0 || to != toEnd && to <= from {
			return fmt.Errorf("%w: block %d is at %d, the next one at %d", ErrCorrupt, last.Number, from, to)
		}
		if t.counts(t.traces, last.Number, t.lib) {
			t.traces.set(last.Number, span{int64(last.Offset), to, fold(last.ID)})
		}
		return nil
	}
	var waiting uint32 // told since the last block, whose entry came before
	whole, err := l.scanIndex(number, func(h *wire.Head, _ int64) error {
		if h.Kind == wire.IrreversibleKind {
			waiting = max(waiting, h.Number)
			return nil
		}
		err := end(int64(h.Offset))
		last, t.last, t.lib = h, max(t.last, h.Number), max(t.lib, waiting)
		t.blocks++
		return err
	})
	if err == nil {
		err = end(toEnd)
	}
	ids := int64(0)
	if err == nil {
		ids, err = l.loadIDs(number, t)
	}
	if err == nil {
		err = l.ends(number, whole, ids)
	}
	t.lib = max(t.lib, waiting)
	if err != nil {
		return nil, fmt.Errorf("read where the blocks of a slice are: %w", err)
	}
	return t, nil
}

func (l *Log) loadIDs(number uint32, t *table) (end int64, err error) {
	lib := uint32(0)
	return l.scanIDs(number, func(h *wire.Head, at int64) error {
		if h.Kind == wire.IrreversibleKind {
			lib = max(lib, h.Number)
		} else if t.counts(t.ids, h.Number, lib) {
			t.ids.set(h.Number, span{at, at + h.Bytes, 0})
		}
		return nil
	})
}

// ends is an error if an entry of a slice that gets no more of them does not end: what follows it
// cannot be found.
func (l *Log) ends(number uint32, index, ids int64) error {
	l.mu.RLock()
	settled := number < l.settled
	l.mu.RUnlock()
	if !settled {
		return nil
	}
	is, err := l.sizesOf(number)
	switch {
	case err != nil:
		return err
	case index < is.index:
		return fmt.Errorf("%w: %s: offset %d: an entry that does not end",
			ErrCorrupt, l.path(indexPrefix, number, logSuffix), index)
	case ids < is.ids:
		return fmt.Errorf("%w: %s: offset %d: an entry that does not end",
			ErrCorrupt, l.path(idsPrefix, number, logSuffix), ids)
	}
	return nil
}

// mostKept is how many blocks the tables of slices have that nothing is appended to, for
// the next who asks; a block takes some 40 bytes.
const mostKept = 1 << 18

// lookup returns where a block's entries are. It loads the slice's table if need be.
func (l *Log) lookup(num uint32, which func(*table) spans) (span, bool, error) {
	number := l.Slice(num)
	x, ok, loaded := l.find(number, num, which)
	if loaded {
		return x, ok, nil
	}
	l.loading.Lock()
	defer l.loading.Unlock()
	if x, ok, loaded = l.find(number, num, which); loaded {
		return x, ok, nil
	}
	t, err := l.load(number)
	if err != nil {
		return span{}, false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.slices[number]
	if s == nil { // removed meanwhile
		return span{}, false, nil
	}
	s.table = t
	l.touch(s)
	l.kept += t.blocks
	l.evict()
	x, ok = which(t).get(num)
	return x, ok, nil
}

// find looks into a table if there is one; loaded says that what it returns holds.
func (l *Log) find(number, num uint32, which func(*table) spans) (x span, ok, loaded bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.slices[number]
	if s == nil {
		return span{}, false, true
	}
	if s.table == nil {
		return span{}, false, false
	}
	l.touch(s)
	x, ok = which(s.table).get(num)
	return x, ok, true
}

func (l *Log) touch(s *slice) {
	l.clock++
	s.used = l.clock
}

// evict lets go of the tables that were used longest ago, but for the newest one; with
// the lock held.
func (l *Log) evict() {
	for l.kept > mostKept {
		var oldest *slice
		for _, s := range l.slices {
			if s.table != nil && !s.live && s.used != l.clock && (oldest == nil || s.used < oldest.used) {
				oldest = s
			}
		}
		if oldest == nil {
			return
		}
		l.kept -= oldest.table.blocks
		oldest.table = nil
	}
}

// settle makes the tables of slices before a number ones that may be let go of.
func (l *Log) settle(before uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settled = max(l.settled, before)
	for _, s := range l.slices {
		if s.live && s.number < before {
			s.live = false
			if s.table != nil {
				l.kept += s.table.blocks
			}
		}
	}
	l.evict()
}

// Slices returns the numbers of the slices that exist, ascending.
func (l *Log) Slices() []uint32 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	list := make([]uint32, 0, len(l.slices))
	for n := range l.slices {
		list = append(list, n)
	}
	slices.Sort(list)
	return list
}

// idsOf are the ids of a slice's blocks, of the entries that count.
func (l *Log) idsOf(number uint32) (map[uint32]types.Checksum256, error) {
	ids := map[uint32]types.Checksum256{}
	lib := uint32(0)
	_, err := l.scanIndex(number, func(h *wire.Head, _ int64) error {
		if h.Kind == wire.IrreversibleKind {
			lib = max(lib, h.Number)
		} else if _, there := ids[h.Number]; !there || h.Number > lib {
			ids[h.Number] = h.ID
		}
		return nil
	})
	return ids, err
}
