package rpc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"

	"tarn/opera/evm"
	"tarn/opera/inter"
	"tarn/opera/state"
)

// ethCalls answers for eth and ftm what executions would come to.
type ethCalls struct{ s *Service }

// OverrideAccount is what a call takes an account to be. The name of the type stands
// in errors that clients get.
type OverrideAccount struct {
	Nonce     *hexutil.Uint64              `json:"nonce"`
	Code      *hexutil.Bytes               `json:"code"`
	Balance   *hexutil.Big                 `json:"balance"`
	State     *map[common.Hash]common.Hash `json:"state"`     // in place of its storage
	StateDiff *map[common.Hash]common.Hash `json:"stateDiff"` // slots of it
}

// StateOverride are those of a call.
type StateOverride map[common.Address]OverrideAccount

// apply changes a state that nobody else sees, until the context ends: each account and each slot is looked up first.
func (o *StateOverride) apply(ctx context.Context, b *state.Block) error {
	if o == nil {
		return nil
	}
	for address, a := range *o {
		if err := ctx.Err(); err != nil {
			return err
		}
		if a.Nonce != nil {
			b.SetNonce(address, uint64(*a.Nonce), tracing.NonceChangeUnspecified)
		}
		if a.Code != nil {
			b.SetCode(address, *a.Code, tracing.CodeChangeUnspecified)
		}
		if a.Balance != nil {
			have := *b.GetBalance(address)
			want, _ := uint256.FromBig(a.Balance.ToInt())
			b.SubBalance(address, &have, tracing.BalanceChangeUnspecified)
			b.AddBalance(address, want, tracing.BalanceChangeUnspecified)
		}
		if a.State != nil && a.StateDiff != nil {
			return fmt.Errorf("account %s has both 'state' and 'stateDiff'", address.Hex())
		}
		if a.State != nil {
			b.SetStorage(address, *a.State)
		}
		if a.StateDiff != nil {
			for slot, value := range *a.StateDiff {
				if err := ctx.Err(); err != nil {
					return err
				}
				b.SetState(address, slot, value)
			}
		}
	}
	return nil
}

// callee is what calls are executed on: the state after a block, seen as from that block.
type callee struct {
	v      *view
	header *evm.Header
	source state.Source
	// within is the state amid a block in place of source's, with so many logs of the block;
	// nil for that after the block. It is good for one call.
	within *state.Block
	logs   uint
}

func (v *view) callee(r BlockRef) (*callee, error) {
	n, err := v.resolve(r, errNoHeader)
	if err != nil {
		return nil, err
	}
	header, err := v.header(n)
	if err == nil && header == nil {
		err = errNoHeader
	}
	if err != nil {
		return nil, err
	}
	source, err := v.source(n)
	if err != nil {
		return nil, err
	}
	return &callee{v: v, header: header, source: source}, nil
}

// run executes a message and leaves nothing. limit is the time that is told if ctx ends
// before it does.
func (c *callee) run(
	ctx context.Context, m *evm.Message, o *StateOverride, hooks *tracing.Hooks, limit time.Duration,
) (evm.Result, error) {
	known, back := c.v.service.hashers.take()
	defer back()
	st := c.within
	if st == nil {
		st = state.NewBlock(coded{c.source, c.v.service.codes}).Remember(known)
	}
	if err := o.apply(ctx, st); ctx.Err() != nil {
		return evm.Result{}, aborted(limit)
	} else if err != nil {
		return evm.Result{}, err
	}
	var on evm.State = st
	if hooks != nil {
		on = hooked{st, hooks, c.logs}
	}
	b := evm.NewBlock(*c.header, on, c.v.service.analyses)
	defer b.Close()
	if hooks != nil {
		b.Trace(hooks)
	}
	// The machine must not be told to stop once it is given back.
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		b.Cancel()
		close(stopped)
	})
	result, err := b.Call(m)
	if !stop() {
		<-stopped
		return evm.Result{}, aborted(limit)
	}
	var refusal *evm.Refusal
	if errors.As(err, &refusal) {
		err = fmt.Errorf("err: %w (supplied gas %d)", refusal, m.Gas)
	}
	return result, err
}

// aborted is the error of an execution whose time is over.
func aborted(limit time.Duration) error { return fmt.Errorf("execution aborted (timeout = %v)", limit) }

// reverted is the error of an execution that a contract took back, with what it said.
type reverted struct {
	reason string
	data   hexutil.Bytes
}

func (r *reverted) Error() string  { return r.reason }
func (r *reverted) ErrorCode() int { return 3 }
func (r *reverted) ErrorData() any { return r.data.String() }

// errorSelector is that of Error(string), with which contracts say why.
const errorSelector = "\x08\xc3\x79\xa0"

