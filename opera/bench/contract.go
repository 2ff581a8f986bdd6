package bench

import (
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/core/vm/program"
	"github.com/ethereum/go-ethereum/crypto"
)

// transferGas is enough for a transfer of tokens to somebody who has none, mintGas for the
// first tokens, workGas for a heavy call, and slotsGas for SlotsEach fresh slots.
const (
	mintGas     = 60_000
	transferGas = 60_000
	workGas     = 400_000
	slotsGas    = 6_900_000
	createGas   = 400_000
)

// token is a contract with what a usual token does for a transfer: balances at the hashes of
// addresses, a check, two slots, an event. Called with four bytes it gives the caller 2^64.
func token() []byte {
	transferred := crypto.Keccak256([]byte("Transfer(address,address,uint256)"))
	// slot leaves the place of the balance of the address on top of the stack.
	slot := func(p *program.Program) {
		p.Push(0).Op(vm.MSTORE).Push(64).Push(0).Op(vm.KECCAK256)
	}
	code := func(transfer, enough uint64) (*program.Program, uint64, uint64) {
		p := program.New()
		p.Push(67).Op(vm.CALLDATASIZE, vm.GT) // a selector and two words
		p.Append([]byte{byte(vm.PUSH2), byte(transfer >> 8), byte(transfer)}).Op(vm.JUMPI)
		p.Push(new(big.Int).Lsh(big.NewInt(1), 64)).Op(vm.CALLER)
		slot(p)
		p.Op(vm.SSTORE, vm.STOP)
		_, at := p.Jumpdest()
		p.Op(vm.CALLER)
		slot(p)
		p.Op(vm.DUP1, vm.SLOAD).Push(36).Op(vm.CALLDATALOAD) // slot, balance, amount
		p.Op(vm.DUP1, vm.DUP3, vm.LT, vm.ISZERO)
		p.Append([]byte{byte(vm.PUSH2), byte(enough >> 8), byte(enough)}).Op(vm.JUMPI)
		p.Push(0).Push(0).Op(vm.REVERT)
		_, goesOn := p.Jumpdest()
		p.Op(vm.DUP1, vm.SWAP2, vm.SUB, vm.SWAP1, vm.SWAP2, vm.SSTORE) // amount
		p.Push(4).Op(vm.CALLDATALOAD)
		slot(p)
		p.Op(vm.DUP1, vm.SLOAD, vm.DUP3, vm.ADD, vm.SWAP1, vm.SSTORE)
		p.Push(0).Op(vm.MSTORE)
		p.Push(4).Op(vm.CALLDATALOAD, vm.CALLER).Push(transferred).Push(32).Push(0).Op(vm.LOG3)
		p.Push(1).Push(0).Op(vm.MSTORE).Return(0, 32)
		return p, at, goesOn
	}
	_, transfer, enough := code(0, 0)
	p, _, _ := code(transfer, enough)
	return p.Bytes()
}

// worker is a contract that hashes 500 times, each hash of the one before, and keeps the last
// one in one of 64 slots.
func worker() []byte {
	p := program.New()
	p.Op(vm.CALLER).Push(0).Op(vm.MSTORE).Push(500)
	_, again := p.Jumpdest() // left
	p.Push(32).Push(0).Op(vm.KECCAK256).Push(0).Op(vm.MSTORE)
	p.Push(1).Op(vm.SWAP1, vm.SUB, vm.DUP1).Push(again).Op(vm.JUMPI, vm.POP)
	p.Push(0).Op(vm.MLOAD, vm.DUP1).Push(63).Op(vm.AND, vm.SSTORE, vm.STOP)
	return p.Bytes()
}

// SlotsEach is how many fresh slots a call of the keeper fills.
const SlotsEach = 300

// keeper is a contract that fills SlotsEach slots, from the number on that it is called with.
func keeper() []byte {
	p := program.New()
	p.Push(0).Op(vm.CALLDATALOAD).Push(SlotsEach)
	_, again := p.Jumpdest() // first, left
	p.Op(vm.DUP1, vm.DUP3, vm.ADD, vm.DUP1, vm.SSTORE)
	p.Push(1).Op(vm.SWAP1, vm.SUB, vm.DUP1).Push(again).Op(vm.JUMPI, vm.STOP)
	return p.Bytes()
}

// creation is what creates a contract of some code.
func creation(code []byte) []byte { return program.New().ReturnViaCodeCopy(code).Bytes() }

// transferCall is a call of the token.
func transferCall(to common.Address, amount uint64) []byte {
	data := crypto.Keccak256([]byte("transfer(address,uint256)"))[:4]
	data = append(data, common.LeftPadBytes(to[:], 32)...)
	return append(data, common.LeftPadBytes(new(big.Int).SetUint64(amount).Bytes(), 32)...)
}
