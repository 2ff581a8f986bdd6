package lsm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"tarn/store"
	"tarn/store/mergecursor"
)

// flush is a checkpoint under way, or done.
type flush struct {
	done chan struct{}
	err  error // once done is closed

	image  store.Image
	from   *ground // all that is above the base and has to go down, over the base
	tables []store.TableInfo
	engine *Engine

	started time.Time
	pause   time.Duration
	rows    int64
	bytes   int64
}

func (f *flush) Wait() error           { <-f.done; return f.err }
func (f *flush) Done() <-chan struct{} { return f.done }

// Checkpoint implements store.Engine: it makes the irreversible revision
// durable. The writer stands still for as long as it takes to change overlays.
func (e *Engine) Checkpoint(im store.Image) (store.Checkpoint, error) {
	if e.folder.ReadOnly() {
		return nil, store.ErrReadOnly
	}
	retry := false
	if e.flushing != nil {
		retry = e.flushing.Wait() != nil
	}
	f := &flush{done: make(chan struct{}), engine: e, image: im, started: time.Now()}
	e.adopt()
	if !retry && !e.bare && im.Irreversible == e.Durable().Irreversible {
		// Nothing that can no longer be undone has changed.
		close(f.done)
		return f, nil
	}
	if err := e.rotate(f); err != nil {
		return nil, err
	}
	e.flushing = f
	f.pause = time.Since(f.started)
	go e.run(f)
	return f, nil
}

// rotate freezes the live overlay and gives the writer an empty one.
func (e *Engine) rotate(f *flush) error {
	live, g := e.live.Load(), e.ground.Load()
	top, err := live.freeze(f.image.Head)
	if err != nil {
		return err
	}
	// What can be undone comes back into the new overlay.
	fresh, err := e.newOverlay(e.overlayLimit(), top.bytes+g.bytes(), len(*e.tables.Load()))
	if err != nil {
		top.drop()
		return err
	}
	g.base.hold()
	layers := []*layer{top}
	for _, l := range g.layers {
		l.hold()
		layers = append(layers, l)
	}
	frozen := newGround(g.base, layers...)
	frozen.hold() // the flush's
	f.from, f.tables = frozen, *e.tables.Load()
	e.ground.Store(frozen)
	e.live.Store(fresh)
	e.loans.retire(&g.counted)
	e.loans.retire(&live.counted)
	e.bare = false
	return nil
}

// run flushes, and hands the writer a new ground.
func (e *Engine) run(f *flush) {
	defer close(f.done)
	defer f.from.drop()
	before := e.writtenBytes()
	g, err := e.flush(f)
	if err != nil {
		f.err = fmt.Errorf("flush revision %d of %s: %w", f.image.Irreversible, e.folder.dir, err)
		e.counters.checkpointsFailed.Add(1)
		if g, err := f.join(e.overlayLimit()); err == nil && g != nil {
			e.next.Store(g)
		}
		return
	}
	e.next.Store(g)
	e.counters.checkpoints.Add(1)
	now := time.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.durable = store.Durable{Head: f.image.Irreversible, Irreversible: f.image.Irreversible}
	e.last = store.CheckpointStats{
		At: now, Duration: now.Sub(f.started), Pause: f.pause, Pages: f.rows,
		Bytes: e.writtenBytes() - before, Returned: max(f.from.bytes()-g.bytes(), 0), Image: e.durable,
	}
}

// flush writes the irreversible revision into the base and returns what then
// lies under the writer: the rows that could be undone, over the new base.
func (e *Engine) flush(f *flush) (*ground, error) {
	undone, err := f.gatherUndone()
	if err != nil {
		return nil, err
	}
	if undone != nil {
		defer undone.drop()
	}
	if e.opts.BeforeCheckpoint != nil {
		if err := e.opts.BeforeCheckpoint(f.image.Irreversible); err != nil {
			return nil, fmt.Errorf("before the flush: %w", err)
		}
	}
	e.sequence++
	h := head{sequence: e.sequence, revision: f.image.Irreversible}
	if err := e.write(f, h, undone); err != nil {
		return nil, err
	}
	if err := e.seal(h); err != nil {
		return nil, err
	}
	e.named = len(f.tables)
	base, err := e.base.snapshot(h.sequence)
	if err != nil {
		return nil, err
	}
	e.cache.advance(h.sequence)
	residue, err := f.residue(undone, e.overlayLimit())
	if err == nil {
		err = f.finals(undone, func(key, value []byte, kind byte) error {
			e.cache.replace(key, value, kind == mergecursor.Present)
			return nil
		})
	}
	if err != nil {
		base.drop()
		if residue != nil {
			residue.drop()
		}
		return nil, err
	}
	e.unsure = false
	if residue == nil {
		return newGround(base), nil
	}
	return newGround(base, residue), nil
}

// gatherUndone gathers, for each row that can be undone, what it was at the
// irreversible revision: the old value of its oldest undo record.
func (f *flush) gatherUndone() (*overlay, error) {
	size := int64(0)
	for _, journal := range f.image.Undo {
		size += int64(len(journal))
	}
	if size == 0 {
		return nil, nil
	}
	o, err := f.engine.newOverlay(8*size, 0, len(f.tables))
	if err != nil {
		return nil, err
	}
	for _, journal := range f.image.Undo {
		err := store.Changed(journal, func(t store.Table, key, old []byte, existed bool) error {
			_, _, err := find(o.rows, t, key)
			if !errors.Is(err, store.ErrNotFound) {
				return err // nil: an older record counts
			}
			kind := byte(mergecursor.Tombstone)
			if existed {
				kind = mergecursor.Present
			}
			return o.restore(t, key, old, kind)
		})
		if err != nil {
			o.drop()
			return nil, fmt.Errorf("gather what can be undone: %w", err)
		}
	}
	return o, nil
}

