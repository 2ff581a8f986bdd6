package lsm

import (
	"errors"

	"tarn/store"
	"tarn/store/mergecursor"
)

// rows returns the ground's layers of a table.
func (g *ground) rows(t store.Table, withBase bool) ([]mergecursor.Layer, error) {
	var layers []mergecursor.Layer
	fail := func(err error) ([]mergecursor.Layer, error) {
		return nil, errors.Join(err, mergecursor.CloseAll(layers))
	}
	for _, l := range g.layers {
		if t > l.tables {
			continue
		}
		c, err := l.view.Cursor(t)
		if err != nil {
			return fail(err)
		}
		layers = append(layers, mergecursor.Layer{Cursor: c, Marked: true})
	}
	if !withBase {
		return layers, nil
	}
	c, err := g.base.table(t)
	if err != nil {
		return fail(err)
	}
	return append(layers, mergecursor.Layer{Cursor: c}), nil
}

// tableCursor shows a table's part of the base without the prefix.
type tableCursor struct {
	store.Cursor
	prefix [tablePrefix]byte
	buf    []byte
}

func (s *snapshot) table(t store.Table) (store.Cursor, error) {
	lower, upper := tableBounds(t)
	c, err := s.Cursor(lower, upper)
	if err != nil {
		return nil, err
	}
	return &tableCursor{Cursor: c, prefix: [tablePrefix]byte(lower)}, nil
}

func (c *tableCursor) full(key []byte) []byte {
	c.buf = append(append(c.buf[:0], c.prefix[:]...), key...)
	return c.buf
}

func (c *tableCursor) Seek(key []byte) bool   { return c.Cursor.Seek(c.full(key)) }
func (c *tableCursor) SeekLT(key []byte) bool { return c.Cursor.SeekLT(c.full(key)) }
func (c *tableCursor) Key() []byte            { return c.Cursor.Key()[tablePrefix:] }
