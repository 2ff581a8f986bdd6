package state

import (
	"fmt"

	"github.com/ethereum/go-ethereum/common"

	"tarn/store"
)

// Changes is what a block did to the state: each account and slot once, with what it was
// before the block and is after it, ascending by hash. It is never changed once made, and
// may be read by any goroutine.
type Changes struct {
	Number   uint64 // of the block
	Accounts []AccountChange
	Codes    []Code // that the block may have brought; the state may have them already
}

// AccountChange is what a block did to an account and its storage.
type AccountChange struct {
	Hash          common.Hash // of the address
	Before, After *Account    // nil where there was or is none
	// Wiped says that no slot of before is there any more: the contract destructed itself,
	// or was created anew. Slots has each with its value of before.
	Wiped bool
	Slots []SlotChange
}

// SlotChange is what a block did to a slot; zero is no slot.
type SlotChange struct {
	Hash          common.Hash // of Key
	Key           common.Hash
	Known         bool // whether Key is known, see Slot
	Before, After common.Hash
}

// Code is a contract's code and its hash.
type Code struct {
	Hash  common.Hash
	Bytes []byte
}

// Write puts a block's changes into the flat rows, in the open session.
func (t *Tables) Write(s store.Store, c *Changes) error {
	w := flatWriter{tables: t, to: s}
	for i := range c.Accounts {
		w.account(&c.Accounts[i])
	}
	for _, code := range c.Codes {
		if _, err := s.Get(t.code, code.Hash[:]); err != nil {
			w.put(t.code, code.Hash[:], code.Bytes)
		}
	}
	if w.err != nil {
		return fmt.Errorf("write the state of block %d: %w", c.Number, w.err)
	}
	return nil
}

// flatWriter writes rows until the first error.
type flatWriter struct {
	tables   *Tables
	to       store.Store
	key, row []byte
	err      error
}

func (w *flatWriter) put(t store.Table, key, row []byte) {
	if w.err == nil {
		w.err = w.to.Put(t, key, row)
	}
}

func (w *flatWriter) delete(t store.Table, key []byte) {
	if w.err == nil {
		w.err = w.to.Delete(t, key)
	}
}

func (w *flatWriter) account(c *AccountChange) {
	switch {
	case c.After != nil && (c.Before == nil || *c.After != *c.Before):
		w.row = appendAccount(w.row[:0], c.After)
		w.put(w.tables.accounts, c.Hash[:], w.row)
	case c.After == nil && c.Before != nil:
		w.delete(w.tables.accounts, c.Hash[:])
	}
	for i := range c.Slots {
		s := &c.Slots[i]
		w.key = slotKey(w.key[:0], c.Hash, s.Hash)
		switch {
		case s.After != (common.Hash{}) && s.After != s.Before:
			w.row = appendSlot(w.row[:0], s.After, s.Key, s.Known)
			w.put(w.tables.slots, w.key, w.row)
		case s.After == (common.Hash{}) && s.Before != (common.Hash{}):
			w.delete(w.tables.slots, w.key)
		}
	}
}
