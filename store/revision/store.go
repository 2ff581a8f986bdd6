// Package revision is the machine that turns an engine into a store: sessions
// inside revisions, undo by key and value, and cursors that survive the writer's
// changes, written once for every engine. It owns the undo journals and the
// numbers of the head and the irreversible revision. It never touches a file and
// never starts a goroutine.
//
// Invariants:
//
//  1. len(undo) == head - irreversible: each undoable revision has one compacted
//     journal, oldest first.
//  2. marks[i] is where session i starts in the journal of the open revision;
//     replaying the journal backward to a mark takes that session back.
//  3. With undo data or a session, every change to the engine is journalled.
package revision

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"tarn/store"
)

// idTable holds the next id of each table that has given one: key the table's
// handle, big-endian, value the id, little-endian. It is the first table of
// every store.
const idTable = "store.ids"

// Store implements store.Store over an engine. See there for the rules.
type Store struct {
	engine store.Engine
	ids    store.Table
	tables int

	journal journal
	values  values
	marks   []int
	undo    [][]byte

	head, irreversible uint64

	cursors []*cursor // the writer's open ones
	loans   loans
	pending store.Checkpoint
	failed  error
	closed  bool
}

var _ store.Store = (*Store)(nil)

// Open takes the engine over: the recovered image becomes the state, is
// published, and its undo data can be used at once. On an error the engine is
// left open.
func Open(e store.Engine) (*Store, error) {
	im := e.Recovered()
	if im.Head < im.Irreversible || uint64(len(im.Undo)) != im.Head-im.Irreversible {
		return nil, fmt.Errorf("open store: image of revision %d, irreversible %d, with %d undo journals: %w",
			im.Head, im.Irreversible, len(im.Undo), store.ErrCorrupt)
	}
	s := &Store{engine: e, head: im.Head, irreversible: im.Irreversible, undo: im.Undo}
	for i, t := range e.Tables() {
		if int(t.ID) != i+1 {
			return nil, fmt.Errorf("open store: table %q has handle %d, expected %d: %w",
				t.Name, t.ID, i+1, store.ErrCorrupt)
		}
		if t.Name == idTable {
			s.ids = t.ID
		}
		s.tables++
	}
	if s.ids == 0 {
		t, err := e.CreateTable(idTable)
		if err == nil {
			s.ids, s.tables = t, s.tables+1
		} else if !errors.Is(err, store.ErrReadOnly) {
			return nil, fmt.Errorf("create table %s: %w", idTable, err)
		}
	}
	if err := e.Publish(s.head); err != nil {
		return nil, fmt.Errorf("publish revision %d: %w", s.head, err)
	}
	return s, nil
}

// Engine returns what the store stands on, for tools that verify or measure it.
func (s *Store) Engine() store.Engine { return s.engine }

func (s *Store) Head() uint64              { return s.head }
func (s *Store) Irreversible() uint64      { return s.irreversible }
func (s *Store) Depth() int                { return len(s.marks) }
func (s *Store) Recorded() int             { return s.journal.Len() }
func (s *Store) Durable() store.Durable    { return s.engine.Durable() }
func (s *Store) Stats() store.Stats        { return s.engine.Stats() }
func (s *Store) Tables() []store.TableInfo { return s.engine.Tables() }

func (s *Store) Table(name string) (store.Table, error) {
	for _, t := range s.engine.Tables() {
		if t.Name == name {
			return t.ID, nil
		}
	}
	return 0, fmt.Errorf("table %q: %w", name, store.ErrNoTable)
}

func (s *Store) CreateTable(name string) (store.Table, error) {
	if t, err := s.Table(name); err == nil {
		return t, s.alive()
	}
	if name == "" || len(name) > 255 {
		return 0, fmt.Errorf("create table: name of %d bytes: %w", len(name), store.ErrKeySize)
	}
	if err := s.idle(); err != nil {
		return 0, fmt.Errorf("create table %q: %w", name, err)
	}
	if len(s.undo) > 0 {
		return 0, fmt.Errorf("create table %q: %w", name, store.ErrNoSession)
	}
	t, err := s.engine.CreateTable(name)
	s.loans.checkKept()
	if err != nil {
		return 0, fmt.Errorf("create table %q: %w", name, err)
	}
	s.tables = int(t)
	return t, nil
}

func (s *Store) Get(t store.Table, key []byte) ([]byte, error) {
	if err := s.row(t, key); err != nil {
		return nil, err
	}
	v, err := s.engine.Get(t, key)
	return s.loans.lend(v), err
}

func (s *Store) Put(t store.Table, key, value []byte) error {
	if err := s.change(t, key); err != nil {
		return err
	}
	if len(value) > store.MaxValue {
		return store.ErrValueSize
	}
	s.detach()
	s.loans.checkKept()
	defer s.loans.recall()
	s.values.note(value, true)
	err := s.engine.Put(t, key, value, s.record())
	if s.roomMade(err) {
		err = s.engine.Put(t, key, value, &s.journal.Journal)
	}
	if err != nil {
		s.values.fail()
	}
	return err
}

