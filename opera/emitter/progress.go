package emitter

import (
	"cmp"
	"slices"

	"tarn/opera/dag"
	"tarn/opera/inter"
	"tarn/opera/piecewise"
)

// progress is how far the validators know of each other, and what an event would add
// (lachesis-base, emitter/ancestor: QuorumIndexer).
type progress struct {
	validators *inter.Validators
	known      []dag.Sight // by validator's index: what its last event has seen
	own        dag.Sight   // the same of this validator
	median     dag.Sight   // of each validator, what a quorum has seen; nil until it is computed
	news       piecewise.Function
}

func newProgress(v *inter.Validators) *progress {
	p := &progress{validators: v, known: make([]dag.Sight, v.Len()), own: make(dag.Sight, v.Len()), news: newsCurve()}
	for i := range p.known {
		p.known[i] = make(dag.Sight, v.Len())
	}
	return p
}

// hear notes what a validator's new event has seen.
func (p *progress) hear(index int, seen dag.Sight, own bool) {
	p.known[index], p.median = seen, nil
	if own {
		p.own = seen
	}
}

// settle computes the median.
func (p *progress) settle() {
	if p.median != nil {
		return
	}
	p.median = make(dag.Sight, len(p.known))
	order := make([]int, len(p.known))
	for v := range p.median {
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(a, b int) int { return cmp.Compare(p.known[b][v], p.known[a][v]) })
		var sum inter.Weight
		for _, i := range order {
			if sum += p.validators.At(i).Weight; sum >= p.validators.Quorum() {
				p.median[v] = p.known[i][v]
				break
			}
		}
	}
}

// worth returns what an event that sees that much adds to what a quorum has seen, in
// millionths.
func (p *progress) worth(seen dag.Sight) uint64 {
	p.settle()
	var sum uint64
	for v, update := range seen {
		median, current := p.median[v], p.own[v]
		if update <= median || update <= current {
			continue
		}
		sum += p.value(update-median, v)
		if median < current {
			sum -= p.value(current-median, v)
		}
	}
	return sum
}

// value is that of so many events of a validator.
func (p *progress) value(events inter.Seq, v int) uint64 {
	return p.news.At(uint64(events)*unit) * uint64(p.validators.At(v).Weight) / uint64(p.validators.Total())
}

// union is what is seen by whoever sees all of these.
func union(of []dag.Sight) dag.Sight {
	all := slices.Clone(of[0])
	for _, s := range of[1:] {
		for i := range all {
			all[i] = max(all[i], s[i])
		}
	}
	return all
}
