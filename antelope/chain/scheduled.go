package chain

import (
	"time"

	"tarn/antelope/control"
	"tarn/antelope/exception"
	"tarn/antelope/feature"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// PushScheduled retires a deferred transaction in the pending block: executes it,
// or lets its sender handle its failure, or drops it (Leap: controller_impl::
// push_scheduled_transaction).
func (c *Chain) PushScheduled(id types.Checksum256, b Billing) (*types.TransactionTrace, error) {
	if c.pending == nil {
		return nil, exception.New(exception.MissingPendingBlockState, "there is no pending block")
	}
	d, err := c.state.DeferredByTrxID(id)
	if err != nil {
		return nil, err
	}
	if d == nil {
		return nil, exception.New(exception.UnknownTransaction, "unknown transaction")
	}
	if !c.speculative() && !b.Explicit {
		return nil, exception.New(exception.Transaction, "validating requires explicit billing")
	}
	r := &retirement{c: c, d: d, b: b, start: c.now()}
	if !c.skipSessions() {
		if err := c.state.Begin(); err != nil {
			return nil, err
		}
		r.session = true
	}
	trace, keep, err := r.retire()
	if err != nil {
		return nil, err // with the whole block
	}
	if r.session {
		end := c.state.Undo
		if keep {
			end = c.state.Squash
		}
		if err := end(); err != nil {
			return nil, err
		}
	}
	c.count(trace)
	c.applied(trace, nil)
	c.keepTrace(Transaction{Trace: trace, Kind: control.Scheduled, Raw: d.Packed})
	return trace, nil
}

// retirement is a deferred transaction on its way out of the state.
type retirement struct {
	c       *Chain
	d       *state.Deferred
	b       Billing
	start   time.Time
	session bool
	refund  int64
}

// retire returns the trace and whether what happened stays: a subjective failure
// leaves the transaction for another block.
func (r *retirement) retire() (trace *types.TransactionTrace, keep bool, err error) {
	c := r.c
	if r.refund, err = c.removeDeferred(r.d); err != nil {
		return nil, false, err
	}
	stopped := c.active(feature.DisableDeferredTrxsStage1)
	if !stopped && r.d.DelayUntil > c.pendingTime() {
		return nil, false, exception.New(exception.Transaction, "this transaction isn't ready")
	}
	if stopped || r.d.Expiration < c.pendingTime() {
		trace, err = r.expire()
		return trace, true, err
	}
	defer c.checking()()
	t, failure, err := r.execute()
	if err != nil || failure == nil {
		return t.trace, true, err
	}
	trace = t.trace
	if r.d.Sender != 0 && !r.isSubjective(failure) {
		handled, err := r.onError(t)
		if err != nil {
			return nil, false, err
		}
		handled.FailedDeferred, trace = trace, handled
		trace.Elapsed = c.now().Sub(r.start).Microseconds()
		if trace.Except == nil {
			trace.AccountRAMDelta = r.delta()
			return trace, true, nil
		}
	}
	if r.isSubjective(trace.Except) {
		return trace, false, nil
	}
	return trace, true, r.fail(t, trace)
}

func (r *retirement) delta() *types.AccountDelta {
	return &types.AccountDelta{Account: r.d.Payer, Delta: r.refund}
}

// isSubjective judges a failure. A producer does not hold the length of a
// transaction against it for good.
func (r *retirement) isSubjective(e *exception.Error) bool {
	return subjective(e) || r.c.speculative() && e.Kind == exception.TxCPUUsageExceeded
}

// expire drops the transaction.
func (r *retirement) expire() (*types.TransactionTrace, error) {
	c := r.c
	trace := &types.TransactionTrace{
		ID: r.d.TrxID, BlockNum: c.head.BlockNum + 1, BlockTime: c.pending.header.Timestamp,
		ProducerBlockID: c.pending.producerBlockID, Scheduled: true, AccountRAMDelta: r.delta(),
	}
	receipt := types.TransactionReceipt{ID: r.d.TrxID}
	receipt.Status, receipt.CPUUsageUS = types.StatusExpired, uint32(r.b.CPU)
	err := c.pushReceipt(trace, receipt, 0)
	trace.Elapsed = c.now().Sub(r.start).Microseconds()
	return trace, err
}

// execute runs the transaction. failure is the exception that ended it.
func (r *retirement) execute() (t *transaction, failure *exception.Error, err error) {
	c := r.c
	var trx types.Transaction
	if err := types.Decode(r.d.Packed, &trx); err != nil {
		return &transaction{}, nil, err
	}
	if t, err = c.newTransaction(control.Scheduled, &trx, r.d.TrxID, r.start, r.b); err != nil {
		return &transaction{}, nil, err
	}
	defer t.end()
	t.packed = r.d.Packed
	t.timer.leeway = 0
	t.enforceLists = r.d.Sender == 0 || !c.opt.Lists.SenderBypass[r.d.Sender]
	err = t.initDeferred(r.d.Published)
	if err == nil {
		err = r.checkActors(t)
	}
	if err == nil {
		err = t.run()
	}
	if err == nil {
		err = t.finish()
	}
	if err == nil {
		receipt := types.TransactionReceipt{ID: r.d.TrxID}
		if err = t.pushReceipt(receipt); err != nil {
			return t, nil, err
		}
		c.pending.addActions(t)
		t.trace.AccountRAMDelta = r.delta()
		return t, nil, t.keep()
	}
	failure = t.fail(err)
	if failure == nil {
		return t, nil, err
	}
	if d := t.deepMind(); d != nil {
		d.FailDeferred()
	}
	return t, failure, t.undo()
}

// fail notes an exception in the trace and the bill; nil if the error is the
// block's or the node's.
func (t *transaction) fail(err error) *exception.Error {
	if exception.Is(err, exception.DisallowedTransactionExtensionsBadBlock, exception.ProtocolFeatureBadBlock) {
		return nil
	}
	e, code := thrown(err)
	if e == nil {
		return nil
	}
	t.trace.Except, t.trace.ErrorCode = e, code
	t.trace.Elapsed = t.timer.elapsed()
	if g, err := t.c.state.Global(); err == nil {
		t.timer.bill(&g.Configuration)
	}
	return e
}

func (r *retirement) checkActors(t *transaction) error {
	if !t.enforceLists || !r.c.speculative() {
		return nil
	}
	var actors []types.Name
	for i := range t.trx.Actions {
		for _, level := range t.trx.Actions[i].Authorization {
			actors = putName(actors, level.Actor)
		}
	}
	return checkActors(&r.c.opt.Lists, actors)
}

// onError lets the sender handle the failure of its transaction (Leap:
// apply_onerror).
func (r *retirement) onError(failed *transaction) (*types.TransactionTrace, error) {
	c := r.c
	data := types.OnError{SenderID: r.d.SenderID, SentTrx: r.d.Packed}
	trx := c.implicit(types.Action{
		Account: nameEosio, Name: nameOnerror, Data: data.Append(nil),
		Authorization: []types.PermissionLevel{{Actor: r.d.Sender, Permission: nameActive}},
	})
	raw := trx.Append(nil)
	t, err := c.newTransaction(control.Implicit, trx, types.Hash(raw), failed.timer.start, r.b)
	if err != nil {
		return nil, err
	}
	defer t.end()
	t.packed = raw
	if d := t.deepMind(); d != nil {
		d.OnError(trx)
	}
	t.enforceLists = failed.enforceLists
	t.timer.leeway = defaultLeeway
	err = t.initImplicit()
	if err == nil {
		t.published = r.d.Published
		err = t.execute(t.schedule(trx.Actions[0], r.d.Sender, false, 0, 0), 0)
	}
	if err == nil {
		err = t.finish()
	}
	if err == nil {
		receipt := types.TransactionReceipt{ID: r.d.TrxID}
		receipt.Status = types.StatusSoftFail
		if err := t.pushReceipt(receipt); err != nil {
			return nil, err
		}
		c.pending.addActions(t)
		return t.trace, t.keep()
	}
	if t.fail(err) == nil {
		return nil, err
	}
	failed.timer.cpu = t.timer.cpu
	return t.trace, t.undo()
}

// fail bills a transaction that failed for good.
func (r *retirement) fail(t *transaction, trace *types.TransactionTrace) error {
	c := r.c
	cpu := t.timer.cpu
	slot := uint32(c.pending.header.Timestamp)
	if c.speculative() {
		if err := c.resources.UpdateAccountUsage(t.billTo, slot); err != nil {
			return err
		}
		_, can, err := t.canPay(true)
		if err != nil {
			return err
		}
		limited := min(cpu, can, t.timer.initialObjective)
		if r.b.Explicit && limited != cpu {
			return exception.New(exception.Transaction, "cpu to bill %d != limited %d", cpu, limited)
		}
		cpu = limited
	}
	if err := c.billUsage(c.tracer(), t.billTo, uint64(cpu), 0); err != nil {
		return err
	}
	receipt := types.TransactionReceipt{ID: r.d.TrxID}
	receipt.Status, receipt.CPUUsageUS = types.StatusHardFail, uint32(cpu)
	trace.AccountRAMDelta = r.delta()
	return c.pushReceipt(trace, receipt, 0)
}

// removeDeferred takes a deferred transaction out of the state and refunds its
// payer; it returns the change of RAM.
func (c *Chain) removeDeferred(d *state.Deferred) (int64, error) {
	m := c.tracer()
	if m != nil {
		m.RAMEvent(idEvent(d.ID), "deferred_trx", "remove", "deferred_trx_removed")
	}
	delta := -(billableDeferred + int64(len(d.Packed)))
	if err := c.chargeRAM(m, d.Payer, delta); err != nil {
		return 0, err
	}
	return delta, c.state.RemoveDeferred(d)
}
