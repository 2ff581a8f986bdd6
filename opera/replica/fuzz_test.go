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
		_, err := decodeTold(&fleet.Block{Point: fleet.Point{Revision: 7}, Records: []fleet.Record{{Log: recordTold, Data: data}}})
		if err != nil && !errors.Is(err, fleet.ErrDamaged) {
			t.Fatal(err)
		}
	})
}
