package chain

import (
	"bytes"
	"errors"
	"fmt"

	"tarn/opera/eventcheck"
	"tarn/opera/inter"
	"tarn/store"
)

// Records of blocks and epochs that the chain has not made itself: enough validators vouch for
// them (go-opera's Lachesis Light Repeater, gossip/c_llr_callbacks.go). They are shown like the
// chain's own, but have no state. The chain's own come before them: a record says nothing about
// a block that the chain has made.
//
// The way of a record: votes for it, each checked by a [Verifier], are counted until more than
// a third of the weight has named its hash; then whoever has the record may bring it. An
// epoch's record must be there before votes of its validators count. The error of a vote or
// record says by [eventcheck.Bans] whether who sent it is of no use.

// ErrOtherRecord is returned for a record that is not the one which is decided.
var ErrOtherRecord = errors.New("record hash mismatch")

// AddBlockVotes counts votes for blocks that came without their event, and were checked by
// [Verifier.BlockVotes]. [Chain.ShowRecords] shows what came of it.
func (c *Chain) AddBlockVotes(v *inter.SignedBlockVotes) error {
	if c.failed != nil {
		return c.failed
	}
	known, err := c.votes.HasBlockVotes(v)
	if err != nil {
		return c.fail(err)
	}
	if known {
		return eventcheck.ErrAlreadyProcessedBVs
	}
	group, err := c.group(v.Signed.Locator.Epoch, v.Signed.Locator.Creator, eventcheck.ErrUnknownEpochBVs)
	if err != nil {
		return err
	}
	if err := c.votes.AddSignedBlocks(v, group); err != nil {
		return c.fail(fmt.Errorf("count votes for blocks: %w", err))
	}
	c.note()
	return nil
}

// BlockVotesCount tells whether votes for blocks that came without their event say anything that is
// not known: a validator can sign any number of others for nothing, and whoever has decided needs
// none. Only the writer calls it.
func (c *Chain) BlockVotesCount(v *inter.SignedBlockVotes) (bool, error) {
	if _, err := c.group(v.Signed.Locator.Epoch, v.Signed.Locator.Creator, eventcheck.ErrUnknownEpochBVs); err != nil {
		return false, err
	}
	counts, err := c.votes.BlocksCount(v)
	if err != nil {
		return false, c.fail(fmt.Errorf("look which votes for blocks are known: %w", err))
	}
	return counts, nil
}

// EpochVoteCounts is BlockVotesCount for a vote for an epoch.
func (c *Chain) EpochVoteCounts(v *inter.SignedEpochVote) (bool, error) {
	if _, err := c.group(v.Val.Epoch-1, v.Signed.Locator.Creator, eventcheck.ErrUnknownEpochEV); err != nil {
		return false, err
	}
	counts, err := c.votes.EpochCounts(v)
	if err != nil {
		return false, c.fail(fmt.Errorf("look which votes for epochs are known: %w", err))
	}
	return counts, nil
}

// AddEpochVote counts a vote for an epoch that came without its event, and was checked by
// [Verifier.EpochVote]. [Chain.ShowRecords] shows what came of it.
func (c *Chain) AddEpochVote(v *inter.SignedEpochVote) error {
	if c.failed != nil {
		return c.failed
	}
	known, err := c.votes.HasEpochVote(v)
	if err != nil {
		return c.fail(err)
	}
	if known {
		return eventcheck.ErrAlreadyProcessedEV
	}
	group, err := c.group(v.Val.Epoch-1, v.Signed.Locator.Creator, eventcheck.ErrUnknownEpochEV)
	if err != nil {
		return err
	}
	if err := c.votes.AddSignedEpoch(v, group); err != nil {
		return c.fail(fmt.Errorf("count a vote for an epoch: %w", err))
	}
	c.note()
	return nil
}

// group returns the validators of an epoch, of whom one must be.
func (c *Chain) group(e inter.Epoch, by inter.ValidatorID, unknown error) (*inter.Validators, error) {
	record, err := c.EpochRecord(e)
	if err != nil {
		return nil, c.fail(err)
	}
	if record == nil {
		return nil, unknown
	}
	group := record.State.EpochState.Validators
	if _, ok := group.Index(by); !ok {
		return nil, ErrNoValidator
	}
	return group, nil
}

// AddEpochRecord takes the record of the beginning of an epoch that is decided.
// [Chain.ShowRecords] shows it.
func (c *Chain) AddEpochRecord(r *inter.EpochRecord) error {
	if c.failed != nil {
		return c.failed
	}
	known, err := c.EpochRecord(r.Epoch)
	if err != nil {
		return c.fail(err)
	}
	if known != nil {
		return eventcheck.ErrAlreadyProcessedER
	}
	decided, err := c.votes.DecidedEpoch(r.Epoch)
	switch hash := r.State.Hash(); {
	case err != nil:
		return c.fail(err)
	case decided == nil:
		return eventcheck.ErrUndecidedER
	case !bytes.Equal(decided, hash[:]):
		return fmt.Errorf("epoch %d: %w", r.Epoch, ErrOtherRecord)
	}
	err = put(c.store, c.rows.ahead, epochKey(r.Epoch), r)
	if err == nil {
		err = c.votes.FillEpoch(r.Epoch)
	}
	if err != nil {
		return c.fail(fmt.Errorf("write the record of epoch %d: %w", r.Epoch, err))
	}
	c.beyond.epoch = max(c.beyond.epoch, r.Epoch)
	return nil
}

