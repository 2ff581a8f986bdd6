package replica

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"tarn/antelope/chain"
	"tarn/antelope/consensus"
	"tarn/antelope/types"
	"tarn/fleet"
	"tarn/fleet/stream"
	"tarn/store"
)

// Replica is a chain that follows a fleet ([stream.Replica]).
type Replica struct {
	chain *chain.Chain
	store store.Store
	do    func(context.Context, func(*chain.Chain) error) error
	head  atomic.Pointer[standing]

	gathered sync.Pool // of *fleet.Latest
}

type standing struct{ head, final fleet.Point }

// New makes a replica of a chain that was brought to its head, and whose state is in a store. do brings work to the
// chain's writer.
func New(c *chain.Chain, st store.Store, do func(context.Context, func(*chain.Chain) error) error) *Replica {
	r := &Replica{chain: c, store: st, do: do, gathered: sync.Pool{New: func() any { return new(fleet.Latest) }}}
	r.stand()
	return r
}

// stand notes where the chain stands. The writer calls it.
func (r *Replica) stand() {
	r.head.Store(&standing{PointOf(r.chain.Head().HeaderState), PointOf(r.chain.Fork().Root().HeaderState)})
}

// Head is the newest block, and the last irreversible one. Any goroutine may ask.
func (r *Replica) Head() (head, final fleet.Point) {
	s := r.head.Load()
	return s.head, s.final
}

// View shows the head's state ([stream.Compared]).
func (r *Replica) View() (store.View, error) { return r.store.View() }

// Prepare implements [stream.Replica]. Readers see blocks that are applied all at once, but for those that are
// irreversible and follow the head: these they may see before the others.
func (r *Replica) Prepare(blocks []fleet.Block, final fleet.Point) (stream.Apply, error) {
	m := &move{blocks: blocks, final: final, decoded: make([][]chain.Told, len(blocks))}
	for i := range blocks {
		var err error
		if m.decoded[i], err = blocksOf(&blocks[i]); err != nil {
			return nil, err
		}
	}
	m.settled = 1 + slices.IndexFunc(blocks, func(b fleet.Block) bool { return b.Point == final })
	if m.settled > 1 || m.settled == 1 && len(m.decoded[0]) > 1 {
		rows := make([][]byte, m.settled)
		for i := range rows {
			rows[i] = blocks[i].Rows
		}
		m.latest = r.gathered.Get().(*fleet.Latest)
		if err := m.latest.Gather(rows); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context, base fleet.Point) error { return r.apply(ctx, base, m) }, nil
}

// move is what is applied at once.
type move struct {
	blocks  []fleet.Block
	decoded [][]chain.Told // of each
	final   fleet.Point
	settled int           // blocks up to the irreversible one
	latest  *fleet.Latest // their rows; nil if they cannot be one revision
}

// apply goes back to base and applies a move.
func (r *Replica) apply(ctx context.Context, base fleet.Point, m *move) error {
	err := r.do(ctx, func(c *chain.Chain) error {
		defer r.stand()
		follower := chain.NewFollower(c)
		ahead := c.Head().ID == types.Checksum256(base.ID) // readers never see the head go back to what is settled
		if err := follower.BackTo(types.Checksum256(base.ID)); err != nil {
			return err
		}
		decoded, blocks := m.decoded, m.blocks
		if ahead && m.latest != nil {
			if err := adoptSettled(follower, decoded[:m.settled], m.latest); err != nil {
				return err
			}
			decoded, blocks = decoded[m.settled:], blocks[m.settled:]
		}
		for i := range blocks {
			rows := blocks[i].Rows
			err := follower.Adopt(decoded[i], func(st store.Store) error { return fleet.Apply(st, rows) })
			if err != nil {
				return err
			}
		}
		return follower.Settle(types.Checksum256(m.final.ID))
	})
	if m.latest != nil {
		m.latest.Clear()
		r.gathered.Put(m.latest)
	}
	if errors.Is(err, chain.ErrOtherState) {
		return fmt.Errorf("%w: %w", fleet.ErrDiffers, err)
	}
	return err
}

// adoptSettled adopts blocks that are irreversible, and with them the head that they follow, as one
// revision: a row that several of them change is written once, and its page is copied once.
func adoptSettled(follower chain.Follower, decoded [][]chain.Told, rows *fleet.Latest) error {
	if err := follower.SettleHead(); err != nil {
		return err
	}
	return follower.Adopt(slices.Concat(decoded...), rows.Apply)
}

// Load makes a chain's empty state that of a snapshot.
func Load(c *chain.Chain, st store.Store, im *fleet.ImageReader, progress func(rows int64) error) error {
	if im.Ledger != Ledger {
		return fmt.Errorf("the fleet's snapshot is of %q, not of %q", im.Ledger, Ledger)
	}
	return chain.NewFollower(c).LoadRows(func() error { return im.Load(st, progress) },
		func(h *consensus.BlockState) error {
			if PointOf(h.HeaderState) != im.Point {
				return fmt.Errorf("%w: the snapshot's state is of block %d, its header says %d",
					fleet.ErrDamaged, h.BlockNum, im.Revision)
			}
			return nil
		})
}
