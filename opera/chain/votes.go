package chain

import (
	"errors"
	"fmt"

	"tarn/opera/eventcheck"
	"tarn/opera/inter"
	"tarn/opera/llr"
)

// ballot is what validators say about records, counted, and compared with what is so here.
type ballot struct {
	c         *Chain
	votes     *llr.Ledger
	decisions []llr.Decision // to be compared
}

// undecidedState is what no votes can have decided when the chain began: what follows the
// genesis.
func (b *ballot) undecidedState() (llr.State, error) {
	e, err := b.c.own().EpochOf(b.c.counted.First)
	return llr.State{Block: b.c.counted.First, Epoch: e + 1}, err
}

// vote counts the votes of a connected event.
func (b *ballot) vote(p *inter.Payload) error {
	if len(p.BlockVotes.Votes) == 0 && p.EpochVote.Epoch == 0 {
		return nil
	}
	signed := p.Locator()
	e := &llr.Event{ID: p.ID(), Locator: signed.Locator.ID(), Creator: p.Creator}
	if len(p.BlockVotes.Votes) > 0 {
		if err := b.votes.AddBlocks(e, &p.BlockVotes, b.c.epoch.Validators); err != nil {
			return fmt.Errorf("count the votes of event %v for blocks: %w", p.ID(), err)
		}
	}
	defer b.note()
	if p.EpochVote.Epoch == 0 {
		return nil
	}
	record, err := b.c.EpochRecord(p.EpochVote.Epoch - 1)
	if err == nil && record == nil {
		err = errors.New("the epoch before is not known")
	}
	if err == nil {
		err = b.votes.AddEpoch(e, &p.EpochVote, record.State.EpochState.Validators)
	}
	if err != nil {
		return fmt.Errorf("count the vote of event %v for an epoch: %w", p.ID(), err)
	}
	return nil
}

// noted bounds the decisions that wait for their blocks.
const noted = 1 << 12

// note keeps decisions that are to be compared with the chain's own records: those about
// epochs, and the last one of each event about blocks, since a difference of states lasts.
func (b *ballot) note() {
	all := b.votes.Decisions()
	for i, d := range all {
		if d.Before != nil {
			b.c.warn(fmt.Errorf("two records of %s are decided, %x and %x: more than a third of the stake is of "+
				"cheating validators or faulty nodes", describeDecision(d), d.Before, d.Hash))
		}
		if len(b.decisions) < noted && (d.Epoch != 0 || i == len(all)-1 || all[i+1].Epoch != 0) {
			b.decisions = append(b.decisions, d)
		}
	}
}

func describeDecision(d llr.Decision) string {
	if d.Epoch != 0 {
		return fmt.Sprintf("epoch %d", d.Epoch)
	}
	return fmt.Sprintf("block %d", d.Block)
}

// compare warns of records that are decided, and are others here: then this node has another
// state than the network. It looks at those whose roots are known. What waits when the process
// ends is not compared.
func (b *ballot) compare() error {
	left := b.decisions[:0]
	for _, d := range b.decisions {
		var own [32]byte
		var known bool
		switch {
		case d.Epoch != 0 && d.Epoch <= b.c.epoch.Epoch:
			record, err := b.c.EpochRecord(d.Epoch)
			if err != nil {
				return fmt.Errorf("compare the record of epoch %d with what is decided: %w", d.Epoch, err)
			}
			if known = record != nil; known {
				own = record.State.Hash()
			}
		case d.Epoch == 0 && d.Block < b.c.counted.Roots:
			record, err := b.c.BlockRecord(d.Block)
			if err != nil {
				return fmt.Errorf("compare the record of block %d with what is decided: %w", d.Block, err)
			}
			if known = record != nil; known {
				own = record.Block.Hash()
			}
		default:
			left = append(left, d)
		}
		if known && own != d.Hash {
			b.c.warn(fmt.Errorf("THIS NODE DIFFERS FROM THE NETWORK: validators with a third of the stake say that "+
				"the record of %s is %x, and here it is %x. Stop using its answers, keep its files, and report it",
				describeDecision(d), d.Hash, own))
		}
	}
	b.decisions = left
	return nil
}

// Votes returns what is decided about records. It is the writer's.
func (b *ballot) Votes() *llr.Ledger { return b.votes }

// BlockVotes calls each for the votes for blocks, with their keys: epoch, last block and the
// locator's id. It begins with a key, and ends when each returns false.
func (v *View) BlockVotes(from []byte, each func(key []byte, votes *inter.SignedBlockVotes) bool) error {
	var failed error
	err := v.chain.votes.BlockVotes(v.from, from, func(key []byte, votes llr.Votes) bool {
		var s inter.SignedBlockVotes
		failed = v.chain.decodeVotes(votes, &s, func(p *inter.Payload) { s = p.SignedBlockVotes() })
		return failed == nil && each(key, &s)
	})
	return errors.Join(err, failed)
}

// EpochVotes calls each for the votes for an epoch, then for those of later ones, until it
// returns false.
func (v *View) EpochVotes(e inter.Epoch, each func(*inter.SignedEpochVote) bool) error {
	var failed error
	err := v.chain.votes.EpochVotes(v.from, e, func(votes llr.Votes) bool {
		var s inter.SignedEpochVote
		failed = v.chain.decodeVotes(votes, &s, func(p *inter.Payload) { s = p.SignedEpochVote() })
		return failed == nil && each(&s)
	})
	return errors.Join(err, failed)
}

// checkVote checks that the creator could vote for the epoch for which it does: it was a
// validator of the one before.
func (b *ballot) checkVote(p *inter.Payload) error {
	if p.EpochVote.Epoch == 0 {
		return nil
	}
	record, err := b.c.EpochRecord(p.EpochVote.Epoch - 1)
	if err != nil {
		return err
	}
	if record == nil {
		return eventcheck.ErrUnknownEpochEV
	}
	if _, ok := record.State.EpochState.Validators.Index(p.Creator); !ok {
		return ErrNoValidator
	}
	return nil
}
