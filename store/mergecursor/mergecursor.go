// Package mergecursor walks layers of rows as if they were one table. It owns the mark
// that tells a changed row of an overlay from one that was deleted there, and the
// order in which layers count. It never reads a row but through the cursors that
// it is given, and starts no goroutine.
package mergecursor

import (
	"bytes"

	"tarn/store"
)

// Each row of a marked layer starts with what it is.
const (
	Tombstone = 0 // deleted, whatever lies below
	Present   = 1
)

// Layer is one layer's rows of one table. The values of a marked one start with
// their mark; in another every row is present.
type Layer struct {
	store.Cursor
	Marked bool
}

func (l Layer) row() (value []byte, mark byte) {
	v := l.Value()
	if !l.Marked || len(v) == 0 { // no mark: it could not be read
		return v, Present
	}
	return v[1:], v[0]
}

// deleted reads no value of a layer without marks: it may be large, and lie on the disk.
func (l Layer) deleted() bool {
	if !l.Marked {
		return false
	}
	_, mark := l.row()
	return mark == Tombstone
}

// Cursor walks several layers: of those that have the same key, the newest counts.
// All of them stand at or beyond the cursor's own row in its direction. It is a
// store.Cursor, except that a change below it is for its owner to handle: until the
// next absolute move its rows are those from before, or undefined.
type Cursor struct {
	layers     []Layer // newest first
	tombstones bool    // stop on them too
	at         int     // the layer that has the row; -1 on no row
	backward   bool
	key        []byte // of the row, a copy
	err        error
}

var _ store.Cursor = (*Cursor)(nil)

// New makes a cursor of layers, newest first. It owns them from now on. With
// tombstones it stops on deleted rows too.
func New(layers []Layer, tombstones bool) *Cursor {
	return &Cursor{layers: layers, tombstones: tombstones, at: -1}
}

// Reset gives the cursor other layers, and leaves it on no row. It must have been
// closed.
func (c *Cursor) Reset(layers []Layer) { c.layers, c.at, c.err = layers, -1, nil }

// Fail leaves the cursor on no row because of err.
func (c *Cursor) Fail(err error) { c.at, c.err = -1, err }

// First implements store.Cursor, as the other methods do.
func (c *Cursor) First() bool { return c.all(false, store.Cursor.First) }
func (c *Cursor) Last() bool  { return c.all(true, store.Cursor.Last) }

func (c *Cursor) Seek(key []byte) bool {
	return c.all(false, func(l store.Cursor) bool { return l.Seek(key) })
}

func (c *Cursor) SeekLT(key []byte) bool {
	return c.all(true, func(l store.Cursor) bool { return l.SeekLT(key) })
}

// all places every layer and settles on a row.
func (c *Cursor) all(backward bool, place func(store.Cursor) bool) bool {
	c.backward, c.err = backward, nil
	for _, l := range c.layers {
		place(l.Cursor)
	}
	return c.settle()
}

// Next and Prev leave the row. A cursor that was going the other way first brings
// its layers to this side.
func (c *Cursor) Next() bool {
	if c.at < 0 {
		return false
	}
	if c.backward {
		c.backward = false
		for _, l := range c.layers {
			l.Seek(c.key)
		}
	}
	c.leave()
	return c.settle()
}

func (c *Cursor) Prev() bool {
	if c.at < 0 {
		return false
	}
	if !c.backward {
		return c.SeekLT(c.key)
	}
	c.leave()
	return c.settle()
}

// leave steps every layer that stands on the cursor's key.
func (c *Cursor) leave() {
	for _, l := range c.layers {
		if l.Valid() && bytes.Equal(l.Key(), c.key) {
			c.step(l)
		}
	}
}

func (c *Cursor) step(l Layer) {
	if c.backward {
		l.Prev()
	} else {
		l.Next()
	}
}

// settle finds the nearest row among the layers, past tombstones.
func (c *Cursor) settle() bool {
	for {
		c.at = -1
		for i, l := range c.layers {
			if !l.Valid() {
				if err := l.Err(); err != nil {
					c.Fail(err)
					return false
				}
				continue
			}
			if c.at < 0 {
				c.at = i
				continue
			}
			order := bytes.Compare(l.Key(), c.layers[c.at].Key())
			if c.backward {
				order = -order
			}
			if order < 0 {
				c.at = i
			}
		}
		if c.at < 0 {
			return false
		}
		c.key = append(c.key[:0], c.layers[c.at].Key()...)
		if c.tombstones || !c.layers[c.at].deleted() {
			return true
		}
		c.leave()
	}
}

func (c *Cursor) Valid() bool { return c.at >= 0 }

func (c *Cursor) Key() []byte {
	if c.at < 0 {
		return nil
	}
	return c.key
}

func (c *Cursor) Value() []byte {
	v, _ := c.Row()
	return v
}

// Row is the row's value, and its mark: of use with tombstones. A value that cannot be
// read leaves the cursor on no row, with the layer's error.
func (c *Cursor) Row() (value []byte, mark byte) {
	if c.at < 0 {
		return nil, Tombstone
	}
	l := c.layers[c.at]
	value, mark = l.row()
	if value == nil && !l.Valid() {
		c.Fail(l.Err())
	}
	return value, mark
}

func (c *Cursor) Err() error { return c.err }

// Close closes the layers and leaves the cursor on no row.
func (c *Cursor) Close() error {
	err := CloseAll(c.layers)
	c.layers, c.at = nil, -1
	return err
}

// CloseAll closes layers; the first error counts.
func CloseAll(layers []Layer) error {
	var err error
	for _, l := range layers {
		if e := l.Cursor.Close(); err == nil {
			err = e
		}
	}
	return err
}
