package evm

import (
	"encoding/binary"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/opera/evm/evmfuzz"
	"tarn/opera/inter"
	"tarn/opera/state"
)

// still is a scene of one London block whose transactions are given by hand.
func still(state func(*scene), txs func(*scene) []Tx) *scene {
	s := newScene(1)
	s.state, s.blocks = newMemory(), nil
	s.upgrades = []inter.UpgradeHeight{{Upgrades: inter.Upgrades{Berlin: true, London: true}}}
	for i := range s.keys {
		a := newAccount()
		a.balance.SetUint64(1e18)
		s.state.accounts[s.sender(i)] = a
	}
	writer := newAccount()
	writer.code = []byte{0}
	s.state.accounts[WriterAddress] = writer
	s.has(DriverAddress, through(vm.CALL, WriterAddress))
	if state != nil {
		state(s)
	}
	s.now = s.state.copy()
	config := ChainConfig(network, s.upgrades)
	h := Header{Number: 9, Time: 1_600_000_000_000_000_000, Config: config, BaseFee: big.NewInt(1), BlockID: s.id}
	s.blocks = []sceneBlock{{header: h}}
	s.blocks[0].steps = [][]Tx{txs(s)}
	return s
}

// has puts a contract into the state.
func (s *scene) has(address common.Address, code []byte) *account {
	a := newAccount()
	a.nonce, a.code = 1, code
	s.state.accounts[address] = a
	return a
}

// through is a contract that passes its input on by a kind of call, with all gas and no
// value, and keeps whether that succeeded in slot 0.
func through(kind vm.OpCode, to common.Address) []byte {
	p := &evmfuzz.Programmer{}
	p.Op(vm.CALLDATASIZE, vm.PUSH1, 0, vm.PUSH1, 0, vm.CALLDATACOPY, vm.PUSH1, 0, vm.PUSH1, 0,
		vm.CALLDATASIZE, vm.PUSH1, 0)
	if kind == vm.CALL || kind == vm.CALLCODE {
		p.Number(0)
	}
	p.Push(to[:])
	p.Op(vm.GAS, kind)
	return p.Code
}

// keeping is through, with the result kept in slot 0.
func keeping(kind vm.OpCode, to common.Address) []byte {
	return append(through(kind, to), byte(vm.PUSH1), 2, byte(vm.ADD), byte(vm.PUSH1), 0, byte(vm.SSTORE))
}

// sends signs a transaction of the first sender, of some nonce.
func (s *scene) sends(nonce uint64, to *common.Address, value *big.Int, data []byte) Tx {
	return s.sign(big.NewInt(network), 0, offer{to: to, data: data, nonce: nonce, gas: 1_000_000, value: value,
		price: big.NewInt(1)})
}

// asks is an input for EvmWriter.
func asks(selector uint32, args ...[]byte) []byte {
	input := binary.BigEndian.AppendUint32(nil, selector)
	for _, a := range args {
		input = append(input, common.LeftPadBytes(a, 32)...)
	}
	return input
}

var nobody = common.HexToAddress("0xabcdef")

