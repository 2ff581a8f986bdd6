package inter

import (
	"bytes"
	"math/big"
	"reflect"
	"testing"

	"github.com/ethereum/go-ethereum/rlp"
)

// states returns states with something in each field.
func states(t testing.TB) EpochContent {
	t.Helper()
	rules := FakeRules()
	dirty := rules.Copy()
	dirty.Upgrades = Upgrades{}
	profiles := Profiles{
		1: {big.NewInt(5e18), PublicKey{Secp256k1Key, []byte{4, 5}}},
		2: {big.NewInt(7e18), PublicKey{Raw: []byte{}}},
	}
	validators, err := profiles.Validators()
	if err != nil {
		t.Fatal(err)
	}
	last := EventInfo{ID: EventID{31: 1}, GasPowerLeft: GasPower{[2]uint64{3, 4}}, Time: 5}
	return EpochContent{
		BlockState{
			LastBlock: BlockInfo{6, 7, EventID{31: 2}}, FinalizedStateRoot: [32]byte{8}, EpochGas: 9,
			EpochCheaters: []ValidatorID{2, 1}, CheatersWritten: 1,
			ValidatorStates: []ValidatorBlockState{
				{LastEvent: last, Uptime: 1, LastOnlineTime: 2, LastGasPowerLeft: last.GasPowerLeft, LastBlock: 3,
					DirtyGasRefund: 4, Originated: big.NewInt(5)},
				{Originated: new(big.Int)},
			},
			NextProfiles: profiles, DirtyRules: &dirty, AdvanceEpochs: 10,
		},
		EpochState{
			Epoch: 11, EpochStart: 12, PrevEpochStart: 13, EpochStateRoot: [32]byte{14}, Validators: validators,
			ValidatorStates: []ValidatorEpochState{{15, last}, {}}, Profiles: profiles, Rules: rules,
		},
	}
}

func TestStatesComeBackFromTheirRLP(t *testing.T) {
	for _, dirty := range []bool{true, false} {
		s := states(t)
		if !dirty {
			s.BlockState.DirtyRules = nil
		}
		raw := encode(t, &EpochRecord{s, 11})
		var again EpochRecord
		if err := rlp.DecodeBytes(raw, &again); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(raw, encode(t, &again)) || again.State.Hash() != s.Hash() || again.Epoch != 11 {
			t.Errorf("another state comes back: %+v, want %+v", again.State, s)
		}
		if (again.State.BlockState.DirtyRules != nil) != dirty {
			t.Errorf("rules of the next epoch: %v, want %v", again.State.BlockState.DirtyRules, dirty)
		}
	}
}

func TestACopySharesNothingThatChanges(t *testing.T) {
	s := states(t).BlockState
	before := encode(t, &s)
	c := s.Copy()
	if !reflect.DeepEqual(c, s) {
		t.Fatalf("%+v is copied as %+v", s, c)
	}
	c.EpochCheaters[0]++
	c.ValidatorStates[0].Uptime++
	c.ValidatorStates[0].Originated.SetUint64(99)
	c.NextProfiles[3] = Profile{Weight: big.NewInt(1)}
	c.DirtyRules.Economy.MinGasPrice.SetUint64(99)
	if !bytes.Equal(before, encode(t, &s)) {
		t.Error("a change of the copy changed the original")
	}
}

func TestBeforeLondonOnlyIDsOfLastEventsAreHashed(t *testing.T) {
	s := states(t).EpochState
	s.Rules.Upgrades.London = false
	before := s.Hash()
	s.ValidatorStates[0].PrevEpochEvent.Time++
	if s.Hash() != before {
		t.Error("before London the time of an event is in the hash")
	}
	s.ValidatorStates[0].PrevEpochEvent.ID[0]++
	if s.Hash() == before {
		t.Error("the id of an event is not in the hash")
	}
	s.Rules.Upgrades.London = true
	before = s.Hash()
	s.ValidatorStates[0].PrevEpochEvent.Time++
	if s.Hash() == before {
		t.Error("with London the time of an event is not in the hash")
	}
}

func TestWeightlessProfilesAreNotWritten(t *testing.T) {
	p := Profiles{1: {new(big.Int).Lsh(big.NewInt(1), 80), PublicKey{}}, 2: {big.NewInt(1), PublicKey{}}}
	var again Profiles
	if err := rlp.DecodeBytes(encode(t, p), &again); err != nil || len(again) != 1 || again[1].Weight.BitLen() != 81 {
		t.Errorf("%v: %v", again, err)
	}
}
