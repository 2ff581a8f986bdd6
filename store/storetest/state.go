package storetest

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"

	"tarn/store"
)

// row and state are what a store holds at one moment, as plainly as can be: for
// each table its rows in the order of their keys. A state never changes; its
// tables are shared with the states before and after it.
type row struct{ key, value string }

type state struct {
	names  []string // of the tables
	tables [][]row
	ids    []uint64 // next id of each table
}

// find returns the position of key, or of the first row after it.
func find(rows []row, key string) (int, bool) {
	return slices.BinarySearchFunc(rows, key, func(r row, key string) int { return strings.Compare(r.key, key) })
}

// size is how many bytes of keys and values there are.
func (s state) size() int {
	n := 0
	for _, rows := range s.tables {
		for _, r := range rows {
			n += len(r.key) + len(r.value)
		}
	}
	return n
}

// draft is a state that can be changed: a table is copied before its first
// change after a freeze.
type draft struct {
	state
	owned []bool
}

func (d *draft) freeze() state {
	clear(d.owned)
	return state{names: slices.Clone(d.names), tables: slices.Clone(d.tables), ids: slices.Clone(d.ids)}
}

func (d *draft) thaw(s state) {
	d.state = state{names: slices.Clone(s.names), tables: slices.Clone(s.tables), ids: slices.Clone(s.ids)}
	d.owned = make([]bool, len(s.tables))
}

func (d *draft) create(name string) int {
	d.names = append(d.names, name)
	d.tables = append(d.tables, nil)
	d.ids = append(d.ids, 0)
	d.owned = append(d.owned, true)
	return len(d.tables) - 1
}

func (d *draft) own(t int) []row {
	if !d.owned[t] {
		d.tables[t] = slices.Clone(d.tables[t])
		d.owned[t] = true
	}
	return d.tables[t]
}

func (d *draft) put(t int, key, value string) {
	rows := d.own(t)
	i, ok := find(rows, key)
	if ok {
		rows[i].value = value
		return
	}
	d.tables[t] = slices.Insert(rows, i, row{key, value})
}

func (d *draft) delete(t int, key string) bool {
	i, ok := find(d.tables[t], key)
	if ok {
		d.tables[t] = slices.Delete(d.own(t), i, i+1)
	}
	return ok
}

// span returns the positions of the rows with from <= key < to, nil meaning no
// bound.
func (s state) span(t int, from, to []byte) (int, int) {
	lo, hi := 0, len(s.tables[t])
	if from != nil {
		lo, _ = find(s.tables[t], string(from))
	}
	if to != nil {
		hi, _ = find(s.tables[t], string(to))
	}
	return lo, max(lo, hi)
}

// deleteFirst deletes the first n rows from a position.
func (d *draft) deleteFirst(t, at, n int) {
	if n > 0 {
		d.tables[t] = slices.Delete(d.own(t), at, at+n)
	}
}

// compare walks every table of r, forward and, if asked, backward too, and
// returns the first difference from want. A table that r does not have is
// empty.
func compare(r store.Reader, handles map[string]store.Table, want state, backward bool) error {
	for i, rows := range want.tables {
		name := want.names[i]
		h, ok := handles[name]
		if !ok {
			if len(rows) > 0 {
				return fmt.Errorf("table %s is missing, should have %d rows", name, len(rows))
			}
			continue
		}
		if err := compareTable(r, h, rows, backward); err != nil {
			return fmt.Errorf("table %s: %w", name, err)
		}
	}
	return nil
}

func compareTable(r store.Reader, t store.Table, want []row, backward bool) (err error) {
	c, err := r.Cursor(t)
	if err != nil {
		return err
	}
	defer func() {
		if e := c.Close(); err == nil {
			err = e
		}
	}()
	n := 0
	for ok := c.First(); ok; ok = c.Next() {
		if err := compareRow(c, want, n); err != nil {
			return fmt.Errorf("row %d of %d: %w", n, len(want), err)
		}
		n++
	}
	if err := c.Err(); err != nil {
		return fmt.Errorf("after %d of %d rows: %w", n, len(want), err)
	}
	if n < len(want) {
		return fmt.Errorf("ends after %d of %d rows; next should be %s", n, len(want), quote(want[n].key))
	}
	if !backward {
		return nil
	}
	for ok := c.Last(); ok; ok = c.Prev() {
		n--
		if err := compareRow(c, want, n); err != nil {
			return fmt.Errorf("backward, row %d of %d: %w", n, len(want), err)
		}
	}
	if n > 0 && c.Err() == nil {
		return fmt.Errorf("backward, ends %d rows before the first", n)
	}
	return c.Err()
}

func compareRow(c store.Cursor, want []row, n int) error {
	switch {
	case n < 0 || n >= len(want):
		return fmt.Errorf("%s should not be there", quote(string(c.Key())))
	case string(c.Key()) != want[n].key:
		return fmt.Errorf("key is %s, should be %s", quote(string(c.Key())), quote(want[n].key))
	case string(c.Value()) != want[n].value:
		return fmt.Errorf("value of %s is %s, should be %s", quote(want[n].key), quote(string(c.Value())),
			quote(want[n].value))
	}
	return nil
}

// handles returns the tables of the suite in a store or a view, by name.
func handles(tables []store.TableInfo) map[string]store.Table {
	m := make(map[string]store.Table, len(tables))
	for _, t := range tables {
		m[t.Name] = t.ID
	}
	return m
}

// quote shows a key or value in a line: whole if short, else its start, length
// and checksum.
func quote(s string) string {
	const shown = 24
	if len(s) <= shown {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("%q…(%d bytes, crc %08x)", s[:shown], len(s), crc32.ChecksumIEEE([]byte(s)))
}

// bound shows a bound of a range.
func bound(b []byte) string {
	if b == nil {
		return "-"
	}
	return quote(string(bytes.Clone(b)))
}
