package parquet

import (
	"bytes"
	"fmt"
	"log/slog"

	"tarn/fleet"
)

// order takes moves, and writes the blocks that are irreversible, each once ([stream.Taker]). After an interruption it
// forgets all that it has not written: the moves that follow the last block that it wrote come again.
type order struct {
	sink     sink
	ledger   Ledger
	limit    int64 // bytes of held blocks
	fromHere bool
	log      *slog.Logger

	// base is the block that the held ones follow. It is the one that was written last; or, while nothing was written,
	// or nothing after a gap, the block that the first move followed. That block may still be taken back while sure is
	// false.
	base fleet.Point
	sure bool
	met  bool          // a move has led to base: those that follow lead on
	away uint64        // the newest block, by its number, of moves that lead past base without it; 0 for none
	held []fleet.Block // not irreversible yet, as far as is known
	size int64         // about the bytes of those held
}

func newOrder(o *Options, s sink) *order {
	return &order{sink: s, ledger: o.Ledger, limit: o.Held, fromHere: o.FromHere, log: o.Log}
}

// From implements stream.Taker.
func (o *order) From() uint64 {
	o.base, o.sure = o.sink.written()
	o.met, o.away = false, 0
	o.hold(nil)
	return o.base.Revision
}

// Take implements stream.Taker.
func (o *order) Take(m *fleet.Move, newest bool) error {
	var blocks []fleet.Block
	if len(m.Blocks) > 0 {
		var err error
		if blocks, err = o.join(m, newest); err != nil {
			return err
		}
	}
	if !o.met {
		return nil
	}
	copied := len(o.held)
	o.held = append(o.held, blocks...)
	n, err := o.settle(m.Final)
	if err != nil {
		return err
	}
	return o.keep(n, max(n, copied))
}

// join finds where a move goes on, takes back what comes after that, and returns the blocks that are new.
func (o *order) join(m *fleet.Move, newest bool) ([]fleet.Block, error) {
	if o.met {
		o.away = 0
		if n, ok := o.find(m.Base()); ok {
			o.hold(o.held[:n])
			return m.Blocks, nil
		}
	}
	o.hold(nil)
	if m.Base() == o.base {
		o.met = true
		return m.Blocks, nil
	}
	for i := range m.Blocks {
		if m.Blocks[i].Point == o.base {
			o.met = true
			return m.Blocks[i+1:], nil
		}
	}
	if !o.sure {
		return o.begin(m)
	}
	o.met = false // the block may come again: the stream has moves from before it was irreversible
	return o.miss(m, newest)
}

// find returns how many of the held blocks lead to a block.
func (o *order) find(p fleet.Point) (int, bool) {
	for n := len(o.held); n > 0; n-- {
		if o.held[n-1].Point == p {
			return n, true
		}
	}
	return 0, p == o.base
}

// begin begins with a move: with the first one, or again with one that takes the block back that the first one
// followed.
func (o *order) begin(m *fleet.Move) ([]fleet.Block, error) {
	if last, any := o.sink.written(); any && m.Base().Revision < last.Revision {
		return nil, o.differs(m)
	}
	o.base, o.met = m.Base(), true
	return m.Blocks, nil
}

// miss looks whether base can still come, where a move tells neither what follows it nor the block itself.
func (o *order) miss(m *fleet.Move, newest bool) ([]fleet.Block, error) {
	if m.To().Revision < o.base.Revision || m.Base().Revision > max(o.base.Revision, o.away) {
		o.away = 0
	} else {
		o.away = m.To().Revision
	}
	// Where the publisher's irreversible block is above base, base is on the branch of the move, or of nothing that
	// follows.
	passed := m.To().Revision >= o.base.Revision && m.Final.Revision > o.base.Revision
	if !passed && !(newest && m.To().Revision > o.base.Revision) {
		return nil, nil
	}
	switch {
	case o.away > 0:
		return nil, o.differs(m)
	case !o.fromHere:
		return nil, fmt.Errorf(
			"%w block %d (%s), which is the last one that was exported: what is there follows block %d",
			ErrGap, o.base.Revision, o.base.ID, m.Base().Revision)
	}
	o.log.Warn("Blocks are missing in the export, as the stream does not have them", "after", o.base.Revision,
		"until", m.Base().Revision)
	o.sure = false
	return o.begin(m)
}

func (o *order) differs(m *fleet.Move) error {
	last, _ := o.sink.written()
	return fmt.Errorf("%w: blocks %d to %d do not lead to block %d (%s), which was exported",
		ErrOtherChain, m.Blocks[0].Revision, m.To().Revision, last.Revision, last.ID)
}

// settle writes the held blocks that have become irreversible, and returns how many.
func (o *order) settle(final fleet.Point) (n int, err error) {
	for n < len(o.held) && o.held[n].Revision <= final.Revision {
		b := &o.held[n]
		if b.Revision == final.Revision && b.ID != final.ID {
			return n, fmt.Errorf("%w: block %d (%s) is told as irreversible, and block %s in its place",
				fleet.ErrDamaged, final.Revision, final.ID, b.ID)
		}
		if err := o.sink.write(b); err != nil {
			return n, err
		}
		o.base, o.sure = b.Point, true
		n++
	}
	if final.Revision > o.base.Revision || final == o.base {
		o.sure = true
	}
	return n, nil
}

// keep drops the first n held blocks, which were written, and copies those from the copied-th on, which are parts of a
// message.
func (o *order) keep(n, copied int) error {
	for i := copied; i < len(o.held); i++ {
		o.held[i] = o.copy(&o.held[i])
	}
	o.hold(o.held[n:])
	if o.size > o.limit {
		return fmt.Errorf("%d blocks that can still be taken back follow block %d: they take %d bytes of memory, and "+
			"%d are allowed: %w",
			len(o.held), o.base.Revision, o.size, o.limit, fleet.ErrTooLarge)
	}
	return nil
}

// hold makes these the held blocks.
func (o *order) hold(list []fleet.Block) {
	rest := len(list)
	o.held = append(o.held[:0], list...)
	clear(o.held[rest:cap(o.held)])
	o.size = 0
	for i := range o.held {
		o.size += size(&o.held[i])
	}
}

// What a block and a record take in memory besides their data, in bytes, about.
const (
	blockBytes  = 192
	recordBytes = 32
)

func size(b *fleet.Block) int64 {
	n := blockBytes + int64(len(b.Rows))
	for _, r := range b.Records {
		n += recordBytes + int64(len(r.Data))
	}
	return n
}

// copy copies what the tables need of a block.
func (o *order) copy(b *fleet.Block) fleet.Block {
	c := fleet.Block{Parent: b.Parent, Point: b.Point, Rows: bytes.Clone(b.Rows)}
	for _, r := range b.Records {
		if o.ledger.needs(r.Log) {
			c.Records = append(c.Records, fleet.Record{Log: r.Log, Data: bytes.Clone(r.Data)})
		}
	}
	return c
}
