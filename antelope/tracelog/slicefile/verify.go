package slicefile

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"slices"

	"tarn/antelope/logcatalog"
	"tarn/antelope/logfinding"
	"tarn/antelope/serial"
	"tarn/antelope/tracelog/clog"
	"tarn/antelope/tracelog/wire"
	"tarn/antelope/types"
	"tarn/store/vfs"
)

// VerifyOptions say which folder is read, and who is told.
type VerifyOptions struct {
	Dir string
	FS  logcatalog.FS // nil for the machine's own

	logfinding.Reporter
}

// Verify reads all slices of a folder, of any stride, and changes nothing. The error is that
// of what could not be read at all.
func Verify(o VerifyOptions) (total logfinding.Counts, err error) {
	if o.FS == nil {
		o.FS = logcatalog.OS
	}
	names, err := o.FS.List(o.Dir)
	if err != nil {
		return total, fmt.Errorf("list %s: %w", o.Dir, err)
	}
	logs := map[uint32]*Log{}
	for _, name := range names {
		first, end, ok := parseName(name)
		if !ok || end <= first || first%(end-first) != 0 {
			continue
		}
		stride := end - first
		if logs[stride] == nil {
			lo := Options{Dir: o.Dir, Stride: stride, FS: o.FS, Logger: slog.New(slog.DiscardHandler)}
			logs[stride] = &Log{directory: directory{lo, o.FS}, slices: map[uint32]*slice{}}
		}
		logs[stride].slices[first/stride] = &slice{number: first / stride}
	}
	for _, stride := range slices.Sorted(maps.Keys(logs)) {
		v := &verifier{o: &o, l: logs[stride], count: &total}
		if err := v.run(); err != nil {
			return total, err
		}
	}
	return total, nil
}

// verifier reads the slices of a stride.
type verifier struct {
	o     *VerifyOptions
	l     *Log
	count *logfinding.Counts
	mark  mark
	has   bool // a mark
	left  int  // pieces of damage that cannot be mended
}

func (v *verifier) report(f logfinding.Finding) {
	if !f.Start && f.Mend == nil {
		v.left++
	}
	v.o.Found(f)
}

func (v *verifier) run() (err error) {
	v.mark, v.has, err = v.l.readMark()
	bad := err
	if err != nil && !errors.Is(err, ErrCorrupt) {
		return err
	}
	var before map[uint32][]types.Checksum256
	for _, number := range v.l.Slices() {
		s := &checked{v: v, number: number, ids: map[uint32][]types.Checksum256{}, before: before}
		if err := s.run(); err != nil {
			return err
		}
		before = s.ids
	}
	if bad != nil {
		f := logfinding.Finding{Path: v.l.markPath(), Offset: -1, Detail: bad.Error()}
		if v.left == 0 { // then nothing is lost without it
			path := f.Path
			f.Mend = &logfinding.Mend{What: "remove " + path + ": the files beside it are whole",
				Do: func() error { return vfs.RemoveDurably(v.l.fs, path) }}
		}
		v.report(f)
	}
	return nil
}

// checked is one slice.
type checked struct {
	v      *verifier
	number uint32
	limits [3]int64     // where what is durable ends, in the order of prefixes
	told   []wire.Entry // of the file of ids
	index  []wire.Entry
	at     []int64      // of them, in the index
	blocks []wire.Entry // as the index should have them

	ids, before map[uint32][]types.Checksum256 // of blocks of this slice, and of the one before it
	wrong       *logfinding.Finding            // the first that is wrong with the index
	short       *logfinding.Finding            // the index ends too early
	ends        []logfinding.Finding           // that are not whole
	oddIDs      bool                           // the file of ids has what it may not have
	unsure      bool                           // the index cannot be made of what there is
	doubt       types.Checksum256              // id that only one of two files has
	packedUp    bool                           // the traces are compressed
}

func (s *checked) path(i int) string { return s.v.l.path(prefixes[i], s.number, logSuffix) }

