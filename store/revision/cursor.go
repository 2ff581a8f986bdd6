package revision

import (
	"bytes"
	"slices"

	"tarn/store"
)

// cursor is the writer's. Before the writer changes anything, each open cursor
// lets go of the engine's rows and remembers the key that it stood on; its next
// move finds the way back. Stepping through a table costs nothing for it.
type cursor struct {
	store    *Store
	rows     store.Cursor
	on       bool   // stands on a row
	detached bool   // rows was invalidated by a change; key says where it stood
	key      []byte // only while detached
}

func (s *Store) Cursor(t store.Table) (store.Cursor, error) {
	if err := s.alive(); err != nil {
		return nil, err
	}
	if t == 0 || int(t) > s.tables {
		return nil, store.ErrNoTable
	}
	rows, err := s.engine.Cursor(t)
	if err != nil {
		return nil, err
	}
	c := &cursor{store: s, rows: rows}
	s.cursors = append(s.cursors, c)
	return c, nil
}

func (s *Store) detach() {
	for _, c := range s.cursors {
		if c.on && !c.detached {
			c.key = append(c.key[:0], c.rows.Key()...)
			c.detached = true
		}
	}
}

func (c *cursor) noteMove(on bool) bool {
	c.on, c.detached = on, false
	return on
}

func (c *cursor) First() bool            { return c.noteMove(c.rows.First()) }
func (c *cursor) Last() bool             { return c.noteMove(c.rows.Last()) }
func (c *cursor) Seek(key []byte) bool   { return c.noteMove(c.rows.Seek(key)) }
func (c *cursor) SeekLT(key []byte) bool { return c.noteMove(c.rows.SeekLT(key)) }

func (c *cursor) Next() bool {
	if !c.on {
		return false
	}
	if c.detached && !c.reattach() {
		return c.noteMove(c.rows.Valid()) // already on the row after the lost one
	}
	return c.noteMove(c.rows.Next())
}

func (c *cursor) Prev() bool {
	if !c.on {
		return false
	}
	if c.detached {
		return c.noteMove(c.rows.SeekLT(c.key))
	}
	return c.noteMove(c.rows.Prev())
}

// reattach seeks the remembered key and reports whether its row is still there.
func (c *cursor) reattach() bool {
	return c.rows.Seek(c.key) && bytes.Equal(c.rows.Key(), c.key)
}

func (c *cursor) Valid() bool { return c.on }

func (c *cursor) Key() []byte {
	switch {
	case !c.on:
		return nil
	case c.detached:
		return c.key
	}
	return c.lendRow(c.rows.Key())
}

// Value of a detached cursor is the row's present one, nil if it is gone.
func (c *cursor) Value() []byte {
	if !c.on || c.detached && !c.reattach() {
		return nil
	}
	v := c.rows.Value()
	if v == nil && !c.rows.Valid() {
		c.on = false // it could not be read; Err says why
	}
	return c.lendRow(v)
}

func (c *cursor) Err() error { return c.rows.Err() }

func (c *cursor) Close() error {
	i := slices.Index(c.store.cursors, c)
	if i < 0 {
		return nil
	}
	c.store.cursors = slices.Delete(c.store.cursors, i, i+1)
	c.on = false
	return c.rows.Close()
}
