package types

import (
	"bytes"

	"tarn/antelope/serial"
)

// Append appends the receipt.
func (a ActionReceipt) Append(b []byte) []byte {
	b = a.ActDigest.Append(a.Receiver.Append(b))
	b = serial.AppendUint64(serial.AppendUint64(b, a.GlobalSequence), a.RecvSequence)
	return a.appendSequences(b)
}

// appendSequences appends those of the authorizing accounts, of the code and of the ABI.
func (a *ActionReceipt) appendSequences(b []byte) []byte {
	b = serial.AppendCount(b, len(a.AuthSequence))
	for _, s := range a.AuthSequence {
		b = serial.AppendUint64(s.Account.Append(b), s.Sequence)
	}
	return serial.AppendVaruint32(serial.AppendVaruint32(b, a.CodeSequence), a.ABISequence)
}

// Read reads a receipt.
func (a *ActionReceipt) Read(r *serial.Reader) {
	*a = ActionReceipt{}
	a.Receiver.Read(r)
	a.ActDigest.Read(r)
	a.GlobalSequence = r.Uint64()
	a.RecvSequence = r.Uint64()
	if n := r.Count(16); n > 0 {
		a.AuthSequence = make([]AuthSequence, n)
		for i := range a.AuthSequence {
			a.AuthSequence[i].Account.Read(r)
			a.AuthSequence[i].Sequence = r.Uint64()
		}
	}
	a.CodeSequence = r.Varuint32()
	a.ABISequence = r.Varuint32()
}

// Digest returns the leaf of the action merkle tree.
func (a *ActionReceipt) Digest() Checksum256 { return Hash(a.Append(make([]byte, 0, 128))) }

// SavannaDigest is what stands for the receipt of an action in the trees of Savanna's rules
// (Spring: action_receipt.hpp, compute_finality_digest).
func (a *ActionReceipt) SavannaDigest(account, action Name) Checksum256 {
	b := a.appendSequences(serial.AppendUint64(make([]byte, 0, 128), a.GlobalSequence))
	witness := Hash(b)
	b = serial.AppendUint64(a.Receiver.Append(b[:0]), a.RecvSequence)
	b = a.ActDigest.Append(action.Append(account.Append(b)))
	return Hash(witness.Append(b))
}

// Append appends sixteen bytes.
func (a AccountDelta) Append(b []byte) []byte {
	return serial.AppendInt64(a.Account.Append(b), a.Delta)
}

// Read reads sixteen bytes.
func (a *AccountDelta) Read(r *serial.Reader) {
	a.Account.Read(r)
	a.Delta = r.Int64()
}

// appendOptional appends whether there is a value, and the value.
func appendOptional[T any](b []byte, v *T, appendValue func(T, []byte) []byte) []byte {
	if v == nil {
		return append(b, 0)
	}
	return appendValue(*v, append(b, 1))
}

// readOptional reads whether there is a value, and the value.
func readOptional[T any](r *serial.Reader, read func(*T, *serial.Reader)) *T {
	if !r.Bool() {
		return nil
	}
	v := new(T)
	read(v, r)
	return v
}

func appendUint64(v uint64, b []byte) []byte { return serial.AppendUint64(b, v) }

func readUint64(v *uint64, r *serial.Reader) { *v = r.Uint64() }

// Append appends the trace as nodeos packs it (Leap: trace.hpp). Of an exception
// it has the kind, and an empty log: nodeos' log names its source files.
func (a *ActionTrace) Append(b []byte) []byte {
	b = serial.AppendVaruint32(b, a.Ordinal)
	b = serial.AppendVaruint32(b, a.CreatorOrdinal)
	b = serial.AppendVaruint32(b, a.ClosestUnnotifiedAncestorOrdinal)
	b = appendOptional(b, a.Receipt, ActionReceipt.Append)
	b = a.Action.Append(a.Receiver.Append(b))
	b = serial.AppendInt64(serial.AppendBool(b, a.ContextFree), a.Elapsed)
	b = a.TransactionID.Append(serial.AppendString(b, a.Console))
	b = a.BlockTime.Append(serial.AppendUint32(b, a.BlockNum))
	b = appendOptional(b, a.ProducerBlockID, Checksum256.Append)
	b = serial.AppendCount(b, len(a.AccountRAMDeltas))
	for _, d := range a.AccountRAMDeltas {
		b = d.Append(b)
	}
	b = appendException(b, a.Except)
	b = appendOptional(b, a.ErrorCode, appendUint64)
	return serial.AppendBytes(b, a.ReturnValue)
}

