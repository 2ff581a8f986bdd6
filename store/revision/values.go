package revision

import (
	"cmp"
	"encoding/binary"
	"runtime"
	"runtime/debug"
	"slices"

	"tarn/store"
)

// values are what the changes of a revision wrote, so that [Store.Changes] need not read it again: that costs more
// than to note it. They are noted only while somebody asks for the changes of each revision. They are an aid:
// without them Changes reads.
//
// There is one value for each record of the open revision's journal, in the same order: an unsigned varint, 0 for a row
// that was deleted and the length plus 1 for another one, and its bytes.
type values struct {
	wanted bool // the changes of the revision before were asked for
	asked  bool // those of the head were

	buf   []byte // of the open revision
	marks []int  // where its sessions start
	last  int    // where the last value starts
	lost  bool   // not all of it was noted

	head    []byte    // of the head
	whole   bool      // all of the head was noted, and head is its
	dropped []dropped // what the head's compacted journal has not, of what was noted
	again   []dropped // the last of them of each row, by kept
}

// dropped is a value of which the compacted journal has no record, because the row had changed before.
type dropped struct {
	record int // its place among all values
	kept   int // where the row's record is in the compacted journal
	at     int // where the value is in what was noted
}

// valuesMost is how much is noted of a revision, in bytes. A larger one is read.
const valuesMost = 16 << 20

// droppedMost is how many changes of rows that had changed before a revision has that is noted. One with more is read.
const droppedMost = 1 << 16

func (v *values) begin() { v.marks = append(v.marks, len(v.buf)) }

func (v *values) squash() { v.marks = v.marks[:len(v.marks)-1] }

// undo forgets the innermost session.
func (v *values) undo() {
	n := len(v.marks) - 1
	v.buf, v.marks = v.buf[:v.marks[n]], v.marks[:n]
	v.lost = v.lost && n > 0
}

// note notes what a change is about to write in a session; value counts if the row stays present.
func (v *values) note(value []byte, present bool) {
	v.last = len(v.buf)
	switch {
	case !v.wanted || v.lost || len(v.marks) == 0:
	case len(v.buf)+len(value) > valuesMost:
		v.lost = true
	case present:
		v.copyOf(value)
	default:
		v.buf = append(v.buf, 0)
	}
}

// copyOf notes a value. It may lie in the engine's mapping, whose file somebody has cut: the engine then says so.
func (v *values) copyOf(value []byte) {
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		switch r := recover().(type) {
		case nil:
		case interface {
			runtime.Error
			Addr() uintptr
		}:
			v.lost = true
		default:
			panic(r)
		}
	}()
	v.buf = append(binary.AppendUvarint(v.buf, uint64(len(value))+1), value...)
}

// refuse says that there was no row to delete: the journal has no record of what was noted last.
func (v *values) refuse() { v.buf = v.buf[:v.last] }

// fail says that the change that was noted last has failed.
func (v *values) fail() { v.lost = true }

// isNoted tells whether all changes of the open revision were noted.
func (v *values) isNoted() bool { return v.wanted && !v.lost }

// compact returns the compacted journal of the open revision. [values.push] comes next.
func (v *values) compact(j *journal) []byte {
	if v.lost = v.lost || j.dropped; !v.isNoted() {
		return j.Compact()
	}
	v.dropped = v.dropped[:0]
	return j.CompactNoting(v.drop)
}

// drop notes a value of which the compacted journal has no record.
func (v *values) drop(record, kept int) {
	if len(v.dropped) == droppedMost {
		v.lost = true
		return
	}
	v.dropped = append(v.dropped, dropped{record: record, kept: kept})
}

// push makes the open revision the head.
func (v *values) push() {
	v.whole = v.isNoted()
	v.head, v.buf = v.buf, v.head[:0]
	v.marks, v.lost = v.marks[:0], false
	v.wanted, v.asked = v.asked, false
	if !v.wanted {
		v.buf = nil
	}
	if !v.whole {
		v.head, v.dropped, v.again = nil, nil, nil
		return
	}
	at, record := 0, 0
	for i := range v.dropped {
		for ; record < v.dropped[i].record; record++ {
			_, _, at = valueAt(v.head, at)
		}
		v.dropped[i].at = at
	}
	v.again = append(v.again[:0], v.dropped...)
	slices.SortFunc(v.again, func(a, b dropped) int { // the last value of a row is its first one here
		return cmp.Or(cmp.Compare(a.kept, b.kept), cmp.Compare(b.record, a.record))
	})
	v.again = slices.CompactFunc(v.again, func(a, b dropped) bool { return a.kept == b.kept })
}

// ofHead reads what was noted of the head; whole says that it is all. It notes that somebody asks.
func (v *values) ofHead() (r valueReader, whole bool) {
	v.wanted, v.asked = true, true
	return valueReader{noted: v.head, dropped: v.dropped, again: v.again}, v.whole
}

// undoHead forgets the head: the revision before it was not kept.
func (v *values) undoHead() { v.whole = false }

// valueReader goes through the records of a compacted journal, and has the last value of each row.
type valueReader struct {
	noted   []byte
	dropped []dropped // that are still to come
	again   []dropped // that are still to come

	record int // of all that were noted
	at     int // where its value is
	kept   int // where the next record of the compacted journal is
}

// next returns the value of the next record, of which key and old are told.
func (r *valueReader) next(key, old []byte) (value []byte, present bool) {
	r.skip()
	value, present, r.at = valueAt(r.noted, r.at)
	if len(r.again) > 0 && r.again[0].kept == r.kept {
		value, present, _ = valueAt(r.noted, r.again[0].at)
		r.again = r.again[1:]
	}
	r.record++
	r.kept += store.RecordSize(key, old)
	return value, present
}

// skip passes over what the compacted journal has not.
func (r *valueReader) skip() {
	for len(r.dropped) > 0 && r.dropped[0].record == r.record {
		_, _, r.at = valueAt(r.noted, r.at)
		r.dropped = r.dropped[1:]
		r.record++
	}
}

// isAtEnd tells whether there is no further value, as after the last record.
func (r *valueReader) isAtEnd() bool {
	r.skip()
	return r.at == len(r.noted)
}

// valueAt reads the value at a place of what was noted, nil for a row that was deleted, and where the next one is.
func valueAt(noted []byte, at int) (value []byte, present bool, next int) {
	n, size := binary.Uvarint(noted[at:])
	at += size
	if n == 0 {
		return nil, false, at
	}
	next = at + int(n-1)
	return noted[at:next:next], true, next
}
