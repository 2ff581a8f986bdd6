package state

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"tarn/antelope/types"
	"tarn/store"
)

// Walks over many rows of a View, with one cursor each.

// WalkRows calls f with the rows of k's table from k on, or with reverse from the
// last row at or before k down, until f returns false. The value is f's only until
// it returns.
func (v *View) WalkRows(
	k RowKey, reverse bool, f func(primary uint64, payer types.Name, value []byte) (bool, error),
) error {
	c, err := v.src.Cursor(v.t.contractRows)
	if err != nil {
		return fmt.Errorf("walk contract rows: %w", err)
	}
	defer c.Close()
	var buf [rowKeyLen + 1]byte
	for ok := start(c, rowKey(buf[:0], k), reverse); ok; ok = step(c, reverse) {
		at := parseRowKey(c.Key())
		if at.TableKey != k.TableKey {
			break
		}
		value := c.Value()
		if len(value) < 8 {
			return fmt.Errorf("contract row of %d bytes: %w", len(value), store.ErrCorrupt)
		}
		if more, err := f(at.Primary, types.Name(binary.LittleEndian.Uint64(value)), value[8:]); err != nil || !more {
			return err
		}
	}
	return c.Err()
}

// start moves to the first row at or after key, or with reverse to the last one at
// or before it. key must have room for one byte more.
func start(c store.Cursor, key []byte, reverse bool) bool {
	if reverse {
		return c.SeekLT(append(key, 0)) // the least key above it
	}
	return c.Seek(key)
}

func step(c store.Cursor, reverse bool) bool {
	if reverse {
		return c.Prev()
	}
	return c.Next()
}

// Walk calls f with the rows from key from on, or with reverse from the last row at
// or before it down, until f returns false. The row is f's only until it returns.
func (t Table[K, V]) Walk(from K, reverse bool, f func(*V) (bool, error)) error {
	c, err := t.src.Cursor(t.t.rows)
	if err != nil {
		return fmt.Errorf("walk %s: %w", t.t.name, err)
	}
	defer c.Close()
	v := new(V)
	for ok := start(c, t.t.key(t.scratch.key[:0], from), reverse); ok; ok = step(c, reverse) {
		var zero V
		*v = zero
		if err := t.t.unpack(c.Value(), t.scratch, v); err != nil {
			return err
		}
		if more, err := f(v); err != nil || !more {
			return err
		}
	}
	return c.Err()
}

// DeferredFrom calls f with the generated transactions that may run at a time or
// later, of those at that very time the ones with this id or a higher, by time and
// id, until f returns false.
func (v *View) DeferredFrom(delayUntil types.TimePoint, id uint64, f func(*Deferred) (bool, error)) error {
	return v.t.eachDeferred(v.src, v.t.deferred.byDelay, timeKey(delayUntil, id), f)
}

// DeferredByTrxID returns the generated transaction with this id, nil if there is
// none.
func (v *View) DeferredByTrxID(id types.Checksum256) (*Deferred, error) {
	key, err := optional(v.src.Get(v.t.deferred.byTrxID, id[:]))
	if err != nil || key == nil {
		return nil, err
	}
	return v.t.deferredAt(v.src, append([]byte(nil), key...))
}

// Resources returns the rows that accounts' limits are computed from.
func (v *View) Resources() (c ResourceConfig, s ResourceState, err error) {
	err = errors.Join(oneOf(v.t.resourceConfig, v, &c), oneOf(v.t.resourceState, v, &s))
	return c, s, err
}

// Compare orders two keys as their index does.
func (k Kind) Compare(a, b SecondaryKey) int {
	var x, y [32]byte
	return bytes.Compare(a.sortable(x[:0], k), b.sortable(y[:0], k))
}
