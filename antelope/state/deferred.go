package state

import (
	"encoding/binary"
	"fmt"

	"tarn/antelope/serial"
	"tarn/antelope/types"
	"tarn/store"
)

// deferredTables hold generated transactions: the rows by sender and sender's id,
// and the indices, each id -> sender's key or ordered -> sender's key.
type deferredTables struct {
	rows, ids, byTrxID, byDelay, byDeadline store.Table
}

func deferredKey(b []byte, k DeferredKey) []byte {
	b = nameKey(b, k.Sender)
	b = binary.BigEndian.AppendUint64(b, k.SenderID.Hi)
	return binary.BigEndian.AppendUint64(b, k.SenderID.Lo)
}

// timeKey orders rows by a time and their id.
func timeKey(t types.TimePoint, id uint64) []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 16), uint64(t)^1<<63)
	return binary.BigEndian.AppendUint64(b, id)
}

func encodeDeferred(b []byte, d *Deferred) []byte {
	b = serial.AppendUint64(b, d.ID)
	b = append(b, d.TrxID[:]...)
	b = serial.AppendUint64(b, uint64(d.Sender))
	b = d.SenderID.Append(b)
	b = serial.AppendUint64(b, uint64(d.Payer))
	b = serial.AppendInt64(b, int64(d.DelayUntil))
	b = serial.AppendInt64(b, int64(d.Expiration))
	b = serial.AppendInt64(b, int64(d.Published))
	return serial.AppendBytes(b, d.Packed)
}

func decodeDeferred(v []byte) (*Deferred, error) {
	r := serial.NewReader(v)
	d := &Deferred{ID: r.Uint64()}
	r.Copy(d.TrxID[:])
	d.Sender = types.Name(r.Uint64())
	d.SenderID.Read(r)
	d.Payer = types.Name(r.Uint64())
	d.DelayUntil = types.TimePoint(r.Int64())
	d.Expiration = types.TimePoint(r.Int64())
	d.Published = types.TimePoint(r.Int64())
	d.Packed = append([]byte(nil), r.Bytes()...)
	if err := r.End(); err != nil {
		return nil, fmt.Errorf("decode a generated transaction: %w", err)
	}
	return d, nil
}

func (t *Layout) deferredAt(src store.Reader, key []byte) (*Deferred, error) {
	v, err := optional(src.Get(t.deferred.rows, key))
	if err != nil || v == nil {
		return nil, err
	}
	return decodeDeferred(v)
}

// deferred is the table of generated transactions with its indices. It has no rows of its own in
// memory, so that sessions are the store's.
type deferred struct {
	store  store.Store
	t      *Layout
	nextID func(store.Table) (uint64, error)
	notes  **notes[DeferredKey, Deferred] // of the state; none until it notes changes
	buf    []byte
}

// Deferred returns a sender's generated transaction, nil if there is none.
func (x *deferred) Deferred(k DeferredKey) (*Deferred, error) {
	return x.t.deferredAt(x.store, deferredKey(nil, k))
}

// DeferredByTrxID returns the generated transaction with this id, nil if there is
// none.
func (x *deferred) DeferredByTrxID(id types.Checksum256) (*Deferred, error) {
	key, err := optional(x.store.Get(x.t.deferred.byTrxID, id[:]))
	if err != nil || key == nil {
		return nil, err
	}
	return x.t.deferredAt(x.store, append([]byte(nil), key...))
}

// CreateDeferred adds a generated transaction, whose key must be new, and gives it
// its id.
func (x *deferred) CreateDeferred(d *Deferred) (err error) {
	if d.ID, err = x.nextID(x.t.deferred.rows); err != nil {
		return err
	}
	(*x.notes).noteCreation(DeferredKey{d.Sender, d.SenderID})
	return x.PutDeferred(d)
}

// PutDeferred stores a generated transaction whose id is set, all its indices
// included. To change one, remove it and put it again.
func (x *deferred) PutDeferred(d *Deferred) error {
	key := deferredKey(nil, DeferredKey{d.Sender, d.SenderID})
	x.buf = encodeDeferred(x.buf[:0], d)
	if err := x.store.Put(x.t.deferred.rows, key, x.buf); err != nil {
		return err
	}
	for _, i := range x.indices(d) {
		if err := x.store.Put(i.table, i.key, key); err != nil {
			return err
		}
	}
	return nil
}

type indexEntry struct {
	table store.Table
	key   []byte
}

func (x *deferred) indices(d *Deferred) [4]indexEntry {
	t := &x.t.deferred
	return [4]indexEntry{
		{t.ids, idKey(d.ID)},
		{t.byTrxID, append([]byte(nil), d.TrxID[:]...)},
		{t.byDelay, timeKey(d.DelayUntil, d.ID)},
		{t.byDeadline, timeKey(d.Expiration, d.ID)},
	}
}

// RemoveDeferred deletes a generated transaction, which must exist as it is.
func (x *deferred) RemoveDeferred(d *Deferred) error {
	(*x.notes).noteRemoval(DeferredKey{d.Sender, d.SenderID}, *d)
	if err := x.store.Delete(x.t.deferred.rows, deferredKey(nil, DeferredKey{d.Sender, d.SenderID})); err != nil {
		return err
	}
	for _, i := range x.indices(d) {
		if err := x.store.Delete(i.table, i.key); err != nil {
			return err
		}
	}
	return nil
}

// eachDeferred calls f with the generated transactions in the order of an index, from a
// key of the index on, until f returns false.
func (t *Layout) eachDeferred(src store.Reader, order store.Table, from []byte, f func(*Deferred) (bool, error)) error {
	c, err := src.Cursor(order)
	if err != nil {
		return fmt.Errorf("walk generated transactions: %w", err)
	}
	defer c.Close()
	for ok := c.Seek(from); ok; ok = c.Next() {
		d, err := t.deferredAt(src, append([]byte(nil), c.Value()...))
		if err == nil && d == nil {
			err = fmt.Errorf("generated transaction of an index is missing: %w", store.ErrCorrupt)
		}
		if err != nil {
			return err
		}
		if more, err := f(d); err != nil || !more {
			return err
		}
	}
	return c.Err()
}

// DeferredByDelay calls f with the generated transactions by the time from which
// they may run, and by id, until f returns false.
func (x *deferred) DeferredByDelay(f func(*Deferred) (bool, error)) error {
	return x.t.eachDeferred(x.store, x.t.deferred.byDelay, nil, f)
}

// DeferredByExpiration is the same by the time at which they expire.
func (x *deferred) DeferredByExpiration(f func(*Deferred) (bool, error)) error {
	return x.t.eachDeferred(x.store, x.t.deferred.byDeadline, nil, f)
}