// finals calls fn, in the order of base keys, for each row of the frozen layers
// with what it was at the irreversible revision.
func (f *flush) finals(undone *overlay, fn func(key, value []byte, kind byte) error) error {
	var full []byte
	for t := store.Table(1); int(t) <= len(f.tables); t++ {
		err := f.walk(t, func(key, value []byte, kind byte) error {
			if undone != nil {
				switch v, k, err := find(undone.rows, t, key); {
				case err == nil:
					value, kind = v, k
				case !errors.Is(err, store.ErrNotFound):
					return err
				}
			}
			full = appendKey(full[:0], t, key)
			return fn(full, value, kind)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// walk calls fn for each row of a table in the frozen layers, tombstones
// included.
func (f *flush) walk(t store.Table, fn func(key, value []byte, kind byte) error) (err error) {
	layers, err := f.from.rows(t, false)
	if err != nil {
		return err
	}
	m := mergecursor.New(layers, true)
	defer func() { err = errors.Join(err, m.Close()) }()
	for ok := m.First(); ok; ok = m.Next() {
		value, kind := m.Row()
		if err := fn(m.Key(), value, kind); err != nil {
			return err
		}
	}
	return m.Err()
}

// write puts the flush into the base as one batch.
func (e *Engine) write(f *flush, h head, undone *overlay) (err error) {
	b, err := e.base.Batch(f.from.bytes())
	if err != nil {
		return err
	}
	open := true
	defer func() {
		if open {
			b.Discard()
		}
	}()
	if err := errors.Join(b.Put(formatKey, formatRow()), b.Put(headKey, h.encode())); err != nil {
		return err
	}
	for _, t := range f.tables[e.named:] {
		if err := b.Put(nameKey(t.ID), []byte(t.Name)); err != nil {
			return err
		}
	}
	var scratch []byte
	err = f.finals(undone, func(key, value []byte, kind byte) error {
		if kind == mergecursor.Present {
			f.rows++
			f.bytes += int64(len(key) + len(value))
			return b.Put(key, value)
		}
		if !e.unsure {
			// A row that came and went since the last flush leaves no trace.
			scratch, err = e.fromBase(scratch[:0], key, f.from.base)
			if errors.Is(err, store.ErrNotFound) {
				return nil
			}
			if err != nil {
				return err
			}
		}
		f.rows++
		f.bytes += int64(len(key))
		return b.Delete(key)
	})
	if err != nil {
		return err
	}
	// Whatever comes of the commit, its rows may be there from now on, and the
	// snapshot that the frozen layers lie on does not show them.
	open, e.unsure = false, true
	return b.Commit()
}

// residue gathers what the frozen layers say of the rows that can be undone: the
// new base has only what they were before. It is nil if there are none.
func (f *flush) residue(undone *overlay, limit int64) (*layer, error) {
	if undone == nil {
		return nil, nil
	}
	return f.gather(limit, func(to *overlay, t store.Table) error {
		c, err := undone.rows.Cursor(t)
		if err != nil {
			return err
		}
		defer c.Close() //nolint:errcheck // memory only
		for ok := c.First(); ok; ok = c.Next() {
			value, kind, err := f.from.find(t, c.Key())
			if err != nil {
				return fmt.Errorf("a row of table %d that can be undone is in no layer: %w", t, err)
			}
			if err := to.restore(t, c.Key(), value, kind); err != nil {
				return err
			}
		}
		return c.Err()
	})
}

// join makes one layer of the frozen ones, after a flush that failed, so that
// their number stays small. It returns nil if there is only one.
func (f *flush) join(limit int64) (*ground, error) {
	if len(f.from.layers) < 2 {
		return nil, nil
	}
	l, err := f.gather(limit, func(to *overlay, t store.Table) error {
		return f.walk(t, func(key, value []byte, kind byte) error {
			return to.restore(t, key, value, kind)
		})
	})
	if err != nil {
		return nil, err
	}
	f.from.base.hold()
	return newGround(f.from.base, l), nil
}

// gather makes a layer of what fill puts into an overlay, table by table.
func (f *flush) gather(limit int64, fill func(to *overlay, t store.Table) error) (*layer, error) {
	to, err := f.engine.newOverlay(limit, f.from.bytes(), len(f.tables))
	if err != nil {
		return nil, err
	}
	defer to.drop() // the layer holds it
	for t := store.Table(1); int(t) <= len(f.tables); t++ {
		if err := fill(to, t); err != nil {
			return nil, err
		}
	}
	return to.freeze(f.image.Head)
}

// seal makes it known that the base holds h.
func (e *Engine) seal(h head) error {
	if err := e.folder.seal(h); err != nil {
		return err
	}
	e.counters.sealed.Add(sealSize)
	return nil
}

func formatRow() []byte { return binary.LittleEndian.AppendUint32(nil, formatVersion) }
