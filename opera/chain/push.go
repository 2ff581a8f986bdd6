package chain

import (
	"fmt"

	"tarn/opera/evm"
	"tarn/opera/inter"
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
	c.fresh = nil
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
		if err := c.begin(done.Number); err != nil {
			return err
		}
	}
	if c.options.Connected != nil {
		c.options.Connected(done)
	}
	return nil
}

// write writes everything that a block changes as one revision.
func (c *Chain) write(b *draft, done *Block, decided inter.Frame, upgrades []inter.UpgradeHeight) error {
	s := c.store
	if err := s.Begin(); err != nil {
		return fmt.Errorf("begin the revision of block %d: %w", done.Number, err)
	}
	for _, step := range []func() error{
		func() error { return c.state.Write(s, done.changes) },
		func() error { return c.roots.Write(s, done.changes) },
		func() error { return c.rows.putEvents(s, c.fresh) },
		func() error { return c.rows.putRecord(s, c.record) },
		func() error { return c.rows.putBlock(s, done) },
		func() error {
			return c.rows.putHead(s, &head{Network: c.network, Block: b.State, Epoch: *b.Epoch, Decided: decided, Upgrades: upgrades})
		},
		s.Push,
		func() error { return s.Commit(uint64(done.Number)) },
		s.Publish,
	} {
		if err := step(); err != nil {
			return fmt.Errorf("write the revision of block %d: %w", done.Number, err)
		}
	}
	c.record = nil
	return nil
}
