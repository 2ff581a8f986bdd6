package chain

import (
	"errors"
	"fmt"

	"tarn/opera/evm"
	"tarn/opera/inter"
	"tarn/store"
)

// push makes a finished block a revision and the chain's head.
func (c *Chain) push(b *draft, done *Block, frame inter.Frame) error {
	// Its root is not known yet; nobody reads it before it is.
	record := b.End([32]byte{})
	sealed := b.Sealing()
	decided, upgrades := frame, c.upgrades
	if sealed {
		decided = 0
		if height, changed := b.Upgrade(); changed {
			upgrades = append(upgrades[:len(upgrades):len(upgrades)], height)
		}
	}
	if err := c.write(b, done, decided, upgrades); err != nil {
		return err
	}
	c.block, c.decided, c.upgrades = b.State, decided, upgrades
	c.ids.set(done.Number, done.ID)
	if err := c.roots.Follow(done.changes); err != nil {
		return err
	}
	if sealed {
		root, err := c.Root(done.Number)
		if err != nil {
			return err
		}
		record.State.BlockState.FinalizedStateRoot = root
		c.record, c.epoch = record, b.Epoch
		c.config = evm.ChainConfig(c.network.ID, upgrades)
		c.begin(done.Number)
		if err := c.holdBeginning(root); err != nil {
			return err
		}
	}
	c.show()
	if err := c.lookAhead(); err != nil {
		return err
	}
	if c.options.Connected != nil {
		c.options.Connected(done)
	}
	if err := c.compare(); err != nil {
		return err
	}
	return errors.Join(c.settle(), c.yieldBeginning())
}

// settle lets the history sort what the store's image counts on, and asks for an image
// where too much waits for it.
func (c *Chain) settle() error {
	if c.logs.pressure() && (c.settled == nil || isDone(c.settled)) {
		var err error
		if c.settled, err = c.store.Checkpoint(); err != nil {
			return fmt.Errorf("checkpoint for the history's indexes: %w", err)
		}
	}
	return c.logs.settle(c.store.Durable().Irreversible, &c.options.History.o)
}

func isDone(c store.Checkpoint) bool {
	select {
	case <-c.Done():
		return true
	default:
		return false
	}
}

// write writes everything that a block changes: what is written once into the logs, the
// rest as one revision.
func (c *Chain) write(b *draft, done *Block, decided inter.Frame, upgrades []inter.UpgradeHeight) error {
	s, at := c.store, c.counted
	at.Events = c.connected
	if b.Sealing() {
		at.Begun = at.Events
	}
	for _, step := range []func() error{
		// A block that was shown must not be lost by a kill.
		c.logs.events.Flush,
		func() error { return c.logs.blocks.Append(done.Number, done.entry()) },
		func() error { return c.logs.states.Append(done.changes) },
		s.Begin,
		func() error { return c.state.Write(s, done.changes) },
		func() error {
			c.roots.Logged(uint64(c.counted.Roots))
			return c.roots.Write(s, done.changes)
		},
		func() error { return c.logRoots(&at) },
		func() error { return c.rows.putRecord(s, c.record) },
		func() error {
			return c.rows.putHead(s, &head{Network: c.network, Block: b.State, Epoch: *b.Epoch, Decided: decided,
				Upgrades: upgrades, Logs: at})
		},
		func() error { return c.fillOwn(s, b) },
		func() error { return c.votes.Write(s) },
		s.Push,
		func() error { return tellPushed(c, done) },
		func() error { return s.Commit(uint64(done.Number)) },
		s.Publish,
	} {
		if err := step(); err != nil {
			return fmt.Errorf("write the revision of block %d: %w", done.Number, err)
		}
	}
	c.record, c.counted = nil, at
	return nil
}

// logRoots moves the roots that are known by now from their rows into their log.
func (c *Chain) logRoots(at *counted) error {
	for ; ; at.Roots++ {
		root, err := c.state.RootAt(c.store, uint64(at.Roots))
		if errors.Is(err, store.ErrNotFound) {
			break
		}
		if err == nil {
			err = c.logs.blocks.AppendRoot(at.Roots, root)
		}
		if err != nil {
			return err
		}
	}
	if at.Roots == c.counted.Roots {
		return nil
	}
	from := c.counted.Roots
	if !c.rootsForgotten { // an earlier program has left some
		from, c.rootsForgotten = 0, true
	}
	return c.state.ForgetRoots(c.store, uint64(from), uint64(at.Roots))
}
