package wire

import (
	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// Versions of what is in a variant, by their numbers in the files.
const (
	blockV0, blockV1, blockV2       = 0, 1, 2
	transactionsV2, transactionsV3  = 0, 1
	actionsV1                       = 0
	blockEntry, libEntry, idsEntry  = 0, 1, 2
	smallestAction, smallestTrx     = 8 + 8 + 8 + 8 + 1 + 1, 32 + 1
	checksumBytes, permissionsBytes = 32, 16
)

// IndexVersion is the number, of 4 bytes, that an index begins with.
const IndexVersion = 1

// Append encodes the entry in the newest version. It must have Roots, and its
// transactions Receipt and Place.
func (x *Block) Append(b []byte) []byte {
	b = serial.AppendVaruint32(b, blockV2)
	b = serial.AppendUint32(x.ID.Append(b), x.Number)
	b = x.Producer.Append(x.Timestamp.Append(x.Previous.Append(b)))
	b = x.Roots.Actions.Append(x.Roots.Transactions.Append(b))
	b = serial.AppendUint32(b, x.Roots.ScheduleVersion)
	b = serial.AppendCount(serial.AppendVaruint32(b, transactionsV3), len(x.Transactions))
	for i := range x.Transactions {
		b = x.Transactions[i].append(b)
	}
	return b
}

func (t *Transaction) append(b []byte) []byte {
	b = serial.AppendVaruint32(t.ID.Append(b), actionsV1)
	b = serial.AppendCount(b, len(t.Actions))
	for i := range t.Actions {
		b = t.Actions[i].append(b)
	}
	r := t.Receipt
	b = serial.AppendUint32(append(b, byte(r.Status)), r.CPUUsageUS)
	b = serial.AppendCount(serial.AppendVaruint32(b, r.NetUsageWords), len(r.Signatures))
	for i := range r.Signatures {
		b = r.Signatures[i].Append(b)
	}
	b = serial.AppendUint32(r.Header.Append(b), t.Place.Number)
	b = serial.AppendBool(t.Place.Time.Append(b), t.Place.Producer != nil)
	if t.Place.Producer != nil {
		b = t.Place.Producer.Append(b)
	}
	return b
}

func (a *Action) append(b []byte) []byte {
	b = a.Receiver.Append(serial.AppendUint64(b, a.GlobalSequence))
	b = a.Name.Append(a.Account.Append(b))
	b = serial.AppendCount(b, len(a.Authorization))
	for _, p := range a.Authorization {
		b = p.Append(b)
	}
	return serial.AppendBytes(serial.AppendBytes(b, a.Data), a.ReturnValue)
}

// Append encodes an entry of an index or a file of ids.
func (e Entry) Append(b []byte) []byte {
	switch {
	case e.Block != nil:
		b = e.Block.ID.Append(serial.AppendVaruint32(b, blockEntry))
		return serial.AppendUint64(serial.AppendUint32(b, e.Block.Number), e.Block.Offset)
	case e.Irreversible != nil:
		return serial.AppendUint32(serial.AppendVaruint32(b, libEntry), *e.Irreversible)
	}
	b = appendIDs(serial.AppendVaruint32(b, idsEntry), e.Transactions.IDs)
	return serial.AppendUint32(b, e.Transactions.Number)
}

func appendIDs(b []byte, ids []types.Checksum256) []byte {
	b = serial.AppendCount(b, len(ids))
	for _, id := range ids {
		b = id.Append(b)
	}
	return b
}
