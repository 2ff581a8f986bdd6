package producer

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"tarn/antelope/control"
	"tarn/antelope/exception"
	"tarn/antelope/execute"
	"tarn/antelope/resource"
	"tarn/antelope/types"
	"tarn/writer"
)

// Done gets the answer to a transaction, once: its trace, or why it was refused. It
// runs on the writer, or on the caller's goroutine if the transaction never came
// that far, and must not block.
type Done func(*types.TransactionTrace, error)

// Transaction executes a transaction and waits for its trace. It unpacks it and
// finds its keys on the caller's goroutine. One that leaves nothing is executed on a
// view, beside the writer and beside others. Errors are exceptions, [writer.ErrStopped], or
// ctx's: then the transaction may be executed even so.
func (p *Producer) Transaction(ctx context.Context, packed *types.PackedTransaction, o control.TransactionOptions) (*types.TransactionTrace, error) {
	x, err := execute.NewCandidate(packed, o.Kind)
	if err != nil {
		return nil, err
	}
	if x.Kind.Transient() {
		return p.read(ctx, x, o)
	}
	return p.submit(ctx, x, o)
}

// submit is Submit with waiting.
func (p *Producer) submit(ctx context.Context, x *execute.Candidate, o control.TransactionOptions) (*types.TransactionTrace, error) {
	p.writer.Expect(1)
	var trace *types.TransactionTrace
	done := make(chan error, 1)
	p.Submit(o, Submission{x, func(t *types.TransactionTrace, err error) {
		p.writer.Expect(-1)
		trace = t
		done <- err
	}})
	// The trace is read only after its error came.
	if err := p.writer.Await(ctx, done); err != nil {
		return nil, err
	}
	return trace, nil
}

// Submission is a transaction that is given to the writer, and who gets its answer.
// The candidate was made by execute.NewCandidate.
type Submission struct {
	Candidate *execute.Candidate
	Done      Done
}

// Submit is Transaction without waiting for the writer, for transactions of o's kind
// that are to be executed in their order. Keys are found for those that have none, on
// as many processors as there are. It does not keep the list.
func (p *Producer) Submit(o control.TransactionOptions, list ...Submission) {
	candidates := make([]*execute.Candidate, len(list))
	for i, s := range list {
		candidates[i] = s.Candidate
	}
	errs := p.examine(candidates)
	for i, s := range list {
		p.enqueue(s.Candidate, o, s.Done, errs[i])
	}
}

// enqueue lets a transaction into the inbox, unless err is why it may not.
func (p *Producer) enqueue(x *execute.Candidate, o control.TransactionOptions, done Done, err error) {
	if x.Kind == control.Input {
		answer := done
		done = func(t *types.TransactionTrace, err error) {
			answer(t, err)
			if err == nil && t.Except != nil {
				err = t.Except
			}
			if err != nil {
				p.keys.drop(x)
			}
			p.each(func(e *Events) {
				if e.Acked != nil {
					e.Acked(x.Packed, x, err)
				}
			})
		}
	}
	if err == nil {
		err = p.admit(x)
	}
	if err != nil {
		done(nil, err)
		return
	}
	j := writer.Job{Do: func() {
		p.waiting.Add(-entrySize(x))
		p.incoming(x, o, done)
	}, Drop: func() { done(nil, writer.ErrStopped) }}
	if !p.writer.Put(writer.Many, j) {
		p.waiting.Add(-entrySize(x))
		done(nil, writer.ErrStopped)
	}
}

// admit counts a transaction that goes into the inbox, if there is room.
func (p *Producer) admit(x *execute.Candidate) error {
	if size := p.waiting.Add(entrySize(x)); size >= int64(p.opt.QueueBytes) {
		p.waiting.Add(-entrySize(x))
		return exception.New(exception.TxResourceExhaustion,
			"Transaction %s, size %d bytes would exceed configured incoming-transaction-queue-size-mb %d, current queue size %d bytes",
			x.ID, entrySize(x), p.opt.QueueBytes>>20, size-entrySize(x))
	}
	return nil
}

