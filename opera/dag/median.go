package dag

import (
	"cmp"
	"slices"

	"tarn/opera/inter"
)

// weighted is the creation time of the last event that was seen of a validator, with
// the validator's weight.
type weighted struct {
	time   inter.Timestamp
	weight inter.Weight
}

// lastTimes returns for each validator the time of its last event that an event with
// that row and creation time has seen, and half of the weight of those that are
// honest in its eyes. The others are at time 0 with no weight (go-opera, vecmt: with
// honest weights of at most 1 that time is the median).
func (e *Epoch) lastTimes(row []uint32, creation inter.Timestamp) ([]weighted, inter.Weight) {
	e.times = e.times[:0]
	var honest inter.Weight
	for i, seen := range row {
		w := weighted{e.options.Start, e.weights[i]}
		switch {
		case seen == forkMark:
			w = weighted{}
		case seen == uint32(len(e.nodes)):
			w.time = creation
		case seen != none:
			w.time = e.nodes[seen].creation
		}
		honest += w.weight
		e.times = append(e.times, w)
	}
	return e.times, honest / 2
}

// medianTime returns the first of the times, in their order, at which half of the honest
// weight is reached.
func (e *Epoch) medianTime(row []uint32, creation inter.Timestamp) inter.Timestamp {
	times, half := e.lastTimes(row, creation)
	slices.SortFunc(times, func(a, b weighted) int { return cmp.Compare(a.time, b.time) })
	var sum inter.Weight
	i := slices.IndexFunc(times, func(w weighted) bool {
		sum += w.weight
		return sum >= half
	})
	return times[i].time
}

// isMedianTime tells whether medianTime would return that time, without sorting: half of
// the weight is reached with it and not before.
func (e *Epoch) isMedianTime(claimed inter.Timestamp, row []uint32, creation inter.Timestamp) bool {
	times, half := e.lastTimes(row, creation)
	var before, until inter.Weight
	earlier, there := false, false
	for _, w := range times {
		if w.time < claimed {
			before += w.weight
			earlier = true
		}
		if w.time <= claimed {
			until += w.weight
		}
		there = there || w.time == claimed
	}
	return there && until >= half && !(earlier && before >= half)
}
