package chain

import (
	"errors"
	"fmt"
	"slices"

	"tarn/antelope/consensus"
	"tarn/antelope/types"
	"tarn/store"
)

// ErrOtherState says that rows of another node do not fit to the state here.
var ErrOtherState = errors.New("the rows are not those of this state")

// Follower is a chain that executes nothing: it takes what another node's blocks changed. The writer uses it.
type Follower struct{ c *Chain }

// NewFollower makes a chain one that follows.
func NewFollower(c *Chain) Follower { return Follower{c} }

// Told is a block as another node tells of it.
type Told struct {
	Block   *types.SignedBlock
	Entries Entries
}

// Adopt makes blocks the head that another node has executed: change puts what they changed into
// the store, all blocks as one revision. The first follows the head. Several at once are irreversible; then
// nothing that can be taken back may be before them. What their headers say is checked, and that the rows lead to the
// last of them; nobody's signature is, and nothing is executed. On an error that wraps [ErrOtherState] the state is as
// before; the log and histories may have the blocks. [Follower.Settle] follows, once for all that is to be seen at once.
func (f Follower) Adopt(blocks []Told, change func(store.Store) error) error {
	c := f.c
	states, err := f.followers(blocks)
	if err != nil {
		return err
	}
	last := states[len(states)-1]
	final := len(states) > 1
	if final && c.fork.Root().ID != c.head.ID {
		return fmt.Errorf("%w: blocks up to %d come at once, and block %d can still be taken back",
			ErrOtherState, last.BlockNum, c.head.BlockNum)
	}
	c.hooks.startBlock(states[0].BlockNum)
	if !final {
		if err := f.keepAdopted(last); err != nil {
			return err
		}
	}
	var head consensus.Head
	for i, b := range states {
		if err = c.hooks.adopted(&Adopted{Block: b, Final: final, Entries: blocks[i].Entries}); err != nil {
			break
		}
	}
	if err == nil && final { // the log first: the state never needs a block that the log does not have
		err = f.logAdopted(states)
	}
	if err == nil {
		head, err = f.replace(last, change)
	}
	if err != nil {
		if !final {
			_, e := c.fork.Remove(last.ID)
			err = errors.Join(err, e)
		}
		return err
	}
	c.stand(last, head.Validation)
	if err := c.executor.Load(last.HeaderState); err != nil {
		return err
	}
	if final {
		return f.finaliseAdopted(states)
	}
	if err := c.fork.MarkValid(last.ID, head.Validation); err != nil {
		return err
	}
	c.hooks.acceptedBlock(last, true, types.Checksum256{})
	return nil
}

// followers are the states of blocks the first of which follows the head.
func (f Follower) followers(blocks []Told) ([]*consensus.BlockState, error) {
	c := f.c
	states, prev := make([]*consensus.BlockState, 0, len(blocks)), c.head.HeaderState
	for i := range blocks {
		b := blocks[i].Block
		if b.Previous != prev.ID {
			return nil, fmt.Errorf("%w: block %d does not follow %s", ErrOtherState, b.BlockNum(), prev.ID)
		}
		s, err := consensus.NewBlockState(prev, b, c.opt.Features, nil)
		if err != nil {
			return nil, fmt.Errorf("%w: block %d: %w", ErrOtherState, b.BlockNum(), err)
		}
		states, prev = append(states, s), s.HeaderState
	}
	return states, nil
}

// keepAdopted keeps a block that can still be taken back.
func (f Follower) keepAdopted(b *consensus.BlockState) error {
	c := f.c
	if c.fork.Block(b.ID) == nil {
		if err := c.fork.Add(b, false); err != nil {
			return err
		}
		if err := c.logs.keep(b); err != nil {
			return err
		}
	}
	c.hooks.acceptedHeader(b)
	return nil
}

