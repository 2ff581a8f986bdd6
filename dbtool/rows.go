package dbtool

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"slices"

	"tarn/store"
)

// pastRow is what a row was at the irreversible revision; existed is false if it
// was not there.
type pastRow struct {
	key, old []byte
	existed  bool
}

// past holds, by table and in key order, the rows that an image's undo data
// takes back: laid over the state at the head, it is the state at the
// irreversible revision.
type past map[store.Table][]pastRow

// pastOf reads an image's undo data. The rows stay inside it.
func pastOf(im store.Image) (past, error) {
	p := past{}
	for i, journal := range im.Undo {
		err := store.Changed(journal, func(t store.Table, key, old []byte, existed bool) error {
			p[t] = append(p[t], pastRow{key, old, existed})
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("undo data of revision %d: %w", im.Irreversible+uint64(i)+1, err)
		}
	}
	for t, rows := range p {
		// The oldest record of a row says what it was before all revisions.
		slices.SortStableFunc(rows, func(a, b pastRow) int { return bytes.Compare(a.key, b.key) })
		p[t] = slices.CompactFunc(rows, func(a, b pastRow) bool { return bytes.Equal(a.key, b.key) })
	}
	return p, nil
}

// rows walks a table in key order. Key and value are valid until the next call
// of next.
type rows struct {
	cursor     store.Cursor
	standing   bool // cursor stands on a row
	given      bool // ... which has been given out
	past       []pastRow
	key, value []byte
}

// walk starts before the first row at or after a key, nil for the beginning.
func walk(r store.Reader, t store.Table, undone past, from []byte) (*rows, error) {
	c, err := r.Cursor(t)
	if err != nil {
		return nil, err
	}
	w := &rows{cursor: c, past: undone[t]}
	if from == nil {
		w.standing = c.First()
		return w, nil
	}
	w.standing = c.Seek(from)
	skip, _ := slices.BinarySearchFunc(w.past, from, func(r pastRow, key []byte) int {
		return bytes.Compare(r.key, key)
	})
	w.past = w.past[skip:]
	return w, nil
}

// next moves on and reports whether there is a row; err tells whether its
// absence is the end of the table.
func (w *rows) next() bool {
	if w.given {
		w.given, w.standing = false, w.cursor.Next()
	}
	for len(w.past) > 0 {
		row := w.past[0]
		if w.standing && bytes.Compare(w.cursor.Key(), row.key) < 0 {
			break
		}
		w.past = w.past[1:]
		if w.standing && bytes.Equal(w.cursor.Key(), row.key) {
			w.standing = w.cursor.Next()
		}
		if row.existed {
			w.key, w.value = row.key, row.old
			return true
		}
	}
	if !w.standing {
		return false
	}
	w.key, w.value, w.given = w.cursor.Key(), w.cursor.Value(), true
	return w.value != nil || w.cursor.Err() == nil // a value that cannot be read
}

func (w *rows) err() error   { return w.cursor.Err() }
func (w *rows) close() error { return w.cursor.Close() }

// digest sums up a state, the same for every engine: SHA-256 over each table's
// name and rows, each with its length before it, and the number of rows after
// them.
type digest struct {
	hash hash.Hash
	buf  []byte
	rows uint64
}

func newDigest() *digest { return &digest{hash: sha256.New()} }

func (d *digest) table(name string) {
	d.buf = binary.LittleEndian.AppendUint32(d.buf[:0], uint32(len(name)))
	d.hash.Write(append(d.buf, name...))
	d.rows = 0
}

func (d *digest) row(key, value []byte) {
	d.buf = binary.LittleEndian.AppendUint32(d.buf[:0], uint32(len(key)))
	d.buf = append(d.buf, key...)
	d.buf = binary.LittleEndian.AppendUint32(d.buf, uint32(len(value)))
	d.hash.Write(d.buf)
	d.hash.Write(value)
	d.rows++
}

func (d *digest) endTable() {
	d.hash.Write(binary.LittleEndian.AppendUint64(d.buf[:0], d.rows))
}

func (d *digest) sum() []byte { return d.hash.Sum(nil) }
