package chain

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"tarn/antelope/exception"
	"tarn/antelope/execute"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// Resume brings the state, which may be newer or older than the blocks that the
// node has, to the newest block: it steps back from what the block log knows
// otherwise, replays the log, and then applies the reversible blocks, which come
// in the order in which they were accepted. It is what makes a crash at any moment
// harmless (Leap: controller_impl::replay).
//
// The writer calls it once, before any block is pushed. It ends early, with ctx's
// error, between blocks.
func (c *Chain) Resume(
	ctx context.Context, reversible iter.Seq2[*types.SignedBlock, error], progress func(Progress),
) error {
	if c.head == nil {
		return fmt.Errorf("the chain state is empty: it needs a genesis or a snapshot")
	}
	r := resumption{Chain: c, ctx: ctx, progress: progress}
	for _, step := range []func() error{r.rewind, r.checkPast, r.tellStart} {
		if err := step(); err != nil {
			return err
		}
	}
	if c.hooks.records {
		if err := c.store.Publish(); err != nil {
			return err
		}
	}
	if err := c.hooks.begin(c.head); err != nil {
		return err
	}
	if err := r.replayLog(); err != nil {
		return err
	}
	c.fork.Reset(c.Standing())
	if reversible != nil {
		if err := r.reapply(reversible); err != nil {
			return err
		}
	}
	c.hooks.settled()
	return c.store.Publish()
}

// resumption is the way of a chain from the state to the newest block, once.
type resumption struct {
	*Chain
	ctx      context.Context
	progress func(Progress) // nil for nobody
}

// Progress is how far a replay is.
type Progress struct {
	Block, Last  uint32 // the block that was applied, and the last one there is
	Transactions int    // applied since the start
	Finished     bool   // the state is that of the block, and may be made durable
}

// withoutLog is what always helps a state that is whole beside a log that does not fit.
const withoutLog = "move the log's files away from blocks-dir: the chain goes on from the state, with a new log"

// rewind steps back from blocks that are not in the log: forks that lost, and
// reversible blocks, which are applied again from their own file.
func (r *resumption) rewind() error {
	last, ok := r.logs.head()
	for {
		if uint64(r.head.BlockNum) == r.store.Irreversible() {
			break
		}
		if ok && r.head.BlockNum <= last {
			same, err := r.logs.has(r.head.HeaderState)
			if err != nil {
				return err
			}
			if same {
				break
			}
		}
		if err := r.stepBack(); err != nil {
			return err
		}
	}
	if !ok {
		return nil
	}
	if r.head.BlockNum > last {
		return fmt.Errorf("the state cannot go back to before block %d, but the block log ends with %d: "+
			"restore the log, or start from a snapshot, or %s", r.head.BlockNum, last, withoutLog)
	}
	if r.head.BlockNum+1 < r.logs.blocks.First() {
		return fmt.Errorf("the state is that of block %d, but the block log begins with %d: "+
			"restore the log, or start from a snapshot, or %s", r.head.BlockNum, r.logs.blocks.First(), withoutLog)
	}
	if r.head.BlockNum >= r.logs.blocks.First() {
		same, err := r.logs.has(r.head.HeaderState)
		if err == nil && !same {
			err = exception.New(exception.BlockLog,
				"block ${num} of the block log (${where}) is not the ${id} of the state, which cannot go back further. "+
					"If that block is damaged, restore the log from a copy, or start with --hard-replay-blockchain. "+
					"If the log is of another state, "+
					"restore the log that belongs to the state, or make the state again with --replay-blockchain",
				"num", r.head.BlockNum, "where", r.logs.blocks.Where(r.head.BlockNum), "id", r.head.ID)
		}
		if err != nil {
			return err
		}
	}
	return r.store.Commit(uint64(r.head.BlockNum))
}

// checkPast holds the blocks up to the head, as far as the log has them, against the
// checkpoints: they may have been applied before the operator knew better.
func (r *resumption) checkPast() error {
	for _, num := range slices.Sorted(maps.Keys(r.opt.Checkpoints)) {
		id := r.head.ID
		switch last, ok := r.logs.head(); {
		case num > r.head.BlockNum, num < r.head.BlockNum && (!ok || num < r.logs.blocks.First() || num > last):
			continue
		case num < r.head.BlockNum:
			b, err := r.logs.blocks.Read(num)
			if err != nil {
				return fmt.Errorf("compare block %d with its checkpoint: %w", num, err)
			}
			id = b.ID()
		}
		if err := r.checkpoint(num, id); err != nil {
			return fmt.Errorf(
				"the state was made of blocks that a checkpoint forbids (remove the state and the blocks from there "+
					"on, and start again, or correct the option checkpoint): %w", err)
		}
	}
	return nil
}

// stepBack takes the head block back, whose parent only the state knows.
func (r *resumption) stepBack() error {
	if err := r.state.Undo(); err != nil {
		return fmt.Errorf("take back block %d: %w", r.head.BlockNum, err)
	}
	return r.load()
}

