package replica

import (
	"errors"
	"testing"

	"tarn/antelope/types"
	"tarn/fleet"
)

// A block whose record may be anything is exported, or refused.
func FuzzExported(f *testing.F) {
	trx := &types.Transaction{Actions: []types.Action{{Account: types.N("eosio"), Name: types.N("onblock"),
		Authorization: []types.PermissionLevel{{Actor: types.N("eosio"), Permission: types.N("active")}},
		Data:          []byte{1}}}}
	b := &types.SignedBlock{}
	for _, c := range []types.Compression{types.CompressionNone, types.CompressionZlib} {
		p, err := types.Pack(trx, nil, nil, c)
		if err != nil {
			f.Fatal(err)
		}
		b.Transactions = append(b.Transactions, types.TransactionReceipt{Packed: p})
	}
	b.Transactions = append(b.Transactions, types.TransactionReceipt{ID: trx.ID()})
	f.Add(b.Append(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		x := &fleet.Block{Records: []fleet.Record{{Log: logBlocks, Data: data}}}
		if b := new(types.SignedBlock); types.Decode(data, b) == nil {
			x.Revision, x.ID = uint64(b.BlockNum()), fleet.ID(b.ID())
			x.Parent.Revision = x.Revision - 1
		}
		err := exportRows(x, func(exportedBlock) error { return nil }, func(exportedTransaction) error { return nil })
		if err != nil && !errors.Is(err, fleet.ErrDamaged) {
			t.Fatal(err)
		}
	})
}
