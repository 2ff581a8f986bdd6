package finality

import (
	"unsafe"

	"tarn/antelope/types"
)

// FixedBytes is about what a state takes in memory besides what [State.Parts] tells of.
const FixedBytes = int64(unsafe.Sizeof(State{}))

// Parts tells of the memory that the state may share with states of other blocks. All states that share a part
// tell of it with the same key. bytes is asked only of a part whose size is wanted: a policy's takes a walk over it.
// A header of some hundred bytes can make a policy that takes megabytes.
func (s *State) Parts(tell func(key any, bytes func() int64)) {
	if s.proposedRoom != nil {
		tell(s.proposedRoom, func() int64 { return int64(cap(s.Proposed)) * int64(unsafe.Sizeof(Numbered{})) })
	}
	finalizers := func(p *types.FinalizerPolicy) {
		if p != nil {
			tell(p, func() int64 { return finalizerBytes(p) })
		}
	}
	for i := range s.Proposed {
		finalizers(s.Proposed[i].Policy)
	}
	if s.Pending != nil {
		finalizers(s.Pending.Policy)
	}
	finalizers(s.Finalizers)
	finalizers(s.ClaimedFinalizers)
	for _, p := range []*types.ProposerPolicy{s.Proposers, s.ProposedProposers, s.PendingProposers} {
		if p != nil {
			tell(&p.Schedule, func() int64 { return p.Schedule.Footprint() })
		}
	}
	s.Core.parts(tell)
}

// parts are the lists of a core that continue those of cores before it.
func (c *Core) parts(tell func(key any, bytes func() int64)) {
	if c.refRoom != nil {
		tell(c.refRoom, func() int64 { return int64(cap(c.refs)) * int64(unsafe.Sizeof(Ref{})) })
	}
	if c.linkRoom != nil {
		tell(c.linkRoom, func() int64 { return int64(cap(c.links)) * int64(unsafe.Sizeof(Link{})) })
	}
}

func finalizerBytes(p *types.FinalizerPolicy) int64 {
	n := int64(cap(p.Finalizers)) * int64(unsafe.Sizeof(types.Finalizer{}))
	for i := range p.Finalizers {
		n += int64(len(p.Finalizers[i].Description))
	}
	return n
}
