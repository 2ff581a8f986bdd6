package evm

import (
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/vm"
)

// hook gives the machine the hooks that it calls: those of who looks on, to whom failures are
// told in go-opera's words, and the block's own where the machine alone would not do what
// go-opera does. With hooks the machine is slower.
func (b *Block) hook() {
	var of tracing.Hooks
	switch {
	case b.hooks != nil:
		of = *b.hooks
	case !b.writer.replaced && !b.system.needed:
		return
	}
	hooks := of
	hooks.OnEnter, hooks.OnEnterV2 = nil, func(depth int, kind byte, from, to common.Address, input []byte,
		gas tracing.Gas, value *big.Int) {
		of.EmitEnter(depth, kind, from, to, input, gas, value)
		if b.writer.replaced {
			b.writer.enter(kind, to)
		}
		if b.system.needed {
			b.system.enter(depth, kind, from, to, value)
		}
	}
	b.hookExit(&hooks, &of)
	hookSteps(&hooks, &of)
	b.machine.Config.Tracer = &hooks
}

// hookExit makes the hook that is told of a call's end.
func (b *Block) hookExit(hooks, of *tracing.Hooks) {
	end := func(depth int, output []byte, err error, failed bool) error {
		if b.system.exit(depth, failed) {
			err = vm.ErrInsufficientBalance
		}
		return vm.VMErrorFromErr(operaError(err, output))
	}
	if of.OnExitV2 != nil {
		hooks.OnExitV2 = func(depth int, output []byte, left tracing.Gas, err error, failed bool) {
			of.OnExitV2(depth, output, left, end(depth, output, err, failed), failed)
		}
		return
	}
	hooks.OnExit = func(depth int, output []byte, used uint64, err error, failed bool) {
		if err = end(depth, output, err, failed); of.OnExit != nil {
			of.OnExit(depth, output, used, err, failed)
		}
	}
}

// hookSteps makes the hooks that are told of a step, and of one that fails.
func hookSteps(hooks, of *tracing.Hooks) {
	word := func(err error) error {
		if err == nil {
			return nil
		}
		return vm.VMErrorFromErr(operaError(err, nil))
	}
	if of.OnOpcode != nil {
		hooks.OnOpcode = func(pc uint64, op byte, gas, cost uint64, scope tracing.OpContext, data []byte,
			depth int, err error) {
			of.OnOpcode(pc, op, gas, cost, scope, data, depth, word(err))
		}
	}
	if of.OnOpcodeV2 != nil {
		hooks.OnOpcodeV2 = func(pc uint64, op byte, gas, cost tracing.Gas, scope tracing.OpContext, data []byte,
			depth int, err error) {
			of.OnOpcodeV2(pc, op, gas, cost, scope, data, depth, word(err))
		}
	}
	if of.OnFault != nil {
		hooks.OnFault = func(pc uint64, op byte, gas, cost uint64, scope tracing.OpContext, depth int, err error) {
			of.OnFault(pc, op, gas, cost, scope, depth, word(err))
		}
	}
	if of.OnFaultV2 != nil {
		hooks.OnFaultV2 = func(pc uint64, op byte, gas, cost tracing.Gas, scope tracing.OpContext,
			depth int, err error) {
			of.OnFaultV2(pc, op, gas, cost, scope, depth, word(err))
		}
	}
}
