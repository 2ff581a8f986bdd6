package rpc

import (
	"encoding/binary"

	"github.com/ethereum/go-ethereum/core/vm"
)

// The contract of these tests does what the first byte of its input says.
const (
	doCount   = iota // adds 1 to slot 0 and logs with none to four topics
	doRevert         // takes back with Error("no")
	doLoop           // never ends
	doInvalid        // runs into the invalid opcode
	doRead           // returns slot 0
	doBare           // takes back without a word
	doPush0          // runs an opcode of a later Ethereum
	doSee            // returns what it sees of its block
	doCall           // calls itself to read
	doPanic          // takes back with Panic(0x11)
	doFill           // returns a megabyte
	doClear          // clears slot 0
	doDie            // destructs itself
	deeds
)

// contract returns the contract's code, and what creates it.
func contract() (runtime, creation []byte) {
	op := func(codes ...vm.OpCode) (b []byte) {
		for _, c := range codes {
			b = append(b, byte(c))
		}
		return b
	}
	push := func(bytes ...byte) []byte { return append([]byte{byte(vm.PUSH1) + byte(len(bytes)) - 1}, bytes...) }
	join := func(parts ...[]byte) (b []byte) {
		for _, p := range parts {
			b = append(b, p...)
		}
		return b
	}
	revertWith := func(data []byte) []byte {
		var code []byte
		for at := 0; at < len(data); at += 32 {
			var word [32]byte
			copy(word[:], data[at:])
			code = join(code, push(word[:]...), push(byte(at)), op(vm.MSTORE))
		}
		return join(code, push(byte(len(data))), push(0), op(vm.REVERT))
	}
	no := make([]byte, 4+32*3)
	copy(no, errorSelector)
	no[4+31], no[4+63] = 0x20, 2
	copy(no[4+64:], "no")
	panicked := append([]byte{0x4e, 0x48, 0x7b, 0x71}, make([]byte, 32)...)
	panicked[35] = 0x11
	store := func(code []byte, at int) []byte { return join(code, push(byte(at>>8), byte(at)), op(vm.MSTORE)) }
	parts := [deeds][]byte{
		doCount: join(push(0), op(vm.SLOAD), push(1), op(vm.ADD), op(vm.DUP1), push(0), op(vm.SSTORE), push(0),
			op(vm.MSTORE),
			push(32), push(0), op(vm.LOG0),
			push(0xa1), push(32), push(0), op(vm.LOG1),
			push(0xb2), push(0xa1), push(8), push(24), op(vm.LOG2),
			push(0xc3), push(0xb2), push(0xa2), push(0), push(0), op(vm.LOG3),
			op(vm.CALLER), push(0xc3), push(0xb2), push(0xa1), push(32), push(0), op(vm.LOG4), op(vm.STOP)),
		doRevert:  revertWith(no),
		doLoop:    nil, // made below
		doInvalid: op(vm.INVALID),
		doRead:    join(push(0), op(vm.SLOAD), push(0), op(vm.MSTORE), push(32), push(0), op(vm.RETURN)),
		doBare:    join(push(0), push(0), op(vm.REVERT)),
		doPush0:   {0x5f},
		doSee: join(store(op(vm.NUMBER), 0), store(op(vm.TIMESTAMP), 32), store(op(vm.COINBASE), 64),
			store(op(vm.DIFFICULTY), 96),
			store(op(vm.GASLIMIT), 128), store(op(vm.CHAINID), 160), store(op(vm.BASEFEE), 192),
			store(op(vm.SELFBALANCE), 224),
			store(join(push(1), op(vm.NUMBER), op(vm.SUB), op(vm.BLOCKHASH)), 256),
			store(op(vm.NUMBER, vm.BLOCKHASH), 288),
			store(op(vm.ORIGIN), 320), store(op(vm.GASPRICE), 352), store(op(vm.CALLVALUE), 384),
			store(op(vm.GAS), 416),
			push(0x01, 0xc0), push(0), op(vm.RETURN)),
		doCall: join(push(doRead), push(0), op(vm.MSTORE8), push(32), push(0), push(1), push(0), push(0),
			op(vm.ADDRESS, vm.GAS, vm.CALL),
			op(vm.POP), push(32), push(0), op(vm.RETURN)),
		doPanic: revertWith(panicked),
		doFill:  join(push(0x10, 0, 0), push(0), op(vm.RETURN)),
		doClear: join(push(0), push(0), op(vm.SSTORE), op(vm.STOP)),
		doDie:   join(op(vm.CALLER), op(vm.SELFDESTRUCT)),
	}
	const entry = 1 + 2 + 1 + 3 + 1 // of the table below: DUP1 PUSH1 k EQ PUSH2 to JUMPI
	head := join(push(0), op(vm.CALLDATALOAD), push(248), op(vm.SHR))
	at := len(head) + entry*int(deeds) + 1
	var table, bodies []byte
	for k, body := range parts {
		var to [2]byte
		binary.BigEndian.PutUint16(to[:], uint16(at+len(bodies)))
		if k == doLoop {
			body = join(push(to[:]...), op(vm.JUMP))
		}
		table = join(table, op(vm.DUP1), push(byte(k)), op(vm.EQ), push(to[:]...), op(vm.JUMPI))
		bodies = join(bodies, op(vm.JUMPDEST), body)
	}
	runtime = join(head, table, op(vm.STOP), bodies)
	size := []byte{byte(len(runtime) >> 8), byte(len(runtime))}
	const prefix = 3 + 1 + 2 + 2 + 1 + 2 + 1
	creation = join(push(size...), op(vm.DUP1), push(prefix), push(0), op(vm.CODECOPY), push(0), op(vm.RETURN), runtime)
	return runtime, creation
}
