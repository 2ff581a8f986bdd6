package chain

import (
	"errors"
	"fmt"

	"tarn/antelope/consensus"
	"tarn/antelope/exception"
	"tarn/antelope/execute"
	"tarn/antelope/types"
)

// ErrStopped says that the block was reached after which the chain is to stop
// (Options.StopAt).
var ErrStopped = errors.New("reached configured maximum block")

// PushBlock adds a block to the fork database and applies it if its branch is the
// best. On an error the block is forgotten, unless the failure is the node's. From
// Options.StopAt on it does nothing and returns ErrStopped (Leap:
// controller_impl::push_block).
func (c *Chain) PushBlock(p *Prepared) error {
	if c.executor.Block() != nil {
		return exception.New(exception.BlockValidate, "it is not valid to push a block when there is a pending block")
	}
	if c.opt.StopAt > 0 && c.head.BlockNum >= c.opt.StopAt {
		return ErrStopped
	}
	if err := c.checkpoint(p.State.BlockNum, p.State.ID); err != nil {
		return err
	}
	if err := c.fork.Add(p.State, false); err != nil {
		return err
	}
	c.ExpectVotes(p.State)
	if err := c.logs.keep(p.State); err != nil {
		return err
	}
	c.hooks.acceptedHeader(p.State)
	defer c.shed()
	return c.advance(p)
}

// shed forgets blocks that were not executed, if they take more than [Limits.WaitingBytes].
func (c *Chain) shed() {
	gone := c.fork.Shed()
	c.votes.forget(gone)
	for _, id := range gone {
		delete(c.prepared, id)
	}
}

// PauseAt has the chain stand still at a block, until it is called again; 0 is for no block. Whoever pushes
// blocks asks [Chain.Paused] before each. Any goroutine may call it.
func (c *Chain) PauseAt(num uint32) { c.pauseAt.Store(num) }

// Paused tells whether the head is the block at which the chain is to stand still. It may be a later one,
// if a switch of forks applied several at once.
func (c *Chain) Paused() bool {
	num := c.pauseAt.Load()
	return num != 0 && c.head.BlockNum >= num
}

// advance goes to the best block, now that p's is in the fork database; in
// irreversible mode to what has become irreversible.
func (c *Chain) advance(p *Prepared) error {
	if c.prepared == nil {
		c.prepared = make(map[types.Checksum256]*Prepared)
	}
	c.prepared[p.State.ID] = p
	if c.trusts(p.State.Block.Producer) {
		c.trusting = true
		defer func() { c.trusting = false }()
	}
	if c.opt.IrreversibleMode {
		defer c.dropPrepared(c.fork.Root())
		return c.LogIrreversible()
	}
	defer delete(c.prepared, p.State.ID)
	return c.follow(c.fork.PendingHead())
}

// dropPrepared forgets what was prepared for blocks that cannot be applied any more,
// if any became irreversible since root was.
func (c *Chain) dropPrepared(root *consensus.BlockState) {
	now := c.fork.Root()
	if now.ID == root.ID {
		return
	}
	for id, p := range c.prepared {
		if p.State.BlockNum <= now.BlockNum || c.fork.Block(id) == nil {
			delete(c.prepared, id)
		}
	}
}

// follow makes a block the head, over a switch of forks if need be (Leap:
// maybe_switch_forks).
func (c *Chain) follow(best *consensus.BlockState) error {
	switch {
	case best.ID == c.head.ID, c.application.awaits(best.HeaderState, c.fork):
		return c.LogIrreversible() // what a block of another branch has claimed counts too
	case best.Header.Previous == c.head.ID:
		if err := c.applyBest(best, best); err != nil {
			return c.forget(best, err)
		}
	default:
		if err := c.switchFork(best); err != nil {
			return err
		}
	}
	if err := c.store.Publish(); err != nil {
		return err
	}
	return c.LogIrreversible()
}

// forget removes a block that is not valid, with what follows it, from the fork
// database. A failure of the node says nothing about the block.
func (c *Chain) forget(b *consensus.BlockState, err error) error {
	if exception.Of(err) == nil {
		return err
	}
	removed, e := c.fork.Remove(b.ID)
	if e != nil {
		return unmended(err, "forgetting the block", e)
	}
	c.votes.forget(removed)
	return err
}

// unmended is the failure of the node, doing something, after a block failed or was interrupted. It is not to be taken
// for the block's: the state is not what it was before the block.
func unmended(ofBlock error, doing string, own error) error {
	if exception.Of(own) != nil { // as of a block that was executed before, and fails now
		return fmt.Errorf("%v; then, %s: %v", ofBlock, doing, own)
	}
	return fmt.Errorf("%v; then, %s: %w", ofBlock, doing, own)
}

