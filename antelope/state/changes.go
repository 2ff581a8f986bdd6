package state

import (
	"bytes"
	"errors"
	"fmt"

	"tarn/antelope/types"
	"tarn/store"
)

// Changes are what a block did to the rows that nodeos' state history shows, table by
// table, each in nodeos' order ([Change]). They are copies: any goroutine may keep them.
//
// A row that was touched is there even if it is as it was before; who shows the changes
// leaves out what nodeos leaves out (Leap: libraries/state_history, create_deltas.cpp).
type Changes struct {
	Accounts       []Change[types.Name, AccountABI]
	Metadata       []Change[types.Name, AccountMetadata]
	Codes          []Change[CodeKey, []byte] // the code itself; never one that is there before and after
	Tables         []Change[TableKey, ContractTable]
	Rows           []Change[RowKey, ContractRow]
	Indices        [Kinds][]Change[RowKey, IndexRow] // by Kind
	Global         []Change[struct{}, GlobalProperty]
	Deferred       []Change[DeferredKey, Deferred]
	Protocol       []Change[struct{}, ProtocolState]
	Permissions    []Change[PermissionKey, Permission] // not for their last use, which is another row there
	Links          []Change[LinkKey, PermissionLink]
	Limits         []Change[types.Name, ResourceLimits]
	Usages         []Change[types.Name, ResourceUsage]
	ResourceState  []Change[struct{}, ResourceState]
	ResourceConfig []Change[struct{}, ResourceConfig]
}

// AccountABI is an account with its ABI, which changes whenever it is set, be it to
// what it was.
type AccountABI struct {
	Account
	ABI []byte
}

// ContractRow is a contract's row.
type ContractRow struct {
	Payer types.Name
	Value []byte
}

// recorder is what takes part in the sessions of a State: each table's notes where it notes changes,
// and the transactions that must not come again.
type recorder interface {
	begin()
	squash()
	undo()
	forget()
}

// noted are the notes of the tables that no cache of rows holds; nil for none.
type noted struct {
	codes    *notes[CodeKey, []byte]
	rows     *notes[RowKey, ContractRow]
	indices  [Kinds]*notes[RowKey, IndexRow]
	deferred *notes[DeferredKey, Deferred]
}

// NoteChanges makes the state keep what [State.Changes] returns, from the next block
// on: about one read more for each row that is written. It is called before a session
// is open.
func (s *State) NoteChanges() {
	noteRows(s, s.Accounts)
	noteRows(s, s.Metadata)
	noteRows(s, s.Tables)
	noteRows(s, s.Permissions)
	noteRows(s, s.Links)
	noteRows(s, s.Limits)
	noteRows(s, s.Usages)
	noteRows(s, s.Global.rows)
	noteRows(s, s.Protocol.rows)
	noteRows(s, s.ResourceState.rows)
	noteRows(s, s.ResourceConfig.rows)
	s.noted.codes = noteTable[CodeKey, []byte](s)
	s.noted.rows = noteTable[RowKey, ContractRow](s)
	for i := range s.noted.indices {
		s.noted.indices[i] = noteTable[RowKey, IndexRow](s)
	}
	s.noted.deferred = noteTable[DeferredKey, Deferred](s)
}

func noteRows[K comparable, V any](s *State, r *Rows[K, V]) { r.notes = noteTable[K, V](s) }

func noteTable[K comparable, V any](s *State) *notes[K, V] {
	n := newNotes[K, V]()
	s.recorders = append(s.recorders, n)
	return n
}

