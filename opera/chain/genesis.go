package chain

import (
	"errors"
	"fmt"

	"tarn/opera/genesis"
	"tarn/opera/inter"
)

// ErrNotEmpty is returned where a genesis is applied to a store that has a chain.
var ErrNotEmpty = errors.New("there is a chain already")

// ApplyGenesis makes the chain of a genesis in an empty store, and makes it durable. The
// state's root is compared with the one that the genesis names. Interrupted, the store is
// of no use: whoever calls this marks it until it returns.
func ApplyGenesis(o Options, g genesis.Source) (err error) {
	made, err := prepare(o)
	if err != nil {
		return err
	}
	c := opening{made}
	defer func() { err = errors.Join(err, c.Close()) }()
	if h, err := c.rows.getHead(c.store); err != nil || h != nil {
		return errors.Join(err, ErrNotEmpty)
	}
	begin, err := genesis.Begin(g, func(record *inter.EpochRecord) error {
		return errors.Join(c.rows.putRecord(c.store, record), c.store.Relieve())
	})
	if err != nil {
		return err
	}
	last := begin.Epoch.State.BlockState
	c.counted = counted{First: last.LastBlock.Number + 1, Roots: last.LastBlock.Number + 1}
	if c.logs, err = o.History.open(c.counted, last.LastBlock.Number); err != nil {
		return err
	}
	if c.logs.events.Next() != 0 || c.logs.blocks.Brought() != 0 || c.logs.blocks.Records() != 0 {
		return fmt.Errorf("the history in %s: %w", o.History.o.Dir, ErrNotEmpty)
	}
	if err := c.importBlocks(g); err != nil {
		return err
	}
	if err := c.importState(&last, g); err != nil {
		return fmt.Errorf("import the state of block %d: %w", last.LastBlock.Number, err)
	}
	return c.createHead(c.genesisHead(g.Header(), &begin))
}

// importBlocks takes the blocks of a genesis, newest first.
func (c opening) importBlocks(g genesis.Source) error {
	for record, err := range g.Blocks() {
		if err != nil {
			return err
		}
		if err := c.logs.blocks.AppendBrought(record.Number, recordEntry(record)); err != nil {
			return err
		}
		c.counted.Brought++
		if c.counted.Brought%settleAfter == 0 {
			if err := c.logs.blocks.Settle(0); err != nil {
				return err
			}
		}
	}
	return nil
}

// settleAfter is after how many blocks their index may go from memory to a file.
const settleAfter = 1 << 10

// importState imports the state of the last block.
func (c opening) importState(last *inter.BlockState, g genesis.Source) error {
	in := c.state.Import(c.store)
	for item, err := range g.Items() {
		if err != nil {
			return err
		}
		if err := in.Put(item.Key, item.Value); err != nil {
			return err
		}
	}
	return in.Finish(uint64(last.LastBlock.Number), last.FinalizedStateRoot)
}

// createHead makes the head that was made the store's, and everything durable.
func (c opening) createHead(h *head) error {
	err := c.rows.putHead(c.store, h)
	if err == nil {
		err = c.store.SetRevision(uint64(h.Block.LastBlock.Number))
	}
	if err == nil {
		err = c.store.Publish()
	}
	if err != nil {
		return fmt.Errorf("write the head of the chain: %w", err)
	}
	checkpoint, err := c.store.Checkpoint()
	if err == nil {
		err = checkpoint.Wait()
	}
	if err != nil {
		return fmt.Errorf("make the chain durable: %w", err)
	}
	return nil
}

// genesisHead is the head of a chain of which there is nothing but its genesis.
func (c opening) genesisHead(header genesis.Header, begin *genesis.Beginning) *head {
	return &head{
		Network: Network{GenesisID: header.ID, ID: header.NetworkID, Name: header.NetworkName},
		Block:   begin.Epoch.State.BlockState, Epoch: begin.Epoch.State.EpochState, Upgrades: begin.Upgrades,
		Logs: c.counted,
	}
}
