package leveldb

import (
	"bytes"

	"github.com/syndtr/goleveldb/leveldb/iterator"
	"github.com/syndtr/goleveldb/leveldb/util"

	"tarn/store"
)

// cursor implements store.Cursor over the library's iterator.
type cursor struct {
	it           iterator.Iterator
	path         string
	lower, upper []byte
	on           bool
}

// Cursor implements lsm.Snapshot.
func (s *snapshot) Cursor(lower, upper []byte) (store.Cursor, error) {
	it := s.rows.NewIterator(&util.Range{Start: lower, Limit: upper}, nil)
	if err := it.Error(); err != nil {
		it.Release()
		return nil, translate(s.base.folder.Path(), err)
	}
	return &cursor{it: it, path: s.base.folder.Path(), lower: bytes.Clone(lower), upper: bytes.Clone(upper)}, nil
}

func (c *cursor) noteMove(on bool) bool {
	c.on = on
	return on
}

func (c *cursor) First() bool          { return c.noteMove(c.it.First()) }
func (c *cursor) Last() bool           { return c.noteMove(c.it.Last()) }
func (c *cursor) Seek(key []byte) bool { return c.noteMove(c.it.Seek(key)) }

func (c *cursor) SeekLT(key []byte) bool {
	if c.it.Seek(key) {
		return c.noteMove(c.it.Prev())
	}
	if c.it.Error() != nil {
		return c.noteMove(false)
	}
	return c.noteMove(c.it.Last()) // all rows are before key
}

func (c *cursor) Next() bool    { return c.on && c.noteMove(c.it.Next()) }
func (c *cursor) Prev() bool    { return c.on && c.noteMove(c.it.Prev()) }
func (c *cursor) Valid() bool   { return c.on }
func (c *cursor) Key() []byte   { return c.it.Key() }
func (c *cursor) Value() []byte { return c.it.Value() }
func (c *cursor) Err() error    { return translate(c.path, c.it.Error()) }

func (c *cursor) Close() error {
	c.it.Release()
	c.on = false
	return nil
}
