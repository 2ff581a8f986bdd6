package chain

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"tarn/antelope/control"
	"tarn/antelope/exception"
	"tarn/antelope/feature"
	"tarn/antelope/types"
)

// Candidate is a transaction on its way into a block, with what was found out
// about it on other goroutines.
type Candidate struct {
	Kind    control.Kind
	Packed  *types.PackedTransaction
	Trx     *types.Transaction
	CFD     [][]byte // context-free data
	Raw     []byte   // Trx, encoded and not compressed
	ID      types.Checksum256
	Keys    []types.PublicKey // that signed it, ascending; for blocks that are trusted none
	KeyTime int64             // microseconds that finding the keys took
	Billed  int64             // microseconds that an earlier execution was billed; whoever pushes it keeps it

	Unprunable, Prunable uint64 // sizes that are billed, in bytes
}

// NewCandidate unpacks a transaction; its keys are not recovered. It may run on any
// goroutine.
func NewCandidate(p *types.PackedTransaction, kind control.Kind) (*Candidate, error) {
	trx, cfd, err := p.Unpack()
	if err != nil {
		return nil, err
	}
	return UnpackedCandidate(p, trx, cfd, kind)
}

// UnpackedCandidate is NewCandidate for a transaction that was unpacked before.
func UnpackedCandidate(p *types.PackedTransaction, trx *types.Transaction, cfd [][]byte, kind control.Kind) (*Candidate, error) {
	c := &Candidate{Kind: kind, Packed: p, Trx: trx, CFD: cfd}
	// Not what came: longer encodings than need be are accepted, and have the same
	// id.
	var room [types.UsualRoom]byte
	raw := trx.Append(room[:0])
	if c.ID = types.Hash(raw); bytes.Equal(raw, p.PackedTrx) {
		c.Raw = p.PackedTrx
	} else {
		c.Raw = bytes.Clone(raw)
	}
	u, err := p.UnprunableSize()
	if err != nil {
		return nil, err
	}
	s, err := p.PrunableSize()
	if err != nil {
		return nil, err
	}
	c.Unprunable, c.Prunable = uint64(u), uint64(s)
	return c, nil
}

// Duplicate is the refusal of a transaction that the chain has.
func Duplicate(id types.Checksum256) error {
	return exception.New(exception.TxDuplicate, "duplicate transaction %s", id)
}

// Expired is the refusal of a transaction before it is executed. The expiration is given
// as what nodeos shows it as there: seconds, or with their fraction.
func Expired(id types.Checksum256, expiration fmt.Stringer, now types.TimePoint) error {
	return exception.New(exception.ExpiredTx, "expired transaction %s, expiration %s, block time %s", id, expiration, now)
}

// PushTransaction executes a transaction in the pending block. The trace says what
// it did, its failure included; an error is one of the block or of the node (Leap:
// controller_impl::push_transaction).
func (c *Chain) PushTransaction(x *Candidate, b Billing) (*types.TransactionTrace, error) {
	if c.pending == nil {
		return nil, exception.New(exception.MissingPendingBlockState, "there is no pending block")
	}
	start := c.now()
	if !b.Explicit {
		start = start.Add(-time.Duration(x.KeyTime*int64(c.opt.SignatureCPUPercent)/10000) * time.Microsecond)
	}
	t, err := c.newTransaction(x.Kind, x.Trx, x.ID, start, b)
	if err != nil {
		return nil, err
	}
	defer t.end()
	t.packed, t.cfd, t.signed = x.Raw, x.CFD, x.Packed
	if c.speculative() {
		t.timer.leeway = c.opt.Leeway.Microseconds()
	}
	err = t.perform(x)
	if err == nil {
		c.last = t
		return t.trace, t.accept(x)
	}
	return t.reject(err, x.Kind.Transient())
}