// replayLog applies what the block log has after the head.
func (r *resumption) replayLog() error {
	last, ok := r.logs.head()
	if !ok || last <= r.head.BlockNum {
		return nil
	}
	if r.opt.StopAt > 0 {
		last = min(last, r.opt.StopAt)
	}
	feed := r.startReadAhead(r.head.BlockNum+1, last)
	defer feed.stop()
	done := Progress{Block: r.head.BlockNum, Last: last}
	var first uint32 // block of the batch
	for b := range feed.blocks {
		num := r.head.BlockNum + 1
		if !r.batch.joins() {
			first = num
		}
		if b.err != nil {
			return errors.Join(r.blame(b.err, num, num), r.endBatch())
		}
		r.batch.open = !r.opt.DisableReplayOpts && r.hooks.tracer == nil && !r.hooks.records
		if err := r.Replay(b.block, b.candidates, execute.Irreversible); err != nil {
			return errors.Join(r.blame(err, first, num), r.dropBatch())
		}
		stop := context.Cause(r.ctx)
		done.Finished = !r.batch.open || r.batch.full(r.store.Recorded()) || stop != nil || b.block.BlockNum() == last
		if done.Finished {
			if err := r.endBatch(); err != nil {
				return r.blame(err, first, num)
			}
		}
		done.Block++
		done.Transactions += len(b.block.Transactions)
		if r.progress != nil {
			r.progress(done)
		}
		if stop != nil {
			return stop
		}
	}
	if err := r.endBatch(); err != nil {
		return err
	}
	if r.head.BlockNum < last { // the feed stopped before its end, which only a cancelled context does
		return fmt.Errorf("replay stopped at block %d of %d: %w", r.head.BlockNum, last, context.Cause(r.ctx))
	}
	return nil
}

// blame returns why blocks of the log cannot be replayed: what is damaged among them, or else err.
func (r *resumption) blame(err error, first, last uint32) error {
	for num := first; num <= last; num++ {
		if _, damage := r.logs.blocks.ReadRaw(num); damage != nil {
			return fmt.Errorf("read the block log to replay it: %w", damage)
		}
	}
	return err
}

// reapply applies reversible blocks. One that does not link, or is not valid, is
// left out: peers will send what is missing. One that takes too long is left in the
// fork database with what follows it, as nobody can tell of a better one yet.
func (r *resumption) reapply(blocks iter.Seq2[*types.SignedBlock, error]) error {
	root := r.fork.Root()
	r.application.bound(r.opt.Limits.StartTime)
	defer r.application.bound(0)
	var follows, others bool // reversible blocks follow the last irreversible one, or another of its number
	for b, err := range blocks {
		if err != nil {
			return err
		}
		if err := context.Cause(r.ctx); err != nil {
			return err
		}
		if b.BlockNum() <= r.fork.Root().BlockNum || r.opt.StopAt > 0 && b.BlockNum() > r.opt.StopAt {
			continue
		}
		if b.BlockNum() == root.BlockNum+1 {
			follows, others = follows || b.Previous == root.ID, others || b.Previous != root.ID
		}
		if err := r.reapplyOne(b, b.ID()); err != nil {
			return err
		}
	}
	if last, ok := r.logs.head(); ok && others && !follows && last == root.BlockNum {
		r.opt.Log.Error(fmt.Sprintf(
			"No reversible block follows block %d of the block log (%s), whose id is %s. If peers' blocks do not "+
				"follow it either, that block is damaged: "+
				"restore the log from a copy, or start with --hard-replay-blockchain", last,
			r.logs.blocks.Where(last), root.ID))
	}
	return nil
}

// reapplyOne applies a reversible block, if it leads to the best branch.
func (r *resumption) reapplyOne(b *types.SignedBlock, id types.Checksum256) error {
	p, err := r.Prepare(b, id)
	if err == nil {
		err = r.checkpoint(b.BlockNum(), id)
	}
	if err == nil {
		err = r.fork.Add(p.State, true)
	}
	if err == nil {
		r.ExpectVotes(p.State)
		if !r.application.tooLate(r.fork.PendingHead(), r.fork) {
			err = r.advance(p)
		}
		r.shed()
	}
	switch {
	case errors.Is(err, ErrInterrupted) && r.application.tooLate(r.fork.PendingHead(), r.fork):
		r.opt.Log.Warn("A reversible block takes too long to be applied, and is not until a further block comes",
			"error", err)
	case err != nil && exception.Of(err) == nil:
		return err
	case err != nil:
		r.opt.Log.Warn("A reversible block cannot be applied and is left out", "block", b.BlockNum(),
			"id", id, "error", err)
	}
	return nil
}

// Publish shows the head to readers. Whoever replays calls it where it wants them
// to see what was replayed.
func (c *Chain) Publish() error { return c.store.Publish() }

// PublishPending shows the head to readers with what the pending block has added to
// it. No transaction is being executed.
func (c *Chain) PublishPending() error {
	if err := c.state.Flush(); err != nil {
		return fmt.Errorf("publish the pending block: %w", err)
	}
	return c.store.Publish()
}

// tellStart tells where the chain stands before it goes on.
func (r *resumption) tellStart() error {
	d := r.hooks.tracer
	if d == nil {
		return nil
	}
	p, err := r.state.Protocol.Get()
	if err != nil {
		return err
	}
	for _, a := range p.Activated {
		f, err := r.opt.Features.Get(a.Digest)
		if err != nil {
			return err
		}
		d.ActivateFeature(f)
	}
	g, err := r.state.Dynamic.Get()
	if err != nil {
		return err
	}
	if err := r.store.Publish(); err != nil { // a view has the accounts in their order
		return err
	}
	v, err := r.state.View()
	if err != nil {
		return err
	}
	var failure error
	d.Startup(r.head.BlockNum, g.ActionSequence, func(yield func(types.Name, []byte) bool) {
		failure = v.Accounts.EachByID(func(a *state.Account) error {
			abi, err := r.state.ABI(a.Name)
			if err == nil && !yield(a.Name, abi) {
				err = errors.New("the tracer wants no more ABIs")
			}
			return err
		})
	})
	return errors.Join(failure, v.Close())
}
