package wire

import (
	"fmt"

	"tarn/antelope/chain"
	"tarn/antelope/execute"
	"tarn/antelope/types"
)

// Record tells what is kept of a block: its entry in the file of traces, and in that of
// ids. It shares memory with what it gets.
func Record(x *chain.Executed) (*Block, *Transactions, error) {
	header := &x.Block.Block.BlockHeader
	b := &Block{
		ID: x.Block.ID, Number: x.Block.BlockNum, Previous: header.Previous, Timestamp: header.Timestamp,
		Producer: header.Producer,
		Roots:    &Roots{header.TransactionMRoot, header.ActionMRoot, header.ScheduleVersion},
	}
	for i := range x.Transactions {
		if !shown(x.Transactions[i].Trace) {
			continue
		}
		t, err := recordTransaction(&x.Transactions[i])
		if err != nil {
			return nil, nil, fmt.Errorf("record transaction %s of block %d: %w",
				x.Transactions[i].Trace.ID, b.Number, err)
		}
		b.Transactions = append(b.Transactions, t)
	}
	receipts := x.Block.Block.Transactions
	own := len(x.Transactions) - len(receipts) // the chain's own have no receipt in the block
	ids := &Transactions{Number: b.Number}
	for i := range receipts {
		id := receipts[i].ID
		if receipts[i].Packed != nil {
			id = x.Transactions[own+i].Trace.ID
		}
		ids.IDs = append(ids.IDs, id)
	}
	return b, ids, nil
}

// shown tells whether a transaction did something that is recorded (Leap:
// chain_extraction_impl_type::on_applied_transaction).
func shown(t *types.TransactionTrace) bool {
	return t.Receipt != nil && (t.Receipt.Status == types.StatusExecuted || t.Receipt.Status == types.StatusSoftFail)
}

func recordTransaction(x *execute.Transaction) (Transaction, error) {
	var trx types.Transaction
	if err := types.Decode(x.Raw, &trx); err != nil {
		return Transaction{}, err
	}
	trace := x.Trace
	t := Transaction{ID: trace.ID, Place: &Place{trace.BlockNum, trace.BlockTime, trace.ProducerBlockID}}
	if trace.FailedDeferred != nil {
		t.ID = trace.FailedDeferred.ID
	}
	t.Receipt = &Receipt{
		Status: trace.Receipt.Status, CPUUsageUS: trace.Receipt.CPUUsageUS, NetUsageWords: trace.Receipt.NetUsageWords,
		Header: trx.TransactionHeader,
	}
	if x.Signed != nil {
		t.Receipt.Signatures = x.Signed.Signatures
	}
	for i := range trace.ActionTraces {
		if a := &trace.ActionTraces[i]; !a.ContextFree {
			t.Actions = append(t.Actions, recordAction(a))
		}
	}
	return t, nil
}

func recordAction(a *types.ActionTrace) Action {
	out := Action{
		Receiver: a.Receiver, Account: a.Action.Account, Name: a.Action.Name, Authorization: a.Action.Authorization,
		Data: a.Action.Data, ReturnValue: a.ReturnValue,
	}
	if a.Receipt != nil {
		out.GlobalSequence = a.Receipt.GlobalSequence
	}
	return out
}
