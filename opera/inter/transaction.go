package inter

import (
	"errors"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"tarn/opera/inter/cser"
)

// ErrUnknownTxType is go-opera's word for a transaction of a type that Opera lacks.
var ErrUnknownTxType = errors.New("unknown tx type")

// writeTx writes a transaction as events of version 0 have it (go-opera,
// inter/transaction_serializer.go).
func writeTx(w *cser.Writer, tx *types.Transaction) error {
	switch {
	case !Supported(tx):
		return ErrUnknownTxType
	case tx.Type() != types.LegacyTxType:
		// The sizes of nonce and gas of a plain one are not both 0.
		w.Bits(6, 0)
		w.U8(tx.Type())
	case tx.Gas() <= 0xff:
		return errors.New("cannot serialize legacy tx with gasLimit <= 256")
	}
	w.U64(tx.Nonce())
	w.U64(tx.Gas())
	if tx.Type() == types.DynamicFeeTxType {
		w.Big(tx.GasTipCap())
		w.Big(tx.GasFeeCap())
	} else {
		w.Big(tx.GasPrice())
	}
	w.Big(tx.Value())
	to := tx.To()
	w.Bool(to != nil)
	if to != nil {
		w.Fixed(to[:])
	}
	w.Slice(tx.Data())
	v, r, s := tx.RawSignatureValues()
	w.Big(v)
	// A number above 2^256 has no place here; the first 32 bytes stand for it.
	for _, n := range []*big.Int{r, s} {
		w.Fixed(common.LeftPadBytes(n.Bytes(), 32)[:32])
	}
	if tx.Type() == types.LegacyTxType {
		return nil
	}
	w.Big(tx.ChainId())
	w.U32(uint32(len(tx.AccessList())))
	for _, tuple := range tx.AccessList() {
		w.Fixed(tuple.Address[:])
		w.U32(uint32(len(tuple.StorageKeys)))
		for _, key := range tuple.StorageKeys {
			w.Fixed(key[:])
		}
	}
	return nil
}

// readTxs reads the transactions of an event of version 0.
func readTxs(r *cser.Reader) (types.Transactions, error) {
	n := r.Length()
	switch {
	case r.Err() != nil:
		return nil, r.Err()
	case n == 0:
		return nil, cser.ErrNotCanonical
	case n > MaxEventSize/64:
		return nil, cser.ErrTooLarge
	}
	var txs types.Transactions
	for range n {
		tx, err := readTx(r)
		if err != nil {
			return nil, err
		}
		txs = append(txs, tx)
	}
	return txs, nil
}

// readTx reads what writeTx writes.
func readTx(r *cser.Reader) (*types.Transaction, error) {
	kind := uint8(types.LegacyTxType)
	if r.Peek(6) == 0 && r.Err() == nil {
		r.Bits(6)
		kind = r.U8()
	}
	nonce, gas := r.U64(), r.U64()
	price := r.Big() // the tip where there are two
	var feeCap *big.Int
	if kind == types.DynamicFeeTxType {
		feeCap = r.Big()
	}
	value := r.Big()
	var to *common.Address
	if r.Bool() {
		to = new(common.Address)
		r.Fixed(to[:])
	}
	data := r.Slice(MaxEventSize)
	v := r.Big()
	var rs Signature
	r.Fixed(rs[:])
	sr, ss := new(big.Int).SetBytes(rs[:32]), new(big.Int).SetBytes(rs[32:])
	var chainID *big.Int
	var list types.AccessList
	if kind == types.AccessListTxType || kind == types.DynamicFeeTxType {
		chainID, list = r.Big(), readAccessList(r)
	}
	if r.Err() != nil {
		return nil, r.Err()
	}
	switch kind {
	case types.LegacyTxType:
		return types.NewTx(&types.LegacyTx{Nonce: nonce, GasPrice: price, Gas: gas, To: to, Value: value, Data: data,
			V: v, R: sr, S: ss}), nil
	case types.AccessListTxType:
		return types.NewTx(&types.AccessListTx{
			ChainID: chainID, Nonce: nonce, GasPrice: price, Gas: gas, To: to, Value: value, Data: data,
			AccessList: list, V: v, R: sr, S: ss,
		}), nil
	case types.DynamicFeeTxType:
		return types.NewTx(&types.DynamicFeeTx{
			ChainID: chainID, Nonce: nonce, GasTipCap: price, GasFeeCap: feeCap, Gas: gas, To: to,
			Value: value, Data: data,
			AccessList: list, V: v, R: sr, S: ss,
		}), nil
	}
	return nil, ErrUnknownTxType
}

func readAccessList(r *cser.Reader) types.AccessList {
	list := make(types.AccessList, r.Count(MaxEventSize/24, common.AddressLength+1))
	for i := range list {
		r.Fixed(list[i].Address[:])
		list[i].StorageKeys = make([]common.Hash, r.Count(MaxEventSize/32, common.HashLength))
		for j := range list[i].StorageKeys {
			r.Fixed(list[i].StorageKeys[j][:])
		}
	}
	return list
}
