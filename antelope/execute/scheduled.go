package execute

import (
	"time"

	"tarn/antelope/exception"
	"tarn/antelope/feature"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// PushScheduled retires a deferred transaction in the pending block: executes it,
// or lets its sender handle its failure, or drops it (Leap: controller_impl::
// push_scheduled_transaction).
func (e *Executor) PushScheduled(id types.Checksum256, b Billing) (*types.TransactionTrace, error) {
	if e.block == nil {
		return nil, exception.New(exception.MissingPendingBlockState, "there is no pending block")
	}
	d, err := e.state.DeferredByTrxID(id)
	if err != nil {
		return nil, err
	}
	if d == nil {
		return nil, exception.New(exception.UnknownTransaction, "unknown transaction")
	}
	if !e.speculative() && !b.Explicit {
		return nil, exception.New(exception.Transaction, "validating requires explicit billing")
	}
	r := &retirement{e: e, d: d, b: b, start: e.now()}
	if !e.skipSessions() {
		if err := e.state.Begin(); err != nil {
			return nil, err
		}
		r.session = true
	}
	trace, keep, err := r.retire()
	if err != nil {
		return nil, err // with the whole block
	}
	if r.session {
		end := e.state.Undo
		if keep {
			end = e.state.Squash
		}
		if err := end(); err != nil {
			return nil, err
		}
	}
	e.block.count(trace)
	e.tellApplied(trace, nil)
	e.block.keepTrace(Transaction{Trace: trace, Kind: Scheduled, Raw: d.Packed})
	return trace, nil
}

// retirement is a deferred transaction on its way out of the state.
type retirement struct {
	e       *Executor
	d       *state.Deferred
	b       Billing
	start   time.Time
	session bool
	refund  int64
}

// retire returns the trace and whether what happened stays: a subjective failure
// leaves the transaction for another block.
func (r *retirement) retire() (trace *types.TransactionTrace, keep bool, err error) {
	e := r.e
	if r.refund, err = e.removeDeferred(r.d); err != nil {
		return nil, false, err
	}
	stopped := e.active(feature.DisableDeferredTrxsStage1)
	if !stopped && r.d.DelayUntil > e.block.time() {
		return nil, false, exception.New(exception.Transaction, "this transaction isn't ready",
			"gtrx.delay_until", r.d.DelayUntil, "pbt", e.block.time())
	}
	if stopped || r.d.Expiration < e.block.time() {
		trace, err = r.expire()
		return trace, true, err
	}
	defer e.checking()()
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
		trace.Elapsed = e.now().Sub(r.start).Microseconds()
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
	return subjective(e) || r.e.speculative() && e.Kind == exception.TxCPUUsageExceeded
}

// expire drops the transaction.
func (r *retirement) expire() (*types.TransactionTrace, error) {
	e := r.e
	trace := &types.TransactionTrace{
		ID: r.d.TrxID, BlockNum: e.head.BlockNum + 1, BlockTime: e.block.header.Timestamp,
		ProducerBlockID: e.block.producerBlockID, Scheduled: true, AccountRAMDelta: r.delta(),
	}
	receipt := types.TransactionReceipt{ID: r.d.TrxID}
	receipt.Status, receipt.CPUUsageUS = types.StatusExpired, uint32(r.b.CPU)
	err := e.block.pushReceipt(trace, receipt, 0)
	trace.Elapsed = e.now().Sub(r.start).Microseconds()
	return trace, err
}

// execute runs the transaction. failure is the exception that ended it.
func (r *retirement) execute() (t *transaction, failure *exception.Error, err error) {
	e := r.e
	var trx types.Transaction
	if err := types.Decode(r.d.Packed, &trx); err != nil {
		return &transaction{}, nil, err
	}
	if t, err = e.newTransaction(Scheduled, &trx, r.d.TrxID, r.start, r.b); err != nil {
		return &transaction{}, nil, err
	}
	defer t.end()
	t.packed = r.d.Packed
	t.timer.leeway = 0
	t.enforceLists = r.d.Sender == 0 || !e.policy.Lists.SenderBypass[r.d.Sender]
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
		if err := e.block.takeOver(t); err != nil {
			return t, nil, err
		}
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
	e, code := splitError(err)
	if e == nil {
		return nil
	}
	t.trace.Except, t.trace.ErrorCode = e, code
	t.trace.Elapsed = t.timer.elapsedTime()
	if g, err := t.e.state.Global.Get(); err == nil {
		t.timer.bill(&g.Configuration)
	}
	return e
}

func (r *retirement) checkActors(t *transaction) error {
	if !t.enforceLists || !r.e.speculative() {
		return nil
	}
	var actors []types.Name
	for i := range t.trx.Actions {
		for _, level := range t.trx.Actions[i].Authorization {
			actors = putName(actors, level.Actor)
		}
	}
	return checkActors(&r.e.policy.Lists, actors)
}

// onError lets the sender handle the failure of its transaction (Leap:
// apply_onerror).
func (r *retirement) onError(failed *transaction) (*types.TransactionTrace, error) {
	e := r.e
	data := types.OnError{SenderID: r.d.SenderID, SentTrx: r.d.Packed}
	trx := e.implicit(types.Action{
		Account: nameEosio, Name: nameOnerror, Data: data.Append(nil),
		Authorization: []types.PermissionLevel{{Actor: r.d.Sender, Permission: nameActive}},
	})
	raw := trx.Append(nil)
	t, err := e.newTransaction(Implicit, trx, types.Hash(raw), failed.timer.start, r.b)
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
		if err := e.block.takeOver(t); err != nil {
			return nil, err
		}
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
	e := r.e
	cpu := t.timer.cpu
	slot := uint32(e.block.header.Timestamp)
	if e.speculative() {
		if err := e.resources.UpdateAccountUsage(t.billTo, slot); err != nil {
			return err
		}
		_, can, err := t.canPay(true)
		if err != nil {
			return err
		}
		limited := min(cpu, can, t.timer.initialObjective)
		if r.b.Explicit && limited != cpu {
			return exception.New(exception.Transaction, "cpu to bill ${cpu} != limited ${limit}",
				"cpu", cpu, "limit", limited)
		}
		cpu = limited
	}
	if err := e.billUsage(e.tracer, t.billTo, uint64(cpu), 0, e.block.header.Timestamp); err != nil {
		return err
	}
	receipt := types.TransactionReceipt{ID: r.d.TrxID}
	receipt.Status, receipt.CPUUsageUS = types.StatusHardFail, uint32(cpu)
	trace.AccountRAMDelta = r.delta()
	return e.block.pushReceipt(trace, receipt, 0)
}
