// Package mergecursortest is for tests of what merges rows: rows in a list.
package mergecursortest

import (
	"bytes"
	"slices"
)

// Cursor walks rows in memory: keys, ascending, each with its value. At is where it is.
type Cursor struct {
	Rows [][2][]byte
	At   int
}

func (c *Cursor) find(key []byte) int {
	i, _ := slices.BinarySearchFunc(c.Rows, key, func(r [2][]byte, k []byte) int { return bytes.Compare(r[0], k) })
	return i
}
func (c *Cursor) to(i int) bool { c.At = i; return c.Valid() }

// First implements store.Cursor.
func (c *Cursor) First() bool { return c.to(0) }

// Last implements store.Cursor.
func (c *Cursor) Last() bool { return c.to(len(c.Rows) - 1) }

// Seek implements store.Cursor.
func (c *Cursor) Seek(key []byte) bool { return c.to(c.find(key)) }

// SeekLT implements store.Cursor.
func (c *Cursor) SeekLT(key []byte) bool { return c.to(c.find(key) - 1) }

// Next implements store.Cursor.
func (c *Cursor) Next() bool { return c.Valid() && c.to(c.At+1) }

// Prev implements store.Cursor.
func (c *Cursor) Prev() bool { return c.Valid() && c.to(c.At-1) }

// Valid implements store.Cursor.
func (c *Cursor) Valid() bool { return c.At >= 0 && c.At < len(c.Rows) }

// Key implements store.Cursor.
func (c *Cursor) Key() []byte { return c.Rows[c.At][0] }

// Value implements store.Cursor.
func (c *Cursor) Value() []byte { return c.Rows[c.At][1] }

// Err implements store.Cursor.
func (c *Cursor) Err() error { return nil }

// Close implements store.Cursor.
func (c *Cursor) Close() error { return nil }
