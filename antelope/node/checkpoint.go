package node

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"syscall"
	"time"

	"tarn/antelope/consensus"
	"tarn/store"
	"tarn/store/engine"
)

// beforeCheckpoint makes the blocks durable that an image is going to need.
func (n *Node) beforeCheckpoint(uint64) error {
	if head, _, ok := n.log.Head(); ok {
		if err := n.log.Sync(head); err != nil {
			return err
		}
	}
	return n.reversible.Sync()
}

// needed is the first block that a start now would ask the logs for: the one after the
// saved state's irreversible block, or any while no image holds the whole state.
func (n *Node) needed() uint32 {
	if n.unfinished.Load() {
		return 1
	}
	return uint32(n.store.Durable().Irreversible) + 1
}

// retained is how many blocks the log keeps at least; all of them without a limit.
func (n *Node) retained() uint64 {
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
	if f := n.o.Chain.Irreversible; f != nil {
		f(b)
	}
	if n.store.Depth() > 0 {
		return
	}
	num := uint64(b.BlockNum)
	from := max(n.tried, n.store.Durable().Irreversible)
	if num < from+max(1, n.retained()/2) {
		n.checkpointDue()
		return
	}
	n.tried = num
	n.beginCheckpoint()
}

// maxAge is how old an image gets on a chain with so little work that its recovery would
// take no time for days: the memory of changed pages is given back by then.
const maxAge = time.Hour

// checkpointDue begins a checkpoint when recovery from the last one would take as long as
// it may. Only the writer calls it, between blocks.
func (n *Node) checkpointDue() {
	if n.o.Recovery > 0 && (n.chain.Worked()-n.saved >= n.o.Recovery || time.Since(n.checked) >= maxAge) {
		n.beginCheckpoint()
	}
}

// beginCheckpoint begins a checkpoint unless one is under way. A failure costs
// nothing but time after a crash: it is said, and the next one tries again.
func (n *Node) beginCheckpoint() {
	if n.checkpoint != nil {
		select {
		case <-n.checkpoint.Done():
			err := n.checkpoint.Wait()
			if err == nil {
				err = n.finished()
			}
			if err != nil {
				n.o.Log.Error("A checkpoint has failed; a start now would go on from an older block",
					"block", n.store.Durable().Head, "error", err)
			}
			n.checkpoint = nil
		default:
			return
		}
	}
	if err := n.newCheckpoint(); err != nil {
		n.o.Log.Error("A checkpoint could not begin", "error", err)
	}
}

// newCheckpoint begins a checkpoint in the place of the one before. The next is due as if
// it had begun, whether it did or not.
func (n *Node) newCheckpoint() error {
	n.checked, n.saved = time.Now(), n.chain.Worked()
	c, err := n.store.Checkpoint()
	if err == nil {
		n.checkpoint = c
	}
	return err
}

// checkpointNow makes the state durable.
func (n *Node) checkpointNow() error {
	err := n.newCheckpoint()
	if err == nil {
		err = n.checkpoint.Wait()
	}
	if err == nil {
		err = n.finished()
	}
	if err != nil {
		return fmt.Errorf("the state was not saved, the next start goes on from block %d: checkpoint: %w", n.store.Durable().Head, diskRemedy(err))
	}
	return nil
}

// finishLater begins the first checkpoint of a state that was filled from a snapshot.
// The node goes on meanwhile: after a crash the snapshot is loaded again.
func (n *Node) finishLater() error {
	n.unfinished.Store(true)
	if err := n.newCheckpoint(); err != nil {
		return fmt.Errorf("save the state: %w", err)
	}
	c := n.checkpoint // the writer may forget it first
	n.finishing.Go(func() {
		err := c.Wait()
		if err == nil {
			err = n.finished()
		}
		if err != nil {
			n.o.Log.Error("The state that was loaded is not saved yet; a start now would load the snapshot again", "error", diskRemedy(err))
		}
	})
	return nil
}

// finished takes the mark off a state that was loaded from a snapshot, once an image
// holds it.
func (n *Node) finished() error {
	if !n.unfinished.CompareAndSwap(true, false) {
		return nil
	}
	err := engine.MarkFinished(n.o.StateDir)
	n.unfinished.Store(err != nil)
	return err
}

// diskRemedy adds to the error of a disk that is full what helps.
func diskRemedy(err error) error {
	var at *fs.PathError
	if errors.Is(err, syscall.ENOSPC) && errors.As(err, &at) {
		return fmt.Errorf("free space on the disk of %s: %w", filepath.Dir(at.Path), err)
	}
	return err
}

// remedy adds to an error of a store that has no more room, or is damaged, what helps.
func remedy(err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		return diskRemedy(err)
	}
	if isDamage(err) {
		return damageRemedy(err)
	}
	if errors.Is(err, store.ErrGuard) || errors.Is(err, store.ErrFull) {
		return fmt.Errorf("Database has reached an unsafe level of usage, shutting down to avoid corrupting the database. "+
			"Please increase the value set for \"chain-state-db-size-mb\" and restart the process! %w", err)
	}
	return err
}
