package lsm

import (
	"errors"

	"tarn/store"
	"tarn/store/mergecursor"
)

// cursor is the writer's: a merge of layers that is good for absolute moves after a
// change. store/revision sees to it that no other comes.
type cursor struct {
	*mergecursor.Cursor
	closed bool

	// Where its layers come from.
	engine *Engine
	table  store.Table
	live   *overlay
	ground *ground
}

// Cursor implements store.Engine.
func (e *Engine) Cursor(t store.Table) (store.Cursor, error) {
	c := &cursor{Cursor: mergecursor.New(nil, false), engine: e, table: t}
	if err := c.open(); err != nil {
		return nil, err
	}
	return c, nil
}

// open takes layers from the writer's present layers.
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
	c.Reset(append([]mergecursor.Layer{{Cursor: top, Marked: true}}, below...))
	return nil
}

// release lets the layers go.
func (c *cursor) release() error {
	err := c.Cursor.Close()
	if c.live != nil {
		c.live.drop()
		c.ground.drop()
		c.live, c.ground = nil, nil
	}
	return err
}

// refresh makes the layers fit for an absolute move.
func (c *cursor) refresh() bool {
	if c.live == c.engine.live.Load() && c.ground == c.engine.ground.Load() {
		return true
	}
	err := c.release()
	if err == nil {
		err = c.open()
	}
	if err != nil {
		c.Fail(err)
	}
	return err == nil
}

func (c *cursor) First() bool            { return c.refresh() && c.Cursor.First() }
func (c *cursor) Last() bool             { return c.refresh() && c.Cursor.Last() }
func (c *cursor) Seek(key []byte) bool   { return c.refresh() && c.Cursor.Seek(key) }
func (c *cursor) SeekLT(key []byte) bool { return c.refresh() && c.Cursor.SeekLT(key) }

func (c *cursor) Close() error {
	if c.closed {
		return nil
	}
	c.closed = true
	return c.release()
}
