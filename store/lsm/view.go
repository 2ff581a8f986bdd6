package lsm

import (
	"errors"
	"fmt"
	"sync/atomic"

	"tarn/store"
	"tarn/store/mergecursor"
)

// capture is what a published revision consists of: the live overlay as it was,
// and the ground of that moment.
type capture struct {
	counted
	top      *layer
	ground   *ground
	revision uint64
	tables   []store.TableInfo
}

// Publish implements store.Engine.
func (e *Engine) Publish(revision uint64) error {
	e.adopt()
	top, err := e.live.Load().freeze(revision)
	if err != nil {
		return err
	}
	g := e.ground.Load()
	g.hold()
	c := &capture{top: top, ground: g, revision: revision, tables: *e.tables.Load()}
	c.holders.Store(1)
	c.free = func() {
		c.top.drop()
		c.ground.drop()
	}
	if old := e.published.Swap(c); old != nil {
		old.drop()
	}
	return nil
}

// View implements store.Engine.
func (e *Engine) View() (store.View, error) {
	for {
		c := e.published.Load()
		if c == nil {
			return nil, store.ErrClosed
		}
		if !c.hold() {
			continue // replaced this moment
		}
		v := &view{engine: e, capture: c}
		e.mu.Lock()
		closed := e.closed.Load()
		if !closed {
			e.views[v] = struct{}{}
		}
		e.mu.Unlock()
		if closed {
			c.drop()
			return nil, store.ErrClosed
		}
		return v, nil
	}
}

// view implements store.View.
type view struct {
	engine  *Engine
	capture *capture
	done    atomic.Bool
}

func (v *view) Revision() uint64 { return v.capture.revision }

func (v *view) Tables() []store.TableInfo {
	return append([]store.TableInfo(nil), v.capture.tables...)
}

func (v *view) check(t store.Table) error {
	if v.done.Load() || v.engine.closed.Load() {
		return store.ErrClosed
	}
	if t == 0 || int(t) > len(v.capture.tables) {
		return store.ErrNoTable
	}
	return nil
}

// Get implements store.Reader.
func (v *view) Get(t store.Table, key []byte) ([]byte, error) {
	if err := v.check(t); err != nil {
		return nil, err
	}
	if len(key) == 0 || len(key) > store.MaxKey {
		return nil, store.ErrKeySize
	}
	v.engine.counters.gets.Add(1)
	value, kind, err := v.capture.top.find(t, key)
	if errors.Is(err, store.ErrNotFound) {
		value, kind, err = v.capture.ground.find(t, key)
	}
	switch {
	case err == nil && kind == mergecursor.Present:
		return value, nil
	case err == nil:
		return nil, store.ErrNotFound
	case !errors.Is(err, store.ErrNotFound):
		return nil, fmt.Errorf("read the overlay: %w", err)
	}
	full := appendKey(make([]byte, 0, tablePrefix+len(key)), t, key)
	return v.engine.fromBase(nil, full, v.capture.ground.base)
}

// Cursor implements store.Reader.
func (v *view) Cursor(t store.Table) (store.Cursor, error) {
	if err := v.check(t); err != nil {
		return nil, err
	}
	var layers []mergecursor.Layer
	if t <= v.capture.top.tables {
		top, err := v.capture.top.view.Cursor(t)
		if err != nil {
			return nil, err
		}
		layers = append(layers, mergecursor.Layer{Cursor: top, Marked: true})
	}
	below, err := v.capture.ground.rows(t, true)
	if err != nil {
		return nil, errors.Join(err, mergecursor.CloseAll(layers))
	}
	return mergecursor.New(append(layers, below...), false), nil
}

// Close implements store.View.
func (v *view) Close() error {
	if v.done.Swap(true) {
		return nil
	}
	v.engine.mu.Lock()
	delete(v.engine.views, v)
	v.engine.mu.Unlock()
	v.capture.drop()
	return nil
}
