package difftest

import (
	"encoding/binary"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"

	"tarn/opera/evm/evmfuzz"
	"tarn/opera/inter"
)

// storer writes the words n..1 into the slots seed+n..seed+1; its input is the seed and n.
const storer = "0x6019600c60003960196000f36020355b801560175780806000350155600190036003565b00"

// rememberContract remembers a contract, so that others talk to it.
func (w *Work) rememberContract(a common.Address) {
	const most = 200
	if len(w.programs.Pool) < most {
		w.programs.Pool = append(w.programs.Pool, a)
	} else {
		w.programs.Pool[most/2+w.IntN(most/2)] = a
	}
}

func (w *Work) creation(kind string, from *Account, gas uint64, init []byte) *Deed {
	return &Deed{Kind: kind, From: from, Gas: gas, Data: init, Price: gwei(5000), made: w.rememberContract}
}

func (w *Work) transfer() *Deed {
	to := w.programs.Someone()
	if w.IntN(3) == 0 {
		to = common.Address{19: byte(w.IntN(12))} // precompiled contracts, and such that are none
	}
	return w.deed("transfer", w.anyone(), to, 21_000+w.Uint64N(60_000), big.NewInt(w.Int64N(1e18)), nil)
}

// program creates a contract of random statements.
func (w *Work) program() *Deed {
	init := w.programs.Part(w.IntN(12), true)
	if w.IntN(3) > 0 { // one whose code is a program too
		init = returning(w.programs.Part(1+w.IntN(20), false))
	}
	value := new(big.Int)
	if w.IntN(4) == 0 {
		value.SetInt64(w.Int64N(1000))
	}
	d := w.creation("create a program", w.anyone(), 200_000+w.Uint64N(3_000_000), init)
	d.Value = value
	d.Gas = max(d.Gas, inter.IntrinsicGas(d.Data, nil, true))
	return d
}

// returning is the initial code of a contract with that code.
func returning(code []byte) []byte {
	n := len(code)
	init := []byte{byte(vm.PUSH2), byte(n >> 8), byte(n), byte(vm.DUP1), byte(vm.PUSH1), 13, byte(vm.PUSH1), 0,
		byte(vm.CODECOPY), byte(vm.PUSH1), 0, byte(vm.RETURN), 0}
	return append(init, code...)
}

func (w *Work) contractCall() *Deed {
	data := make([]byte, w.IntN(100))
	for i := range data {
		data[i] = byte(w.Uint32())
	}
	d := w.deed("call a program", w.anyone(), w.programs.Someone(), 60_000+w.Uint64N(2_000_000), nil, data)
	if w.IntN(4) == 0 {
		d.Value = big.NewInt(w.Int64N(1000))
	}
	return d
}

// storing creates a contract that stores words, or has one store some.
func (w *Work) storing() *Deed {
	if w.IntN(4) == 0 {
		return w.creation("create a store", w.anyone(), 200_000, common.FromHex(storer))
	}
	data := binary.BigEndian.AppendUint64(make([]byte, 24, 64), w.Uint64N(200))
	data = binary.BigEndian.AppendUint64(append(data, make([]byte, 24)...), w.Uint64N(60))
	return w.deed("store", w.anyone(), w.programs.Someone(), 100_000+w.Uint64N(1_500_000), nil, data)
}

// large wants so much gas that few fit into a block, and uses some of it.
func (w *Work) large() *Deed {
	d := w.storing()
	d.Kind, d.Gas = "want much gas", 4_000_000+w.Uint64N(5_900_000)
	return d
}

// factory creates contracts at the same place again and again: CREATE2, destruction,
// CREATE2 once more, and code that begins with EF.
func (w *Work) factory() *Deed {
	p := &evmfuzz.Programmer{Rand: w.Rand}
	child := [][]byte{
		returning([]byte{byte(vm.CALLER), byte(vm.SELFDESTRUCT)}),
		returning([]byte{0xef, 0}),
		returning(nil),
		{byte(vm.PUSH1), 1, byte(vm.PUSH1), 1, byte(vm.SSTORE), byte(vm.ADDRESS), byte(vm.SELFDESTRUCT)},
		{byte(vm.PUSH1), 0, byte(vm.PUSH1), 0, byte(vm.REVERT)},
	}[w.IntN(5)]
	word := make([]byte, 32)
	copy(word, child)
	p.Push(word)
	p.Op(vm.PUSH1, 0, vm.MSTORE)
	for range 1 + w.IntN(3) {
		p.Op(vm.PUSH1, vm.OpCode(w.IntN(2)), vm.PUSH1, vm.OpCode(len(child)), vm.PUSH1, 0, vm.CALLVALUE, vm.CREATE2)
		if w.IntN(2) == 0 {
			p.Op(vm.PUSH1, 0, vm.DUP1, vm.DUP1, vm.DUP1, vm.DUP1, vm.SWAP1+4, vm.GAS, vm.CALL)
		}
		p.Op(vm.PUSH1, vm.OpCode(w.IntN(4)), vm.SSTORE)
	}
	d := w.creation("create a factory", w.anyone(), 700_000, returning(p.Code))
	if w.IntN(3) == 0 {
		d.Data = p.Code // in the creation itself
	}
	return d
}

// edge is what just fits, or just doesn't.
func (w *Work) edge() *Deed {
	from := w.anyone()
	switch w.IntN(4) {
	case 0: // no gas beyond the least
		d := w.contractCall()
		d.Kind = "have no gas to spare"
		d.Gas = inter.IntrinsicGas(d.Data, nil, false) + w.Uint64N(3)
		return d
	case 1: // a creation that has none
		d := w.program()
		d.Kind = "have no gas to create"
		d.Gas = inter.IntrinsicGas(d.Data, nil, true) + w.Uint64N(200)
		return d
	case 2: // the code is one byte too long, or just not
		d := w.creation("create code of the greatest length", from, 6_000_000, nil)
		n := 24_575 + w.IntN(3)
		d.Data = []byte{byte(vm.PUSH2), byte(n >> 8), byte(n), byte(vm.PUSH1), 0, byte(vm.RETURN)}
		return d
	}
	if !w.Virtual {
		return nil
	}
	// More than anybody has: a failure that costs all gas. A creation's nonce stays.
	d := w.deed("send more than there is", from, w.programs.Someone(), 50_000+w.Uint64N(50_000),
		coins(1_000_000_000_000), nil)
	if w.IntN(2) == 0 {
		d.To, d.Gas = nil, 100_000
	}
	if w.IntN(3) == 0 {
		d.Type, d.Tip = types.DynamicFeeTxType, new(big.Int)
	}
	return d
}
