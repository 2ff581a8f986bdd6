package chain

import (
	"fmt"
	"time"

	"tarn/antelope/consensus"
	"tarn/antelope/exception"
	"tarn/antelope/execute"
	"tarn/antelope/feature"
	"tarn/antelope/finality"
	"tarn/antelope/types"
)

// StartBlock begins the block after the head (Leap: controller_impl::start_block).
// It is ended by ProduceBlock or AbortBlock; on an error it is already.
func (c *Chain) StartBlock(s execute.Start) error {
	if c.executor.Block() != nil {
		return exception.New(exception.BlockValidate, "pending block already exists")
	}
	c.hooks.startBlock(c.head.BlockNum + 1)
	s.Trusted, s.Joins, s.Hash = c.trusting, c.batch.joins(), c.batch.open
	err := c.executor.Begin(s)
	if b := c.executor.Block(); b != nil && b.Hasher() != nil {
		c.batch.hashers = append(c.batch.hashers, b.Hasher())
	}
	if err != nil {
		return c.abortAfter(err)
	}
	c.keys.FollowSpring(c.executor.Active(feature.Savanna))
	return nil
}

// abortAfter aborts the pending block because of err.
func (c *Chain) abortAfter(err error) error {
	if _, e := c.AbortBlock(); e != nil {
		return unmended(err, "aborting the block", e)
	}
	return err
}

// AbortBlock drops the pending block, if there is one, and returns the input
// transactions that were in it.
func (c *Chain) AbortBlock() ([]*execute.Candidate, error) {
	b := c.executor.Block()
	if b == nil {
		return nil, nil
	}
	c.executor.At(c.head.HeaderState)
	if c.batch.open {
		return b.Candidates(), c.dropBatch()
	}
	for c.state.Depth() > 0 {
		if err := c.state.Undo(); err != nil {
			return b.Candidates(), fmt.Errorf("abort block %d: %w", b.Header().BlockNum, err)
		}
	}
	return b.Candidates(), nil
}

// commit finishes the pending block in the state: it is the head, with the tree v after it.
func (c *Chain) commit(b *consensus.BlockState, v *finality.Validation) error {
	done := c.executor.Block()
	c.worked += max(done.Report().Elapsed, done.Report().Total)
	if err := c.record(b); err != nil {
		return err
	}
	if err := c.state.SetHead(consensus.Head{HeaderState: b.HeaderState, Validation: v}.Append(nil)); err != nil {
		return err
	}
	if err := c.state.Push(); err != nil {
		return fmt.Errorf("finish block %d: %w", b.BlockNum, err)
	}
	if c.hooks.pushed {
		if err := c.hooks.tellPushed(changedRows(c.store), b); err != nil {
			return err
		}
	}
	c.report = *done.Report()
	c.stand(b, v)
	if b.PrecedesProper() && !b.IsProper() {
		// Scripts look for these words of Spring.
		c.opt.Log.Info(fmt.Sprintf("Transitioning to savanna, IF Genesis Block %d, IF Critical Block %d",
			b.LIB(), b.BlockNum))
	}
	c.hooks.acceptedBlock(b, done.Status() != execute.Irreversible, done.Savanna())
	return nil
}

// stand makes b the head, with the tree v after it.
func (c *Chain) stand(b *consensus.BlockState, v *finality.Validation) {
	c.head, c.validation = b, v
	c.executor.At(b.HeaderState)
}

// record lets those who keep histories keep the pending block.
func (c *Chain) record(b *consensus.BlockState) (err error) {
	if !c.hooks.records {
		return nil
	}
	done := c.executor.Block()
	x := &Executed{Block: b, Status: done.Status(), Transactions: done.Transactions(), Actions: done.Savanna()}
	if c.hooks.changes {
		if x.Changes, err = c.state.Changes(); err != nil {
			return fmt.Errorf("record block %d: %w", b.BlockNum, err)
		}
	}
	if err := c.hooks.record(x); err != nil {
		return fmt.Errorf("record block %d: %w", b.BlockNum, err)
	}
	return nil
}

// PopBlock takes the head block back (Leap: controller_impl::pop_block).
func (c *Chain) PopBlock() error {
	if c.executor.Block() != nil {
		return exception.New(exception.BlockValidate, "pending block exists")
	}
	prev := c.fork.Block(c.head.Header.Previous)
	if prev == nil {
		root := c.fork.Root()
		if root == nil || root.ID != c.head.Header.Previous {
			return exception.New(exception.BlockValidate, "attempt to pop beyond last irreversible block")
		}
		prev = root
	}
	if err := c.state.Undo(); err != nil {
		return fmt.Errorf("take back block %d: %w", c.head.BlockNum, err)
	}
	c.stand(prev, c.fork.Validation(prev.ID))
	return nil
}

// validate applies a block to the state. On an error the state is as before
// (Leap: controller_impl::apply_block).
func (c *Chain) validate(p *Prepared, status execute.Status) error {
	b := p.State.Block
	if err := c.StartBlock(execute.Start{
		Time: b.Timestamp, Confirmed: b.Confirmed, Activations: p.State.Activations(), Status: status,
		BlockID: &p.State.ID, Block: b,
	}); err != nil {
		return err
	}
	if err := c.validatePending(p); err != nil {
		return c.abortAfter(err)
	}
	return nil
}