// AddBlockRecord takes the record of a block that is decided. [Chain.ShowRecords] makes it
// outlive the process.
func (c *Chain) AddBlockRecord(r *inter.BlockRecord) error {
	if c.failed != nil {
		return c.failed
	}
	has, err := c.inventory().HasBlock(r.Number)
	if err != nil {
		return c.fail(err)
	}
	if has {
		return eventcheck.ErrAlreadyProcessedBR
	}
	decided, err := c.votes.DecidedBlock(r.Number)
	switch {
	case err != nil:
		return c.fail(err)
	case decided == nil:
		return eventcheck.ErrUndecidedBR
	}
	if hash := r.Block.Hash(); !bytes.Equal(decided, hash[:]) {
		return fmt.Errorf("block %d: %w", r.Number, ErrOtherRecord)
	}
	// The log has it before what is decided is forgotten.
	if err = c.logs.blocks.AppendRecord(r.Number, recordEntry(r)); err == nil {
		err = c.votes.FillBlock(r.Number)
	}
	if err != nil {
		return c.fail(fmt.Errorf("write the record of block %d: %w", r.Number, err))
	}
	if c.options.Recorded != nil {
		c.options.Recorded(r)
	}
	return nil
}

// ShowRecords shows the votes and records that were taken since the last time. A kill loses no
// record of a block from then on. Votes and records of epochs outlive the process with the next
// checkpoint, and all outlives a power cut once that checkpoint is durable: what is lost comes
// again, and is taken again. It costs about as much as a small block: callers call it after many.
func (c *Chain) ShowRecords() error {
	if c.failed != nil {
		return c.failed
	}
	for _, step := range []func() error{
		c.logs.blocks.FlushRecords,
		func() error { return c.votes.Write(c.store) },
		c.store.Publish,
		c.lookAhead,
		c.store.Relieve,
		c.compare,
		c.settle,
	} {
		if err := step(); err != nil {
			return c.fail(fmt.Errorf("show the records that came: %w", err))
		}
	}
	return nil
}

// firstUnfilled returns the lowest block and epoch after the present ones of which the chain does not
// have the record.
func (c *Chain) firstUnfilled() (inter.BlockNumber, inter.Epoch, error) {
	c.beyond.block = max(c.beyond.block, c.block.LastBlock.Number+1)
	for {
		has, err := c.logs.blocks.HasRecord(c.beyond.block)
		if err != nil || !has {
			return c.beyond.block, max(c.beyond.epoch, c.epoch.Epoch) + 1, err
		}
		c.beyond.block++
	}
}

// beyond is how far records go beyond the present block and epoch, without a gap.
type beyond struct {
	block inter.BlockNumber // all between the head and this one are there
	epoch inter.Epoch       // the last; votes for an epoch need the record of the one before
}

// resumeRecords finds what records there are.
func (c *Chain) resumeRecords() error {
	cursor, err := c.store.Cursor(c.rows.ahead)
	if err != nil {
		return fmt.Errorf("read the records of epochs: %w", err)
	}
	if cursor.Last() {
		c.beyond.epoch = epochOf(cursor.Key())
	}
	if err := errors.Join(cursor.Err(), cursor.Close()); err != nil {
		return fmt.Errorf("read the records of epochs: %w", err)
	}
	return nil
}

// fillOwn tells the votes and the rows of records that the chain has made a block itself, and its
// epoch. It is part of the block's revision.
func (c *Chain) fillOwn(s store.Store, b *draft) error {
	if !c.epoch.Rules.Upgrades.Llr { // the epoch that the block is of, if it seals it too
		begun := inter.Epoch(0)
		if b.Sealing() {
			begun = b.Epoch.Epoch
		}
		if err := c.votes.Pass(b.Info.Number, begun); err != nil {
			return err
		}
	}
	if err := c.votes.FillBlock(b.Info.Number); err != nil || !b.Sealing() {
		return err
	}
	e := b.Epoch.Epoch
	if err := c.votes.FillEpoch(e); err != nil || e > c.beyond.epoch {
		return err
	}
	if err := s.Delete(c.rows.ahead, epochKey(e)); !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return nil
}

// inventory tells the votes what the chain has.
func (c *Chain) inventory() inventory { return inventory{c} }

type inventory struct{ chain *Chain }

// HasBlock implements llr.Filled.
func (f inventory) HasBlock(n inter.BlockNumber) (bool, error) {
	c := f.chain
	if c.Lowest() <= n && n <= c.block.LastBlock.Number {
		return true, nil
	}
	return c.logs.blocks.HasRecord(n)
}

// HasEpoch implements llr.Filled.
func (f inventory) HasEpoch(e inter.Epoch) (bool, error) {
	record, err := f.chain.EpochRecord(e)
	return record != nil, err
}
