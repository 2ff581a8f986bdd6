package epoch

import "tarn/opera/inter"

// Records are what a node knows of the past, for proofs that compare a vote with it.
type Records interface {
	// BlockEpoch returns the epoch that began last at or before a block, also of one
	// that is still to come; 0 if no epoch is known that did.
	BlockEpoch(inter.BlockNumber) inter.Epoch
	// BlockHash returns the hash of a block's record, and false if there is none.
	BlockHash(inter.BlockNumber) ([32]byte, bool)
	// EpochHash returns the hash of an epoch's record, and false if there is none.
	EpochHash(inter.Epoch) ([32]byte, bool)
}

// Convicted returns the validators that a proof in a confirmed event convicts. The
// event's checks know that the proof is whole and its votes are signed; whether a vote
// is wrong is known only here. What no record contradicts convicts nobody.
func Convicted(p *inter.MisbehaviourProof, r Records) []inter.ValidatorID {
	switch {
	case p.BlockVoteDoublesign != nil:
		return []inter.ValidatorID{p.BlockVoteDoublesign.Pair[0].Signed.Locator.Creator}
	case p.EpochVoteDoublesign != nil:
		return []inter.ValidatorID{p.EpochVoteDoublesign.Pair[0].Signed.Locator.Creator}
	case p.EventsDoublesign != nil:
		return []inter.ValidatorID{p.EventsDoublesign.Pair[0].Locator.Creator}
	case p.WrongBlockVote != nil && wrongBlock(p.WrongBlockVote, r):
		var ids []inter.ValidatorID
		for i := range p.WrongBlockVote.Pals {
			ids = append(ids, p.WrongBlockVote.Pals[i].Signed.Locator.Creator)
		}
		return ids
	case p.WrongEpochVote != nil:
		// All voted the same.
		vote := &p.WrongEpochVote.Pals[0].Val
		if hash, ok := r.EpochHash(vote.Epoch); !ok || hash == vote.Vote {
			return nil
		}
		var ids []inter.ValidatorID
		for i := range p.WrongEpochVote.Pals {
			ids = append(ids, p.WrongEpochVote.Pals[i].Signed.Locator.Creator)
		}
		return ids
	}
	return nil
}

// wrongBlock tells whether the votes, which are all the same, are contradicted.
func wrongBlock(p *inter.WrongBlockVote, r Records) bool {
	vote := &p.Pals[0].Val
	if p.WrongEpoch {
		epoch := r.BlockEpoch(p.Block)
		return epoch != 0 && epoch != vote.Epoch
	}
	hash, ok := r.BlockHash(p.Block)
	return ok && hash != vote.Vote(p.Block)
}
