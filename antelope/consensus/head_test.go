package consensus

import (
	"reflect"
	"testing"

	"tarn/antelope/finality"
	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// goingOver is where a chain stands after a transition block, whose last irreversible block is so many after
// the genesis block of Savanna's rules.
func goingOver(t *testing.T, after int) Head {
	t.Helper()
	g := types.DefaultGenesis()
	h := Genesis(&g)
	h.Header.Extensions = h.Header.Extensions.Insert(types.HeaderFinality, (&types.FinalityExtension{
		Claim: types.QCClaim{Block: 1}, Finalizers: finality.DiffFinalizers(new(types.FinalizerPolicy),
			&types.FinalizerPolicy{Generation: 1, Threshold: 1, Finalizers: []types.Finalizer{{Weight: 1}}}),
	}).Append(nil))
	h.ID = h.Header.ID()
	x, err := h.Header.ExtractExtensions()
	if err == nil {
		h.Finality, err = finality.Genesis(&h.Header.BlockHeader, h.ActiveSchedule, x.Finality,
			finality.State{Activated: h.Activated})
	}
	if err != nil {
		t.Fatal(err)
	}
	h.Irreversible = uint32(1 + after)
	v := finality.GenesisValidation(h.Finality, types.Checksum256{7})
	return Head{h, &v}
}

// A chain that proper blocks follow stands where Savanna's rules alone say, whatever the state has of the
// rules before; in transition it has both.
func TestTheHeadOfAStateSurvivesTheChangeOfRules(t *testing.T) {
	for after := -1; after <= 1; after++ {
		h := goingOver(t, after)
		short, err := DecodeHead(h.Append(nil))
		if err != nil {
			t.Fatal(err)
		}
		old := h.HeaderState.Append(serial.AppendBool(serial.AppendUint32(nil, 0), true))
		long, err := DecodeHead(h.Validation.Append(h.Finality.Append(old)))
		if err != nil {
			t.Fatal(err)
		}
		for _, got := range []Head{short, long} {
			if got.ID != h.ID || got.PrecedesProper() != (after >= 0) || got.LIB() != h.LIB() ||
				got.BlockNum != h.BlockNum ||
				got.Header.ProducerSignature != h.Header.ProducerSignature ||
				!reflect.DeepEqual(got.ActiveSchedule, h.ActiveSchedule) ||
				!reflect.DeepEqual(got.PendingSchedule(), h.PendingSchedule()) {
				t.Errorf("%d after the genesis block: %+v becomes %+v", after, h.HeaderState, got.HeaderState)
			}
		}
		if has := short.Authority != nil; has != (after < 0) {
			t.Errorf("%d after the genesis block the older rules' part is there: %t", after, has)
		}
	}
}
