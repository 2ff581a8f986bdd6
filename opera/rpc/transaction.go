package rpc

import (
	"encoding/hex"
	"errors"
	"math/big"
	"strconv"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"tarn/opera/chain"
	"tarn/opera/evm"
)

// TxJSON is a transaction as clients see it. What says where it was executed is null of one
// that waits.
type TxJSON struct {
	BlockHash        *common.Hash      `json:"blockHash"`
	BlockNumber      *hexutil.Uint64   `json:"blockNumber"`
	From             common.Address    `json:"from"`
	Gas              hexutil.Uint64    `json:"gas"`
	GasPrice         *hexutil.Big      `json:"gasPrice"`
	GasFeeCap        *hexutil.Big      `json:"maxFeePerGas,omitempty"`
	GasTipCap        *hexutil.Big      `json:"maxPriorityFeePerGas,omitempty"`
	Hash             common.Hash       `json:"hash"`
	Input            hexutil.Bytes     `json:"input"`
	Nonce            hexutil.Uint64    `json:"nonce"`
	To               *common.Address   `json:"to"`
	TransactionIndex *hexutil.Uint64   `json:"transactionIndex"`
	Value            *hexutil.Big      `json:"value"`
	Type             hexutil.Uint64    `json:"type"`
	Accesses         *types.AccessList `json:"accessList,omitempty"`
	ChainID          *hexutil.Big      `json:"chainId,omitempty"`
	V                *hexutil.Big      `json:"v"`
	R                *hexutil.Big      `json:"r"`
	S                *hexutil.Big      `json:"s"`
}

// txJSON tells an executed transaction of a block.
func (b *block) txJSON(index uint64) *TxJSON {
	if index >= uint64(len(b.Txs)) {
		return nil
	}
	t := newTxJSON(b.Txs[index], b.Senders[index])
	t.Hash = b.TxHash(int(index))
	hash, number, place := common.Hash(b.ID), hexutil.Uint64(b.Number), hexutil.Uint64(index)
	t.BlockHash, t.BlockNumber, t.TransactionIndex = &hash, &number, &place
	if tx := b.Txs[index]; tx.Type() == types.DynamicFeeTxType && b.BaseFee != nil {
		t.GasPrice = (*hexutil.Big)(evm.Price(tx, b.BaseFee))
	}
	return t
}

// pendingJSON tells a transaction that waits.
func pendingJSON(tx *types.Transaction) *TxJSON {
	from, err := evm.Sender(evm.SignerOf(tx), tx)
	if err != nil {
		from = common.Address{}
	}
	return newTxJSON(tx, from)
}

func newTxJSON(tx *types.Transaction, from common.Address) *TxJSON {
	v, r, s := tx.RawSignatureValues()
	t := &TxJSON{
		From: from, Gas: hexutil.Uint64(tx.Gas()), GasPrice: (*hexutil.Big)(tx.GasPrice()), Hash: tx.Hash(),
		Input: tx.Data(),
		Nonce: hexutil.Uint64(tx.Nonce()), To: tx.To(), Value: (*hexutil.Big)(tx.Value()),
		Type: hexutil.Uint64(tx.Type()),
		V:    (*hexutil.Big)(v), R: (*hexutil.Big)(r), S: (*hexutil.Big)(s),
	}
	if tx.Type() == types.LegacyTxType {
		return t
	}
	list := tx.AccessList()
	t.Accesses, t.ChainID = &list, (*hexutil.Big)(tx.ChainId())
	if tx.Type() == types.DynamicFeeTxType {
		t.GasFeeCap, t.GasTipCap = (*hexutil.Big)(tx.GasFeeCap()), (*hexutil.Big)(tx.GasTipCap())
		t.GasPrice = t.GasFeeCap
	}
	return t
}

// LogJSON is a log as clients see it.
type LogJSON struct {
	Address     common.Address `json:"address"`
	Topics      []common.Hash  `json:"topics"`
	Data        hexutil.Bytes  `json:"data"`
	BlockNumber hexutil.Uint64 `json:"blockNumber"`
	TxHash      common.Hash    `json:"transactionHash"`
	TxIndex     hexutil.Uint   `json:"transactionIndex"`
	BlockHash   common.Hash    `json:"blockHash"`
	Index       hexutil.Uint   `json:"logIndex"`
	Removed     bool           `json:"removed"` // never: blocks are final
}

func logJSON(l *types.Log) *LogJSON {
	topics := l.Topics
	if topics == nil {
		topics = []common.Hash{}
	}
	return &LogJSON{
		Address: l.Address, Topics: topics, Data: l.Data, BlockNumber: hexutil.Uint64(l.BlockNumber), TxHash: l.TxHash,
		TxIndex: hexutil.Uint(l.TxIndex), BlockHash: l.BlockHash, Index: hexutil.Uint(l.Index),
	}
}

// appendLogs appends what logsJSON makes of logs, as JSON.
func appendLogs(out []byte, list []*types.Log) []byte {
	out = append(out, '[')
	for i, l := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendLog(out, l)
	}
	return append(out, ']')
}

