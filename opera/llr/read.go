package llr

import (
	"fmt"

	"tarn/opera/inter"
	"tarn/store"
)

// Votes are what one event said: the event's id, or, where the chain does not have the
// event, the signed votes in RLP.
type Votes struct {
	Event  inter.EventID
	Signed []byte
}

// BlockVotes calls each for votes for blocks, as a revision has them, by epoch, last block and
// locator's id, from a key of these on, until it returns false. Slices are good until it
// returns.
func (l *Ledger) BlockVotes(from store.Reader, key []byte, each func(key []byte, votes Votes) bool) error {
	return ascend(from, l.tables.votes, append([]byte{ofBlock}, key...), func(key, row []byte) error {
		if key[0] != ofBlock {
			return errStop
		}
		return takeVotes(key, 1+4+8+32, row, func(v Votes) bool { return each(key[1:], v) })
	})
}

// EpochVotes calls each for votes for an epoch, and then for those for later ones, as a
// revision has them, by locator's id, until it returns false.
func (l *Ledger) EpochVotes(from store.Reader, e inter.Epoch, each func(Votes) bool) error {
	return ascend(from, l.tables.votes, epochKey(e), func(key, row []byte) error {
		return takeVotes(key, 1+4+32, row, each)
	})
}

func takeVotes(key []byte, size int, row []byte, each func(Votes) bool) error {
	if len(key) != size || len(row) < len(inter.EventID{}) {
		return fmt.Errorf("row %x with %d bytes: there is no such row", key, len(row))
	}
	v := Votes{Signed: row}
	if len(row) == len(inter.EventID{}) {
		v = Votes{Event: inter.EventID(row)} // signed votes have more bytes
	}
	if !each(v) {
		return errStop
	}
	return nil
}

// Shown returns what a revision has of the votes, for [Ledger.HasBlockVotes], [Ledger.HasEpochVote],
// [Ledger.DecidedBlock] and [Ledger.DecidedEpoch] on any goroutine that has the reader.
func (l *Ledger) Shown(from store.Reader) *Ledger { return &Ledger{tables: l.tables, from: from} }

// HasBlockVotes tells whether votes for blocks were counted.
func (l *Ledger) HasBlockVotes(v *inter.SignedBlockVotes) (bool, error) {
	id := v.Signed.Locator.ID()
	row, err := l.get(l.tables.votes, append(blockVotesKey(&v.Val), id[:]...))
	return row != nil, err
}

// HasEpochVote tells whether a vote for an epoch was counted.
func (l *Ledger) HasEpochVote(v *inter.SignedEpochVote) (bool, error) {
	id := v.Signed.Locator.ID()
	row, err := l.get(l.tables.votes, append(epochKey(v.Val.Epoch), id[:]...))
	return row != nil, err
}

// DecidedBlock returns the hash of the record that is decided for a block that the chain does
// not have, or that is not below the lowest undecided one; nil if none is.
func (l *Ledger) DecidedBlock(n inter.BlockNumber) ([]byte, error) {
	return l.get(l.tables.decided, blockKey(n))
}

// DecidedEpoch is DecidedBlock for the record of an epoch.
func (l *Ledger) DecidedEpoch(e inter.Epoch) ([]byte, error) {
	return l.get(l.tables.decided, epochKey(e))
}
