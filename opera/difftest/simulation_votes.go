package difftest

import (
	"fmt"

	"tarn/opera/inter"
)

// someHash is mostly right.
func (s *Simulation) someHash(right [32]byte) [32]byte {
	if s.IntN(4) == 0 {
		return [32]byte{0xbd, byte(s.IntN(3))}
	}
	return right
}

// vote adds votes, right and wrong ones, for an epoch and for blocks.
func (s *Simulation) vote(m *member, p *inter.Payload) error {
	seldom := 12
	if s.prompt {
		seldom = 3
	}
	if s.IntN(seldom) == 0 {
		v, err := s.epochVote(m, p.Epoch)
		if err != nil {
			return err
		}
		p.EpochVote = v
	}
	if s.IntN(seldom) == 0 {
		v, err := s.blockVotes(m, p.Epoch)
		if err != nil {
			return err
		}
		p.BlockVotes = v
	}
	return nil
}

// knows tells whether a member had its key already in an epoch, and was a validator of it.
func (s *Simulation) knows(m *member, e inter.Epoch) (*inter.EpochRecord, bool, error) {
	record, err := s.chain.EpochRecord(e)
	if err != nil || record == nil {
		return nil, false, err
	}
	state := &record.State.EpochState
	_, in := state.Validators.Index(m.id)
	return record, in && state.Profiles[m.id].PublicKey.Equal(s.epoch.Profiles[m.id].PublicKey), nil
}

// epochVote is a vote for a recent epoch, or for none where there is nothing to vote for.
func (s *Simulation) epochVote(m *member, now inter.Epoch) (v inter.EpochVote, err error) {
	e := now - inter.Epoch(s.IntN(4))
	wanting := s.prompt && s.IntN(4) > 0
	if wanting {
		_, e = s.chain.Votes().Undecided()
	}
	if e < 3 || e > now {
		return v, nil
	}
	_, could, err := s.knows(m, e-1)
	if err != nil || !could {
		return v, err
	}
	record, err := s.chain.EpochRecord(e)
	if err != nil || record == nil {
		return v, err
	}
	vote := record.State.Hash()
	if !wanting {
		vote = s.someHash(vote)
	}
	return inter.EpochVote{Epoch: e, Vote: vote}, nil
}

// blockVotes are votes for blocks of a recent epoch and after it, some of them to come.
func (s *Simulation) blockVotes(m *member, now inter.Epoch) (v inter.BlockVotes, err error) {
	if s.prompt && s.IntN(4) > 0 {
		return s.wantedVotes(m)
	}
	e := now - inter.Epoch(s.IntN(3))
	if e < 2 || e > now {
		return v, nil
	}
	record, could, err := s.knows(m, e)
	if err != nil || !could {
		return v, err
	}
	v.Epoch, v.Start = e, record.State.BlockState.LastBlock.Number+inter.BlockNumber(s.IntN(8))
	for n := range 1 + s.IntN(64) {
		vote := [32]byte{0xff, byte(s.IntN(2))}
		if number := v.Start + inter.BlockNumber(n); number <= s.chain.Head().Number {
			b, err := s.chain.BlockRecord(number)
			if err != nil {
				return v, err
			}
			vote = s.someHash(b.Block.Hash())
		}
		v.Votes = append(v.Votes, vote)
	}
	return v, nil
}

// wantedVotes are right votes for the first blocks that are undecided.
func (s *Simulation) wantedVotes(m *member) (v inter.BlockVotes, err error) {
	v.Start, _ = s.chain.Votes().Undecided()
	if v.Epoch, err = s.chain.EpochBeyond(v.Start); err != nil {
		return v, err
	}
	if _, could, err := s.knows(m, v.Epoch); err != nil || !could {
		return inter.BlockVotes{}, err
	}
	for n := v.Start; n <= s.chain.Head().Number && len(v.Votes) < 64; n++ {
		b, err := s.chain.BlockRecord(n)
		if err != nil || b == nil {
			return inter.BlockVotes{}, err
		}
		v.Votes = append(v.Votes, b.Block.Hash())
	}
	if len(v.Votes) == 0 {
		return inter.BlockVotes{}, nil
	}
	return v, nil
}

// accuse adds a proof of cheating. Whom it convicts is one of those who may go.
func (s *Simulation) accuse(p *inter.Payload) error {
	if s.IntN(60) > 0 {
		return nil
	}
	var may []*member
	for _, m := range s.members {
		if int(m.id) > s.Work.Heavy() {
			may = append(may, m)
		}
	}
	if len(may) == 0 {
		return nil
	}
	a, b := may[s.IntN(len(may))], may[s.IntN(len(may))]
	proof, err := s.proof(a, b)
	if err != nil || proof == nil {
		return err
	}
	p.Proofs = append(p.Proofs, *proof)
	s.Proven++
	return nil
}

