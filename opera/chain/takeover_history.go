package chain

import (
	"errors"
	"fmt"
	"iter"

	"github.com/ethereum/go-ethereum/core/types"

	"tarn/opera/blocklog"
	"tarn/opera/inter"
	"tarn/opera/llr"
)

// takenEvent is an event of the folder.
type takenEvent struct {
	id  inter.EventID
	raw []byte
}

// events brings the events, in the order of their ids, in which parents come first.
func (x *takeover) events() error {
	first, err := x.From.LowestEvent()
	if err != nil {
		return err
	}
	stopped := errors.New("stopped")
	items := func(yield func(takenEvent, error) bool) {
		err := x.From.Events(func(id inter.EventID, raw []byte) error {
			if !yield(takenEvent{id, raw}, nil) {
				return stopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, stopped) {
			yield(takenEvent{}, err)
		}
	}
	return processInOrder(x.ctx, items, x.checkEvent, func(e takenEvent) error {
		n, err := x.logs.events.Append(e.id, e.raw)
		if err != nil {
			return err
		}
		x.counted.Events = n + 1
		if e.id.Epoch() < x.epoch.Epoch {
			x.counted.Begun = n + 1
		}
		x.say("events", uint64(e.id.Epoch()-first), uint64(x.epoch.Epoch-first)+1)
		if n%(16*settleAfter) == 0 {
			return x.logs.events.Settle(n)
		}
		return nil
	})
}

// checkEvent compares an event with the hashes that name it. That of the present epoch's
// beginning is in the first events of it.
func (x *takeover) checkEvent(e takenEvent) (takenEvent, error) {
	p, err := inter.DecodePayload(e.raw)
	switch {
	case err != nil:
	case p.ID() != e.id:
		err = fmt.Errorf("its id is %v: %w", p.ID(), ErrDiffers)
	case p.HashPayload() != p.PayloadHash:
		err = fmt.Errorf("its transactions or votes: %w", ErrDiffers)
	case p.Epoch > x.epoch.Epoch:
		err = fmt.Errorf("its epoch comes after %d, the present one: %w", x.epoch.Epoch, ErrDiffers)
	case p.Epoch == x.epoch.Epoch && p.PrevEpochHash != nil && *p.PrevEpochHash != x.epoch.Hash():
		err = fmt.Errorf("the hash of the epoch's beginning in it: %w", ErrDiffers)
	}
	if err != nil {
		return e, fmt.Errorf("event %v of the folder: %w", e.id, err)
	}
	return e, nil
}

// takenBlock is a block of the folder as the log has it.
type takenBlock struct {
	number inter.BlockNumber
	entry  *blocklog.Block // nil: there is none
	root   [32]byte
}

// ownBlocks brings the blocks whose changes are known, with their roots.
func (x *takeover) ownBlocks() error {
	first, last := x.counted.First, x.block.LastBlock.Number
	if first > last {
		return nil
	}
	return processInOrder(x.ctx, upward(first, last), x.takeBlock, func(b takenBlock) error {
		if b.entry == nil {
			return fmt.Errorf("block %d of the folder: it is missing", b.number)
		}
		b.entry.Root = nil // it has a log of its own
		err := x.logs.blocks.Append(b.number, b.entry)
		if err == nil {
			err = x.logs.blocks.AppendRoot(b.number, b.root)
		}
		x.say("blocks with old states", uint64(b.number-first+1), uint64(last-first+1))
		if err == nil && (b.number-first)%settleAfter == settleAfter-1 {
			err = x.logs.blocks.Settle(b.number + 1)
		}
		return err
	})
}

// errNoBlock ends the walk over blocks at the first one that is not there.
var errNoBlock = errors.New("there is no such block")

// broughtBlocks brings the blocks before those, newest first, down to the first one that is
// not there.
func (x *takeover) broughtBlocks() error {
	if x.lowest == 0 {
		return nil
	}
	first, total := x.counted.First, uint64(x.counted.First-x.lowest)
	err := processInOrder(x.ctx, downward(first-1, x.lowest), x.takeBlock, func(b takenBlock) error {
		if b.entry == nil {
			return fmt.Errorf("block %d: %w", b.number, errNoBlock)
		}
		if err := x.logs.blocks.AppendBrought(b.number, b.entry); err != nil {
			return err
		}
		x.counted.Brought++
		x.say("blocks without old states", x.counted.Brought, total)
		if x.counted.Brought%settleAfter == 0 {
			return x.logs.blocks.Settle(0)
		}
		return nil
	})
	if errors.Is(err, errNoBlock) {
		// go-opera fills records in from the lowest on, which may have ended before it met the
		// blocks that it made itself.
		x.warn(fmt.Errorf("the folder has blocks from %d on with a gap, %w: those below are left out", x.lowest, err))
		return nil
	}
	return err
}

// downward counts from one number down to another, both included.
func downward(from, to inter.BlockNumber) iter.Seq2[inter.BlockNumber, error] {
	return func(yield func(inter.BlockNumber, error) bool) {
		for n := from; n >= to && yield(n, nil); n-- {
		}
	}
}

// takeBlock reads a block, makes it an entry of the log, and compares its record with what
// validators have decided, if they have.
func (x *takeover) takeBlock(n inter.BlockNumber) (t takenBlock, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("block %d of the folder: %w", n, err)
		}
	}()
	t.number = n
	b, err := x.From.Block(n)
	if err != nil || b == nil {
		return t, err
	}
	t.root = b.Root
	t.entry = &blocklog.Block{
		ID: b.ID, Time: b.Time, GasUsed: b.GasUsed, Txs: b.Txs, Skipped: b.Skipped, Receipts: b.Receipts,
		Root: b.Root[:],
	}
	all := append(types.Transactions(nil), b.Txs...)
	payloads := make([]*inter.Payload, 0, len(b.Events))
	for _, id := range b.Events {
		number, raw, err := x.logs.events.Find(id)
		if err == nil && raw == nil {
			err = errors.New("it is missing")
		}
		var p *inter.Payload
		if err == nil {
			p, err = inter.DecodePayload(raw)
		}
		if err != nil {
			return t, fmt.Errorf("its event %v: %w", id, err)
		}
		t.entry.Events = append(t.entry.Events, number)
		all = append(all, p.Txs...)
		payloads = append(payloads, p)
	}
	whole := &Block{Txs: withoutSkipped(all, b.Skipped)}
	whole.renameAll(payloads)
	txs := whole.Txs
	if len(txs) != len(b.Receipts) {
		return t, fmt.Errorf("it has %d transactions and %d receipts: %w", len(txs), len(b.Receipts), ErrDiffers)
	}
	t.entry.Found = whole.lookupKeys()
	decided, err := x.From.DecidedBlock(n)
	if err != nil || decided == nil {
		return t, err
	}
	content := inter.BlockContent{Atropos: b.ID, Root: b.Root, Txs: txs, Receipts: b.Receipts, Time: b.Time,
		GasUsed: b.GasUsed}
	if got := content.Hash(); got != [32]byte(decided) {
		return t, fmt.Errorf("its record has the hash %x, and validators have decided %x: %w", got, decided, ErrDiffers)
	}
	return t, nil
}