func (s *checked) run() error {
	l := s.v.l
	var err error
	if s.packedUp, err = l.fs.Exists(l.path(tracesPrefix, s.number, clogSuffix)); err != nil {
		return err
	}
	if skip, err := s.measure(); err != nil || skip {
		return err
	}
	if s.index, s.at, err = s.entries(1, indexHeader, wire.BlockKind); err != nil {
		return err
	}
	if s.told, _, err = s.entries(2, 0, wire.IDsKind); err != nil {
		return err
	}
	gone, err := l.use(s.path(0), func(f vfs.File, _ int64) error {
		return s.traces(io.NewSectionReader(f, 0, s.limits[0]), s.path(0))
	})
	if err == nil && gone && s.packedUp {
		path := l.path(tracesPrefix, s.number, clogSuffix)
		_, err = l.use(path, func(f vfs.File, size int64) error { return s.readPacked(f, size, path) })
	} else if err == nil && gone && len(s.index) > 0 {
		s.v.report(logfinding.Finding{Path: s.path(0), Offset: -1,
			Detail: "the file is missing, and its index is there"})
		s.tellEnds(false)
		return nil
	}
	if err != nil {
		return err
	}
	s.checkIndex()
	return nil
}

// measure finds how much of the files is to be read, and what they lack of what was durable.
func (s *checked) measure() (skip bool, err error) {
	v := s.v
	want, named := v.mark.find(s.number)
	ours := v.has && v.mark.covers(s.number) && !s.packedUp
	for i := range prefixes {
		if _, err := v.l.use(s.path(i), func(_ vfs.File, size int64) error {
			s.limits[i] = size
			v.count.Files++
			v.count.Bytes += size
			return nil
		}); err != nil {
			return false, err
		}
		if !named || s.packedUp {
			continue
		}
		durable := want.of()[i]
		if s.limits[i] < durable {
			detail := fmt.Sprintf("the file ends here, and %d bytes were durable", durable)
			if i == 1 { // it can be made again
				s.short = &logfinding.Finding{Path: s.path(1), Offset: s.limits[1], Detail: detail}
			} else if err := s.reportTorn(s.path(i), s.limits[i], detail); err != nil {
				return false, err
			}
		} else if ours && s.limits[i] > durable {
			v.report(logfinding.Finding{Path: s.path(i), Offset: durable, Start: true,
				Detail: "what follows was not saved; a start cuts it off and records its blocks again"})
			s.limits[i] = durable
		}
	}
	if ours && !named {
		v.report(logfinding.Finding{Path: s.path(0), Offset: 0, Start: true,
			Detail: "the slice was not saved; a start removes it and records its blocks again"})
	}
	return ours && !named, nil
}

// entries reads an index or a file of ids.
func (s *checked) entries(i int, from int64, kind wire.Kind) (list []wire.Entry, at []int64, err error) {
	path := s.path(i)
	_, err = s.v.l.use(path, func(f vfs.File, _ int64) error {
		if s.limits[i] < from {
			return nil
		}
		if from > 0 { // without entries too: what mends the slice reads it
			if err := checkHeader(f); err != nil {
				s.odd(i, 0, err.Error())
				return nil
			}
		}
		w := &window{r: io.NewSectionReader(f, from, s.limits[i]-from), off: from, read: s.v.o.Read}
		for {
			var e wire.Entry
			start, err := w.next(e.Read)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if errors.Is(err, serial.ErrShort) {
				if i == 1 || s.wrong != nil || blocksOf(list) < blocksOf(s.index) { // others are behind it
					s.odd(i, start, err.Error())
					return nil
				}
				return s.reportTorn(path, start, "the last entry is not whole")
			}
			if err == nil {
				err = s.belongs(&e, kind)
			}
			if errors.Is(err, serial.ErrValue) || errors.Is(err, serial.ErrLimit) || errors.Is(err, ErrCorrupt) {
				s.odd(i, start, err.Error())
				return nil
			}
			if err != nil {
				return err
			}
			list, at = append(list, e), append(at, start)
			s.v.count.Entries++
		}
	})
	return list, at, err
}

// blocksOf is how many entries are of blocks.
func blocksOf(list []wire.Entry) (n int) {
	for i := range list {
		if list[i].Irreversible == nil {
			n++
		}
	}
	return n
}

// belongs tells what is wrong with an entry of this slice.
func (s *checked) belongs(e *wire.Entry, kind wire.Kind) error {
	h := wire.Head{Kind: kind}
	switch {
	case e.Irreversible != nil:
		h.Kind, h.Number = wire.IrreversibleKind, *e.Irreversible
	case e.Block != nil:
		h.Kind, h.Number, h.ID = wire.BlockKind, e.Block.Number, e.Block.ID
	default:
		h.Kind, h.Number = wire.IDsKind, e.Transactions.Number
	}
	return s.v.l.mayHave(s.number, &h, kind)
}

