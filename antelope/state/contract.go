package state

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"tarn/antelope/types"
	"tarn/store"
)

// RowKey names a contract's row.
type RowKey struct {
	TableKey
	Primary uint64
}

// contract reads contract rows from any state. It keeps one cursor a table, since
// contracts walk step by step.
type contract struct {
	src     store.Reader
	t       *Layout
	cursors [1 + 2*Kinds]walker
	key     [rowKeyLen]byte // of the row being read
}

// walker is a cursor and where it stands.
type walker struct {
	c  store.Cursor
	on bool // it stands on a row
}

func rowKey(b []byte, k RowKey) []byte {
	return binary.BigEndian.AppendUint64(tableKey(b, k.TableKey), k.Primary)
}

func parseRowKey(b []byte) RowKey {
	return RowKey{parseTableKey(b), binary.BigEndian.Uint64(b[24:])}
}

const rowKeyLen = 32

// resetCursors is called when the state beneath has changed other than by puts and
// deletes: cursors stand nowhere.
func (c *contract) resetCursors() {
	for i := range c.cursors {
		c.cursors[i].on = false
	}
}

// close gives the cursors back.
func (c *contract) close() error {
	var errs []error
	for i := range c.cursors {
		if w := &c.cursors[i]; w.c != nil {
			errs = append(errs, w.c.Close())
			*w = walker{}
		}
	}
	return errors.Join(errs...)
}

func (c *contract) walker(slot int, t store.Table) (*walker, error) {
	w := &c.cursors[slot]
	if w.c == nil {
		var err error
		if w.c, err = c.src.Cursor(t); err != nil {
			return nil, fmt.Errorf("walk contract rows: %w", err)
		}
	}
	return w, nil
}

// seek moves to the first row at or after key.
func (w *walker) seek(key []byte) (bool, error) {
	w.on = w.c.Seek(key)
	return w.on, w.c.Err()
}

// after moves to the first row after key.
func (w *walker) after(key []byte) (bool, error) {
	if w.on && string(w.c.Key()) == string(key) {
		w.on = w.c.Next()
		return w.on, w.c.Err()
	}
	if w.on = w.c.Seek(key); w.on && string(w.c.Key()) == string(key) {
		w.on = w.c.Next()
	}
	return w.on, w.c.Err()
}

// before moves to the last row before key.
func (w *walker) before(key []byte) (bool, error) {
	if w.on && string(w.c.Key()) == string(key) {
		w.on = w.c.Prev()
	} else {
		w.on = w.c.SeekLT(key)
	}
	return w.on, w.c.Err()
}

// Row returns a contract's row: who pays for it, and its value, which is valid
// until the writer's next change.
func (c *contract) Row(k RowKey) (payer types.Name, value []byte, found bool, err error) {
	v, err := c.src.Get(c.t.contractRows, rowKey(c.key[:0], k))
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil, false, nil
	}
	if err == nil {
		payer, value, err = parseRow(v)
	}
	return payer, value, err == nil, err
}

// parseRow takes what the store has of a row apart.
func parseRow(v []byte) (payer types.Name, value []byte, err error) {
	if len(v) < 8 {
		return 0, nil, fmt.Errorf("contract row of %d bytes: %w", len(v), store.ErrCorrupt)
	}
	return types.Name(binary.LittleEndian.Uint64(v)), v[8:], nil
}

// rowAt tells which row of the table the walker stands on, if any.
func rowAt(w *walker, ok bool, err error, t TableKey) (uint64, bool, error) {
	if err != nil || !ok {
		return 0, false, err
	}
	k := parseRowKey(w.c.Key())
	return k.Primary, k.TableKey == t, nil
}

// LowerRow returns the primary key of the first row at or after k in its table.
func (c *contract) LowerRow(k RowKey) (uint64, bool, error) {
	w, err := c.walker(0, c.t.contractRows)
	if err != nil {
		return 0, false, err
	}
	var buf [rowKeyLen]byte
	ok, err := w.seek(rowKey(buf[:0], k))
	return rowAt(w, ok, err, k.TableKey)
}

// NextRow returns the primary key of the first row after k in its table.
func (c *contract) NextRow(k RowKey) (uint64, bool, error) {
	w, err := c.walker(0, c.t.contractRows)
	if err != nil {
		return 0, false, err
	}
	var buf [rowKeyLen]byte
	ok, err := w.after(rowKey(buf[:0], k))
	return rowAt(w, ok, err, k.TableKey)
}

// PreviousRow returns the primary key of the last row before k in its table.
func (c *contract) PreviousRow(k RowKey) (uint64, bool, error) {
	w, err := c.walker(0, c.t.contractRows)
	if err != nil {
		return 0, false, err
	}
	var buf [rowKeyLen]byte
	ok, err := w.before(rowKey(buf[:0], k))
	return rowAt(w, ok, err, k.TableKey)
}

// LastRow returns the primary key of the last row of a table.
func (c *contract) LastRow(t TableKey) (uint64, bool, error) {
	w, err := c.walker(0, c.t.contractRows)
	if err != nil {
		return 0, false, err
	}
	var buf [rowKeyLen + 1]byte
	ok, err := w.before(append(rowKey(buf[:0], RowKey{t, math.MaxUint64}), 0))
	return rowAt(w, ok, err, t)
}

// PutRow stores a contract's row.
func (s *State) PutRow(k RowKey, payer types.Name, value []byte) error {
	if err := s.noteRow(k); err != nil {
		return err
	}
	key := rowKey(s.buf[:0], k)
	s.buf = append(binary.LittleEndian.AppendUint64(key, uint64(payer)), value...)
	return s.store.Put(s.t.contractRows, s.buf[:len(key)], s.buf[len(key):])
}

// DeleteRow deletes a contract's row, which must exist.
func (s *State) DeleteRow(k RowKey) error {
	if err := s.noteRowGone(k); err != nil {
		return err
	}
	s.buf = rowKey(s.buf[:0], k)
	return s.store.Delete(s.t.contractRows, s.buf)
}
