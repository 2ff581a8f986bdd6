package producer

import (
	"fmt"
	"time"

	"tarn/antelope/exception"
	"tarn/antelope/execute"
	"tarn/antelope/resource"
	"tarn/antelope/types"
)

// incoming executes a transaction that came from outside, or lets it wait (Leap:
// process_incoming_transaction_async).
func (p *Producer) incoming(x *execute.Candidate, o execute.TransactionOptions, done Done) {
	p.clock.idle(time.Now())
	now := p.chain.Head().Header.Timestamp.TimePoint()
	pending, building := p.chain.Pending()
	if building {
		now = pending.Time.TimePoint()
	}
	if x.Trx.Expiration.TimePoint() < now {
		p.refuse(x, done, execute.Expired(x.ID, x.Trx.Expiration.TimePoint(), now))
		return
	}
	known, err := p.chain.State().HasTransaction(x.ID)
	if p.fail(err) {
		done(nil, err)
		return
	}
	if known {
		p.clock.transaction(time.Now(), x.Kind.Transient(), false)
		done(nil, execute.Duplicate(x.ID))
		return
	}
	e := &entry{x: x, from: incomingP2P, failureTrace: o.FailureTrace, lent: o.Lent, done: done}
	if o.API {
		e.from = incomingAPI
	}
	if !building {
		p.queue.addIncoming(e)
		p.clock.other(time.Now())
		return
	}
	r := p.push(e, p.deadline)
	if p.writer.Failed() != nil {
		e.answer(nil, p.writer.Failed())
		return
	}
	if r.unfit {
		p.queue.addIncoming(e)
	}
	switch {
	case r.broken:
		p.restart()
	case p.producing && r.exhausted:
		p.produceSoon(true)
	case !p.producing && (r.exhausted || r.unfit):
		p.log.plugin.Debug(fmt.Sprintf("Restarting exhausted speculative block #%d", p.chain.Head().BlockNum+1))
		p.restart()
	}
}

// refuse answers a transaction that was not executed.
func (p *Producer) refuse(x *execute.Candidate, done Done, err error) {
	p.logResult(x, nil, err)
	p.clock.transaction(time.Now(), x.Kind.Transient(), false)
	if done != nil {
		done(nil, err)
	}
}

// restart gives the pending block up and begins another.
func (p *Producer) restart() {
	if p.abort() == nil {
		p.schedule()
	}
}

// result is how the execution of a transaction went.
type result struct {
	exhausted bool // the block is full
	unfit     bool // it did not fit in the block, and is to be tried again
	failed    bool
	broken    bool // the block must be given up
}

// push executes a transaction in the pending block, and answers it unless it is to
// be tried again. It does not change the queue (Leap: push_transaction).
func (p *Producer) push(e *entry, deadline time.Time) result {
	x := e.x
	first := x.Trx.FirstAuthorizer()
	unbilled := e.from == incomingAPI && p.opt.NoAPIBilling || e.from != incomingAPI && p.opt.NoP2PBilling ||
		p.bills.exempts(first) || x.Kind.Transient()
	if !unbilled && p.failures.exceeded(first) {
		h := p.chain.Head()
		err := exception.New(exception.TxCPUUsageExceeded,
			"transaction ${id} exceeded failure limit for account ${a} until ${next_reset_time}",
			"id", x.ID, "a", first, "next_reset_time", p.failures.reset(h.BlockNum, h.Header.Timestamp))
		p.refuse(x, e.done, err)
		e.done = nil
		return result{failed: true}
	}
	if e.keyless {
		if err := p.findKeys(x); err != nil {
			p.refuse(x, e.done, err)
			e.done = nil
			return result{failed: true}
		}
		e.keyless = false
	}
	bill, err := p.billing(x, first, unbilled, deadline)
	if p.fail(err) {
		return result{failed: true}
	}
	trace, err := p.execute(x, bill)
	if err != nil {
		p.clock.transaction(time.Now(), x.Kind.Transient(), false)
		e.answer(nil, err)
		p.fail(err)
		return result{failed: true, broken: true}
	}
	if trace.Except != nil {
		return p.handleFailure(e, trace, first, unbilled)
	}
	p.handleSuccess(e, trace, first, unbilled)
	return result{}
}

