package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/vm"

	"tarn/opera/evm"
	"tarn/opera/inter"
	"tarn/opera/state"
)

// BlockOverrides are what a traced call takes its block to be. What is nil stays.
type BlockOverrides struct {
	Number        *hexutil.Big    `json:"number"`
	Difficulty    *hexutil.Big    `json:"difficulty"`
	Time          *hexutil.Uint64 `json:"time"` // s
	GasLimit      *hexutil.Uint64 `json:"gasLimit"`
	FeeRecipient  *common.Address `json:"feeRecipient"`
	BaseFeePerGas *hexutil.Big    `json:"baseFeePerGas"`

	// Blocks of Opera have none of these.
	PrevRandao  json.RawMessage `json:"prevRandao"`
	BlobBaseFee json.RawMessage `json:"blobBaseFee"`
	BeaconRoot  json.RawMessage `json:"beaconRoot"`
	Withdrawals json.RawMessage `json:"withdrawals"`
}

// apply returns a header that shows contracts what they are to see.
func (o *BlockOverrides) apply(h *evm.Header) (*evm.Header, error) {
	if o == nil {
		return h, nil
	}
	for _, never := range []struct {
		name  string
		value json.RawMessage
	}{{"prevRandao", o.PrevRandao}, {"blobBaseFee", o.BlobBaseFee}, {"beaconRoot", o.BeaconRoot},
		{"withdrawals", o.Withdrawals}} {
		if never.value != nil && string(never.value) != "null" {
			return nil, fmt.Errorf("blockOverrides: blocks of Opera have no %s", never.name)
		}
	}
	shown := *h
	shown.Shown = o.show
	return &shown, nil
}

// show changes what contracts see.
func (o *BlockOverrides) show(c *vm.BlockContext) {
	if o.Number != nil {
		c.BlockNumber = o.Number.ToInt()
	}
	if o.Difficulty != nil {
		c.Difficulty = o.Difficulty.ToInt()
	}
	if o.BaseFeePerGas != nil {
		c.BaseFee = o.BaseFeePerGas.ToInt()
	}
	if o.Time != nil {
		c.Time = uint64(*o.Time)
	}
	if o.GasLimit != nil {
		c.GasLimit = uint64(*o.GasLimit)
	}
	if o.FeeRecipient != nil {
		c.Coinbase = *o.FeeRecipient
	}
}

// baseFee is what a call's price is made with: nil before London.
func (o *BlockOverrides) baseFee(h *evm.Header) *big.Int {
	if o != nil && o.BaseFeePerGas != nil && h.BaseFee != nil {
		return o.BaseFeePerGas.ToInt()
	}
	return h.BaseFee
}

// callee is what a traced call is executed on.
func (c *CallTraceConfig) callee(ctx context.Context, v *view, r BlockRef) (*callee, error) {
	on, err := v.callee(r)
	if err != nil {
		return nil, err
	}
	if c.TxIndex != nil {
		if on.within, on.logs, err = v.within(ctx, on.header.Number, int(*c.TxIndex)); err != nil {
			return nil, err
		}
	}
	on.header, err = c.BlockOverrides.apply(on.header)
	return on, err
}

// within is the state before a transaction of a block, and how many logs the block has by then.
func (v *view) within(ctx context.Context, n inter.BlockNumber, index int) (*state.Block, uint, error) {
	b, err := v.block(n)
	if err == nil && b == nil {
		err = errNoHeader
	}
	if err != nil {
		return nil, 0, err
	}
	if index != 0 && index >= len(b.Txs) {
		return nil, 0, fmt.Errorf("transaction index %d out of range for block %v", index, common.Hash(b.ID))
	}
	r, err := v.replay(b)
	if err != nil {
		return nil, 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, v.service.limits.RequestTime)
	defer cancel()
	if err := r.run(ctx, index, nil); err != nil {
		return nil, 0, err
	}
	return r.before, r.logs(), nil
}
