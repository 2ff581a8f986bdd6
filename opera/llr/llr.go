// Package llr is go-opera's Lachesis Light Repeater: it counts what validators say about the
// records of blocks and of the beginnings of epochs. Which record a third of the stake has voted
// for is decided.
//
// It owns the rows of votes in a chain's store, and what is decided. The chain tells it of the
// votes of connected events, whose right to vote was checked, and has it write what changed
// into the revision of its next block. It makes no records, and sends nothing.
//
// # What is kept
//
// Votes stand in their events, which the chain's log has; a row says that an event votes for
// blocks or for an epoch, or has the votes if they came without their event. Tallies, who voted and
// decisions are kept from the first undecided block or epoch on, and below it for records that
// the chain does not have: whoever has the blocks needs no older ones.
//
// # Goroutines
//
// The chain's writer calls all methods of a [Ledger] but those that take a reader; what
// [Ledger.Shown] returns belongs to whoever has the reader.
package llr

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"tarn/opera/inter"
	"tarn/store"
)

// State is what is decided without a gap: blocks and epochs below these are.
type State struct {
	Block inter.BlockNumber
	Epoch inter.Epoch
}

// last is what a validator has voted for last.
type last struct {
	block inter.BlockNumber
	epoch inter.Epoch
}

// Filled tells which records the chain has, made or added.
type Filled interface {
	// HasBlock tells whether the record of that block is there; an error is the store's.
	HasBlock(inter.BlockNumber) (bool, error)
	// HasEpoch tells whether the record of that epoch is there; an error is the store's.
	HasEpoch(inter.Epoch) (bool, error)
}

// Ledger is the votes of a chain. It has many methods because blocks and epochs are each voted for,
// weighed, decided and forgotten, over rows that are written together.
type Ledger struct {
	tables tables
	filled Filled
	from   store.Reader
	state  State
	lasts  map[inter.ValidatorID]last
	// Changed since the last Write; nil is a row that goes.
	rows      map[row][]byte
	tallied   map[string][]string // of rows, the keys of tallies by what names their record
	decisions []Decision          // since they were asked for
}

// row is a row's place.
type row struct {
	table store.Table
	key   string
}

// tables are the ledger's. docs/formats/opera-chain.md has their bytes.
type tables struct{ state, tallies, decided, votes, lasts store.Table }

// Kinds of records, with which keys begin.
const (
	ofBlock = 'b'
	ofEpoch = 'e'
)

var stateKey = []byte("lowest")

// Open finds the tables of a store that its writer has, or makes them. The store must have
// been published before others see them.
func Open(s store.Store) (*Ledger, error) {
	l := &Ledger{from: s, lasts: map[inter.ValidatorID]last{}, rows: map[row][]byte{}, tallied: map[string][]string{}}
	for _, t := range []struct {
		name string
		to   *store.Table
	}{{"state", &l.tables.state}, {"tallies", &l.tables.tallies}, {"decided", &l.tables.decided},
		{"votes", &l.tables.votes}, {"lasts", &l.tables.lasts}} {
		var err error
		if *t.to, err = s.CreateTable("llr/" + t.name); err != nil {
			return nil, fmt.Errorf("open the table llr/%s: %w", t.name, err)
		}
	}
	return l, nil
}

// Resume goes on from what a revision has. Before anything was decided, begin says what is
// undecided at first.
func (l *Ledger) Resume(begin func() (State, error), filled Filled) error {
	l.filled = filled
	raw, err := l.get(l.tables.state, stateKey)
	switch {
	case err == nil && raw == nil:
		l.state, err = begin()
	case err == nil && len(raw) != 12:
		err = fmt.Errorf("read what is undecided: the row has %d bytes", len(raw))
	case err == nil:
		l.state = State{inter.BlockNumber(binary.BigEndian.Uint64(raw)), inter.Epoch(binary.BigEndian.Uint32(raw[8:]))}
	}
	if err != nil {
		return err
	}
	return ascend(l.from, l.tables.lasts, nil, func(key, value []byte) error {
		if len(key) != 4 || len(value) != 12 {
			return fmt.Errorf("read the last votes of validator %x: the row has %d bytes", key, len(value))
		}
		l.lasts[inter.ValidatorID(binary.BigEndian.Uint32(key))] = last{
			inter.BlockNumber(binary.BigEndian.Uint64(value)), inter.Epoch(binary.BigEndian.Uint32(value[8:])),
		}
		return nil
	})
}

// errStop ends an ascent.
var errStop = errors.New("no more")

// ascend calls each for the rows of a table from a key on, until it returns an error.
func ascend(from store.Reader, t store.Table, key []byte, each func(key, value []byte) error) error {
	c, err := from.Cursor(t)
	if err != nil {
		return fmt.Errorf("read votes: %w", err)
	}
	for ok := c.Seek(key); ok && err == nil; ok = c.Next() {
		err = each(c.Key(), c.Value())
	}
	if errors.Is(err, errStop) {
		err = nil
	}
	if err = errors.Join(err, c.Err(), c.Close()); err != nil {
		return fmt.Errorf("read votes: %w", err)
	}
	return nil
}

// get reads a row as it will be after the next Write, nil if there is none.
func (l *Ledger) get(t store.Table, key []byte) ([]byte, error) {
	if raw, ok := l.rows[row{t, string(key)}]; ok {
		return raw, nil
	}
	raw, err := l.from.Get(t, key)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read row %x of votes: %w", key, err)
	}
	return bytes.Clone(raw), nil
}

func (l *Ledger) put(t store.Table, key, value []byte) {
	r := row{t, string(key)}
	if _, changed := l.rows[r]; !changed && t == l.tables.tallies {
		record := string(recordOf(key))
		l.tallied[record] = append(l.tallied[record], r.key)
	}
	l.rows[r] = value
}

// Undecided returns the lowest block and epoch of which no record is decided.
func (l *Ledger) Undecided() (inter.BlockNumber, inter.Epoch) { return l.state.Block, l.state.Epoch }

// LastVotes returns the last block and epoch that a validator has voted for, 0 if for none.
func (l *Ledger) LastVotes(id inter.ValidatorID) (inter.BlockNumber, inter.Epoch) {
	v := l.lasts[id]
	return v.block, v.epoch
}

// Write writes what changed into a session of the store.
func (l *Ledger) Write(s store.Store) error {
	order := slices.SortedFunc(maps.Keys(l.rows), func(a, b row) int {
		return bytes.Compare(append(binary.BigEndian.AppendUint16(nil, uint16(a.table)), a.key...),
			append(binary.BigEndian.AppendUint16(nil, uint16(b.table)), b.key...))
	})
	for _, r := range order {
		var err error
		if value := l.rows[r]; value != nil {
			err = s.Put(r.table, []byte(r.key), value)
		} else if err = s.Delete(r.table, []byte(r.key)); errors.Is(err, store.ErrNotFound) {
			err = nil // it was never written
		}
		if err != nil {
			return fmt.Errorf("write row %x of votes: %w", r.key, err)
		}
	}
	clear(l.rows)
	clear(l.tallied)
	return nil
}
