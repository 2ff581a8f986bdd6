package finality

import (
	"slices"

	"tarn/antelope/crypto"
	"tarn/antelope/exception"
	"tarn/antelope/types"
)

// CheckClaim checks that a header may claim that, given what its parent's header claims and the
// certificate that its block carries, nil for none (Spring: controller.cpp, verify_qc_claim). It
// tells whether the certificate is a new one, which [Policies.Check] and [Policies.Verify] must
// look at.
func CheckClaim(num uint32, before, claim types.QCClaim, qc *types.QuorumCertificate) (fresh bool, err error) {
	invalid := func(kind *exception.Kind, format string, values ...any) (bool, error) {
		return false, exception.New(kind, "block ${num} "+format, append([]any{"num", num}, values...)...)
	}
	switch {
	case claim.Block < before.Block:
		return invalid(exception.InvalidQCClaim, "claims a QC of block ${claim}, its parent one of block ${before}",
			"claim", claim.Block, "before", before.Block)
	case claim.Block >= num:
		return invalid(exception.InvalidQCClaim, "claims a QC of block ${claim}, which is no ancestor",
			"claim", claim.Block)
	case claim == before && qc != nil:
		return invalid(exception.InvalidQCClaim, "brings a QC and claims none that its parent does not claim")
	case claim == before:
		return false, nil
	case claim.Block == before.Block && !claim.Strong:
		return invalid(exception.InvalidQCClaim, "claims a weak QC of block ${claim}, its parent a strong one",
			"claim", claim.Block)
	case qc == nil:
		return invalid(exception.BlockValidate, "claims a QC of block ${claim} and does not bring it",
			"claim", claim.Block)
	case qc.Block != claim.Block:
		return invalid(exception.BlockValidate, "claims a QC of block ${claim} and brings one of block ${qc}",
			"claim", claim.Block, "qc", qc.Block)
	case qc.IsStrong() != claim.Strong:
		return invalid(exception.BlockValidate, "claims a QC that is strong: ${claim}, and brings one that is: ${qc}",
			"claim", claim.Strong, "qc", qc.IsStrong())
	}
	return true, nil
}

func invalidQC(format string, values ...any) error {
	return exception.New(exception.InvalidQC, format, values...)
}

// Check checks a certificate but for its signatures: that its votes are those of finalizers of these
// policies, and that they are a quorum (Spring: qc.cpp, verify_basic).
func (p *Policies) Check(qc *types.QuorumCertificate) error {
	if err := checkVotes(p.Active, &qc.Active); err != nil {
		return err
	}
	switch {
	case qc.Pending == nil && p.Pending == nil:
		return nil
	case qc.Pending == nil:
		return invalidQC("the QC of block ${num} lacks votes of the pending finalizers", "num", qc.Block)
	case p.Pending == nil:
		return invalidQC("the QC of block ${num} has votes of pending finalizers, and none are pending",
			"num", qc.Block)
	}
	if err := checkVotes(p.Pending, qc.Pending); err != nil {
		return err
	}
	pending := make(map[types.BLSPublicKey]int, len(p.Pending.Finalizers))
	for i := range slices.Backward(p.Pending.Finalizers) {
		pending[p.Pending.Finalizers[i].Key] = i
	}
	for i := range p.Active.Finalizers {
		j, both := pending[p.Active.Finalizers[i].Key]
		if both && (has(qc.Active.Strong, i) != has(qc.Pending.Strong, j) ||
			has(qc.Active.Weak, i) != has(qc.Pending.Weak, j)) {
			return invalidQC("the QC of block ${num} has two different votes of ${key}",
				"num", qc.Block, "key", p.Active.Finalizers[i].Key.String())
		}
	}
	return nil
}

// has tells whether there is a bitset, and the bit is set in it.
func has(b *types.Bitset, i int) bool { return b != nil && b.Has(i) }

// checkVotes checks the votes of one policy's finalizers.
func checkVotes(p *types.FinalizerPolicy, s *types.QCSignature) error {
	if s.Strong == nil && s.Weak == nil {
		return invalidQC("a QC has no votes at all of the finalizers of generation ${generation}",
			"generation", p.Generation)
	}
	for _, b := range []*types.Bitset{s.Strong, s.Weak} {
		if b != nil && b.Len() != len(p.Finalizers) {
			return invalidQC("a QC has votes of ${votes} finalizers, where there are ${finalizers}",
				"votes", b.Len(), "finalizers", len(p.Finalizers))
		}
	}
	var strong, weak uint64 // weights: their sum was checked when the policy was proposed
	for i := range p.Finalizers {
		if has(s.Strong, i) && has(s.Weak, i) {
			return invalidQC("a QC has a strong and a weak vote of finalizer ${index}", "index", i)
		}
		if has(s.Strong, i) {
			strong += p.Finalizers[i].Weight
		}
		if has(s.Weak, i) {
			weak += p.Finalizers[i].Weight
		}
	}
	switch {
	case !s.IsWeak() && strong < p.Threshold:
		return invalidQC("the strong votes of a QC weigh ${strong}, less than ${threshold}",
			"strong", strong, "threshold", p.Threshold)
	case s.IsWeak() && strong+weak < p.Threshold:
		return invalidQC("the votes of a QC weigh ${strong} and ${weak}, together less than ${threshold}",
			"strong", strong, "weak", weak, "threshold", p.Threshold)
	}
	return nil
}

// Verify verifies the signatures of a certificate that Check has let pass. It takes about a
// millisecond for each kind of votes, and belongs on another goroutine than the writer's.
func (p *Policies) Verify(qc *types.QuorumCertificate) error {
	verify := func(policy *types.FinalizerPolicy, s *types.QCSignature) error {
		var signers []crypto.BLSSigners
		for _, part := range []struct {
			bits   *types.Bitset
			strong bool
		}{{s.Strong, true}, {s.Weak, false}} {
			if part.bits == nil {
				continue
			}
			keys, ok := p.known.sum(policy, part.bits)
			if !ok {
				return invalidSignature()
			}
			signers = append(signers,
				crypto.BLSSigners{Keys: keys, Message: p.known.message(message{p.Finality, part.strong})})
		}
		if !crypto.BLSVerify(signers, &s.Signature) {
			return invalidSignature()
		}
		return nil
	}
	err := verify(p.Active, &qc.Active)
	if err == nil && qc.Pending != nil {
		err = verify(p.Pending, qc.Pending)
	}
	return err
}

func invalidSignature() error {
	return exception.New(exception.InvalidQCSignature, "the signature of a QC is not that of its finalizers")
}
