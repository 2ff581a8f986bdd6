package evm

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"
)

// The contracts that the EVM knows (go-opera, opera/contracts).
var (
	// WriterAddress is EvmWriter's, through which the driver writes into the state.
	WriterAddress = common.HexToAddress("0xd100ec0000000000000000000000000000000000")
	// DriverAddress is NodeDriver's, the only one whom EvmWriter obeys.
	DriverAddress = common.HexToAddress("0xd100a01e00000000000000000000000000000000")
)

// errWriterRefused is EvmWriter's "execution reverted". A revert would leave the caller
// its gas, and EvmWriter never does.
var errWriterRefused = errors.New("EvmWriter: execution reverted")

// writer is EvmWriter (go-opera, opera/contracts/evmwriter). Go-ethereum's precompiled
// contracts know neither caller nor state. But its machine moves value right before a
// CALL runs one, with both accounts named, and does so for no other kind of call: what is
// noted there tells who calls.
//
// Calls of the other kinds come here without a note. They run the code at the address:
// a STOP, so they succeed and cost nothing. Should the driver ever have put other code
// there, then a tracer, which slows the machine down, tells it before each call whether
// EvmWriter is what is called, or its code.
type writer struct {
	block  *Block
	known  vm.PrecompiledContracts // by the machine
	caller common.Address          // who calls, if noted
	noted  bool                    // from the transfer until the price is asked
	called bool                    // whether what runs is a CALL
	work   func()                  // what the call does; nil refuses

	replaced bool // there is other code at its address
}

var _ vm.PrecompiledContract = (*writer)(nil)

// transfer moves a call's value, and notes who calls EvmWriter.
func (w *writer) transfer(s vm.StateDB, from, to common.Address, value *uint256.Int, _ *params.Rules) {
	transfer(s, from, to, value)
	if to == WriterAddress {
		w.caller, w.noted = from, true
	}
}

// watch looks which code is at EvmWriter's address. Only the driver can change it, by
// EvmWriter, and after that it is called again.
func (w *writer) watch() {
	code := w.block.state.GetCode(WriterAddress)
	if len(code) > 0 && vm.OpCode(code[0]) != vm.STOP && !w.replaced {
		w.replaced = true
		w.block.hook()
	}
}

// enter lets the machine find EvmWriter for a CALL, and its code for others.
func (w *writer) enter(kind byte, to common.Address) {
	switch {
	case to != WriterAddress:
	case vm.OpCode(kind) == vm.CALL:
		w.known[WriterAddress] = w
	default:
		delete(w.known, WriterAddress)
	}
}

// setCode sets the code of an account.
func (w *writer) setCode(account common.Address, code []byte) {
	w.block.state.SetCode(account, code, tracing.CodeChangeUnspecified)
	switch account {
	case WriterAddress:
		w.watch()
	case params.SystemAddress:
		w.block.system.watch()
	}
}

// Name implements vm.PrecompiledContract.
func (*writer) Name() string { return "EvmWriter" }

// RequiredGas implements vm.PrecompiledContract. A call that will be refused costs
// nothing here: Run's error takes all its gas.
func (w *writer) RequiredGas(input []byte) uint64 {
	w.called, w.noted, w.work = w.noted, false, nil
	if !w.called || w.caller != DriverAddress || len(input) < 4 {
		return 0
	}
	method, ok := writerMethods[binary.BigEndian.Uint32(input)]
	if !ok {
		return 0
	}
	if args := input[4:]; len(args) == method.size {
		return method.prepare(w, args)
	}
	return method.gas
}

// Run implements vm.PrecompiledContract.
func (w *writer) Run([]byte) ([]byte, error) {
	switch {
	case !w.called:
		return nil, nil
	case w.work == nil:
		return nil, errWriterRefused
	}
	w.work()
	return nil, nil
}

// writerMethod is one of EvmWriter's methods. prepare returns what a call with arguments
// of the right size costs, and sets the work if it can be done.
type writerMethod struct {
	size    int // of the arguments, in bytes
	gas     uint64
	prepare func(w *writer, args []byte) uint64
}

var writerMethods = map[uint32]writerMethod{
	0xe30443bc: {64, setBalanceGas, (*writer).setBalance},
	0xd6a0c7af: {64, copyCodeGas, (*writer).copyCode},
	0x07690b2a: {64, swapCodeGas, (*writer).swapCode},
	0x39e503ab: {96, setStorageGas, (*writer).setStorage},
	0x79bead38: {64, incNonceGas, (*writer).incNonce},
}

const (
	setBalanceGas  = params.CallValueTransferGas
	copyCodeGas    = params.CreateGas
	swapCodeGas    = 2 * params.CreateGas
	setStorageGas  = params.SstoreSetGasEIP2200
	incNonceGas    = params.CallValueTransferGas
	codeByteGas    = params.CreateDataGas + params.MemoryGas
	maxNonceGrowth = math.MaxUint8
)

// address returns the address in an argument: its last 20 bytes, whatever the others are.
func address(args []byte, i int) common.Address {
	return common.BytesToAddress(args[32*i : 32*i+32])
}

// setBalance(account, balance): of any account but the transaction's sender.
func (w *writer) setBalance(args []byte) uint64 {
	s, account := w.block.state, address(args, 0)
	balance := new(uint256.Int).SetBytes(args[32:])
	if account == w.block.machine.Origin {
		return setBalanceGas
	}
	w.work = func() {
		have := s.GetBalance(account).Clone()
		if have.Lt(balance) {
			s.AddBalance(account, balance.Sub(balance, have), tracing.BalanceChangeUnspecified)
		} else {
			s.SubBalance(account, have.Sub(have, balance), tracing.BalanceChangeUnspecified)
		}
	}
	return setBalanceGas
}

// copyCode(to, from)
func (w *writer) copyCode(args []byte) uint64 {
	s, to, from := w.block.state, address(args, 0), address(args, 1)
	code := s.GetCode(from)
	w.work = func() {
		if to != from {
			w.setCode(to, code)
		}
	}
	return copyCodeGas + uint64(len(code))*codeByteGas
}

// swapCode(one, other), at half the price of two copies
func (w *writer) swapCode(args []byte) uint64 {
	s, one, other := w.block.state, address(args, 0), address(args, 1)
	code, otherCode := s.GetCode(one), s.GetCode(other)
	w.work = func() {
		if one != other {
			w.setCode(one, otherCode)
			w.setCode(other, code)
		}
	}
	return swapCodeGas + (uint64(len(code))*codeByteGas+uint64(len(otherCode))*codeByteGas)/2
}

// setStorage(account, slot, value)
func (w *writer) setStorage(args []byte) uint64 {
	s, account := w.block.state, address(args, 0)
	slot, value := common.Hash(args[32:64]), common.Hash(args[64:96])
	w.work = func() { s.SetState(account, slot, value) }
	return setStorageGas
}

// incNonce(account, by): of any account but the transaction's sender, by 1 to 255.
func (w *writer) incNonce(args []byte) uint64 {
	s, account := w.block.state, address(args, 0)
	by := new(uint256.Int).SetBytes(args[32:])
	if account == w.block.machine.Origin || by.IsZero() || by.GtUint64(maxNonceGrowth) {
		return incNonceGas
	}
	w.work = func() {
		s.SetNonce(account, s.GetNonce(account)+by.Uint64(), tracing.NonceChangeUnspecified)
	}
	return incNonceGas
}
