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
	head, epochs store.Table
	ahead        store.Table // records of epochs that the chain has not come to
}

// The tables whose rows all nodes have alike.
const (
	tableHead   = "chain/head"
	tableEpochs = "chain/epochs"
)

var headKey = []byte("head")

// head is the one row that says where the chain stands.
type head struct {
	Network  Network
	Block    inter.BlockState // its root is of no block; the state's tables have it
	Epoch    inter.EpochState
	Decided  inter.Frame // the last of the epoch that became the block, 0 if a block sealed the one before
	Upgrades []inter.UpgradeHeight
	Logs     counted
	Follows  bool `rlp:"optional"` // it executes no blocks, see [Follower]
}

// counted is what the store counts on in the logs of history.
type counted struct {
	First   inter.BlockNumber // of the chain's own
	Brought uint64            // blocks that came with the genesis
	Events  uint64            // that were connected
	Begun   uint64            // those of them that were before the present epoch
	Roots   inter.BlockNumber // the first block whose root is not in its log
	// Top is the number after the newest block that came with the genesis, 0 if it is First: blocks
	// from Top to First came as records, before the chain went over to a later epoch.
	Top inter.BlockNumber `rlp:"optional"`
}

// openRows finds the tables, or makes them in a new store.
func openRows(s store.Store) (r rows, err error) {
	for _, t := range []struct {
		name string
		to   *store.Table
	}{{tableHead, &r.head}, {tableEpochs, &r.epochs}, {"chain/ahead", &r.ahead}} {
		if *t.to, err = s.CreateTable(t.name); err != nil {
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

func epochOf(key []byte) inter.Epoch { return inter.Epoch(binary.BigEndian.Uint32(key)) }

// getRecord reads the record of an epoch, made or added, nil if there is none.
func (r *rows) getRecord(from store.Reader, e inter.Epoch) (*inter.EpochRecord, error) {
	for _, t := range []store.Table{r.epochs, r.ahead} {
		record := new(inter.EpochRecord)
		if ok, err := get(from, t, epochKey(e), record); err != nil || ok {
			return record, err
		}
	}
	return nil, nil
}

// putRecord writes the record of an epoch's beginning, if there is one.
func (r *rows) putRecord(s store.Store, record *inter.EpochRecord) error {
	if record == nil {
		return nil
	}
	return put(s, r.epochs, epochKey(record.Epoch), record)
}
