package lsm

import (
	"errors"

	"tarn/store"
)

// cursor implements store.Cursor over a merge of layers. The writer's is good for
// absolute moves after a change; store/revision sees to it that no other comes.
type cursor struct {
	merge  merge
	closed bool

	// Of the writer's cursor: where its sources come from.
	engine *Engine
	table  store.Table
	live   *overlay
	ground *ground
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
	c.live, c.ground = live, g
	c.merge.sources = append([]source{{top, true}}, below...)
	return nil
}

// release lets the sources and their layers go.
func (c *cursor) release() error {
	err := c.merge.close()
	if c.live != nil {
		c.live.drop()
		c.ground.drop()
		c.live, c.ground = nil, nil
	}
	return err
}

// refresh makes the sources fit for an absolute move.
func (c *cursor) refresh() bool {
	if c.engine == nil || c.live == c.engine.live.Load() && c.ground == c.engine.ground.Load() {
		return true
	}
	err := c.release()
	if err == nil {
		err = c.open()
	}
	c.merge.err = err
	return err == nil
}

func (c *cursor) First() bool            { return c.refresh() && c.merge.first() }
func (c *cursor) Last() bool             { return c.refresh() && c.merge.last() }
func (c *cursor) Seek(key []byte) bool   { return c.refresh() && c.merge.seek(key) }
func (c *cursor) SeekLT(key []byte) bool { return c.refresh() && c.merge.seekLT(key) }

func (c *cursor) Next() bool { return c.merge.next() }
func (c *cursor) Prev() bool { return c.merge.prev() }

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
	return c.release()
}
