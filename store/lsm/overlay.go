package lsm

import (
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"

	"tarn/store"
	"tarn/store/mergecursor"
	"tarn/store/page"
)

// counted frees what it counts when the last holder lets go.
type counted struct {
	holders atomic.Int64
	free    func()
}

// hold reports whether there was still something to hold.
func (c *counted) hold() bool {
	for {
		n := c.holders.Load()
		if n == 0 {
			return false
		}
		if c.holders.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (c *counted) drop() {
	if c.holders.Add(-1) == 0 {
		c.free()
	}
}

// overlay is an ordered set of changed rows outside the Go heap. A row that was
// deleted stays as a tombstone. It is the writer's, or one flush's, and counted
// because frozen states of it are read by others.
type overlay struct {
	counted
	rows   *page.Engine
	tables store.Table
	limit  int64 // of used for a change that can be undone

	buf    []byte
	put    int64 // at most so much was added since used was read
	lately int64 // used, as last read
}

// undoRoom is how many bytes of journals an undo can at least bring back into an
// overlay, beside what was in layers: old values of rows that only the base has. They
// lie in memory before that too, in the journals. Addresses cost next to nothing, so
// there are more of them than a machine has memory for journals.
const undoRoom = 32 << 30

// newOverlay makes an overlay whose rows may take limit bytes; what is restored in
// it may take that, room and undoRoom, several times over.
func newOverlay(limit, room int64, tables int) (*overlay, error) {
	const smallest, working = 1 << 20, 4 << 20 // what rows keep for the change at hand
	limit = max(limit, smallest)
	rows, err := page.OpenVolatile(limit + room + undoRoom + working)
	if err != nil {
		return nil, fmt.Errorf("make an overlay: %w", err)
	}
	o := &overlay{rows: rows, limit: limit}
	o.holders.Store(1)
	o.free = func() { rows.Close() } //nolint:errcheck // there is no file
	if err := o.grow(store.Table(tables)); err != nil {
		o.drop()
		return nil, err
	}
	return o, nil
}

// newOverlay is newOverlay if there is memory.
func (e *Engine) newOverlay(limit, room int64, tables int) (*overlay, error) {
	if e.opts.BeforeOverlay != nil {
		if err := e.opts.BeforeOverlay(); err != nil {
			return nil, fmt.Errorf("make an overlay: %w", err)
		}
	}
	return newOverlay(limit, room, tables)
}

// grow makes tables up to t known.
func (o *overlay) grow(t store.Table) error {
	for o.tables < t {
		made, err := o.rows.CreateTable(strconv.Itoa(int(o.tables) + 1))
		if err != nil {
			return fmt.Errorf("make table %d of an overlay: %w", o.tables+1, err)
		}
		o.tables = made
	}
	return nil
}

// set puts a row or its tombstone, up to the limit. Nothing has changed when it
// fails.
func (o *overlay) set(t store.Table, key, value []byte, kind byte) error {
	size := int64(len(key) + len(value))
	if err := o.fits(size); err != nil {
		return err
	}
	err := o.rows.Put(t, key, o.row(value, kind), nil)
	if err == nil {
		o.put += size + changeBytes
	}
	return err
}

// restore is set without the limit.
func (o *overlay) restore(t store.Table, key, value []byte, kind byte) error {
	o.put += int64(len(key)+len(value)) + changeBytes
	return o.rows.Restore(t, key, o.row(value, kind), true)
}

// row is how a row lies in the overlay, until the next call.
func (o *overlay) row(value []byte, kind byte) []byte {
	if cap(o.buf) > 1<<20 {
		o.buf = nil
	}
	o.buf = append(append(o.buf[:0], kind), value...)
	return o.buf
}

// changeBytes is more than what a change takes beside the row, on average.
const changeBytes = 8 << 10

func (o *overlay) fits(size int64) error {
	if o.lately+o.put+size <= o.limit {
		return nil
	}
	if used := o.usedBytes(); used+size > o.limit {
		return &store.FullError{Of: store.RoomInMemory, Need: size, Free: max(o.limit-used, 0), Limit: o.limit}
	}
	return nil
}

// usedBytes is the memory that its rows take, in bytes.
func (o *overlay) usedBytes() int64 {
	o.rows.Pressure() // reads the gauges
	o.put, o.lately = 0, o.rows.Stats().Used
	return o.lately
}

// find reads an overlay's row. Without one the error is store.ErrNotFound.
func find(r store.Reader, t store.Table, key []byte) (value []byte, kind byte, err error) {
	row, err := r.Get(t, key)
	if err != nil {
		return nil, mergecursor.Tombstone, err
	}
	return row[1:], row[0], nil
}

// layer is a state of an overlay that never changes, counted.
type layer struct {
	counted
	view   store.View
	tables store.Table
	bytes  int64 // used
}

// freeze returns the overlay's present state. The overlay lives on at least as
// long.
func (o *overlay) freeze(revision uint64) (*layer, error) {
	if err := o.rows.Publish(revision); err != nil {
		return nil, fmt.Errorf("freeze an overlay: %w", err)
	}
	v, err := o.rows.View()
	if err != nil {
		return nil, fmt.Errorf("freeze an overlay: %w", err)
	}
	o.hold()
	l := &layer{view: v, tables: o.tables, bytes: o.rows.Stats().Used}
	l.holders.Store(1)
	l.free = func() {
		v.Close() //nolint:errcheck // memory only
		o.drop()
	}
	return l, nil
}

// find is find of overlays for a layer that may be older than the table.
func (l *layer) find(t store.Table, key []byte) (value []byte, kind byte, err error) {
	if t > l.tables {
		return nil, mergecursor.Tombstone, store.ErrNotFound
	}
	return find(l.view, t, key)
}

// ground is what lies under the writer's live overlay or under a view's copy of
// it: frozen layers, newest first, over a snapshot of the base. It never changes,
// and it is counted.
type ground struct {
	counted
	layers []*layer
	base   *snapshot
}

// newGround takes over the given references.
func newGround(base *snapshot, layers ...*layer) *ground {
	g := &ground{layers: layers, base: base}
	g.holders.Store(1)
	g.free = func() {
		for _, l := range g.layers {
			l.drop()
		}
		g.base.drop()
	}
	return g
}

// bytes is the memory of the frozen layers.
func (g *ground) bytes() int64 {
	n := int64(0)
	for _, l := range g.layers {
		n += l.bytes
	}
	return n
}

// find looks through the frozen layers.
func (g *ground) find(t store.Table, key []byte) (value []byte, kind byte, err error) {
	for _, l := range g.layers {
		value, kind, err = l.find(t, key)
		if !errors.Is(err, store.ErrNotFound) {
			return value, kind, err
		}
	}
	return nil, mergecursor.Tombstone, store.ErrNotFound
}

// handle is the library, closed when the engine and all its snapshots are done
// with it.
type handle struct {
	counted
	Base
	err error // of closing
}

func newHandle(b Base) *handle {
	h := &handle{Base: b}
	h.holders.Store(1)
	return h
}

// snapshot is a snapshot of the base, counted. sequence tells which flush made it.
type snapshot struct {
	counted
	Snapshot
	sequence uint64
}

func (h *handle) snapshot(sequence uint64) (*snapshot, error) {
	s, err := h.Snapshot()
	if err != nil {
		return nil, fmt.Errorf("take a snapshot of the base: %w", err)
	}
	h.hold()
	c := &snapshot{Snapshot: s, sequence: sequence}
	c.holders.Store(1)
	c.free = func() {
		s.Close() //nolint:errcheck // reading has no state to lose
		h.drop()
	}
	return c, nil
}