func (p *Producer) execute(x *execute.Candidate, bill execute.Billing) (*types.TransactionTrace, error) {
	if p.producing {
		return p.chain.PushTransaction(x, bill)
	}
	return p.speculation.execute(x, bill)
}

// billing says how long a transaction may run.
func (p *Producer) billing(
	x *execute.Candidate, first types.Name, unbilled bool, deadline time.Time,
) (execute.Billing, error) {
	b := execute.Billing{Deadline: deadline, MaxTime: max(p.maxTime.Load(), 0), CPU: x.Billed}
	if !unbilled {
		b.Subjective = p.bills.Subjective(first, time.Now())
	}
	if p.producing && x.Billed > 0 && !p.bills.exempts(first) {
		unlimited, err := p.resources.IsUnlimitedCPU(first)
		if err != nil {
			return b, err
		}
		// It may take twice what it took before, and no more.
		if twice := x.Billed + int64(resource.Percent(uint64(x.Billed), 100*100)); !unlimited &&
			(b.MaxTime == 0 || twice < b.MaxTime) {
			b.MaxTime = twice
		}
	}
	return b, nil
}

func (p *Producer) handleFailure(e *entry, trace *types.TransactionTrace, first types.Name, unbilled bool) result {
	x := e.x
	if exhausts(trace.Except) {
		p.clock.transaction(time.Now(), x.Kind.Transient(), true)
		p.log.unfit(p.place, x)
		return result{unfit: true, exhausted: x.Kind != execute.ReadOnly && p.blockExhausted()}
	}
	p.clock.transaction(time.Now(), x.Kind.Transient(), false)
	if trace.Except.Kind != exception.TxDuplicate {
		if !unbilled {
			p.bills.billFailure(first, trace.Elapsed, time.Now())
			p.failures.add(first, trace.Except)
		}
		p.logResult(x, trace, nil)
	}
	if e.failureTrace {
		e.answer(trace, nil)
	} else {
		e.answer(nil, trace.Except.Copied())
	}
	return result{failed: true}
}

func (p *Producer) handleSuccess(e *entry, trace *types.TransactionTrace, first types.Name, unbilled bool) {
	x := e.x
	p.clock.transaction(time.Now(), x.Kind.Transient(), true)
	if trace.Receipt != nil && !x.Kind.Transient() {
		x.Billed = int64(trace.Receipt.CPUUsageUS)
	}
	p.logResult(x, trace, nil)
	if !unbilled && !p.producing {
		p.bills.bill(x.ID, x.Trx.Expiration, first, trace.Elapsed)
	}
	if e.from == incomingAPI && !x.Kind.Transient() && p.shows() {
		p.writer.Hold(func(failed error) {
			if failed != nil {
				e.answer(nil, failed)
				return
			}
			e.answer(trace, nil)
		})
		return
	}
	if e.answer(trace, nil); e.lent {
		p.chain.Recycle()
	}
	if !x.Kind.Transient() && p.chain.Speculative() {
		p.writer.Hold(func(error) {}) // readers of such a node see what is pending, whoever sent it
	}
}

// exhausts tells whether a transaction failed because of the block it was in.
func exhausts(e *exception.Error) bool {
	switch e.Kind {
	case exception.BlockCPUUsageExceeded, exception.BlockNetUsageExceeded, exception.Deadline:
		return true
	}
	return false
}

// blockExhausted tells whether so little is left of the block that it is full.
func (p *Producer) blockExhausted() bool {
	cpu, err := p.resources.BlockCPULimit()
	if err != nil {
		p.fail(err)
		return true
	}
	net, err := p.resources.BlockNetLimit()
	if err != nil {
		p.fail(err)
		return true
	}
	return cpu < uint64(p.opt.MaxBlockCPU.Microseconds()) || net < p.opt.MaxBlockNet
}
