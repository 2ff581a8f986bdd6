package wire

import (
	"fmt"

	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// Read decodes an entry of any version, and nothing behind it. How much memory it takes
// is bounded by a small multiple of the reader's bytes.
func (x *Block) Read(r *serial.Reader) {
	*x = Block{}
	version := r.Varuint32()
	if version > blockV2 {
		r.Fail(fmt.Errorf("block of version %d: %w", version, serial.ErrValue))
		return
	}
	x.ID.Read(r)
	x.Number = r.Uint32()
	x.Previous.Read(r)
	x.Timestamp.Read(r)
	x.Producer.Read(r)
	switch version {
	case blockV0:
		x.Transactions = readTransactions(r, readTransactionV0)
	case blockV1:
		readTransactions(r, readTransactionV0) // they come again, with their receipts
		x.Roots = readRoots(r)
		x.Transactions = readTransactions(r, readTransactionV1)
	case blockV2:
		x.Roots = readRoots(r)
		switch v := r.Varuint32(); v {
		case transactionsV2:
			x.Transactions = readTransactions(r, readTransactionV2)
		case transactionsV3:
			x.Transactions = readTransactions(r, readTransactionV3)
		default:
			r.Fail(fmt.Errorf("transactions of version %d: %w", v, serial.ErrValue))
		}
	}
}

func readRoots(r *serial.Reader) *Roots {
	var x Roots
	x.Transactions.Read(r)
	x.Actions.Read(r)
	x.ScheduleVersion = r.Uint32()
	return &x
}

func readTransactions(r *serial.Reader, read func(*serial.Reader, *Transaction)) []Transaction {
	list := make([]Transaction, r.Count(smallestTrx))
	for i := range list {
		if r.Err() != nil {
			return nil
		}
		list[i].ID.Read(r)
		read(r, &list[i])
	}
	return list
}

func readTransactionV0(r *serial.Reader, t *Transaction) { t.Actions = readActions(r, false) }

func readTransactionV1(r *serial.Reader, t *Transaction) {
	t.Actions = readActions(r, false)
	t.Receipt = readReceipt(r)
}

func readTransactionV2(r *serial.Reader, t *Transaction) {
	if v := r.Varuint32(); v != actionsV1 {
		r.Fail(fmt.Errorf("actions of version %d: %w", v, serial.ErrValue))
	}
	t.Actions = readActions(r, true)
	t.Receipt = readReceipt(r)
}

func readTransactionV3(r *serial.Reader, t *Transaction) {
	readTransactionV2(r, t)
	t.Place = &Place{Number: r.Uint32()}
	t.Place.Time.Read(r)
	if r.Bool() {
		t.Place.Producer = new(types.Checksum256)
		t.Place.Producer.Read(r)
	}
}

func readActions(r *serial.Reader, returns bool) []Action {
	list := make([]Action, r.Count(smallestAction))
	for i := range list {
		if r.Err() != nil {
			return nil
		}
		a := &list[i]
		a.GlobalSequence = r.Uint64()
		a.Receiver.Read(r)
		a.Account.Read(r)
		a.Name.Read(r)
		a.Authorization = make([]types.PermissionLevel, r.Count(permissionsBytes))
		for j := range a.Authorization {
			a.Authorization[j].Read(r)
		}
		a.Data = r.Bytes()
		if returns {
			if a.ReturnValue = r.Bytes(); a.ReturnValue == nil {
				a.ReturnValue = []byte{}
			}
		}
	}
	return list
}

func readReceipt(r *serial.Reader) *Receipt {
	x := &Receipt{Status: types.TransactionStatus(r.Uint8()), CPUUsageUS: r.Uint32(), NetUsageWords: r.Varuint32()}
	x.Signatures = make([]types.Signature, r.Count(1+65))
	for i := range x.Signatures {
		x.Signatures[i].Read(r)
	}
	x.Header.Read(r)
	return x
}

// Read decodes an entry of an index or a file of ids, and nothing behind it.
func (e *Entry) Read(r *serial.Reader) {
	*e = Entry{}
	switch kind := r.Varuint32(); kind {
	case blockEntry:
		e.Block = new(Position)
		e.Block.ID.Read(r)
		e.Block.Number, e.Block.Offset = r.Uint32(), r.Uint64()
	case libEntry:
		e.Irreversible = new(uint32)
		*e.Irreversible = r.Uint32()
	case idsEntry:
		e.Transactions = &Transactions{IDs: make([]types.Checksum256, r.Count(checksumBytes))}
		for i := range e.Transactions.IDs {
			e.Transactions.IDs[i].Read(r)
		}
		e.Transactions.Number = r.Uint32()
	default:
		r.Fail(fmt.Errorf("entry of kind %d: %w", kind, serial.ErrValue))
	}
}