// Changes are those of the open block so far. NoteChanges was called before it began.
func (s *State) Changes() (*Changes, error) {
	c := &Changes{}
	var errs [15 + Kinds]error
	c.Metadata, errs[0] = changesOf(s.Metadata)
	c.Tables, errs[1] = changesOf(s.Tables)
	c.Permissions, errs[2] = changesOf(s.Permissions)
	c.Links, errs[3] = changesOf(s.Links)
	c.Limits, errs[4] = changesOf(s.Limits)
	c.Usages, errs[5] = changesOf(s.Usages)
	c.Global, errs[6] = changesOfOne(s.Global.rows)
	c.Protocol, errs[7] = changesOfOne(s.Protocol.rows)
	c.ResourceState, errs[8] = changesOfOne(s.ResourceState.rows)
	c.ResourceConfig, errs[9] = changesOfOne(s.ResourceConfig.rows)
	c.Accounts, errs[10] = s.accountChanges()
	c.Codes, errs[11] = s.noted.codes.changes(func(k CodeKey) ([]byte, error) {
		b, err := s.CodeBytes(k)
		return bytes.Clone(b), err
	})
	c.Rows, errs[12] = s.noted.rows.changes(s.copyRow)
	c.Deferred, errs[13] = s.noted.deferred.changes(func(k DeferredKey) (Deferred, error) {
		d, err := s.Deferred(k)
		if err == nil && d == nil {
			err = errMissing
		}
		if err != nil {
			return Deferred{}, err
		}
		return *d, nil
	})
	for i := range c.Indices {
		c.Indices[i], errs[14+i] = s.noted.indices[i].changes(func(k RowKey) (IndexRow, error) {
			r, found, err := s.IndexRow(Kind(i), k)
			if err == nil && !found {
				err = errMissing
			}
			return r, err
		})
	}
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("collect the changes of a block: %w", err)
	}
	return c, nil
}

// errMissing says that a row is not there although it was changed.
var errMissing = fmt.Errorf("a changed row is missing: %w", store.ErrCorrupt)

func changesOf[K comparable, V any](r *Rows[K, V]) ([]Change[K, V], error) {
	return r.notes.changes(func(k K) (v V, err error) {
		p, err := r.Get(k)
		if err == nil && p == nil {
			err = errMissing
		}
		if err != nil {
			return v, err
		}
		return *p, nil
	})
}

func changesOfOne[V any](r *Rows[none, V]) ([]Change[struct{}, V], error) {
	list, err := changesOf(r)
	out := make([]Change[struct{}, V], len(list))
	for i := range list {
		out[i] = Change[struct{}, V]{Old: list[i].Old, New: list[i].New}
	}
	return out, err
}

// accountChanges are those of accounts, with their ABIs. Accounts never go.
func (s *State) accountChanges() ([]Change[types.Name, AccountABI], error) {
	list, err := changesOf(s.Accounts)
	out := make([]Change[types.Name, AccountABI], len(list))
	for i := range list {
		abi, e := s.ABI(list[i].Key)
		if e != nil {
			return nil, e
		}
		out[i] = Change[types.Name, AccountABI]{Key: list[i].Key, New: &AccountABI{*list[i].New, bytes.Clone(abi)}}
		if list[i].Old != nil {
			out[i].Old = &AccountABI{Account: *list[i].Old}
		}
	}
	return out, err
}

func (s *State) copyRow(k RowKey) (ContractRow, error) {
	payer, value, found, err := s.Row(k)
	if err == nil && !found {
		err = errMissing
	}
	return ContractRow{payer, bytes.Clone(value)}, err
}

// The notes of what is written to the store at once. They come before the change.

func (s *State) noteRow(k RowKey) error {
	n := s.noted.rows
	if n == nil {
		return nil
	}
	payer, value, found, err := s.Row(k)
	switch {
	case err != nil:
		return err
	case !found:
		n.noteCreation(k)
	case n.unseen(k):
		n.noteChange(k, ContractRow{payer, bytes.Clone(value)})
	}
	return nil
}

func (s *State) noteRowGone(k RowKey) error {
	n := s.noted.rows
	if n == nil {
		return nil
	}
	var was ContractRow
	if n.unseen(k) {
		var err error
		if was, err = s.copyRow(k); err != nil {
			return err
		}
	}
	n.noteRemoval(k, was)
	return nil
}

func (s *State) noteCode(k CodeKey, there bool) error {
	n := s.noted.codes
	if n == nil {
		return nil
	}
	if there {
		n.noteCreation(k)
		return nil
	}
	old, err := s.CodeBytes(k)
	n.noteRemoval(k, bytes.Clone(old))
	return err
}
