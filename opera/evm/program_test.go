package evm

import (
	"encoding/binary"
	"math/big"
	"math/rand/v2"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/crypto/bn256/google"
)

// programmer writes random contracts.
type programmer struct {
	*rand.Rand
	pool []common.Address // whom contracts talk to
	key  []byte           // whose signatures ecrecover gets
	code []byte
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

func (p *programmer) op(ops ...vm.OpCode) {
	for _, o := range ops {
		p.code = append(p.code, byte(o))
	}
}

// push pushes bytes as a word.
func (p *programmer) push(b []byte) {
	if len(b) == 0 {
		b = []byte{0}
	}
	p.op(vm.PUSH1 + vm.OpCode(len(b)-1))
	p.code = append(p.code, b...)
}

func (p *programmer) number(n uint64) { p.push(new(big.Int).SetUint64(n).Bytes()) }

func (p *programmer) chance(percent int) bool { return p.IntN(100) < percent }

func (p *programmer) someone() common.Address { return p.pool[p.IntN(len(p.pool))] }

// word pushes a number of the kinds that matter.
func (p *programmer) word() {
	switch p.IntN(8) {
	case 0, 1, 2:
		p.number(uint64(p.IntN(5)))
	case 3:
		p.number(uint64(p.IntN(300)))
	case 4:
		a := p.someone()
		p.push(a[:])
	case 5:
		b := make([]byte, 1+p.IntN(32))
		for i := range b {
			b[i] = byte(p.Uint32())
		}
		p.push(b)
	case 6:
		p.number(0)
		p.op(vm.NOT)
	case 7:
		p.push(new(big.Int).Lsh(big.NewInt(1), uint(p.IntN(256))).Bytes())
	}
}

// small pushes an offset or a size, seldom one that nobody can pay.
func (p *programmer) small() {
	if p.chance(1) {
		p.word()
		return
	}
	p.number(uint64([]int{0, 1, 4, 31, 32, 33, 64, 128, 200, 700}[p.IntN(10)]))
}

// keep writes the top word where it is seen later: memory, a slot, or nowhere.
func (p *programmer) keep() {
	switch p.IntN(4) {
	case 0:
		p.number(uint64(p.IntN(6)))
		p.op(vm.SSTORE)
	case 1:
		p.op(vm.POP)
	default:
		p.number(uint64(32 * p.IntN(10)))
		p.op(vm.MSTORE)
	}
}

// fill writes bytes into memory from zero on.
func (p *programmer) fill(b []byte) {
	for i := 0; i < len(b); i += 32 {
		word := make([]byte, 32)
		copy(word, b[i:])
		p.push(word)
		p.number(uint64(i))
		p.op(vm.MSTORE)
	}
}

// statement appends one random thing.
func (p *programmer) statement() {
	switch n := p.IntN(100); {
	case n < 40:
		o := plainList[p.IntN(len(plainList))]
		for range plain[o] {
			if o == vm.MLOAD {
				p.small()
			} else if o == vm.BLOCKHASH && p.chance(70) {
				p.number(uint64(1 + p.IntN(12)))
				p.op(vm.NUMBER, vm.SUB)
			} else {
				p.word()
			}
		}
		p.op(o)
		p.keep()
	case n < 50:
		p.word()
		p.number(uint64(p.IntN(5)))
		p.op(vm.SSTORE)
	case n < 56:
		p.memory()
	case n < 60:
		topics := p.IntN(5)
		for range topics {
			p.word()
		}
		p.small()
		p.small()
		p.op(vm.LOG0 + vm.OpCode(topics))
	case n < 63:
		p.shuffle()
	case n < 80:
		p.call(p.someone())
	case n < 84:
		p.precompiled()
	case n < 90:
		p.create()
	case n < 91:
		p.jump()
	case n < 92:
		p.loop()
	case n < 96:
		p.write()
	case n < 97:
		a := p.someone()
		p.push(a[:])
		p.op(vm.SELFDESTRUCT)
	case n < 98:
		p.op([]vm.OpCode{0x0c, 0x1e, 0x21, 0x49, 0x5c, 0x5e, 0x5f, 0xa5, 0xef, vm.INVALID, vm.STOP, vm.POP, vm.SWAP16, vm.DUP16, vm.JUMP, vm.ADDRESS}[p.IntN(16)])
	default:
		p.small()
		p.small()
		p.op([]vm.OpCode{vm.RETURN, vm.REVERT}[p.IntN(2)])
	}
}

func (p *programmer) memory() {
	p.small()
	switch p.IntN(6) {
	case 0:
		p.small()
		p.op(vm.MSTORE8)
	case 1:
		p.small()
		p.op(vm.KECCAK256)
		p.keep()
	case 2:
		p.word()
		p.small()
		p.op(vm.CALLDATACOPY)
	case 3:
		p.word()
		p.small()
		p.op(vm.CODECOPY)
	case 4:
		p.number(0) // what lies beyond the data is a failure
		p.small()
		p.op(vm.RETURNDATACOPY)
	case 5:
		p.word()
		p.small()
		a := p.someone()
		p.push(a[:])
		p.op(vm.EXTCODECOPY)
	}
}

func (p *programmer) shuffle() {
	n := 1 + p.IntN(16)
	for range n + 1 {
		p.number(uint64(p.IntN(40)))
	}
	p.op(vm.DUP1+vm.OpCode(p.IntN(n)), vm.SWAP1+vm.OpCode(p.IntN(n)))
	p.keep()
	p.keep()
}

// call calls an address in one of the four ways.
func (p *programmer) call(to common.Address) {
	p.small() // output
	p.small()
	p.small() // input
	p.small()
	p.calling(to)
}

// calling is call with the memory's places pushed.
func (p *programmer) calling(to common.Address) {
	kind := []vm.OpCode{vm.CALL, vm.CALL, vm.CALL, vm.CALLCODE, vm.DELEGATECALL, vm.STATICCALL}[p.IntN(6)]
	if kind == vm.CALL || kind == vm.CALLCODE {
		switch p.IntN(6) {
		case 0:
			p.word()
		case 1:
			p.number(uint64(p.IntN(5)))
		default:
			p.number(0)
		}
	}
	p.push(to[:])
	switch p.IntN(8) {
	case 0:
		p.number(uint64(p.IntN(80_000)))
	case 1:
		p.number([]uint64{0, 600, 699, 700, 2299, 2300, 3000, 8999, 9000, 9001, 19_999, 20_000, 32_000, 32_203, 64_000}[p.IntN(15)])
	default:
		p.op(vm.GAS)
	}
	p.op(kind)
	p.keep()
	if p.chance(30) {
		p.op(vm.RETURNDATASIZE)
		p.number(0)
		p.number(0)
		p.op(vm.RETURNDATACOPY)
	}
}

// write calls EvmWriter with an input that is mostly right.
func (p *programmer) write() {
	selectors := []uint32{0xe30443bc, 0xd6a0c7af, 0x07690b2a, 0x39e503ab, 0x79bead38, 0x12345678}
	n := p.IntN(len(selectors))
	input := binary.BigEndian.AppendUint32(nil, selectors[n])
	a, b := p.someone(), p.someone()
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
	if p.chance(10) {
		size += p.IntN(5) - 2
		input[4+p.IntN(12)] = 1 // above an address, where nobody looks
	}
	p.fill(input)
	p.number(32)
	p.number(0)
	p.number(uint64(size))
	p.number(0)
	p.calling(WriterAddress)
}

// create creates a contract out of a small one of its own, sometimes twice at the same
// address.
func (p *programmer) create() {
	init := p.part(p.IntN(3), true)
	if len(init) > 320 {
		init = init[:320]
	}
	p.fill(init)
	kind, salt := vm.CREATE, uint64(p.IntN(2))
	if p.chance(60) {
		kind = vm.CREATE2
	}
	for range 1 + p.IntN(5)/4 {
		if kind == vm.CREATE2 {
			p.number(salt)
		}
		p.number(uint64(len(init)))
		p.number(0)
		p.number(uint64(p.IntN(6) / 5))
		p.op(kind)
		if p.chance(40) {
			p.poke()
		} else {
			p.keep()
		}
	}
}

// poke calls the contract whose address is on the stack.
func (p *programmer) poke() {
	for range 5 {
		p.number(0)
	}
	p.op(vm.SWAP1+4, vm.GAS, vm.CALL)
	p.keep()
}

func (p *programmer) jump() {
	at := len(p.code)
	switch p.IntN(3) {
	case 0: // over a byte that is none of the code
		p.push([]byte{byte((at + 6) >> 8), byte(at + 6)})
		p.op(vm.JUMP, vm.INVALID, vm.INVALID, vm.JUMPDEST)
	case 1: // into the data of a push
		p.word()
		p.push([]byte{byte((len(p.code) + 5) >> 8), byte(len(p.code) + 5)})
		p.op(vm.JUMPI, vm.PUSH1, vm.JUMPDEST, vm.POP)
	case 2: // anywhere
		p.word()
		p.word()
		p.op(vm.JUMPI)
	}
}

// loop counts down and does something each time.
func (p *programmer) loop() {
	p.number(uint64(1 + p.IntN(6)))
	start := len(p.code)
	p.op(vm.JUMPDEST)
	p.number(uint64(p.IntN(4)))
	p.op(vm.DUP2, vm.SWAP1, vm.SSTORE)
	p.number(1)
	p.op(vm.SWAP1, vm.SUB, vm.DUP1)
	p.push([]byte{byte(start >> 8), byte(start)})
	p.op(vm.JUMPI, vm.POP)
}

// part returns a program of so many statements. An initial one mostly returns code.
func (p *programmer) part(statements int, initial bool) []byte {
	sub := programmer{Rand: p.Rand, pool: p.pool, key: p.key}
	for range statements {
		sub.statement()
	}
	if initial {
		switch p.IntN(8) {
		case 0: // what begins with 0xef
			sub.number(0xef)
			sub.number(0)
			sub.op(vm.MSTORE8)
			sub.number(1)
			sub.number(0)
			sub.op(vm.RETURN)
		case 1:
			sub.number(uint64(24_575 + sub.IntN(3)))
			sub.number(0)
			sub.op(vm.RETURN)
		case 2:
		case 3:
			a := p.someone()
			sub.push(a[:])
			sub.op(vm.SELFDESTRUCT)
		case 4: // what destructs itself, to itself, when called
			sub.push([]byte{byte(vm.ADDRESS), byte(vm.SELFDESTRUCT)})
			sub.number(0)
			sub.op(vm.MSTORE)
			sub.number(2)
			sub.number(30)
			sub.op(vm.RETURN)
		case 5: // what counts its calls
			sub.push([]byte{byte(vm.PUSH1), 0, byte(vm.SLOAD), byte(vm.PUSH1), 1, byte(vm.ADD), byte(vm.PUSH1), 0, byte(vm.SSTORE)})
			sub.number(0)
			sub.op(vm.MSTORE)
			sub.number(9)
			sub.number(23)
			sub.op(vm.RETURN)
		default:
			sub.small()
			sub.small()
			sub.op(vm.RETURN)
		}
	}
	return sub.code
}

// precompiled calls one of Ethereum's precompiled contracts, mostly with a good input.
func (p *programmer) precompiled() {
	n := 1 + p.IntN(10)
	input := p.precompiledInput(n)
	if len(input) > 0 && p.chance(25) {
		input[p.IntN(len(input))] ^= 1 << p.IntN(8)
	}
	size := len(input)
	if p.chance(15) {
		size = max(0, size+p.IntN(65)-32)
	}
	p.fill(input)
	p.number(64) // output over the input
	p.number(0)
	p.number(uint64(size))
	p.number(0)
	p.calling(common.BytesToAddress([]byte{byte(n)}))
	p.number(0)
	p.op(vm.MLOAD)
	p.keep()
}

func (p *programmer) precompiledInput(n int) []byte {
	word := func(n uint64) []byte { return common.LeftPadBytes(new(big.Int).SetUint64(n).Bytes(), 32) }
	point := func() []byte {
		return new(bn256.G1).ScalarBaseMult(big.NewInt(int64(p.IntN(5)))).Marshal()
	}
	switch n {
	case 1:
		hash := crypto.Keccak256([]byte{byte(p.IntN(3))})
		key, err := crypto.ToECDSA(p.key)
		if err != nil {
			panic(err)
		}
		sig, err := crypto.Sign(hash, key)
		if err != nil {
			panic(err)
		}
		return append(append(hash, word(uint64(sig[64])+27)...), sig[:64]...)
	case 5:
		sizes := []uint64{0, 1, 2, 31, 32, 33, 64}
		b, e, m := sizes[p.IntN(7)], sizes[p.IntN(7)], sizes[p.IntN(7)]
		in := append(append(word(b), word(e)...), word(m)...)
		if p.chance(10) {
			in[32*p.IntN(3)+p.IntN(32)] = byte(p.Uint32())
		}
		for range b + e + m {
			in = append(in, byte(p.Uint32()))
		}
		return in
	case 6:
		return append(point(), point()...)
	case 7:
		return append(point(), word(p.Uint64())...)
	case 8:
		var in []byte
		for range p.IntN(3) {
			in = append(in, point()...)
			in = append(in, new(bn256.G2).ScalarBaseMult(big.NewInt(int64(p.IntN(3)))).Marshal()...)
		}
		return in
	case 9:
		in := make([]byte, 213)
		for i := range in {
			in[i] = byte(p.Uint32())
		}
		copy(in, []byte{0, 0, 0, byte(p.IntN(20))})
		in[212] = byte(p.IntN(5) % 3)
		return in
	}
	in := make([]byte, p.IntN(100))
	for i := range in {
		in[i] = byte(p.Uint32())
	}
	return in
}
