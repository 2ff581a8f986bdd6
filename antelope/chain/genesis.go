package chain

import (
	"fmt"

	"tarn/antelope/consensus"
	"tarn/antelope/finality"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// Genesis fills an empty state with that of a chain's first block (Leap:
// controller_impl::initialize_blockchain_state, initialize_database).
func (c *Chain) Genesis(g *types.Genesis) error {
	if err := c.mustBeEmpty(); err != nil {
		return err
	}
	if err := g.InitialConfiguration.Validate(); err != nil {
		return err
	}
	head := consensus.Genesis(g)
	if err := c.executor.Genesis(g, head); err != nil {
		return fmt.Errorf("make the state of the genesis block: %w", err)
	}
	block := &types.SignedBlock{SignedBlockHeader: head.Header}
	return c.begin(&consensus.BlockState{HeaderState: head, Block: block}, nil)
}

func (c *Chain) mustBeEmpty() error {
	empty, err := c.state.Empty()
	if err == nil && !empty {
		err = fmt.Errorf("the chain state is that of block %d, not empty", c.head.BlockNum)
	}
	return err
}

// begin makes a state that was filled outside sessions that of a head, with the tree v after it.
func (c *Chain) begin(head *consensus.BlockState, v *finality.Validation) error {
	at := consensus.Head{HeaderState: head.HeaderState, Validation: v}
	if err := c.state.SetHead(at.Append(nil)); err != nil {
		return err
	}
	if err := c.state.Flush(); err != nil {
		return err
	}
	if err := c.store.SetRevision(uint64(head.BlockNum)); err != nil {
		return err
	}
	if err := c.store.Publish(); err != nil {
		return err
	}
	if err := c.load(); err != nil {
		return err
	}
	c.head = head
	c.fork.Reset(at)
	return nil
}

// Load fills an empty state with what fill writes, a snapshot's rows, and goes on
// from the block that fill returns.
func (c *Chain) Load(fill func(*state.State) (consensus.Head, error)) error {
	if err := c.mustBeEmpty(); err != nil {
		return err
	}
	head, err := fill(c.state)
	if err != nil {
		return err
	}
	return c.begin(&consensus.BlockState{HeaderState: head.HeaderState}, head.Validation)
}
