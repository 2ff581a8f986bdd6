package chain

import (
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/opera/evm"
	"tarn/opera/genesis/fakenet"
	"tarn/opera/inter"
	"tarn/store/engine"
)

// A block of the genesis shows the base fee of the epoch in its id, which began after it.
func TestABlockOfTheGenesisHasTheFeeOfTheEpochInItsID(t *testing.T) {
	s := openStore(t, t.TempDir(), engine.Options{Kind: engine.Page})
	defer s.Close()
	c := newChain(t, s)
	defer closeChain(t, c)
	v, err := c.View()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	h, err := v.Header(1)
	if err != nil || h == nil || h.BaseFee == nil || h.BaseFee.Cmp(inter.FakeRules().Economy.MinGasPrice) != 0 {
		t.Errorf("%+v, %v", h, err)
	}
}

// Upgrades may be switched off again. What was executed before has its senders all the same.
func TestSendersAreFoundAfterAnUpgradeIsSwitchedOff(t *testing.T) {
	key, err := fakenet.Key(1)
	if err != nil {
		t.Fatal(err)
	}
	config := evm.ChainConfig(inter.FakeNetwork,
		[]inter.UpgradeHeight{{Height: 1, Upgrades: inter.FakeRules().Upgrades}, {Height: 9}})
	tx, err := types.SignNewTx(key, types.NewLondonSigner(config.ChainID), &types.DynamicFeeTx{
		ChainID: config.ChainID, GasFeeCap: big.NewInt(1), GasTipCap: new(big.Int), Gas: 21_000, To: &common.Address{},
		Value: new(big.Int),
	})
	if err != nil {
		t.Fatal(err)
	}
	b := &Block{Number: 5, Txs: types.Transactions{tx}, Receipts: types.Receipts{{CumulativeGasUsed: 21_000}}}
	if err := b.derive(&evm.Header{Number: 5, Config: config, BaseFee: big.NewInt(1)}); err != nil ||
		b.Senders[0] != crypto.PubkeyToAddress(key.PublicKey) {
		t.Errorf("%v: %v", b.Senders, err)
	}
}
