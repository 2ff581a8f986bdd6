package workload

import (
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/core/vm/program"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/opera/genesis/fakenet"
)

// The most gas that transactions of each kind use: a transfer of money, one of tokens to
// somebody who has none, what gives an account both, a call of the worker, of the reader and of
// the filler, and the creation of a contract.
const (
	moneyGas  = 21_000
	tokenGas  = 60_000
	giveGas   = 100_000
	workGas   = 400_000
	readGas   = 150_000
	fillGas   = 6_900_000
	createGas = 400_000
)

// Transferred is the topic of the token's logs.
func Transferred() common.Hash {
	return crypto.Keccak256Hash([]byte("Transfer(address,address,uint256)"))
}

// Contracts are the addresses of those that the chain's first transactions create.
type Contracts struct {
	Token  common.Address
	Worker common.Address
	Reader common.Address // its calls read 20 slots, and write one
	Filler common.Address
}

// codes are the contracts', in the order in which validator 1 creates them.
func codes() [][]byte { return [][]byte{token(), worker(), reader(), filler()} }

// NewContracts finds the addresses.
func NewContracts() (Contracts, error) {
	key, err := fakenet.Key(1)
	if err != nil {
		return Contracts{}, err
	}
	made := func(nonce uint64) common.Address {
		return crypto.CreateAddress(crypto.PubkeyToAddress(key.PublicKey), nonce)
	}
	return Contracts{Token: made(0), Worker: made(1), Reader: made(2), Filler: made(3)}, nil
}

// token is a contract with what a usual token does for a transfer: balances at the hashes of
// addresses, a check, two slots, a log. Called with one address it gives that 2^64 tokens, and
// the money that comes with the call.
func token() []byte {
	// slot leaves the place of the balance of the address on top of the stack.
	slot := func(p *program.Program) {
		p.Push(0).Op(vm.MSTORE).Push(64).Push(0).Op(vm.KECCAK256)
	}
	code := func(transfer, enough uint64) (*program.Program, uint64, uint64) {
		p := program.New()
		p.Push(67).Op(vm.CALLDATASIZE, vm.GT) // a selector and two words
		p.Append([]byte{byte(vm.PUSH2), byte(transfer >> 8), byte(transfer)}).Op(vm.JUMPI)
		p.Push(new(big.Int).Lsh(big.NewInt(1), 64)).Push(0).Op(vm.CALLDATALOAD)
		slot(p)
		p.Op(vm.SSTORE)
		p.Push(0).Push(0).Push(0).Push(0).Op(vm.CALLVALUE).Push(0).Op(vm.CALLDATALOAD, vm.GAS, vm.CALL, vm.POP, vm.STOP)
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
		p.Push(4).Op(vm.CALLDATALOAD, vm.CALLER).Push(Transferred()).Push(32).Push(0).Op(vm.LOG3)
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

// readerSlots is how many slots the reader reads.
const readerSlots = 20

// reader is a contract that adds up its slots, and keeps one more than the sum in one of them.
func reader() []byte {
	p := program.New().Push(1)
	for slot := range readerSlots {
		p.Push(slot).Op(vm.SLOAD, vm.ADD)
	}
	return p.Op(vm.DUP1).Push(7).Op(vm.SSTORE).Push(0).Op(vm.MSTORE).Return(0, 32).Bytes()
}

// SlotsEach is how many fresh slots a call of the filler fills.
const SlotsEach = 300

// filler is a contract that fills slots, from the number on that it is called with.
func filler() []byte {
	p := program.New()
	p.Push(0).Op(vm.CALLDATALOAD).Push(SlotsEach)
	_, again := p.Jumpdest() // first, left
	p.Op(vm.DUP1, vm.DUP3, vm.ADD, vm.DUP1, vm.SSTORE)
	p.Push(1).Op(vm.SWAP1, vm.SUB, vm.DUP1).Push(again).Op(vm.JUMPI, vm.STOP)
	return p.Bytes()
}

// word is a number as contracts take it.
func word(n uint64) []byte {
	return common.LeftPadBytes(new(big.Int).SetUint64(n).Bytes(), 32)
}

// transferCall is a call of the token.
func transferCall(to common.Address, amount uint64) []byte {
	data := crypto.Keccak256([]byte("transfer(address,uint256)"))[:4]
	data = append(data, common.LeftPadBytes(to[:], 32)...)
	return append(data, word(amount)...)
}
