package revision

import (
	"encoding/binary"
	"runtime"
	"runtime/debug"
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

	head  []byte // of the head, in order of its compacted journal
	whole bool   // all of the head was noted, and head is its
}

// valuesMost is how much is noted of a revision, in bytes. A larger one is read.
const valuesMost = 16 << 20

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

// push makes the open revision the head. once says that its journal has one record for each of its changes.
func (v *values) push(once bool) {
	v.whole = v.wanted && once && !v.lost
	v.head, v.buf = v.buf, v.head[:0]
	v.marks, v.lost = v.marks[:0], false
	v.wanted, v.asked = v.asked, false
	if !v.wanted {
		v.buf = nil
	}
	if !v.whole {
		v.head = nil
	}
}

// ofHead returns what was noted of the head, if that is all of it. It says that somebody asks.
func (v *values) ofHead() (noted []byte, whole bool) {
	v.wanted, v.asked = true, true
	return v.head, v.whole
}

// undoHead forgets the head: the revision before it was not kept.
func (v *values) undoHead() { v.whole = false }

// nextValue takes a value off the front of what was noted. It is nil for a row that was deleted.
func nextValue(noted []byte) (value []byte, present bool, rest []byte) {
	n, size := binary.Uvarint(noted)
	noted = noted[size:]
	if n == 0 {
		return nil, false, noted
	}
	return noted[: n-1 : n-1], true, noted[n-1:]
}
