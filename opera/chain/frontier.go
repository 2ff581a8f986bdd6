package chain

import (
	"fmt"

	"tarn/opera/inter"
	"tarn/opera/llr"
)

// Frontier is where votes and records of a chain end.
type Frontier struct {
	Undecided llr.State // the lowest block and epoch of which no record is decided
	Unfilled  llr.State // the lowest after the present ones of which there is no record
}

// Frontier returns where votes and records end that views show. Any goroutine may ask.
func (c *Chain) Frontier() Frontier { return *c.frontier.Load() }

// lookAhead notes where votes and records end, after they were shown.
func (c *Chain) lookAhead() error {
	block, epoch, err := c.firstUnfilled()
	if err != nil {
		return fmt.Errorf("look how far records go: %w", err)
	}
	f := &Frontier{Unfilled: llr.State{Block: block, Epoch: epoch}}
	f.Undecided.Block, f.Undecided.Epoch = c.votes.Undecided()
	c.frontier.Store(f)
	return nil
}

// EpochBeyond returns the epoch of a block by where epochs begin, those included that came as
// records; 0 if the block is before them all, the last one known if it is after them.
func (c *Chain) EpochBeyond(number inter.BlockNumber) (inter.Epoch, error) {
	last := c.Frontier().Unfilled.Epoch - 1 // a view that is taken later shows it
	v, err := c.View()
	if err != nil {
		return 0, err
	}
	defer v.Close()
	record, err := v.recordOf(number, max(last, v.Epoch().Epoch))
	if err != nil || record == nil {
		return 0, err
	}
	return record.Epoch, nil
}

// votes are those that the view shows.
func (v *View) votes() *llr.Ledger { return v.chain.votes.Shown(v.from) }

// HasBlockVotes tells whether the view has votes for blocks.
func (v *View) HasBlockVotes(votes *inter.SignedBlockVotes) (bool, error) {
	return v.votes().HasBlockVotes(votes)
}

// HasEpochVote tells whether the view has a vote for an epoch.
func (v *View) HasEpochVote(vote *inter.SignedEpochVote) (bool, error) {
	return v.votes().HasEpochVote(vote)
}

// HasBlock tells whether there is a block, made or added.
func (v *View) HasBlock(number inter.BlockNumber) (bool, error) {
	if v.has(number) {
		return number >= v.chain.Lowest(), nil
	}
	return v.chain.logs.blocks.HasRecord(number)
}

// DecidedBlock returns the hash of the record that is decided for a block that the chain does
// not have, nil if none is.
func (v *View) DecidedBlock(number inter.BlockNumber) ([]byte, error) {
	return v.votes().DecidedBlock(number)
}

// DecidedEpoch is DecidedBlock for the record of an epoch.
func (v *View) DecidedEpoch(number inter.Epoch) ([]byte, error) {
	return v.votes().DecidedEpoch(number)
}
