package chain

import (
	"errors"
	"fmt"

	"tarn/opera/evm"
	"tarn/opera/inter"
	"tarn/opera/llr"
	"tarn/opera/state"
	"tarn/store"
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
		c.roots.Close()
		return nil, err
	}
	if h == nil {
		c.roots.Close()
		return nil, ErrEmpty
	}
	if h, err = (opening{c}).goOver(h); err == nil {
		err = c.state.Sweep(c.store)
	}
	if err != nil {
		c.roots.Close()
		return nil, err
	}
	c.counted = h.Logs
	if c.logs, err = o.History.open(h.Logs, h.Block.LastBlock.Number); err != nil {
		c.roots.Close()
		return nil, err
	}
	if err := (opening{c}).resume(h); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// NetworkOf returns of which network the chain of a store is, which nobody has open as a
// chain; [ErrEmpty] without one.
func NetworkOf(s store.Store) (Network, error) {
	r, err := openRows(s)
	if err != nil {
		return Network{}, err
	}
	h, err := r.getHead(s)
	if err == nil && h == nil {
		err = ErrEmpty
	}
	if err != nil {
		return Network{}, err
	}
	return h.Network, nil
}

// prepare opens the tables.
func prepare(o Options) (*Chain, error) {
	if o.Analyses == 0 {
		o.Analyses = 16 << 20
	}
	c := &Chain{options: o, store: o.Store, analyses: evm.NewAnalyses(o.Analyses), hashes: state.NewHashes()}
	c.ballot.c = c
	var err error
	if c.rows, err = openRows(o.Store); err != nil {
		return nil, err
	}
	if c.state, err = state.Open(o.Store); err != nil {
		return nil, err
	}
	if c.votes, err = llr.Open(o.Store); err != nil {
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

// opening is a chain that is not yet used: what is done once, before its first event.
type opening struct{ *Chain }

// resume goes on from what a revision holds.
func (c opening) resume(h *head) error {
	c.network, c.block, c.epoch, c.decided, c.upgrades = h.Network, h.Block, &h.Epoch, h.Decided, h.Upgrades
	c.config = evm.ChainConfig(c.network.ID, c.upgrades)
	if err := c.remember(); err != nil {
		return err
	}
	// The record of an epoch is written with the block after the one that sealed it,
	// because it waits for the root.
	written := new(inter.EpochRecord)
	ok, err := get(c.store, c.rows.epochs, epochKey(c.epoch.Epoch), written)
	if err == nil && !ok {
		written, err = c.own().EpochRecord(c.epoch.Epoch)
		c.record = written
	}
	if err != nil {
		return err
	}
	if err := errors.Join(c.votes.Resume(c.undecided, c.inventory()), c.resumeRecords()); err != nil {
		return err
	}
	sealed := written.State.BlockState.LastBlock.Number
	if err := c.begin(sealed); err != nil {
		return err
	}
	c.show()
	if sealed == c.block.LastBlock.Number {
		if err := c.holdBeginning(written.State.BlockState.FinalizedStateRoot); err != nil {
			return err
		}
	}
	if err := c.lookAhead(); err != nil {
		return err
	}
	return c.refeed()
}

// remember reads the ids of the last blocks.
func (c opening) remember() error {
	last := c.block.LastBlock.Number
	for n := last; n > 0 && n+256 >= last; n-- {
		b, err := c.logs.blocks.Block(n)
		if err != nil {
			return err
		}
		if b == nil {
			break
		}
		c.ids.set(n, b.ID)
	}
	if last < 256 {
		c.ids.set(0, c.zero())
	}
	return nil
}

// refeed gives the epoch's events to consensus again, and connects those that the store
// does not know of once more. Of confirmed events that a decided frame names the payload is
// not needed any more.
func (c opening) refeed() error {
	known, end := c.counted.Events, c.logs.events.Next()
	c.connected = known
	for n := c.counted.Begun; n < end; n++ {
		id, raw, err := c.logs.events.Read(n)
		if err != nil {
			return err
		}
		// Senders are found when a block is made, and of most events there is one.
		p, err := inter.DecodePayload(raw)
		if err == nil {
			err = c.dag.Add(consensusEvent(p))
		}
		if err != nil {
			return fmt.Errorf("event %d of the log, %v: %w", n, id, err)
		}
		c.keep(p, n)
		if n >= known {
			if err := c.vote(p); err != nil {
				return err
			}
		}
		if c.options.Progress != nil {
			c.options.Progress(n+1-c.counted.Begun, end-c.counted.Begun)
		}
		if n+1 >= known {
			if err := c.decide(); err != nil {
				return err
			}
		}
	}
	return nil
}