// statusOf is how a block of the fork database is applied.
func (c *Chain) statusOf(b *consensus.BlockState) execute.Status {
	if c.fork.IsValid(b.ID) {
		return execute.Validated
	}
	return execute.Complete
}

// applyFork applies a block of the fork database, and marks it valid.
func (c *Chain) applyFork(b *consensus.BlockState, status execute.Status) error {
	p := c.prepared[b.ID]
	if p == nil {
		p = &Prepared{State: b}
	}
	if err := c.validate(p, status); err != nil {
		return err
	}
	return c.fork.MarkValid(b.ID, c.validation)
}

func (c *Chain) switchFork(best *consensus.BlockState) error {
	old := c.head
	c.opt.Log.Info("switching forks", "from", old.ID, "to", best.ID)
	if d := c.hooks.tracer; d != nil {
		d.SwitchForks(old.ID, best.ID)
	}
	to, from, err := c.fork.FetchBranchFrom(best.ID, old.ID)
	if err != nil {
		return err
	}
	for range from {
		if err := c.PopBlock(); err != nil {
			return err
		}
	}
	c.hooks.tellForked(from)
	for i := len(to) - 1; i >= 0; i-- {
		err := c.applyBest(to[i], best)
		if err == nil {
			continue
		}
		err = c.forget(to[i], err)
		ofBlock := exception.Of(err) != nil || errors.Is(err, ErrInterrupted)
		if !ofBlock || i+1 == len(to) || !c.fork.Better(to[i+1].HeaderState, old.HeaderState) {
			return c.switchBack(len(to)-1-i, from, err)
		}
		// It stays where it came to, which is better than what was left.
		if e := c.store.Publish(); e != nil {
			return e
		}
		if e := c.LogIrreversible(); e != nil {
			return e
		}
		return err
	}
	// Scripts look for the words of nodeos.
	c.opt.Log.Info("successfully switched fork to new head", "id", best.ID, "removed", len(from), "added", len(to))
	return nil
}

// switchBack returns to the branch that was left, because of err.
func (c *Chain) switchBack(applied int, from []*consensus.BlockState, err error) error {
	for range applied {
		if e := c.PopBlock(); e != nil {
			return unmended(err, "switching back", e)
		}
	}
	for i := len(from) - 1; i >= 0; i-- {
		if e := c.applyFork(from[i], execute.Validated); e != nil {
			return unmended(err, "switching back", e)
		}
	}
	return err
}

// LogIrreversible moves what has become irreversible to the block log, and makes it
// so in the state (Leap: controller_impl::log_irreversible). In irreversible mode it stands still where the
// chain is to, and a later call goes on. Else it waits while the state is not that of the best block that was executed,
// as after a switch of forks that was interrupted: what is irreversible may be on the other branch.
func (c *Chain) LogIrreversible() error {
	best := c.fork.Head()
	switch {
	case c.opt.IrreversibleMode:
		best = c.fork.PendingHead()
	case best.ID != c.head.ID:
		c.hooks.settled()
		return nil
	}
	root := c.fork.Root()
	branch := c.fork.FinalBranch(best)
	for i := len(branch) - 1; i >= 0; i-- {
		if c.opt.IrreversibleMode && c.Paused() {
			branch = branch[i+1:]
			break
		}
		b := branch[i]
		if err := c.finalise(b); err != nil {
			if b.Header.Previous != root.ID {
				_ = c.advanceRoot(b.Header.Previous)
			}
			return err
		}
	}
	if len(branch) > 0 {
		if err := c.advanceRoot(branch[0].ID); err != nil {
			return err
		}
		if err := c.logs.obsolete(branch[0].BlockNum); err != nil {
			return err
		}
	}
	c.hooks.settled()
	return nil
}

// advanceRoot makes a block that is in the log the root of the fork database.
func (c *Chain) advanceRoot(id types.Checksum256) error {
	gone, err := c.fork.AdvanceRoot(id)
	c.votes.forget(gone)
	return err
}

// finalise makes one block irreversible: the log first, so that the state never
// needs a block that the log does not have.
func (c *Chain) finalise(b *consensus.BlockState) error {
	if c.opt.IrreversibleMode {
		if err := c.applyFork(b, execute.Complete); err != nil {
			return err
		}
		if err := c.store.Publish(); err != nil {
			return err
		}
	}
	if err := c.logs.append(b); err != nil {
		return err
	}
	if err := c.store.Commit(uint64(b.BlockNum)); err != nil {
		return err
	}
	c.hooks.irreversible(b)
	return nil
}
