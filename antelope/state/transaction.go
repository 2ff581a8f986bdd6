package state

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"tarn/antelope/types"
	"tarn/store"
)

// seen is the set of transactions that must not come again, by id. The store has
// them in the order of expiration, where adding is an append and forgetting cuts
// the front; the set in memory answers whether one is there. It takes part in the
// sessions, and is read anew from the store after an undo of whole blocks.
//
// New ones are held back until the state is flushed: they come in no order, and go
// into the store faster sorted.
type seen struct {
	store  store.Store
	t      *Layout
	nextID func(store.Table) (uint64, error)

	mu      sync.RWMutex // taken to change ids, and by others than the writer to read it
	ids     map[types.Checksum256]struct{}
	changes []types.Checksum256 // added, or removed: the set says which
	held    []Transaction       // recorded since the block began
	written int                 // how many of held are in the store
	marks   []seenMark
}

type seenMark struct{ changes, held, written int }

func (s *seen) begin() {
	s.marks = append(s.marks, seenMark{len(s.changes), len(s.held), s.written})
}

func (s *seen) squash() {
	s.marks = s.marks[:len(s.marks)-1]
	if len(s.marks) == 0 {
		s.changes, s.held, s.written = s.changes[:0], s.held[:0], 0
	}
}

func (s *seen) undo() {
	mark := s.marks[len(s.marks)-1]
	s.marks = s.marks[:len(s.marks)-1]
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.changes) - 1; i >= mark.changes; i-- {
		if id := s.changes[i]; s.has(id) {
			delete(s.ids, id)
		} else {
			s.ids[id] = struct{}{}
		}
	}
	s.changes = s.changes[:mark.changes]
	s.held, s.written = s.held[:mark.held], mark.written
}

func (s *seen) has(id types.Checksum256) bool {
	_, ok := s.ids[id]
	return ok
}

func (s *seen) change(id types.Checksum256) {
	if len(s.marks) > 0 {
		s.changes = append(s.changes, id)
	}
}

func (s *seen) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids, s.changes, s.held, s.written, s.marks = nil, nil, nil, 0, nil
}

const transactionKeyLen = 12

func transactionKey(b []byte, expiration types.TimePointSec, id uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(b, uint32(expiration)), id)
}

func parseTransaction(k, v []byte) (t Transaction, err error) {
	if len(k) != transactionKeyLen || len(v) != len(t.TrxID) {
		return t, fmt.Errorf("row of transaction with %d and %d bytes: %w", len(k), len(v), store.ErrCorrupt)
	}
	t.Expiration = types.TimePointSec(binary.BigEndian.Uint32(k))
	t.ID = binary.BigEndian.Uint64(k[4:])
	copy(t.TrxID[:], v)
	return t, nil
}

// eachTransaction calls f with every row, by expiration and id.
func (t *Layout) eachTransaction(src store.Reader, f func(Transaction) error) error {
	c, err := src.Cursor(t.transactions)
	if err != nil {
		return err
	}
	defer c.Close()
	for ok := c.First(); ok; ok = c.Next() {
		row, err := parseTransaction(c.Key(), c.Value())
		if err == nil {
			err = f(row)
		}
		if err != nil {
			return err
		}
	}
	return c.Err()
}

