package shiplog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"tarn/antelope/logcatalog"
	"tarn/antelope/types"
	"tarn/store/vfs"
	"tarn/store/vfs/torntail"
)

// recover finds the end of the live file, cuts off what is not whole, and makes what it
// stands on durable.
func (l *Log) recover() error {
	f := l.live
	size, err := f.log.Size()
	if err != nil {
		return err
	}
	m, odd := readMark(l.fs, l.o.markPath())
	marked := odd == nil
	switch {
	case marked || errors.Is(odd, fs.ErrNotExist):
	case errors.Is(odd, logcatalog.ErrMark):
		l.o.Logger.Warn("The mark of a history log is damaged. Without it only the last entry of the log is looked "+
			"at: `tarn history verify` looks at all", "error", odd)
	default:
		return odd
	}
	l.mark = m
	switch {
	case size == 0:
		f.size = 0
	case marked && m.size == 0:
		if err = l.scan(size); err == nil && f.size == 0 {
			err = l.adoptPruned(size)
		}
	case marked && l.fits(m, size) == nil:
		if err = f.begin(size); err == nil {
			f.first, f.end, f.size = m.first, m.end, m.size
			err = l.scan(size)
		}
	default:
		err = l.adopt(size, marked)
	}
	if err != nil {
		return err
	}
	if err := l.cut(size); err != nil {
		return err
	}
	if f.empty() {
		l.last = types.Checksum256{}
	} else {
		h, _, err := f.header(f.end - 1)
		if err != nil {
			return err
		}
		l.last = h.id
	}
	if !marked && f.empty() { // from now on the log is known to be ours
		return l.setMark(mark{})
	}
	return l.Sync()
}

// begin reads what the first entry says of the file.
func (f *file) begin(size int64) error {
	h, err := readFirst(f.log, size)
	if err != nil {
		return err
	}
	f.base, f.pruned = number(h.id), h.pruned
	return nil
}

// readFirst reads the first header of a file. Of a pruned file the payload may be gone.
func readFirst(f io.ReaderAt, size int64) (header, error) {
	h, err := readHeader(f, 0, size)
	if err != nil {
		return h, fmt.Errorf("the first entry: %w", err)
	}
	return h, nil
}

// fits checks that the last entry before the mark is the one that it names.
func (l *Log) fits(m mark, size int64) error {
	if m.size > size || m.first >= m.end {
		return fmt.Errorf("%d bytes where %d were durable: %w", size, m.size, ErrCorrupt)
	}
	h, at, err := lastEntry(l.live.log, m.size)
	if err == nil && Near(h.id, m.id) { // the mark has a checksum, the entry's header has none
		err = l.live.writeID(l.fs, at, h.id, m.id)
		h.id = m.id
	}
	if err == nil && h.id != m.id {
		err = fmt.Errorf("block %s where %s was durable: %w", h.id, m.id, ErrCorrupt)
	}
	if err == nil {
		err = l.live.begin(size)
	}
	if err == nil && (number(m.id)+1 != m.end || m.first < l.live.base) {
		err = fmt.Errorf("blocks %d to %d: %w", m.first, m.end, ErrCorrupt)
	}
	return err
}

// lastEntry reads the header of the entry that ends at end.
func lastEntry(f io.ReaderAt, end int64) (h header, at int64, err error) {
	if end < smallest {
		return h, 0, fmt.Errorf("%d bytes: %w", end, ErrCorrupt)
	}
	if at, err = readTrailer(f, end); err != nil {
		return h, 0, err
	}
	if at < 0 || at >= end {
		return h, 0, fmt.Errorf("position %d: %w", at, ErrCorrupt)
	}
	if h, err = readHeader(f, at, end); err == nil && at+h.span() != end {
		err = fmt.Errorf("the entry at position %d ends at %d, not at %d: %w", at, at+h.span(), end, ErrCorrupt)
	}
	return h, at, err
}

// scan takes what follows the mark, entry by entry, as far as it is whole.
func (l *Log) scan(size int64) error {
	f := l.live
	if f.size > 0 {
		if err := f.ensureIndex(); err != nil {
			return err
		}
	}
	for {
		h, back, err := readEnds(f.log, f.size, size)
		switch {
		case errors.Is(err, ErrCorrupt):
			return nil
		case err != nil:
			return err
		case back != f.size || f.size > 0 && number(h.id) != f.end:
			return nil
		}
		if err := check(f.log, f.size+headerBytes, h.payload, &l.inflaters); errors.Is(err, ErrCorrupt) ||
			errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if f.size == 0 {
			f.base, f.first, f.end, f.pruned = number(h.id), number(h.id), number(h.id), h.pruned
		}
		if err := f.setPosition(f.end, f.size); err != nil {
			return err
		}
		f.end, f.size = f.end+1, f.size+h.span()
	}
}

