// Package replica joins an Antelope chain to a fleet: what a node's blocks changed becomes moves, and moves become
// the blocks of a chain elsewhere, which executes nothing.
//
// It owns what a record of a move holds, and the order in which a replica's state, logs and fork database take a
// move. It opens no connection (fleet/stream does) and no file.
package replica

import (
	"context"
	"fmt"

	"tarn/antelope/chain"
	"tarn/antelope/consensus"
	"tarn/antelope/types"
	"tarn/fleet"
	"tarn/fleet/stream"
	"tarn/store"
)

// Ledger is the protocol's name in snapshots.
const Ledger = "antelope"

// The logs of records. Others are entries of histories, by the numbers of [chain.Entry], behind their block.
const logBlocks = 0 // packed blocks, as in the block log; of a replay several to a revision

// Origin is a chain that a fleet follows. Its hooks are the chain's from its first block on.
type Origin struct {
	chain  *chain.Chain
	store  store.Store
	memory int64
	line   *fleet.Line
	do     func(context.Context, func(*chain.Chain) error) error

	packings []chain.Packing
	executed []*chain.Executed // blocks of the revision that is pushed next
	rows     *fleet.Rows       // of that revision; empty until it is pushed
}

// NewOrigin makes the origin of a chain whose state is in a store. Its hooks are to be the chain's. memory is how many
// bytes of blocks are held for the fleet, those included that were published. packings are what the node's histories
// keep, which the fleet gets too.
func NewOrigin(c *chain.Chain, st store.Store, memory int64, packings ...chain.Packing) *Origin {
	return &Origin{chain: c, store: st, memory: memory, packings: packings, rows: &fleet.Rows{}}
}

// Hooks are what the chain has to tell. Those of histories come before.
func (o *Origin) Hooks() chain.Hooks {
	h := chain.Hooks{
		Begin: func(head *consensus.BlockState) error {
			o.line = fleet.NewLine(PointOf(head.HeaderState), o.store.Tables, o.memory)
			return nil
		},
		Pushed:  o.pushed,
		Settled: o.settled,
	}
	if len(o.packings) > 0 {
		h.Record = func(x *chain.Executed) error {
			o.executed = append(o.executed, x)
			return nil
		}
	}
	return h
}

// PointOf is a block as fleets know it.
func PointOf(h *consensus.HeaderState) fleet.Point {
	return fleet.Point{Revision: uint64(h.BlockNum), ID: fleet.ID(h.ID)}
}

// pushed adds a revision to the line.
func (o *Origin) pushed(blocks []*consensus.BlockState, changed chain.ChangedRows) error {
	rows := o.rows
	if err := changed(rows.Add); err != nil {
		return err
	}
	o.rows = o.line.RowsLike(rows)
	first, last := blocks[0], blocks[len(blocks)-1]
	b := fleet.Block{
		Parent: fleet.Point{Revision: uint64(first.BlockNum) - 1, ID: fleet.ID(first.Header.Previous)},
		Point:  PointOf(last.HeaderState),
	}
	executed := o.executed[max(0, len(o.executed)-len(blocks)):]
	o.executed = nil
	list := make([]*types.SignedBlock, len(blocks)) // without the header states
	later := fleet.Later{Rows: rows, Records: func() ([]fleet.Record, error) { return o.records(list, executed) }}
	for i, x := range blocks {
		list[i] = x.Block
		later.Size += size(x.Block)
	}
	for _, x := range executed {
		later.Size += x.Size()
	}
	o.line.Add(b, later)
	return nil
}

// size is about how much memory a block takes, in bytes.
func size(b *types.SignedBlock) int64 {
	const block, transaction = 1024, 256
	n := int64(block)
	for i := range b.Transactions {
		n += transaction
		if p := b.Transactions[i].Packed; p != nil {
			n += int64(len(p.PackedTrx) + len(p.PackedContextFreeData))
		}
	}
	return n
}

// records packs blocks, each with what histories keep of it. It runs beside the writer.
func (o *Origin) records(blocks []*types.SignedBlock, executed []*chain.Executed) (list []fleet.Record, err error) {
	for i, x := range blocks {
		list = append(list, fleet.Record{Log: logBlocks, Data: x.Append(nil)})
		if len(o.packings) == 0 {
			continue
		}
		if i >= len(executed) || executed[i].Block.Block != x {
			return nil, fmt.Errorf("block %d was not recorded before it was pushed", x.BlockNum())
		}
		for _, p := range o.packings {
			b, err := p.Pack(executed[i])
			if err != nil {
				return nil, fmt.Errorf("pack a history's entry of block %d: %w", x.BlockNum(), err)
			}
			list = append(list, fleet.Record{Log: uint8(p.Entry), Data: b})
		}
	}
	return list, nil
}

func (o *Origin) settled() {
	final := o.chain.Head()
	if o.store.Irreversible() < uint64(final.BlockNum) {
		final = o.chain.Fork().Root()
	}
	o.line.Show(PointOf(final.HeaderState), o.chain.Head().Header.Timestamp.TimePoint().Time())
}

// Serve tells the origin how work comes to the chain's writer between blocks; [Origin.Line] and [Origin.Image] may be
// called from then on, by any goroutine.
func (o *Origin) Serve(do func(context.Context, func(*chain.Chain) error) error) { o.do = do }

// Line has what the chain's blocks changed.
func (o *Origin) Line() *fleet.Line { return o.line }

// Image shows the head's state.
func (o *Origin) Image(ctx context.Context) (im stream.Image, err error) {
	err = o.do(ctx, func(c *chain.Chain) error {
		if err := c.Publish(); err != nil {
			return err
		}
		im.ImageHeader = fleet.ImageHeader{Ledger: Ledger, Chain: fleet.ID(c.ID()),
			Point: PointOf(c.Head().HeaderState)}
		im.View, err = o.store.View()
		return err
	})
	if err != nil {
		return im, fmt.Errorf("show the state of the head to the fleet: %w", err)
	}
	return im, nil
}

// blocksOf decodes the blocks of a revision, each with the histories' entries behind it.
func blocksOf(b *fleet.Block) (list []chain.Told, err error) {
	for i := range b.Records {
		r := &b.Records[i]
		if r.Log == logBlocks {
			x := new(types.SignedBlock)
			if err := types.Decode(r.Data, x); err != nil {
				return nil, fmt.Errorf("%w: a block of revision %d: %w", fleet.ErrDamaged, b.Revision, err)
			}
			list = append(list, chain.Told{Block: x, Entries: chain.Entries{}})
			continue
		}
		if len(list) == 0 {
			return nil, fmt.Errorf("%w: revision %d has entries of histories before a block",
				fleet.ErrDamaged, b.Revision)
		}
		list[len(list)-1].Entries[chain.Entry(r.Log)] = r.Data
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%w: revision %d comes without its block", fleet.ErrDamaged, b.Revision)
	}
	return list, nil
}