// failure is the error of an execution as clients get it, nil if there is none.
func failure(r evm.Result) error {
	if r.Err == vm.ErrExecutionReverted && len(r.Return) > 0 {
		text := "execution reverted"
		if strings.HasPrefix(string(r.Return), errorSelector) {
			if said, err := abi.UnpackRevert(r.Return); err == nil {
				text += ": " + said
			}
		}
		return &reverted{text, r.Return}
	}
	return r.Err
}

func (e ethCalls) Call(ctx context.Context, a TransactionArgs, r BlockRef, o *StateOverride) (hexutil.Bytes, error) {
	return read(e.s, func(v *view) (hexutil.Bytes, error) {
		c, err := v.callee(r)
		if err != nil {
			return nil, err
		}
		if err := a.checkChain(v); err != nil {
			return nil, err
		}
		m, err := a.message(e.s.limits.GasCap, c.header.BaseFee)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, e.s.limits.CallTime)
		defer cancel()
		result, err := c.run(ctx, m, o, nil, e.s.limits.CallTime)
		if err != nil {
			return nil, err
		}
		if err := failure(result); err != nil {
			return nil, err
		}
		return result.Return, nil
	})
}

func (e ethCalls) EstimateGas(ctx context.Context, a TransactionArgs, r *BlockRef) (hexutil.Uint64, error) {
	return read(e.s, func(v *view) (hexutil.Uint64, error) {
		ref := refTo(Latest)
		if r != nil {
			ref = *r
		}
		return v.estimate(ctx, a, ref)
	})
}

// mostGas is the gas of the greatest transaction that fits into an event.
func mostGas(r *inter.Rules) uint64 {
	gas := &r.Economy.Gas
	empty := gas.EventGas + uint64(r.Dag.MaxParents-r.Dag.MaxFreeParents)*gas.ParentGas +
		uint64(r.Dag.MaxExtraData)*gas.ExtraDataGas
	return gas.MaxEventGas - min(gas.MaxEventGas, empty)
}

// estimate finds the least gas with which a call succeeds, by halving.
func (v *view) estimate(ctx context.Context, a TransactionArgs, r BlockRef) (hexutil.Uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, v.service.limits.RequestTime)
	defer cancel()
	if a.From == nil {
		a.From = new(common.Address)
	}
	most := mostGas(&v.Epoch().Rules)
	if a.Gas != nil && uint64(*a.Gas) >= params.TxGas {
		most = uint64(*a.Gas)
	}
	if err := a.checkChain(v); err != nil {
		return 0, err
	}
	if a.bothPrices() {
		return 0, errBothPrices
	}
	c, err := v.callee(r)
	if err != nil {
		return 0, err
	}
	if most, err = c.affordable(&a, most); err != nil {
		return 0, err
	}
	if limit := v.service.limits.GasCap; limit != 0 {
		most = min(most, limit)
	}
	// A message that is refused for another reason than its gas will be so with any.
	try := func(gas uint64) (evm.Result, error) {
		a.Gas = (*hexutil.Uint64)(&gas)
		m, err := a.message(v.service.limits.GasCap, c.header.BaseFee)
		if err != nil {
			return evm.Result{}, err
		}
		result, err := c.run(ctx, m, nil, nil, 0)
		if errors.Is(err, evm.ErrIntrinsicGas) {
			return evm.Result{Err: vm.ErrOutOfGas}, nil
		}
		return result, err
	}
	low, high := params.TxGas-1, most
	for low+1 < high {
		middle := (high + low) / 2
		result, err := try(middle)
		if err != nil {
			return 0, err
		}
		if result.Err != nil {
			low = middle
		} else {
			high = middle
		}
	}
	if high == most {
		result, err := try(high)
		if err != nil {
			return 0, err
		}
		if result.Err == vm.ErrOutOfGas {
			return 0, fmt.Errorf("gas required exceeds allowance (%d)", most)
		}
		if err := failure(result); err != nil {
			return 0, err
		}
	}
	return hexutil.Uint64(high), nil
}

// affordable is how much gas the sender can pay for, at most so much.
func (c *callee) affordable(a *TransactionArgs, most uint64) (uint64, error) {
	price := number(a.GasPrice)
	if a.MaxFeePerGas != nil {
		price = a.MaxFeePerGas.ToInt()
	}
	if price.Sign() == 0 {
		return most, nil
	}
	st := state.NewBlock(c.source)
	available := st.GetBalance(*a.From).ToBig()
	if err := st.Error(); err != nil {
		return 0, err
	}
	if a.Value != nil {
		if a.Value.ToInt().Cmp(available) >= 0 {
			return 0, errors.New("insufficient funds for transfer")
		}
		available.Sub(available, a.Value.ToInt())
	}
	if gas := available.Div(available, price); gas.IsUint64() {
		most = min(most, gas.Uint64())
	}
	return most, nil
}
