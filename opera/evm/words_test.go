package evm

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bn254/fp"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/vm"
)

// failing is a message that fails, and in which words.
type failing struct {
	want string
	code string // of whom the message is to; a creation's if it begins with "new "
	gas  uint64 // 0: enough
}

// failures are all errors of the machine that a message can end with.
var failures = []failing{
	{"out of gas", "5b600056", 0},
	{"out of gas", "6001600055", 21000 + 2300},    // SSTORE in a call that is meant for less
	{"out of gas", "60016480000000005200", 0},     // memory whose price is beyond 64 bits
	{"out of gas", "650100000000006000600037", 0}, // and of a copy
	{"out of gas", "6000600064800000000060006000600061fffff1", 0},
	{"out of gas", "6480000000006000f3", 0},
	{"out of gas", "6480000000006000a0", 0},
	{"out of gas", "648000000000600020", 0},
	{"out of gas", "600064800000000060006000f5", 0},
	{"out of gas", "64800000000060006000f0", 0},
	{"out of gas", "6001600160016001600160f1", 21000 + 17},
	{"gas uint64 overflow", "68ffffffffffffffffff6000600037", 0},
	{"gas uint64 overflow", "6001690100000000000000000052", 0},
	{"gas uint64 overflow", "690100000000000000000051", 0},
	{"contract creation code storage out of gas", "new 6110006000f3", 300_000},
	{"max code size exceeded", "new 6161a86000f3", 0},
	{"max code size exceeded", "new 6161a86000f3", 300_000},
	{"max code size exceeded", "new 60ef6000536161a86000f3", 0},
	{"invalid code: must not begin with 0xef", "new 60ef60005360016000f3", 0},
	{"invalid code: must not begin with 0xef", "new 60ef6000536110006000f3", 200_000},
	{"execution reverted", "60006000fd", 0},
	{"execution reverted", "60206000fd", 0},
	{"execution reverted", "new 60016000fd", 0},
	{"invalid jump destination", "600056", 0},
	{"invalid jump destination", "6001600057", 0},
	{"return data out of bounds", "6001600060003e", 0},
	{"stack underflow (0 <=> 2)", "01", 0},
	{"stack underflow (1 <=> 2)", "600155", 0},
	{"stack limit reached 1024 (1023)", "5b6000600056", 0},
}

// toPrecompiled are messages to Ethereum's precompiled contracts, and to EvmWriter.
func toPrecompiled() map[string]Message {
	one, modulus := common.LeftPadBytes([]byte{1}, 32), common.LeftPadBytes(fp.Modulus().Bytes(), 32)
	more := common.LeftPadBytes(new(big.Int).Add(fp.Modulus(), big.NewInt(1)).Bytes(), 32)
	two, zero := common.LeftPadBytes([]byte{2}, 32), make([]byte, 32)
	join := func(parts ...[]byte) (all []byte) {
		for _, p := range parts {
			all = append(all, p...)
		}
		return all
	}
	all := map[string]Message{}
	ask := func(name string, to byte, data []byte, gas uint64) {
		address := common.BytesToAddress([]byte{to})
		all[name] = Message{To: &address, Gas: gas, Price: new(big.Int), Value: new(big.Int), Data: data,
			Unchecked: true}
	}
	for _, to := range []byte{curveAdd, curveMul} {
		for name, data := range map[string][]byte{
			"nothing": nil, "good": join(one, two, one, two), "no point": join(one, one), "half a point": join(one),
			"equal": join(modulus, one), "beyond": join(one, more), "the second is beyond": join(one, two, more, one),
			"the second is none": join(one, two, one, one), "none before beyond": join(one, one, more, one),
			"both": join(modulus, more),
		} {
			ask(fmt.Sprint(to, " ", name), to, data, 100_000)
		}
		ask(fmt.Sprint(to, " without gas"), to, nil, 21_100)
	}
	for name, data := range map[string][]byte{
		"nothing": nil, "size": join(one, two), "zeros": make([]byte, 192),
		"no point": join(one, one, zero, zero, zero, zero), "no twist": join(one, two, one, one, one, one),
		"twist equal": join(one, two, zero, zero, modulus, one), "twist beyond": join(one, two, more, zero, one, one),
		"the second": join(make([]byte, 192), modulus, make([]byte, 160)),
	} {
		ask("8 "+name, curvePairing, data, 300_000)
	}
	ask("9 size", 9, one, 100_000)
	ask("9 flag", 9, append(make([]byte, 212), 2), 100_000)
	ask("1", 1, one, 100_000)
	ask("5", 5, join(one, one, one, []byte{3, 4, 5}), 100_000)
	ask("5 of more than there is gas for", 5, join(more, more, more), 100_000)
	ask("EvmWriter", 0, nil, 100_000)
	all["EvmWriter"] = Message{To: &WriterAddress, Gas: 100_000, Price: new(big.Int), Value: new(big.Int),
		Unchecked: true}
	return all
}

