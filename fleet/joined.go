package fleet

import (
	"bytes"
	"hash/maphash"
	"math/bits"

	"tarn/store"
)

// JoinedRows applies the rows of several blocks as those of one: a row that many of them change is written once. The
// zero value is ready, and keeps its room for the next blocks. One goroutine at a time uses it.
type JoinedRows struct {
	seed maphash.Seed // only spreads rows over the hash table; no result depends on it
	rows []joinedRow  // in the order in which they changed first
	seen []uint32     // a hash table of them: the place in rows, plus 1
}

// joinedRow is a row that blocks changed, as the last of them leaves it.
type joinedRow struct {
	hash       uint64 // of the key, plus the table
	key, value []byte
	table      store.Table
	present    bool
	deleted    bool // by the first of the blocks that change it: it was there before
}

// joinedRowsMost is how many rows are joined at most before they are applied: some 20 MB. A move may have rows of three
// bytes.
const joinedRowsMost = 1 << 18

// Apply makes the rows of blocks those of the store, whose revision is open. The encodings are of blocks that
// follow each other. It refuses what [Apply] refuses of one block after the other: an error that wraps [ErrDiffers] says
// that the store is not in the state that the rows were made for, or that the blocks do not fit to each other.
func (j *JoinedRows) Apply(s store.Store, encodings [][]byte) error {
	defer j.clear()
	tables := tablesOf{store: s}
	for _, b := range encodings {
		err := EachRow(b, func(name string, key, value []byte, present bool) error {
			t, err := tables.find(name)
			if err != nil {
				return err
			}
			if !j.add(t, key, value, present) {
				return notThere(s, t, key)
			}
			if len(j.rows) < joinedRowsMost {
				return nil
			}
			return j.flush(s)
		})
		if err != nil {
			return err
		}
	}
	return j.flush(s)
}

// add notes what a block makes of a row. It tells whether that can be: a row is deleted that the block before has left.
func (j *JoinedRows) add(t store.Table, key, value []byte, present bool) bool {
	if 2*len(j.rows) >= len(j.seen) {
		j.grow()
	}
	hash := maphash.Bytes(j.seed, key) + uint64(t)
	at := j.slot(hash, key)
	if found := j.seen[at]; found != 0 {
		x := &j.rows[found-1]
		possible := present || x.present
		x.value, x.present = value, present
		return possible
	}
	j.rows = append(j.rows, joinedRow{hash, key, value, t, present, !present})
	j.seen[at] = uint32(len(j.rows))
	return true
}

// slot is where the hash table has a row, or would have it.
func (j *JoinedRows) slot(hash uint64, key []byte) uint64 {
	mask := uint64(len(j.seen) - 1)
	for at := hash & mask; ; at = (at + 1) & mask {
		found := j.seen[at]
		if found == 0 {
			return at
		}
		if x := &j.rows[found-1]; x.hash == hash && bytes.Equal(x.key, key) { // then the table is the same
			return at
		}
	}
}

// grow makes the hash table at least four times as large as there are rows.
func (j *JoinedRows) grow() {
	if len(j.seen) == 0 {
		j.seed = maphash.MakeSeed()
	}
	j.seen = make([]uint32, 1<<bits.Len(uint(4*len(j.rows)+1024)))
	for i := range j.rows {
		x := &j.rows[i]
		j.seen[j.slot(x.hash, x.key)] = uint32(i + 1)
	}
}

// flush writes the rows, and forgets them.
func (j *JoinedRows) flush(s store.Store) error {
	for i := range j.rows {
		x := &j.rows[i]
		if x.deleted && x.present { // the row that was deleted before it was written must have been there
			if _, err := s.Get(x.table, x.key); err != nil {
				return notThere(s, x.table, x.key)
			}
		}
		if err := applyRow(s, x.table, x.key, x.value, x.present, x.deleted); err != nil {
			return err
		}
	}
	j.clear()
	return nil
}

// clear forgets the rows, and keeps their room.
func (j *JoinedRows) clear() {
	clear(j.rows) // they hold moves
	clear(j.seen)
	j.rows = j.rows[:0]
}
