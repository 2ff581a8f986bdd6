package finality

import (
	"maps"
	"slices"
	"sync"

	"tarn/antelope/types"
)

// LastVote is the newest vote of a finalizer that a certificate has.
type LastVote struct {
	Description string
	Key         types.BLSPublicKey
	Strong      bool
	Generation  uint32 // of the policy; of the active one if the finalizer is in both
	Block       types.Checksum256
	Time        types.BlockTimestamp // of the block
}

// LastVotes remembers the newest votes of all finalizers (Spring: tracked_votes.cpp). The zero value
// remembers none. Any goroutine may call its methods.
type LastVotes struct {
	mu    sync.Mutex
	votes map[types.BLSPublicKey]LastVote
}

// Add remembers the votes of a certificate, which was checked, for the block with that state.
func (l *LastVotes) Add(s *State, qc *types.QuorumCertificate) {
	strong, weak := map[types.BLSPublicKey]LastVote{}, map[types.BLSPublicKey]LastVote{}
	eachPart(s, qc, func(p *types.FinalizerPolicy, sig *types.QCSignature) {
		collect(strong, s, p, sig.Strong, true)
		collect(weak, s, p, sig.Weak, false)
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.votes == nil {
		l.votes = map[types.BLSPublicKey]LastVote{}
	}
	maps.Copy(l.votes, strong)
	maps.Copy(l.votes, weak)
}

// collect adds the votes of one kind for a block, but for those that are there.
func collect(to map[types.BLSPublicKey]LastVote, s *State, p *types.FinalizerPolicy, set *types.Bitset, strong bool) {
	for i := range p.Finalizers {
		f := &p.Finalizers[i]
		if _, there := to[f.Key]; set != nil && set.Has(i) && !there {
			to[f.Key] = LastVote{f.Description, f.Key, strong, p.Generation, s.ID, s.Time()}
		}
	}
}

// Missing are the finalizers of the block with that state which a certificate, that was checked, has no
// vote of: each key once, ascending.
func Missing(s *State, qc *types.QuorumCertificate) []*types.Finalizer {
	var list []*types.Finalizer
	eachPart(s, qc, func(p *types.FinalizerPolicy, sig *types.QCSignature) {
		for i := range p.Finalizers {
			if !(sig.Strong != nil && sig.Strong.Has(i) || sig.Weak != nil && sig.Weak.Has(i)) {
				list = append(list, &p.Finalizers[i])
			}
		}
	})
	slices.SortStableFunc(list, func(x, y *types.Finalizer) int { return slices.Compare(x.Key[:], y.Key[:]) })
	return slices.CompactFunc(list, func(x, y *types.Finalizer) bool { return x.Key == y.Key })
}

// eachPart calls a function for each part of a certificate for the block with that state, the active
// policy's first.
func eachPart(s *State, qc *types.QuorumCertificate, each func(*types.FinalizerPolicy, *types.QCSignature)) {
	each(s.Finalizers, &qc.Active)
	if qc.Pending != nil && s.Pending != nil {
		each(s.Pending.Policy, qc.Pending)
	}
}

// Of is the newest vote of a finalizer; false if none is known.
func (l *LastVotes) Of(key types.BLSPublicKey) (LastVote, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v, ok := l.votes[key]
	return v, ok
}

// Keep forgets the finalizers that are not of these policies, once more than most are known. One that comes
// back into a policy has its vote of before until then. Spring forgets none, so its memory is the chain's to fill.
func (l *LastVotes) Keep(most int, policies ...*types.FinalizerPolicy) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.votes) <= most {
		return
	}
	kept := map[types.BLSPublicKey]LastVote{}
	for _, p := range policies {
		for i := range p.Finalizers {
			if v, ok := l.votes[p.Finalizers[i].Key]; ok {
				kept[v.Key] = v
			}
		}
	}
	l.votes = kept
}