// perform runs a transaction from outside, or the chain's own.
func (t *transaction) perform(x *Candidate) error {
	var err error
	if x.Kind == control.Implicit {
		err = t.initImplicit()
		t.enforceLists = false
	} else {
		err = t.initInput(x.Unprunable, x.Prunable)
	}
	if err != nil {
		return err
	}
	t.delay = int64(x.Trx.DelaySec)
	if x.Kind != control.Implicit && x.Kind != control.ReadOnly && !t.c.skipChecks() {
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
	b := t.c.pending
	mark := b.mark()
	if x.Kind == control.Input || x.Kind == control.DryRun {
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
	b.addActions(t)
	t.c.count(t.trace)
	t.c.applied(t.trace, x)
	t.c.keepTrace(Transaction{t.trace, x.Kind, x.Raw, x.Packed})
	if x.Kind == control.Input {
		b.candidates = append(b.candidates, x)
	}
	if b.status == Ephemeral && !t.c.opt.Speculative {
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
	t.trace.Except, t.trace.ErrorCode = thrown(err)
	t.trace.Elapsed = t.timer.elapsed()
	if err := t.undo(); err != nil {
		return nil, err
	}
	if !quiet {
		t.c.count(t.trace)
		t.c.applied(t.trace, nil)
	}
	return t.trace, nil
}

// pushReceipt adds a receipt of what the transaction is billed to the block.
func (t *transaction) pushReceipt(r types.TransactionReceipt) error {
	r.CPUUsageUS = uint32(t.timer.cpu)
	return t.c.pushReceipt(t.trace, r, t.trace.NetUsage)
}

func (c *Chain) pushReceipt(trace *types.TransactionTrace, r types.TransactionReceipt, net uint64) error {
	if net%8 != 0 {
		return exception.New(exception.Transaction, "net_usage is not divisible by 8")
	}
	r.NetUsageWords = uint32(net / 8)
	trace.Receipt = &types.TransactionReceiptHeader{Status: r.Status, CPUUsageUS: r.CPUUsageUS, NetUsageWords: r.NetUsageWords}
	c.pending.push(r)
	return nil
}

// checkExpiration checks that a transaction neither has expired nor expires too
// late. Failures of it and of checkRefBlock pass once more than others (Leap:
// FC_CAPTURE_AND_RETHROW).
func (c *Chain) checkExpiration(t *types.Transaction) error {
	g, err := c.state.Global()
	if err != nil {
		return err
	}
	now, most := c.pendingTime(), g.Configuration.MaxTransactionLifetime
	switch expires := t.Expiration.TimePoint(); {
	case expires < now:
		return exception.New(exception.ExpiredTx, "transaction has expired, expiration is %s and pending block time is %s", t.Expiration, now).With("")
	case expires > now.AddSeconds(int64(most)):
		return exception.New(exception.TxExpTooFar, "Transaction expiration is too far in the future relative to the reference time of %s, "+
			"expiration is %s and the maximum transaction lifetime is %d seconds", now, t.Expiration, most).With("")
	}
	return nil
}

// checkRefBlock checks that a transaction is from this branch (TaPoS).
func (c *Chain) checkRefBlock(t *types.Transaction) error {
	id, err := c.state.BlockSummary(t.RefBlockNum)
	if err == nil && !t.VerifyRefBlock(id) {
		err = exception.New(exception.InvalidRefBlock, "Transaction's reference block did not match. Is this transaction from a different fork?").With("")
	}
	return err
}

// implicit makes the transaction of an action of the chain's own.
func (c *Chain) implicit(act types.Action) *types.Transaction {
	t := &types.Transaction{Actions: []types.Action{act}}
	if !c.active(feature.NoDuplicateDeferredID) {
		// Not to be taken for an expired one.
		t.Expiration = roundUp(c.pendingTime())
		t.SetRefBlock(c.head.ID)
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
		exception.BlockCPUUsageExceeded, exception.GreylistCPUUsageExceeded, exception.Deadline, exception.LeewayDeadline,
		exception.ActorWhitelist, exception.ActorBlacklist, exception.ContractWhitelist, exception.ContractBlacklist,
		exception.ActionBlacklist, exception.KeyBlacklist, exception.SigVariableSizeLimit:
		return true
	}
	return false
}