func (c *Chain) validatePending(p *Prepared) error {
	b := p.State.Block
	pending, start := c.executor.Block(), time.Now()
	for i := range b.Transactions {
		if err := c.validateReceipt(p, i); err != nil {
			return err
		}
	}
	pending.Report().Elapsed = time.Since(start)
	h, err := pending.Finish(claimedCommitment(p.State))
	if err != nil {
		return err
	}
	if id := h.ID(); id != p.State.ID {
		return exception.New(exception.BlockValidate,
			"Block ID does not match: ${producer_block_id} of the producer, ${validator_block_id} here${differs}",
			"producer_block_id", p.State.ID, "validator_block_id", id,
			"differs", headerDiff(&b.BlockHeader, &h.BlockHeader))
	}
	pending.Report().Total = time.Since(start)
	if c.batch.open {
		c.batch.add(c.head, p.State, pending, c.hooks.pushed)
		c.worked += pending.Report().Total
		c.stand(p.State, c.validation)
		return nil
	}
	v, err := validationAfter(c.head.HeaderState, c.validation, p.State.HeaderState, pending.Savanna())
	if err != nil {
		return err
	}
	return c.commit(p.State, v)
}

// validateReceipt executes a block's transaction and compares the receipts.
func (c *Chain) validateReceipt(p *Prepared, i int) error {
	want := &p.State.Block.Transactions[i]
	pending := c.executor.Block()
	n := len(pending.Receipts())
	bill := execute.Billing{Explicit: true, CPU: int64(want.CPUUsageUS)}
	var trace *types.TransactionTrace
	var err error
	if want.Packed != nil {
		var x *execute.Candidate
		if x, err = p.candidate(c, i); err == nil {
			trace, err = c.executor.Push(x, bill)
		}
	} else {
		trace, err = c.executor.PushScheduled(want.ID, bill)
	}
	if err != nil {
		return err
	}
	if trace.Except != nil && (want.Status != types.StatusHardFail || want.Packed != nil) {
		return fmt.Errorf("transaction %s of block %d failed: %w", trace.ID, p.State.BlockNum, trace.Except)
	}
	if len(pending.Receipts()) != n+1 {
		return exception.New(exception.BlockValidate, "expected receipt was not added, block_num ${bn}, block_id ${id}",
			"bn", p.State.BlockNum, "id", p.State.ID)
	}
	if got := pending.Receipts()[n].TransactionReceiptHeader; got != want.TransactionReceiptHeader {
		return exception.New(exception.BlockValidate, "receipt does not match, ${lhs} != ${rhs}",
			"lhs", got, "rhs", want.TransactionReceiptHeader)
	}
	c.executor.Recycle()
	return nil
}

// headerDiff names the fields in which a block differs from what was computed.
func headerDiff(want, got *types.BlockHeader) string {
	var s string
	add := func(differs bool, name string, a, b any) {
		if differs {
			s += fmt.Sprintf("; %s %v != %v", name, a, b)
		}
	}
	add(want.Timestamp != got.Timestamp, "timestamp", want.Timestamp, got.Timestamp)
	add(want.Producer != got.Producer, "producer", want.Producer, got.Producer)
	add(want.Confirmed != got.Confirmed, "confirmed", want.Confirmed, got.Confirmed)
	add(want.Previous != got.Previous, "previous", want.Previous, got.Previous)
	add(want.TransactionMRoot != got.TransactionMRoot, "transaction_mroot", want.TransactionMRoot, got.TransactionMRoot)
	add(want.ActionMRoot != got.ActionMRoot, "action_mroot", want.ActionMRoot, got.ActionMRoot)
	add(want.ScheduleVersion != got.ScheduleVersion, "schedule_version", want.ScheduleVersion, got.ScheduleVersion)
	add((want.NewProducers == nil) != (got.NewProducers == nil), "new_producers", want.NewProducers, got.NewProducers)
	add(len(want.Extensions) != len(got.Extensions), "header_extensions", len(want.Extensions), len(got.Extensions))
	return s
}

// ProduceBlock signs the pending block and makes it the head (Leap:
// controller::finalize_block, sign_block, commit_block). On an error it is still
// pending, and nothing but AbortBlock may follow.
func (c *Chain) ProduceBlock(sign consensus.Signer, recoverKey consensus.Recover) (*consensus.BlockState, error) {
	b := c.executor.Block()
	if b == nil || b.Status() != execute.Incomplete {
		return nil, exception.New(exception.BlockValidate, "it is not valid to finalize when there is no pending block")
	}
	commitment, certificate, err := c.commitment()
	if err != nil {
		return nil, err
	}
	h, err := b.Finish(commitment)
	if err != nil {
		return nil, err
	}
	block := &types.SignedBlock{SignedBlockHeader: h, Transactions: b.Receipts()}
	bs, err := consensus.SignBlock(b.Header(), block, certificate, c.opt.Features, sign, recoverKey)
	if err != nil {
		return nil, err
	}
	v, err := validationAfter(c.head.HeaderState, c.validation, bs.HeaderState, b.Savanna())
	if err != nil {
		return nil, err
	}
	if err := c.addProduced(bs, v); err != nil {
		return nil, err
	}
	if err := c.commit(bs, v); err != nil {
		return nil, err
	}
	return bs, nil
}

// addProduced makes a block of our own the head of the fork database. It is durable
// before anybody hears of it: a node that lost it would sign another of its number.
func (c *Chain) addProduced(bs *consensus.BlockState, v *finality.Validation) error {
	if err := c.fork.Add(bs, false); err != nil {
		return err
	}
	c.ExpectVotes(bs)
	if err := c.fork.MarkValid(bs.ID, v); err != nil {
		return err
	}
	if err := c.logs.keepOwn(bs); err != nil {
		return err
	}
	c.hooks.acceptedHeader(bs)
	if c.fork.Head().ID != bs.ID {
		// It stays a branch that the chain may switch to, as in nodeos.
		return exception.New(exception.ForkDatabase, "committed block did not become the new head in fork database")
	}
	return nil
}