// adopt takes over a file that has no mark that fits: one of nodeos'. It looks at the last entry
// only, and if that is not whole goes from entry to entry (Leap: state_history_log::
// open_log, recover_blocks). With a mark that does not fit the file was durable up to there.
func (l *Log) adopt(size int64, marked bool) error {
	f := l.live
	if err := f.begin(size); err != nil {
		return err
	}
	end := size
	if f.pruned {
		end -= countBytes
	}
	h, at, err := lastEntry(f.log, end)
	if err == nil {
		err = check(f.log, at+headerBytes, h.payload, &l.inflaters)
	}
	switch {
	case err == nil && number(h.id) < f.base:
		return fmt.Errorf("it begins with block %d and ends with %d: %w", f.base, number(h.id), ErrCorrupt)
	case err == nil && f.pruned:
		count, err := readCount(f.log, size)
		if err != nil {
			return err
		}
		f.end, f.size = number(h.id)+1, end
		if count == 0 || count > f.end-f.base || int64(count)*smallest > size {
			return fmt.Errorf("%d blocks where %d can be: %w", count, f.end-f.base, ErrCorrupt)
		}
		f.first = f.end - count
		return f.makeIndex()
	case err == nil:
		f.first, f.end, f.size = f.base, number(h.id)+1, size
		return f.ensureIndex()
	case f.pruned || !errors.Is(err, ErrCorrupt):
		return fmt.Errorf("the end of a pruned log: %w", err)
	}
	l.o.Logger.Warn(fmt.Sprintf("recover %s.log", l.o.Name), "error", err)
	f.first, f.end, f.size = f.base, f.base, 0
	if err := l.skim(size); err != nil {
		return err
	}
	return l.judge(size, marked)
}

// adoptPruned takes over a pruned file that was put in the place of one without entries. What it has let go
// of is no entry to begin with. A file of ours has let go of nothing before a mark tells of its end.
func (l *Log) adoptPruned(size int64) error {
	f := l.live
	if h, err := readFirst(f.log, size); errors.Is(err, ErrCorrupt) || err == nil && !h.pruned {
		return nil
	}
	err := l.adopt(size, false)
	for num := f.first; err == nil && num < f.end; num++ {
		var h header
		var at int64
		if h, at, err = f.header(num); err == nil {
			err = check(f.log, at+headerBytes, h.payload, &l.inflaters)
		}
	}
	if errors.Is(err, ErrCorrupt) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		f.base, f.first, f.end, f.size, f.pruned, err = 0, 0, 0, 0, false, nil
	}
	return err
}

