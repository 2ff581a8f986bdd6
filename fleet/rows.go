package fleet

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"tarn/store"
)

// Rows collects changed rows, encoded by table: the chain's writer calls it for each row of a block, so it does
// no more than it must. The zero value is empty. One goroutine at a time uses it.
type Rows struct {
	tables []tableRows // in the order in which they changed first
	last   int         // the table of the last row
}

// tableNameMost is how long a table's name may be, in bytes ([store.Store.CreateTable]).
const tableNameMost = 255

// tableRows are the rows of a table.
type tableRows struct {
	table store.Table
	count int
	buf   []byte // as they are encoded
}

// Like returns an empty one with room for as many rows as r has: blocks that follow each other change about
// as much, and growing costs more than the rows.
func (r *Rows) Like() *Rows {
	n := &Rows{tables: make([]tableRows, len(r.tables))}
	for i, x := range r.tables {
		n.tables[i] = tableRows{table: x.table, buf: make([]byte, 0, len(x.buf))}
	}
	return n
}

// reset empties it, and keeps its room.
func (r *Rows) reset() {
	for i := range r.tables {
		r.tables[i].count, r.tables[i].buf = 0, r.tables[i].buf[:0]
	}
	r.last = 0
}

// Add adds a row that changed; each row is added once. The arguments are copied. It fits
// [store.Store.Changes] and never fails.
func (r *Rows) Add(t store.Table, key, value []byte, present bool) error {
	if r.last >= len(r.tables) || r.tables[r.last].table != t {
		r.last = slices.IndexFunc(r.tables, func(x tableRows) bool { return x.table == t })
		if r.last < 0 {
			r.last = len(r.tables)
			r.tables = append(r.tables, tableRows{table: t})
		}
	}
	x := &r.tables[r.last]
	x.count++
	x.buf = appendBytes(x.buf, key)
	if !present {
		x.buf = append(x.buf, 0)
		return nil
	}
	x.buf = appendBytes(append(x.buf, 1), value)
	return nil
}

// Len is how many rows there are.
func (r *Rows) Len() (n int) {
	for i := range r.tables {
		n += r.tables[i].count
	}
	return n
}

// Size is about how much memory they take, in bytes.
func (r *Rows) Size() int64 {
	const table = 40
	n := table * int64(cap(r.tables))
	for i := range r.tables {
		n += int64(cap(r.tables[i].buf))
	}
	return n
}

// used is how many bytes of that have rows.
func (r *Rows) used() (n int64) {
	for i := range r.tables {
		n += int64(len(r.tables[i].buf))
	}
	return n
}

// Append appends the encoding of the rows, table by table in the order of their handles, in each in the order in
// which they were added. names are the store's tables.
//
// It is, for each table that has any: length and bytes of the name, number of rows; for each
// row: length of the key, the key, 0 for a row that is gone or 1 and the length of the value, the value. All
// numbers are unsigned varints.
func (r *Rows) Append(b []byte, names []store.TableInfo) ([]byte, error) {
	slices.SortFunc(r.tables, func(x, y tableRows) int { return cmp.Compare(x.table, y.table) })
	size := 0
	for i := range r.tables {
		size += len(r.tables[i].buf) + tableNameMost + 2*binary.MaxVarintLen64
	}
	b = slices.Grow(b, size)
	for _, x := range r.tables {
		if x.count == 0 {
			continue
		}
		i := slices.IndexFunc(names, func(i store.TableInfo) bool { return i.ID == x.table })
		if i < 0 {
			return b, fmt.Errorf("encode rows of table %d: %w", x.table, store.ErrNoTable)
		}
		b = appendString(b, names[i].Name)
		b = binary.AppendUvarint(b, uint64(x.count))
		b = append(b, x.buf...)
	}
	return b, nil
}

// EachRow calls fn for each row of an encoding. value is nil for a row that is gone. The slices
// are parts of b. An error of fn ends it.
func EachRow(b []byte, fn func(table string, key, value []byte, present bool) error) error {
	return eachRow(b, func(table string, _, _ int, key, value []byte, present bool) error {
		return fn(table, key, value, present)
	})
}

