package finality

import (
	"slices"

	"tarn/antelope/feature"
	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// State is what it takes to validate the headers that follow a block (Spring:
// block_header_state.hpp). It is immutable, and may be read by all goroutines; the policies in it
// are shared.
type State struct {
	ID        types.Checksum256
	Header    types.BlockHeader
	Activated *feature.Active
	Core      Core

	Proposers         *types.ProposerPolicy
	ProposedProposers *types.ProposerPolicy // the latest proposal; nil for none
	PendingProposers  *types.ProposerPolicy // the latest that waits for its round; nil for none

	Finalizers        *types.FinalizerPolicy
	Proposed          []Numbered // proposals that are not final, by the numbers of their blocks
	proposedRoom      *spareCapacity
	Pending           *Numbered // that is to be active when the block is final which made it pending; nil for none
	ClaimedFinalizers *types.FinalizerPolicy
	// ClaimedFinalizers were active at the block that Core claims a certificate of, if that are
	// not Finalizers; else nil.

	Generation    uint32               // of the newest proposal of finalizers
	PendingDigest types.Checksum256    // of the pending finalizers, or of the active ones if none are pending
	PendingSince  types.BlockTimestamp // when the finalizers became pending that did last

	known  *known            // nil remembers nothing
	digest types.Checksum256 // zero if it is to be computed
}

// Numbered is a policy with the number of the block that proposed it, or made it pending.
type Numbered struct {
	Block  uint32
	Policy *types.FinalizerPolicy
}

// Num is the block's number.
func (s *State) Num() uint32 { return s.Core.Num() }

// Time is the block's time.
func (s *State) Time() types.BlockTimestamp { return s.Header.Timestamp }

// IsProper tells whether the block follows Savanna's rules alone, and not those before as well.
func (s *State) IsProper() bool { return s.Header.IsProper() }

// ProposesFinalizers tells whether the block's header proposes finalizers.
func (s *State) ProposesFinalizers() bool {
	n := len(s.Proposed)
	return s.Core.IsGenesis() || n > 0 && s.Proposed[n-1].Block == s.Num()
}

// Policies are those whose finalizers vote for the block: the active one, and the pending one if there is one.
func (s *State) Policies() []*types.FinalizerPolicy {
	list := []*types.FinalizerPolicy{s.Finalizers}
	if s.Pending != nil {
		list = append(list, s.Pending.Policy)
	}
	return list
}

// lastPending are the pending finalizers, or the active ones if none are pending.
func (s *State) lastPending() *types.FinalizerPolicy {
	if s.Pending != nil {
		return s.Pending.Policy
	}
	return s.Finalizers
}

// LastProposed are the finalizers that a new proposal is compared with.
func (s *State) LastProposed() *types.FinalizerPolicy {
	if n := len(s.Proposed); n > 0 {
		return s.Proposed[n-1].Policy
	}
	return s.lastPending()
}

// LastProposedProposers are the producers that a new proposal is compared with.
func (s *State) LastProposedProposers() *types.ProposerPolicy {
	switch {
	case s.ProposedProposers != nil:
		return s.ProposedProposers
	case s.PendingProposers != nil:
		return s.PendingProposers
	}
	return s.Proposers
}

// roundStart is the first slot of a slot's round.
func roundStart(t types.BlockTimestamp) types.BlockTimestamp {
	return t - t%types.ProducerRepetitions
}

// ProposersAt are the producers of a block that follows at that time, which must be later.
func (s *State) ProposersAt(t types.BlockTimestamp) *types.ProposerPolicy {
	own, final := s.Time(), s.Core.LastFinalTime()
	if uint64(t) < uint64(roundStart(own))+types.ProducerRepetitions {
		return s.Proposers
	}
	if p := s.ProposedProposers; p != nil && own >= types.ProducerRepetitions &&
		p.Proposed < roundStart(own)-types.ProducerRepetitions && p.Proposed <= final {
		return p
	}
	if p := s.PendingProposers; p != nil && p.Proposed <= final {
		return p
	}
	return s.Proposers
}

// ProducerAt is who makes the block that follows at that time, which must be later.
func (s *State) ProducerAt(t types.BlockTimestamp) *types.ProducerAuthority {
	list := s.ProposersAt(t).Schedule.Producers
	return &list[int(t)%(len(list)*types.ProducerRepetitions)/types.ProducerRepetitions]
}

// Ref is what the cores of following blocks remember of this one.
func (s *State) Ref() Ref {
	r := Ref{ID: s.ID, Time: s.Time(), Finality: s.Digest(), Active: s.Finalizers.Generation}
	if s.Pending != nil {
		r.Pending = s.Pending.Policy.Generation
	}
	return r
}

// Policies are the finalizers whose votes a certificate for a block sums up.
type Policies struct {
	Finality types.Checksum256 // what strong votes sign
	Active   *types.FinalizerPolicy
	Pending  *types.FinalizerPolicy // nil for none
	known    *known
}

// activeGeneration is the generation of the finalizers active at this block or at one that the core
// has, 0 for any other.
func (s *State) activeGeneration(num uint32) uint32 {
	if num == s.Num() {
		return s.Finalizers.Generation
	}
	if r := s.Core.Ref(num); r != nil {
		return r.Active
	}
	return 0
}

// PoliciesOf are those of a certificate for a block from the one claimed to this one; false if the
// state does not have them.
func (s *State) PoliciesOf(num uint32) (p Policies, ok bool) {
	if num == s.Num() {
		return s.policies(s.Ref())
	}
	if r := s.Core.Ref(num); r != nil {
		return s.policies(*r)
	}
	return p, false
}

// policies are those of a block that is referred to so.
func (s *State) policies(r Ref) (p Policies, ok bool) {
	p.Finality, p.known = r.Finality, s.known
	switch c := s.ClaimedFinalizers; {
	case s.Finalizers.Generation == r.Active:
		p.Active = s.Finalizers
	case c != nil && c.Generation == r.Active:
		p.Active = c
	default:
		return p, false
	}
	switch {
	case r.Pending == 0:
	case r.Pending == s.Finalizers.Generation:
		p.Pending = s.Finalizers
	case s.Pending != nil && s.Pending.Policy.Generation == r.Pending:
		p.Pending = s.Pending.Policy
	default:
		return p, false
	}
	return p, true
}

// appendOptional appends whether there is a value, and the value.
func appendOptional[T any](b []byte, v *T, value func(*T, []byte) []byte) []byte {
	if b = serial.AppendBool(b, v != nil); v != nil {
		b = value(v, b)
	}
	return b
}

func (n *Numbered) append(b []byte) []byte {
	return appendOptional(serial.AppendUint32(b, n.Block), n.Policy, (*types.FinalizerPolicy).Append)
}

func (s *State) appendFinalizers(b []byte) []byte {
	b = serial.AppendCount(b, len(s.Proposed))
	for i := range s.Proposed {
		b = s.Proposed[i].append(b)
	}
	return appendOptional(b, s.Pending, (*Numbered).append)
}

// Append appends the state as snapshots and files have it.
func (s *State) Append(b []byte) []byte {
	b = s.Header.Append(s.ID.Append(b))
	b = appendOptional(b, s.Activated, (*feature.Active).Append)
	b = s.Core.Append(b)
	b = appendOptional(b, s.Finalizers, (*types.FinalizerPolicy).Append)
	b = appendOptional(b, s.Proposers, (*types.ProposerPolicy).Append)
	b = appendOptional(b, s.ProposedProposers, (*types.ProposerPolicy).Append)
	b = appendOptional(b, s.PendingProposers, (*types.ProposerPolicy).Append)
	b = s.appendFinalizers(b)
	b = appendOptional(b, s.ClaimedFinalizers, (*types.FinalizerPolicy).Append)
	b = s.PendingDigest.Append(serial.AppendUint32(b, s.Generation))
	return s.PendingSince.Append(b)
}

// readOptional reads what appendOptional appends.
func readOptional[T any](r *serial.Reader, read func(*T, *serial.Reader)) *T {
	if !r.Bool() {
		return nil
	}
	v := new(T)
	read(v, r)
	return v
}

func (n *Numbered) read(r *serial.Reader) {
	*n = Numbered{Block: r.Uint32(), Policy: readOptional(r, (*types.FinalizerPolicy).Read)}
	if n.Policy == nil {
		r.Fail(serial.ErrValue)
	}
}

// Read decodes what Append encodes. A state without active policies, or whose core is another
// block's, is refused.
func (s *State) Read(r *serial.Reader) {
	*s = State{}
	s.ID.Read(r)
	s.Header.Read(r)
	s.Activated = readOptional(r, func(a *feature.Active, r *serial.Reader) { *a = *feature.ReadActive(r) })
	s.Core.Read(r)
	s.Finalizers = readOptional(r, (*types.FinalizerPolicy).Read)
	s.Proposers = readOptional(r, (*types.ProposerPolicy).Read)
	s.ProposedProposers = readOptional(r, (*types.ProposerPolicy).Read)
	s.PendingProposers = readOptional(r, (*types.ProposerPolicy).Read)
	if n := r.Count(4 + 1); n > 0 {
		s.Proposed = make([]Numbered, n)
	}
	for i := range s.Proposed {
		s.Proposed[i].read(r)
	}
	s.Pending = readOptional(r, (*Numbered).read)
	s.ClaimedFinalizers = readOptional(r, (*types.FinalizerPolicy).Read)
	s.Generation = r.Uint32()
	s.PendingDigest.Read(r)
	s.PendingSince.Read(r)
	if r.Err() == nil && (s.Finalizers == nil || s.Proposers == nil || len(s.Proposers.Schedule.Producers) == 0 ||
		s.Num() != types.BlockNum(s.ID) || s.Num() != s.Header.BlockNum() || empty(s.ProposedProposers) ||
		empty(s.PendingProposers)) {
		r.Fail(serial.ErrValue)
	}
	if r.Err() == nil {
		s.digest, s.known = s.computeDigest(), new(known)
	}
}

// empty tells whether there is a policy, and it has no producers: no block could follow.
func empty(p *types.ProposerPolicy) bool { return p != nil && len(p.Schedule.Producers) == 0 }

// IsFinalizer tells whether votes of a key count for the block.
func (s *State) IsFinalizer(k types.BLSPublicKey) bool {
	return slices.ContainsFunc(s.Policies(), func(p *types.FinalizerPolicy) bool { return placeOf(p, &k) >= 0 })
}

// placeOf is the place of a key in a policy, -1 if it is not there.
func placeOf(p *types.FinalizerPolicy, k *types.BLSPublicKey) int {
	for i := range p.Finalizers { // not by value: a finalizer is large
		if p.Finalizers[i].Key == *k {
			return i
		}
	}
	return -1
}

// VotedStrongly tells whether a strong certificate for the block, which was checked, has a vote of a key.
func (s *State) VotedStrongly(k types.BLSPublicKey, qc *types.QuorumCertificate) bool {
	if i := placeOf(s.Finalizers, &k); i >= 0 && has(qc.Active.Strong, i) {
		return true
	}
	if s.Pending == nil || qc.Pending == nil {
		return false
	}
	i := placeOf(s.Pending.Policy, &k)
	return i >= 0 && has(qc.Pending.Strong, i)
}