// epochs brings the records of epochs, newest first, down to the first one that is not there.
func (x *takeover) epochs() error {
	lowest, err := x.From.LowestEpoch()
	if err != nil {
		return err
	}
	last := x.epoch.Epoch
	for e := last; e >= max(lowest, 1); e-- {
		record, err := x.From.Epoch(e)
		if err != nil {
			return err
		}
		if record == nil {
			x.warn(
				fmt.Errorf(
					"the folder has records of epochs from %d on with a gap, that of %d is not there: those below "+
						"are left out", lowest, e))
			return nil
		}
		decided, err := x.From.DecidedEpoch(e)
		if err != nil {
			return err
		}
		if decided != nil && record.State.Hash() != [32]byte(decided) {
			return fmt.Errorf("the record of epoch %d of the folder is not %x, which validators have decided: %w",
				e, decided, ErrDiffers)
		}
		if err := errors.Join(x.rows.putRecord(x.store, record), x.store.Relieve(), x.ctx.Err()); err != nil {
			return err
		}
		x.say("epochs", uint64(last-e+1), uint64(last-max(lowest, 1)+1))
	}
	return nil
}

// takeVotes brings what validators said about records, and what came of it.
func (x *takeover) takeVotes() error {
	v, err := x.From.Votes()
	if err != nil {
		return err
	}
	x.votes.Begin(llr.State{Block: v.Block, Epoch: v.Epoch})
	for id, block := range v.LastBlocks {
		x.votes.TakeLast(id, block, v.LastEpochs[id])
	}
	for id, e := range v.LastEpochs {
		x.votes.TakeLast(id, v.LastBlocks[id], e)
	}
	err = x.From.Counted(v, func(block bool, key, hash []byte) error {
		x.votes.TakeDecided(block, key, hash)
		return x.writeVotes(4096)
	}, func(block bool, key, tally []byte) error {
		x.votes.TakeTally(block, key, tally)
		return x.writeVotes(4096)
	})
	if err == nil {
		err = x.From.BlockVotes(func(s *inter.SignedBlockVotes) error {
			id, err := x.voter(&s.Signed.Locator)
			x.say("votes for blocks", uint64(s.Val.Epoch), uint64(x.epoch.Epoch))
			return errors.Join(err, x.votes.TakeBlockVotes(id, s), x.writeVotes(4096))
		})
	}
	if err == nil {
		err = x.From.EpochVotes(func(s *inter.SignedEpochVote) error {
			id, err := x.voter(&s.Signed.Locator)
			x.say("votes for epochs", uint64(s.Val.Epoch), uint64(x.epoch.Epoch))
			return errors.Join(err, x.votes.TakeEpochVote(id, s), x.writeVotes(4096))
		})
	}
	if err != nil {
		return err
	}
	return x.writeVotes(0)
}

// writeVotes writes what waits if it is more than some rows.
func (x *takeover) writeVotes(most int) error {
	if x.votes.Waiting() <= most {
		return nil
	}
	return errors.Join(x.votes.Write(x.store), x.store.Relieve(), x.ctx.Err())
}

// voter returns the id of the event that a locator names, zero if it is not there.
func (x *takeover) voter(l *inter.Locator) (inter.EventID, error) {
	id := inter.NewEventID(l.Epoch, l.Lamport, l.Hash())
	has, err := x.logs.events.Has(id)
	if err != nil || !has {
		return inter.EventID{}, err
	}
	return id, nil
}