// odd takes note of what is wrong with an index, or tells what is wrong with a file of ids.
func (s *checked) odd(i int, at int64, detail string) {
	f := logfinding.Finding{Path: s.path(i), Offset: at, Detail: detail}
	if i == 1 {
		if s.wrong == nil {
			s.wrong = &f
		}
		return
	}
	s.unsure, s.oddIDs = true, true
	s.v.report(f)
}

// reportTorn tells of an end that is not whole. A start mends the two newest slices of a folder
// without a mark.
func (s *checked) reportTorn(path string, at int64, detail string) error {
	v := s.v
	list := v.l.Slices()
	f := logfinding.Finding{Path: path, Offset: at, Detail: detail,
		Start: !v.has && !s.packedUp && slices.Contains(list[max(0, len(list)-2):], s.number)}
	s.unsure = true
	there, err := v.l.fs.Exists(path)
	if err != nil {
		return err
	}
	if !s.packedUp && there { // a file that is gone is no end that is not whole
		f.Mend = &logfinding.Mend{
			What: "cut off what is not whole at the ends of " + s.path(0) + " and its index and ids", Do: func() error {
				// First the mark, which tells of more: without it the next repair finds the rest.
				if _, named := v.mark.find(s.number); v.has && named {
					if err := v.forget(); err != nil {
						return err
					}
				}
				return v.l.mendSlice(s.number)
			}}
	}
	s.ends = append(s.ends, f)
	return nil
}

// tellEnds tells of the ends that are not whole. They are cut off if it is certain where what
// is whole ends.
func (s *checked) tellEnds(certain bool) {
	for _, f := range s.ends {
		if !certain {
			f.Mend = nil
		}
		s.v.report(f)
	}
}

// forget removes the mark: the files count as nodeos' then. What they have that was not saved
// goes before, from all slices, as at a start: it was not read, and can be anything.
func (v *verifier) forget() error {
	m := v.mark
	m.slices = nil
	for _, want := range v.mark.slices {
		is, err := v.l.sizesOf(want.number)
		if err != nil {
			return err
		}
		m.slices = append(m.slices,
			sizes{want.number, min(is.traces, want.traces), min(is.index, want.index), min(is.ids, want.ids)})
	}
	if err := (recovery{v.l}).cutUnsure(&m); err != nil {
		return err
	}
	if err := v.l.fs.SyncDir(v.l.o.Dir); err != nil {
		return err
	}
	v.has = false
	return vfs.RemoveDurably(v.l.fs, v.l.markPath())
}

// forgetMore removes a mark that tells of more than a slice has.
func (v *verifier) forgetMore(number uint32) error {
	want, named := v.mark.find(number)
	if !v.has || !named {
		return nil
	}
	is, err := v.l.sizesOf(number)
	if err != nil || is.traces >= want.traces && is.index >= want.index && is.ids >= want.ids {
		return err
	}
	return v.forget()
}

// readPacked reads compressed traces.
func (s *checked) readPacked(f vfs.File, size int64, path string) error {
	s.v.count.Files++
	s.v.count.Bytes += size
	c, err := clog.NewReader(f, size)
	if errors.Is(err, clog.ErrCorrupt) {
		s.unsure = true
		s.v.report(logfinding.Finding{Path: path, Offset: -1, Detail: err.Error()})
		return nil
	}
	if err != nil {
		return err
	}
	z, err := c.At(0)
	if err != nil {
		return err
	}
	defer z.Close() //nolint:errcheck // it says again what reading said
	return s.traces(z, path)
}

// placed is what an index tells of a block, and where it does.
type placed struct {
	*wire.Position
	at int64
}

// traces reads the blocks, and holds them against index and ids.
func (s *checked) traces(r io.Reader, path string) error {
	w := &window{r: r, read: s.v.o.Read}
	var places []placed
	for i := range s.index {
		if p := s.index[i].Block; p != nil {
			places = append(places, placed{p, s.at[i]})
		}
	}
	var told []*wire.Transactions
	for i := range s.told {
		if x := s.told[i].Transactions; x != nil {
			told = append(told, x)
		}
	}
	for k := 0; ; k++ {
		var b wire.Block
		at, err := w.next(b.Read)
		if errors.Is(err, io.EOF) {
			if k < len(places) && !s.packedUp && !within(places, k, w.off) {
				return s.reportTorn(path, w.off, fmt.Sprintf("the file has %d blocks, and its index %d", k, len(places)))
			} else if k < len(places) {
				s.odd(1, -1, fmt.Sprintf("it has %d blocks, and the traces have %d", len(places), k))
			}
			return nil
		}
		if err != nil {
			next, there, err := s.resume(w, path, at, places, k, err)
			if err != nil || !there {
				return err
			}
			k = next - 1
			continue
		}
		s.count(&b, path, at, places, k)
		if k < len(told) {
			s.compareIDs(&b, told[k])
		}
	}
}

