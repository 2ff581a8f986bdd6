package chain

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/rlp"

	"tarn/opera/inter"
	"tarn/store"
)

// rows are the chain's tables. docs/formats/opera-chain.md has their bytes.
type rows struct {
	head, epochs, blocks, events store.Table
}

var headKey = []byte("head")

// head is the one row that says where the chain stands.
type head struct {
	Network  Network
	Block    inter.BlockState // its root is of no block; the state's tables have it
	Epoch    inter.EpochState
	Decided  inter.Frame // the last of the epoch that became the block, 0 if a block sealed the one before
	Upgrades []inter.UpgradeHeight
}

// openRows finds the tables, or makes them in a new store.
func openRows(s store.Store) (r rows, err error) {
	for _, t := range []struct {
		name string
		to   *store.Table
	}{{"head", &r.head}, {"epochs", &r.epochs}, {"blocks", &r.blocks}, {"events", &r.events}} {
		if *t.to, err = s.CreateTable("chain/" + t.name); err != nil {
			return r, fmt.Errorf("open the chain's table %s: %w", t.name, err)
		}
	}
	return r, nil
}

// put writes a row, encoded.
func put(s store.Store, t store.Table, key []byte, v any) error {
	raw, err := rlp.EncodeToBytes(v)
	if err != nil {
		return fmt.Errorf("encode row %x: %w", key, err)
	}
	return s.Put(t, key, raw)
}

// get reads a row and tells whether there is one.
func get(from store.Reader, t store.Table, key []byte, into any) (bool, error) {
	raw, err := from.Get(t, key)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err == nil {
		err = rlp.DecodeBytes(raw, into)
	}
	if err != nil {
		return false, fmt.Errorf("read row %x of the chain's table %d: %w", key, t, err)
	}
	return true, nil
}

func (r *rows) putHead(s store.Store, h *head) error { return put(s, r.head, headKey, h) }

func (r *rows) getHead(from store.Reader) (*head, error) {
	h := new(head)
	ok, err := get(from, r.head, headKey, h)
	if err != nil || !ok {
		return nil, err
	}
	return h, nil
}

func epochKey(e inter.Epoch) []byte { return binary.BigEndian.AppendUint32(nil, uint32(e)) }

func blockKey(n inter.BlockNumber) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

// putRecord writes the record of an epoch's beginning, if there is one.
func (r *rows) putRecord(s store.Store, record *inter.EpochRecord) error {
	if record == nil {
		return nil
	}
	return put(s, r.epochs, epochKey(record.Epoch), record)
}

// putEvents writes events by their ids.
func (r *rows) putEvents(s store.Store, events []*inter.Payload) error {
	for _, p := range events {
		raw, err := p.Encode()
		if err != nil {
			return fmt.Errorf("encode event %v: %w", p.ID(), err)
		}
		id := p.ID()
		if err := s.Put(r.events, id[:], raw); err != nil {
			return err
		}
	}
	return nil
}

func (r *rows) hasEvent(from store.Reader, id inter.EventID) (bool, error) {
	_, err := from.Get(r.events, id[:])
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// event reads an event, nil if there is none.
func (r *rows) event(from store.Reader, id inter.EventID) (*inter.Payload, error) {
	raw, err := from.Get(r.events, id[:])
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read event %v: %w", id, err)
	}
	return inter.DecodePayload(append([]byte(nil), raw...))
}

// eachEvent calls each for the events of epochs from one to another, that one excluded, in
// the order of their ids, in which parents come first.
func (r *rows) eachEvent(from store.Reader, first, end inter.Epoch, each func(*inter.Payload) error) (err error) {
	c, err := from.Cursor(r.events)
	if err != nil {
		return fmt.Errorf("read events: %w", err)
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	for ok := c.Seek(epochKey(first)); ok; ok = c.Next() {
		if string(c.Key()) >= string(epochKey(end)) {
			break
		}
		p, err := inter.DecodePayload(append([]byte(nil), c.Value()...))
		if err != nil {
			return fmt.Errorf("read event %x: %w", c.Key(), err)
		}
		if err := each(p); err != nil {
			return err
		}
	}
	return c.Err()
}
