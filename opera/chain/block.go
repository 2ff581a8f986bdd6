package chain

import (
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"tarn/opera/blocklog"
	"tarn/opera/evm"
	"tarn/opera/inter"
	"tarn/opera/state"
)

// Block is a block as it was made. It is never changed.
type Block struct {
	Number  inter.BlockNumber
	Time    inter.Timestamp
	ID      inter.EventID
	GasUsed uint64
	BaseFee *big.Int // nil before London
	// Events with transactions, in the order of their ids, those excluded that did not
	// fit into the block.
	Events []inter.EventID
	// Internal are those that stand in no event; all of a block that came as a record.
	Internal types.Transactions
	// Skipped are indexes of transactions that could not be executed, among the internal
	// ones and those of the events together.
	Skipped  []uint32
	Txs      types.Transactions // executed, the internal ones first
	Senders  []common.Address   // of Txs
	Receipts types.Receipts     // of Txs; without blooms where the block has just been made

	changes *state.Changes
	names   map[int]common.Hash // of Txs that are told by other hashes than their own
	events  []uint64            // the numbers of Events in their log
}

// entry is the block for the log.
func (b *Block) entry() *blocklog.Block {
	e := &blocklog.Block{
		ID: b.ID, Time: b.Time, GasUsed: b.GasUsed, Events: b.events, Txs: b.Internal, Skipped: b.Skipped,
		Receipts: make([]*types.ReceiptForStorage, len(b.Receipts)), Found: b.lookupKeys(), Senders: b.Senders,
	}
	for i, receipt := range b.Receipts {
		e.Receipts[i] = (*types.ReceiptForStorage)(receipt)
	}
	return e
}

// recordEntry is a block that came as a record, for the log.
func recordEntry(b *inter.BlockRecord) *blocklog.Block {
	return &blocklog.Block{
		ID: b.Block.Atropos, Time: b.Block.Time, GasUsed: b.Block.GasUsed, Txs: b.Block.Txs, Receipts: b.Block.Receipts,
		Found: (&Block{Txs: b.Block.Txs}).lookupKeys(), Root: b.Block.Root[:],
	}
}

// assemble puts a block together from its entry and its events.
func (l *logs) assemble(number inter.BlockNumber, e *blocklog.Block) (*Block, error) {
	return assemble(number, e, l.events.Read)
}

// assemble puts a block together from its entry and its events, which are read by their numbers.
func assemble(
	number inter.BlockNumber, e *blocklog.Block, event func(n uint64) (inter.EventID, []byte, error),
) (*Block, error) {
	b := &Block{
		Number: number, Time: e.Time, ID: e.ID, GasUsed: e.GasUsed, Internal: e.Txs, Skipped: e.Skipped,
		Senders: e.Senders, Receipts: make(types.Receipts, len(e.Receipts)), events: e.Events,
	}
	for i, r := range e.Receipts {
		b.Receipts[i] = (*types.Receipt)(r)
	}
	all := append(types.Transactions(nil), e.Txs...)
	payloads := make([]*inter.Payload, 0, len(e.Events))
	for _, n := range e.Events {
		id, raw, err := event(n)
		if err != nil {
			return nil, fmt.Errorf("block %d: %w", number, err)
		}
		p, err := inter.DecodePayload(raw)
		if err != nil {
			return nil, fmt.Errorf("event %v of block %d: %w", id, number, err)
		}
		b.Events = append(b.Events, id)
		all = append(all, p.Txs...)
		payloads = append(payloads, p)
	}
	b.Txs = withoutSkipped(all, e.Skipped)
	b.renameAll(payloads)
	return b, nil
}

// withoutSkipped leaves the skipped ones out.
func withoutSkipped(all types.Transactions, skipped []uint32) types.Transactions {
	kept := all[:0]
	for i, tx := range all {
		if len(skipped) > 0 && skipped[0] == uint32(i) {
			skipped = skipped[1:]
			continue
		}
		kept = append(kept, tx)
	}
	return kept
}

// derive fills in the base fee, the senders where the log has none, and all that receipts leave out.
func (b *Block) derive(h *evm.Header) error {
	b.BaseFee = h.BaseFee
	sent := make([]evm.Tx, len(b.Txs))
	if len(b.Senders) != len(b.Txs) {
		// Events had no type of transaction that was not allowed; now it may be again.
		signer := types.NewLondonSigner(h.Config.ChainID)
		b.Senders = make([]common.Address, len(b.Txs))
		for i, tx := range b.Txs {
			from, err := evm.Sender(signer, tx)
			if err != nil {
				return fmt.Errorf("the sender of transaction %d of block %d: %w", i, b.Number, err)
			}
			b.Senders[i] = from
		}
	}
	for i, tx := range b.Txs {
		sent[i] = evm.Tx{Transaction: tx, From: b.Senders[i]}
	}
	err := evm.Derive(h, sent, b.Receipts)
	if err == nil {
		b.renameReceipts()
	}
	return err
}
