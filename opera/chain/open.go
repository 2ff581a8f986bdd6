package chain

import (
	"errors"
	"fmt"

	"tarn/opera/evm"
	"tarn/opera/inter"
	"tarn/opera/state"
)

// ErrEmpty is returned for a store without a chain, to which a genesis must be applied
// first.
var ErrEmpty = errors.New("there is no chain yet")

// Open opens the chain of a store and feeds the events of its epoch to consensus. The
// blocks that these decide beyond the last one are made again.
func Open(o Options) (*Chain, error) {
	c, err := prepare(o)
	if err != nil {
		return nil, err
	}
	h, err := c.rows.getHead(c.store)
	if err != nil {
		return nil, err
	}
	if h == nil {
		return nil, ErrEmpty
	}
	if err := c.resume(h); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// prepare opens the tables.
func prepare(o Options) (*Chain, error) {
	if o.Analyses == 0 {
		o.Analyses = 16 << 20
	}
	c := &Chain{options: o, store: o.Store, analyses: evm.NewAnalyses(o.Analyses)}
	var err error
	if c.rows, err = openRows(o.Store); err != nil {
		return nil, err
	}
	if c.state, err = state.Open(o.Store); err != nil {
		return nil, err
	}
	if err := o.Store.Publish(); err != nil {
		return nil, fmt.Errorf("publish the state: %w", err)
	}
	if c.roots, err = c.state.StartRoots(o.Store, state.RootsOptions{}); err != nil {
		return nil, err
	}
	return c, nil
}

// resume goes on from what a revision holds.
func (c *Chain) resume(h *head) error {
	c.network, c.block, c.epoch, c.decided, c.upgrades = h.Network, h.Block, &h.Epoch, h.Decided, h.Upgrades
	c.config = evm.ChainConfig(c.network.ID, c.upgrades)
	if err := c.remember(); err != nil {
		return err
	}
	written, err := c.EpochRecord(c.epoch.Epoch)
	if err != nil {
		return err
	}
	sealed := c.block.LastBlock.Number
	if written != nil {
		sealed = written.State.BlockState.LastBlock.Number
	} else {
		// The last block sealed an epoch, and the record waited for its root.
		s, err := c.BlockState()
		if err != nil {
			return err
		}
		c.record = &inter.EpochRecord{Epoch: c.epoch.Epoch, State: inter.EpochContent{BlockState: s, EpochState: *c.epoch}}
	}
	if err := c.begin(sealed); err != nil {
		return err
	}
	if err := c.refeed(); err != nil {
		return err
	}
	return c.decide()
}

// remember reads the ids of the last blocks.
func (c *Chain) remember() error {
	last := c.block.LastBlock.Number
	for n := last; n > 0 && n+256 >= last; n-- {
		row, err := c.rows.block(c.store, n)
		if err != nil {
			return err
		}
		if row == nil {
			break
		}
		c.ids.set(n, row.ID)
	}
	if last < 256 {
		// Block 0 is never made; its id is the genesis' without epoch and time.
		zero := inter.EventID(c.network.GenesisID)
		clear(zero[:8])
		c.ids.set(0, zero)
	}
	return nil
}

// refeed gives the epoch's events to consensus again. Those of confirmed events that a
// decided frame names stay without payload.
func (c *Chain) refeed() error {
	epoch := c.epoch.Epoch
	return c.rows.eachEvent(c.store, epoch, epoch+1, func(p *inter.Payload) error {
		c.keep(p)
		if err := c.dag.Add(consensusEvent(p)); err != nil {
			return fmt.Errorf("event %v of the present epoch: %w", p.ID(), err)
		}
		return nil
	})
}
