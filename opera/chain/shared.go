package chain

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/rlp"

	"tarn/store"
)

// View shows the rows of the newest state that all nodes have alike; of the head's row, what it says of the node's logs
// and kind is left out. It is the caller's, and any goroutine may ask.
func (t Teller) View() (_ store.View, err error) {
	v, err := t.c.store.View()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, v.Close())
		}
	}()
	h, err := t.c.rows.getHead(v)
	if err == nil && h == nil {
		err = ErrEmpty
	}
	if err != nil {
		return nil, err
	}
	h.Logs, h.Follows = counted{}, false
	row, err := rlp.EncodeToBytes(h)
	if err != nil {
		return nil, fmt.Errorf("encode the head's row: %w", err)
	}
	return &sharedView{View: v, tables: t.Tables(), head: t.c.rows.head, row: row}, nil
}

// sharedView is what [Teller.View] shows of a view. Of the head's table there is one row.
type sharedView struct {
	store.View
	tables []store.TableInfo
	head   store.Table
	row    []byte
}

// Tables implements store.View.
func (v *sharedView) Tables() []store.TableInfo { return v.tables }

// Get implements store.Reader.
func (v *sharedView) Get(t store.Table, key []byte) ([]byte, error) {
	switch {
	case t != v.head:
		return v.View.Get(t, key)
	case !bytes.Equal(key, headKey):
		return nil, store.ErrNotFound
	}
	return v.row, nil
}

// Cursor implements store.Reader.
func (v *sharedView) Cursor(t store.Table) (store.Cursor, error) {
	if t != v.head {
		return v.View.Cursor(t)
	}
	return &headCursor{row: v.row}, nil
}

// headCursor is a store.Cursor over the head's row alone.
type headCursor struct {
	row []byte
	on  bool
}

func (c *headCursor) move(on bool) bool {
	c.on = on
	return on
}

func (c *headCursor) First() bool            { return c.move(true) }
func (c *headCursor) Last() bool             { return c.move(true) }
func (c *headCursor) Seek(key []byte) bool   { return c.move(bytes.Compare(key, headKey) <= 0) }
func (c *headCursor) SeekLT(key []byte) bool { return c.move(bytes.Compare(key, headKey) > 0) }
func (c *headCursor) Next() bool             { return c.move(false) }
func (c *headCursor) Prev() bool             { return c.move(false) }
func (c *headCursor) Valid() bool            { return c.on }
func (c *headCursor) Key() []byte            { return headKey }
func (c *headCursor) Value() []byte          { return c.row }
func (c *headCursor) Err() error             { return nil }
func (c *headCursor) Close() error           { return nil }
