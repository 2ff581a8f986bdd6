package evm

import (
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"tarn/opera/inter"
)

// offer is a transaction that is not signed yet.
type offer struct {
	kind       int // 0 legacy, 1 legacy for any network, 2 with a list, 3 with a dynamic fee
	to         *common.Address
	data       []byte
	nonce, gas uint64
	value      *big.Int
	price, tip *big.Int
	list       types.AccessList
}

// edge signs a transaction, mostly with the gas that it has, and often with exactly what
// it turns out to need, or one less or more.
func (s *scene) edge(b *sceneBlock, sender int, o offer) Tx {
	config := b.header.Config
	number := new(big.Int).SetUint64(uint64(b.header.Number))
	if o.kind == 3 && !config.IsLondon(number) || o.kind == 2 && !config.IsBerlin(number) {
		o.kind = 0
	}
	if o.kind < 2 {
		o.list = nil
	}
	least := inter.IntrinsicGas(o.data, o.list, o.to == nil)
	o.gas = max(o.gas, least)
	switch {
	case s.Chance(5):
		o.gas = least + s.Uint64N(3)
	case s.Chance(25):
		tx := s.sign(config.ChainID, sender, o)
		now := s.now
		s.now = now.copy()
		used, _ := s.run(b.header, tx)
		s.now = now
		// A tenth of the rest was burnt: used = need + (gas - need)/10.
		if need := used - (o.gas-min(o.gas, used))/9; used > 0 && need > least && need <= o.gas {
			o.gas = max(least, need+s.Uint64N(4)-2)
		}
	}
	return s.sign(config.ChainID, sender, o)
}

func (s *scene) sign(chain *big.Int, sender int, o offer) Tx {
	var inner types.TxData
	signer := types.Signer(types.NewLondonSigner(chain))
	switch o.kind {
	case 0, 1:
		inner = &types.LegacyTx{Nonce: o.nonce, GasPrice: o.price, Gas: o.gas, To: o.to, Value: o.value, Data: o.data}
		if o.kind == 1 {
			signer = types.HomesteadSigner{}
		}
	case 2:
		inner = &types.AccessListTx{
			ChainID: chain, Nonce: o.nonce, GasPrice: o.price, Gas: o.gas, To: o.to, Value: o.value, Data: o.data,
			AccessList: o.list,
		}
	case 3:
		inner = &types.DynamicFeeTx{
			ChainID: chain, Nonce: o.nonce, GasFeeCap: o.price, GasTipCap: o.tip, Gas: o.gas, To: o.to, Value: o.value,
			Data: o.data, AccessList: o.list,
		}
	}
	tx, err := types.SignNewTx(s.keys[sender], signer, inner)
	if err != nil {
		panic(err)
	}
	return Tx{Transaction: tx, From: s.sender(sender)}
}
