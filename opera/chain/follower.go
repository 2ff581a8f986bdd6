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

// A chain that follows executes nothing: another node tells it what each block changed in the rows that all nodes have
// alike, and what it brought to the logs, its root included. It has no events but those with transactions of its
// blocks, no votes, and no tries: it proves nothing. Its store says that it is one, and no node goes on with it.

// Errors of chains that follow.
var (
	ErrOtherState = errors.New("what another node tells does not fit to the state here")
	ErrFollows    = errors.New("the state is that of a replica, which executes no blocks")
	ErrExecutes   = errors.New("the state is that of a node, not of a replica")
)

// Follower is a chain that follows. The methods that it shares with [Chain] may be called by whom they say; its own are
// the writer's.
type Follower struct{ *Chain }

// BeginFollower makes the store's rows, which were loaded, a chain that follows, and makes it durable. records are
// the last blocks before and at the head, in their order, for those who ask for them and for contracts that ask for
// their ids. Interrupted, the store is of no use: whoever calls this marks it until it returns.
func BeginFollower(o Options, records []*inter.BlockRecord) (err error) {
	c, err := openTables(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	h, err := c.rows.getHead(c.store)
	if err == nil && h == nil {
		err = ErrEmpty
	}
	if err != nil {
		return err
	}
	last := h.Block.LastBlock.Number
	h.Follows, h.Logs = true, counted{First: last + 1, Roots: last + 1}
	if c.logs, err = o.History.open(h.Logs, last); err != nil {
		return err
	}
	if c.logs.events.Next() != 0 || c.logs.blocks.Records() != 0 || c.logs.blocks.Next() != last+1 {
		return fmt.Errorf("the history in %s: %w", o.History.o.Dir, ErrNotEmpty)
	}
	for i, r := range records {
		if want := last + 1 - inter.BlockNumber(len(records)-i); r.Number != want {
			return fmt.Errorf("%w: block %d comes in the place of block %d", ErrOtherState, r.Number, want)
		}
		if err := c.logs.blocks.AppendRecord(r.Number, recordEntry(r)); err != nil {
			return err
		}
	}
	// The head of a genesis is of no event, whatever its block says.
	n, id := len(records), h.Block.LastBlock.Atropos
	if n == 0 || id != (inter.EventID{}) && records[n-1].Block.Atropos != id {
		return fmt.Errorf("%w: block %d, the head, does not come with it", ErrOtherState, last)
	}
	return opening{c}.createHead(h)
}

// OpenFollower opens a chain that follows, where its last image has it.
func OpenFollower(o Options) (Follower, error) {
	c, err := openTables(o)
	if err != nil {
		return Follower{}, err
	}
	h, err := c.rows.getHead(c.store)
	switch {
	case err != nil:
	case h == nil:
		err = ErrEmpty
	case !h.Follows:
		err = ErrExecutes
	default:
		c.logs, err = o.History.open(h.Logs, h.Block.LastBlock.Number)
	}
	if err != nil {
		return Follower{}, err
	}
	f := Follower{c}
	if err := f.resume(h); err != nil {
		return Follower{}, errors.Join(err, c.Close())
	}
	return f, nil
}

// resume goes on from a head.
func (f Follower) resume(h *head) error {
	c := f.Chain
	// Events of blocks that are told again come again.
	if err := c.logs.events.Cut(h.Logs.Events); err != nil {
		return fmt.Errorf("cut the log of events: %w", err)
	}
	c.network, c.counted = h.Network, h.Logs
	f.stand(h)
	return nil
}

// stand makes a head what memory says.
func (f Follower) stand(h *head) {
	c := f.Chain
	if c.config == nil || len(h.Upgrades) != len(c.upgrades) {
		c.config = evm.ChainConfig(c.network.ID, h.Upgrades)
	}
	c.block, c.decided, c.upgrades = h.Block, h.Decided, h.Upgrades
	if c.epoch == nil || c.epoch.Epoch != h.Epoch.Epoch {
		c.epoch = &h.Epoch
		c.begin(h.Block.LastBlock.Number)
		c.newest.none() // who asks for the newest events takes those that are confirmed
	}
	next := llr.State{Block: h.Block.LastBlock.Number + 1, Epoch: h.Epoch.Epoch + 1}
	c.frontier.Store(&Frontier{Undecided: next, Unfilled: next})
	c.show()
}

// Adopt makes a block the head, and shows it: change puts its rows into the store. An error that wraps
// [ErrOtherState], and any of change, leaves the chain as it was; after another one nothing can go on.
func (f Follower) Adopt(t *Told, change func(store.Store) error) error {
	c := f.Chain
	if c.failed != nil {
		return c.failed
	}
	if want := c.block.LastBlock.Number + 1; t.Number != want {
		return fmt.Errorf("%w: block %d comes where %d is expected", ErrOtherState, t.Number, want)
	}
	if err := t.check(); err != nil {
		return err
	}
	if err := c.store.Begin(); err != nil {
		return c.fail(err)
	}
	h, err := f.replace(t, change)
	if err != nil {
		if undo := c.store.Undo(); undo != nil {
			return c.fail(errors.Join(err, undo))
		}
		return fmt.Errorf("adopt block %d: %w", t.Number, err)
	}
	if err := f.write(t, h); err != nil {
		return c.fail(fmt.Errorf("write the revision of block %d: %w", t.Number, err))
	}
	c.counted = h.Logs
	f.stand(h)
	return f.connected(t)
}

// checkEvents looks whether the block names the events that come with it, each once.
func (t *Told) checkEvents() error {
	for i, at := range t.Block.Events {
		if at != uint64(i) {
			return fmt.Errorf("%w: block %d names event %d in the place of %d", ErrOtherState, t.Number, at, i)
		}
	}
	if n := len(t.Block.Events); n != len(t.Events) {
		return fmt.Errorf("%w: %d events come with block %d, which has %d", ErrOtherState, len(t.Events), t.Number, n)
	}
	return nil
}

// check looks whether what is told is of one piece.
func (t *Told) check() error {
	if err := t.checkEvents(); err != nil {
		return err
	}
	if err := state.CheckEntry(t.Before); err != nil {
		return fmt.Errorf("%w: block %d: %w", ErrOtherState, t.Number, err)
	}
	for i := range t.Events {
		p, err := inter.DecodePayload(t.Events[i].Raw)
		if err == nil && p.ID() != t.Events[i].ID {
			err = fmt.Errorf("it is %v", p.ID())
		}
		if err != nil {
			return fmt.Errorf("%w: event %v of block %d: %w", ErrOtherState, t.Events[i].ID, t.Number, err)
		}
	}
	return nil
}

// replace changes the rows in the open session, and returns the head that they lead to.
func (f Follower) replace(t *Told, change func(store.Store) error) (*head, error) {
	c := f.Chain
	if err := change(c.store); err != nil {
		return nil, err
	}
	h, err := c.rows.getHead(c.store)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOtherState, err)
	}
	switch last := h.Block.LastBlock; {
	case h.Network != c.network:
		return nil, fmt.Errorf("%w: it is of network %d (%s)", ErrOtherState, h.Network.ID, h.Network.Name)
	case last.Number != t.Number || last.Atropos != t.Block.ID || last.Time != t.Block.Time:
		return nil, fmt.Errorf("%w: the rows lead to block %d (%v)", ErrOtherState, last.Number, last.Atropos)
	}
	return h, nil
}

