package evm

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"

	"tarn/opera/evm/evmfuzz"
	"tarn/opera/state"
)

// pays calls an account with a value and keeps the result + 2 in a slot.
func pays(to common.Address, value, slot byte) []byte {
	p := &evmfuzz.Programmer{}
	p.Op(vm.PUSH1, 0, vm.PUSH1, 0, vm.PUSH1, 0, vm.PUSH1, 0, vm.PUSH1, vm.OpCode(value))
	p.Push(to[:])
	p.Op(vm.GAS, vm.CALL, vm.PUSH1, 2, vm.ADD, vm.PUSH1, vm.OpCode(slot), vm.SSTORE)
	return p.Code
}

// bySystem is a scene in which the system address runs code, and has so much.
func bySystem(has uint64, code []byte, more func(*scene)) func() *scene {
	return func() *scene {
		return still(func(s *scene) {
			s.has(params.SystemAddress, code).balance.SetUint64(has)
			if more != nil {
				more(s)
			}
		}, func(s *scene) []Tx {
			return []Tx{s.sends(0, &params.SystemAddress, new(big.Int), asks(0x39e503ab, nobody[:], []byte{1},
				[]byte{1})), s.sends(1, &params.SystemAddress, big.NewInt(3), nil)}
		})
	}
}

// Rules that today's machine has under every upgrade.
var todays = map[string]func() *scene{
	"the system address pays what it has": bySystem(100, pays(nobody, 5, 0), func(s *scene) {
		s.has(nobody, []byte{byte(vm.SELFBALANCE), byte(vm.PUSH1), 0, byte(vm.SSTORE)})
	}),
	"the system address does not pay what it lacks": bySystem(0,
		append(pays(nobody, 5, 0), byte(vm.RETURNDATASIZE), byte(vm.PUSH1), 1, byte(vm.SSTORE)),
		func(s *scene) { s.has(nobody, []byte{0}) }),
	"the system address pays somebody new":             bySystem(100, pays(nobody, 5, 0), nil),
	"the system address calls nobody for nothing":      bySystem(100, pays(nobody, 0, 0), nil),
	"the system address touches an empty account":      bySystem(100, pays(nobody, 0, 0), func(s *scene) { s.has(nobody, nil).nonce = 0 }),
	"the system address touches a precompiled account": bySystem(100, pays(common.Address{19: 3}, 0, 0), nil),
	"the system address pays a precompiled account":    bySystem(100, pays(common.Address{19: 4}, 7, 0), nil),
	"the system address lacks what a precompiled account would get": bySystem(0,
		append(pays(common.Address{19: 4}, 7, 0), pays(common.Address{19: 4}, 0, 1)...), nil),
	"the system address gets its value back from who fails": bySystem(100,
		append(pays(nobody, 5, 0), pays(nobody, 0, 1)...), func(s *scene) {
			s.has(nobody, []byte{byte(vm.CALLVALUE), byte(vm.PUSH1), 5, byte(vm.JUMPI), byte(vm.STOP),
				byte(vm.JUMPDEST), byte(vm.PUSH1), 0, byte(vm.DUP1), byte(vm.REVERT)})
		}),
	"the system address pays itself": bySystem(4,
		append([]byte{byte(vm.CALLER), byte(vm.PUSH1), 200, byte(vm.JUMPI)}, pays(params.SystemAddress, 3, 0)...), nil),
	"the system address, called again by whom it pays": bySystem(100,
		append(pays(nobody, 5, 0), pays(DriverAddress, 2, 1)...), func(s *scene) {
			s.has(nobody, append([]byte{byte(vm.PUSH1), 0, byte(vm.SLOAD), byte(vm.PUSH1), 90, byte(vm.JUMPI),
				byte(vm.PUSH1), 1, byte(vm.PUSH1), 0, byte(vm.SSTORE)}, pays(params.SystemAddress, 1, 1)...))
		}),
	"the system address is heard by EvmWriter like others": bySystem(0, keeping(vm.CALL, WriterAddress), nil),
	"the system address calls in other ways": bySystem(3,
		append(append(keeping(vm.CALLCODE, nobody), keeping(vm.DELEGATECALL, nobody)...),
			keeping(vm.STATICCALL, nobody)...),
		func(s *scene) { s.has(nobody, pays(DriverAddress, 2, 4)) }),
	"the system address creates with what it has": bySystem(3, []byte{byte(vm.PUSH1), 0, byte(vm.PUSH1), 0,
		byte(vm.PUSH1), 3, byte(vm.CREATE), byte(vm.PUSH1), 0, byte(vm.SSTORE)}, nil),
	"the driver gives the system address its code": func() *scene {
		return still(func(s *scene) { s.has(nobody, pays(DriverAddress, 5, 0)) }, func(s *scene) []Tx {
			return []Tx{
				s.sends(0, &DriverAddress, new(big.Int), asks(0xd6a0c7af, params.SystemAddress[:], nobody[:])),
				s.sends(1, &params.SystemAddress, big.NewInt(3), nil),
				s.sends(2, &params.SystemAddress, big.NewInt(3), nil),
			}
		})
	},
	"a creation at the last nonce": func() *scene {
		return still(func(s *scene) { s.state.accounts[s.sender(0)].nonce = math.MaxUint64 }, func(s *scene) []Tx {
			return []Tx{
				s.sends(math.MaxUint64, nil, new(big.Int),
					[]byte{byte(vm.PUSH1), 1, byte(vm.PUSH1), 0, byte(vm.SSTORE)}),
				s.sends(0, nil, new(big.Int), []byte{byte(vm.INVALID)}), s.sends(1, &nobody, big.NewInt(1), nil),
			}
		})
	},
	"a creation at the last nonce that fails": func() *scene {
		return still(func(s *scene) { s.state.accounts[s.sender(0)].nonce = math.MaxUint64 }, func(s *scene) []Tx {
			return []Tx{s.sends(math.MaxUint64, nil, big.NewInt(1), []byte{byte(vm.INVALID)}),
				s.sends(0, &nobody, big.NewInt(1), nil)}
		})
	},
	"CREATE, CREATE2 and calls at the last nonce": func() *scene {
		return still(func(s *scene) {
			code := append(pays(DriverAddress, 1, 3), byte(vm.PUSH1), 0, byte(vm.DUP1), byte(vm.DUP1), byte(vm.CREATE),
				byte(vm.PUSH1), 0, byte(vm.SSTORE))
			code = append(code, byte(vm.PUSH1), 7, byte(vm.PUSH1), 0, byte(vm.DUP1), byte(vm.DUP1), byte(vm.CREATE2),
				byte(vm.PUSH1), 1, byte(vm.SSTORE))
			code = append(code, keeping(vm.CALLCODE, DriverAddress)...)
			a := s.has(nobody, append(code, byte(vm.PUSH1), 0, byte(vm.DUP1), byte(vm.PUSH1), 77, byte(vm.CREATE),
				byte(vm.PUSH1), 2, byte(vm.SSTORE)))
			a.nonce = math.MaxUint64
			a.balance.SetUint64(9)
		}, func(s *scene) []Tx {
			return []Tx{s.sends(0, &nobody, new(big.Int), nil), s.sends(1, &nobody, new(big.Int), nil)}
		})
	},
	"code that is too large and begins with 0xef": func() *scene {
		return still(nil, func(s *scene) []Tx {
			return []Tx{s.sends(0, nil, new(big.Int), common.FromHex("60ef6000536161a86000f3"))}
		})
	},
}