// proof makes one of the five kinds. Some convict nobody: the votes are right.
func (s *Simulation) proof(a, b *member) (*inter.MisbehaviourProof, error) {
	var err error
	kind := s.IntN(5)
	if a == b && (kind == 1 || kind == 3) {
		return nil, nil
	}
	switch kind {
	case 0:
		var p inter.EventsDoublesign
		for i := range p.Pair {
			p.Pair[i], err = s.signLocator(a, [32]byte{byte(i)})
			if err != nil {
				return nil, err
			}
		}
		return &inter.MisbehaviourProof{EventsDoublesign: &p}, nil
	case 1:
		return s.wrongBlock(a, b)
	case 2:
		var p inter.BlockVoteDoublesign
		p.Block = s.chain.Head().Number
		for i := range p.Pair {
			p.Pair[i], err = s.signedBlocks(a,
				inter.BlockVotes{Start: p.Block, Epoch: s.epoch.Epoch, Votes: [][32]byte{{byte(i)}}})
			if err != nil {
				return nil, err
			}
		}
		return &inter.MisbehaviourProof{BlockVoteDoublesign: &p}, nil
	case 3:
		return s.wrongEpoch(a, b)
	}
	e := s.epoch.Epoch
	if _, could, err := s.knows(a, e-1); err != nil || !could {
		return nil, err
	}
	var p inter.EpochVoteDoublesign
	for i := range p.Pair {
		p.Pair[i], err = s.signedEpoch(a, inter.EpochVote{Epoch: e, Vote: [32]byte{1, byte(i)}})
		if err != nil {
			return nil, err
		}
	}
	return &inter.MisbehaviourProof{EpochVoteDoublesign: &p}, nil
}

func (s *Simulation) wrongBlock(a, b *member) (*inter.MisbehaviourProof, error) {
	record, err := s.chain.EpochRecord(s.epoch.Epoch)
	if err != nil {
		return nil, err
	}
	p := &inter.WrongBlockVote{Block: record.State.BlockState.LastBlock.Number, WrongEpoch: s.IntN(3) == 0}
	if p.WrongEpoch {
		p.Block += inter.BlockNumber(s.IntN(3))
	}
	block, err := s.chain.BlockRecord(p.Block)
	if err != nil {
		return nil, err
	}
	v := inter.BlockVotes{Start: p.Block, Epoch: s.epoch.Epoch, Votes: [][32]byte{{}}}
	if block != nil {
		v.Votes[0] = s.someHash(block.Block.Hash())
	}
	for i, m := range []*member{a, b} {
		if p.Pals[i], err = s.signedBlocks(m, v); err != nil {
			return nil, err
		}
	}
	return &inter.MisbehaviourProof{WrongBlockVote: p}, nil
}

func (s *Simulation) wrongEpoch(a, b *member) (*inter.MisbehaviourProof, error) {
	e := s.epoch.Epoch
	for _, m := range []*member{a, b} {
		if _, could, err := s.knows(m, e-1); err != nil || !could {
			return nil, err
		}
	}
	record, err := s.chain.EpochRecord(e)
	if err != nil {
		return nil, err
	}
	v := inter.EpochVote{Epoch: e, Vote: s.someHash(record.State.Hash())}
	p := &inter.WrongEpochVote{}
	for i, m := range []*member{a, b} {
		if p.Pals[i], err = s.signedEpoch(m, v); err != nil {
			return nil, err
		}
	}
	return &inter.MisbehaviourProof{WrongEpochVote: p}, nil
}

// signLocator is the locator of an event of this epoch that nobody has seen.
func (s *Simulation) signLocator(m *member, payload [32]byte) (l inter.SignedLocator, err error) {
	l.Locator = inter.Locator{Epoch: s.epoch.Epoch, Seq: 7, Lamport: 9, Creator: m.id, PayloadHash: payload}
	if err := sign(l.Locator.Hash(), m.key, &l.Signature); err != nil {
		return l, fmt.Errorf("sign as validator %d: %w", m.id, err)
	}
	return l, nil
}

func (s *Simulation) signedBlocks(m *member, v inter.BlockVotes) (inter.SignedBlockVotes, error) {
	votes := inter.SignedBlockVotes{Val: v}
	var err error
	votes.Signed, err = s.signLocator(m, votes.HashPayload())
	return votes, err
}

func (s *Simulation) signedEpoch(m *member, v inter.EpochVote) (inter.SignedEpochVote, error) {
	vote := inter.SignedEpochVote{Val: v}
	var err error
	vote.Signed, err = s.signLocator(m, vote.HashPayload())
	return vote, err
}
