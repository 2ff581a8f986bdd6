package inter

import (
	"bytes"
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/rlp"
)

func TestValidatorsAreOrderedByWeightThenID(t *testing.T) {
	v, err := NewValidators([]Validator{{3, 10}, {1, 10}, {9, 11}, {4, 0}})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []Validator{{9, 11}, {1, 10}, {3, 10}} {
		if got := v.At(i); got != want {
			t.Errorf("validator %d is %v, want %v", i, got, want)
		}
	}
	if v.Len() != 3 || v.Total() != 31 || v.Quorum() != 21 || v.Weight(4) != 0 {
		t.Errorf("%d validators of %d, quorum %d, weight of one outside %d", v.Len(), v.Total(),
			v.Quorum(), v.Weight(4))
	}
	raw, err := rlp.EncodeToBytes(v)
	if err != nil {
		t.Fatal(err)
	}
	if want := []byte{0xc9, 0xc2, 9, 11, 0xc2, 1, 10, 0xc2, 3, 10}; !bytes.Equal(raw, want) {
		t.Errorf("encoded as %x, want %x", raw, want)
	}
	var again Validators
	if err := rlp.DecodeBytes(raw, &again); err != nil || again.At(0) != v.At(0) || again.Len() != 3 {
		t.Errorf("decoded as %v: %v", again.list, err)
	}
	twice := []byte{0xcf, 0xc2, 9, 11, 0xc2, 1, 10, 0xc2, 3, 10, 0xc2, 1, 12, 0xc2, 9, 0x80}
	if err := rlp.DecodeBytes(twice, &again); err != nil || again.Len() != 2 || again.At(0) != (Validator{1, 12}) ||
		again.Total() != 22 {
		t.Errorf("with validators that stand twice decoded as %v: %v", again.list, err)
	}
}

func TestStakesAreScaledUntilTheirSumHas31Bits(t *testing.T) {
	half := new(big.Int).Lsh(big.NewInt(1), 62)
	v, err := ScaledValidators(map[ValidatorID]*big.Int{1: half, 2: half, 3: big.NewInt(1 << 32)})
	if err != nil {
		t.Fatal(err)
	}
	// The sum has 64 bits; what is below 2^33 vanishes.
	if v.Len() != 2 || v.Weight(1) != 1<<29 || v.Weight(2) != 1<<29 {
		t.Errorf("%v", v.list)
	}
	if _, err := NewValidators([]Validator{{1, 1 << 30}, {2, 1 << 30}}); err == nil {
		t.Error("a sum of 2^31 is accepted")
	}
	if _, err := NewValidators([]Validator{{1, 1}, {1, 2}}); err == nil {
		t.Error("a validator that stands twice is accepted")
	}
}
