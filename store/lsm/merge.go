package lsm

import (
	"bytes"

	"tarn/store"
)

// source is one layer's rows of one table, by their own keys. In an overlay's,
// each value starts with what the row is; in the base every row is present.
type source struct {
	store.Cursor
	overlay bool
}

func (s source) row() (value []byte, kind byte) {
	v := s.Value()
	if !s.overlay {
		return v, present
	}
	return v[1:], v[0]
}

func (s source) deleted() bool { return s.overlay && s.Value()[0] == tombstone }

// merge walks the rows of several layers as if they were one table: of layers
// that have the same key, the newest counts. All sources stand at or beyond the
// merge's own row in its direction.
type merge struct {
	sources    []source // newest layer first
	tombstones bool     // stop on them too
	at         int      // the source that has the row; -1 on no row
	backward   bool
	key        []byte // of the row, a copy
	err        error
}

func (m *merge) first() bool { return m.all(false, store.Cursor.First) }
func (m *merge) last() bool  { return m.all(true, store.Cursor.Last) }

func (m *merge) seek(key []byte) bool {
	return m.all(false, func(c store.Cursor) bool { return c.Seek(key) })
}

func (m *merge) seekLT(key []byte) bool {
	return m.all(true, func(c store.Cursor) bool { return c.SeekLT(key) })
}

// all places every source and settles on a row.
func (m *merge) all(backward bool, place func(store.Cursor) bool) bool {
	m.backward, m.err = backward, nil
	for _, s := range m.sources {
		place(s.Cursor)
	}
	return m.settle()
}

// next and prev leave the row. A merge that was going the other way first brings
// its sources to this side.
func (m *merge) next() bool {
	if m.at < 0 {
		return false
	}
	if m.backward {
		m.backward = false
		for _, s := range m.sources {
			s.Seek(m.key)
		}
	}
	m.leave()
	return m.settle()
}

func (m *merge) prev() bool {
	if m.at < 0 {
		return false
	}
	if !m.backward {
		return m.seekLT(m.key)
	}
	m.leave()
	return m.settle()
}

// leave steps every source that stands on the merge's key.
func (m *merge) leave() {
	for _, s := range m.sources {
		if s.Valid() && bytes.Equal(s.Key(), m.key) {
			m.step(s)
		}
	}
}

func (m *merge) step(s source) {
	if m.backward {
		s.Prev()
	} else {
		s.Next()
	}
}

// settle finds the nearest row among the sources, past tombstones.
func (m *merge) settle() bool {
	for {
		m.at = -1
		for i, s := range m.sources {
			if !s.Valid() {
				if err := s.Err(); err != nil {
					m.at, m.err = -1, err
					return false
				}
				continue
			}
			if m.at < 0 {
				m.at = i
				continue
			}
			order := bytes.Compare(s.Key(), m.sources[m.at].Key())
			if m.backward {
				order = -order
			}
			if order < 0 {
				m.at = i
			}
		}
		if m.at < 0 {
			return false
		}
		m.key = append(m.key[:0], m.sources[m.at].Key()...)
		if m.tombstones || !m.sources[m.at].deleted() {
			return true
		}
		m.leave()
	}
}

func (m *merge) row() (value []byte, kind byte) { return m.sources[m.at].row() }

func (m *merge) close() error {
	var err error
	for _, s := range m.sources {
		if e := s.Close(); err == nil {
			err = e
		}
	}
	m.sources, m.at = nil, -1
	return err
}

// rows returns the ground's sources of a table.
func (g *ground) rows(t store.Table, withBase bool) ([]source, error) {
	var sources []source
	fail := func(err error) ([]source, error) {
		for _, s := range sources {
			s.Close() //nolint:errcheck // the first error counts
		}
		return nil, err
	}
	for _, l := range g.layers {
		if t > l.tables {
			continue
		}
		c, err := l.view.Cursor(t)
		if err != nil {
			return fail(err)
		}
		sources = append(sources, source{c, true})
	}
	if !withBase {
		return sources, nil
	}
	c, err := g.base.table(t)
	if err != nil {
		return fail(err)
	}
	return append(sources, source{c, false}), nil
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