// What random scenes seldom meet.
var quirks = map[string]func() *scene{
	"an account that comes back by nothing stays empty": func() *scene {
		return still(nil, func(s *scene) (txs []Tx) {
			for nonce := range uint64(3) {
				txs = append(txs, s.sends(nonce, &DriverAddress, new(big.Int), asks(0xe30443bc, nobody[:], nil)))
			}
			return txs
		})
	},
	"a slot of nothing brings an account back": func() *scene {
		return still(nil, func(s *scene) []Tx {
			return []Tx{
				s.sends(0, &DriverAddress, new(big.Int), asks(0x39e503ab, nobody[:], []byte{1}, []byte{1})),
				s.sends(1, &DriverAddress, new(big.Int), asks(0x39e503ab, nobody[:], []byte{1}, nil)),
			}
		})
	},
	"a creation drops what storage there was": func() *scene {
		return still(func(s *scene) {
			a := newAccount()
			a.balance.SetUint64(5)
			a.storage[common.Hash{}] = common.Hash{31: 7}
			a.storage[common.Hash{31: 1}] = common.Hash{31: 8}
			s.state.accounts[crypto.CreateAddress(s.sender(0), 0)] = a
		}, func(s *scene) []Tx {
			return []Tx{s.sends(0, nil, big.NewInt(3), []byte{byte(vm.PUSH1), 0, byte(vm.SLOAD), byte(vm.PUSH1), 1,
				byte(vm.ADD), byte(vm.PUSH1), 0, byte(vm.SSTORE)})}
		})
	},
	"a creation that fails leaves what storage there was": func() *scene {
		return still(func(s *scene) {
			a := newAccount()
			a.balance.SetUint64(5)
			a.storage[common.Hash{}] = common.Hash{31: 7}
			s.state.accounts[crypto.CreateAddress(s.sender(0), 0)] = a
		}, func(s *scene) []Tx {
			return []Tx{s.sends(0, nil, new(big.Int), []byte{byte(vm.PUSH1), 1, byte(vm.PUSH1), 0, byte(vm.SSTORE),
				byte(vm.INVALID)})}
		})
	},
	"a creation of more than there is can come again": func() *scene {
		return still(func(s *scene) { s.has(nobody, through(vm.CALL, DriverAddress)) }, func(s *scene) []Tx {
			create := s.sends(0, nil, big.NewInt(2e18), []byte{byte(vm.PUSH1), 0, byte(vm.PUSH1), 0, byte(vm.LOG0)})
			rich := s.sign(big.NewInt(network), 1, offer{
				to: &DriverAddress, nonce: 0, gas: 1_000_000, value: new(big.Int), price: big.NewInt(1),
				data: asks(0xe30443bc, s.sender(0).Bytes(), new(big.Int).SetUint64(9e18).Bytes()),
			})
			return []Tx{create, create, rich, create, create}
		})
	},
	"a nonce begins anew": func() *scene {
		return still(func(s *scene) { s.state.accounts[s.sender(0)].nonce = math.MaxUint64 }, func(s *scene) []Tx {
			return []Tx{s.sends(math.MaxUint64, &nobody, big.NewInt(1), nil), s.sends(0, &nobody, big.NewInt(1), nil)}
		})
	},
	"values and prices of more than a word": func() *scene {
		return still(nil, func(s *scene) []Tx {
			huge := new(big.Int).Lsh(big.NewInt(1), 256)
			o := offer{to: &nobody, gas: 50_000, kind: 3, value: new(big.Int), price: huge, tip: new(big.Int)}
			cheap := s.sign(big.NewInt(network), 1, o)
			o.tip = huge
			dear := s.sign(big.NewInt(network), 2, o)
			half := s.sign(big.NewInt(network), 3,
				offer{to: &nobody, gas: 50_000, value: new(big.Int), price: new(big.Int).Rsh(huge, 1)})
			return []Tx{s.sends(0, &nobody, huge, nil), s.sends(1, nil, huge, nil), cheap, dear, half}
		})
	},
	"the sender's balance and nonce are not the driver's to write": func() *scene {
		return still(nil, func(s *scene) (txs []Tx) {
			sender, other := s.sender(0), s.sender(1)
			for i, ask := range [][]byte{
				asks(0xe30443bc, sender[:], []byte{9}), asks(0x79bead38, sender[:], []byte{1}),
				asks(0xe30443bc, other[:], []byte{9}), asks(0x79bead38, other[:], []byte{1}),
				asks(0x79bead38, other[:], []byte{1, 0}), asks(0x79bead38, other[:], []byte{255}),
				asks(0x79bead38, other[:], nil),
			} {
				txs = append(txs, s.sends(uint64(i), &DriverAddress, new(big.Int), ask))
			}
			return txs
		})
	},
	"the driver writes in a static frame": func() *scene {
		return still(func(s *scene) { s.has(nobody, keeping(vm.STATICCALL, DriverAddress)) }, func(s *scene) []Tx {
			return []Tx{s.sends(0, &nobody, new(big.Int), asks(0x39e503ab, nobody[:], []byte{1}, []byte{1}))}
		})
	},
	"EvmWriter obeys nobody else": func() *scene {
		return still(func(s *scene) { s.has(nobody, keeping(vm.CALL, WriterAddress)) }, func(s *scene) []Tx {
			return []Tx{
				s.sends(0, &nobody, new(big.Int), asks(0x39e503ab, nobody[:], []byte{1}, []byte{1})),
				s.sends(1, &WriterAddress, new(big.Int), asks(0x39e503ab, nobody[:], []byte{1}, []byte{1})),
				s.sends(2, &WriterAddress, big.NewInt(1), nil),
			}
		})
	},
	"other calls of EvmWriter stop":                writerBy(vm.CALLCODE, vm.DELEGATECALL, vm.STATICCALL),
	"whom the driver runs in its place is heard":   inItsPlace(vm.DELEGATECALL),
	"whom the driver's code runs for is heard too": inItsPlace(vm.CALLCODE),
	"EvmWriter with other code": func() *scene {
		return still(func(s *scene) {
			s.has(nobody, []byte{byte(vm.PUSH1), 9, byte(vm.PUSH1), 5, byte(vm.SSTORE)})
			for i, kind := range []vm.OpCode{vm.CALL, vm.CALLCODE, vm.DELEGATECALL, vm.STATICCALL} {
				s.has(common.BytesToAddress([]byte{0xf0, byte(i)}), keeping(kind, WriterAddress))
			}
		}, func(s *scene) []Tx {
			txs := []Tx{s.sends(0, &DriverAddress, new(big.Int), asks(0xd6a0c7af, WriterAddress[:], nobody[:]))}
			for i := range uint64(4) {
				to := common.BytesToAddress([]byte{0xf0, byte(i)})
				txs = append(txs, s.sends(1+i, &to, new(big.Int), nil))
			}
			return append(txs,
				s.sends(5, &DriverAddress, new(big.Int), asks(0x39e503ab, nobody[:], []byte{1}, []byte{1})))
		})
	},
}

