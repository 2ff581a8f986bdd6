package node

import (
	"errors"
	"fmt"
	"math"

	"tarn/antelope/consensus"
	"tarn/nodeupkeep"
	"tarn/store"
	"tarn/store/engine"
)

// beforeCheckpoint makes the blocks durable that an image is going to need, and what
// will not be told again of those that it has.
func (n *Node) beforeCheckpoint(uint64) error {
	if n.history != nil {
		if err := n.history.Sync(); err != nil {
			return fmt.Errorf("make the state history durable: %w", err)
		}
	}
	if n.traces != nil {
		if err := n.traces.Sync(); err != nil {
			return fmt.Errorf("make the traces durable: %w", err)
		}
	}
	if head, _, ok := n.log.Head(); ok {
		if err := n.log.Sync(head); err != nil {
			return err
		}
	}
	return n.reversible.Sync()
}

// firstNeededBlock is the first block that a start now would ask the logs for: the one after the
// saved state's irreversible block, or any while no image holds the whole state.
func (n *Node) firstNeededBlock() uint32 {
	if n.unfinished.Load() {
		return 1
	}
	return uint32(n.store.Durable().Irreversible) + 1
}

// retainedBlocks is how many blocks the log keeps at least; all of them without a limit.
func (n *Node) retainedBlocks() uint64 {
	b := &n.o.Blocks
	switch {
	case b.RetainBlocks != nil && *b.RetainBlocks > 0:
		return uint64(*b.RetainBlocks)
	case b.Stride != nil && b.MaxRetainedFiles != nil:
		return uint64(*b.Stride) * max(1, uint64(*b.MaxRetainedFiles))
	}
	return math.MaxUint64
}

// irreversible begins a checkpoint when the time for one has come, or when the log would
// otherwise keep many more blocks than it is to keep, because a start would need them.
// One that fails is tried again after as many blocks. Only the writer calls it, for
// each block that becomes irreversible.
func (n *Node) irreversible(b *consensus.BlockState) {
	if n.store.Depth() > 0 {
		return
	}
	num := uint64(b.BlockNum)
	from := max(n.tried, n.store.Durable().Irreversible)
	if num < from+max(1, n.retainedBlocks()/2) {
		n.checkpointDue()
		return
	}
	n.tried = num
	n.beginCheckpoint()
}

// checkpointDue begins a checkpoint when recovery from the last one would take as long as
// it may. Only the writer calls it, between blocks.
func (n *Node) checkpointDue() {
	if n.saver.Due() {
		n.beginCheckpoint()
	}
}

// beginCheckpoint begins a checkpoint unless one is under way.
func (n *Node) beginCheckpoint() {
	if err := n.saver.Begin(); err != nil {
		n.o.Log.Error("A checkpoint has failed; a start now would go on from an older block",
			"block", n.store.Durable().Head, "error", remedy(err))
	}
}

// checkpointNow makes the state durable.
func (n *Node) checkpointNow() error {
	if err := n.saver.Save(); err != nil {
		return fmt.Errorf("the state was not saved, the next start goes on from block %d: checkpoint: %w",
			n.store.Durable().Head, remedy(err))
	}
	return nil
}

// finishLater begins the first checkpoint of a state that was filled from a snapshot.
// The node goes on meanwhile: after a crash the snapshot is loaded again.
func (n *Node) finishLater() error {
	n.unfinished.Store(true)
	if err := n.saver.Begin(); err != nil {
		return fmt.Errorf("save the state: %w", err)
	}
	c := n.saver.Underway()
	n.finishing.Go(func() {
		err := c.Wait()
		if err == nil {
			err = n.clearUnfinishedMark()
		}
		if err != nil {
			n.o.Log.Error("The state that was loaded is not saved yet; a start now would load the snapshot again",
				"error", remedy(err))
		}
	})
	return nil
}

// clearUnfinishedMark takes the mark off a state that was loaded from a snapshot, once an image
// holds it.
func (n *Node) clearUnfinishedMark() error {
	if !n.unfinished.CompareAndSwap(true, false) {
		return nil
	}
	err := engine.MarkFinished(n.o.StateDir)
	n.unfinished.Store(err != nil)
	return err
}

// remedy adds to an error of a disk, memory or a store that has no more room, or is damaged,
// what helps.
func remedy(err error) error {
	if damagedPart(err) != nil {
		return damageRemedy(err)
	}
	if helped, ok := nodeupkeep.Remedy(err); ok {
		return helped
	}
	if errors.Is(err, store.ErrGuard) || errors.Is(err, store.ErrFull) {
		return fmt.Errorf("Database has reached an unsafe level of usage, shutting down to avoid corrupting the "+
			"database. Please increase the value set for \"chain-state-db-size-mb\" and restart the process! %w", err)
	}
	return err
}