// within tells whether an index has the k-th block or a later one begin before an offset, in an
// entry that was read: then nobody knows which of the two is right, nor where what is whole ends.
func within(places []placed, k int, at int64) bool {
	return slices.ContainsFunc(places[min(k, len(places)):], func(p placed) bool { return int64(p.Offset) < at })
}

// count takes note of a block, and holds it against the entry of the index that has its place.
func (s *checked) count(b *wire.Block, path string, at int64, places []placed, k int) {
	s.v.count.Entries++
	s.block(b, path, at)
	pos := &wire.Position{ID: b.ID, Number: b.Number, Offset: uint64(at)}
	s.blocks = append(s.blocks, wire.Entry{Block: pos})
	detail := fmt.Sprintf("it does not have block %d at offset %d of the traces", b.Number, at)
	switch {
	case k >= len(places) && s.short == nil:
		s.short = &logfinding.Finding{Path: s.path(1), Offset: -1, Detail: detail}
	case k < len(places) && *places[k].Position != *pos:
		if places[k].ID != b.ID {
			s.doubt = b.ID
		}
		s.odd(1, places[k].at, detail)
	}
}

// resume goes on behind an entry that cannot be decoded, with the next one that the index tells
// of and that is in the file; false if there is none.
func (s *checked) resume(
	w *window, path string, at int64, places []placed, k int, why error,
) (next int, there bool, err error) {
	if stop := s.v.o.Read(0); stop != nil {
		return 0, false, stop
	}
	if w.failed != nil {
		why = w.failed
	}
	end := s.limits[0]
	if s.packedUp {
		end = math.MaxInt64
	}
	for next = k; next < len(places) && (int64(places[next].Offset) <= at || int64(places[next].Offset) >= end); {
		next++
	}
	if next < len(places) && w.failed == nil {
		if there, err = w.skip(int64(places[next].Offset)); err != nil {
			return 0, false, err
		}
	}
	detail := fmt.Sprintf("an entry cannot be decoded: %v", why)
	last := s.wrong == nil && s.short == nil || errors.Is(why, serial.ErrShort)
	if !there && w.failed == nil && last && !within(places, k, at) {
		return 0, false, s.reportTorn(path, at, detail)
	}
	s.unsure = true
	s.v.report(logfinding.Finding{Path: path, Offset: at, Detail: detail})
	return next, there, nil
}

// block checks what a block says of itself, and which one it follows.
func (s *checked) block(b *wire.Block, path string, at int64) {
	bad := func(format string, args ...any) {
		s.unsure = true
		s.v.report(logfinding.Finding{Path: path, Offset: at, Block: b.Number, Detail: fmt.Sprintf(format, args...)})
	}
	if s.v.l.Slice(b.Number) != s.number || types.BlockNum(b.ID) != b.Number ||
		types.BlockNum(b.Previous)+1 != b.Number {
		bad("the entry of block %s, which follows %s, says that it is block %d", b.ID, b.Previous, b.Number)
		return
	}
	for i := range b.Transactions {
		if p := b.Transactions[i].Place; p != nil &&
			(p.Number != b.Number || p.Producer != nil && *p.Producer != b.ID) {
			bad("transaction %s says that it is in another block", b.Transactions[i].ID)
		}
	}
	known := s.ids[b.Number-1]
	if s.v.l.Slice(b.Number-1) != s.number {
		known = s.before[b.Number-1]
	}
	if len(known) > 0 && !slices.Contains(known, b.Previous) {
		bad("it follows %s, and the traces have that block as %s", b.Previous, known[len(known)-1])
	}
	if b.Previous == s.doubt {
		s.doubt = types.Checksum256{}
	}
	s.ids[b.Number] = append(s.ids[b.Number], b.ID)
}

