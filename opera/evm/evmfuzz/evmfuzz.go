// Package evmfuzz writes random contracts of every opcode of London, for tests that
// execute them here and elsewhere.
//
// It owns what such contracts do; who executes them, and what has to come of it, is its
// callers' business. Nothing of it is part of a node.
package evmfuzz

import (
	"crypto/ecdsa"
	"encoding/binary"
	"math/big"
	"math/rand/v2"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/vm"
)

// Programmer writes random contracts. It is for one goroutine.
type Programmer struct {
	*rand.Rand
	Pool   []common.Address  // whom contracts talk to; not empty
	Writer common.Address    // Opera's EvmWriter
	Key    *ecdsa.PrivateKey // whose signatures ecrecover gets
	Code   []byte            // what was written so far
}

// plain are the opcodes that take words and leave at most one, with how many they take.
// Undefined ones, and those of later upgrades, are among them.
var plain = map[vm.OpCode]int{
	vm.ADD: 2, vm.MUL: 2, vm.SUB: 2, vm.DIV: 2, vm.SDIV: 2, vm.MOD: 2, vm.SMOD: 2, vm.ADDMOD: 3, vm.MULMOD: 3,
	vm.EXP: 2, vm.SIGNEXTEND: 2, vm.LT: 2, vm.GT: 2, vm.SLT: 2, vm.SGT: 2, vm.EQ: 2, vm.ISZERO: 1, vm.AND: 2,
	vm.OR: 2, vm.XOR: 2, vm.NOT: 1, vm.BYTE: 2, vm.SHL: 2, vm.SHR: 2, vm.SAR: 2, vm.ADDRESS: 0, vm.BALANCE: 1,
	vm.ORIGIN: 0, vm.CALLER: 0, vm.CALLVALUE: 0, vm.CALLDATALOAD: 1, vm.CALLDATASIZE: 0, vm.CODESIZE: 0,
	vm.GASPRICE: 0, vm.EXTCODESIZE: 1, vm.RETURNDATASIZE: 0, vm.EXTCODEHASH: 1, vm.BLOCKHASH: 1, vm.COINBASE: 0,
	vm.TIMESTAMP: 0, vm.NUMBER: 0, vm.DIFFICULTY: 0, vm.GASLIMIT: 0, vm.CHAINID: 0, vm.SELFBALANCE: 0,
	vm.BASEFEE: 0, vm.MLOAD: 1, vm.SLOAD: 1, vm.PC: 0, vm.MSIZE: 0, vm.GAS: 0,
}

var plainList = func() (all []vm.OpCode) {
	for op := range 256 {
		if _, ok := plain[vm.OpCode(op)]; ok {
			all = append(all, vm.OpCode(op))
		}
	}
	return all
}()

// Op appends opcodes, or bytes.
func (p *Programmer) Op(ops ...vm.OpCode) {
	for _, o := range ops {
		p.Code = append(p.Code, byte(o))
	}
}

// Push pushes bytes as a word.
func (p *Programmer) Push(b []byte) {
	if len(b) == 0 {
		b = []byte{0}
	}
	p.Op(vm.PUSH1 + vm.OpCode(len(b)-1))
	p.Code = append(p.Code, b...)
}

// Number pushes a number.
func (p *Programmer) Number(n uint64) { p.Push(new(big.Int).SetUint64(n).Bytes()) }

// Chance is true that often.
func (p *Programmer) Chance(percent int) bool { return p.IntN(100) < percent }

// Someone is one of the pool.
func (p *Programmer) Someone() common.Address { return p.Pool[p.IntN(len(p.Pool))] }

// word pushes a number of the kinds that matter.
func (p *Programmer) word() {
	switch p.IntN(8) {
	case 0, 1, 2:
		p.Number(uint64(p.IntN(5)))
	case 3:
		p.Number(uint64(p.IntN(300)))
	case 4:
		a := p.Someone()
		p.Push(a[:])
	case 5:
		b := make([]byte, 1+p.IntN(32))
		for i := range b {
			b[i] = byte(p.Uint32())
		}
		p.Push(b)
	case 6:
		p.Number(0)
		p.Op(vm.NOT)
	case 7:
		p.Push(new(big.Int).Lsh(big.NewInt(1), uint(p.IntN(256))).Bytes())
	}
}

// small pushes an offset or a size, seldom one that nobody can pay.
func (p *Programmer) small() {
	if p.Chance(1) {
		p.word()
		return
	}
	p.Number(uint64([]int{0, 1, 4, 31, 32, 33, 64, 128, 200, 700}[p.IntN(10)]))
}

// keep writes the top word where it is seen later: memory, a slot, or nowhere.
func (p *Programmer) keep() {
	switch p.IntN(4) {
	case 0:
		p.Number(uint64(p.IntN(6)))
		p.Op(vm.SSTORE)
	case 1:
		p.Op(vm.POP)
	default:
		p.Number(uint64(32 * p.IntN(10)))
		p.Op(vm.MSTORE)
	}
}

