package state

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"

	"tarn/store"
)

// Flat reads the flat rows of one state: the writer's, or a view's. It holds nothing but
// the reader that it was given, and is as safe for concurrent use as that.
type Flat struct {
	tables *Tables
	from   store.Reader
}

var _ Source = (*Flat)(nil)

// Flat returns the reader of a state. The store or view stays the caller's.
func (t *Tables) Flat(from store.Reader) *Flat { return &Flat{tables: t, from: from} }

// Account implements Source.
func (f *Flat) Account(address common.Hash) (*Account, error) {
	row, err := f.from.Get(f.tables.accounts, address[:])
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read account %x: %w", address, err)
	}
	return decodeAccount(address[:], row)
}

// Slot implements Source.
func (f *Flat) Slot(address, slot common.Hash) (common.Hash, error) {
	var buf [2 * common.HashLength]byte
	key := slotKey(buf[:0], address, slot)
	row, err := f.from.Get(f.tables.slots, key)
	if errors.Is(err, store.ErrNotFound) {
		return common.Hash{}, nil
	}
	if err != nil {
		return common.Hash{}, fmt.Errorf("read slot %x: %w", key, err)
	}
	value, _, _, err := decodeSlot(key, row)
	return value, err
}

// Code implements Source.
func (f *Flat) Code(hash common.Hash) ([]byte, error) {
	if hash == emptyCode {
		return nil, nil
	}
	code, err := f.from.Get(f.tables.code, hash[:])
	if err != nil {
		return nil, fmt.Errorf("read code %x: %w", hash, err)
	}
	return bytes.Clone(code), nil
}

// Slots implements Source.
func (f *Flat) Slots(address, from common.Hash, each func(Slot) bool) error {
	return f.walk(f.tables.slots, slotKey(nil, address, from), after(address[:]), func(key, row []byte) (bool, error) {
		value, slot, known, err := decodeSlot(key, row)
		if err != nil {
			return false, err
		}
		return each(Slot{Hash: common.Hash(key[common.HashLength:]), Key: slot, Known: known, Value: value}), nil
	})
}

// Accounts calls each for the accounts with their hashed addresses, ascending, from one
// on, until it returns false.
func (f *Flat) Accounts(from common.Hash, each func(common.Hash, *Account) bool) error {
	return f.walk(f.tables.accounts, from[:], nil, func(key, row []byte) (bool, error) {
		a, err := decodeAccount(key, row)
		if err != nil {
			return false, err
		}
		return each(common.Hash(key), a), nil
	})
}

// walk calls each for the rows from a key up to another (nil: no bound) until it returns
// false or an error.
func (f *Flat) walk(t store.Table, from, to []byte, each func(key, row []byte) (bool, error)) (err error) {
	c, err := f.from.Cursor(t)
	if err != nil {
		return fmt.Errorf("walk the state: %w", err)
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	for ok := c.Seek(from); ok; ok = c.Next() {
		if to != nil && bytes.Compare(c.Key(), to) >= 0 {
			return nil
		}
		row := c.Value()
		if row == nil {
			break
		}
		if more, err := each(c.Key(), row); err != nil || !more {
			return err
		}
	}
	if err := c.Err(); err != nil {
		return fmt.Errorf("walk the state: %w", err)
	}
	return nil
}
