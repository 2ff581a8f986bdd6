package chain

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"tarn/antelope/consensus"
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
func (c *Chain) Resume(ctx context.Context, reversible iter.Seq2[*types.SignedBlock, error], progress func(Progress)) error {
	if c.head == nil {
		return fmt.Errorf("the chain state is empty: it needs a genesis or a snapshot")
	}
	if err := c.rewind(); err != nil {
		return err
	}
	if err := c.checkPast(); err != nil {
		return err
	}
	if err := c.tellStart(); err != nil {
		return err
	}
	if c.hooks.records {
		if err := c.store.Publish(); err != nil {
			return err
		}
	}
	if err := c.hooks.begin(c.head); err != nil {
		return err
	}
	if err := c.replayLog(ctx, progress); err != nil {
		return err
	}
	c.fork.Reset(c.head.HeaderState)
	if reversible != nil {
		if err := c.reapply(ctx, reversible); err != nil {
			return err
		}
	}
	return c.store.Publish()
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
func (c *Chain) rewind() error {
	last, ok := c.logHead()
	for {
		if uint64(c.head.BlockNum) == c.store.Irreversible() {
			break
		}
		if ok && c.head.BlockNum <= last {
			same, err := c.logged(c.head.HeaderState)
			if err != nil {
				return err
			}
			if same {
				break
			}
		}
		if err := c.stepBack(); err != nil {
			return err
		}
	}
	if !ok {
		return nil
	}
	if c.head.BlockNum > last {
		return fmt.Errorf("the state cannot go back to before block %d, but the block log ends with %d: "+
			"restore the log, or start from a snapshot, or %s", c.head.BlockNum, last, withoutLog)
	}
	if c.head.BlockNum+1 < c.opt.Blocks.First() {
		return fmt.Errorf("the state is that of block %d, but the block log begins with %d: "+
			"restore the log, or start from a snapshot, or %s", c.head.BlockNum, c.opt.Blocks.First(), withoutLog)
	}
	if c.head.BlockNum >= c.opt.Blocks.First() {
		same, err := c.logged(c.head.HeaderState)
		if err == nil && !same {
			err = exception.New(exception.BlockLog, "block %d of the block log is not the %s of the state, which cannot go back further: "+
				"restore the log that belongs to the state, or give the state up with --replay-blockchain", c.head.BlockNum, c.head.ID)
		}
		if err != nil {
			return err
		}
	}
	return c.store.Commit(uint64(c.head.BlockNum))
}

// checkPast holds the blocks up to the head, as far as the log has them, against the
// checkpoints: they may have been applied before the operator knew better.
func (c *Chain) checkPast() error {
	for _, num := range slices.Sorted(maps.Keys(c.opt.Checkpoints)) {
		id := c.head.ID
		switch last, ok := c.logHead(); {
		case num > c.head.BlockNum, num < c.head.BlockNum && (!ok || num < c.opt.Blocks.First() || num > last):
			continue
		case num < c.head.BlockNum:
			b, err := c.opt.Blocks.Read(num)
			if err != nil {
				return fmt.Errorf("compare block %d with its checkpoint: %w", num, err)
			}
			id = b.ID()
		}
		if err := c.checkpoint(num, id); err != nil {
			return fmt.Errorf("the state was made of blocks that a checkpoint forbids (remove the state and the blocks from there on, "+
				"and start again, or correct the option checkpoint): %w", err)
		}
	}
	return nil
}

func (c *Chain) logHead() (uint32, bool) {
	if c.opt.Blocks == nil {
		return 0, false
	}
	n, _, ok := c.opt.Blocks.Head()
	return n, ok
}

// logged tells whether a block is the one in the log.
func (c *Chain) logged(h *consensus.HeaderState) (bool, error) {
	if h.BlockNum < c.opt.Blocks.First() {
		return true, nil
	}
	if num, id, ok := c.opt.Blocks.Head(); ok && num == h.BlockNum {
		return id == h.ID, nil // without reading it: a log may keep no blocks at all
	}
	b, err := c.opt.Blocks.Read(h.BlockNum)
	if err != nil {
		return false, err
	}
	return b.ID() == h.ID, nil
}

// stepBack takes the head block back, whose parent only the state knows.
func (c *Chain) stepBack() error {
	if err := c.state.Undo(); err != nil {
		return fmt.Errorf("take back block %d: %w", c.head.BlockNum, err)
	}
	return c.load()
}

// replayLog applies what the block log has after the head.
func (c *Chain) replayLog(ctx context.Context, progress func(Progress)) error {
	last, ok := c.logHead()
	if !ok || last <= c.head.BlockNum {
		return nil
	}
	if c.opt.StopAt > 0 {
		last = min(last, c.opt.StopAt)
	}
	feed := c.feed(ctx, c.head.BlockNum+1, last)
	defer feed.stop()
	done := Progress{Block: c.head.BlockNum, Last: last}
	for b := range feed.blocks {
		if b.err != nil {
			return errors.Join(b.err, c.endBatch())
		}
		c.batch.open = !c.opt.DisableReplayOpts && c.hooks.tracer == nil && !c.hooks.records
		if err := c.Replay(b.block, b.candidates, execute.Irreversible); err != nil {
			return errors.Join(err, c.dropBatch())
		}
		stop := context.Cause(ctx)
		done.Finished = !c.batch.open || c.batch.full() || stop != nil || b.block.BlockNum() == last
		if done.Finished {
			if err := c.endBatch(); err != nil {
				return err
			}
		}
		done.Block++
		done.Transactions += len(b.block.Transactions)
		if progress != nil {
			progress(done)
		}
		if stop != nil {
			return stop
		}
	}
	if err := c.endBatch(); err != nil {
		return err
	}
	if c.head.BlockNum < last { // the feed stopped before its end, which only a cancelled context does
		return fmt.Errorf("replay stopped at block %d of %d: %w", c.head.BlockNum, last, context.Cause(ctx))
	}
	return nil
}

// reapply applies reversible blocks. One that does not link, or is not valid, is
// left out: peers will send what is missing.
func (c *Chain) reapply(ctx context.Context, blocks iter.Seq2[*types.SignedBlock, error]) error {
	for b, err := range blocks {
		if err != nil {
			return err
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if b.BlockNum() <= c.fork.Root().BlockNum || c.opt.StopAt > 0 && b.BlockNum() > c.opt.StopAt {
			continue
		}
		id := b.ID()
		p, err := c.Prepare(b, id)
		if err == nil {
			err = c.checkpoint(b.BlockNum(), id)
		}
		if err == nil {
			err = c.fork.Add(p.State, true)
		}
		if err == nil {
			err = c.advance(p)
		}
		if err != nil {
			if exception.Of(err) == nil {
				return err
			}
			c.opt.Log.Warn("a reversible block is left out", "block", b.BlockNum(), "id", id, "error", err)
		}
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
func (c *Chain) tellStart() error {
	d := c.hooks.tracer
	if d == nil {
		return nil
	}
	p, err := c.state.Protocol()
	if err != nil {
		return err
	}
	for _, a := range p.Activated {
		f, err := c.opt.Features.Get(a.Digest)
		if err != nil {
			return err
		}
		d.ActivateFeature(f)
	}
	g, err := c.state.Dynamic()
	if err != nil {
		return err
	}
	if err := c.store.Publish(); err != nil { // a view has the accounts in their order
		return err
	}
	v, err := c.state.View()
	if err != nil {
		return err
	}
	var failure error
	d.Startup(c.head.BlockNum, g.ActionSequence, func(yield func(types.Name, []byte) bool) {
		failure = v.Accounts.EachByID(func(a *state.Account) error {
			abi, err := c.state.ABI(a.Name)
			if err == nil && !yield(a.Name, abi) {
				err = errors.New("the tracer wants no more ABIs")
			}
			return err
		})
	})
	return errors.Join(failure, v.Close())
}
