package eventcheck

import "tarn/opera/inter"

// liable is for how many epochs a validator answers for what it signed.
const liable = 32768

// tooLate tells whether what was signed for an epoch is forgiven in an event of another.
// Sums wrap, like go-opera's; no epoch comes near.
func tooLate(event, signed inter.Epoch) bool { return event > signed+liable }

// proof checks a proof of misbehaviour in an event of that epoch, as far as it can be
// without a chain: whether the signatures are right is for [Signatures], whether a vote
// was wrong for the block that confirms the event.
func proof(event inter.Epoch, p *inter.MisbehaviourProof) error {
	members := 0
	for _, check := range []func() (bool, error){
		func() (bool, error) { return p.EventsDoublesign != nil, eventsDoublesign(event, p.EventsDoublesign) },
		func() (bool, error) {
			return p.BlockVoteDoublesign != nil, blockDoublesign(event, p.BlockVoteDoublesign)
		},
		func() (bool, error) { return p.WrongBlockVote != nil, wrongBlockVote(event, p.WrongBlockVote) },
		func() (bool, error) {
			return p.EpochVoteDoublesign != nil, epochDoublesign(event, p.EpochVoteDoublesign)
		},
		func() (bool, error) { return p.WrongEpochVote != nil, wrongEpochVote(event, p.WrongEpochVote) },
	} {
		there, err := check()
		if err != nil {
			return err
		}
		if there {
			members++
		}
	}
	if members != 1 {
		return ErrMalformedProof
	}
	return nil
}

func eventsDoublesign(event inter.Epoch, p *inter.EventsDoublesign) error {
	if p == nil {
		return nil
	}
	a, b := &p.Pair[0].Locator, &p.Pair[1].Locator
	for _, l := range []*inter.Locator{a, b} {
		if err := locator(l); err != nil {
			return err
		}
	}
	switch {
	case a.Creator != b.Creator:
		return ErrWrongAccused
	case a.Epoch != b.Epoch || a.Seq != b.Seq || *a == *b:
		return ErrNoCrime
	case tooLate(event, a.Epoch):
		return ErrProofTooLate
	}
	return nil
}

func blockDoublesign(event inter.Epoch, p *inter.BlockVoteDoublesign) error {
	if p == nil {
		return nil
	}
	a, b := &p.Pair[0], &p.Pair[1]
	for _, v := range []*inter.SignedBlockVotes{a, b} {
		if err := BlockVotes(v); err != nil {
			return err
		}
	}
	switch {
	case a.Signed.Locator.Creator != b.Signed.Locator.Creator:
		return ErrWrongAccused
	case !a.Val.Covers(p.Block) || !b.Val.Covers(p.Block):
		return ErrWrongProof
	case a.Val.Vote(p.Block) == b.Val.Vote(p.Block) && a.Val.Epoch == b.Val.Epoch:
		return ErrNoCrime
	case tooLate(event, a.Val.Epoch) || tooLate(event, b.Val.Epoch):
		return ErrProofTooLate
	}
	return nil
}

func wrongBlockVote(event inter.Epoch, p *inter.WrongBlockVote) error {
	if p == nil {
		return nil
	}
	for i := range p.Pals {
		pal, first := &p.Pals[i], &p.Pals[0]
		if err := BlockVotes(pal); err != nil {
			return err
		}
		switch {
		case !pal.Val.Covers(p.Block):
			return ErrWrongProof
		case tooLate(event, pal.Val.Epoch):
			return ErrProofTooLate
		case i == 0:
		case p.WrongEpoch && pal.Val.Epoch != first.Val.Epoch,
			!p.WrongEpoch && pal.Val.Vote(p.Block) != first.Val.Vote(p.Block):
			return ErrNoCrime
		case pal.Signed.Locator.Creator == first.Signed.Locator.Creator:
			return ErrWrongAccused
		}
	}
	return nil
}

func epochDoublesign(event inter.Epoch, p *inter.EpochVoteDoublesign) error {
	if p == nil {
		return nil
	}
	a, b := &p.Pair[0], &p.Pair[1]
	for _, v := range []*inter.SignedEpochVote{a, b} {
		if err := EpochVote(v); err != nil {
			return err
		}
	}
	switch {
	case a.Signed.Locator.Creator != b.Signed.Locator.Creator:
		return ErrWrongAccused
	case a.Val.Epoch != b.Val.Epoch || a.Val.Vote == b.Val.Vote:
		return ErrNoCrime
	case tooLate(event, a.Val.Epoch):
		return ErrProofTooLate
	}
	return nil
}

func wrongEpochVote(event inter.Epoch, p *inter.WrongEpochVote) error {
	if p == nil {
		return nil
	}
	for i := range p.Pals {
		pal, first := &p.Pals[i], &p.Pals[0]
		if err := EpochVote(pal); err != nil {
			return err
		}
		switch {
		case tooLate(event, pal.Val.Epoch):
			return ErrProofTooLate
		case i == 0:
		case pal.Val != first.Val:
			return ErrNoCrime
		case pal.Signed.Locator.Creator == first.Signed.Locator.Creator:
			return ErrWrongAccused
		}
	}
	return nil
}
