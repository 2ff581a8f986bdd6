package emitter

import (
	"slices"

	"tarn/opera/chain"
	"tarn/opera/dag"
	"tarn/opera/inter"
)

// payloads remembers of events the longest chain of transactions that ends with them
// (lachesis-base, emitter/ancestor: PayloadIndexer). It forgets the oldest.
type payloads struct {
	of    map[inter.EventID]uint64
	order []inter.EventID
}

const rememberedPayloads = 5000

func newPayloads() *payloads { return &payloads{of: map[inter.EventID]uint64{}} }

func (p *payloads) hear(id inter.EventID, parents []inter.EventID, txs uint64) {
	sum := p.most(parents) + txs
	if sum == 0 {
		return
	}
	if len(p.order) >= rememberedPayloads {
		delete(p.of, p.order[0])
		p.order = p.order[1:]
	}
	p.of[id] = sum
	p.order = append(p.order, id)
}

func (p *payloads) most(ids []inter.EventID) (most uint64) {
	for _, id := range ids {
		most = max(most, p.of[id])
	}
	return most
}

// parents chooses those of the next event: the self-parent, the head with the most
// payload, some at random, and those that add most to what a quorum has seen (go-opera,
// gossip/emitter/parents.go).
// self is zero for the first event of an epoch.
func (em *Emitter) parents(c *chain.Chain, self inter.EventID) []inter.EventID {
	var chosen []inter.EventID
	var seen []dag.Sight
	take := func(id inter.EventID) {
		chosen = append(chosen, id)
		seen = append(seen, c.Sight(id))
	}
	heads := c.Tips()
	if !self.IsZero() {
		take(self)
		heads = slices.DeleteFunc(heads, func(id inter.EventID) bool { return id == self })
	}
	em.o.Random.Shuffle(len(heads), func(i, j int) { heads[i], heads[j] = heads[j], heads[i] })
	most := em.maxParents() - len(chosen)
	for n := 0; n < most && len(heads) > 0; n++ {
		best := 0
		switch {
		case n == 0:
			best = greatest(heads, func(id inter.EventID) uint64 {
				return max(em.payloads.of[id], em.payloads.most(chosen))
			})
		case n >= most/2:
			best = greatest(heads, func(id inter.EventID) uint64 {
				if em.roots != nil {
					return em.roots.sightings(c, append(chosen[:len(chosen):len(chosen)], id)...)
				}
				return em.progress.worth(union(append(seen[:len(seen):len(seen)], c.Sight(id))))
			})
		}
		take(heads[best])
		heads = slices.Delete(heads, best, best+1)
	}
	return chosen
}

// greatest returns the index of the first of those that are worth most.
func greatest(ids []inter.EventID, worth func(inter.EventID) uint64) (best int) {
	var most uint64
	for i, id := range ids {
		if w := worth(id); i == 0 || w > most {
			best, most = i, w
		}
	}
	return best
}

func (em *Emitter) maxParents() int {
	allowed := int(em.epoch.Rules.Dag.MaxParents)
	if em.o.MaxParents == 0 {
		return allowed
	}
	return min(em.o.MaxParents, allowed)
}
