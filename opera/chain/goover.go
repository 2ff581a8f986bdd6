package chain

import (
	"context"
	"errors"
	"fmt"

	"tarn/opera/evm"
	"tarn/opera/inter"
	"tarn/opera/state"
	"tarn/store"
)

// A chain goes over to a later epoch without having executed the blocks before it (go-opera,
// gossip/c_event_callbacks.go, SwitchEpochTo): the records of these blocks and epochs have come,
// and the state of the epoch's beginning was brought in, whose root the epoch's record names.
//
// What is durable when: the state lies in tables beside the present one, until one image has it
// whole with a row that says to which epoch the chain goes. The next start makes the epoch the
// chain's head, in one image with the choice of the tables. A crash before the first image leaves
// the chain where it was, and what was brought in is forgotten; after it each start goes over.

var (
	// ErrNotAhead is returned for an epoch that is not after the present one.
	ErrNotAhead = errors.New("the epoch is not after the present one")
	// ErrGap is returned where a record before the epoch has not come.
	ErrGap = errors.New("a record before the epoch is missing")
	// ErrGoesOver is what a chain refuses events with once it goes over: it must be opened anew.
	ErrGoesOver = errors.New("the chain goes on in a later epoch when it is opened again")
)

var nextKey = []byte("next")

// next is the row that says to which epoch a start takes the chain.
type next struct{ Epoch inter.Epoch }

// Incoming begins to bring in the state of a later epoch. What was brought before is forgotten,
// and so is what was brought when the chain is closed before [Chain.GoOver].
func (c *Chain) Incoming() (*state.Incoming, error) {
	if c.failed != nil {
		return nil, c.failed
	}
	return c.state.Incoming(c.store)
}

// GoOver has the chain go on in a later epoch, whose state was brought in, from the next start on.
// It makes that durable. After an error that wraps [state.ErrOtherState], [ErrGap], [ErrNotAhead] or the
// cause of the end of ctx, the chain is what it was; after success it refuses all events.
func (c *Chain) GoOver(ctx context.Context, e inter.Epoch, in *state.Incoming) error {
	if c.failed != nil {
		return c.failed
	}
	if e <= c.epoch.Epoch {
		return fmt.Errorf("go over to epoch %d from %d: %w", e, c.epoch.Epoch, ErrNotAhead)
	}
	record, err := c.EpochRecord(e)
	if err != nil {
		return c.fail(err)
	}
	block, epoch, err := c.firstUnfilled()
	if err != nil {
		return c.fail(err)
	}
	if record == nil || e >= epoch || record.State.BlockState.LastBlock.Number >= block {
		return fmt.Errorf("go over to epoch %d, where block %d and epoch %d have not come: %w", e, block, epoch, ErrGap)
	}
	last := record.State.BlockState
	if err := in.Finish(ctx, uint64(last.LastBlock.Number), last.FinalizedStateRoot); err != nil {
		stopped := ctx.Err() != nil && errors.Is(err, context.Cause(ctx))
		if !stopped && !errors.Is(err, state.ErrOtherState) {
			err = c.fail(err)
		}
		return fmt.Errorf("go over to epoch %d: %w", e, err)
	}
	if err = put(c.store, c.rows.head, nextKey, &next{e}); err == nil {
		err = c.store.Publish()
	}
	if err == nil {
		var done store.Checkpoint
		if done, err = c.store.Checkpoint(); err == nil {
			err = done.Wait()
		}
	}
	if err != nil {
		return c.fail(fmt.Errorf("go over to epoch %d: %w", e, err))
	}
	c.failed = ErrGoesOver
	return nil
}

// goOver makes the epoch the chain's head to which it was to go, if it was, and returns the head.
func (c opening) goOver(h *head) (*head, error) {
	to := new(next)
	ok, err := get(c.store, c.rows.head, nextKey, to)
	if err != nil || !ok {
		return h, err
	}
	if c.logs, err = c.options.History.open(h.Logs, h.Block.LastBlock.Number); err != nil {
		return nil, err
	}
	after, err := c.over(h, to.Epoch)
	err = errors.Join(err, c.logs.close())
	c.logs = nil
	c.options.History.logs.Store(nil)
	if err != nil {
		return nil, fmt.Errorf("go over to epoch %d: %w", to.Epoch, err)
	}
	return after, nil
}

// over is goOver while the history is open.
func (c opening) over(h *head, to inter.Epoch) (*head, error) {
	c.network, c.block, c.epoch, c.upgrades, c.counted = h.Network, h.Block, &h.Epoch, h.Upgrades, h.Logs
	c.config = evm.ChainConfig(c.network.ID, c.upgrades)
	if err := c.asRecords(); err != nil {
		return nil, err
	}
	after, err := c.headAt(h, to)
	if err != nil {
		return nil, err
	}
	in, err := c.state.Brought(c.store)
	if err != nil {
		return nil, err
	}
	c.roots.Close()
	if c.state, err = in.Choose(); err != nil {
		return nil, err
	}
	if err := errors.Join(c.store.Delete(c.rows.head, nextKey), c.createHead(after)); err != nil {
		return nil, err
	}
	c.roots, err = c.state.StartRoots(c.store, state.RootsOptions{})
	return after, err
}

// asRecords makes records of the blocks that the chain has made: its own log begins with the epoch.
func (c opening) asRecords() error {
	for n := c.First(); n <= c.block.LastBlock.Number; n++ {
		has, err := c.logs.blocks.HasRecord(n)
		if has || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		record, err := c.BlockRecord(n)
		if err == nil && record == nil {
			err = errors.New("the log does not have it")
		}
		if err == nil {
			err = c.logs.blocks.AppendRecord(n, recordEntry(record))
		}
		if err != nil {
			return fmt.Errorf("make block %d a record: %w", n, err)
		}
	}
	return c.logs.blocks.FlushRecords()
}

// headAt is the head of the chain at the beginning of a later epoch, and writes the epoch's record
// as one of the chain's own.
func (c opening) headAt(h *head, to inter.Epoch) (*head, error) {
	upgrades, rules := h.Upgrades[:len(h.Upgrades):len(h.Upgrades)], h.Epoch.Rules.Upgrades
	var record *inter.EpochRecord
	for e := h.Epoch.Epoch + 1; e <= to; e++ {
		var err error
		record, err = c.rows.getRecord(c.store, e)
		if err == nil && record == nil {
			err = ErrGap
		}
		if err != nil {
			return nil, fmt.Errorf("the record of epoch %d: %w", e, err)
		}
		s := &record.State
		if s.EpochState.Rules.Upgrades != rules {
			rules = s.EpochState.Rules.Upgrades
			upgrades = append(upgrades, inter.UpgradeHeight{Upgrades: rules, Height: s.BlockState.LastBlock.Number + 1})
		}
		// The chain's own records have no gap.
		if err := c.rows.putRecord(c.store, record); err != nil {
			return nil, err
		}
	}
	first, events := record.State.BlockState.LastBlock.Number+1, c.logs.events.Next()
	return &head{
		Network: h.Network, Block: record.State.BlockState, Epoch: record.State.EpochState, Upgrades: upgrades,
		Logs: counted{First: first, Top: c.logs.blocks.Top(), Brought: h.Logs.Brought, Events: events, Begun: events,
			Roots: first},
	}, nil
}
