package rpc

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/eth/tracers/logger"

	"tarn/opera/evm"
)

// accessListJSON is the list that a transaction would need.
type accessListJSON struct {
	AccessList types.AccessList `json:"accessList"`
	Error      string           `json:"error,omitempty"`
	GasUsed    hexutil.Uint64   `json:"gasUsed"`
}

func (e ethCalls) CreateAccessList(ctx context.Context, a TransactionArgs, r *BlockRef) (*accessListJSON, error) {
	return read(e.s, func(v *view) (*accessListJSON, error) {
		ref := refTo(Pending)
		if r != nil {
			ref = *r
		}
		ctx, cancel := context.WithTimeout(ctx, e.s.limits.RequestTime)
		defer cancel()
		return v.accessList(ctx, a, ref)
	})
}

// accessList executes a call with the list of what the execution before used, until both are
// the same. Who says no price pays none. Who says no gas has all that a call may have, and is
// told what the call uses of the least with which it succeeds.
func (v *view) accessList(ctx context.Context, a TransactionArgs, r BlockRef) (*accessListJSON, error) {
	c, err := v.callee(r)
	if err != nil {
		return nil, err
	}
	l := &lister{v: v, c: c, a: a}
	if err := l.begin(ctx); err != nil {
		return nil, err
	}
	list, result, err := l.find(ctx)
	if err != nil {
		return nil, err
	}
	if a.Gas == nil && result.Err == nil {
		if result, err = l.least(ctx, list, r); err != nil {
			return nil, err
		}
	}
	out := &accessListJSON{AccessList: list, GasUsed: hexutil.Uint64(result.GasUsed)}
	if result.Err != nil {
		out.Error = result.Err.Error()
	}
	return out, nil
}

// lister finds an access list.
type lister struct {
	v       *view
	c       *callee
	a       TransactionArgs
	free    bool // no price was said
	without map[common.Address]struct{}
}

// begin completes the arguments.
func (l *lister) begin(ctx context.Context) error {
	if l.free = l.a.GasPrice == nil && l.a.MaxFeePerGas == nil && l.a.MaxPriorityFeePerGas == nil; l.free {
		l.a.GasPrice = new(hexutil.Big)
	}
	if l.a.From == nil {
		l.a.From = new(common.Address)
	}
	if l.a.Gas == nil {
		gas, err := l.c.affordable(&l.a, mostGas(&l.v.Epoch().Rules))
		if err != nil {
			return err
		}
		l.a.Gas = (*hexutil.Uint64)(&gas)
	}
	if err := l.a.complete(ctx, l.v); err != nil {
		return err
	}
	to := crypto.CreateAddress(l.a.from(), uint64(*l.a.Nonce))
	if l.a.To != nil {
		to = *l.a.To
	}
	l.without = map[common.Address]struct{}{l.a.from(): {}, to: {}}
	rules := l.v.Config().Rules(new(big.Int).SetUint64(uint64(l.c.header.Number)), false, 0)
	for _, address := range vm.ActivePrecompiles(rules) {
		l.without[address] = struct{}{}
	}
	return nil
}

// find returns the list that an execution with it uses, and what that came to.
func (l *lister) find(ctx context.Context) (types.AccessList, evm.Result, error) {
	last := logger.NewAccessListTracer(l.a.list(), l.without)
	for {
		list := last.AccessList()
		tracer := logger.NewAccessListTracer(list, l.without)
		result, err := l.run(ctx, list, tracer)
		if err != nil || tracer.Equal(last) {
			return list, result, err
		}
		last = tracer
	}
}

// least executes the call with the least gas with which it succeeds.
func (l *lister) least(ctx context.Context, list types.AccessList, r BlockRef) (evm.Result, error) {
	ask := l.a
	ask.Gas, ask.AccessList = nil, &list
	gas, err := l.v.estimate(ctx, ask, r)
	if err != nil {
		return evm.Result{}, err
	}
	l.a.Gas = &gas
	return l.run(ctx, list, logger.NewAccessListTracer(list, l.without))
}

func (l *lister) run(ctx context.Context, list types.AccessList, tracer *logger.AccessListTracer) (evm.Result, error) {
	l.a.AccessList = &list
	m, err := l.a.message(l.v.service.limits.GasCap, l.c.header.BaseFee)
	if err != nil {
		return evm.Result{}, err
	}
	result, err := l.c.run(ctx, m, nil, tracer.Hooks(), l.v.service.limits.RequestTime)
	if err != nil {
		return evm.Result{}, l.refusalError(ctx, err)
	}
	return result, nil
}

// refusalError names the transaction that cannot be executed, as it would be sent.
func (l *lister) refusalError(ctx context.Context, err error) error {
	told := l.a
	if l.free {
		told.GasPrice = nil
		if err := told.complete(ctx, l.v); err != nil {
			return err
		}
	}
	return fmt.Errorf("failed to apply transaction: %v err: %v", told.transaction().Hash(), bareRefusal(err))
}

// bareRefusal is a refusal without the words around it.
func bareRefusal(err error) error {
	var refusal *evm.Refusal
	if errors.As(err, &refusal) {
		return refusal
	}
	return err
}
