package evm

import (
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
)

// fill makes a transaction's receipt, and gives its logs their places in the block.
func (b *Block) fill(r *types.Receipt, tx *Tx, m *Message, result *Result) {
	r.CumulativeGasUsed = b.gasUsed
	r.Status = types.ReceiptStatusSuccessful
	if result.Err != nil {
		r.Status = types.ReceiptStatusFailed
	}
	r.Logs = b.state.TxLogs()
	place := receiptPosition{block: b.header.place(), txIndex: uint(len(b.txs)), firstLog: b.logs,
		gasBefore: b.gasUsed - result.GasUsed}
	place.derive(r, tx, m.Price)
	b.logs += uint(len(r.Logs))
}

// Bloom writes the filter of its logs into a receipt.
func Bloom(r *types.Receipt) { r.Bloom = types.CreateBloom(r) }

// Derive fills in what a stored receipt leaves out, for all receipts of a block: hashes,
// indexes, the gas of each, prices, blooms, addresses of contracts. txs are the block's,
// with their senders; Config and BlockID of the header are not used.
func Derive(h *Header, txs []Tx, receipts types.Receipts) error {
	if len(txs) != len(receipts) {
		return fmt.Errorf("derive the receipts of block %d: there are %d for %d transactions",
			h.Number, len(receipts), len(txs))
	}
	place := receiptPosition{block: h.place()}
	for i, r := range receipts {
		if r.CumulativeGasUsed < place.gasBefore {
			return fmt.Errorf(
				"derive the receipts of block %d: the gas used up to transaction %d is %d, and %d before it",
				h.Number, i, r.CumulativeGasUsed, place.gasBefore)
		}
		place.txIndex = uint(i)
		place.derive(r, &txs[i], Price(txs[i].Transaction, h.BaseFee))
		Bloom(r)
		place.gasBefore = r.CumulativeGasUsed
		place.firstLog += uint(len(r.Logs))
	}
	return nil
}

// blockPosition is what receipts and logs say of their block.
type blockPosition struct {
	hash   common.Hash
	number uint64
	time   uint64 // s
}

func (h *Header) place() blockPosition {
	return blockPosition{hash: common.Hash(h.ID), number: uint64(h.Number), time: h.Time.Seconds()}
}

// receiptPosition is a receipt's place in a block.
type receiptPosition struct {
	block     blockPosition
	txIndex   uint // among the executed ones
	firstLog  uint // index in the block
	gasBefore uint64
}

// derive fills in what follows from a receipt's place, its transaction and price.
func (p *receiptPosition) derive(r *types.Receipt, tx *Tx, price *big.Int) {
	r.Type = tx.Type()
	r.TxHash = tx.Hash()
	r.GasUsed = r.CumulativeGasUsed - p.gasBefore
	r.EffectiveGasPrice = price
	r.BlockHash = p.block.hash
	r.BlockNumber = new(big.Int).SetUint64(p.block.number)
	r.TransactionIndex = p.txIndex
	if tx.To() == nil {
		r.ContractAddress = crypto.CreateAddress(tx.From, tx.Nonce())
	}
	for i, l := range r.Logs {
		l.BlockHash, l.BlockNumber, l.BlockTimestamp = p.block.hash, p.block.number, p.block.time
		l.TxHash, l.TxIndex = r.TxHash, p.txIndex
		l.Index = p.firstLog + uint(i)
	}
}