// compareIDs holds the transactions of a block against those that the file of ids has. The
// first one may be the chain's own, which has no receipt.
func (s *checked) compareIDs(b *wire.Block, t *wire.Transactions) {
	if b.Number != t.Number {
		s.unsure = true
		s.v.report(logfinding.Finding{Path: s.path(2), Offset: -1, Block: b.Number,
			Detail: fmt.Sprintf("it has block %d there", t.Number)})
		return
	}
	told := make(map[types.Checksum256]bool, len(t.IDs))
	for _, id := range t.IDs {
		told[id] = true
	}
	for i := range b.Transactions {
		if i > 0 && !told[b.Transactions[i].ID] {
			s.unsure = true
			s.v.report(logfinding.Finding{Path: s.path(2), Offset: -1, Block: b.Number,
				Detail: fmt.Sprintf("it does not have transaction %s", b.Transactions[i].ID)})
		}
	}
}

// checkIndex tells what is wrong with the index. It is made again of the traces, and of the
// file of ids, which has the same numbers in the same order.
func (s *checked) checkIndex() {
	var want []wire.Entry
	k := 0
	for _, e := range s.told {
		if e.Transactions != nil {
			if k == len(s.blocks) || s.blocks[k].Block.Number != e.Transactions.Number {
				s.unsure = true
				break
			}
			e = s.blocks[k]
			k++
		}
		want = append(want, e)
	}
	if s.unsure = s.unsure || k < len(s.blocks) ||
		s.doubt != (types.Checksum256{}); s.wrong == nil && !s.unsure && !same(want, s.index) {
		s.wrong = &logfinding.Finding{Path: s.path(1), Offset: -1,
			Detail: "it does not say what the file of ids says of irreversible blocks"}
		s.unsure = true // nobody knows which of the two is right
	}
	// An index that ends too early would take sound traces away.
	s.tellEnds(s.wrong == nil && s.short == nil && !s.oddIDs)
	if s.wrong == nil {
		s.wrong = s.short
	}
	if s.wrong == nil {
		return
	}
	if !s.unsure {
		b := header()
		for _, e := range want {
			b = e.Append(b)
		}
		path, v := s.path(1), s.v
		s.wrong.Mend = &logfinding.Mend{What: "make " + path + " again", Do: func() error {
			if err := vfs.WriteDurably(v.l.fs, path, b); err != nil {
				return err
			}
			return v.forgetMore(s.number)
		}}
	}
	s.v.report(*s.wrong)
}

// same tells whether two files say the same of irreversible blocks, as far as both go: a crash
// may have come between them.
func same(a, b []wire.Entry) bool {
	n := min(len(a), len(b))
	return slices.EqualFunc(a[:n], b[:n], func(a, b wire.Entry) bool {
		return (a.Irreversible == nil) == (b.Irreversible == nil) &&
			(a.Irreversible == nil || *a.Irreversible == *b.Irreversible)
	})
}

// window decodes a file from its beginning to its end, with one entry in memory.
type window struct {
	r      io.Reader
	read   func(int64) error
	buf    []byte
	off    int64 // of buf
	end    bool
	failed error // of the stream, which ends there
}

// next decodes an entry, and tells where it begins; io.EOF if there is none.
func (w *window) next(decode func(*serial.Reader)) (at int64, err error) {
	for {
		if len(w.buf) > 0 {
			r := serial.NewReader(w.buf)
			decode(r)
			err := r.Err()
			if err == nil {
				at, n := w.off, r.Offset()
				w.off, w.buf = w.off+int64(n), w.buf[n:]
				return at, nil
			}
			if w.end || !errors.Is(err, serial.ErrShort) || len(w.buf) > MaxEntry {
				return w.off, err
			}
		} else if w.end {
			if w.failed != nil {
				return w.off, w.failed
			}
			return w.off, io.EOF
		}
		if err := w.fill(); err != nil {
			return w.off, err
		}
	}
}

func (w *window) fill() error {
	piece := make([]byte, max(256<<10, len(w.buf)))
	n, err := io.ReadFull(w.r, piece)
	w.buf = append(w.buf[:len(w.buf):len(w.buf)], piece[:n]...)
	if err != nil {
		w.end = true
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			w.failed = err
		}
	}
	return w.read(int64(n))
}

// skip goes on at an offset; false if the file ends before it.
func (w *window) skip(to int64) (bool, error) {
	for w.off+int64(len(w.buf)) < to && !w.end {
		w.off, w.buf = w.off+int64(len(w.buf)), nil
		if err := w.fill(); err != nil {
			return false, err
		}
	}
	n := to - w.off
	if n < 0 || n > int64(len(w.buf)) {
		return false, nil
	}
	w.off, w.buf = to, w.buf[n:]
	return true, nil
}
