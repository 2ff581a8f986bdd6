package chain

import (
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/vm"

	"tarn/opera/epoch"
	"tarn/opera/evm"
	"tarn/opera/inter"
	"tarn/opera/state"
	"tarn/store/engine"
)

// The calls after a seal begin with the nonce that the zero address has by then: code that the driver has put
// there may have created contracts in the calls before.
func TestCallsOfTheDriverHaveTheNonceThatThereIs(t *testing.T) {
	s := openStore(t, t.TempDir(), engine.Options{Kind: engine.Page})
	defer s.Close()
	c := newChain(t, s)
	defer closeChain(t, c)
	b := &draft{Block: epoch.Begin(&c.block, c.epoch, inter.EventID{1}, nil), chain: c,
		state: state.NewBlock(c.state.Flat(c.store))}
	b.machine = evm.NewBlock(evm.Header{Number: c.block.LastBlock.Number + 1, Config: c.config,
		BaseFee: evm.BaseFee(&c.epoch.Rules), BlockID: c.ids.get}, b.state, c.analyses)
	defer b.machine.Close()
	push := func(n int) (code []byte) {
		for range n {
			code = append(code, byte(vm.PUSH1), 0)
		}
		return code
	}
	nobody := common.Address{}
	b.state.SetCode(nobody, append(push(3), byte(vm.CREATE)), tracing.CodeChangeUnspecified)
	b.state.SetCode(epoch.Driver(), append(push(6), byte(vm.GAS), byte(vm.CALL)), tracing.CodeChangeUnspecified)
	first := b.state.GetNonce(nobody)
	for range 2 {
		if err := b.call([][]byte{nil}); err != nil {
			t.Fatal(err)
		}
	}
	// A call counts, and what it creates.
	if one, two := b.internal[0].Nonce(), b.internal[1].Nonce(); one != first || two != first+2 {
		t.Errorf("from nonce %d on the calls have %d and %d", first, one, two)
	}
	if now := b.state.GetNonce(nobody); now != first+4 {
		t.Errorf("the nonce is %d in the end, from %d on", now, first)
	}
}
