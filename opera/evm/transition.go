package evm

import (
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"

	"tarn/opera/inter"
)

// Result is what executing a message came to.
type Result struct {
	GasUsed uint64
	// Return is what the call returned, also with vm.ErrExecutionReverted; of a creation
	// the code.
	Return []byte
	// Err is why the machine failed, in go-opera's words. The message is executed all the
	// same: its sender pays, its nonce counts.
	Err error
}

// apply executes a message in a transaction that has begun in the state; the caller ends
// it. A message that must not be executed is a *Refusal, with the state as it was
// (go-opera, evmcore/state_transition.go).
func (b *Block) apply(m *Message) (Result, *Refusal) {
	var fee uint256.Int
	intrinsic, refusal := b.check(m, &fee)
	if refusal != nil {
		return Result{}, refusal
	}
	b.pool -= m.Gas
	b.state.SubBalance(m.From, &fee, tracing.BalanceDecreaseGasBuy)
	b.state.Prepare(b.rules, m.From, common.Address{}, m.To, b.precompiles, m.AccessList)
	b.machine.SetTxContext(vm.TxContext{Origin: m.From, GasPrice: &b.price})

	ret, left, failure := b.run(m, m.Gas-intrinsic)
	if m.From != (common.Address{}) {
		left -= left / 10 // a tenth of what is not used goes as well
	}
	left += b.refund(m.Gas - left)
	b.state.AddBalance(m.From, fee.Mul(uint256.NewInt(left), &b.price), tracing.BalanceIncreaseGasReturn)
	b.pool += left
	return Result{GasUsed: m.Gas - left, Return: ret, Err: failure}, nil
}

// check tells whether a message can be executed, how much of its gas goes before the
// machine starts, and what all of its gas costs. What it could transfer or would pay at
// most plays no part in Opera: only what it pays does.
func (b *Block) check(m *Message, fee *uint256.Int) (intrinsic uint64, _ *Refusal) {
	if !m.Unchecked {
		if refusal := b.checkSender(m); refusal != nil {
			return 0, refusal
		}
	}
	huge := b.price.SetFromBig(m.Price)
	_, dear := fee.MulOverflow(uint256.NewInt(m.Gas), &b.price)
	have := b.state.GetBalance(m.From)
	if huge && m.Gas > 0 || dear || have.Lt(fee) {
		want := new(big.Int).SetUint64(m.Gas)
		return 0, &Refusal{Reason: ErrInsufficientFunds, From: m.From, Have: have.ToBig(),
			Want: want.Mul(want, m.Price)}
	}
	if m.Gas > b.pool {
		return 0, &Refusal{Reason: ErrGasLimitReached, From: m.From}
	}
	intrinsic = inter.IntrinsicGas(m.Data, m.AccessList, m.To == nil)
	if m.Gas < intrinsic {
		return 0, &Refusal{Reason: ErrIntrinsicGas, From: m.From, Have: new(big.Int).SetUint64(m.Gas),
			Want: new(big.Int).SetUint64(intrinsic)}
	}
	return intrinsic, nil
}

func (b *Block) checkSender(m *Message) *Refusal {
	if next := b.state.GetNonce(m.From); m.Nonce != next {
		r := &Refusal{Reason: ErrNonceTooLow, From: m.From, Have: new(big.Int).SetUint64(m.Nonce),
			Want: new(big.Int).SetUint64(next)}
		if m.Nonce > next {
			r.Reason = ErrNonceTooHigh
		}
		return r
	}
	if hash := b.state.GetCodeHash(m.From); hash != (common.Hash{}) && hash != types.EmptyCodeHash {
		return &Refusal{Reason: ErrSenderNoEOA, From: m.From, CodeHash: hash}
	}
	return nil
}

// run lets the machine execute a message and returns the gas that is left. A value that
// the sender does not have is a failure of the machine that leaves the gas, and for a
// creation leaves the nonce too: the same transaction can come again.
func (b *Block) run(m *Message, gas uint64) (ret []byte, left uint64, err error) {
	huge := b.value.SetFromBig(m.Value)
	if m.To != nil {
		b.state.SetNonce(m.From, b.state.GetNonce(m.From)+1, tracing.NonceChangeEoACall)
	}
	if huge {
		return nil, gas, vm.ErrInsufficientBalance
	}
	b.system.begin(m.From)
	var rest vm.GasBudget
	if m.To == nil {
		ret, _, rest, err = b.machine.Create(m.From, m.Data, vm.NewGasBudget(gas, 0), &b.value)
	} else {
		ret, rest, err = b.machine.Call(m.From, *m.To, m.Data, vm.NewGasBudget(gas, 0), &b.value)
	}
	switch {
	case b.system.poor:
		b.system.poor, err = false, vm.ErrInsufficientBalance
	case err == errWriterRefused:
		err = vm.ErrExecutionReverted
	case m.To != nil:
		err = precompiledError(err, *m.To, m.Data)
	}
	return ret, rest.ExecutionGas, operaError(err, ret)
}

// refund returns how much gas comes back for freed storage, of a message that used so
// much.
func (b *Block) refund(used uint64) uint64 {
	most := used / params.RefundQuotient
	if b.rules.IsLondon {
		most = used / params.RefundQuotientEIP3529
	}
	return min(most, b.state.GetRefund())
}
