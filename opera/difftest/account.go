package difftest

import (
	"crypto/ecdsa"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/opera/genesis/fakenet"
	"tarn/opera/inter"
)

// Account is somebody who can sign.
type Account struct {
	Key     *ecdsa.PrivateKey
	Address common.Address

	nonce uint64 // of the next transaction that a Network sends for it
}

func newAccount(key *ecdsa.PrivateKey) *Account {
	return &Account{Key: key, Address: crypto.PubkeyToAddress(key.PublicKey)}
}

// ValidatorAccount is that of a validator of the genesis.
func ValidatorAccount(id inter.ValidatorID) (*Account, error) {
	key, err := fakenet.Key(id)
	if err != nil {
		return nil, err
	}
	return newAccount(key), nil
}

// otherAccount has nothing in the genesis; everybody has its key.
func otherAccount(n byte) (*Account, error) {
	key, err := crypto.ToECDSA(crypto.Keccak256([]byte{'o', 't', 'h', 'e', 'r', n}))
	if err != nil {
		return nil, fmt.Errorf("make the key of account %d: %w", n, err)
	}
	return newAccount(key), nil
}

// PublicKey is the account's as a validator's.
func (a *Account) PublicKey() inter.PublicKey {
	return inter.PublicKey{Type: inter.Secp256k1Key, Raw: crypto.FromECDSAPub(&a.Key.PublicKey)}
}

// Deed is what somebody wants to do: a transaction without a nonce, not signed.
type Deed struct {
	Kind  string // what it is counted as
	From  *Account
	To    *common.Address // nil creates a contract
	Value *big.Int        // nil is nothing
	Data  []byte
	Gas   uint64
	Price *big.Int // the most that is paid
	Type  uint8    // of the transaction, as types has them
	List  types.AccessList
	Tip   *big.Int // of the types that have one

	// made, if not nil, is told the address of the contract that is created.
	made func(common.Address)
}

// Sign makes the transaction with a nonce.
func (d *Deed) Sign(nonce uint64) (*types.Transaction, error) {
	chain := new(big.Int).SetUint64(inter.FakeNetwork)
	value := d.Value
	if value == nil {
		value = new(big.Int)
	}
	var tx types.TxData
	switch d.Type {
	case types.LegacyTxType:
		tx = &types.LegacyTx{Nonce: nonce, GasPrice: d.Price, Gas: d.Gas, To: d.To, Value: value, Data: d.Data}
	case types.AccessListTxType:
		tx = &types.AccessListTx{ChainID: chain, Nonce: nonce, GasPrice: d.Price, Gas: d.Gas, To: d.To, Value: value,
			Data: d.Data, AccessList: d.List}
	case types.DynamicFeeTxType:
		tx = &types.DynamicFeeTx{
			ChainID: chain, Nonce: nonce, GasFeeCap: d.Price, GasTipCap: d.Tip, Gas: d.Gas, To: d.To, Value: value,
			Data: d.Data, AccessList: d.List,
		}
	default:
		return nil, fmt.Errorf("sign a deed: no transaction has the type %d", d.Type)
	}
	signed, err := types.SignNewTx(d.From.Key, types.NewLondonSigner(chain), tx)
	if err != nil {
		return nil, fmt.Errorf("sign a transaction of %v: %w", d.From.Address, err)
	}
	if d.To == nil && d.made != nil {
		d.made(crypto.CreateAddress(d.From.Address, nonce))
	}
	return signed, nil
}
