package consensus

import (
	"slices"

	"tarn/antelope/crypto"
	"tarn/antelope/exception"
	"tarn/antelope/feature"
	"tarn/antelope/finality"
	"tarn/antelope/types"
)

// A chain goes over to Savanna in three steps. The first block with a finality extension, the
// genesis block, names finalizers. The transition blocks after it follow the older rules and repeat
// its claim. When these rules have made the genesis block irreversible, by a block that is said to
// be critical, the blocks that follow are proper: they follow Savanna's rules alone. Each block from
// the genesis block on has a state by Savanna's rules, as its header alone says what it is.

// IsProper tells whether the block follows Savanna's rules alone.
func (s *HeaderState) IsProper() bool { return s.Finality != nil && s.Finality.IsProper() }

// genesis is the number of the genesis block, in transition; 0 before.
func (s *HeaderState) genesis() uint32 {
	if s.Finality == nil {
		return 0
	}
	return s.Finality.Core.Claim().Block
}

// PrecedesProper tells whether the blocks that follow this one are proper (Spring:
// is_savanna_critical_block).
func (s *HeaderState) PrecedesProper() bool {
	return s.IsProper() || s.Finality != nil && s.Irreversible >= s.genesis()
}

// LIB is the last block that is irreversible by what this header and those before say. In
// transition it is not above the genesis block.
func (s *HeaderState) LIB() uint32 {
	switch {
	case s.IsProper():
		return s.Finality.Core.LastFinal()
	case s.Finality != nil:
		return min(s.Irreversible, s.genesis())
	}
	return s.Irreversible
}

// PendingSchedule is the schedule that waits to become active, without producers if none does. What waits
// by the older rules when the first proper block comes is dropped.
func (s *HeaderState) PendingSchedule() *types.ProducerSchedule {
	switch {
	case !s.PrecedesProper():
		return s.Pending.Schedule
	case s.Finality.PendingProposers != nil:
		return &s.Finality.PendingProposers.Schedule
	}
	return new(types.ProducerSchedule)
}

// Schedules are those of a block that is being made, as it begins. They are immutable.
type Schedules struct {
	Previous types.Checksum256       // the block before it
	Active   *types.ProducerSchedule // that its producer is from
	Pending  *types.ProducerSchedule // that waits to become active, without producers if none does
	Promoted bool                    // Pending was only proposed before this block
}

// nextProper is Next for a proper block.
func (s *HeaderState) nextProper(slot types.BlockTimestamp) *PendingHeader {
	producer := s.Finality.ProducerAt(slot)
	return &PendingHeader{
		Progress: Progress{BlockNum: s.BlockNum + 1, ActiveSchedule: &s.Finality.ProposersAt(slot).Schedule,
			Authority: &producer.Authority},
		Activated:       s.Activated,
		PrevPending:     ScheduleInfo{Schedule: s.PendingSchedule()},
		Previous:        s.ID,
		Producer:        producer.Producer,
		Timestamp:       slot,
		ScheduleVersion: types.ProperSchedule,
		proper:          true,
		before:          s.Finality,
	}
}

// Proper tells whether the block will be a proper one.
func (p *PendingHeader) Proper() bool { return p.proper }

// InTransition tells whether the block is one of those between the genesis block and the proper
// ones.
func (p *PendingHeader) InTransition() bool { return p.before != nil && !p.proper }

// Before is the block before by Savanna's rules; nil before the genesis block is made.
func (p *PendingHeader) Before() *finality.State { return p.before }

// extension is the finality extension of a header with this content; nil for none.
func (p *PendingHeader) extension(c *Content) *types.FinalityExtension {
	switch {
	case p.proper:
		return p.properExtension(c)
	case p.before != nil:
		return &types.FinalityExtension{Claim: p.before.Core.Claim()}
	case c.Finalizers != nil:
		first := *c.Finalizers
		first.Generation = 1
		return &types.FinalityExtension{
			Claim:      types.QCClaim{Block: p.BlockNum},
			Finalizers: finality.DiffFinalizers(new(types.FinalizerPolicy), &first),
		}
	}
	return nil
}