// judge returns an error unless a crash can have left what follows the whole entries.
func (l *Log) judge(size int64, marked bool) error {
	f := l.live
	end := torntail.End{Path: f.Log(), Whole: f.size, Size: size, Durable: torntail.Unnoted,
		Behind: func(at int64) (int64, bool, error) {
			s := scanner{log: f.log, size: size}
			at, _, found, err := s.whole(at+1, 0)
			return at, found, err
		}}
	if marked {
		end.Durable = l.mark.size
	}
	end.Remedy = "Stop the node; `tarn history verify` names all that is damaged in the folder, `tarn history " +
		"repair` mends what can be mended. Or restore the file from a copy"
	damage := new(torntail.Damage)
	err := end.Judge()
	if errors.As(err, &damage) {
		err = fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return err
}

// skim goes from header to header, and indexes what it finds.
func (l *Log) skim(size int64) error {
	f := l.live
	for {
		h, err := readHeader(f.log, f.size, size)
		if err == nil && number(h.id) != f.end {
			var instead bool
			if instead, err = f.instead(h, size); err == nil && instead {
				f.end = number(h.id)
			}
		}
		if err != nil || number(h.id) != f.end {
			if err == nil || errors.Is(err, ErrCorrupt) {
				return nil
			}
			return err
		}
		if err := f.setPosition(f.end, f.size); err != nil {
			return err
		}
		f.end, f.size = f.end+1, f.size+h.span()
	}
}

// instead tells whether the entry at the end of what has been read is of a block in the place of
// another, as Spring appends it: the one after it must follow it.
func (f *file) instead(h header, size int64) (bool, error) {
	if n := number(h.id); n < f.base || n > f.end {
		return false, nil
	}
	next, err := readHeader(f.log, f.size+h.span(), size)
	if errors.Is(err, ErrCorrupt) {
		return false, nil
	}
	return err == nil && number(next.id) == number(h.id)+1, err
}

// ensureIndex makes sure that the index has the blocks of a file. Most often it has. Where the
// log is damaged, the index stays as it is: what it has not is found when it is asked for.
func (f *file) ensureIndex() error {
	_, _, odd := f.readIndexed(f.end - 1)
	if !errors.Is(odd, ErrCorrupt) {
		return odd
	}
	err := f.makeIndex()
	switch {
	case err == nil:
		f.say.Warn("The index of a history log did not fit it, and is made again", "file", f.Index(), "error", odd)
	case errors.Is(err, ErrCorrupt):
		f.say.Error(
			"A history log is damaged: what of it can be read is read. `tarn history verify` names all that is damaged",
			"file", f.Log(), "error", err)
		err = nil
	}
	return err
}

// makeIndex makes the index of a file.
func (f *file) makeIndex() error {
	from, at := f.base, int64(0)
	if f.pruned {
		var err error
		if from, at, err = f.goBack(); err != nil {
			return fmt.Errorf("make the index: %w", err)
		}
	}
	if err := f.writeIndex(f.index, from, at); err != nil {
		return fmt.Errorf("make the index: %w", err)
	}
	return nil
}

// goBack goes from the end of a pruned file to the first entry that is left, and returns its
// block and where it begins.
func (f *file) goBack() (first uint32, at int64, err error) {
	at = f.size
	for num := f.end; num > f.first; num-- {
		_, before, err := previous(f.log, num, at)
		if err != nil {
			return 0, 0, fmt.Errorf("entry before position %d: %w", at, err)
		}
		at = before
	}
	return f.first, at, nil
}

// previous goes back in a log from where the entry of a block begins, or the last one ends, to that of the
// block before it. Entries of branches that have lost are passed over: Spring leaves them where they
// are, and appends the blocks that came in their places (Spring: log.hpp).
func previous(log io.ReaderAt, num uint32, end int64) (h header, at int64, err error) {
	for {
		h, at, err = lastEntry(log, end)
		switch {
		case err != nil || number(h.id) == num-1:
			return h, at, err
		case number(h.id) < num:
			return h, at, fmt.Errorf("block %d where %d is expected: %w", number(h.id), num-1, ErrCorrupt)
		}
		end = at
	}
}

// writeIndex writes the positions of the entries of a file durably, from a block on, whose
// entry begins at a position. The last one is written when the others are durable: a start
// takes it for the whole index. An entry of an earlier block than is expected is in the place of
// others, as Spring leaves them.
func (f *file) writeIndex(to vfs.File, from uint32, at int64) error {
	var b []byte
	offset, num := int64(from-f.base)*indexBytes, from
	flush := func() error {
		_, err := to.WriteAt(b, offset)
		offset, b = offset+int64(len(b)), b[:0]
		return err
	}
	for at < f.size {
		h, err := readHeader(f.log, at, f.size)
		n := number(h.id)
		if err == nil && (n > num || n < from) {
			err = fmt.Errorf("block %d where %d is expected: %w", n, num, ErrCorrupt)
		}
		if err != nil {
			return fmt.Errorf("entry at position %d: %w", at, err)
		}
		last := at+h.span() >= f.size
		if n < num || last || len(b) >= 64<<10 {
			if err := flush(); err != nil {
				return err
			}
			offset = int64(n-f.base) * indexBytes
		}
		if last {
			if err := to.Sync(); err != nil {
				return err
			}
		}
		b = binary.LittleEndian.AppendUint64(b, uint64(at))
		num, at = n+1, at+h.span()
	}
	if num != f.end {
		return fmt.Errorf("the last entry is of block %d, and not of %d: %w", num-1, f.end-1, ErrCorrupt)
	}
	return errors.Join(flush(), to.Sync())
}

// cut removes what follows the last whole entry of a file of so many bytes.
func (l *Log) cut(size int64) error {
	f := l.live
	want := f.size
	if f.pruned && !f.empty() {
		want += countBytes
	}
	if size > want {
		kept, err := torntail.Keep(l.fs, f.log, f.Log(), f.size, size)
		if err != nil {
			return err
		}
		l.o.Logger.Warn("The end of a history log is not whole, as a crash may have left it, and is cut off; its "+
			"blocks are recorded again",
			"file", f.Log(), "offset", f.size, "bytes", size-f.size, "kept", kept.Kept)
	}
	if f.pruned && !f.empty() {
		if _, err := f.log.WriteAt(binary.LittleEndian.AppendUint32(nil, f.end-f.first), f.size); err != nil {
			return err
		}
	}
	if size != want {
		if err := f.log.Truncate(want); err != nil {
			return err
		}
	}
	return f.index.Truncate(int64(f.end-f.base) * indexBytes)
}
