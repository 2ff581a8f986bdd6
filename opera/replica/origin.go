// Package replica joins an Opera chain to a fleet: what a node's blocks changed becomes moves, and moves become the
// blocks of a chain elsewhere, which executes nothing and has no events but those of its blocks.
//
// It owns what a record of a move holds, in what order a replica takes a move, and how a replica asks a node about
// transactions that wait. It opens no connection (fleet/stream does) and no file.
package replica

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/rlp"

	"tarn/fleet"
	"tarn/fleet/stream"
	"tarn/opera/chain"
	"tarn/opera/inter"
	"tarn/opera/state"
	"tarn/store"
)

// Ledger is the protocol's name in snapshots.
const Ledger = "opera"

// The kinds of records: of a move, what a block brings to the logs; of a snapshot, a block before its head or that.
const (
	recordTold  = 0
	recordBlock = 1
)

// snapshotBlocks is how many blocks up to the head a snapshot brings: what is called after the head may ask for the ids of
// the 256 before it.
const snapshotBlocks = 257

// snapshotBytes is how many bytes these blocks may have together, but for the head: with more the oldest are left out.
const snapshotBytes = 128 << 20

// PointOf is a block as fleets know it.
func PointOf(b inter.BlockInfo) fleet.Point {
	return fleet.Point{Revision: uint64(b.Number), ID: fleet.ID(b.Atropos)}
}

// Origin is a chain that a fleet follows. A block is told to the fleet when its root is known, which is when the
// node shows it.
type Origin struct {
	memory int64
	log    *slog.Logger
	rows   *fleet.Rows // of the next block; empty until it is pushed; the writer's

	teller chain.Teller
	do     func(context.Context, func(*chain.Chain) error) error
	line   *fleet.Line

	mu     sync.Mutex
	queue  []pushed
	bytes  int64
	notify chan struct{}
}

// pushed is a block whose root may not be known yet.
type pushed struct {
	parent, at fleet.Point
	made       time.Time
	rows       *fleet.Rows
}

// NewOrigin makes the origin of a chain that is not open yet, and whose option Pushed is [Origin.Pushed]. memory is how
// many bytes of blocks are held for the fleet, those included that were published.
func NewOrigin(memory int64, log *slog.Logger) *Origin {
	return &Origin{memory: memory, log: log, rows: &fleet.Rows{}, notify: make(chan struct{}, 1)}
}

// Pushed takes what a block changed, also of those that are made again at the start: they may be where the stream ends.
// The writer calls it.
func (o *Origin) Pushed(before inter.BlockInfo, b *chain.Block, changed chain.ChangedRows) error {
	rows := o.rows
	if err := changed(rows.Add); err != nil {
		return fmt.Errorf("tell the fleet of block %d: %w", b.Number, err)
	}
	at := fleet.Point{Revision: uint64(b.Number), ID: fleet.ID(b.ID)}
	o.mu.Lock()
	if o.line == nil {
		o.rows = rows.Like()
	} else {
		o.rows = o.line.RowsLike(rows)
	}
	o.queue, o.bytes = append(o.queue, pushed{PointOf(before), at, time.Unix(0, int64(b.Time)), rows}), o.bytes+rows.Size()
	for o.bytes > o.memory && len(o.queue) > 1 { // the line begins again then
		o.bytes -= o.queue[0].rows.Size()
		o.queue = o.queue[1:]
	}
	o.mu.Unlock()
	select {
	case o.notify <- struct{}{}:
	default:
	}
	return nil
}

// Begin has the fleet told of the blocks of a chain that is open, before it makes more. do brings work to its writer.
// [Origin.Line] and [Origin.Image] may be called from then on, by any goroutine.
func (o *Origin) Begin(c *chain.Chain, do func(context.Context, func(*chain.Chain) error) error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.teller, o.do = chain.NewTeller(c), do
	base := PointOf(c.Head())
	if len(o.queue) > 0 {
		base = o.queue[0].parent
	}
	o.line = fleet.NewLine(base, o.teller.Tables, o.memory)
	o.line.Show(base, time.Time{})
}

