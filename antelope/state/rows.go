package state

import (
	"errors"
	"fmt"

	"tarn/antelope/serial"
	"tarn/store"
)

// codec says how the rows of one table look in the store. Rows that have an id are
// found in the order of ids through a second table, id -> key.
type codec[K comparable, V any] struct {
	name   string
	key    func(b []byte, k K) []byte // appends the key, in an order that sorts as nodeos' index does
	parse  func(b []byte) K           // the inverse of key
	encode func(b []byte, v *V) []byte
	decode func(r *serial.Reader, v *V)
	id     func(v *V) *uint64 // nil for rows without ids
	hash   func(seed uint64, k K) uint64
}

// table is a codec with the handles of its tables in one store.
type table[K comparable, V any] struct {
	codec[K, V]
	rows, ids store.Table
}

// scratch is what reading a row needs besides the row. One goroutine at a time uses it.
type scratch struct {
	key [64]byte
	r   serial.Reader
}

// get reads a row of any state; false if there is none.
func (t *table[K, V]) get(src store.Reader, s *scratch, k K, v *V) (bool, error) {
	value, err := src.Get(t.rows, t.key(s.key[:0], k))
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read a row of %s: %w", t.name, err)
	}
	return true, t.unpack(value, s, v)
}

func (t *table[K, V]) unpack(value []byte, s *scratch, v *V) error {
	s.r.Reset(value)
	t.decode(&s.r, v)
	if err := s.r.End(); err != nil {
		return fmt.Errorf("decode a row of %s: %w", t.name, err)
	}
	return nil
}

// Rows is a table of decoded rows as the writer sees it. It keeps rows in memory
// and holds changes back until the block is finished, so that a row that changes
// a thousand times in a block is written once. It takes part in the sessions of
// its State. Pointers that it hands out are good until the session ends, or the
// next one begins.
type Rows[K comparable, V any] struct {
	*table[K, V]
	s *State

	recent, older index[K, V] // two generations: what was not used in one is dropped
	last          *row[K, V]  // the row used last, in recent
	dirty         []*row[K, V]
	saved         []saved[K, V]
	written       []written[K, V]
	marks         []mark // where each open session starts in saved and written

	notes *notes[K, V] // nil if nobody asks for changes
}

type mark struct{ saved, written int }

// row is a cached row. exists is false for one that is known to be missing.
type row[K comparable, V any] struct {
	key    K
	hash   uint64
	value  V
	exists bool
	stored bool // the store has it, with this id:
	id     uint64
	dirty  bool   // it is in Rows.dirty
	level  uint64 // the session that has saved what it was before
}

// saved is what a row was before a session changed it.
type saved[K comparable, V any] struct {
	row    *row[K, V]
	value  V
	exists bool
}

// written is what was known of the store's row before a session wrote it.
type written[K comparable, V any] struct {
	row    *row[K, V]
	stored bool
	id     uint64
}

// DefaultCacheRows is how many rows of each table are kept decoded where [State.CacheRows] sets
// nothing. More than the accounts that are at work at a time bring nothing.
const DefaultCacheRows = 1 << 16

// CachedRowBytes is about what a row of each table takes, decoded, in both generations of its
// cache: some hundred bytes in each of ten tables.
const CachedRowBytes = 3 << 10

func (r *Rows[K, V]) find(k K) (*row[K, V], error) {
	if e := r.last; e != nil && e.key == k {
		return e, nil
	}
	hash := r.hash(r.s.seed, k)
	e := r.recent.get(k, hash)
	if e == nil {
		if e = r.older.get(k, hash); e == nil {
			e = &row[K, V]{key: k, hash: hash}
			found, err := r.get(r.s.store, &r.s.scratch, k, &e.value)
			if err != nil {
				return nil, err
			}
			e.exists, e.stored = found, found
			if found && r.id != nil {
				e.id = *r.id(&e.value)
			}
		}
		r.recent.put(e)
	}
	r.last = e
	return e, nil
}

// Get returns the row at k, nil if there is none. It must not be changed.
func (r *Rows[K, V]) Get(k K) (*V, error) {
	e, err := r.find(k)
	if err != nil || !e.exists {
		return nil, err
	}
	return &e.value, nil
}

// Edit returns the row at k, to be changed in place; slices in it are to be
// replaced, not changed. It fails if there is no such row.
func (r *Rows[K, V]) Edit(k K) (*V, error) {
	e, err := r.edit(k)
	if err != nil {
		return nil, err
	}
	if r.notes != nil {
		r.notes.noteChange(k, e.value)
	}
	r.save(e)
	return &e.value, nil
}

// EditUnnoted is Edit for a part of the row that is another object in nodeos: it is
// none of the changes of this table.
func (r *Rows[K, V]) EditUnnoted(k K) (*V, error) {
	e, err := r.edit(k)
	if err != nil {
		return nil, err
	}
	r.save(e)
	return &e.value, nil
}

func (r *Rows[K, V]) edit(k K) (*row[K, V], error) {
	e, err := r.find(k)
	if err == nil && !e.exists {
		err = fmt.Errorf("edit a row of %s that does not exist", r.name)
	}
	return e, err
}

// note notes a change of the row at k, which exists, that is not made here.
func (r *Rows[K, V]) note(k K) error {
	if !r.notes.unseen(k) {
		return nil
	}
	v, err := r.Get(k)
	if err == nil && v != nil {
		r.notes.noteChange(k, *v)
	}
	return err
}