// writerBy calls EvmWriter from the driver in kinds that do not reach it.
func writerBy(kinds ...vm.OpCode) func() *scene {
	return func() *scene {
		return still(func(s *scene) {
			var code []byte
			for i, kind := range kinds {
				code = append(append(code, through(kind, WriterAddress)...), byte(vm.PUSH1), 2, byte(vm.ADD),
					byte(vm.PUSH1), byte(i), byte(vm.SSTORE))
			}
			s.has(DriverAddress, code)
		}, func(s *scene) []Tx {
			return []Tx{s.sends(0, &DriverAddress, new(big.Int), asks(0x39e503ab, nobody[:], []byte{1}, []byte{1}))}
		})
	}
}

// inItsPlace lets the driver run another contract's code, which calls EvmWriter.
func inItsPlace(kind vm.OpCode) func() *scene {
	return func() *scene {
		return still(func(s *scene) {
			s.has(DriverAddress, keeping(kind, nobody))
			s.has(nobody, through(vm.CALL, WriterAddress))
		}, func(s *scene) []Tx {
			return []Tx{s.sends(0, &DriverAddress, new(big.Int), asks(0x39e503ab, nobody[:], []byte{1}, []byte{1}))}
		})
	}
}

// go-opera's own processor makes the same of the blocks that are made for it.
func TestQuirksAreGoOperas(t *testing.T) {
	j := startReferenceEVM(t)
	for name, make := range quirks {
		t.Run(name, func(t *testing.T) {
			s := make()
			ours := s.state.copy()
			if err := s.compare(ours, j.ask(s.words(false)).Blocks, new(reached)); err != nil {
				t.Fatalf("%v\n%s", err, difference(ours.words(), j.ask(s.words(true)).State))
			}
		})
	}
}

// EvmWriter clears a slot without a refund. A contract that sets the slot again in the same transaction takes a
// refund back that nobody got: that ends a go-opera, and is an error of the block here.
func TestARefundBelowZeroIsAnErrorOfTheBlock(t *testing.T) {
	s := still(func(s *scene) {
		code := append(through(vm.CALL, WriterAddress), byte(vm.PUSH1), 5, byte(vm.PUSH1), 1, byte(vm.SSTORE))
		s.has(DriverAddress, code).storage[common.BytesToHash([]byte{1})] = common.BytesToHash([]byte{7})
	}, func(s *scene) []Tx {
		clear := asks(0x39e503ab, DriverAddress[:], []byte{1}, []byte{0})
		return []Tx{s.sends(0, &DriverAddress, new(big.Int), clear)}
	})
	for name, on := range map[string]State{"memory": s.state.copy(), "opera/state": state.NewBlock(s.state.hashKeys())} {
		b := NewBlock(s.blocks[0].header, on, NewAnalyses(1<<20))
		if _, err := b.Execute(s.blocks[0].steps[0], nil); err == nil || !strings.Contains(err.Error(), "refund") {
			t.Errorf("%s: %v", name, err)
		}
		b.Close()
	}
}