// fill writes bytes into memory from zero on.
func (p *Programmer) fill(b []byte) {
	for i := 0; i < len(b); i += 32 {
		word := make([]byte, 32)
		copy(word, b[i:])
		p.Push(word)
		p.Number(uint64(i))
		p.Op(vm.MSTORE)
	}
}

// statement appends one random thing.
func (p *Programmer) statement() {
	switch n := p.IntN(100); {
	case n < 40:
		o := plainList[p.IntN(len(plainList))]
		for range plain[o] {
			if o == vm.MLOAD {
				p.small()
			} else if o == vm.BLOCKHASH && p.Chance(70) {
				p.Number(uint64(1 + p.IntN(12)))
				p.Op(vm.NUMBER, vm.SUB)
			} else {
				p.word()
			}
		}
		p.Op(o)
		p.keep()
	case n < 50:
		p.word()
		p.Number(uint64(p.IntN(5)))
		p.Op(vm.SSTORE)
	case n < 56:
		p.memory()
	case n < 60:
		topics := p.IntN(5)
		for range topics {
			p.word()
		}
		p.small()
		p.small()
		p.Op(vm.LOG0 + vm.OpCode(topics))
	case n < 63:
		p.shuffle()
	case n < 80:
		p.call(p.Someone())
	case n < 84:
		p.callPrecompiled()
	case n < 90:
		p.create()
	case n < 91:
		p.jump()
	case n < 92:
		p.loop()
	case n < 96:
		p.Write()
	case n < 97:
		a := p.Someone()
		p.Push(a[:])
		p.Op(vm.SELFDESTRUCT)
	case n < 98:
		p.Op([]vm.OpCode{0x0c, 0x1e, 0x21, 0x49, 0x5c, 0x5e, 0x5f, 0xa5, 0xef, vm.INVALID, vm.STOP, vm.POP, vm.SWAP16,
			vm.DUP16, vm.JUMP, vm.ADDRESS}[p.IntN(16)])
	default:
		p.small()
		p.small()
		p.Op([]vm.OpCode{vm.RETURN, vm.REVERT}[p.IntN(2)])
	}
}

func (p *Programmer) memory() {
	p.small()
	switch p.IntN(6) {
	case 0:
		p.small()
		p.Op(vm.MSTORE8)
	case 1:
		p.small()
		p.Op(vm.KECCAK256)
		p.keep()
	case 2:
		p.word()
		p.small()
		p.Op(vm.CALLDATACOPY)
	case 3:
		p.word()
		p.small()
		p.Op(vm.CODECOPY)
	case 4:
		p.Number(0) // what lies beyond the data is a failure
		p.small()
		p.Op(vm.RETURNDATACOPY)
	case 5:
		p.word()
		p.small()
		a := p.Someone()
		p.Push(a[:])
		p.Op(vm.EXTCODECOPY)
	}
}

func (p *Programmer) shuffle() {
	n := 1 + p.IntN(16)
	for range n + 1 {
		p.Number(uint64(p.IntN(40)))
	}
	p.Op(vm.DUP1+vm.OpCode(p.IntN(n)), vm.SWAP1+vm.OpCode(p.IntN(n)))
	p.keep()
	p.keep()
}

// call calls an address in one of the four ways.
func (p *Programmer) call(to common.Address) {
	p.small() // output
	p.small()
	p.small() // input
	p.small()
	p.calling(to)
}

// calling is call with the memory's places pushed.
func (p *Programmer) calling(to common.Address) {
	kind := []vm.OpCode{vm.CALL, vm.CALL, vm.CALL, vm.CALLCODE, vm.DELEGATECALL, vm.STATICCALL}[p.IntN(6)]
	if kind == vm.CALL || kind == vm.CALLCODE {
		switch p.IntN(6) {
		case 0:
			p.word()
		case 1:
			p.Number(uint64(p.IntN(5)))
		default:
			p.Number(0)
		}
	}
	p.Push(to[:])
	switch p.IntN(8) {
	case 0:
		p.Number(uint64(p.IntN(80_000)))
	case 1:
		p.Number([]uint64{0, 600, 699, 700, 2299, 2300, 3000, 8999, 9000, 9001, 19_999, 20_000, 32_000, 32_203,
			64_000}[p.IntN(15)])
	default:
		p.Op(vm.GAS)
	}
	p.Op(kind)
	p.keep()
	if p.Chance(30) {
		p.Op(vm.RETURNDATASIZE)
		p.Number(0)
		p.Number(0)
		p.Op(vm.RETURNDATACOPY)
	}
}

