package finality

import (
	"tarn/antelope/crypto"
	"tarn/antelope/types"
)

// quorumState is how far a policy's votes for a block have come (Spring: qc.hpp, state_t). A tally that
// can never be strong any more is final.
type quorumState uint8

const (
	open      quorumState = iota // no quorum, and a strong one is possible
	weakOpen                     // no quorum, and so many weak votes that none can be strong
	weak                         // a quorum that is weak, and may become strong
	weakFinal                    // a quorum that stays weak
	strong                       // a strong quorum
)

// votes are those of one policy for one block.
type votes struct {
	policy       *types.FinalizerPolicy
	strong, weak voted
	state        quorumState
}

// voted are votes of one kind, and their signatures' sum.
type voted struct {
	bits   []int
	set    map[int]bool
	weight uint64
	sum    types.BLSSignature
}

func newVotes(p *types.FinalizerPolicy) *votes {
	return &votes{policy: p, strong: voted{set: map[int]bool{}}, weak: voted{set: map[int]bool{}}}
}

// maxWeak is the weight of weak votes beyond which no strong quorum is possible. nodeos adds
// the weights up in 32 bits with a sign, and so do we, as nodes must agree about which certificate
// they make.
func (v *votes) maxWeak() uint64 {
	var sum int32
	for i := range v.policy.Finalizers {
		sum = int32(uint64(int64(sum)) + v.policy.Finalizers[i].Weight)
	}
	return uint64(int64(sum)) - v.policy.Threshold
}

// index is the place of a key, -1 if it is not in the policy.
func (v *votes) index(key *types.BLSPublicKey) int { return placeOf(v.policy, key) }

func (v *votes) has(i int) bool { return v.strong.set[i] || v.weak.set[i] }

// add counts a vote whose signature was verified, of a finalizer that has not voted.
func (v *votes) add(i int, x *Vote) bool {
	to := &v.weak
	if x.Strong {
		to = &v.strong
	}
	sum, ok := crypto.BLSAdd(to.sum, x.Signature)
	if !ok {
		return false
	}
	to.sum, to.set[i], to.bits = sum, true, append(to.bits, i)
	to.weight += v.policy.Finalizers[i].Weight
	v.step(x.Strong)
	return true
}

// step moves the state on after a vote.
func (v *votes) step(isStrong bool) {
	quorum := v.strong.weight+v.weak.weight >= v.policy.Threshold
	switch {
	case isStrong && v.strong.weight >= v.policy.Threshold &&
		(v.state == open || v.state == weakOpen || v.state == weak):
		v.state = strong
	case isStrong && quorum && v.state == open:
		v.state = weak
	case isStrong && quorum && v.state == weakOpen:
		v.state = weakFinal
	case isStrong:
	case v.state == weak:
		if v.weak.weight >= v.maxWeak() {
			v.state = weakFinal
		}
	case v.state == open || v.state == weakOpen:
		if quorum {
			v.state = weak
		}
		if v.weak.weight > v.maxWeak() {
			switch v.state {
			case weak:
				v.state = weakFinal
			case open:
				v.state = weakOpen
			}
		}
	}
}

// quorum tells whether the votes are enough for a certificate.
func (v *votes) quorum() bool { return v.state >= weak }

// signature is that of the votes that were counted: of the strong ones, or of all.
func (v *votes) signature(all bool) types.QCSignature {
	n := len(v.policy.Finalizers)
	s := types.QCSignature{Strong: types.NewBitset(n, v.strong.bits...), Signature: v.strong.sum}
	if all {
		s.Weak = types.NewBitset(n, v.weak.bits...)
		s.Signature, _ = crypto.BLSAdd(v.strong.sum, v.weak.sum) // both are sums of points
	}
	return s
}

// Aggregate sums up the votes for one block (Spring: aggregating_qc_t). One goroutine at a time
// uses it.
type Aggregate struct {
	block           types.Checksum256
	known           *known
	digest          types.Checksum256        // what votes sign
	active, pending *votes                   // pending is nil for none
	received        *types.QuorumCertificate // that came with a block; nil for none
}

// NewAggregate makes one for a block, without votes.
func NewAggregate(s *State) *Aggregate {
	a := &Aggregate{block: s.ID, known: s.known, digest: s.Digest(), active: newVotes(s.Finalizers)}
	if s.Pending != nil {
		a.pending = newVotes(s.Pending.Policy)
	}
	return a
}

