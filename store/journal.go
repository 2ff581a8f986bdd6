package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"math/bits"
)

// Journal is the undo data of the open revision: what each change replaced, in
// order, in one buffer outside the reach of the garbage collector's pointer
// scan. Nested sessions are positions in it, so that squashing costs nothing.
//
// A record is: old value length u32 with the top bit set if there was no row,
// table u16, key length u16, key, old value, record length u32; integers are
// little-endian. The length at the end makes it readable backwards.
//
// The zero value is an empty journal.
type Journal struct {
	buf  []byte
	seen []uint64 // Compact's hash table: a part of the hash, and the position + 1 in the rest
}

// journalSeed only spreads rows over a hash table; no result depends on it.
var journalSeed = maphash.MakeSeed()

const (
	journalHeader  = 8
	journalTrailer = 4
	journalAbsent  = 1 << 31

	// seenKeep is how long a hash table is kept for the next revision: 8 MiB.
	seenKeep = 1 << 20

	// seenPosition has the bits of a position in the table: a journal of a terabyte.
	seenPosition = 1<<40 - 1

	// reduceAtOnce is how many records are looked up at once, so that the processor waits for memory once
	// for them all.
	reduceAtOnce = 16
)

// Record notes that key held old, or nothing if existed is false.
func (j *Journal) Record(t Table, key, old []byte, existed bool) {
	size := uint32(len(old))
	if !existed {
		old, size = nil, journalAbsent
	}
	b := j.buf
	b = binary.LittleEndian.AppendUint32(b, size)
	b = binary.LittleEndian.AppendUint16(b, uint16(t))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(key)))
	b = append(b, key...)
	b = append(b, old...)
	j.buf = binary.LittleEndian.AppendUint32(b, uint32(journalHeader+len(key)+len(old)+journalTrailer))
}

// Len is the position after the last record.
func (j *Journal) Len() int { return len(j.buf) }

// Bytes is the journal's encoding, valid until the next Record or Truncate.
func (j *Journal) Bytes() []byte { return j.buf }

// Truncate forgets the records from position mark on. Buffers larger than keep
// bytes are given back when they are emptied.
func (j *Journal) Truncate(mark, keep int) {
	j.buf = j.buf[:mark]
	if mark == 0 && cap(j.buf) > keep {
		j.buf = nil
	}
}

// Compact keeps only the first record of each row, the one that says what the
// row was before the revision, in the order of first changes. It returns a copy
// of what is left; the journal itself must be truncated before it is used again.
func (j *Journal) Compact() []byte { return bytes.Clone(j.buf[:j.reduce(0, nil)]) }

// CompactNoting is Compact, and calls drop for each record that it leaves out, oldest first: with its place among all
// records, from 0, and where the record of its row starts in what is left, in bytes.
func (j *Journal) CompactNoting(drop func(record, kept int)) []byte {
	return bytes.Clone(j.buf[:j.reduce(0, drop)])
}

// RecordSize is how many bytes of an encoded journal a record takes.
func RecordSize(key, old []byte) int { return journalHeader + len(key) + len(old) + journalTrailer }

// CompactFrom keeps only the first record of each row from position mark on. What was
// recorded before mark stays as it is.
func (j *Journal) CompactFrom(mark int) { j.buf = j.buf[:j.reduce(mark, nil)] }

// reduce moves the first record of each row from position mark on together, and
// returns their end. What lies beyond it is undefined. drop, if it is not nil, is told of the others.
func (j *Journal) reduce(mark int, drop func(record, kept int)) (end int) {
	records := 0
	for at := mark; at < len(j.buf); at += j.span(at) {
		records++
	}
	mask := uint64(1)<<bits.Len(uint(2*records)) - 1
	if uint64(len(j.seen)) <= mask {
		j.seen = make([]uint64, mask+1)
	}
	seen := j.seen[:mask+1]
	clear(seen)

	end = mark
	var batch [reduceAtOnce]lookup
	for at, record := mark, 0; at < len(j.buf); {
		n := 0
		for ; n < len(batch) && at < len(j.buf); n++ {
			hash := maphash.Bytes(journalSeed, j.row(at))
			batch[n] = lookup{at, hash, seen[hash&mask]}
			at += j.span(at)
		}
		for i := range batch[:n] {
			kept, next := j.keepFirst(&batch[i], seen, end)
			if next == end && drop != nil {
				drop(record, kept)
			}
			end = next
			record++
		}
	}
	if len(j.seen) > seenKeep {
		j.seen = nil
	}
	return end
}