func (s *Store) Delete(t store.Table, key []byte) error {
	if err := s.change(t, key); err != nil {
		return err
	}
	s.detach()
	s.loans.checkKept()
	defer s.loans.recall()
	s.values.note(nil, false)
	err := s.engine.Delete(t, key, s.record())
	if s.roomMade(err) {
		err = s.engine.Delete(t, key, &s.journal.Journal)
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		s.values.refuse()
	case err != nil:
		s.values.fail()
	}
	return err
}

func (s *Store) DeleteRange(t store.Table, from, to []byte) (int, error) {
	c, err := s.Cursor(t)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	n, ok := 0, false
	if len(from) > 0 { // not First before it, which may pass over many rows that were deleted
		ok = c.Seek(from)
	} else {
		ok = c.First()
	}
	for ; ok && (to == nil || bytes.Compare(c.Key(), to) < 0); ok = c.Next() {
		if err := s.Delete(t, bytes.Clone(c.Key())); err != nil {
			return n, err
		}
		n++
	}
	return n, c.Err()
}

func (s *Store) NextID(t store.Table) (uint64, error) {
	if s.ids == 0 {
		return 0, store.ErrReadOnly
	}
	if t == 0 || int(t) > s.tables {
		return 0, store.ErrNoTable
	}
	key := binary.BigEndian.AppendUint16(make([]byte, 0, 2), uint16(t))
	var id uint64
	switch v, err := s.Get(s.ids, key); {
	case err == nil && len(v) == 8:
		id = binary.LittleEndian.Uint64(v)
	case err == nil:
		return 0, fmt.Errorf("next id of table %d has %d bytes: %w", t, len(v), store.ErrCorrupt)
	case !errors.Is(err, store.ErrNotFound):
		return 0, err
	}
	return id, s.Put(s.ids, key, binary.LittleEndian.AppendUint64(nil, id+1))
}

// Publish, View and Checkpoint.

func (s *Store) Publish() error {
	if err := s.alive(); err != nil {
		return err
	}
	s.detach()
	defer s.loans.checkKept()
	return s.engine.Publish(s.head)
}

func (s *Store) View() (store.View, error) {
	// Any goroutine may ask, so the engine answers for a closed store.
	v, err := s.engine.View()
	if err != nil {
		return nil, err
	}
	return watch(v), nil
}

func (s *Store) Checkpoint() (store.Checkpoint, error) {
	if err := s.idle(); err != nil {
		return nil, err
	}
	s.detach()
	defer s.loans.checkKept()
	undo := append([][]byte(nil), s.undo...)
	c, err := s.engine.Checkpoint(store.Image{Head: s.head, Irreversible: s.irreversible, Undo: undo})
	if err != nil {
		return nil, fmt.Errorf("checkpoint revision %d: %w", s.head, err)
	}
	s.pending = c
	return c, nil
}

func (s *Store) Close() error {
	if s.closed {
		return store.ErrClosed
	}
	s.closed = true
	return s.engine.Close()
}

// alive, row, change and idle are the checks before every call: is the store
// open and sound, is the row addressable, may it change now, is no session open.

func (s *Store) alive() error {
	if s.closed {
		return store.ErrClosed
	}
	return s.failed
}

func (s *Store) row(t store.Table, key []byte) error {
	if s.closed || s.failed != nil {
		return s.alive()
	}
	if t == 0 || int(t) > s.tables {
		return store.ErrNoTable
	}
	if len(key) == 0 || len(key) > store.MaxKey {
		return store.ErrKeySize
	}
	return nil
}

func (s *Store) change(t store.Table, key []byte) error {
	if err := s.row(t, key); err != nil {
		return err
	}
	if len(s.marks) == 0 && len(s.undo) > 0 {
		return store.ErrNoSession
	}
	return nil
}

func (s *Store) idle() error {
	if err := s.alive(); err != nil {
		return err
	}
	if len(s.marks) > 0 {
		return store.ErrSessionOpen
	}
	return nil
}

func (s *Store) record() *store.Journal {
	if len(s.marks) == 0 {
		return nil
	}
	s.journal.condense(s.marks[len(s.marks)-1])
	return &s.journal.Journal
}

// roomMade tells whether a change that was refused for memory may be tried again.
func (s *Store) roomMade(err error) bool {
	if err == nil || len(s.marks) == 0 {
		return false // before full, which is garbage: every change comes by here
	}
	var full *store.FullError
	if !errors.As(err, &full) || full.Of != store.RoomInMemory {
		return false
	}
	return s.journal.makeRoom(s.marks[len(s.marks)-1])
}
