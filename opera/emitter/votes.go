package emitter

import (
	"tarn/opera/chain"
	"tarn/opera/inter"
)

// voteBatch is for how many blocks an event votes (go-opera, eventcheck/basiccheck), if
// their epoch does not end before.
const voteBatch = 64

// voter is what the next event votes for (go-opera, gossip/emitter/emitter_llr.go).
type voter struct {
	// What is undecided, and from where on this validator has not voted.
	lowestBlock, block inter.BlockNumber
	lowestEpoch, epoch inter.Epoch

	at     inter.BlockNumber // the head with which the rest was prepared, 0 if that is to be done again
	blocks inter.BlockVotes
	vote   inter.EpochVote
}

// follow notes what the ledger knows of votes.
func (v *voter) follow(known Votes, me inter.ValidatorID) {
	before := *v
	v.lowestBlock, v.lowestEpoch = known.Undecided()
	block, epoch := known.LastVotes(me)
	v.block, v.epoch = max(v.lowestBlock, block+1), max(v.lowestEpoch, epoch+1)
	if before.block != v.block || before.epoch != v.epoch {
		v.at, v.blocks, v.vote = 0, inter.BlockVotes{}, inter.EpochVote{}
	}
}

// prepareVotes reads the records for which the next event votes, without the writer.
func (em *Emitter) prepareVotes() error {
	if em.o.Votes == nil || !em.epoch.Rules.Upgrades.Llr {
		return nil
	}
	v, err := em.o.Chain.View()
	if err != nil {
		return err
	}
	defer v.Close()
	if v.Head().Number == em.votes.at {
		return nil
	}
	em.votes.at = v.Head().Number
	if em.votes.vote, err = em.epochVote(v); err == nil {
		em.votes.blocks, err = em.blockVotes(v)
	}
	return err
}

// first tells whether the validator is of the first third of the stake, who always vote.
func (em *Emitter) first() bool { return em.share <= unit/3+1 }

// member tells whether the validator was one of an epoch that is known.
func (em *Emitter) member(v *chain.View, e inter.Epoch) (bool, error) {
	record, err := v.EpochRecord(e)
	if err != nil || record == nil {
		return false, err
	}
	_, ok := record.State.EpochState.Validators.Index(em.o.Validator)
	return ok, nil
}

// epochVote votes for the record of an epoch, if the validator was one of the epoch before,
// whose votes count, and is one of that. The others than the greatest vote by chance, unless
// many epochs are undecided.
func (em *Emitter) epochVote(v *chain.View) (vote inter.EpochVote, err error) {
	e := em.votes.epoch
	if !em.first() && v.Epoch().Epoch <= em.votes.lowestEpoch+2 && em.o.Random.IntN(30) != 0 {
		return vote, nil
	}
	if e > v.Epoch().Epoch {
		return vote, nil // others' record may be there, but this node has not made it
	}
	for _, of := range []inter.Epoch{e - 1, e} {
		if ok, err := em.member(v, of); err != nil || !ok {
			return vote, err
		}
	}
	record, err := v.EpochRecord(e)
	if err != nil || record == nil {
		return vote, err
	}
	return inter.EpochVote{Epoch: e, Vote: record.State.Hash()}, nil
}

// blockVotes votes for blocks of one epoch, if there is a whole batch, or the epoch is over.
// The others than the greatest vote only if many blocks are undecided.
func (em *Emitter) blockVotes(v *chain.View) (votes inter.BlockVotes, err error) {
	if !em.first() && v.Head().Number < em.votes.lowestBlock+3*voteBatch {
		return votes, nil
	}
	start, last, over, err := em.votable(v)
	if err != nil || start > last || !over && last-start+1 < voteBatch {
		return votes, err
	}
	votes.Start = start
	if votes.Epoch, err = v.EpochOf(start); err != nil {
		return inter.BlockVotes{}, err
	}
	for n := start; n <= last && len(votes.Votes) < voteBatch; n++ {
		record, err := v.BlockRecord(n)
		if err != nil || record == nil {
			return inter.BlockVotes{}, err
		}
		votes.Votes = append(votes.Votes, record.Block.Hash())
	}
	return votes, nil
}

// votable returns the blocks of the first epoch of which the validator was, from where on it
// has not voted, and whether that epoch is over.
func (em *Emitter) votable(v *chain.View) (start, last inter.BlockNumber, over bool, err error) {
	for start = em.votes.block; start <= v.Head().Number; start = last + 1 {
		epoch, err := v.EpochOf(start)
		if err != nil || epoch == 0 {
			return 1, 0, false, err
		}
		next, err := v.EpochRecord(epoch + 1)
		if err != nil {
			return 1, 0, false, err
		}
		last = v.Head().Number
		if over = next != nil && epoch < v.Epoch().Epoch; over {
			last = next.State.BlockState.LastBlock.Number
		}
		if ok, err := em.member(v, epoch); err != nil || ok {
			return start, last, over, err
		}
	}
	return 1, 0, false, nil
}