// write writes the block into the logs and ends its revision.
func (f Follower) write(t *Told, h *head) error {
	c := f.Chain
	block := t.Block
	block.Events = make([]uint64, len(t.Events))
	h.Follows, h.Logs = true, c.counted
	for i := range t.Events {
		n, err := c.logs.events.Append(t.Events[i].ID, t.Events[i].Raw)
		if err != nil {
			return err
		}
		block.Events[i] = n
	}
	h.Logs.Events = c.logs.events.Next()
	h.Logs.Begun, h.Logs.Roots = h.Logs.Events, t.Number+1
	for _, step := range []func() error{
		c.logs.events.Flush,
		func() error { return c.logs.blocks.Append(t.Number, &block) },
		func() error { return c.logs.states.AppendEntry(uint64(t.Number), t.Before) },
		func() error { return c.logs.blocks.AppendRoot(t.Number, t.Root) },
		func() error { return c.rows.putHead(c.store, h) },
		c.store.Push,
		func() error { return c.store.Commit(uint64(t.Number)) },
		c.store.Publish,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	t.Block.Events = block.Events
	return nil
}

// connected tells of the block, and lets the logs be sorted.
func (f Follower) connected(t *Told) error {
	c := f.Chain
	if c.options.Connected != nil {
		b, err := c.logs.assemble(t.Number, &t.Block)
		if err != nil {
			return c.fail(err)
		}
		c.options.Connected(b)
	}
	if err := c.settle(); err != nil {
		return c.fail(err)
	}
	return nil
}
