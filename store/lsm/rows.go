package lsm

import (
	"errors"
	"fmt"

	"tarn/store"
	"tarn/store/mergecursor"
)

// Get implements store.Engine. The value is valid until the writer's next change.
func (e *Engine) Get(t store.Table, key []byte) ([]byte, error) {
	e.counters.gets.Add(1)
	e.loans.lent = true
	return e.lookup(t, key)
}

// lookup goes down the layers. What it finds in the base is lent from the arena.
func (e *Engine) lookup(t store.Table, key []byte) ([]byte, error) {
	v, kind, err := find(e.live.Load().rows, t, key)
	g := e.ground.Load()
	if errors.Is(err, store.ErrNotFound) {
		v, kind, err = g.find(t, key)
	}
	switch {
	case err == nil && kind == mergecursor.Present:
		return v, nil
	case err == nil:
		return nil, store.ErrNotFound
	case !errors.Is(err, store.ErrNotFound):
		return nil, fmt.Errorf("read the overlay: %w", err)
	}
	e.key = appendKey(e.key[:0], t, key)
	b, err := e.fromBase(e.loans.room(), e.key, g.base)
	if err != nil {
		return nil, err
	}
	return e.loans.lend(b), nil
}

// fromBase appends the value at a base key to dst, through the row cache.
func (e *Engine) fromBase(dst, key []byte, s *snapshot) ([]byte, error) {
	v, exists, known := e.cache.get(dst, key, s.sequence)
	switch {
	case known && exists:
		return v, nil
	case known:
		return nil, store.ErrNotFound
	}
	v, err := s.Get(dst, key)
	switch {
	case err == nil:
		e.cache.put(key, v[len(dst):], true, s.sequence)
	case errors.Is(err, store.ErrNotFound):
		e.cache.put(key, nil, false, s.sequence)
		return nil, store.ErrNotFound
	default:
		return nil, fmt.Errorf("read %s: %w", e.folder.path, err)
	}
	return v, nil
}

// Put implements store.Engine.
func (e *Engine) Put(t store.Table, key, value []byte, undo *store.Journal) error {
	if err := e.set(t, key, value, mergecursor.Present, undo); err != nil {
		return err
	}
	e.counters.puts.Add(1)
	return nil
}

// Delete implements store.Engine.
func (e *Engine) Delete(t store.Table, key []byte, undo *store.Journal) error {
	if err := e.set(t, key, nil, mergecursor.Tombstone, undo); err != nil {
		return err
	}
	e.counters.deletes.Add(1)
	return nil
}

// Restore implements store.Engine. Nothing that is irreversible changes with it.
func (e *Engine) Restore(t store.Table, key, old []byte, existed bool) error {
	kind := byte(mergecursor.Tombstone)
	if existed {
		kind = mergecursor.Present
	}
	if err := e.live.Load().restore(t, key, old, kind); err != nil {
		return err
	}
	e.endBorrowing()
	return nil
}

// set changes a row in the live overlay. Layers and the arena are let go only at
// its end, because key and value may lie in them.
func (e *Engine) set(t store.Table, key, value []byte, kind byte, undo *store.Journal) error {
	if e.folder.ReadOnly() {
		return store.ErrReadOnly
	}
	var mark int
	if undo != nil || kind == mergecursor.Tombstone {
		old, err := e.lookup(t, key)
		missing := errors.Is(err, store.ErrNotFound)
		if err != nil && (!missing || kind == mergecursor.Tombstone) {
			return err
		}
		if undo != nil {
			mark = undo.Len()
			undo.Record(t, key, old, !missing)
		}
	}
	if err := e.live.Load().set(t, key, value, kind); err != nil {
		if undo != nil {
			undo.Truncate(mark, 1<<62)
		}
		var full *store.FullError
		if errors.As(err, &full) {
			full.Path = e.folder.dir
		}
		return err
	}
	e.bare = e.bare || undo == nil
	e.endBorrowing()
	return nil
}

// endBorrowing ends what the writer has borrowed and takes a flush's result in.
func (e *Engine) endBorrowing() {
	e.adopt()
	e.loans.end()
}

// adopt puts the writer on the ground that a flush has made.
func (e *Engine) adopt() {
	if g := e.next.Swap(nil); g != nil {
		e.loans.retire(&e.ground.Swap(g).counted)
	}
}
