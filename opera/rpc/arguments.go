package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"tarn/opera/evm"
	"tarn/opera/gasprice"
)

// TransactionArgs are a transaction that somebody wants, or a call. What is nil was not said.
// The name of the type stands in errors that clients get.
type TransactionArgs struct {
	From                 *common.Address `json:"from"`
	To                   *common.Address `json:"to"`
	Gas                  *hexutil.Uint64 `json:"gas"`
	GasPrice             *hexutil.Big    `json:"gasPrice"`
	MaxFeePerGas         *hexutil.Big    `json:"maxFeePerGas"`
	MaxPriorityFeePerGas *hexutil.Big    `json:"maxPriorityFeePerGas"`
	Value                *hexutil.Big    `json:"value"`
	Nonce                *hexutil.Uint64 `json:"nonce"`
	// Data is the older name of Input, which is preferred.
	Data       *hexutil.Bytes    `json:"data"`
	Input      *hexutil.Bytes    `json:"input"`
	AccessList *types.AccessList `json:"accessList,omitempty"`
	ChainID    *hexutil.Big      `json:"chainId,omitempty"`
}

func (a *TransactionArgs) from() common.Address {
	if a.From == nil {
		return common.Address{}
	}
	return *a.From
}

func (a *TransactionArgs) input() []byte {
	switch {
	case a.Input != nil:
		return *a.Input
	case a.Data != nil:
		return *a.Data
	}
	return nil
}

func (a *TransactionArgs) list() types.AccessList {
	if a.AccessList == nil {
		return nil
	}
	return *a.AccessList
}

var errBothPrices = errors.New("both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified")

func (a *TransactionArgs) bothPrices() bool {
	return a.GasPrice != nil && (a.MaxFeePerGas != nil || a.MaxPriorityFeePerGas != nil)
}

func number(b *hexutil.Big) *big.Int {
	if b == nil {
		return new(big.Int)
	}
	return b.ToInt()
}

// message is the call that the arguments describe, with the gas that is left to it by a cap,
// in a block with a base fee or nil.
func (a *TransactionArgs) message(gasCap uint64, baseFee *big.Int) (*evm.Message, error) {
	if a.bothPrices() {
		return nil, errBothPrices
	}
	m := &evm.Message{
		From: a.from(), To: a.To, Gas: gasCap, Price: number(a.GasPrice), Value: number(a.Value),
		Data: a.input(), AccessList: a.list(), Unchecked: true,
	}
	if gasCap == 0 {
		m.Gas = math.MaxUint64 / 2
	}
	if a.Gas != nil && (gasCap == 0 || uint64(*a.Gas) < gasCap) {
		m.Gas = uint64(*a.Gas)
	}
	if most, tip := number(a.MaxFeePerGas), number(a.MaxPriorityFeePerGas); baseFee != nil && a.GasPrice == nil &&
		(most.Sign() != 0 || tip.Sign() != 0) {
		m.Price = new(big.Int).Add(tip, baseFee)
		if m.Price.Cmp(most) > 0 {
			m.Price = most
		}
	}
	return m, nil
}

// checkChain refuses what is meant for another chain. A transaction of the oldest form does not say
// which chain it is for, until it is signed.
func (a *TransactionArgs) checkChain(v *view) error {
	if want := v.Config().ChainID; a.ChainID != nil && a.ChainID.ToInt().Cmp(want) != 0 {
		return fmt.Errorf("chainId does not match this chain's: have %v, want %v", a.ChainID.ToInt(), want)
	}
	return nil
}

// complete says what the arguments leave out, so that they are a transaction.
func (a *TransactionArgs) complete(ctx context.Context, v *view) error {
	if err := a.checkChain(v); err != nil {
		return err
	}
	if err := a.completePrice(v); err != nil {
		return err
	}
	if a.Value == nil {
		a.Value = new(hexutil.Big)
	}
	if a.Nonce == nil {
		nonce, err := v.service.nonce(v, a.from())
		if err != nil {
			return err
		}
		a.Nonce = (*hexutil.Uint64)(&nonce)
	}
	if a.Data != nil && a.Input != nil && !bytes.Equal(*a.Data, *a.Input) {
		return errors.New(
			`both "data" and "input" are set and not equal. Please use "input" to pass transaction call data`)
	}
	if a.To == nil && len(a.input()) == 0 {
		return errors.New(`contract creation without any data provided`)
	}
	if a.Gas == nil {
		// go-opera estimates by data alone, whatever input says.
		ask := TransactionArgs{From: a.From, To: a.To, GasPrice: a.GasPrice, MaxFeePerGas: a.MaxFeePerGas,
			MaxPriorityFeePerGas: a.MaxPriorityFeePerGas,
			Value:                a.Value, Data: a.Data, AccessList: a.AccessList}
		gas, err := v.estimate(ctx, ask, refTo(Pending))
		if err != nil {
			return err
		}
		a.Gas = &gas
	}
	if a.ChainID == nil {
		a.ChainID = (*hexutil.Big)(v.Config().ChainID)
	}
	return nil
}