// properExtension says what contracts proposed in the block. Producers that are those of the last
// schedule are no proposal.
func (p *PendingHeader) properExtension(c *Content) *types.FinalityExtension {
	e := &types.FinalityExtension{Claim: c.Claim}
	if c.Finalizers != nil {
		next := *c.Finalizers
		next.Generation = p.before.Generation + 1
		e.Finalizers = finality.DiffFinalizers(p.before.LastProposed(), &next)
	}
	last := p.before.LastProposedProposers()
	if c.Proposers != nil && !slices.EqualFunc(c.Proposers, last.Schedule.Producers, types.ProducerAuthority.Equal) {
		e.Proposers = finality.DiffProposers(last, &types.ProposerPolicy{
			Proposed: p.Timestamp,
			Schedule: types.ProducerSchedule{Version: last.Schedule.Version + 1, Producers: c.Proposers},
		})
	}
	return e
}

// finishProper is finish for a proper block. The confirmed field and the schedule version are
// compared when the block has been executed (Spring: block_header_state::next). The producer signs the
// id, and follows from the block before; a state may be large and take long to make.
func (p *PendingHeader) finishProper(
	h *types.SignedBlockHeader, set *feature.Set, signed func(types.Checksum256) error,
) (*HeaderState, error) {
	switch {
	case h.ScheduleVersion != types.ProperSchedule:
		return nil, exception.New(exception.UnlinkableBlock,
			"block ${num} does not follow the rules of Savanna, as the block before has it", "num", p.BlockNum)
	case h.Timestamp != p.Timestamp:
		return nil, exception.New(exception.BlockValidate, "timestamp mismatch")
	case h.Previous != p.Previous:
		return nil, exception.New(exception.UnlinkableBlock, "previous mismatch ${p} != ${id}",
			"p", h.Previous, "id", p.Previous)
	case h.Producer != p.Producer:
		return nil, exception.New(exception.WrongProducer, "wrong producer specified")
	case h.NewProducers != nil:
		return nil, exception.New(exception.ProducerSchedule,
			"Block header contains legacy producer schedule outdated by activation of WTMsig Block Signatures")
	}
	x, err := h.ExtractExtensions()
	if err != nil {
		return nil, err
	}
	if x.Finality == nil {
		return nil, exception.New(exception.BlockValidate,
			"Proper Savanna block #${b} does not have a finality header extension", "b", p.BlockNum)
	}
	if added := x.ProtocolFeatures; added != nil {
		if err := set.Check(p.before.Time().TimePoint(), p.Activated, added); err != nil {
			return nil, err
		}
	}
	if first := p.before.Core.IsGenesisNum(x.Finality.Claim.Block); first != h.ActionMRoot.IsZero() {
		return nil, exception.New(exception.BlockValidate,
			"No Finality Tree Root associated with the block, does not match with empty action_mroot: (${n}), "+
				"action_mroot empty (${e}), latest_qc_claim_block_num (${f})",
			"n", first, "e", h.ActionMRoot.IsZero(), "f", x.Finality.Claim.Block)
	}
	if err := signed(h.ID()); err != nil {
		return nil, err
	}
	f, err := p.before.Next(&h.BlockHeader, x.Finality, x.ProtocolFeatures)
	if err != nil {
		return nil, err
	}
	s := savannaHeaderState(f, h, nil)
	s.Authority, s.activations = p.Authority, x.ProtocolFeatures
	return s, nil
}

// savannaHeaderState is the header state of a proper block, or of the block before the first one, made of
// what Savanna's rules say alone: without what the block was to be signed with and what it activates.
func savannaHeaderState(f *finality.State, h *types.SignedBlockHeader, more []types.Signature) *HeaderState {
	s := &HeaderState{
		Progress: Progress{BlockNum: f.Num(), ActiveSchedule: &f.Proposers.Schedule},
		ID:       f.ID, Header: *h, Activated: f.Activated, AdditionalSignatures: more, Finality: f,
	}
	if !s.IsProper() { // it was the older rules that have made the genesis block irreversible
		s.Irreversible = s.genesis()
	}
	s.Pending.Schedule = s.PendingSchedule()
	return s
}

