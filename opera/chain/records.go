package chain

import (
	"errors"

	"tarn/opera/epoch"
	"tarn/opera/inter"
)

// records is what the chain knows of the past, for proofs: not what records say of blocks and
// epochs to come, because what a proof comes to must not depend on which of them a node has. Where a row cannot be read
// it answers that there is none, and keeps the error, with which no block can be made.
type records struct {
	chain *Chain
	err   error
}

var _ epoch.Records = (*records)(nil)

func (r *records) noteFailure(err error) bool {
	r.err = errors.Join(r.err, err)
	return err != nil
}

// BlockEpoch implements epoch.Records.
func (r *records) BlockEpoch(number inter.BlockNumber) inter.Epoch {
	of, err := r.chain.own().EpochOf(number)
	if r.noteFailure(err) {
		return 0
	}
	return of
}

// BlockHash implements epoch.Records.
func (r *records) BlockHash(number inter.BlockNumber) ([32]byte, bool) {
	if number > r.chain.block.LastBlock.Number {
		return [32]byte{}, false
	}
	record, err := r.chain.BlockRecord(number)
	if r.noteFailure(err) || record == nil {
		return [32]byte{}, false
	}
	return record.Block.Hash(), true
}

// EpochHash implements epoch.Records.
func (r *records) EpochHash(number inter.Epoch) ([32]byte, bool) {
	if number > r.chain.epoch.Epoch {
		return [32]byte{}, false
	}
	record, err := r.chain.EpochRecord(number)
	if r.noteFailure(err) || record == nil {
		return [32]byte{}, false
	}
	return record.State.Hash(), true
}
