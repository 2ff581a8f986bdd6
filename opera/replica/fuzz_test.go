package replica

import (
	"errors"
	"testing"

	"github.com/ethereum/go-ethereum/rlp"

	"tarn/fleet"
	"tarn/opera/chain"
)

// The record of a block may be anything.
func FuzzTold(f *testing.F) {
	raw, err := rlp.EncodeToBytes(&chain.Told{Number: 7, Events: []chain.ToldEvent{{Raw: []byte{1}}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := decodeTold(&fleet.Block{Point: fleet.Point{Revision: 7},
			Records: []fleet.Record{{Log: recordTold, Data: data}}})
		if err != nil && !errors.Is(err, fleet.ErrDamaged) {
			t.Fatal(err)
		}
	})
}

// A block whose record may be anything is exported, or refused.
func FuzzExported(f *testing.F) {
	raw, err := rlp.EncodeToBytes(&chain.Told{Number: 7, Events: []chain.ToldEvent{{Raw: []byte{1}}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Fuzz(func(t *testing.T, data []byte) {
		b := &fleet.Block{Point: fleet.Point{Revision: 7}, Records: []fleet.Record{{Log: recordTold, Data: data}}}
		told := new(chain.Told)
		if rlp.DecodeBytes(data, told) == nil {
			b.Revision, b.ID = uint64(told.Number), fleet.ID(told.Block.ID)
		}
		err := exportRows(b, func(exportedBlock) error { return nil }, func(exportedTransaction) error { return nil })
		if err != nil && !errors.Is(err, fleet.ErrDamaged) {
			t.Fatal(err)
		}
	})
}