// message makes a failing one's scene and message.
func (f *failing) message() (*scene, Message) {
	code, created := strings.CutPrefix(f.code, "new ")
	m := Message{To: &nobody, Gas: f.gas, Price: new(big.Int), Value: new(big.Int), Unchecked: true}
	if m.Gas == 0 {
		m.Gas = 10_000_000
	}
	if created {
		m.To, m.Data = nil, common.FromHex(code)
	}
	return still(func(s *scene) { s.has(nobody, common.FromHex(code)) }, func(*scene) []Tx { return nil }), m
}

// Failures have go-opera's words, for who asks and for who looks on.
func TestFailuresAreInGoOperasWords(t *testing.T) {
	for _, f := range failures {
		s, m := f.message()
		b := NewBlock(s.blocks[0].header, s.state, NewAnalyses(1<<20))
		var told, step string
		b.Trace(&tracing.Hooks{
			OnExit: func(_ int, _ []byte, _ uint64, err error, _ bool) { told = fmt.Sprint(err) },
			OnFault: func(_ uint64, _ byte, _, _ uint64, _ tracing.OpContext, _ int, err error) {
				step = fmt.Sprint(err)
			},
			OnOpcode: func(_ uint64, _ byte, _, _ uint64, _ tracing.OpContext, _ []byte, _ int, err error) {
				if err != nil {
					step = fmt.Sprint(err)
				}
			},
		})
		if r, err := b.Call(&m); err != nil || fmt.Sprint(r.Err) != f.want || told != f.want ||
			step != "" && step != f.want {
			t.Errorf("%s with %d gas: %v, %v, told %q, of a step %q; want %q", f.code, f.gas, r.Err, err,
				told, step, f.want)
		}
		b.Close()
	}
}

// go-opera says the same, of these and of each opcode.
func TestFailuresAreGoOperas(t *testing.T) {
	j := startReferenceEVM(t)
	compare := func(name string, s *scene, m Message) (said judgeSaid) {
		s.calls = []Message{m}
		theirs := j.ask(s.words(false)).Calls
		if err := s.compareCalls(s.state.copy(), theirs); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		return theirs[0]
	}
	for _, f := range failures {
		s, m := f.message()
		if said := compare(f.code, s, m); said.Error != f.want {
			t.Errorf("%s: go-opera says %q, not %q", f.code, said.Error, f.want)
		}
	}
	for op := range 256 {
		for _, words := range []int{0, 17} {
			f := failing{code: strings.Repeat("6001", words) + fmt.Sprintf("%02x", op)}
			s, m := f.message()
			compare(f.code, s, m)
		}
	}
	for name, m := range toPrecompiled() {
		compare(name, still(nil, func(*scene) []Tx { return nil }), m)
	}
	poor := Message{From: nobody, To: &nobody, Gas: 50_000, Price: new(big.Int), Value: big.NewInt(1), Unchecked: true}
	if said := compare("more than there is", still(nil, func(*scene) []Tx { return nil }),
		poor); said.Error != vm.ErrInsufficientBalance.Error() {
		t.Errorf("go-opera says %q of more than there is", said.Error)
	}
}
