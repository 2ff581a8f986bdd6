package lsm

import (
	"bytes"
	"errors"

	"tarn/store"
)

// cursor implements store.Cursor over a merge of layers.
type cursor struct {
	merge  merge
	closed bool

	// Of the writer's cursor: where its sources come from, and the number of
	// the change after which they were placed.
	engine *Engine
	table  store.Table
	live   *overlay
	tables store.Table // of live; its cursors do not survive a new one
	ground *ground
	change uint64
}

// Cursor implements store.Engine.
func (e *Engine) Cursor(t store.Table) (store.Cursor, error) {
	c := &cursor{engine: e, table: t}
	c.merge.at = -1
	if err := c.open(); err != nil {
		return nil, err
	}
	return c, nil
}

// open takes sources from the writer's present layers.
func (c *cursor) open() error {
	e := c.engine
	live, g := e.live.Load(), e.ground.Load()
	top, err := live.rows.Cursor(c.table)
	if err != nil {
		return err
	}
	below, err := g.rows(c.table, true)
	if err != nil {
		return errors.Join(err, top.Close())
	}
	live.hold()
	g.hold()
	c.live, c.tables, c.ground, c.change = live, live.tables, g, e.change
	c.merge.sources = append([]source{{top, true}}, below...)
	return nil
}

// release lets the sources and their layers go.
func (c *cursor) release() error {
	if c.live == nil {
		return c.merge.close()
	}
	at := c.merge.at
	err := c.merge.close()
	c.merge.at = at
	c.live.drop()
	c.ground.drop()
	c.live, c.ground = nil, nil
	return err
}

// refresh makes the sources fit for an absolute move.
func (c *cursor) refresh() bool {
	if c.engine == nil || c.change == c.engine.change {
		return true
	}
	c.change = c.engine.change
	if c.live == c.engine.live.Load() && c.tables == c.live.tables && c.ground == c.engine.ground.Load() {
		return true
	}
	err := c.release()
	if err == nil {
		err = c.open()
	}
	if err != nil {
		c.merge.at, c.merge.err = -1, err
		return false
	}
	return true
}

func (c *cursor) First() bool            { return c.refresh() && c.merge.first() }
func (c *cursor) Last() bool             { return c.refresh() && c.merge.last() }
func (c *cursor) Seek(key []byte) bool   { return c.refresh() && c.merge.seek(key) }
func (c *cursor) SeekLT(key []byte) bool { return c.refresh() && c.merge.seekLT(key) }

// Next after a change goes on from the key, whether or not its row is there.
func (c *cursor) Next() bool {
	if c.merge.at < 0 || !c.stale() {
		return c.merge.next()
	}
	key := bytes.Clone(c.merge.key)
	if !c.Seek(key) || !bytes.Equal(c.merge.key, key) {
		return c.Valid()
	}
	return c.merge.next()
}

func (c *cursor) Prev() bool {
	if c.merge.at < 0 || !c.stale() {
		return c.merge.prev()
	}
	return c.SeekLT(bytes.Clone(c.merge.key))
}

func (c *cursor) stale() bool { return c.engine != nil && c.change != c.engine.change }

func (c *cursor) Valid() bool { return c.merge.at >= 0 }

func (c *cursor) Key() []byte {
	if c.merge.at < 0 {
		return nil
	}
	return c.merge.key
}

func (c *cursor) Value() []byte {
	if c.merge.at < 0 {
		return nil
	}
	v, _ := c.merge.row()
	return v
}

func (c *cursor) Err() error { return c.merge.err }

func (c *cursor) Close() error {
	if c.closed {
		return nil
	}
	c.closed = true
	err := c.release()
	c.merge.at = -1
	return err
}
