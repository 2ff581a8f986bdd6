package dag

import "tarn/opera/inter"

// causes computes which roots of a frame, above 0, forklessly cause an event. It returns
// their numbers by validator, none for a validator without one, and the sum of the
// weights of their creators. The event need not be kept yet. The slice is good until the
// next call.
func (e *Epoch) causes(n *node, row []uint32, frame inter.Frame) ([]uint32, inter.Weight) {
	roots, sums := e.roots, e.sums
	for i, tip := range row {
		if i == int(n.creator) && tip != forkMark {
			// The event is no root of a frame from which it must be caused.
			tip = n.self
		}
		roots[i], sums[i] = none, 0
		if tip != forkMark {
			roots[i] = e.rootOf(frame, tip)
		}
	}
	for i, tip := range row {
		if tip == none || tip == forkMark {
			continue
		}
		addWhereSeen(sums, e.row(tip), roots, e.weights[i])
	}
	var total inter.Weight
	for i := range roots {
		if roots[i] != none && sums[i] >= e.quorum {
			total += e.weights[i]
		} else {
			roots[i] = none
		}
	}
	return roots, total
}

// addWhereSeen adds a weight to the sums of those roots that a row has seen. This is
// where the time goes; what it chooses is as good as random, so it does not branch.
func addWhereSeen(sums []inter.Weight, row, roots []uint32, weight inter.Weight) {
	row, roots = row[:len(sums)], roots[:len(sums)]
	for j := range sums {
		add := weight
		if row[j] < roots[j] {
			add = 0
		}
		sums[j] += add
	}
}

// causedByQuorum tells whether roots of a frame with a quorum of the weight forklessly
// cause the event. There are no roots of frame 0.
func (e *Epoch) causedByQuorum(n *node, row []uint32, frame inter.Frame) bool {
	if frame == 0 {
		return false
	}
	_, total := e.causes(n, row, frame)
	return total >= e.quorum
}

// mayClaim tells whether an event may claim a frame: that of its self-parent or any
// higher one that it has reached, even if it has reached more; frame 1 if it is its
// creator's first (lachesis-base, abft: calcFrameIdx). If the event is a root above frame 1,
// it returns what causes it from the frame before the claimed one, until the next call.
func (e *Epoch) mayClaim(n *node, row []uint32, frame inter.Frame) ([]uint32, bool) {
	before := e.nodes[n.self].frame
	switch {
	case before == 0:
		return nil, frame == 1
	case frame <= before:
		return nil, frame == before
	}
	causes, total := e.causes(n, row, frame-1)
	return causes, total >= e.quorum
}
