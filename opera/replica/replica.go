package replica

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/ethereum/go-ethereum/rlp"

	"tarn/fleet"
	"tarn/fleet/stream"
	"tarn/opera/chain"
	"tarn/opera/inter"
	"tarn/store"
)

// Replica is a chain that follows a fleet ([stream.Replica]).
type Replica struct {
	chain chain.Follower
	do    func(context.Context, func(*chain.Chain) error) error
	head  atomic.Pointer[fleet.Point]
}

// New makes a replica of a chain that is open. do brings work to the chain's writer.
func New(c chain.Follower, do func(context.Context, func(*chain.Chain) error) error) *Replica {
	r := &Replica{chain: c, do: do}
	r.stand()
	return r
}

// stand notes where the chain stands. The writer calls it.
func (r *Replica) stand() {
	p := PointOf(r.chain.Head())
	r.head.Store(&p)
}

// Head is the newest block, which is irreversible, as all are. Any goroutine may ask.
func (r *Replica) Head() (head, final fleet.Point) {
	p := *r.head.Load()
	return p, p
}

// View shows the head's rows that all nodes have alike ([stream.Compared]).
func (r *Replica) View() (store.View, error) { return chain.NewTeller(r.chain.Chain).View() }

// Prepare implements [stream.Replica]: it decodes blocks that are going to follow the head.
func (r *Replica) Prepare(blocks []fleet.Block, _ fleet.Point) (stream.Apply, error) {
	told := make([]*chain.Told, len(blocks))
	for i := range blocks {
		var err error
		if told[i], err = decodeTold(&blocks[i]); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context, base fleet.Point) error { return r.apply(ctx, base, blocks, told) }, nil
}

// apply applies blocks that follow the head. Readers see each at once.
func (r *Replica) apply(ctx context.Context, base fleet.Point, blocks []fleet.Block, told []*chain.Told) error {
	err := r.do(ctx, func(*chain.Chain) error {
		defer r.stand()
		if at := PointOf(r.chain.Head()); base != at {
			return fmt.Errorf("%w: blocks follow block %d (%s), and block %d (%s) is irreversible here",
				fleet.ErrDiffers, base.Revision, base.ID, at.Revision, at.ID)
		}
		for i := range blocks {
			rows := blocks[i].Rows
			err := r.chain.Adopt(told[i], func(st store.Store) error { return fleet.Apply(st, rows) })
			if err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, chain.ErrOtherState) {
		return fmt.Errorf("%w: %w", fleet.ErrDiffers, err)
	}
	return err
}

// decodeTold decodes what a block brings to the logs.
func decodeTold(b *fleet.Block) (*chain.Told, error) {
	if len(b.Records) != 1 || b.Records[0].Log != recordTold {
		return nil, fmt.Errorf("%w: block %d comes with %d records", fleet.ErrDamaged, b.Revision, len(b.Records))
	}
	t := new(chain.Told)
	if err := rlp.DecodeBytes(b.Records[0].Data, t); err != nil {
		return nil, fmt.Errorf("%w: the record of block %d: %w", fleet.ErrDamaged, b.Revision, err)
	}
	if uint64(t.Number) != b.Revision || fleet.ID(t.Block.ID) != b.ID {
		return nil, fmt.Errorf("%w: the record of block %d is of block %d (%v)",
			fleet.ErrDamaged, b.Revision, t.Number, t.Block.ID)
	}
	return t, nil
}

// Load fills a store with a snapshot, and makes it a chain that follows.
func Load(o chain.Options, im *fleet.ImageReader, progress func(rows int64) error) error {
	if im.Ledger != Ledger {
		return fmt.Errorf("the fleet's snapshot is of %q, not of %q", im.Ledger, Ledger)
	}
	records := make([]*inter.BlockRecord, len(im.Records))
	for i, r := range im.Records {
		records[i] = new(inter.BlockRecord)
		if r.Log != recordBlock {
			return fmt.Errorf("%w: a record of kind %d in a snapshot", fleet.ErrDamaged, r.Log)
		}
		if err := rlp.DecodeBytes(r.Data, records[i]); err != nil {
			return fmt.Errorf("%w: a block of a snapshot: %w", fleet.ErrDamaged, err)
		}
	}
	if n := len(records); n == 0 || uint64(records[n-1].Number) != im.Revision {
		return fmt.Errorf("%w: the snapshot of block %d comes without that block", fleet.ErrDamaged, im.Revision)
	}
	if err := im.Load(o.Store, progress); err != nil {
		return err
	}
	return chain.BeginFollower(o, records)
}
