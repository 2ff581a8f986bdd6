package chain

import (
	"tarn/antelope/consensus"
	"tarn/antelope/execute"
	"tarn/antelope/feature"
	"tarn/antelope/types"
)

// pending is what the writer asks of the pending block, and does in it.
type pending struct{ executor *execute.Executor }

// PushTransaction executes a transaction in the pending block. The trace says what
// it did, its failure included; an error is one of the block or of the node (Leap:
// controller_impl::push_transaction).
func (p *pending) PushTransaction(x *execute.Candidate, b execute.Billing) (*types.TransactionTrace, error) {
	return p.executor.Push(x, b)
}

// PushScheduled retires a deferred transaction in the pending block.
func (p *pending) PushScheduled(id types.Checksum256, b execute.Billing) (*types.TransactionTrace, error) {
	return p.executor.PushScheduled(id, b)
}

// Recycle lets the next transaction use the memory of the last one that succeeded, its
// trace included, if nobody was told of it. Only who pushed it may call it, and may not
// look at the trace any more.
func (p *pending) Recycle() { p.executor.Recycle() }

// Active tells whether a feature is active in the pending block, or without one
// after the head.
func (p *pending) Active(f feature.Codename) bool { return p.executor.Active(f) }

// Pending describes the pending block.
type Pending struct {
	Num       uint32
	Time      types.BlockTimestamp
	Producer  types.Name
	Authority *types.BlockSigningAuthority // that has to sign it
	Status    execute.Status
}

// Pending describes the pending block; ok is false if there is none.
func (p *pending) Pending() (is Pending, ok bool) {
	b := p.executor.Block()
	if b == nil {
		return is, false
	}
	h := b.Header()
	return Pending{Num: h.BlockNum, Time: h.Timestamp, Producer: h.Producer, Authority: h.Authority,
		Status: b.Status()}, true
}

// Schedules returns those that the pending block began with; nil if there is none.
func (p *pending) Schedules() *consensus.Schedules {
	b := p.executor.Block()
	if b == nil {
		return nil
	}
	return b.Schedules()
}

// PendingInput returns the ids of the transactions from outside in the pending block.
func (p *pending) PendingInput() []types.Checksum256 {
	b := p.executor.Block()
	if b == nil {
		return nil
	}
	ids := make([]types.Checksum256, len(b.Candidates()))
	for i, x := range b.Candidates() {
		ids[i] = x.ID
	}
	return ids
}

// Interrupt makes the transaction that is being executed, and all after it, fail
// with err; nil ends that. Any goroutine may call it.
func (p *pending) Interrupt(err error) { p.executor.Interrupt(err) }

// Fail makes all transactions from now on fail with err, as the node cannot go on. Any goroutine may call it.
func (p *pending) Fail(err error) { p.executor.Fail(err) }
