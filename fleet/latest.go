package fleet

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"slices"

	"tarn/store"
)

// Latest are the rows of several blocks as one change of a store: of a row that several of them changed the last
// value, in the order of tables and keys. Busy accounts have a row in most blocks, and a store finds the place of a row
// beside that of the one before it. The zero value is empty, and keeps its room for the next blocks. One goroutine at a
// time uses it.
type Latest struct {
	blocks [][]byte // encoded rows
	tables []latestTable
	byName map[string]int // index in tables
	count  int            // of rows
	many   bool           // too many to be gathered: they are applied block by block
}

// mostRows is how many rows are gathered, more than joined blocks have. A row of three bytes takes forty here: the
// bound on the bytes of moves is none on these.
const mostRows = 1 << 19

// latestTable are the rows of a table.
type latestTable struct {
	name  string
	rows  []latestRow // in the order in which they changed
	order []latestKey // of keys, and of the times at which they changed
}

// latestRow is a row that a block changed.
type latestRow struct {
	block, key    uint32 // of the key its first byte
	value, length uint32
	size          uint16 // of the key
	present       bool
}

// latestKey is the key of a row: its first bytes, as numbers in their order. Most keys have no more.
type latestKey struct {
	high, low uint64
	row       uint32
}

const keyBytes = 16 // of a key that a latestKey has

// Gather makes it the rows of blocks, which follow each other, from the oldest on. It needs no store, and keeps the
// blocks until Clear.
func (l *Latest) Gather(blocks [][]byte) error {
	l.Clear()
	l.blocks = blocks
	for i := range blocks {
		err := l.read(uint32(i))
		if errors.Is(err, errMany) {
			*l = Latest{blocks: blocks, many: true}
			return nil
		}
		if err != nil {
			return err
		}
	}
	for i := range l.tables {
		t := &l.tables[i]
		slices.SortFunc(t.order, func(a, b latestKey) int {
			if c := cmp.Compare(a.high, b.high); c != 0 {
				return c
			}
			if c := cmp.Compare(a.low, b.low); c != 0 {
				return c
			}
			return cmp.Or(l.compareRest(&t.rows[a.row], &t.rows[b.row]), cmp.Compare(a.row, b.row))
		})
	}
	return nil
}

// compareRest compares keys whose first bytes are the same.
func (l *Latest) compareRest(a, b *latestRow) int {
	if a.size == b.size && a.size <= keyBytes {
		return 0
	}
	return bytes.Compare(l.keyOf(a), l.keyOf(b))
}

// Apply makes the rows those of the store, whose revision is open. Errors are those of the function Apply, which finds
// more of what cannot be: here a row that is not there may be deleted if an older block changed it.
func (l *Latest) Apply(s store.Store) error {
	if l.many {
		for _, b := range l.blocks {
			if err := Apply(s, b); err != nil {
				return err
			}
		}
		return nil
	}
	var at tableOf
	for i := range l.tables {
		t := &l.tables[i]
		before := false // an older block changed the row
		for j, k := range t.order {
			r := &t.rows[k.row]
			if j+1 < len(t.order) {
				if next := t.order[j+1]; next.high == k.high && next.low == k.low &&
					l.compareRest(r, &t.rows[next.row]) == 0 {
					before = true
					continue
				}
			}
			err := at.find(s, t.name)
			if err == nil {
				err = at.apply(s, l.keyOf(r), l.blocks[r.block][r.value:r.value+r.length], r.present)
			}
			if err != nil && !(before && !r.present && errors.Is(err, store.ErrNotFound)) { // else it came and went
				return err
			}
			before = false
		}
	}
	return nil
}

func (l *Latest) keyOf(r *latestRow) []byte { return l.blocks[r.block][r.key : r.key+uint32(r.size)] }

// read notes the rows that a block changed.
func (l *Latest) read(block uint32) error {
	var t *latestTable
	return eachRow(l.blocks[block], func(table string, at, valueAt int, key, value []byte, present bool) error {
		if t == nil || t.name != table {
			if t = l.table(table); t == nil {
				return errMany
			}
		}
		if l.count++; l.count > mostRows {
			return errMany
		}
		var first [keyBytes]byte
		copy(first[:], key)
		t.order = append(t.order, latestKey{binary.BigEndian.Uint64(first[:]), binary.BigEndian.Uint64(first[8:]),
			uint32(len(t.rows))})
		t.rows = append(t.rows, latestRow{block: block, key: uint32(at), value: uint32(valueAt),
			length: uint32(len(value)), size: uint16(len(key)), present: present})
		return nil
	})
}

// errMany says that there are more rows than are gathered, or more tables.
var errMany = errors.New("many rows")

// mostTables is many times as many as a state has.
const mostTables = 1 << 10

// table is that of a name, nil for one too many. It keeps its room for the next blocks.
func (l *Latest) table(name string) *latestTable {
	i, ok := l.byName[name]
	if !ok {
		if i = len(l.tables); i == mostTables {
			return nil
		}
		if l.byName == nil {
			l.byName = make(map[string]int)
		}
		l.byName[name] = i
		l.tables = append(l.tables, latestTable{name: name})
	}
	return &l.tables[i]
}

// Clear empties it, and lets go of the blocks and of more room than joined blocks need.
func (l *Latest) Clear() {
	room := 0
	for i := range l.tables {
		t := &l.tables[i]
		room += cap(t.rows)
		t.rows, t.order = t.rows[:0], t.order[:0]
	}
	l.blocks, l.count, l.many = nil, 0, false
	if room > mostRows || len(l.tables) > mostTables/2 {
		*l = Latest{}
	}
}
