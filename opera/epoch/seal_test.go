package epoch

import (
	"math/big"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"tarn/opera/inter"
)

func TestSealMakesTheNextEpoch(t *testing.T) {
	bs, es := states(t)
	bs.AdvanceEpochs = 3
	bs.EpochCheaters = []inter.ValidatorID{8}
	bs.ValidatorStates[0].DirtyGasRefund = 500
	rules := es.Rules.Copy()
	rules.Economy.MinGasPrice = big.NewInt(77)
	bs.DirtyRules = &rules
	b := begin(t, bs, es, atropos(5))
	b.Decide()
	// What the driver contract says before the seal: 8 leaves, 1 comes, 5 is first no
	// more.
	delete(b.State.NextProfiles, 8)
	b.setWeight(1, big.NewInt(100))
	if err := b.Seal(); err != nil {
		t.Fatal(err)
	}
	next := b.Epoch
	if next.Epoch != 7 || next.EpochStart != start+12*second || next.PrevEpochStart != start ||
		next.EpochStateRoot != bs.FinalizedStateRoot {
		t.Errorf("epoch %d from %d after %d, root %x", next.Epoch, next.EpochStart, next.PrevEpochStart,
			next.EpochStateRoot)
	}
	var ids []inter.ValidatorID
	for i := range next.Validators.Len() {
		ids = append(ids, next.Validators.At(i).ID)
	}
	if !slices.Equal(ids, []inter.ValidatorID{1, 5, 3}) || len(next.Profiles) != 3 {
		t.Errorf("validators %v, profiles %v", ids, next.Profiles)
	}
	if next.Rules.Economy.MinGasPrice.Int64() != 77 || b.State.DirtyRules != nil {
		t.Errorf("rules %v, then %v", next.Rules, b.State.DirtyRules)
	}
	s := &b.State
	if s.EpochGas != 0 || len(s.EpochCheaters) != 0 || s.CheatersWritten != 0 || s.AdvanceEpochs != 2 {
		t.Errorf("%+v", s)
	}
	fresh, old := s.ValidatorStates[0], s.ValidatorStates[1]
	if fresh.LastBlock != 101 || fresh.LastOnlineTime != start+12*second || fresh.Originated.Sign() != 0 ||
		fresh.LastEvent.ID != (inter.EventID{}) {
		t.Errorf("a new validator: %+v", fresh)
	}
	// What its transactions paid is never forgotten: the contract takes differences.
	if old.Uptime != 0 || old.DirtyGasRefund != 0 || old.Originated.Int64() != 1000 ||
		old.LastEvent.ID != atropos(5).ID {
		t.Errorf("a validator that stays: %+v", old)
	}
	if e := next.ValidatorStates[1]; e.GasRefund != 500 || e.PrevEpochEvent != old.LastEvent ||
		next.ValidatorStates[0] != (inter.ValidatorEpochState{}) {
		t.Errorf("the validators' epoch: %+v", next.ValidatorStates)
	}
	if _, upgraded := b.Upgrade(); upgraded {
		t.Error("an upgrade without one")
	}
	if es.Epoch != 6 || es.Rules.Economy.MinGasPrice.Int64() != 1e9 {
		t.Error("the epoch before has changed")
	}
}

func TestAnUpgradeHoldsFromTheBlockAfterTheSeal(t *testing.T) {
	bs, es := states(t)
	bs.AdvanceEpochs = 1
	rules := es.Rules.Copy()
	rules.Upgrades.Llr = false
	bs.DirtyRules = &rules
	b := begin(t, bs, es, atropos(5))
	b.Decide()
	if err := b.Seal(); err != nil {
		t.Fatal(err)
	}
	h, ok := b.Upgrade()
	if want := (inter.UpgradeHeight{Upgrades: rules.Upgrades, Height: 102}); !ok || h != want {
		t.Errorf("%v %v, want %v", h, ok, want)
	}
}

func TestReceiptsCountForTheOriginator(t *testing.T) {
	to := common.Address{1}
	for _, c := range []struct {
		what               string
		tx                 types.TxData
		used               uint64
		originator         inter.ValidatorID
		originated, refund int64
	}{
		{"plain", &types.LegacyTx{To: &to, Gas: 100, GasPrice: big.NewInt(7)}, 60, 3, 1000 + 60*7, 40},
		{"dynamic: the fee's cap", &types.DynamicFeeTx{To: &to, Gas: 100, GasFeeCap: big.NewInt(9), GasTipCap: big.NewInt(1)}, 100, 3, 1000 + 900, 0},
		{"internal", &types.LegacyTx{To: &to, Gas: 100, GasPrice: big.NewInt(7)}, 60, 0, 1000, 0},
		{"a validator no more", &types.LegacyTx{To: &to, Gas: 100, GasPrice: big.NewInt(7)}, 60, 99, 1000, 0},
	} {
		bs, es := states(t)
		b := begin(t, bs, es, atropos(5))
		b.Decide()
		b.Receipt(types.NewTx(c.tx), c.used, c.originator)
		sum, refund := new(big.Int), uint64(0)
		for _, v := range b.State.ValidatorStates {
			sum.Add(sum, v.Originated)
			refund += v.DirtyGasRefund
		}
		if want := c.originated + 2000; sum.Int64() != want || refund != uint64(c.refund) {
			t.Errorf("%s: fees %v, want %d; refund %d", c.what, sum, want, refund)
		}
		if c.originated != 1000 && b.State.ValidatorStates[1].Originated.Int64() != c.originated {
			t.Errorf("%s: counted for another", c.what)
		}
	}
}

func TestTheLastStepNamesTheBlock(t *testing.T) {
	bs, es := states(t)
	bs.EpochCheaters, bs.CheatersWritten = []inter.ValidatorID{8}, 0
	b := begin(t, bs, es, atropos(5))
	b.Decide()
	if err := b.Seal(); err != nil {
		t.Fatal(err)
	}
	// A proof against somebody can come with the sealing block's own logs no more:
	// the list is the next epoch's.
	record := b.End([32]byte{42})
	if record == nil || record.Epoch != 7 || record.State.EpochState.Epoch != 7 ||
		record.State.BlockState.Hash() != b.State.Hash() {
		t.Fatalf("record %+v", record)
	}
	if b.State.LastBlock != b.Info || b.State.FinalizedStateRoot != [32]byte{42} || b.State.CheatersWritten != 0 {
		t.Errorf("%+v", b.State)
	}

	bs, es = states(t)
	b = begin(t, bs, es, atropos(5))
	b.Decide()
	if b.End([32]byte{43}) != nil {
		t.Error("a record of an epoch that goes on")
	}
}
