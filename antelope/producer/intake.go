package producer

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"tarn/antelope/chain"
	"tarn/antelope/exception"
	"tarn/antelope/execute"
	"tarn/antelope/types"
	"tarn/writerloop"
)

// intake takes transactions from outside on any goroutine: it checks there what needs no
// chain, finds keys, bounds what waits, and gives the writer the rest.
type intake struct {
	opt        *Options
	chain      *chain.Chain
	head       *atomic.Pointer[Head]
	writer     *writerloop.Writer
	log        *loggers
	keys       *foundKeys
	readers    *execute.Readers
	rehearsals *execute.Rehearsals
	waiting    atomic.Int64 // bytes of transactions that wait for the writer
	maxTime    atomic.Int64 // bound of transactions, in microseconds; below 0 is no bound

	incoming func(*execute.Candidate, execute.TransactionOptions, Done) // on the writer
	acked    func(*execute.Candidate, error)                            // tells what became of one
}

// RefusesTransactions tells whether the node takes none: by its options, or as it applies irreversible blocks only,
// on a chain of Leap. Any goroutine may ask.
func (in *intake) RefusesTransactions() bool {
	return in.opt.NoTransactions || in.opt.Irreversible && !in.head.Load().Spring
}

// Done gets the answer to a transaction, once: its trace, or why it was refused. It
// runs on the writer, or on the caller's goroutine if the transaction never came
// that far, and must not block.
type Done func(*types.TransactionTrace, error)

// Transaction executes a transaction and waits for its trace. It unpacks it and
// finds its keys on the caller's goroutine. One that leaves nothing is executed on a
// view, beside the writer and beside others. Errors are exceptions, [writerloop.ErrStopped], or
// ctx's: then the transaction may be executed even so.
func (in *intake) Transaction(
	ctx context.Context, packed *types.PackedTransaction, o execute.TransactionOptions,
) (*types.TransactionTrace, error) {
	x, err := execute.NewCandidate(packed, o.Kind)
	if err != nil {
		return nil, err
	}
	if x.Kind.Transient() {
		return in.read(ctx, x, o)
	}
	return in.submit(ctx, x, o)
}

