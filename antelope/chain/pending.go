package chain

import (
	"tarn/antelope/execute"
	"tarn/antelope/feature"
	"tarn/antelope/types"
)

// What the writer asks of the pending block, and does in it.

// PushTransaction executes a transaction in the pending block. The trace says what
// it did, its failure included; an error is one of the block or of the node (Leap:
// controller_impl::push_transaction).
func (c *Chain) PushTransaction(x *execute.Candidate, b execute.Billing) (*types.TransactionTrace, error) {
	return c.executor.Push(x, b)
}

// PushScheduled retires a deferred transaction in the pending block.
func (c *Chain) PushScheduled(id types.Checksum256, b execute.Billing) (*types.TransactionTrace, error) {
	return c.executor.PushScheduled(id, b)
}

// Recycle lets the next transaction use the memory of the last one that succeeded, its
// trace included, if nobody was told of it. Only who pushed it may call it, and may not
// look at the trace any more.
func (c *Chain) Recycle() { c.executor.Recycle() }

// Active tells whether a feature is active in the pending block, or without one
// after the head.
func (c *Chain) Active(f feature.Codename) bool { return c.executor.Active(f) }

// Pending describes the pending block.
type Pending struct {
	Num       uint32
	Time      types.BlockTimestamp
	Producer  types.Name
	Authority *types.BlockSigningAuthority // that has to sign it
	Status    execute.Status
}

// Pending describes the pending block; ok is false if there is none.
func (c *Chain) Pending() (p Pending, ok bool) {
	b := c.executor.Block()
	if b == nil {
		return p, false
	}
	h := b.Header()
	return Pending{Num: h.BlockNum, Time: h.Timestamp, Producer: h.Producer, Authority: h.Authority, Status: b.Status()}, true
}

// PendingInput returns the ids of the transactions from outside in the pending block.
func (c *Chain) PendingInput() []types.Checksum256 {
	b := c.executor.Block()
	if b == nil {
		return nil
	}
	ids := make([]types.Checksum256, len(b.Candidates()))
	for i, x := range b.Candidates() {
		ids[i] = x.ID
	}
	return ids
}

// PendingNum is the number of the pending block, 0 without one.
func (c *Chain) PendingNum() uint32 {
	if b := c.executor.Block(); b != nil {
		return b.Header().BlockNum
	}
	return 0
}