// load fills the set from the store if it is not filled.
func (s *seen) load() error {
	if s.ids != nil {
		return nil
	}
	ids := make(map[types.Checksum256]struct{})
	err := s.t.eachTransaction(s.store, func(t Transaction) error {
		ids[t.TrxID] = struct{}{}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the transactions that have not expired: %w", err)
	}
	s.mu.Lock()
	s.ids = ids
	s.mu.Unlock()
	return nil
}

// SeeOne makes the state know of one transaction only, which expires then, whether it was recorded. That is enough to
// execute it, and takes less time than to know of all.
func (s *seen) SeeOne(id types.Checksum256, at types.TimePointSec) error {
	c, err := s.store.Cursor(s.t.transactions)
	if err != nil {
		return err
	}
	defer c.Close()
	s.SeeNone()
	for ok := c.Seek(transactionKey(nil, at, 0)); ok; ok = c.Next() {
		t, err := parseTransaction(c.Key(), c.Value())
		if err != nil {
			return err
		}
		if t.Expiration != at {
			break
		}
		if t.TrxID == id {
			s.ids[id] = struct{}{}
			break
		}
	}
	return c.Err()
}

// SeeNone makes the state know of no transaction, which takes no time: for one that is executed to no effect.
func (s *seen) SeeNone() {
	s.mu.Lock()
	s.ids = make(map[types.Checksum256]struct{})
	s.mu.Unlock()
}

// IsRecorded is HasTransaction for any goroutine, beside the writer: of the state as it is just now, a block under way
// included. False may also say that the writer has not read yet what is recorded.
func (s *seen) IsRecorded(id types.Checksum256) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.has(id)
}

// HasTransaction tells whether a transaction was recorded and not forgotten.
func (s *seen) HasTransaction(id types.Checksum256) (bool, error) {
	if err := s.load(); err != nil {
		return false, err
	}
	return s.has(id), nil
}

// RecordTransaction records one; false if it was recorded already.
func (s *seen) RecordTransaction(id types.Checksum256, expiration types.TimePointSec) (bool, error) {
	if err := s.load(); err != nil {
		return false, err
	}
	if s.has(id) {
		return false, nil
	}
	n, err := s.nextID(s.t.transactions)
	if err != nil {
		return false, err
	}
	s.held = append(s.held, Transaction{n, expiration, id})
	s.mu.Lock()
	s.ids[id] = struct{}{}
	s.mu.Unlock()
	s.change(id)
	return true, nil
}

// flush writes the transactions that are held back.
func (s *seen) flush() error {
	waiting := slices.Clone(s.held[s.written:])
	slices.SortFunc(waiting, func(a, b Transaction) int {
		return cmp.Or(cmp.Compare(a.Expiration, b.Expiration), cmp.Compare(a.ID, b.ID))
	})
	var key [transactionKeyLen]byte
	for i := range waiting {
		t := &waiting[i]
		if err := s.store.Put(s.t.transactions, transactionKey(key[:0], t.Expiration, t.ID), t.TrxID[:]); err != nil {
			return fmt.Errorf("write a transaction that must not come again: %w", err)
		}
	}
	s.written = len(s.held)
	if len(s.marks) == 0 {
		s.held, s.written = s.held[:0], 0
	}
	return nil
}

// ForgetTransactions forgets those that expired before a time, and returns how
// many there were.
func (s *seen) ForgetTransactions(before types.TimePointSec) (int, error) {
	if err := s.load(); err != nil {
		return 0, err
	}
	expired := func(t Transaction) bool { return t.Expiration < before }
	if slices.ContainsFunc(s.held[s.written:], expired) {
		if err := s.flush(); err != nil {
			return 0, err
		}
	}
	c, err := s.store.Cursor(s.t.transactions)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	n := 0
	for ok := c.First(); ok; ok = c.Next() {
		row, err := parseTransaction(c.Key(), c.Value())
		if err != nil {
			return n, err
		}
		if row.Expiration >= before {
			break
		}
		s.mu.Lock()
		delete(s.ids, row.TrxID)
		s.mu.Unlock()
		s.change(row.TrxID)
		n++
	}
	if err := c.Err(); err != nil || n == 0 {
		return n, err
	}
	_, err = s.store.DeleteRange(s.t.transactions, nil, transactionKey(nil, before, 0))
	return n, err
}

// transactionsByID returns all rows in the order of their ids, as snapshots have
// them. It holds them in memory: 48 bytes each.
func (t *Layout) transactionsByID(src store.Reader) ([]Transaction, error) {
	var all []Transaction
	err := t.eachTransaction(src, func(row Transaction) error {
		all = append(all, row)
		return nil
	})
	slices.SortFunc(all, func(a, b Transaction) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return all, err
}
