package consensus

import (
	"slices"

	"tarn/antelope/exception"
	"tarn/antelope/feature"
	"tarn/antelope/types"
)

// Recover returns the public key that made a signature of a digest; signatures
// that are not canonical are refused. It may look the key up where another
// goroutine has put it.
type Recover func(types.Signature, types.Checksum256) (types.PublicKey, error)

// Signer signs a digest with the keys that it has, any number of them.
type Signer func(types.Checksum256) ([]types.Signature, error)

// Content is what a header says of the block's content.
type Content struct {
	Transactions types.Checksum256   // the root of their receipts
	Actions      types.Checksum256   // the root of their receipts; in proper blocks that of the validation tree
	Features     []types.Checksum256 // that the block activates

	Schedule *types.ProducerSchedule // proposed by an earlier block, and pending from this one on; nil for none

	Claim      types.QCClaim             // of a proper block
	Finalizers *types.FinalizerPolicy    // that a contract proposed, whatever the generation; nil for none
	Proposers  []types.ProducerAuthority // the same, in a proper block
}

// Header returns the unsigned header of the block that p leads to, by the format that
// is in force before the block (Leap: make_block_header).
func (p *PendingHeader) Header(c *Content, set *feature.Set) (types.SignedBlockHeader, error) {
	var h types.SignedBlockHeader
	h.Timestamp = p.Timestamp
	h.Producer = p.Producer
	h.Confirmed = p.Confirmed
	h.Previous = p.Previous
	h.TransactionMRoot = c.Transactions
	h.ActionMRoot = c.Actions
	h.ScheduleVersion = p.ScheduleVersion
	if len(c.Features) > 0 {
		h.Extensions = h.Extensions.Insert(types.HeaderProtocolFeatures, types.AppendChecksums(nil, c.Features))
	}
	if err := p.propose(&h, c.Schedule, set); err != nil {
		return h, err
	}
	if e := p.extension(c); e != nil {
		h.Extensions = h.Extensions.Insert(types.HeaderFinality, e.Append(nil))
	}
	return h, nil
}

// propose adds a schedule to a header; nil is none.
func (p *PendingHeader) propose(h *types.SignedBlockHeader, proposed *types.ProducerSchedule, set *feature.Set) error {
	switch {
	case proposed == nil:
	case p.Activated.HasBuiltin(set, feature.WTMSIGBlockSignatures):
		h.Extensions = h.Extensions.Insert(types.HeaderScheduleChange, proposed.Append(nil))
	default:
		legacy, ok := proposed.Legacy()
		for _, a := range proposed.Producers {
			ok = ok && uint32(a.Authority.Keys[0].Weight) == a.Authority.Threshold
		}
		if !ok {
			return exception.New(exception.ProducerSchedule, "multisig block signing present before enabled!")
		}
		h.NewProducers = &legacy
	}
	return nil
}

// Finish returns the header state of the block with header h, if h is what may
// follow. The signatures are checked unless recoverKey is nil, for blocks that are
// trusted or are to be checked with [HeaderState.VerifySignee] (Leap:
// pending_block_header_state::finish_next).
func (p *PendingHeader) Finish(
	h *types.SignedBlockHeader, additional []types.Signature, set *feature.Set, recoverKey Recover,
) (*HeaderState, error) {
	if len(additional) > 0 && !p.Activated.HasBuiltin(set, feature.WTMSIGBlockSignatures) {
		return nil, exception.New(exception.ProducerSchedule,
			"Block contains multiple signatures before WTMsig block signatures are enabled")
	}
	if recoverKey == nil {
		s, err := p.finish(h, set, acceptUnsigned)
		if err != nil {
			return nil, err
		}
		s.AdditionalSignatures = additional
		return s, nil
	}
	signatures := append([]types.Signature{h.ProducerSignature}, additional...)
	s, err := p.finish(h, set, func(digest types.Checksum256) error {
		return verifySignee(p.Authority, digest, signatures, recoverKey)
	})
	if err != nil {
		return nil, err
	}
	s.AdditionalSignatures = additional
	return s, s.checkNewFinalizers()
}