// examine checks what needs no chain, and finds keys. It returns an error or nil for
// each transaction.
func (p *Producer) examine(list []*execute.Candidate) []error {
	errs := make([]error, len(list))
	wanting := make([]*execute.Candidate, 0, len(list))
	places := make([]int, 0, len(list))
	for i, x := range list {
		switch {
		case p.opt.NoTransactions:
			errs[i] = exception.New(exception.Transaction, "this node accepts no transactions")
		case x.Trx.DelaySec != 0:
			errs[i] = exception.New(exception.Transaction, "transaction cannot be delayed")
		case x.Kind != control.ReadOnly && x.Keys == nil:
			if errs[i] = p.checkSignatures(x); errs[i] == nil {
				wanting, places = append(wanting, x), append(places, i)
			}
		}
	}
	for i, err := range p.recoverKeys(wanting) {
		errs[places[i]] = err
	}
	return errs
}

// checkSignatures refuses signatures that are too long.
func (p *Producer) checkSignatures(x *execute.Candidate) error {
	for i := range x.Packed.Signatures {
		if uint64(x.Packed.Signatures[i].VariableSize()) > uint64(p.opt.MaxSignature) {
			return exception.New(exception.SigVariableSizeLimit, "signature variable length component size (%d) greater than subjective maximum (%d)",
				x.Packed.Signatures[i].VariableSize(), p.opt.MaxSignature)
		}
	}
	return nil
}

// findKeys is recoverKeys for one transaction whose signatures nobody looked at.
func (p *Producer) findKeys(x *execute.Candidate) error {
	if err := p.checkSignatures(x); err != nil {
		return err
	}
	if errs := p.recoverKeys([]*execute.Candidate{x}); errs != nil {
		return errs[0]
	}
	return nil
}

// recoverKeys is [execute.Keys.Recover] within the time that a transaction may take; what it
// finds is remembered for blocks.
func (p *Producer) recoverKeys(list []*execute.Candidate) []error {
	limit := execute.Unlimited
	if us := p.maxTime.Load(); us >= 0 {
		limit = time.Duration(us) * time.Microsecond
	}
	errs := p.chain.Keys().Recover(limit, runtime.GOMAXPROCS(0), list)
	for i, x := range list {
		if x.Kind == control.Input && (errs == nil || errs[i] == nil) {
			p.keys.put(x)
		}
	}
	return errs
}

// incoming executes a transaction that came from outside, or lets it wait (Leap:
// process_incoming_transaction_async).
func (p *Producer) incoming(x *execute.Candidate, o control.TransactionOptions, done Done) {
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
		err := exception.New(exception.TxCPUUsageExceeded, "transaction %s exceeded failure limit for account %s until %s",
			x.ID, first, p.failures.reset(h.BlockNum, h.Header.Timestamp))
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
		return p.failed(e, trace, first, unbilled)
	}
	p.succeeded(e, trace, first, unbilled)
	return result{}
}

// speculation is the execution of a transaction in a block that is no one's, which
// gives way to a block that comes: it is tried again after it.
type speculation struct {
	mu      sync.Mutex
	running bool
}

func (p *Producer) execute(x *execute.Candidate, bill execute.Billing) (*types.TransactionTrace, error) {
	if p.producing {
		return p.chain.PushTransaction(x, bill)
	}
	s := &p.speculation
	s.mu.Lock()
	s.running = true
	s.mu.Unlock()
	trace, err := p.chain.PushTransaction(x, bill)
	s.mu.Lock()
	s.running = false
	p.chain.Interrupt(nil)
	s.mu.Unlock()
	return trace, err
}

// giveWay ends a speculation.
func (p *Producer) giveWay() {
	s := &p.speculation
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running {
		p.chain.Interrupt(exception.New(exception.Deadline, "a block has come before the transaction was finished"))
	}
}

// billing says how long a transaction may run.
func (p *Producer) billing(x *execute.Candidate, first types.Name, unbilled bool, deadline time.Time) (execute.Billing, error) {
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
		if twice := x.Billed + int64(resource.Percent(uint64(x.Billed), 100*100)); !unlimited && (b.MaxTime == 0 || twice < b.MaxTime) {
			b.MaxTime = twice
		}
	}
	return b, nil
}

func (p *Producer) failed(e *entry, trace *types.TransactionTrace, first types.Name, unbilled bool) result {
	x := e.x
	if exhausts(trace.Except) {
		p.clock.transaction(time.Now(), x.Kind.Transient(), true)
		p.logUnfit(x)
		return result{unfit: true, exhausted: x.Kind != control.ReadOnly && p.blockExhausted()}
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

func (p *Producer) succeeded(e *entry, trace *types.TransactionTrace, first types.Name, unbilled bool) {
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