// parts are the policies' votes.
func (a *Aggregate) parts() []*votes {
	if a.pending == nil {
		return []*votes{a.active}
	}
	return []*votes{a.active, a.pending}
}

// Find tells whether a vote's key is in a policy and has not voted: only such a vote's signature
// is worth verifying.
func (a *Aggregate) Find(x *Vote) Result {
	result := Unknown
	for _, v := range a.parts() {
		switch i := v.index(&x.Key); {
		case i < 0:
		case v.has(i):
			return Duplicate
		default:
			result = Counted
		}
	}
	return result
}

// Finalizer is the one with a key, of the active policy before the pending one; nil if neither has it.
func (a *Aggregate) Finalizer(key *types.BLSPublicKey) *types.Finalizer {
	for _, v := range a.parts() {
		if i := v.index(key); i >= 0 {
			return &v.policy.Finalizers[i]
		}
	}
	return nil
}

// Verify verifies the signatures of votes whose keys Find has found, and returns those that are good. Several of
// one kind take hardly more time than one, unless one of them is wrong. Any goroutine may call it at any time.
func (a *Aggregate) Verify(list []*Vote) (good []*Vote) {
	for _, strong := range []bool{true, false} {
		var votes []*Vote
		var signed []crypto.BLSSigned
		for _, x := range list {
			if keys, ok := a.keyOf(x); ok && x.Strong == strong {
				votes, signed = append(votes, x), append(signed, crypto.BLSSigned{Keys: keys, Signature: x.Signature})
			}
		}
		if len(votes) == 0 {
			continue
		}
		m := a.known.message(message{a.digest, strong})
		if crypto.BLSVerifyAll(signed, m) {
			good = append(good, votes...)
			continue
		}
		for i := range votes {
			if len(votes) > 1 && crypto.BLSVerifyAll(signed[i:i+1], m) {
				good = append(good, votes[i])
			}
		}
	}
	return good
}

// keyOf is the key of a vote, of the active policy before the pending one; false if neither has it, or nobody can sign
// with it.
func (a *Aggregate) keyOf(x *Vote) (crypto.BLSKeySum, bool) {
	for _, v := range a.parts() {
		if i := v.index(&x.Key); i >= 0 {
			return a.known.sum(v.policy, types.NewBitset(len(v.policy.Finalizers), i))
		}
	}
	return crypto.BLSKeySum{}, false
}

// Add counts a vote whose signature was verified.
func (a *Aggregate) Add(x *Vote) Result {
	if r := a.Find(x); r != Counted {
		return r
	}
	for _, v := range a.parts() {
		if i := v.index(&x.Key); i >= 0 && !v.add(i, x) {
			return Invalid
		}
	}
	return Counted
}

// Receive keeps a certificate for the block, which was checked and verified, if it is the first, or
// strong where the one before is weak. It tells whether it kept it.
func (a *Aggregate) Receive(qc *types.QuorumCertificate) bool {
	if a.received != nil && (a.received.IsStrong() || !qc.IsStrong()) {
		return false
	}
	a.received = qc
	return true
}

// Best is the better one of the certificate that was received and that of the own votes: a strong
// one, and the received one if they are equal. It is nil as long as there is none.
//
// nodeos chooses for each policy by itself. What it puts together so may not be valid: a finalizer of
// both policies must have voted in both parts, or in none.
func (a *Aggregate) Best() *types.QuorumCertificate {
	own := a.own()
	if own == nil || a.received != nil && (a.received.IsStrong() || !own.IsStrong()) {
		return a.received
	}
	return own
}

// own is the certificate of the votes that were counted; nil as long as a policy has no quorum. If
// one part must have its weak votes, so has the other.
func (a *Aggregate) own() *types.QuorumCertificate {
	all := false
	for _, v := range a.parts() {
		if !v.quorum() {
			return nil
		}
		all = all || v.state != strong
	}
	qc := &types.QuorumCertificate{Block: types.BlockNum(a.block), Active: a.active.signature(all)}
	if a.pending != nil {
		qc.Pending = new(a.pending.signature(all))
	}
	return qc
}
