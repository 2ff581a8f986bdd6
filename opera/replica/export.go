package replica

import (
	"encoding/hex"
	"fmt"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/fleet"
	"tarn/fleet/parquet"
	"tarn/opera/chain"
)

// Exported is the ledger's part of an export: rows of the blocks that a fleet's nodes publish.
func Exported() parquet.Ledger {
	return parquet.NewLedger(Ledger, func(log uint8) bool { return log == recordTold }, exportRows)
}

// exportedBlock is a row of the table blocks.
type exportedBlock struct {
	Block        uint64 `parquet:"block,delta"`
	ID           string `parquet:"id"`
	Previous     string `parquet:"previous"`
	Epoch        uint32 `parquet:"epoch"`
	Time         int64  `parquet:"time,timestamp(nanosecond)"`
	GasUsed      uint64 `parquet:"gas_used"`
	Root         string `parquet:"state_root"`
	Transactions uint32 `parquet:"transactions"`
}

// Size implements parquet.Row.
func (b exportedBlock) Size() int64 {
	const numbers = 3*8 + 2*4
	return numbers + int64(len(b.ID)+len(b.Previous)+len(b.Root))
}

// exportedTransaction is a row of the table transactions: one that was executed, with its receipt. Amounts of wei are
// decimal text, as no number of Parquet is large enough.
type exportedTransaction struct {
	Block    uint64        `parquet:"block,delta"`
	Index    uint32        `parquet:"tx_index,delta"`
	Hash     string        `parquet:"hash"`
	From     string        `parquet:"from_address,dict"`
	To       *string       `parquet:"to_address,optional,dict"` // nil for one that creates a contract
	Contract *string       `parquet:"contract_address,optional"`
	Type     uint32        `parquet:"type"`
	Nonce    uint64        `parquet:"nonce"`
	Value    string        `parquet:"value"`
	Gas      uint64        `parquet:"gas"`
	GasUsed  uint64        `parquet:"gas_used"`
	Price    string        `parquet:"gas_price,dict"` // the most that a unit of gas may cost
	Tip      string        `parquet:"gas_tip,dict"`
	Status   uint32        `parquet:"status"`
	Input    []byte        `parquet:"input"`
	Logs     []exportedLog `parquet:"logs,list"`
}

// exportedLog is what a contract said.
type exportedLog struct {
	Index   uint32   `parquet:"log_index"` // in the block
	Address string   `parquet:"address,dict"`
	Topics  []string `parquet:"topics,list"`
	Data    []byte   `parquet:"data"`
}

// Size implements parquet.Row.
func (t exportedTransaction) Size() int64 {
	const numbers, address, log, topic = 6*8 + 4*4, 44, 64, 72
	n := numbers + 2*address + int64(len(t.Hash)+len(t.Value)+len(t.Price)+len(t.Tip)+len(t.Input))
	for i := range t.Logs {
		n += log + topic*int64(len(t.Logs[i].Topics)) + int64(len(t.Logs[i].Data))
	}
	return n
}

// exportRows makes the rows of a block.
func exportRows(b *fleet.Block, block func(exportedBlock) error, transaction func(exportedTransaction) error) error {
	told, err := decodeTold(b)
	if err != nil {
		return err
	}
	x, err := told.Assemble()
	if err != nil {
		return fmt.Errorf("%w: the record of block %d: %w", fleet.ErrDamaged, b.Revision, err)
	}
	err = block(exportedBlock{
		Block: b.Revision, ID: hexOf(b.ID[:]), Previous: hexOf(b.Parent.ID[:]), Epoch: uint32(x.ID.Epoch()),
		Time:    int64(x.Time),
		GasUsed: x.GasUsed, Root: hexOf(told.Root[:]), Transactions: uint32(len(x.Txs)),
	})
	before, logs := uint64(0), uint32(0)
	for i := 0; i < len(x.Txs) && err == nil; i++ {
		r := x.Receipts[i]
		if r.CumulativeGasUsed < before {
			return fmt.Errorf("%w: the gas used up to transaction %d of block %d is %d, and %d before it",
				fleet.ErrDamaged, i, b.Revision, r.CumulativeGasUsed, before)
		}
		row := transactionRow(x, i)
		row.GasUsed = r.CumulativeGasUsed - before
		before = r.CumulativeGasUsed
		row.Logs = logRows(r.Logs, logs)
		logs += uint32(len(r.Logs))
		err = transaction(row)
	}
	return err
}

// transactionRow is a transaction without its gas and logs, of which other transactions of the block say where they
// begin.
func transactionRow(x *chain.Block, i int) exportedTransaction {
	tx, from, hash := x.Txs[i], x.Senders[i], x.TxHash(i)
	row := exportedTransaction{
		Block: uint64(x.Number), Index: uint32(i), Hash: hexOf(hash[:]), From: hexOf(from[:]), Type: uint32(tx.Type()),
		Nonce: tx.Nonce(),
		Value: tx.Value().String(), Gas: tx.Gas(), Price: tx.GasFeeCap().String(), Tip: tx.GasTipCap().String(),
		Status: uint32(x.Receipts[i].Status), Input: tx.Data(),
	}
	if to := tx.To(); to != nil {
		row.To = new(hexOf(to[:]))
	} else {
		made := crypto.CreateAddress(from, tx.Nonce())
		row.Contract = new(hexOf(made[:]))
	}
	return row
}

func logRows(list []*types.Log, first uint32) []exportedLog {
	rows := make([]exportedLog, len(list))
	for i, l := range list {
		rows[i] = exportedLog{Index: first + uint32(i), Address: hexOf(l.Address[:]), Data: l.Data,
			Topics: make([]string, len(l.Topics))}
		for j := range l.Topics {
			rows[i].Topics[j] = hexOf(l.Topics[j][:])
		}
	}
	return rows
}

func hexOf(b []byte) string { return "0x" + hex.EncodeToString(b) }