// goOver checks the finality extension of a genesis or transition block, and adds what the header
// is by Savanna's rules. Without an extension the chain must not have begun to go over (Spring:
// verify_transition_block_invariants).
func (p *PendingHeader) goOver(s *HeaderState, e *types.FinalityExtension) (err error) {
	invalid := func(kind *exception.Kind, format string, values ...any) error {
		return exception.New(kind, format, append([]any{"b", p.BlockNum}, values...)...)
	}
	switch {
	case e == nil && p.before == nil:
		return nil
	case e == nil:
		return invalid(exception.BlockValidate,
			"Legacy block #${b} must have previous block that is also a Legacy block")
	case e.Proposers != nil:
		return invalid(exception.BlockValidate, "Transition block #${b} has new_proposer_policy_diff")
	case p.before == nil && e.Claim != types.QCClaim{Block: p.BlockNum}:
		return invalid(exception.InvalidQCClaim, "Savanna Genesis block #${b} has invalid QC claim ${qc_claim}",
			"qc_claim", e.Claim)
	case p.before == nil && e.Finalizers == nil:
		return invalid(exception.BlockValidate,
			"Savanna Genesis block #${b} finality block header extension misses new_finalizer_policy_diff")
	case p.before == nil && e.Finalizers.Generation != 1:
		return invalid(exception.BlockValidate, "Savanna Genesis block #${b} finalizer policy generation (${g}) not 1",
			"g", e.Finalizers.Generation)
	case p.before == nil:
		s.Finality, err = finality.Genesis(&s.Header.BlockHeader, s.ActiveSchedule, e,
			finality.State{Activated: s.Activated})
		return err
	case e.Claim != p.before.Core.Claim():
		return invalid(exception.InvalidQCClaim,
			"Non Genesis Transition block #${b} QC claim ${this_qc_claim} not equal to previous QC claim "+
				"${prev_qc_claim}",
			"this_qc_claim", e.Claim, "prev_qc_claim", p.before.Core.Claim())
	case e.Finalizers != nil:
		return invalid(exception.BlockValidate,
			"Non Genesis Transition block #${b} finality block header extension may not have new_finalizer_policy_diff")
	}
	s.Finality, err = p.before.Next(&s.Header.BlockHeader, e, s.activations)
	if err == nil && s.PrecedesProper() {
		// What the older rules have made of a schedule that waited ends here: proper blocks are of the genesis
		// block's producers (Spring: create_if_genesis_block), and those must know when it is their turn.
		s.ActiveSchedule = &s.Finality.Proposers.Schedule
	}
	return err
}

// checkNewFinalizers refuses a header that adds a finalizer whose key is no point of the curve: no contract can
// propose one, and nodeos does not decode such a header (fc: bls_public_key). A key takes some 1.5 microseconds,
// and the 65,536 that a header may add a tenth of a second. The caller has found that the block's producer
// signed it.
func (s *HeaderState) checkNewFinalizers() error {
	if s.Finality == nil || !s.Finality.ProposesFinalizers() {
		return nil
	}
	x, err := s.Header.ExtractExtensions()
	if err != nil {
		return err
	}
	for i := range x.Finality.Finalizers.Finalizers.Inserted {
		if f := &x.Finality.Finalizers.Finalizers.Inserted[i].Value; !crypto.BLSKeyValid(&f.Key) {
			return exception.New(exception.InvalidBlockHeaderExtension,
				"the key of finalizer ${f} in the header of block ${b} is no point of the curve",
				"f", f.Description, "b", s.BlockNum)
		}
	}
	return nil
}

// checkCertificate checks what a block that follows prev brings as a certificate, with its
// signatures if verify says so. It takes a millisecond or more (Spring:
// verify_basic_block_invariants).
func (s *HeaderState) checkCertificate(prev *HeaderState, qc *types.QuorumCertificate, verify bool) error {
	if !s.IsProper() {
		if qc != nil {
			return exception.New(exception.BlockValidate,
				"block #${b} includes a QC block extension before Savanna's rules", "b", s.BlockNum)
		}
		return nil
	}
	claim := s.Finality.Core.Claim()
	fresh, err := finality.CheckClaim(s.BlockNum, prev.Finality.Core.Claim(), claim, qc)
	if err != nil || !fresh {
		return err
	}
	policies, ok := prev.Finality.PoliciesOf(claim.Block)
	if !ok {
		return exception.New(exception.ChainException, "the finalizers of block ${num} are not known any more",
			"num", claim.Block)
	}
	if err := policies.Check(qc); err != nil || !verify {
		return err
	}
	return policies.Verify(qc)
}
