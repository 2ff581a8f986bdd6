package evm

import (
	"errors"
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"

	"tarn/opera/inter"
)

func TestTheBaseFeeIsTheLeastGasPriceOfLondon(t *testing.T) {
	rules := inter.FakeRules()
	if fee := BaseFee(&rules); fee.Cmp(big.NewInt(1e9)) != 0 {
		t.Errorf("base fee %v, want 1e9", fee)
	}
	rules.Upgrades.London = false
	if fee := BaseFee(&rules); fee != nil {
		t.Errorf("base fee %v before London", fee)
	}
}

func TestWhatIsPaid(t *testing.T) {
	fee, legacy := big.NewInt(10), types.NewTx(&types.LegacyTx{GasPrice: big.NewInt(7)})
	dynamic := func(tip, most int64) *types.Transaction {
		return types.NewTx(&types.DynamicFeeTx{GasTipCap: big.NewInt(tip), GasFeeCap: big.NewInt(most)})
	}
	for _, c := range []struct {
		tx   *types.Transaction
		fee  *big.Int
		want int64
	}{
		{legacy, nil, 7}, {legacy, fee, 7}, {dynamic(3, 20), fee, 13}, {dynamic(3, 12), fee, 12},
		{dynamic(0, 5), fee, 5}, {dynamic(3, 20), nil, 20},
	} {
		if price := Price(c.tx, c.fee); price.Int64() != c.want {
			t.Errorf("price %v of %v with base fee %v, want %d", price, c.tx.Type(), c.fee, c.want)
		}
	}
}

// Who asks gets what a contract returns, why it failed, and go-opera's words for what is
// not executed.
func TestCallsSayWhatHappened(t *testing.T) {
	at := common.HexToAddress("0xc0de")
	s := still(func(s *scene) {
		s.has(at, []byte{byte(vm.PUSH1), 5, byte(vm.PUSH1), 0, byte(vm.MSTORE), byte(vm.CALLDATASIZE), byte(vm.PUSH1),
			14, byte(vm.JUMPI),
			byte(vm.PUSH1), 32, byte(vm.PUSH1), 0, byte(vm.RETURN), byte(vm.JUMPDEST), byte(vm.PUSH1), 32,
			byte(vm.PUSH1), 0, byte(vm.REVERT)})
	}, func(*scene) []Tx { return nil })
	b := NewBlock(s.blocks[0].header, s.state, NewAnalyses(1<<20))
	defer b.Close()
	m := Message{To: &at, Gas: 50_000, Price: new(big.Int), Value: new(big.Int), Unchecked: true}
	five := common.LeftPadBytes([]byte{5}, 32)
	r, err := b.Call(&m)
	if err != nil || r.Err != nil || string(r.Return) != string(five) || r.GasUsed >= 22_000 {
		t.Errorf("a call gives %+v, %v", r, err)
	}
	m.Data = []byte{1}
	if r, err = b.Call(&m); err != nil || !errors.Is(r.Err, vm.ErrExecutionReverted) ||
		string(r.Return) != string(five) {
		t.Errorf("a call that reverts gives %+v, %v", r, err)
	}
	m.To, m.Data = &WriterAddress, nil
	if r, err = b.Call(&m); err != nil || !errors.Is(r.Err, vm.ErrExecutionReverted) || r.GasUsed != m.Gas {
		t.Errorf("EvmWriter gives %+v, %v", r, err)
	}
	for want, change := range map[string]func(*Message){
		"intrinsic gas too low: have 20999, want 21000": func(m *Message) { m.Gas = 20_999 },
		"insufficient funds for gas * price + value: address 0x000000000000000000000000000000000000dEaD have " +
			"0 want 50000": func(m *Message) { m.Price, m.From = big.NewInt(1), common.HexToAddress("0xdead") },
		"nonce too high: address 0x0000000000000000000000000000000000000000, tx: 9 state: ": func(m *Message) {
			m.Nonce, m.Unchecked = 9, false
		},
		"sender not an eoa: address 0xd100A01E00000000000000000000000000000000, codehash: 0x": func(m *Message) {
			m.From, m.Nonce, m.Unchecked = DriverAddress, 1, false
		},
	} {
		c := m
		change(&c)
		var refusal *Refusal
		if _, err := b.Call(&c); !errors.As(err, &refusal) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("refused with %q, want %q", err, want)
		}
	}
}

func TestAnalysesKeepWhatIsAskedForAndNoMore(t *testing.T) {
	a := NewAnalyses(40 * (100 + analysisEntry))
	used := common.Hash{1}
	a.Store(used, vm.BitVec("used"))
	for i := range 1000 {
		a.Store(common.Hash{2, byte(i >> 8), byte(i)}, make(vm.BitVec, 100))
		if v, ok := a.Load(used); !ok || string(v) != "used" {
			t.Fatalf("forgotten after %d", i)
		}
		if n := len(a.young) + len(a.old); n > 41 {
			t.Fatalf("%d are kept", n)
		}
	}
	if _, ok := a.Load(common.Hash{2}); ok {
		t.Error("the oldest is still there")
	}
}

// What the state fails to read makes no block.
func TestABlockEndsWithItsState(t *testing.T) {
	s := still(nil, func(s *scene) []Tx { return []Tx{s.sends(0, &nobody, new(big.Int), nil)} })
	b := NewBlock(s.blocks[0].header, broken{s.state}, NewAnalyses(1<<20))
	defer b.Close()
	if _, err := b.Execute(s.blocks[0].steps[0], nil); !errors.Is(err, errBroken) {
		t.Errorf("executed with %v", err)
	}
	if _, err := b.Call(&Message{To: &nobody, Gas: 50_000, Price: new(big.Int), Value: new(big.Int)}); !errors.Is(err,
		errBroken) {
		t.Errorf("called with %v", err)
	}
}

type broken struct{ *memory }

var errBroken = errors.New("a page is torn")

func (broken) Error() error { return errBroken }
