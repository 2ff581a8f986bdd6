package fleet

import (
	"bytes"
	"errors"
	"hash/maphash"
	"math/bits"

	"tarn/store"
)

// Latest applies the rows of several blocks as one change of a store. A row that several of them changed is written
// once: busy accounts have a row in most blocks. The zero value is ready, and keeps its room for the next change. One
// goroutine at a time uses it.
type Latest struct {
	seed   maphash.Seed
	blocks [][]byte // encoded rows
	rows   []uint32 // of all blocks, in their order: the index in newest
	newest []newest // of each row that changed
	slots  []uint32 // by hash: 1 + an index in newest, 0 for none; a power of two of them
}

// newest is the last time that a row was changed.
type newest struct {
	row       uint32 // index in Latest.rows
	hash      uint32
	block, at uint32 // where its key is
	table     store.Table
	size      uint16 // of the key
	again     bool   // it was changed before
}

// latestSlots is how many slots there are at first.
const latestSlots = 1 << 12

// Apply makes the rows of blocks, which follow each other, those of the store, whose revision is open. Errors are those
// of the function Apply, which finds more of what cannot be: here a row that is not there may be deleted if an older
// block changed it.
func (l *Latest) Apply(s store.Store, blocks [][]byte) error {
	if len(blocks) == 1 {
		return Apply(s, blocks[0])
	}
	if l.slots == nil {
		l.seed, l.slots = maphash.MakeSeed(), make([]uint32, latestSlots)
	}
	l.blocks = blocks
	defer l.clear()
	for i := range blocks {
		if err := l.read(s, uint32(i)); err != nil {
			return err
		}
	}
	n := uint32(0)
	for i := range blocks {
		if err := l.apply(s, blocks[i], &n); err != nil {
			return err
		}
	}
	return nil
}

// read notes which rows a block changed.
func (l *Latest) read(s store.Store, block uint32) error {
	var t tableOf
	return eachRow(l.blocks[block], func(table string, at int, key, _ []byte, _ bool) error {
		if err := t.find(s, table); err != nil {
			return err
		}
		h := maphash.Bytes(l.seed, key) ^ bits.RotateLeft64(uint64(t.table)*0x9e3779b97f4a7c15, 32)
		l.note(newest{row: uint32(len(l.rows)), hash: uint32(h), block: block, at: uint32(at), table: t.table,
			size: uint16(len(key))}, key)
		return nil
	})
}

// note makes x the newest of its row.
func (l *Latest) note(x newest, key []byte) {
	for i := x.hash; ; i++ {
		slot := &l.slots[int(i)&(len(l.slots)-1)]
		if *slot == 0 {
			l.rows = append(l.rows, uint32(len(l.newest)))
			l.newest = append(l.newest, x)
			*slot = uint32(len(l.newest))
			if len(l.newest) > len(l.slots)/2 {
				l.grow()
			}
			return
		}
		old := &l.newest[*slot-1]
		if old.hash == x.hash && old.table == x.table &&
			bytes.Equal(key, l.blocks[old.block][old.at:old.at+uint32(old.size)]) {
			x.again = true
			*old = x
			l.rows = append(l.rows, *slot-1)
			return
		}
	}
}

func (l *Latest) grow() {
	l.slots = make([]uint32, 2*len(l.slots))
	for n, x := range l.newest {
		i := x.hash
		for l.slots[int(i)&(len(l.slots)-1)] != 0 {
			i++
		}
		l.slots[int(i)&(len(l.slots)-1)] = uint32(n + 1)
	}
}

// apply applies those rows of a block that no later one changed. n is the index of its first row, and becomes that of
// the next block's.
func (l *Latest) apply(s store.Store, block []byte, n *uint32) error {
	var t tableOf
	return EachRow(block, func(table string, key, value []byte, present bool) error {
		row := *n
		*n++
		x := &l.newest[l.rows[row]]
		if x.row != row {
			return nil
		}
		if err := t.find(s, table); err != nil {
			return err
		}
		err := t.apply(s, key, value, present)
		if x.again && !present && errors.Is(err, store.ErrNotFound) {
			return nil // it came and went
		}
		return err
	})
}

// clear lets go of the blocks, and of more room than blocks need that are joined.
func (l *Latest) clear() {
	const usual = 1 << 20
	l.blocks = nil
	if len(l.rows) > usual {
		*l = Latest{}
		return
	}
	clear(l.slots)
	l.rows, l.newest = l.rows[:0], l.newest[:0]
}
