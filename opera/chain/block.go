package chain

import (
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"tarn/opera/evm"
	"tarn/opera/inter"
	"tarn/opera/state"
	"tarn/store"
)

// Block is a block as it was made. It is never changed.
type Block struct {
	Number  inter.BlockNumber
	Time    inter.Timestamp
	ID      inter.EventID
	GasUsed uint64
	// Events with transactions, in the order of their ids, those excluded that did not
	// fit into the block.
	Events   []inter.EventID
	Internal types.Transactions
	// Skipped are indexes of transactions that could not be executed, among the internal
	// ones and those of the events together.
	Skipped  []uint32
	Txs      types.Transactions // executed, the internal ones first
	Receipts types.Receipts     // of Txs, without blooms

	changes *state.Changes
}

// blockRow is a block in the store: of its own making, or from a record.
type blockRow struct {
	ID       inter.EventID
	Time     inter.Timestamp
	GasUsed  uint64
	Events   []inter.EventID
	Skipped  []uint32
	Txs      types.Transactions // that are in no event
	Receipts []*types.ReceiptForStorage
	Root     []byte // of a block from a record; else the state's tables have it
}

func (r *rows) putBlock(s store.Store, b *Block) error {
	row := blockRow{
		ID: b.ID, Time: b.Time, GasUsed: b.GasUsed, Events: b.Events, Skipped: b.Skipped, Txs: b.Internal,
		Receipts: make([]*types.ReceiptForStorage, len(b.Receipts)),
	}
	for i, receipt := range b.Receipts {
		row.Receipts[i] = (*types.ReceiptForStorage)(receipt)
	}
	return put(s, r.blocks, blockKey(b.Number), &row)
}

func (r *rows) putBlockRecord(s store.Store, b *inter.BlockRecord) error {
	return put(s, r.blocks, blockKey(b.Number), &blockRow{
		ID: b.Block.Atropos, Time: b.Block.Time, GasUsed: b.Block.GasUsed, Txs: b.Block.Txs, Receipts: b.Block.Receipts, Root: b.Block.Root[:],
	})
}

// block reads a block's row, nil if there is none.
func (r *rows) block(from store.Reader, number inter.BlockNumber) (*blockRow, error) {
	row := new(blockRow)
	ok, err := get(from, r.blocks, blockKey(number), row)
	if err != nil || !ok {
		return nil, err
	}
	return row, nil
}

// txs returns the transactions of a block, those that were executed.
func (r *rows) txs(from store.Reader, row *blockRow) (types.Transactions, error) {
	all := append(types.Transactions(nil), row.Txs...)
	for _, id := range row.Events {
		p, err := r.event(from, id)
		if err != nil {
			return nil, err
		}
		if p == nil {
			return nil, fmt.Errorf("event %v of block %v is not there", id, row.ID)
		}
		all = append(all, p.Txs...)
	}
	if len(row.Skipped) == 0 {
		return all, nil
	}
	kept, skipped := all[:0], row.Skipped
	for i, tx := range all {
		if len(skipped) > 0 && skipped[0] == uint32(i) {
			skipped = skipped[1:]
			continue
		}
		kept = append(kept, tx)
	}
	return kept, nil
}

// BlockRecord returns a block as it is exchanged, nil if there is none. It waits for the
// block's root.
func (c *Chain) BlockRecord(number inter.BlockNumber) (*inter.BlockRecord, error) {
	row, err := c.rows.block(c.store, number)
	if err != nil || row == nil {
		return nil, err
	}
	txs, err := c.rows.txs(c.store, row)
	if err != nil {
		return nil, err
	}
	record := &inter.BlockRecord{Number: number, Block: inter.BlockContent{
		Atropos: row.ID, Txs: txs, Receipts: row.Receipts, Time: row.Time, GasUsed: row.GasUsed,
	}}
	if len(row.Root) == common.HashLength {
		record.Block.Root = [32]byte(row.Root)
		return record, nil
	}
	record.Block.Root, err = c.Root(number)
	return record, err
}

// Receipts returns the receipts of a block with everything in them, nil if there is no
// such block.
func (c *Chain) Receipts(number inter.BlockNumber) (types.Receipts, error) {
	row, err := c.rows.block(c.store, number)
	if err != nil || row == nil {
		return nil, err
	}
	txs, err := c.rows.txs(c.store, row)
	if err != nil {
		return nil, err
	}
	record, err := c.recordAt(number)
	if err != nil {
		return nil, err
	}
	h := evm.Header{Number: number, Time: row.Time, ID: row.ID}
	if record != nil {
		h.BaseFee = evm.BaseFee(&record.State.EpochState.Rules)
	}
	signer := evm.Signer(c.config, number)
	sent := make([]evm.Tx, len(txs))
	for i, tx := range txs {
		from, err := evm.Sender(signer, tx)
		if err != nil {
			return nil, fmt.Errorf("the sender of transaction %d of block %d: %w", i, number, err)
		}
		sent[i] = evm.Tx{Transaction: tx, From: from}
	}
	receipts := make(types.Receipts, len(row.Receipts))
	for i, r := range row.Receipts {
		receipts[i] = (*types.Receipt)(r)
	}
	return receipts, evm.Derive(&h, sent, receipts)
}

// EpochRecord returns the beginning of an epoch, nil if it is not known.
func (c *Chain) EpochRecord(number inter.Epoch) (*inter.EpochRecord, error) {
	if c.record != nil && c.record.Epoch == number {
		return c.record, nil
	}
	record := new(inter.EpochRecord)
	ok, err := get(c.store, c.rows.epochs, epochKey(number), record)
	if err != nil || !ok {
		return nil, err
	}
	return record, nil
}

// EpochOf returns the epoch of a block by where epochs begin, 0 if it is before them all.
// Of a block that is still to come it is the present one.
func (c *Chain) EpochOf(number inter.BlockNumber) (inter.Epoch, error) {
	record, err := c.recordAt(number)
	if err != nil || record == nil {
		return 0, err
	}
	return record.Epoch, nil
}

// recordAt returns the record of the epoch of a block.
func (c *Chain) recordAt(number inter.BlockNumber) (*inter.EpochRecord, error) {
	first, last := inter.Epoch(0), c.epoch.Epoch
	var found *inter.EpochRecord
	for first < last || found == nil {
		middle := first + (last-first+1)/2
		record, err := c.EpochRecord(middle)
		if err != nil {
			return nil, err
		}
		switch {
		case record != nil && record.State.BlockState.LastBlock.Number < number:
			first, found = middle, record
		case middle == first:
			return found, nil
		default:
			last = middle - 1
		}
	}
	return found, nil
}
