package finality

import (
	"slices"

	"tarn/antelope/exception"
	"tarn/antelope/types"
)

// Genesis is the state of the block whose header first has a finality extension. Its producers are
// those that the rules before Savanna had it made by, and its finalizers those that it proposes
// (Spring: block_state::create_if_genesis_block).
func Genesis(
	header *types.BlockHeader, active *types.ProducerSchedule, e *types.FinalityExtension, s State,
) (*State, error) {
	if e.Finalizers == nil {
		return nil, exception.New(exception.InvalidBlockHeaderExtension,
			"the first block with a finality extension proposes no finalizers")
	}
	policy, err := ApplyFinalizers(new(types.FinalizerPolicy), e.Finalizers)
	if err != nil {
		return nil, err
	}
	s.ID, s.Header = header.ID(), *header
	s.Core = GenesisCore(header.BlockNum(), header.Timestamp)
	s.Proposers = &types.ProposerPolicy{Schedule: *active}
	s.Finalizers, s.Generation = policy, policy.Generation
	s.PendingDigest, s.PendingSince = policy.Digest(), header.Timestamp
	s.digest, s.known = s.computeDigest(), new(known)
	return &s, nil
}

// Next is the state of a block that follows and has this header, whose finality extension says e and
// which activates these features. What the header must say besides, the caller has checked.
func (s *State) Next(
	header *types.BlockHeader, e *types.FinalityExtension, activations []types.Checksum256,
) (*State, error) {
	if !s.Core.Accepts(e.Claim) {
		return nil, exception.New(exception.InvalidQCClaim,
			"the claim of a certificate for block ${claim} does not follow that for block ${before}",
			"claim", e.Claim.Block, "before", s.Core.Claim().Block)
	}
	n := &State{Header: *header, Activated: s.Activated, Proposers: s.Proposers, ProposedProposers: s.ProposedProposers,
		PendingProposers: s.PendingProposers, known: s.known}
	if len(activations) > 0 {
		var err error
		if n.Activated, err = s.Activated.With(activations); err != nil {
			return nil, err
		}
	}
	if err := n.promoteProposers(s, e.Proposers); err != nil {
		return nil, err
	}
	n.Core = s.Core.Next(s.Ref(), e.Claim)
	if err := n.promoteFinalizers(s, e.Finalizers); err != nil {
		return nil, err
	}
	if err := n.keepClaimed(s); err != nil {
		return nil, err
	}
	n.ID = header.ID()
	n.digest = n.computeDigest()
	return n, nil
}

// promoteProposers lets a proposal become pending and active, and takes a new one. A policy waits
// for a round at least in each of these states, and until its proposal is final.
func (n *State) promoteProposers(before *State, d *types.ProposerPolicyDiff) error {
	if p := before.ProposersAt(n.Time()); p != n.Proposers {
		n.Proposers = p
		switch p {
		case n.ProposedProposers:
			n.ProposedProposers, n.PendingProposers = nil, nil
		case n.PendingProposers:
			n.PendingProposers = nil
		}
	}
	if before.Time() < roundStart(n.Time()) && n.ProposedProposers != nil && n.PendingProposers == nil {
		n.ProposedProposers, n.PendingProposers = nil, n.ProposedProposers
	}
	if d == nil {
		return nil
	}
	p, err := ApplyProposers(before.LastProposedProposers(), d)
	if err == nil && len(p.Schedule.Producers) == 0 {
		// No contract can propose that: such a block fails when it is executed.
		err = exception.New(exception.InvalidBlockHeaderExtension,
			"the header of block ${num} proposes a schedule without producers", "num", n.Header.BlockNum())
	}
	n.ProposedProposers = p
	return err
}

// promoteFinalizers lets the pending finalizers become active when the block is final that made them
// pending, and the newest proposal that is final become pending when none is. Older proposals are
// dropped. Then it takes a new one.
func (n *State) promoteFinalizers(before *State, d *types.FinalizerPolicyDiff) error {
	final := n.Core.LastFinal()
	n.Finalizers, n.Pending, n.PendingSince = before.Finalizers, before.Pending, before.PendingSince
	n.Proposed, n.proposedRoom = before.Proposed, before.proposedRoom
	if n.Pending != nil && n.Pending.Block <= final {
		n.Finalizers, n.Pending = n.Pending.Policy, nil
	}
	later := slices.IndexFunc(n.Proposed, func(p Numbered) bool { return p.Block > final })
	if later < 0 {
		later = len(n.Proposed)
	}
	switch {
	case later > 0 && n.Pending == nil:
		n.Pending = &Numbered{n.Num(), n.Proposed[later-1].Policy}
		n.Proposed, n.PendingSince = n.Proposed[later:], n.Time()
	case later > 0:
		n.Proposed = n.Proposed[later-1:]
	}
	n.PendingDigest, n.Generation = before.PendingDigest, before.Generation
	if n.lastPending() != before.lastPending() {
		n.PendingDigest = n.lastPending().Digest()
	}
	if d == nil {
		return nil
	}
	p, err := ApplyFinalizers(before.LastProposed(), d)
	if err != nil {
		return err
	}
	if p.Generation <= before.Generation {
		return exception.New(exception.InvalidBlockHeaderExtension,
			"new finalizer policy generation ${n} not greater than previous ${p}",
			"n", p.Generation, "p", before.Generation)
	}
	n.Generation = p.Generation
	n.Proposed, n.proposedRoom = extend(n.Proposed, Numbered{n.Num(), p}, n.proposedRoom)
	return nil
}

// keepClaimed keeps the finalizers that were active at the claimed block, if they are others than
// now: a certificate for it may still come.
func (n *State) keepClaimed(before *State) error {
	claim := n.Core.Claim().Block
	if before.activeGeneration(claim) == n.Finalizers.Generation {
		return nil
	}
	p, ok := before.PoliciesOf(claim)
	if !ok {
		return exception.New(exception.ChainException, "the finalizers of block ${num} are not known any more",
			"num", claim)
	}
	n.ClaimedFinalizers = p.Active
	return nil
}
