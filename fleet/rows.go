package fleet

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"tarn/store"
)

// Rows collects changed rows, and encodes them. The zero value is empty. One goroutine at a
// time uses it.
type Rows struct {
	buf  []byte // keys and values, one after another
	list []changedRow
}

// changedRow is a row whose key and value are in Rows.buf.
type changedRow struct {
	table      store.Table
	at         int // of the key; the value follows
	key, value int // lengths; value is -1 for a row that is gone
}

// Add adds a row that changed; each row is added once. The arguments are copied. It fits
// [store.Store.Changes] and never fails.
func (r *Rows) Add(t store.Table, key, value []byte, present bool) error {
	row := changedRow{t, len(r.buf), len(key), len(value)}
	if !present {
		row.value = -1
	}
	r.buf = append(append(r.buf, key...), value...)
	r.list = append(r.list, row)
	return nil
}

// Len is how many rows there are.
func (r *Rows) Len() int { return len(r.list) }

// Size is about how much memory they take, in bytes.
func (r *Rows) Size() int64 { return int64(cap(r.buf)) + 32*int64(cap(r.list)) }

func (r *Rows) key(row changedRow) []byte { return r.buf[row.at : row.at+row.key] }

// Append appends the encoding of the rows, table by table in the order of their handles, and by their keys. names are the
// store's tables.
//
// It is, for each table that has any: length and bytes of the name, number of rows; for each
// row: length of the key, the key, 0 for a row that is gone or 1 and the length of the value, the value. All numbers are
// unsigned varints.
func (r *Rows) Append(b []byte, names []store.TableInfo) ([]byte, error) {
	slices.SortFunc(r.list, func(x, y changedRow) int {
		if c := cmp.Compare(x.table, y.table); c != 0 {
			return c
		}
		return bytes.Compare(r.key(x), r.key(y))
	})
	for rest := r.list; len(rest) > 0; {
		t := rest[0].table
		n := slices.IndexFunc(rest, func(row changedRow) bool { return row.table != t })
		if n < 0 {
			n = len(rest)
		}
		i := slices.IndexFunc(names, func(i store.TableInfo) bool { return i.ID == t })
		if i < 0 {
			return b, fmt.Errorf("encode rows of table %d: %w", t, store.ErrNoTable)
		}
		b = appendString(b, names[i].Name)
		b = binary.AppendUvarint(b, uint64(n))
		for _, row := range rest[:n] {
			b = r.appendRow(b, row)
		}
		rest = rest[n:]
	}
	return b, nil
}

func (r *Rows) appendRow(b []byte, row changedRow) []byte {
	b = binary.AppendUvarint(b, uint64(row.key))
	b = append(b, r.key(row)...)
	if row.value < 0 {
		return append(b, 0)
	}
	b = binary.AppendUvarint(append(b, 1), uint64(row.value))
	return append(b, r.buf[row.at+row.key:row.at+row.key+row.value]...)
}

// EachRow calls fn for each row of an encoding. value is nil for a row that is gone. The slices
// are parts of b. An error of fn ends it.
func EachRow(b []byte, fn func(table string, key, value []byte, present bool) error) error {
	r := reader{b: b}
	for len(r.b) > 0 && r.err == nil {
		table := string(r.bytes(255))
		for n := r.number(); n > 0 && r.err == nil; n-- {
			key, value, present := r.row()
			if r.err != nil {
				break
			}
			if err := fn(table, key, value, present); err != nil {
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
	var name string
	var t store.Table
	return EachRow(b, func(table string, key, value []byte, present bool) (err error) {
		if t == 0 || table != name {
			if t, err = s.Table(table); err != nil {
				return fmt.Errorf("%w: %w", ErrDiffers, err)
			}
			name = table
		}
		if present {
			err = s.Put(t, key, value)
		} else {
			err = s.Delete(t, key)
		}
		if errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("%w: table %s has no row %x to delete", ErrDiffers, table, key)
		}
		if err != nil {
			return fmt.Errorf("apply row %x of table %s: %w", key, table, err)
		}
		return nil
	})
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
