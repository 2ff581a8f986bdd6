package chain

import (
	"context"
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
	if h == nil || h.Follows {
		c.roots.Close()
		if h != nil {
			return nil, ErrFollows
		}
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

// prepare opens the tables, and begins to compute roots.
func prepare(o Options) (*Chain, error) {
	c, err := openTables(o)
	if err != nil {
		return nil, err
	}
	if c.roots, err = c.state.StartRoots(o.Store, state.RootsOptions{}); err != nil {
		return nil, err
	}
	return c, nil
}

func openTables(o Options) (*Chain, error) {
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
	if err := errors.Join(c.votes.Resume(c.undecidedState, c.inventory()), c.resumeRecords()); err != nil {
		return err
	}
	sealed := written.State.BlockState.LastBlock.Number
	c.begin(sealed)
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
// not needed any more. They are read ahead, and decoded on all processors, so that blocks take no
// longer than when they were made first.
func (c opening) refeed() error {
	r := refeeding{Chain: c.Chain, first: c.counted.Begun, known: c.counted.Events, end: c.logs.events.Next()}
	c.connected = r.known
	return processInOrder(context.Background(), r.read, r.decode, r.take)
}

// refeeding is the epoch's events on their way from the log to consensus: those from first to end, of
// which the store knows of those before known.
type refeeding struct {
	*Chain
	first, known, end uint64
}

// logged is an event of the log.
type logged struct {
	number uint64
	id     inter.EventID
	raw    []byte
	event  *inter.Payload // once it is decoded
}

func (r *refeeding) read(yield func(logged, error) bool) {
	for n := r.first; n < r.end; n++ {
		id, raw, err := r.logs.events.Read(n)
		if !yield(logged{number: n, id: id, raw: raw}, err) || err != nil {
			return
		}
	}
}

// decode decodes an event. Senders are found of those that the store does not know of; of others
// they are when a block is made, and of most there is one.
func (r *refeeding) decode(e logged) (_ logged, err error) {
	if e.number < r.known {
		e.event, err = inter.DecodePayload(e.raw)
	} else {
		e.event, err = r.verifier.Decode(e.raw)
	}
	if err != nil {
		return e, fmt.Errorf("event %d of the log, %v: %w", e.number, e.id, err)
	}
	return e, nil
}

// take gives an event to consensus, and makes the blocks that it decides and the store does not have.
func (r *refeeding) take(e logged) error {
	if err := r.dag.Add(consensusEvent(e.event)); err != nil {
		return fmt.Errorf("event %d of the log, %v: %w", e.number, e.id, err)
	}
	r.keep(e.event, e.number)
	if e.number >= r.known {
		if err := r.vote(e.event); err != nil {
			return err
		}
	}
	if r.options.Progress != nil {
		r.options.Progress(e.number+1-r.first, r.end-r.first)
	}
	if e.number+1 >= r.known {
		return r.decide()
	}
	return nil
}
