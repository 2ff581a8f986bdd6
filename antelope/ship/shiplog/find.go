package shiplog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// position is where the index says that a block's entry is.
func (f *file) position(num uint32) (int64, error) {
	if num < f.base || num >= f.end {
		return 0, ErrNotFound
	}
	var b [indexBytes]byte
	at := int64(num-f.base) * indexBytes
	if _, err := f.index.ReadAt(b[:], at); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, fmt.Errorf("%s: offset %d: the index ends before the position of block %d: %w",
			f.Index(), at, num, ErrCorrupt)
	} else if err != nil {
		return 0, fmt.Errorf("%s: offset %d: read the position of block %d: %w", f.Index(), at, num, err)
	}
	return int64(binary.LittleEndian.Uint64(b[:])), nil
}

// entryAt reads the header of a block's entry, which begins at a position and ends by from
// what is left of the file. Both ends of the entry have to say so.
func (f *file) entryAt(num uint32, at int64) (header, error) {
	h, back, err := readEnds(f.log, at, f.size)
	switch {
	case err != nil:
	case number(h.id) != num:
		err = fmt.Errorf("block %d: %w", number(h.id), ErrCorrupt)
	case back != at:
		err = fmt.Errorf("the last 8 bytes, at offset %d, say that it begins at %d: %w",
			at+h.span()-trailerBytes, back, ErrCorrupt)
	}
	if err != nil {
		return h, fmt.Errorf("%s: offset %d, where the entry of block %d belongs: %w", f.Log(), at, num, err)
	}
	return h, nil
}

// readIndexed reads the header of a block's entry where the index says that the entry is.
func (f *file) readIndexed(num uint32) (h header, at int64, err error) {
	if at, err = f.position(num); err == nil {
		h, err = f.entryAt(num, at)
	}
	return h, at, err
}

// header reads that of a block's entry. Where the index does not lead to the entry, the entries
// beside tell where it is: then the index is damaged, and is written anew there. It is an error
// that wraps ErrCorrupt if the entry itself is.
func (f *file) header(num uint32) (h header, at int64, err error) {
	if num < f.first || num >= f.end {
		return h, 0, ErrNotFound
	}
	if h, at, err = f.readIndexed(num); !errors.Is(err, ErrCorrupt) {
		return h, at, err
	}
	f.mending.Lock()
	defer f.mending.Unlock()
	h, at, odd := f.readIndexed(num) // another may have mended it
	if !errors.Is(odd, ErrCorrupt) {
		return h, at, odd
	}
	// From behind first: among entries that Spring left of branches that have lost, the last one of
	// a block counts.
	h, at, err = f.before(num)
	if errors.Is(err, ErrCorrupt) {
		var e error
		if h, at, e = f.after(num); e != nil {
			e = fmt.Errorf("%w; and what is before does not lead to it: %w", err, e)
		}
		err = e
	}
	if err == nil {
		f.say.Warn("The index of a history log was damaged, and is made again from the log where it was",
			"file", f.Index(), "block", num, "error", odd)
	}
	return h, at, err
}

// after goes to a block's entry from the next one before it to which the index leads. It
// writes the positions that it finds.
func (f *file) after(num uint32) (h header, at int64, err error) {
	from := f.base
	if f.first > f.base {
		from = num // what is let go does not lead anywhere
	}
	for n := num; n > f.first; n-- {
		h, before, err := f.readIndexed(n - 1)
		if err == nil {
			from, at = n, before+h.span()
			break
		}
		if !errors.Is(err, ErrCorrupt) {
			return h, 0, err
		}
	}
	if from == num && at == 0 && num > f.base {
		return h, 0, fmt.Errorf("%s: no entry before that of block %d tells where it is: %w", f.Log(), num, ErrCorrupt)
	}
	for n := from; ; n++ {
		if h, err = f.entryAt(n, at); err != nil {
			return h, 0, err
		}
		if err := f.correct(n, at); err != nil {
			return h, 0, err
		}
		if n == num {
			return h, at, nil
		}
		at += h.span()
	}
}

// before goes back to a block's entry from the next one after it to which the index leads, or
// from the end of the file.
func (f *file) before(num uint32) (h header, at int64, err error) {
	from, end := f.end, f.size
	size, err := f.index.Size()
	if err != nil {
		return h, 0, fmt.Errorf("%s: %w", f.Index(), err)
	}
	known := uint64(f.base) + uint64(size/indexBytes) // of later ones the index says nothing
	for n := num + 1; n < f.end && uint64(n) < known; n++ {
		if at, err := f.position(n); err == nil && (at <= 0 || at >= f.size) { // it leads nowhere, at a glance
			continue
		}
		_, at, err := f.readIndexed(n)
		if err == nil {
			from, end = n, at
			break
		}
		if !errors.Is(err, ErrCorrupt) {
			return h, 0, err
		}
	}
	for n := from; n > num; n-- {
		if h, at, err = previous(f.log, n, end); err != nil {
			return h, 0, fmt.Errorf("%s: the entry of block %d, which ends at offset %d: %w", f.Log(), n-1, end, err)
		}
		if err := f.correct(n-1, at); err != nil {
			return h, 0, err
		}
		end = at
	}
	return h, at, nil
}

// correct makes the index say where a block's entry is. An index that cannot be written stays
// as it is: what it says is found again.
func (f *file) correct(num uint32, at int64) error {
	is, err := f.position(num)
	if err == nil && is == at {
		return nil
	}
	if err != nil && !errors.Is(err, ErrCorrupt) {
		return err
	}
	if err := f.setPosition(num, at); err != nil {
		f.say.Warn("The index of a history log cannot be corrected", "file", f.Index(), "block", num, "error", err)
	}
	return nil
}