// completePrice says what to pay: with London a tip and a limit, if not gasPrice was said.
func (a *TransactionArgs) completePrice(v *view) error {
	if a.bothPrices() {
		return errBothPrices
	}
	if a.MaxPriorityFeePerGas != nil && a.MaxFeePerGas != nil {
		return a.checkTip()
	}
	london := v.Config().IsLondon(new(big.Int).SetUint64(uint64(v.Head().Number)))
	if !london || a.GasPrice != nil {
		if a.MaxFeePerGas != nil || a.MaxPriorityFeePerGas != nil {
			return errors.New("maxFeePerGas or maxPriorityFeePerGas specified but london is not active yet")
		}
		if a.GasPrice == nil {
			price := v.service.options.Prices.Tip(v.View, gasprice.ByDefault)
			a.GasPrice = (*hexutil.Big)(price.Add(price, v.minPrice()))
		}
		return nil
	}
	if a.MaxPriorityFeePerGas == nil {
		a.MaxPriorityFeePerGas = (*hexutil.Big)(v.service.options.Prices.Tip(v.View, gasprice.ByDefault))
	}
	if a.MaxFeePerGas == nil {
		most := v.minPrice()
		a.MaxFeePerGas = (*hexutil.Big)(most.Add(most, a.MaxPriorityFeePerGas.ToInt()))
	}
	return a.checkTip()
}

func (a *TransactionArgs) checkTip() error {
	if a.MaxFeePerGas.ToInt().Cmp(a.MaxPriorityFeePerGas.ToInt()) < 0 {
		return fmt.Errorf("maxFeePerGas (%v) < maxPriorityFeePerGas (%v)", a.MaxFeePerGas, a.MaxPriorityFeePerGas)
	}
	return nil
}

// transaction is the one that complete arguments describe, not signed.
func (a *TransactionArgs) transaction() *types.Transaction {
	switch {
	case a.MaxFeePerGas != nil:
		list := a.list()
		if list == nil {
			list = types.AccessList{}
		}
		return types.NewTx(&types.DynamicFeeTx{
			To: a.To, ChainID: a.ChainID.ToInt(), Nonce: uint64(*a.Nonce), Gas: uint64(*a.Gas),
			GasFeeCap: a.MaxFeePerGas.ToInt(), GasTipCap: a.MaxPriorityFeePerGas.ToInt(), Value: a.Value.ToInt(),
			Data: a.input(), AccessList: list,
		})
	case a.AccessList != nil:
		return types.NewTx(&types.AccessListTx{
			To: a.To, ChainID: a.ChainID.ToInt(), Nonce: uint64(*a.Nonce), Gas: uint64(*a.Gas),
			GasPrice: a.GasPrice.ToInt(),
			Value:    a.Value.ToInt(), Data: a.input(), AccessList: *a.AccessList,
		})
	}
	return types.NewTx(&types.LegacyTx{
		To: a.To, Nonce: uint64(*a.Nonce), Gas: uint64(*a.Gas), GasPrice: number(a.GasPrice), Value: a.Value.ToInt(),
		Data: a.input(),
	})
}

// checkFee refuses a transaction that costs more than the node's operator allows.
func (s *Service) checkFee(price *big.Int, gas uint64) error {
	if s.limits.FeeCap < 0 {
		return nil
	}
	const ftm = 1e18
	cost := new(big.Float).SetInt(new(big.Int).Mul(price, new(big.Int).SetUint64(gas)))
	fee, _ := cost.Quo(cost, new(big.Float).SetFloat64(ftm)).Float64()
	if fee > s.limits.FeeCap {
		return fmt.Errorf("tx fee (%.2f FTM) exceeds the configured cap (%.2f FTM)", fee, s.limits.FeeCap)
	}
	return nil
}
