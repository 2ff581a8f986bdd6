package execute

import (
	"errors"
	"time"

	"tarn/antelope/exception"
	"tarn/antelope/feature"
	"tarn/antelope/types"
)

// Push executes a transaction in the pending block. The trace says what
// it did, its failure included; an error is one of the block or of the node (Leap:
// controller_impl::push_transaction).
func (e *Executor) Push(x *Candidate, b Billing) (*types.TransactionTrace, error) {
	if e.block == nil {
		return nil, exception.New(exception.MissingPendingBlockState, "there is no pending block")
	}
	start := e.now()
	if !b.Explicit {
		start = start.Add(-time.Duration(x.KeyTime*int64(e.opt.SignatureCPUPercent)/10000) * time.Microsecond)
	}
	t, err := e.newTransaction(x.Kind, x.Trx, x.ID, start, b)
	if err != nil {
		return nil, err
	}
	defer t.end()
	t.packed, t.cfd, t.signed = x.Raw, x.CFD, x.Packed
	if e.speculative() {
		t.timer.leeway = e.policy.Leeway.Microseconds()
	}
	err = t.perform(x)
	if err == nil {
		e.last = t
		return t.trace, t.accept(x)
	}
	return t.reject(err, x.Kind.Transient())
}

// perform runs a transaction from outside, or the chain's own.
func (t *transaction) perform(x *Candidate) error {
	var err error
	if x.Kind == Implicit {
		err = t.initImplicit()
		t.enforceLists = false
	} else {
		err = t.initInput(x.Unprunable, x.Prunable)
	}
	if err != nil {
		return err
	}
	t.delay = int64(x.Trx.DelaySec)
	if x.Kind != Implicit && x.Kind != ReadOnly && !t.e.skipChecks() {
		if err := t.authorize(x.Keys); err != nil {
			return err
		}
	}
	if err := t.run(); err != nil {
		return err
	}
	return t.finish()
}

// accept adds a transaction that succeeded to the block, and ends it.
func (t *transaction) accept(x *Candidate) error {
	b := t.e.block
	mark := b.mark()
	if x.Kind == Input || x.Kind == DryRun {
		r := types.TransactionReceiptHeader{Status: types.StatusExecuted}
		if t.delay != 0 {
			r.Status = types.StatusDelayed
		}
		if err := t.pushReceipt(types.TransactionReceipt{TransactionReceiptHeader: r, Packed: x.Packed}); err != nil {
			return err
		}
	} else {
		t.trace.Receipt = &types.TransactionReceiptHeader{
			Status: types.StatusExecuted, CPUUsageUS: uint32(t.timer.cpu), NetUsageWords: uint32(t.trace.NetUsage / 8),
		}
	}
	if x.Kind.Transient() {
		b.restore(mark)
		return t.undo()
	}
	if err := b.takeOver(t); err != nil {
		return err
	}
	t.e.block.count(t.trace)
	t.e.tellApplied(t.trace, x)
	t.e.block.keepTrace(Transaction{t.trace, x.Kind, x.Raw, x.Packed})
	if x.Kind == Input && b.claimed == nil {
		b.candidates = append(b.candidates, x)
	}
	if b.status == Ephemeral && !t.e.opt.Speculative {
		// The block is no one's: what it holds is tried again in a real one.
		return t.undo()
	}
	return t.keep()
}

// reject ends a transaction that failed. Some failures are the whole block's.
func (t *transaction) reject(err error, quiet bool) (*types.TransactionTrace, error) {
	if exception.Of(err) == nil {
		return nil, err // the block is undone with all that is in it
	}
	if exception.Is(err, exception.DisallowedTransactionExtensionsBadBlock, exception.ProtocolFeatureBadBlock) {
		return nil, errors.Join(err, t.undo()) // onblock is not the block's failure even so
	}
	t.trace.Except, t.trace.ErrorCode = splitError(err)
	t.trace.Elapsed = t.timer.elapsedTime()
	if err := t.undo(); err != nil {
		return nil, err
	}
	if !quiet {
		t.e.block.count(t.trace)
		t.e.tellApplied(t.trace, nil)
	}
	return t.trace, nil
}

// pushReceipt adds a receipt of what the transaction is billed to the block.
func (t *transaction) pushReceipt(r types.TransactionReceipt) error {
	r.CPUUsageUS = uint32(t.timer.cpu)
	return t.e.block.pushReceipt(t.trace, r, t.trace.NetUsage)
}

// checkExpiration checks that a transaction neither has expired nor expires too
// late. Failures of it and of checkRefBlock pass once more than others (Leap:
// FC_CAPTURE_AND_RETHROW).
func (e *Executor) checkExpiration(t *types.Transaction) error {
	g, err := e.state.Global.Get()
	if err != nil {
		return err
	}
	now, most := e.block.time(), g.Configuration.MaxTransactionLifetime
	switch expires := t.Expiration.TimePoint(); {
	case expires < now:
		return exception.New(exception.ExpiredTx,
			"transaction has expired, expiration is ${trx.expiration} and pending block time is ${pending_block_time}",
			"trx.expiration", t.Expiration, "pending_block_time", now).With("", "trx", t)
	case expires > now.AddSeconds(int64(most)):
		return exception.New(exception.TxExpTooFar,
			"Transaction expiration is too far in the future relative to the reference time of ${reference_time}, "+
				"expiration is ${trx.expiration} and the maximum transaction lifetime is ${max_til_exp} seconds",
			"trx.expiration", t.Expiration, "reference_time", now, "max_til_exp", most).With("", "trx", t)
	}
	return nil
}

// blockSummary is an entry of the recent blocks' ids, as nodeos shows it.
type blockSummary types.Checksum256

// AppendJSON implements [exception.JSON].
func (s blockSummary) AppendJSON(b []byte) []byte {
	return append(types.Checksum256(s).AppendJSON(append(b, `{"block_id":`...)), '}')
}

// checkRefBlock checks that a transaction is from this branch (TaPoS).
func (e *Executor) checkRefBlock(t *types.Transaction) error {
	id, err := e.state.BlockSummary(t.RefBlockNum)
	if err == nil && !t.VerifyRefBlock(id) {
		err = exception.New(exception.InvalidRefBlock,
			"Transaction's reference block did not match. Is this transaction from a different fork?",
			"tapos_summary", blockSummary(id)).With("")
	}
	return err
}

// implicit makes the transaction of an action of the chain's own.
func (e *Executor) implicit(act types.Action) *types.Transaction {
	t := &types.Transaction{Actions: []types.Action{act}}
	if !e.active(feature.NoDuplicateDeferredID) {
		// Not to be taken for an expired one.
		t.Expiration = roundUp(e.block.time())
		t.SetRefBlock(e.head.ID)
	}
	return t
}

// roundUp is the next full second.
func roundUp(t types.TimePoint) types.TimePointSec { return (t + 999_999).Sec() }

// subjective tells whether an exception says more about this node, or this moment,
// than about the transaction (Leap: failure_is_subjective).
func subjective(e *exception.Error) bool {
	switch e.Kind {
	case exception.SubjectiveBlockProduction, exception.BlockNetUsageExceeded, exception.GreylistNetUsageExceeded,
		exception.BlockCPUUsageExceeded, exception.GreylistCPUUsageExceeded, exception.Deadline,
		exception.LeewayDeadline,
		exception.ActorWhitelist, exception.ActorBlacklist, exception.ContractWhitelist, exception.ContractBlacklist,
		exception.ActionBlacklist, exception.KeyBlacklist, exception.SigVariableSizeLimit:
		return true
	}
	return false
}