// eachRow is EachRow, and says at which bytes of b the key and the value begin.
func eachRow(b []byte, fn func(table string, at, valueAt int, key, value []byte, present bool) error) error {
	r := reader{b: b}
	for len(r.b) > 0 && r.err == nil {
		table := string(r.bytes(tableNameMost))
		for n := r.number(); n > 0 && r.err == nil; n-- {
			_, length := binary.Uvarint(r.b)
			at := len(b) - len(r.b) + length
			key, value, present := r.row()
			if r.err != nil {
				break
			}
			if err := fn(table, at, len(b)-len(r.b)-len(value), key, value, present); err != nil {
				return err
			}
		}
	}
	if r.err != nil {
		return fmt.Errorf("rows of a block: %w", r.err)
	}
	return nil
}

// Apply makes the rows of an encoding those of the store, whose revision is open. An error
// that wraps [ErrDiffers] says that the store is not in the state that the rows were made for.
func Apply(s store.Store, b []byte) error {
	var t tableOf
	return EachRow(b, func(table string, key, value []byte, present bool) error {
		if err := t.find(s, table); err != nil {
			return err
		}
		return t.apply(s, key, value, present)
	})
}

// tableOf is the table of a store to which rows are applied, one after the other.
type tableOf struct {
	name  string
	table store.Table // 0 for none yet
}

// find makes it the table with a name.
func (t *tableOf) find(s store.Store, name string) (err error) {
	if t.table != 0 && name == t.name {
		return nil
	}
	if t.table, err = s.Table(name); err != nil {
		return fmt.Errorf("%w: %w", ErrDiffers, err)
	}
	t.name = name
	return nil
}

// apply puts or deletes a row. That a row to delete is not there is an error that wraps [ErrDiffers] and
// [store.ErrNotFound].
func (t *tableOf) apply(s store.Store, key, value []byte, present bool) (err error) {
	if present {
		err = s.Put(t.table, key, value)
	} else {
		err = s.Delete(t.table, key)
	}
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("%w: table %s has no row %x to delete: %w", ErrDiffers, t.name, key, err)
	}
	if err != nil {
		return fmt.Errorf("apply row %x of table %s: %w", key, t.name, err)
	}
	return nil
}

// reader takes values off the front of bytes that may be anything. After an error all it
// returns is empty.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail(what string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", ErrDamaged, what)
	}
	r.b = nil
}

func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.b)
	if size <= 0 {
		r.fail("a number that does not end")
		return 0
	}
	r.b = r.b[size:]
	return n
}

// bytes returns what a length tells, at most limit bytes.
func (r *reader) bytes(limit int) []byte {
	n := r.number()
	if n > uint64(limit) || n > uint64(len(r.b)) {
		r.fail(fmt.Sprintf("a length of %d where %d bytes are left", n, len(r.b)))
		return nil
	}
	return r.take(int(n))
}

func (r *reader) take(n int) []byte {
	if n > len(r.b) {
		r.fail(fmt.Sprintf("%d bytes are missing", n-len(r.b)))
		return nil
	}
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

func (r *reader) row() (key, value []byte, present bool) {
	key = r.bytes(store.MaxKey)
	switch kind := r.number(); {
	case r.err != nil:
		return nil, nil, false
	case len(key) == 0:
		r.fail("a row without a key")
	case kind == 1:
		return key, r.bytes(store.MaxValue), true
	case kind != 0:
		r.fail(fmt.Sprintf("a row of kind %d", kind))
	}
	return key, nil, false
}

func (r *reader) point() (p Point) {
	p.Revision = r.number()
	copy(p.ID[:], r.take(len(p.ID)))
	return p
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendBytes(b, s []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendPoint(b []byte, p Point) []byte {
	return append(binary.AppendUvarint(b, p.Revision), p.ID[:]...)
}