// Read reads a trace.
func (a *ActionTrace) Read(r *serial.Reader) {
	*a = ActionTrace{Ordinal: r.Varuint32(), CreatorOrdinal: r.Varuint32()}
	a.ClosestUnnotifiedAncestorOrdinal = r.Varuint32()
	a.Receipt = readOptional(r, (*ActionReceipt).Read)
	a.Receiver.Read(r)
	a.Action.Read(r)
	a.ContextFree = r.Bool()
	a.Elapsed = r.Int64()
	a.Console = r.String()
	a.TransactionID.Read(r)
	a.BlockNum = r.Uint32()
	a.BlockTime.Read(r)
	a.ProducerBlockID = readOptional(r, (*Checksum256).Read)
	if n := r.Count(16); n > 0 {
		a.AccountRAMDeltas = make([]AccountDelta, n)
		for i := range a.AccountRAMDeltas {
			a.AccountRAMDeltas[i].Read(r)
		}
	}
	a.Except = readException(r)
	a.ErrorCode = readOptional(r, readUint64)
	a.ReturnValue = bytes.Clone(r.Bytes())
}

// minActionTrace is the length of the shortest action trace.
const minActionTrace = 85

// Append appends the trace as nodeos packs it (Leap: trace.hpp).
func (t *TransactionTrace) Append(b []byte) []byte {
	b = serial.AppendUint32(t.ID.Append(b), t.BlockNum)
	b = appendOptional(t.BlockTime.Append(b), t.ProducerBlockID, Checksum256.Append)
	b = appendOptional(b, t.Receipt, TransactionReceiptHeader.Append)
	b = serial.AppendUint64(serial.AppendInt64(b, t.Elapsed), t.NetUsage)
	b = serial.AppendCount(serial.AppendBool(b, t.Scheduled), len(t.ActionTraces))
	for i := range t.ActionTraces {
		b = t.ActionTraces[i].Append(b)
	}
	b = appendOptional(b, t.AccountRAMDelta, AccountDelta.Append)
	b = serial.AppendBool(b, t.FailedDeferred != nil)
	if t.FailedDeferred != nil {
		b = t.FailedDeferred.Append(b)
	}
	return appendOptional(appendException(b, t.Except), t.ErrorCode, appendUint64)
}

// Read reads a trace. The trace of a failed deferred transaction has none itself.
func (t *TransactionTrace) Read(r *serial.Reader) { t.read(r, false) }

func (t *TransactionTrace) read(r *serial.Reader, inner bool) {
	*t = TransactionTrace{}
	t.ID.Read(r)
	t.BlockNum = r.Uint32()
	t.BlockTime.Read(r)
	t.ProducerBlockID = readOptional(r, (*Checksum256).Read)
	t.Receipt = readOptional(r, (*TransactionReceiptHeader).Read)
	t.Elapsed = r.Int64()
	t.NetUsage = r.Uint64()
	t.Scheduled = r.Bool()
	if n := r.Count(minActionTrace); n > 0 {
		t.ActionTraces = make([]ActionTrace, n)
		for i := range t.ActionTraces {
			t.ActionTraces[i].Read(r)
		}
	}
	t.AccountRAMDelta = readOptional(r, (*AccountDelta).Read)
	if r.Bool() {
		if inner {
			r.Fail(serial.ErrLimit)
			return
		}
		t.FailedDeferred = new(TransactionTrace)
		t.FailedDeferred.read(r, true)
	}
	t.Except = readException(r)
	t.ErrorCode = readOptional(r, readUint64)
}