// acceptUnsigned takes a block whoever signed it.
func acceptUnsigned(types.Checksum256) error { return nil }

// FinishSigned is Finish for a block that this node produces: it signs the header
// h, with more than one signature only where that is allowed, and checks what the
// signer made.
func (p *PendingHeader) FinishSigned(
	h *types.SignedBlockHeader, set *feature.Set, sign Signer, recoverKey Recover,
) (*HeaderState, error) {
	s, err := p.finish(h, set, acceptUnsigned)
	if err != nil {
		return nil, err
	}
	signatures, err := sign(s.SigningDigest())
	if err != nil {
		return nil, err
	}
	if len(signatures) == 0 {
		return nil, exception.New(exception.NoBlockSignatures, "Signer returned no signatures")
	}
	last := len(signatures) - 1
	s.Header.ProducerSignature = signatures[last]
	if last > 0 {
		s.AdditionalSignatures = slices.Clone(signatures[:last])
	}
	if err := s.VerifySignee(recoverKey); err != nil {
		return nil, err
	}
	h.ProducerSignature = s.Header.ProducerSignature
	if last > 0 && !p.Activated.HasBuiltin(set, feature.WTMSIGBlockSignatures) {
		return nil, exception.New(exception.ProducerSchedule,
			"Block was signed with multiple signatures before WTMsig block signatures are enabled")
	}
	return s, nil
}

// Follow returns the header state after s of a block with header h: Next and
// Finish (Leap: block_header_state::next).
func (s *HeaderState) Follow(
	h *types.SignedBlockHeader, additional []types.Signature, set *feature.Set, recoverKey Recover,
) (*HeaderState, error) {
	p, err := s.Next(h.Timestamp, h.Confirmed)
	if err != nil {
		return nil, err
	}
	return p.Finish(h, additional, set, recoverKey)
}

// check compares h with what was expected.
func (p *PendingHeader) check(h *types.SignedBlockHeader) error {
	switch {
	case h.Timestamp != p.Timestamp:
		return exception.New(exception.BlockValidate, "timestamp mismatch")
	case h.Previous != p.Previous:
		return exception.New(exception.UnlinkableBlock, "previous mismatch")
	case h.Confirmed != p.Confirmed:
		return exception.New(exception.BlockValidate, "confirmed mismatch")
	case h.Producer != p.Producer:
		return exception.New(exception.WrongProducer, "wrong producer specified")
	case h.ScheduleVersion != p.ScheduleVersion:
		return exception.New(exception.ProducerSchedule, "schedule_version in signed block is corrupted")
	}
	return nil
}

// checkSchedule tells why a schedule of this version may not be proposed now.
func (p *PendingHeader) checkSchedule(version uint32) error {
	switch {
	case p.Promoted:
		return exception.New(exception.ProducerSchedule,
			"cannot set pending producer schedule in the same block in which pending was promoted to active")
	case version != p.ActiveSchedule.Version+1:
		return exception.New(exception.ProducerSchedule, "wrong producer schedule version specified")
	case len(p.PrevPending.Schedule.Producers) > 0:
		return exception.New(exception.ProducerSchedule,
			"cannot set new pending producers until last pending is confirmed")
	}
	return nil
}

// proposedSchedule returns the schedule that h proposes, in either form, without producers
// if there is none.
func (p *PendingHeader) proposedSchedule(
	h *types.SignedBlockHeader, extensions *types.HeaderExtensions, set *feature.Set,
) (*ScheduleInfo, error) {
	if h.NewProducers == nil && extensions.ScheduleChange == nil {
		return nil, nil
	}
	weighted := p.Activated.HasBuiltin(set, feature.WTMSIGBlockSignatures)
	info := &ScheduleInfo{LIBNum: p.BlockNum}
	if legacy := h.NewProducers; legacy != nil {
		if weighted {
			return nil, exception.New(exception.ProducerSchedule,
				"Block header contains legacy producer schedule outdated by activation of WTMsig Block Signatures")
		}
		if err := p.checkSchedule(legacy.Version); err != nil {
			return nil, err
		}
		upgraded := legacy.Upgrade()
		info.Hash, info.Schedule = legacy.Hash(), &upgraded
	}
	if change := extensions.ScheduleChange; change != nil {
		if !weighted {
			return nil, exception.New(exception.ProducerSchedule,
				"Block header producer_schedule_change_extension before activation of WTMsig Block Signatures")
		}
		if err := p.checkSchedule(change.Version); err != nil {
			return nil, err
		}
		info.Hash, info.Schedule = change.Hash(), change
	}
	return info, nil
}

