package evm

import (
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/opera/evm/evmfuzz"
	"tarn/opera/inter"
	"tarn/opera/state"
)

// token is a contract that does what an ERC-20 transfer does: it takes the recipient and
// the amount after a selector, finds both balances by the hash of the account and a slot,
// checks the sender's, writes both and logs the transfer.
func token() []byte {
	p := &evmfuzz.Programmer{}
	balance := func(account func()) { // pushes the slot of an account's balance
		account()
		p.Op(vm.PUSH1, 0, vm.MSTORE, vm.PUSH1, 0, vm.PUSH1, 32, vm.MSTORE, vm.PUSH1, 64, vm.PUSH1, 0, vm.KECCAK256)
	}
	recipient := func() { p.Op(vm.PUSH1, 4, vm.CALLDATALOAD) }
	balance(func() { p.Op(vm.CALLER) })
	p.Op(vm.PUSH1, 36, vm.CALLDATALOAD, vm.DUP2, vm.SLOAD) // slot amount have
	p.Op(vm.DUP2, vm.DUP2, vm.LT, vm.PUSH1, 0, vm.JUMPI)   // too little: a jump to nowhere fails
	p.Op(vm.DUP2, vm.SWAP1, vm.SUB, vm.DUP3, vm.SSTORE)    // slot amount
	balance(recipient)
	p.Op(vm.DUP1, vm.SLOAD, vm.DUP3, vm.ADD, vm.SWAP1, vm.SSTORE)
	p.Op(vm.PUSH1, 0, vm.MSTORE)
	recipient()
	p.Op(vm.CALLER)
	p.Push(crypto.Keccak256([]byte("Transfer(address,address,uint256)")))
	p.Op(vm.PUSH1, 32, vm.PUSH1, 0, vm.LOG3)
	return p.Code
}

// transfers makes a state of people with tokens, and a block of their transfers.
func transfers(people, count int) (*memory, Header, []Tx) {
	m := newMemory()
	at := common.HexToAddress("0x70ce")
	contract := newAccount()
	contract.nonce, contract.code = 1, token()
	m.accounts[at] = contract
	person := func(i int) common.Address { return common.BigToAddress(big.NewInt(int64(1e6 + i%people))) }
	for i := range people {
		a := newAccount()
		a.balance.SetUint64(1e18)
		m.accounts[person(i)] = a
		contract.storage[crypto.Keccak256Hash(common.LeftPadBytes(person(i).Bytes(), 32),
			make([]byte, 32))] = common.Hash{24: 1}
	}
	heights := []inter.UpgradeHeight{{Upgrades: inter.Upgrades{Berlin: true, London: true}}}
	h := Header{Number: 7, Time: 1.6e18, Config: ChainConfig(network, heights), BaseFee: big.NewInt(1e9)}
	var txs []Tx
	for i := range count {
		txs = append(txs, Tx{From: person(i), Transaction: types.NewTx(&types.LegacyTx{
			Nonce: uint64(i / people), GasPrice: big.NewInt(1e9), Gas: 100_000, To: &at, Value: new(big.Int),
			Data: append(append([]byte{0xa9, 0x05, 0x9c, 0xbb}, common.LeftPadBytes(person(i*7+3).Bytes(), 32)...),
				common.LeftPadBytes([]byte{5}, 32)...),
			V: big.NewInt(27), R: big.NewInt(1), S: big.NewInt(1),
		})})
		txs[i].Hash()
	}
	return m, h, txs
}

// A block of ERC-20 transfers over opera/state's block, whose source is in memory: what
// the machine, the transition and the block's state cost, without senders, rows and roots.
func BenchmarkTransfers(b *testing.B) {
	m, h, txs := transfers(10_000, 2_000)
	source, analyses := m.hashKeys(), NewAnalyses(1<<24)
	b.ReportAllocs()
	for b.Loop() {
		block := NewBlock(h, state.NewBlock(source), analyses)
		receipts, err := block.Execute(txs, nil)
		if err != nil || len(receipts) != len(txs) || receipts[0].Status != types.ReceiptStatusSuccessful {
			b.Fatalf("%d receipts, %v", len(receipts), err)
		}
		block.Close()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(txs)), "ns/tx")
}