// go-opera's own processor makes the same of what meets today's rules.
func TestRulesOfTodayAreNotOperas(t *testing.T) {
	j := startReferenceEVM(t)
	for name, make := range todays {
		t.Run(name, func(t *testing.T) {
			s := make()
			ours := s.state.copy()
			if err := s.compare(ours, j.ask(s.words(false)).Blocks, new(reached)); err != nil {
				t.Fatalf("%v\n%s", err, difference(ours.words(), j.ask(s.words(true)).State))
			}
		})
	}
}

// A balance that go-opera holds and a word does not makes no block: it would be another chain's.
func TestABalanceBeyondAWordIsNoBlock(t *testing.T) {
	s := still(nil, func(s *scene) []Tx {
		most := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1))
		return []Tx{
			s.sends(0, &DriverAddress, new(big.Int), asks(0xe30443bc, nobody[:], most.Bytes())),
			s.sends(1, &nobody, big.NewInt(1), nil),
		}
	})
	b := NewBlock(s.blocks[0].header, state.NewBlock(s.state.hashKeys()), NewAnalyses(1<<20))
	defer b.Close()
	txs := s.blocks[0].steps[0]
	if _, err := b.Execute(txs[:1], nil); err != nil {
		t.Fatal("the most that there can be: ", err)
	}
	if _, err := b.Execute(txs[1:], nil); !errors.Is(err, state.ErrBalance) {
		t.Error("one more: ", err)
	}
}

