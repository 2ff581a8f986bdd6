package chain

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"tarn/opera/gooperadir"
	"tarn/opera/inter"
	"tarn/opera/state"
)

// Takeover says what is taken over from a go-opera's folder.
type Takeover struct {
	From *gooperadir.Folder
	// States is of how many blocks before the last one old states are taken, if the folder
	// has them. 0 is all.
	States uint64
	// StatesFrom is the lowest block whose state may be taken. A try that ended with a
	// [PrunedError] says which.
	StatesFrom inter.BlockNumber
	// Progress, if not nil, is told how far a part of the work is.
	Progress func(what string, done, total uint64)
}

// PrunedError is that the state of a block, which seemed to be kept, lacks a node. Another
// try, in an empty store with an empty history, may take states from a later one on.
type PrunedError struct {
	StatesFrom inter.BlockNumber
	Err        error
}

func (e *PrunedError) Error() string { return e.Err.Error() }

func (e *PrunedError) Unwrap() error { return e.Err }

// ErrDiffers is wrapped by the error of a folder that contradicts itself, or what validators
// have decided.
var ErrDiffers = errors.New("it is not what the folder says elsewhere")

// TakeOver makes the chain of a go-opera's folder in an empty store, and makes it durable:
// its events, blocks with receipts, old states, epochs and votes, and the state of its last
// block. What has a hash is compared with it: events with their ids, records with what
// validators have decided, each node of the state with its hash, from the last root on.
// Interrupted, the store is of no use: whoever calls this marks it until it returns.
func TakeOver(ctx context.Context, o Options, t Takeover) (err error) {
	c, err := prepare(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if h, err := c.rows.getHead(c.store); err != nil || h != nil {
		return errors.Join(err, ErrNotEmpty)
	}
	x := &takeover{Chain: c, Takeover: t, ctx: ctx}
	if err := x.head(); err != nil {
		return err
	}
	if err := x.span(); err != nil {
		return err
	}
	last := c.block.LastBlock.Number
	if c.logs, err = o.History.open(c.counted, c.counted.First-1); err != nil {
		return err
	}
	if c.logs.events.Next() != 0 || c.logs.blocks.Brought() != 0 || c.logs.blocks.Records() != 0 ||
		c.logs.blocks.Next() != c.counted.First {
		return fmt.Errorf("the history in %s: %w", o.History.o.Dir, ErrNotEmpty)
	}
	for _, part := range []func() error{x.oldStates, x.state, x.events, x.ownBlocks, x.broughtBlocks, x.epochs,
		x.takeVotes} {
		if err := errors.Join(part(), ctx.Err()); err != nil {
			return err
		}
	}
	c.counted.Roots = last + 1
	return opening{c}.createHead(&head{
		Network: c.network, Block: c.block, Epoch: *c.epoch, Decided: c.decided, Upgrades: c.upgrades, Logs: c.counted,
	})
}

// takeover is a chain that is being made.
type takeover struct {
	*Chain
	Takeover
	ctx    context.Context
	lowest inter.BlockNumber // of the blocks that there are, 0 if there are none
}

func (x *takeover) say(what string, done, total uint64) {
	if x.Progress != nil {
		x.Progress(what, done, total)
	}
}

// head reads where the folder's chain stands, and compares it with what else says so.
func (x *takeover) head() error {
	h, err := x.From.Head()
	if err != nil {
		return err
	}
	x.network = Network{GenesisID: h.GenesisID, ID: h.Epoch.Rules.NetworkID, Name: h.Epoch.Rules.Name}
	x.block, x.epoch, x.decided, x.upgrades = h.Block, &h.Epoch, h.Decided, h.Upgrades
	record, err := x.From.Epoch(h.Epoch.Epoch)
	switch {
	case err != nil:
		return err
	case record == nil:
		return fmt.Errorf("the record of epoch %d, the present one: it is missing: %w", h.Epoch.Epoch, ErrDiffers)
	case record.State.EpochState.Hash() != h.Epoch.Hash():
		return fmt.Errorf("the record of epoch %d, the present one: %w", h.Epoch.Epoch, ErrDiffers)
	}
	if x.lowest, err = x.From.LowestBlock(); err != nil {
		return err
	}
	last := h.Block.LastBlock
	if x.lowest == 0 || x.lowest > last.Number {
		x.lowest = 0
		return nil
	}
	b, err := x.From.Block(last.Number)
	switch {
	case err != nil:
		return err
	case b == nil:
		// A genesis without blocks, of which the records of later ones were sent.
		x.lowest = 0
	case b.ID != last.Atropos || b.Time != last.Time || b.Root != h.Block.FinalizedStateRoot:
		return fmt.Errorf("block %d, the last one: %w", last.Number, ErrDiffers)
	}
	return nil
}

// span finds from which block on old states are kept: the blocks after it are the chain's
// own, and those before are brought. Which ones are kept is looked for by halves: there are
// states of all blocks from one on, or of the last one alone.
func (x *takeover) span() error {
	last := x.block.LastBlock.Number
	low, high := max(x.lowest, x.StatesFrom), last
	if x.States != 0 && last > inter.BlockNumber(x.States) {
		low = max(low, last-inter.BlockNumber(x.States))
	}
	if x.lowest == 0 {
		low = high
	}
	wanted := low
	for low < high {
		middle := low + (high-low)/2
		kept, err := x.hasState(middle)
		if err != nil {
			return err
		}
		if kept {
			high = middle
		} else {
			low = middle + 1
		}
	}
	if high > wanted {
		x.warn(
			fmt.Errorf(
				"the folder does not have the states of the blocks %d to %d, which were pruned or never there: old "+
					"states begin with block %d", wanted, high-1, high))
	}
	x.counted = counted{First: high + 1, Roots: high + 1}
	return nil
}

// hasState tells whether a block's state seems to be in the folder: its root is.
func (x *takeover) hasState(n inter.BlockNumber) (bool, error) {
	root, ok, err := x.From.Root(n)
	if err != nil || !ok {
		return false, err
	}
	if root == [32]byte(types.EmptyRootHash) {
		return true, nil
	}
	node, err := x.From.Node(root)
	return node != nil, err
}

// upward counts from one number to another, both included.
func upward(from, to inter.BlockNumber) iter.Seq2[inter.BlockNumber, error] {
	return func(yield func(inter.BlockNumber, error) bool) {
		for n := from; n <= to && yield(n, nil); n++ {
		}
	}
}

// oldStates brings what each block's changes replaced.
func (x *takeover) oldStates() error {
	first, last := x.counted.First, x.block.LastBlock.Number
	if first > last {
		return nil
	}
	return processInOrder(x.ctx, upward(first, last), x.difference, func(c *state.Changes) error {
		if err := x.logs.states.Append(c); err != nil {
			return err
		}
		n := inter.BlockNumber(c.Number)
		x.say("old states", uint64(n-first+1), uint64(last-first+1))
		if (n-first)%settleAfter == settleAfter-1 {
			return x.logs.states.Settle(c.Number)
		}
		return nil
	})
}

func (x *takeover) difference(n inter.BlockNumber) (*state.Changes, error) {
	before, ok, err := x.From.Root(n - 1)
	var after [32]byte
	if err == nil && ok {
		after, ok, err = x.From.Root(n)
	}
	if err == nil && !ok {
		return nil, &PrunedError{n, fmt.Errorf("there is no block %d or %d", n-1, n)}
	}
	if err != nil {
		return nil, err
	}
	c, err := state.Difference(x.From, uint64(n), before, after)
	if errors.Is(err, state.ErrMissingNode) {
		return nil, &PrunedError{n, err}
	}
	return c, err
}

// state copies the state of the last block. It is found by hashes from its root on, so it is
// the one that the root names.
func (x *takeover) state() error {
	const parts = 1 << 16
	number := x.block.LastBlock.Number
	copying := state.Copy{
		Tables: x.Chain.state, To: x.store, From: x.From, Context: x.ctx,
		Progress: func(account common.Hash) {
			x.say("the last state", uint64(account[0])<<8+uint64(account[1]), parts)
		},
	}
	if err := copying.State(uint64(number), x.block.FinalizedStateRoot); err != nil {
		return fmt.Errorf("copy the state of block %d: %w", number, err)
	}
	return nil
}