// Create adds a row at k, which must not exist, and gives it the next id if rows
// of this table have ids.
func (r *Rows[K, V]) Create(k K, v V) (*V, error) {
	e, err := r.find(k)
	if err != nil {
		return nil, err
	}
	if e.exists {
		return nil, fmt.Errorf("create a row of %s that exists", r.name)
	}
	if r.id != nil {
		if *r.id(&v), err = r.s.nextID(r.rows); err != nil {
			return nil, err
		}
	}
	r.notes.noteCreation(k)
	r.save(e)
	e.value, e.exists = v, true
	return &e.value, nil
}

// Remove deletes the row at k, which must exist.
func (r *Rows[K, V]) Remove(k K) error {
	e, err := r.find(k)
	if err != nil {
		return err
	}
	if !e.exists {
		return fmt.Errorf("remove a row of %s that does not exist", r.name)
	}
	r.notes.noteRemoval(k, e.value)
	r.save(e)
	e.exists = false
	return nil
}

// save records what the row is, once in a session, and marks it dirty.
func (r *Rows[K, V]) save(e *row[K, V]) {
	if len(r.marks) > 0 && e.level != r.s.level {
		r.saved = append(r.saved, saved[K, V]{e, e.value, e.exists})
		e.level = r.s.level
	}
	r.mark(e)
}

func (r *Rows[K, V]) mark(e *row[K, V]) {
	if !e.dirty {
		e.dirty = true
		r.dirty = append(r.dirty, e)
	}
}

// Scan calls f with the rows from key from on, before key to, in the order of keys,
// until f returns false. f must not change this table.
func (r *Rows[K, V]) Scan(from, to K, f func(*V) (bool, error)) error {
	if err := r.flush(); err != nil {
		return err
	}
	c, err := r.s.store.Cursor(r.rows)
	if err != nil {
		return fmt.Errorf("scan %s: %w", r.name, err)
	}
	defer c.Close()
	end := string(r.key(nil, to))
	for ok := c.Seek(r.key(nil, from)); ok && string(c.Key()) < end; ok = c.Next() {
		v, err := r.Get(r.parse(c.Key()))
		if err != nil {
			return err
		}
		if more, err := f(v); err != nil || !more {
			return err
		}
	}
	return c.Err()
}

// cache is what State asks of every Rows.
type cache interface {
	begin()
	squash()
	undo()
	flush() error
	settle()
	forget()
	age()
}

func (r *Rows[K, V]) begin() { r.marks = append(r.marks, mark{len(r.saved), len(r.written)}) }

func (r *Rows[K, V]) squash() {
	r.marks = r.marks[:len(r.marks)-1]
	if len(r.marks) == 0 {
		clear(r.saved)
		clear(r.written)
		r.saved, r.written = r.saved[:0], r.written[:0]
	}
}

func (r *Rows[K, V]) undo() {
	m := r.marks[len(r.marks)-1]
	r.marks = r.marks[:len(r.marks)-1]
	for i := len(r.saved) - 1; i >= m.saved; i-- {
		c := &r.saved[i]
		c.row.value, c.row.exists, c.row.level = c.value, c.exists, 0
	}
	clear(r.saved[m.saved:])
	r.saved = r.saved[:m.saved]
	for i := len(r.written) - 1; i >= m.written; i-- {
		w := &r.written[i]
		w.row.stored, w.row.id = w.stored, w.id
		r.mark(w.row)
	}
	clear(r.written[m.written:])
	r.written = r.written[:m.written]
}

// flush writes the held back changes to the store.
func (r *Rows[K, V]) flush() error {
	var keyBuf [64]byte
	for _, e := range r.dirty {
		e.dirty = false
		if err := r.write(e, r.key(keyBuf[:0], e.key)); err != nil {
			return fmt.Errorf("write a row of %s: %w", r.name, err)
		}
	}
	clear(r.dirty)
	r.dirty = r.dirty[:0]
	return nil
}

func (r *Rows[K, V]) write(e *row[K, V], key []byte) error {
	st := r.s.store
	var id uint64
	if r.id != nil {
		id = *r.id(&e.value)
		if e.stored && (!e.exists || e.id != id) {
			if err := st.Delete(r.ids, idKey(e.id)); err != nil {
				return err
			}
		}
		if e.exists && (!e.stored || e.id != id) {
			if err := st.Put(r.ids, idKey(id), key); err != nil {
				return err
			}
		}
	}
	was := e.stored
	if len(r.marks) > 0 {
		r.written = append(r.written, written[K, V]{e, was, e.id})
	}
	e.stored, e.id = e.exists, id
	switch {
	case e.exists:
		r.s.buf = r.encode(r.s.buf[:0], &e.value)
		return st.Put(r.rows, key, r.s.buf)
	case was:
		return st.Delete(r.rows, key)
	}
	return nil
}

// settle ends the changes of a block that was undone: every row is again what the
// store has.
func (r *Rows[K, V]) settle() {
	for _, e := range r.dirty {
		e.dirty = false
	}
	clear(r.dirty)
	r.dirty = r.dirty[:0]
}

// forget drops everything cached: the store has changed beneath.
func (r *Rows[K, V]) forget() {
	r.last = nil
	r.recent.clear()
	r.older.clear()
	clear(r.dirty)
	clear(r.saved)
	clear(r.written)
	r.dirty, r.saved, r.written, r.marks = r.dirty[:0], r.saved[:0], r.written[:0], r.marks[:0]
}

// age starts a new generation when the present one is full. Nothing may be dirty.
func (r *Rows[K, V]) age() {
	if r.recent.used > r.s.generation {
		r.older, r.recent, r.last = r.recent, index[K, V]{}, nil
	}
}
