package evm

import (
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// Tx is a transaction with its sender, see Sender.
type Tx struct {
	*types.Transaction
	From common.Address
}

// IsInternal tells whether a transaction is one of those that a block makes itself, for
// the driver contract: their signatures have neither v nor r (go-opera,
// utils/signers/internaltx). No signer accepts one from elsewhere.
func IsInternal(tx *types.Transaction) bool {
	v, r, _ := tx.RawSignatureValues()
	return v.Sign() == 0 && r.Sign() == 0
}

// Sender returns who sent a transaction. Of an internal one it is the number that stands
// for s.
func Sender(signer types.Signer, tx *types.Transaction) (common.Address, error) {
	if IsInternal(tx) {
		_, _, s := tx.RawSignatureValues()
		return common.BytesToAddress(s.Bytes()), nil
	}
	from, err := types.Sender(signer, tx)
	if err != nil {
		return common.Address{}, fmt.Errorf("recover the sender of transaction %x: %w", tx.Hash(), err)
	}
	return from, nil
}

// SignerOf returns the signer of the chain that a transaction names itself; where it names none, it is
// of any chain. It is for transactions that a node has let in: a signer of another chain's is none.
func SignerOf(tx *types.Transaction) types.Signer {
	if id := tx.ChainId(); id.Sign() > 0 { // the library panics for others
		return types.NewLondonSigner(id)
	}
	return types.HomesteadSigner{}
}

// Message is what a transaction, or somebody who only asks, wants executed.
type Message struct {
	From       common.Address
	To         *common.Address // nil to create a contract
	Nonce      uint64
	Gas        uint64
	Price      *big.Int // what a unit of gas costs, in wei: see Price
	Value      *big.Int // in wei
	Data       []byte
	AccessList types.AccessList
	// Unchecked leaves out the checks of the nonce and of the sender having no code:
	// internal transactions, and those who only ask.
	Unchecked bool
}

// Price returns what a unit of gas costs a transaction: what it offers, or with London
// the base fee (nil before it) and the tip up to the greatest price that it allows.
func Price(tx *types.Transaction, baseFee *big.Int) *big.Int {
	if baseFee == nil || tx.Type() != types.DynamicFeeTxType {
		return tx.GasPrice()
	}
	price, most := tx.GasTipCap(), tx.GasFeeCap()
	if price.Add(price, baseFee).Cmp(most) > 0 {
		return most
	}
	return price
}

// message returns the message of a transaction in a block with a base fee, or nil.
func (tx *Tx) message(baseFee *big.Int) Message {
	return Message{
		From:       tx.From,
		To:         tx.To(),
		Nonce:      tx.Nonce(),
		Gas:        tx.Gas(),
		Price:      Price(tx.Transaction, baseFee),
		Value:      tx.Value(),
		Data:       tx.Data(),
		AccessList: tx.AccessList(),
		Unchecked:  IsInternal(tx.Transaction),
	}
}

// transaction is the message as hooks are told of it.
func (m *Message) transaction() *types.Transaction {
	return types.NewTx(&types.LegacyTx{Nonce: m.Nonce, GasPrice: m.Price, Gas: m.Gas, To: m.To, Value: m.Value,
		Data: m.Data})
}