// submit is Submit with waiting.
func (in *intake) submit(
	ctx context.Context, x *execute.Candidate, o execute.TransactionOptions,
) (*types.TransactionTrace, error) {
	in.writer.Expect(1)
	var trace *types.TransactionTrace
	done := make(chan error, 1)
	in.Submit(o, Submission{x, func(t *types.TransactionTrace, err error) {
		in.writer.Expect(-1)
		trace = t
		done <- err
	}})
	// The trace is read only after its error came.
	if err := in.writer.Await(ctx, done); err != nil {
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
func (in *intake) Submit(o execute.TransactionOptions, list ...Submission) {
	candidates := make([]*execute.Candidate, len(list))
	for i, s := range list {
		candidates[i] = s.Candidate
	}
	errs := in.examine(candidates)
	for i := range errs {
		if errs[i] != nil {
			candidates[i] = nil
		}
	}
	in.rehearsals.Waiting(time.Duration(in.maxTime.Load())*time.Microsecond, candidates...)
	for i, s := range list {
		in.enqueue(s.Candidate, o, s.Done, errs[i])
	}
}

// stopReading ends what is executed on views.
func (in *intake) stopReading() error {
	return errors.Join(in.readers.Stop(writerloop.ErrStopped), in.rehearsals.Stop(writerloop.ErrStopped))
}

// enqueue lets a transaction into the inbox, unless err is why it may not.
func (in *intake) enqueue(x *execute.Candidate, o execute.TransactionOptions, done Done, err error) {
	if x.Kind == execute.Input {
		answer := done
		done = func(t *types.TransactionTrace, err error) {
			answer(t, err)
			if err == nil && t.Except != nil {
				err = t.Except
			}
			if err != nil {
				in.keys.drop(x)
			}
			in.acked(x, err)
		}
	}
	if err == nil {
		err = in.admit(x)
	}
	if err != nil {
		done(nil, err)
		return
	}
	j := writerloop.Job{Do: func() {
		in.waiting.Add(-entrySize(x))
		in.incoming(x, o, done)
	}, Drop: func() { done(nil, writerloop.ErrStopped) }}
	if !in.writer.Put(writerloop.Many, j) {
		in.waiting.Add(-entrySize(x))
		done(nil, writerloop.ErrStopped)
	}
}

// admit counts a transaction that goes into the inbox, if there is room.
func (in *intake) admit(x *execute.Candidate) error {
	if size := in.waiting.Add(entrySize(x)); size >= int64(in.opt.QueueBytes) {
		in.waiting.Add(-entrySize(x))
		return exception.New(exception.TxResourceExhaustion,
			"Transaction ${id}, size ${s} bytes would exceed configured incoming-transaction-queue-size-mb ${qs}, "+
				"current queue size ${cs} bytes", "id", x.ID, "s", entrySize(x), "qs", in.opt.QueueBytes>>20,
			"cs", size-entrySize(x))
	}
	return nil
}

// examine checks what needs no chain, and finds keys. It returns an error or nil for
// each transaction.
func (in *intake) examine(list []*execute.Candidate) []error {
	refused := in.RefusesTransactions()
	errs := make([]error, len(list))
	wanting := make([]*execute.Candidate, 0, len(list))
	places := make([]int, 0, len(list))
	for i, x := range list {
		switch {
		case refused:
			errs[i] = exception.New(exception.Transaction, "this node accepts no transactions")
		case x.Trx.DelaySec != 0:
			errs[i] = exception.New(exception.Transaction, "transaction cannot be delayed")
		case x.Kind != execute.ReadOnly && x.Keys == nil:
			if errs[i] = in.checkSignatures(x); errs[i] == nil {
				wanting, places = append(wanting, x), append(places, i)
			}
		}
	}
	for i, err := range in.recoverKeys(wanting) {
		errs[places[i]] = err
	}
	return errs
}

// checkSignatures refuses signatures that are too long.
func (in *intake) checkSignatures(x *execute.Candidate) error {
	for i := range x.Packed.Signatures {
		if uint64(x.Packed.Signatures[i].VariableSize()) > uint64(in.opt.MaxSignature) {
			return exception.New(exception.SigVariableSizeLimit,
				"signature variable length component size (${s}) greater than subjective maximum (${m})",
				"s", x.Packed.Signatures[i].VariableSize(), "m", in.opt.MaxSignature)
		}
	}
	return nil
}

// findKeys is recoverKeys for one transaction whose signatures nobody looked at.
func (in *intake) findKeys(x *execute.Candidate) error {
	if err := in.checkSignatures(x); err != nil {
		return err
	}
	if errs := in.recoverKeys([]*execute.Candidate{x}); errs != nil {
		return errs[0]
	}
	return nil
}

// recoverKeys is [execute.Keys.Recover] within the time that a transaction may take; what it
// finds is remembered for blocks.
func (in *intake) recoverKeys(list []*execute.Candidate) []error {
	limit := execute.Unlimited
	if us := in.maxTime.Load(); us >= 0 {
		limit = time.Duration(us) * time.Microsecond
	}
	errs := in.chain.Keys().Recover(limit, runtime.GOMAXPROCS(0), list)
	for i, x := range list {
		if x.Kind == execute.Input && (errs == nil || errs[i] == nil) {
			in.keys.put(x)
		}
	}
	return errs
}

// read executes a transaction on a reader. Only where the pending block that is shown has no
// room left for a dry run does the writer execute it, in the next block. What only reads needs
// none: the writer never executes it.
func (in *intake) read(
	ctx context.Context, x *execute.Candidate, o execute.TransactionOptions,
) (*types.TransactionTrace, error) {
	if err := in.examine([]*execute.Candidate{x})[0]; err != nil {
		return nil, err
	}
	trace, err := in.readers.Execute(ctx, x, execute.Billing{MaxTime: max(in.maxTime.Load(), 0)})
	if err == nil && x.Kind != execute.ReadOnly && trace.Except != nil && exhausts(trace.Except) {
		return in.submit(ctx, x, o)
	}
	in.log.trace(func() string { return speculating }, x, trace, err)
	if err == nil && trace.Except != nil && !o.FailureTrace {
		err = trace.Except
	}
	if err != nil {
		return nil, err
	}
	return trace, nil
}

// Ask executes an action without data that changes nothing and that nobody authorises, on a view, and returns what
// it returns, nil for nothing. It may take limit, and waits for a reader until ctx ends.
func (in *intake) Ask(ctx context.Context, account, action types.Name, limit time.Duration) ([]byte, error) {
	t := &types.Transaction{Actions: []types.Action{{Account: account, Name: action}}}
	t.Expiration = types.TimePointSec(time.Now().Add(time.Minute).Unix())
	packed, err := types.Pack(t, nil, nil, types.CompressionNone)
	if err != nil {
		return nil, err
	}
	x, err := execute.NewCandidate(packed, execute.ReadOnly)
	if err != nil {
		return nil, err
	}
	trace, err := in.readers.Execute(ctx, x, execute.Billing{MaxTime: limit.Microseconds()})
	if err == nil && trace.Except != nil {
		err = trace.Except
	}
	if err != nil || len(trace.ActionTraces) == 0 {
		return nil, err
	}
	return trace.ActionTraces[0].ReturnValue, nil
}