// finish is Finish with what checks the signatures of a digest, as soon as that is known: for a proper
// block before anything is made of a header that anybody may have sent.
func (p *PendingHeader) finish(
	h *types.SignedBlockHeader, set *feature.Set, signed func(types.Checksum256) error,
) (*HeaderState, error) {
	if p.proper {
		return p.finishProper(h, set, signed)
	}
	if err := p.check(h); err != nil {
		return nil, err
	}
	extensions, err := h.ExtractExtensions()
	if err != nil {
		return nil, err
	}
	proposed, err := p.proposedSchedule(h, &extensions, set)
	if err != nil {
		return nil, err
	}
	s := &HeaderState{
		Progress:    p.Progress,
		ID:          h.ID(),
		Header:      *h,
		Pending:     p.PrevPending,
		Activated:   p.Activated,
		activations: extensions.ProtocolFeatures,
	}
	if added := extensions.ProtocolFeatures; added != nil {
		if err := set.Check(h.Timestamp.TimePoint(), p.Activated, added); err != nil {
			return nil, err
		}
		if s.Activated, err = p.Activated.With(added); err != nil {
			return nil, err
		}
	}
	switch {
	case proposed != nil:
		s.Pending = *proposed
	case p.Promoted:
		s.Pending.Schedule = &types.ProducerSchedule{Version: p.PrevPending.Schedule.Version}
	}
	if err := p.goOver(s, extensions.Finality); err != nil {
		return nil, err
	}
	return s, signed(s.SigningDigest())
}

// SigningDigest returns what the producer signs (Leap: sig_digest): of a proper block the id.
func (s *HeaderState) SigningDigest() types.Checksum256 {
	if s.IsProper() {
		return s.ID
	}
	digest, root := s.Header.Digest(), s.BlockrootMerkle.Root()
	inner := types.Hash(append(digest[:], root[:]...))
	return types.Hash(append(inner[:], s.Pending.Hash[:]...))
}

// VerifySignee checks that the block is signed with what its producer's authority
// takes, and with nothing else (Leap: verify_signee). It may run on any goroutine.
func (s *HeaderState) VerifySignee(recoverKey Recover) error {
	signatures := append([]types.Signature{s.Header.ProducerSignature}, s.AdditionalSignatures...)
	return verifySignee(s.Authority, s.SigningDigest(), signatures, recoverKey)
}

func verifySignee(
	authority *types.BlockSigningAuthority, digest types.Checksum256, signatures []types.Signature, recoverKey Recover,
) error {
	if n := len(signatures); n > len(authority.Keys) {
		return exception.New(exception.WrongSigningKey,
			"number of block signatures (${num_block_signatures}) exceeds number of keys in block signing authority "+
				"(${num_keys})",
			"num_block_signatures", n, "num_keys", len(authority.Keys), "authority", authority)
	}
	keys := make([]types.PublicKey, 0, len(signatures))
	for _, signature := range signatures {
		key, err := recoverKey(signature, digest)
		if err != nil {
			return err
		}
		if slices.Contains(keys, key) {
			return exception.New(exception.WrongSigningKey, "block signed by same key twice", "key", key)
		}
		keys = append(keys, key)
	}
	satisfied, relevant := authority.KeysSatisfyAndRelevant(keys)
	switch {
	case relevant != len(keys):
		return exception.New(exception.WrongSigningKey, "block signed by unexpected key",
			"signing_keys", types.JSONList[types.PublicKey](keys), "authority", authority)
	case !satisfied:
		return exception.New(exception.WrongSigningKey, "block signatures do not satisfy the block signing authority",
			"signing_keys", types.JSONList[types.PublicKey](keys), "authority", authority)
	}
	return nil
}