// A message of the system address is paid for as another's, also where it has no code.
func TestMessagesOfTheSystemAddressPay(t *testing.T) {
	s := still(func(s *scene) {
		s.has(nobody, []byte{byte(vm.SELFBALANCE), byte(vm.PUSH1), 0, byte(vm.MSTORE), byte(vm.MSIZE), byte(vm.PUSH1),
			0, byte(vm.RETURN)})
	}, func(*scene) []Tx { return nil })
	m := Message{From: params.SystemAddress, To: &nobody, Gas: 100_000, Price: new(big.Int), Value: big.NewInt(5),
		Unchecked: true}
	call := func(has uint64) Result {
		on := s.state.copy()
		on.AddBalance(params.SystemAddress, uint256.NewInt(has), tracing.BalanceChangeUnspecified)
		b := NewBlock(s.blocks[0].header, on, NewAnalyses(1<<20))
		defer b.Close()
		r, err := b.Call(&m)
		if err != nil {
			t.Fatal(err)
		}
		if left := on.GetBalance(params.SystemAddress).Uint64(); left+on.GetBalance(nobody).Uint64() != has {
			t.Errorf("of %d there are %d left", has, left)
		}
		return r
	}
	if r := call(4); r.Err != vm.ErrInsufficientBalance || r.GasUsed >= m.Gas {
		t.Error("paid with what it lacks: ", r)
	}
	if r := call(7); r.Err != nil || len(r.Return) != 32 || r.Return[31] != 5 {
		t.Error("paid with what it has: ", r)
	}
	m.To, m.Value = &WriterAddress, new(big.Int)
	if r := call(0); r.Err != vm.ErrExecutionReverted || r.GasUsed != m.Gas {
		t.Error("EvmWriter says ", r)
	}
}

// Nothing is left behind by calls of the system address that were refused, and what is told of
// them is told in pairs.
func TestCallsByTheSystemAddressAreTold(t *testing.T) {
	s := bySystem(4, append(pays(nobody, 5, 0), pays(nobody, 3, 1)...), func(s *scene) { s.has(nobody, []byte{0}) })()
	b := NewBlock(s.blocks[0].header, s.state, NewAnalyses(1<<20))
	defer b.Close()
	var told []string
	b.Trace(&tracing.Hooks{
		OnEnter: func(depth int, kind byte, from, to common.Address, _ []byte, _ uint64, value *big.Int) {
			told = append(told, fmt.Sprint("enter ", depth, " ", value))
		},
		OnExit: func(depth int, _ []byte, _ uint64, err error, reverted bool) {
			told = append(told, fmt.Sprint("exit ", depth, " ", err, " ", reverted))
		},
	})
	m := Message{To: &params.SystemAddress, Gas: 1_000_000, Price: new(big.Int), Value: new(big.Int), Unchecked: true}
	if r, err := b.Call(&m); err != nil || r.Err != nil {
		t.Fatal(r, err)
	}
	m.From, m.To, m.Value = params.SystemAddress, &nobody, big.NewInt(2)
	r, err := b.Call(&m)
	if err != nil || r.Err != vm.ErrInsufficientBalance || r.GasUsed > 200_000 {
		t.Error("what the system address lacks: ", r, err)
	}
	want := []string{"enter 0 0", "enter 1 5", "exit 1 insufficient balance for transfer true",
		"enter 1 3", "exit 1 <nil> false", "exit 0 <nil> false",
		"enter 0 2", "exit 0 insufficient balance for transfer true"}
	if fmt.Sprint(told) != fmt.Sprint(want) {
		t.Errorf("told %q, want %q", told, want)
	}
	if len(b.system.calls) != 0 || b.writer.known[nobody] != nil {
		t.Error("left behind: ", b.system.calls, b.writer.known)
	}
}