func appendLog(out []byte, l *types.Log) []byte {
	out = hex.AppendEncode(append(out, `{"address":"0x`...), l.Address[:])
	out = append(out, `","topics":[`...)
	for i := range l.Topics {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(hex.AppendEncode(append(out, `"0x`...), l.Topics[i][:]), '"')
	}
	out = hex.AppendEncode(append(out, `],"data":"0x`...), l.Data)
	out = strconv.AppendUint(append(out, `","blockNumber":"0x`...), l.BlockNumber, 16)
	out = hex.AppendEncode(append(out, `","transactionHash":"0x`...), l.TxHash[:])
	out = strconv.AppendUint(append(out, `","transactionIndex":"0x`...), uint64(l.TxIndex), 16)
	out = hex.AppendEncode(append(out, `","blockHash":"0x`...), l.BlockHash[:])
	out = strconv.AppendUint(append(out, `","logIndex":"0x`...), uint64(l.Index), 16)
	return append(out, `","removed":false}`...)
}

func logsJSON(list []*types.Log) []*LogJSON {
	all := make([]*LogJSON, len(list))
	for i, l := range list {
		all[i] = logJSON(l)
	}
	return all
}

// ReceiptJSON is a receipt as clients see it: in the order of the names.
type ReceiptJSON struct {
	BlockHash         common.Hash     `json:"blockHash"`
	BlockNumber       hexutil.Uint64  `json:"blockNumber"`
	ContractAddress   *common.Address `json:"contractAddress"`
	CumulativeGasUsed hexutil.Uint64  `json:"cumulativeGasUsed"`
	EffectiveGasPrice hexutil.Uint64  `json:"effectiveGasPrice"`
	From              common.Address  `json:"from"`
	GasUsed           hexutil.Uint64  `json:"gasUsed"`
	Logs              []*LogJSON      `json:"logs"`
	LogsBloom         types.Bloom     `json:"logsBloom"`
	Root              *hexutil.Bytes  `json:"root,omitempty"`
	Status            *hexutil.Uint64 `json:"status,omitempty"`
	To                *common.Address `json:"to"`
	TransactionHash   common.Hash     `json:"transactionHash"`
	TransactionIndex  hexutil.Uint64  `json:"transactionIndex"`
	Type              hexutil.Uint64  `json:"type"`
}

// receiptJSON tells the receipt of an executed transaction of a block, nil if there is
// none.
func (b *block) receiptJSON(index uint64) *ReceiptJSON {
	if index >= uint64(len(b.Receipts)) || index >= uint64(len(b.Txs)) {
		return nil
	}
	tx, r := b.Txs[index], b.Receipts[index]
	t := &ReceiptJSON{
		BlockHash: common.Hash(b.ID), BlockNumber: hexutil.Uint64(b.Number),
		CumulativeGasUsed: hexutil.Uint64(r.CumulativeGasUsed),
		EffectiveGasPrice: hexutil.Uint64(effectivePrice(tx, b.BaseFee).Uint64()), From: b.Senders[index],
		GasUsed: hexutil.Uint64(r.GasUsed),
		Logs:    logsJSON(r.Logs), LogsBloom: r.Bloom, To: tx.To(), TransactionHash: b.TxHash(int(index)),
		TransactionIndex: hexutil.Uint64(index),
		Type:             hexutil.Uint64(tx.Type()),
	}
	if tx.To() == nil {
		t.ContractAddress = &r.ContractAddress
	}
	if len(r.PostState) != 0 {
		t.Root = (*hexutil.Bytes)(&r.PostState)
	} else {
		t.Status = (*hexutil.Uint64)(&r.Status)
	}
	return t
}

// effectivePrice is what go-opera tells as the price of a unit of gas: the base fee and the tip up to
// what the transaction allows, which is less than the base fee only of internal ones.
func effectivePrice(tx *types.Transaction, baseFee *big.Int) *big.Int {
	if baseFee == nil {
		return tx.GasPrice()
	}
	price := new(big.Int).Add(tx.GasTipCap(), baseFee)
	if most := tx.GasFeeCap(); price.Cmp(most) > 0 {
		return most
	}
	return price
}

// find returns an executed transaction's block and its index in it, nil if it was not
// executed.
func (v *view) find(hash common.Hash) (found *block, index uint64, err error) {
	var failed error
	err = v.Places(hash, func(p chain.TxPlace) bool {
		b, err := v.block(p.Block)
		if failed = err; err != nil {
			return false
		}
		if b != nil && p.Index < uint(len(b.Txs)) && b.TxHash(int(p.Index)) == hash {
			found, index = b, uint64(p.Index)
		}
		return found == nil
	})
	if err == nil {
		err = failed // joined it would lose its code
	}
	return found, index, err
}

// waiting returns a transaction that waits as a view shows the chain, nil if there is none: one of
// the pool, or of a block that is not shown yet, which the pool has forgotten already.
func (s *Service) waiting(v *view, hash common.Hash) (tx *types.Transaction, err error) {
	if tx := s.options.Pool.Get(hash); tx != nil {
		return tx, nil
	}
	of, err := s.options.Chain.View()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, of.Close()) }()
	if of.Head().Number == v.Head().Number {
		return nil, nil
	}
	newest := &view{View: of, service: s}
	b, index, err := newest.find(hash)
	if err != nil || b == nil {
		return nil, err
	}
	return b.Txs[index], nil
}
