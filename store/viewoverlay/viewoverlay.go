// Package viewoverlay is a store above a view: its changes lie in memory and are never
// seen by anybody else. It is for work that is going to be taken back, beside the
// writer of the store below and at the same time.
//
// It owns the rows that were changed. It never writes to the store below, to a file,
// or past its memory, and starts no goroutine.
package viewoverlay

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"tarn/store"
	"tarn/store/mergecursor"
	"tarn/store/page"
	"tarn/store/revision"
)

// Sandbox is memory for the changes of one store at a time, used again for the next.
// One goroutine at a time may use it, and the store that stands on it.
type Sandbox struct {
	rows   *page.Engine // changed rows and tombstones, marked as package mergecursor says
	tables store.Table
	limit  int64
	buf    []byte
	used   bool // rows may be left from the store before
}

// New makes an overlay that holds changes of about limit bytes, and as much again of
// what it takes to undo them; more are refused with store.FullError.
func New(limit int64) (*Sandbox, error) {
	rows, err := page.OpenVolatile(limit)
	if err != nil {
		return nil, fmt.Errorf("make an overlay: %w", err)
	}
	return &Sandbox{rows: rows, limit: limit}, nil
}

// Close frees the memory.
func (b *Sandbox) Close() error { return b.rows.Close() }

// clear makes the overlay empty.
func (b *Sandbox) clear() error {
	for t := range b.tables {
		if err := b.clearTable(t + 1); err != nil {
			return fmt.Errorf("clear an overlay: %w", err)
		}
	}
	b.used = false
	return nil
}

func (b *Sandbox) clearTable(t store.Table) error {
	c, err := b.rows.Cursor(t)
	if err != nil {
		return err
	}
	for c.First() {
		// Taking back has room where a full overlay has none for a change.
		if err := b.rows.Restore(t, bytes.Clone(c.Key()), nil, false); err != nil {
			return errors.Join(err, c.Close())
		}
	}
	return errors.Join(c.Err(), c.Close())
}

// Open makes a store whose state is the view's, until it is closed; the view stays
// the caller's, who closes it afterwards. There is one store on an overlay at a time. Its
// revisions can be finished and undone; views of it, checkpoints and new tables are
// refused with store.ErrReadOnly.
func (b *Sandbox) Open(v store.View) (store.Store, error) {
	if b.used {
		if err := b.clear(); err != nil {
			return nil, err
		}
	}
	e := &engine{box: b, view: v, tables: v.Tables()}
	for b.tables < store.Table(len(e.tables)) {
		made, err := b.rows.CreateTable(strconv.Itoa(int(b.tables) + 1))
		if err != nil {
			return nil, fmt.Errorf("make a table of an overlay: %w", err)
		}
		b.tables = made
	}
	return revision.Open(e)
}

// engine implements store.Engine.
type engine struct {
	box    *Sandbox
	view   store.View
	tables []store.TableInfo
}

func (e *engine) Get(t store.Table, key []byte) ([]byte, error) {
	row, err := e.box.rows.Get(t, key)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return e.view.Get(t, key)
	case err != nil:
		return nil, fmt.Errorf("read an overlay: %w", err)
	case row[0] == mergecursor.Tombstone:
		return nil, store.ErrNotFound
	}
	return row[1:], nil
}

func (e *engine) Cursor(t store.Table) (store.Cursor, error) {
	below, err := e.view.Cursor(t)
	if err != nil {
		return nil, err
	}
	top, err := e.box.rows.Cursor(t)
	if err != nil {
		return nil, errors.Join(err, below.Close())
	}
	return mergecursor.New([]mergecursor.Layer{{Cursor: top, Marked: true}, {Cursor: below}}, false), nil
}

func (e *engine) Put(t store.Table, key, value []byte, undo *store.Journal) error {
	return e.set(t, key, value, mergecursor.Present, undo)
}

func (e *engine) Delete(t store.Table, key []byte, undo *store.Journal) error {
	return e.set(t, key, nil, mergecursor.Tombstone, undo)
}

func (e *engine) set(t store.Table, key, value []byte, mark byte, undo *store.Journal) error {
	old, err := e.Get(t, key)
	missing := errors.Is(err, store.ErrNotFound)
	if err != nil && (!missing || mark == mergecursor.Tombstone) {
		return err
	}
	at := 0
	if undo != nil {
		if at = undo.Len(); int64(at+len(key)+len(old)) > e.box.limit {
			return &store.FullError{Path: "overlay", Of: store.RoomInMemory, Need: int64(len(key) + len(old)),
				Free: max(e.box.limit-int64(at), 0), Limit: e.box.limit}
		}
		undo.Record(t, key, old, !missing)
	}
	err = e.box.rows.Put(t, key, e.box.row(value, mark), nil)
	if err != nil {
		if undo != nil {
			undo.Truncate(at, 1<<62)
		}
		return err
	}
	e.box.used = true
	return nil
}

// row is how a row lies in the overlay, until the next call.
func (b *Sandbox) row(value []byte, mark byte) []byte {
	if cap(b.buf) > 1<<20 {
		b.buf = nil
	}
	b.buf = append(append(b.buf[:0], mark), value...)
	return b.buf
}

// Restore implements store.Engine. A row that is again what the view shows leaves the
// overlay, so that work which is undone takes no room.
func (e *engine) Restore(t store.Table, key, old []byte, existed bool) error {
	below, err := e.view.Get(t, key)
	if existed && err == nil && bytes.Equal(below, old) || !existed && errors.Is(err, store.ErrNotFound) {
		return e.box.rows.Restore(t, key, nil, false)
	}
	mark := byte(mergecursor.Tombstone)
	if existed {
		mark = mergecursor.Present
	}
	e.box.used = true
	return e.box.rows.Restore(t, key, e.box.row(old, mark), true)
}

func (e *engine) CreateTable(string) (store.Table, error) { return 0, store.ErrReadOnly }
func (e *engine) Tables() []store.TableInfo               { return e.tables }
func (e *engine) Publish(uint64) error                    { return nil }
func (e *engine) View() (store.View, error)               { return nil, store.ErrReadOnly }

func (e *engine) Checkpoint(store.Image) (store.Checkpoint, error) { return nil, store.ErrReadOnly }

func (e *engine) Durable() store.Durable {
	return store.Durable{Head: e.view.Revision(), Irreversible: e.view.Revision()}
}

func (e *engine) Recovered() store.Image {
	return store.Image{Head: e.view.Revision(), Irreversible: e.view.Revision()}
}

func (e *engine) Pressure() (checkpoint, guard bool) { return false, false }
func (e *engine) Stats() store.Stats                 { return e.box.rows.Stats() }
func (e *engine) Verify(func(error)) error           { return nil }
func (e *engine) Close() error                       { return nil }