// Write calls EvmWriter with an input that is mostly right.
func (p *Programmer) Write() {
	selectors := []uint32{0xe30443bc, 0xd6a0c7af, 0x07690b2a, 0x39e503ab, 0x79bead38, 0x12345678}
	n := p.IntN(len(selectors))
	input := binary.BigEndian.AppendUint32(nil, selectors[n])
	a, b := p.Someone(), p.Someone()
	input = append(input, common.LeftPadBytes(a[:], 32)...)
	switch n {
	case 1, 2:
		input = append(input, common.LeftPadBytes(b[:], 32)...)
	case 3:
		input = append(input, common.LeftPadBytes([]byte{byte(p.IntN(4))}, 32)...)
		input = append(input, common.LeftPadBytes([]byte{byte(p.IntN(4))}, 32)...)
	case 4:
		input = append(input, common.LeftPadBytes([]byte{byte(p.IntN(3) / 2), byte(p.IntN(4))}, 32)...)
	default:
		input = append(input, common.LeftPadBytes([]byte{byte(p.IntN(2)), 0, 0, byte(p.IntN(4))}, 32)...)
	}
	size := len(input)
	if p.Chance(10) {
		size += p.IntN(5) - 2
		input[4+p.IntN(12)] = 1 // above an address, where nobody looks
	}
	p.fill(input)
	p.Number(32)
	p.Number(0)
	p.Number(uint64(size))
	p.Number(0)
	p.calling(p.Writer)
}

// create creates a contract out of a small one of its own, sometimes twice at the same
// address.
func (p *Programmer) create() {
	init := p.Part(p.IntN(3), true)
	if len(init) > 320 {
		init = init[:320]
	}
	p.fill(init)
	kind, salt := vm.CREATE, uint64(p.IntN(2))
	if p.Chance(60) {
		kind = vm.CREATE2
	}
	for range 1 + p.IntN(5)/4 {
		if kind == vm.CREATE2 {
			p.Number(salt)
		}
		p.Number(uint64(len(init)))
		p.Number(0)
		p.Number(uint64(p.IntN(6) / 5))
		p.Op(kind)
		if p.Chance(40) {
			p.poke()
		} else {
			p.keep()
		}
	}
}

// poke calls the contract whose address is on the stack.
func (p *Programmer) poke() {
	for range 5 {
		p.Number(0)
	}
	p.Op(vm.SWAP1+4, vm.GAS, vm.CALL)
	p.keep()
}

func (p *Programmer) jump() {
	at := len(p.Code)
	switch p.IntN(3) {
	case 0: // over a byte that is none of the code
		p.Push([]byte{byte((at + 6) >> 8), byte(at + 6)})
		p.Op(vm.JUMP, vm.INVALID, vm.INVALID, vm.JUMPDEST)
	case 1: // into the data of a push
		p.word()
		p.Push([]byte{byte((len(p.Code) + 5) >> 8), byte(len(p.Code) + 5)})
		p.Op(vm.JUMPI, vm.PUSH1, vm.JUMPDEST, vm.POP)
	case 2: // anywhere
		p.word()
		p.word()
		p.Op(vm.JUMPI)
	}
}

// loop counts down and does something each time.
func (p *Programmer) loop() {
	p.Number(uint64(1 + p.IntN(6)))
	start := len(p.Code)
	p.Op(vm.JUMPDEST)
	p.Number(uint64(p.IntN(4)))
	p.Op(vm.DUP2, vm.SWAP1, vm.SSTORE)
	p.Number(1)
	p.Op(vm.SWAP1, vm.SUB, vm.DUP1)
	p.Push([]byte{byte(start >> 8), byte(start)})
	p.Op(vm.JUMPI, vm.POP)
}

// Part returns a program of so many statements. An initial one mostly returns code.
func (p *Programmer) Part(statements int, initial bool) []byte {
	sub := Programmer{Rand: p.Rand, Pool: p.Pool, Writer: p.Writer, Key: p.Key}
	for range statements {
		sub.statement()
	}
	if initial {
		switch p.IntN(8) {
		case 0: // what begins with 0xef
			sub.Number(0xef)
			sub.Number(0)
			sub.Op(vm.MSTORE8)
			sub.Number(1)
			sub.Number(0)
			sub.Op(vm.RETURN)
		case 1:
			sub.Number(uint64(24_575 + sub.IntN(3)))
			sub.Number(0)
			sub.Op(vm.RETURN)
		case 2:
		case 3:
			a := p.Someone()
			sub.Push(a[:])
			sub.Op(vm.SELFDESTRUCT)
		case 4: // what destructs itself, to itself, when called
			sub.Push([]byte{byte(vm.ADDRESS), byte(vm.SELFDESTRUCT)})
			sub.Number(0)
			sub.Op(vm.MSTORE)
			sub.Number(2)
			sub.Number(30)
			sub.Op(vm.RETURN)
		case 5: // what counts its calls
			sub.Push([]byte{byte(vm.PUSH1), 0, byte(vm.SLOAD), byte(vm.PUSH1), 1, byte(vm.ADD), byte(vm.PUSH1), 0,
				byte(vm.SSTORE)})
			sub.Number(0)
			sub.Op(vm.MSTORE)
			sub.Number(9)
			sub.Number(23)
			sub.Op(vm.RETURN)
		default:
			sub.small()
			sub.small()
			sub.Op(vm.RETURN)
		}
	}
	return sub.Code
}