// lookup is a record whose row is looked up in the hash table, with what the table had a moment ago.
type lookup struct {
	at          int
	hash, found uint64
}

// keepFirst moves a record to where the records that stay end, if it is the first one of its row. It returns
// where the first one of its row is, and where they end then.
func (j *Journal) keepFirst(l *lookup, seen []uint64, end int) (kept, next int) {
	mask := uint64(len(seen) - 1)
	row, slot := j.row(l.at), l.hash&mask
	found := l.found // what is in the table stays
	if found == 0 {
		found = seen[slot]
	}
	for ; found != 0; found = seen[slot] {
		if (found^l.hash)&^seenPosition == 0 && bytes.Equal(j.row(int(found&seenPosition)-1), row) {
			return int(found&seenPosition) - 1, end
		}
		slot = (slot + 1) & mask
	}
	n := j.span(l.at)
	copy(j.buf[end:], j.buf[l.at:l.at+n])
	seen[slot] = l.hash&^seenPosition | uint64(end+1)
	return end, end + n
}

// span is the size of the record at a position.
func (j *Journal) span(at int) int {
	h := j.buf[at:]
	n := journalHeader + int(binary.LittleEndian.Uint16(h[6:])) + journalTrailer
	if size := binary.LittleEndian.Uint32(h); size&journalAbsent == 0 {
		n += int(size)
	}
	return n
}

// row is the part of the record at a position that tells rows apart: table, key
// length and key.
func (j *Journal) row(at int) []byte {
	klen := int(binary.LittleEndian.Uint16(j.buf[at+6:]))
	return j.buf[at+4 : at+8+klen]
}

// Changed calls fn for each record of an encoded journal, oldest first. It
// returns an error if the encoding is damaged.
func Changed(journal []byte, fn func(t Table, key, old []byte, existed bool) error) error {
	for at := 0; at < len(journal); {
		t, key, old, existed, n, err := decodeRecord(journal[at:])
		if err != nil {
			return fmt.Errorf("undo journal at byte %d: %w", at, err)
		}
		if err := fn(t, key, old, existed); err != nil {
			return err
		}
		at += n
	}
	return nil
}

// Backward calls fn for the records of an encoded journal, newest first.
func Backward(journal []byte, fn func(t Table, key, old []byte, existed bool) error) error {
	for end := len(journal); end > 0; {
		if end < journalHeader+journalTrailer {
			return fmt.Errorf("undo journal: %d stray bytes: %w", end, ErrCorrupt)
		}
		n := int(binary.LittleEndian.Uint32(journal[end-journalTrailer:]))
		if n < journalHeader+journalTrailer || n > end {
			return fmt.Errorf("undo journal before byte %d: record of %d bytes: %w", end, n, ErrCorrupt)
		}
		t, key, old, existed, m, err := decodeRecord(journal[end-n : end])
		if err == nil && m != n {
			err = ErrCorrupt
		}
		if err != nil {
			return fmt.Errorf("undo journal at byte %d: %w", end-n, err)
		}
		if err := fn(t, key, old, existed); err != nil {
			return err
		}
		end -= n
	}
	return nil
}

func decodeRecord(b []byte) (t Table, key, old []byte, existed bool, n int, err error) {
	if len(b) < journalHeader+journalTrailer {
		return 0, nil, nil, false, 0, fmt.Errorf("record of %d bytes: %w", len(b), ErrCorrupt)
	}
	size := binary.LittleEndian.Uint32(b)
	t = Table(binary.LittleEndian.Uint16(b[4:]))
	klen := int(binary.LittleEndian.Uint16(b[6:]))
	existed = size&journalAbsent == 0
	vlen := 0
	if existed {
		vlen = int(size)
	}
	n = journalHeader + klen + vlen + journalTrailer
	if klen == 0 || klen > MaxKey || vlen > MaxValue || n > len(b) || !existed && size != journalAbsent ||
		binary.LittleEndian.Uint32(b[n-journalTrailer:]) != uint32(n) {
		return 0, nil, nil, false, 0, fmt.Errorf("key of %d and value of %d bytes: %w", klen, vlen, ErrCorrupt)
	}
	key = b[journalHeader : journalHeader+klen]
	old = b[journalHeader+klen : n-journalTrailer]
	return t, key, old, existed, n, nil
}
