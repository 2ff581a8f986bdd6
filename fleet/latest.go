package fleet

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"hash/maphash"
	"math/bits"
	"slices"

	"tarn/store"
)

// Latest are the rows of several blocks as one change of a store: of a row that several of them changed the last
// value, in the order of tables and keys. Busy accounts have a row in most blocks, and a store finds the place of a row
// beside that of the one before it. The zero value is empty, and keeps its room for the next blocks. One goroutine at a
// time uses it.
type Latest struct {
	seed   maphash.Seed
	blocks [][]byte // encoded rows
	tables []string
	rows   []latestRow
	slots  []uint32 // by hash: 1 + an index in rows, 0 for none; a power of two of them. Empty once the rows are sorted
}

// latestRow is the newest value of a row.
type latestRow struct {
	prefix          uint64 // the first bytes of the key
	block, key      uint32 // of the key its first byte
	value, length   uint32
	hash            uint32
	size            uint16 // of the key
	table           uint16 // index in Latest.tables
	present, before bool   // before: another block changed it before
}

// latestSlots is how many slots there are at first.
const latestSlots = 1 << 12

// Gather makes it the rows of blocks, which follow each other, from the oldest on. It needs no store, and keeps the
// blocks until Clear.
func (l *Latest) Gather(blocks [][]byte) error {
	l.Clear()
	if l.slots == nil {
		l.seed, l.slots = maphash.MakeSeed(), make([]uint32, latestSlots)
	}
	l.blocks = blocks
	for i := range blocks {
		if err := l.read(uint32(i)); err != nil {
			return err
		}
	}
	clear(l.slots)
	slices.SortFunc(l.rows, func(a, b latestRow) int {
		if c := cmp.Or(cmp.Compare(a.table, b.table), cmp.Compare(a.prefix, b.prefix)); c != 0 {
			return c
		}
		return bytes.Compare(l.keyOf(&a), l.keyOf(&b))
	})
	return nil
}

// Apply makes the rows those of the store, whose revision is open. Errors are those of the function Apply, which finds
// more of what cannot be: here a row that is not there may be deleted if an older block changed it.
func (l *Latest) Apply(s store.Store) error {
	var t tableOf
	for i := range l.rows {
		r := &l.rows[i]
		if err := t.find(s, l.tables[r.table]); err != nil {
			return err
		}
		err := t.apply(s, l.keyOf(r), l.blocks[r.block][r.value:r.value+r.length], r.present)
		if err != nil && !(r.before && !r.present && errors.Is(err, store.ErrNotFound)) { // else it came and went
			return err
		}
	}
	return nil
}

func (l *Latest) keyOf(r *latestRow) []byte { return l.blocks[r.block][r.key : r.key+uint32(r.size)] }

// read notes the rows that a block changed.
func (l *Latest) read(block uint32) error {
	name, table := "", 0
	return eachRow(l.blocks[block], func(of string, at, value int, key, v []byte, present bool) error {
		if name != of || len(l.tables) == 0 {
			if name, table = of, slices.Index(l.tables, of); table < 0 {
				table = len(l.tables)
				if table > mostTables {
					return ErrDiffers
				}
				l.tables = append(l.tables, of)
			}
		}
		h := maphash.Bytes(l.seed, key) ^ bits.RotateLeft64(uint64(table+1)*0x9e3779b97f4a7c15, 32)
		l.note(latestRow{prefix: prefixOf(key), hash: uint32(h), block: block, key: uint32(at), size: uint16(len(key)),
			table: uint16(table), value: uint32(value), length: uint32(len(v)), present: present}, key)
		return nil
	})
}

// mostTables is how many tables a store has at most, minus one.
const mostTables = 1<<16 - 1

// prefixOf are the first bytes of a key, as a number in their order.
func prefixOf(key []byte) uint64 {
	var b [8]byte
	copy(b[:], key)
	return binary.BigEndian.Uint64(b[:])
}

// note makes r the newest of its row.
func (l *Latest) note(r latestRow, key []byte) {
	for i := r.hash; ; i++ {
		slot := &l.slots[int(i)&(len(l.slots)-1)]
		if *slot == 0 {
			l.rows = append(l.rows, r)
			*slot = uint32(len(l.rows))
			if len(l.rows) > len(l.slots)/2 {
				l.grow()
			}
			return
		}
		if old := &l.rows[*slot-1]; old.hash == r.hash && old.table == r.table && bytes.Equal(key, l.keyOf(old)) {
			r.before = true
			*old = r
			return
		}
	}
}

func (l *Latest) grow() {
	l.slots = make([]uint32, 2*len(l.slots))
	for n := range l.rows {
		i := l.rows[n].hash
		for l.slots[int(i)&(len(l.slots)-1)] != 0 {
			i++
		}
		l.slots[int(i)&(len(l.slots)-1)] = uint32(n + 1)
	}
}

// Clear empties it, and lets go of the blocks and of more room than joined blocks need.
func (l *Latest) Clear() {
	const usual = 1 << 20
	if len(l.rows) > usual {
		*l = Latest{}
		return
	}
	clear(l.slots)
	l.blocks, l.tables, l.rows = nil, l.tables[:0], l.rows[:0]
}