// replace makes the state that of a block, by rows.
func (f Follower) replace(b *consensus.BlockState, change func(store.Store) error) (head consensus.Head, err error) {
	c := f.c
	err = c.state.Replace(change, func(encoded []byte) error {
		if head, err = consensus.DecodeHead(encoded); err != nil {
			return fmt.Errorf("%w: %w", ErrOtherState, err)
		}
		if head.ID != b.ID {
			return fmt.Errorf("%w: they lead to block %s, not %s", ErrOtherState, head.ID, b.ID)
		}
		return nil
	})
	if err != nil {
		return head, fmt.Errorf("adopt block %d: %w", b.BlockNum, err)
	}
	return head, nil
}

// logAdopted puts blocks that are adopted at once into the log.
func (f Follower) logAdopted(states []*consensus.BlockState) error {
	for _, b := range states {
		if err := f.c.logs.append(b); err != nil {
			return err
		}
	}
	return nil
}

// finaliseAdopted makes blocks that were adopted at once irreversible, and shows their state to readers: none
// sees an irreversible block above the newest.
func (f Follower) finaliseAdopted(states []*consensus.BlockState) error {
	c := f.c
	if err := c.store.Commit(c.store.Head()); err != nil {
		return err
	}
	if err := c.store.SetRevision(uint64(c.head.BlockNum)); err != nil {
		return err
	}
	if err := c.store.Publish(); err != nil {
		return err
	}
	c.fork.Reset(c.Standing())
	for _, b := range states {
		c.hooks.acceptedHeader(b)
		c.hooks.acceptedBlock(b, false, types.Checksum256{})
		c.hooks.irreversible(b)
	}
	return c.logs.obsolete(c.head.BlockNum)
}

// Settle shows what was adopted to readers, and makes irreversible what the headers say, and what the other node says:
// by Savanna's rules headers of branches that are not here count too.
func (f Follower) Settle(final types.Checksum256) error {
	c := f.c
	if err := c.store.Publish(); err != nil {
		return err
	}
	consensus.NoteFinal(c.fork, final)
	return c.LogIrreversible()
}

// SettleHead makes all blocks up to the head irreversible: another node says it of one that follows. Blocks of other
// branches are dropped, one of which may be better by its header than what has come of the head's branch.
func (f Follower) SettleHead() error {
	c := f.c
	branch := c.fork.FetchBranch(c.head.ID, c.head.BlockNum)
	for _, b := range slices.Backward(branch) {
		if err := c.finalise(b); err != nil {
			return err
		}
	}
	if len(branch) == 0 {
		return nil
	}
	c.fork.Reset(c.Standing())
	return c.logs.obsolete(c.head.BlockNum)
}

// BackTo takes blocks back until the one with this id is the head. An error wraps [ErrOtherState] if none of those that
// can be taken back follows it.
func (f Follower) BackTo(id types.Checksum256) error {
	c := f.c
	if c.head.ID == id {
		return nil
	}
	ahead, lost, err := c.fork.FetchBranchFrom(id, c.head.ID)
	if err == nil && len(ahead) > 0 {
		err = errors.New("it is not before the head")
	}
	if err != nil {
		return fmt.Errorf("%w: go back from block %d to %s: %w", ErrOtherState, c.head.BlockNum, id, err)
	}
	for range lost {
		if err := c.PopBlock(); err != nil {
			return err
		}
	}
	c.hooks.tellForked(lost)
	return nil
}

// LoadRows fills an empty state with the rows of another store, which fill puts into this one with their
// revision, and goes on from their head, which check gets.
func (f Follower) LoadRows(fill func() error, check func(*consensus.BlockState) error) error {
	c := f.c
	if err := c.mustBeEmpty(); err != nil {
		return err
	}
	if err := fill(); err != nil {
		return err
	}
	c.state.Refresh()
	if err := c.load(); err != nil {
		return err
	}
	if c.head == nil {
		return fmt.Errorf("%w: they hold no chain", ErrOtherState)
	}
	if err := check(c.head); err != nil {
		return err
	}
	c.fork.Reset(c.Standing())
	return c.store.Publish()
}