// Run tells the fleet of blocks whose roots have become known, until ctx ends.
func (o *Origin) Run(ctx context.Context) {
	for {
		b, ok := o.next()
		if !ok {
			select {
			case <-ctx.Done():
				return
			case <-o.notify:
			}
			continue
		}
		record, err := o.record(inter.BlockNumber(b.at.Revision))
		switch {
		case ctx.Err() != nil || errors.Is(err, state.ErrRootsClosed):
			return
		case err != nil: // the line has a gap then, and begins again with a snapshot
			o.log.Error("A block was not published to the fleet", "block", b.at.Revision, "err", err)
			continue
		}
		o.line.Add(fleet.Block{Parent: b.parent, Point: b.at, Records: []fleet.Record{record}},
			fleet.Later{Rows: b.rows})
		o.line.Show(b.at, b.made)
	}
}

func (o *Origin) next() (b pushed, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.queue) == 0 {
		return b, false
	}
	b, o.queue = o.queue[0], o.queue[1:]
	o.bytes -= b.rows.Size()
	return b, true
}

// record is what a block brings to the logs.
func (o *Origin) record(number inter.BlockNumber) (fleet.Record, error) {
	told, err := o.teller.Tell(number)
	if err != nil {
		return fleet.Record{}, err
	}
	data, err := rlp.EncodeToBytes(told)
	return fleet.Record{Log: recordTold, Data: data}, err
}

// Line has what the chain's blocks changed.
func (o *Origin) Line() *fleet.Line { return o.line }

// Image shows the head's state, and the blocks before it.
func (o *Origin) Image(ctx context.Context) (im stream.Image, err error) {
	var at *chain.View
	var rows store.View
	err = o.do(ctx, func(c *chain.Chain) error {
		if at, err = c.View(); err == nil {
			rows, err = o.teller.View()
		}
		return err
	})
	if at != nil {
		defer at.Close() //nolint:errcheck // nothing was written
	}
	if err == nil {
		im.View = rows
		im.ImageHeader = fleet.ImageHeader{Ledger: Ledger, Chain: fleet.ID(at.Network().GenesisID),
			Point: PointOf(at.Head())}
		im.Records, err = blocks(at)
	}
	if err == nil {
		err = o.await(ctx, im.Point)
	}
	if err != nil {
		if rows != nil {
			err = errors.Join(err, rows.Close())
		}
		return im, fmt.Errorf("show the state of the head to the fleet: %w", err)
	}
	return im, nil
}

// awaitTime is how long a root may be waited for.
const awaitTime = time.Minute

// await waits until the line has a block whose root is known.
func (o *Origin) await(ctx context.Context, p fleet.Point) error {
	ctx, done := context.WithTimeoutCause(ctx, awaitTime,
		fmt.Errorf("block %d is not told within %v", p.Revision, awaitTime))
	defer done()
	for !o.line.Has(p) {
		if head, _ := o.line.Head(); head.Revision >= p.Revision {
			return nil // it was, and the line's memory is small: who waits for it hears of the gap
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}

// blocks are the head and those before it that there are, of which the oldest comes first.
func blocks(v *chain.View) (list []fleet.Record, err error) {
	head := v.Head().Number
	for n := max(1, head-min(head, snapshotBlocks-1)); n <= head; n++ {
		r, err := v.BlockRecord(n)
		if err != nil {
			return nil, err
		}
		if r == nil {
			list = list[:0]
			continue
		}
		data, err := rlp.EncodeToBytes(r)
		if err != nil {
			return nil, fmt.Errorf("encode block %d: %w", n, err)
		}
		list = append(list, fleet.Record{Log: recordBlock, Data: data})
	}
	bytes := 0
	for i := len(list) - 1; i >= 0; i-- {
		if bytes += len(list[i].Data); bytes > snapshotBytes && i < len(list)-1 {
			return list[i+1:], nil
		}
	}
	return list, nil
}
