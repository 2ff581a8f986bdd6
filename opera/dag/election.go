package dag

import (
	"fmt"
	"slices"

	"tarn/internal/invariants"
	"tarn/opera/inter"
)

// election decides one frame after the other: which validators' roots of the frame
// the roots of later frames agree on, and which of them is the Atropos.
type election struct {
	deciding inter.Frame // the frame that is being decided
	// later are the roots of the frames above it, by frame; only they vote.
	later   []ballots
	waiting []*ballot // have not voted in this election yet
	// decisions by validator: the root that was agreed on, or none.
	decided  []bool
	decision []uint32
}

// ballots are the roots of one frame, in the order of arrival and by event.
type ballots struct {
	inOrder []*ballot
	of      map[uint32]*ballot
}

// ballot is an event as a root of one frame, and how it votes in the present election.
type ballot struct {
	event uint32
	frame inter.Frame
	// causes are the roots of the frame before that forklessly cause it, by validator.
	causes []uint32
	// votes are, for each validator, the root that it votes for, or none: a no.
	votes []uint32
}

// start begins the election of a frame. Roots of later frames are to vote again.
func (v *election) start(validators int, frame inter.Frame) {
	v.deciding = frame
	v.decided = make([]bool, validators)
	v.decision = make([]uint32, validators)
	v.waiting = nil
	for _, b := range v.later {
		v.waiting = append(v.waiting, b.inOrder...)
	}
}

// addRoots makes an event a root of the frames above its self-parent's, up to its own,
// of which mayClaim has found the causes.
func (e *Epoch) addRoots(number uint32, causes []uint32) {
	n := &e.nodes[number]
	for f := max(e.nodes[n.self].frame, e.deciding) + 1; f <= n.frame; f++ {
		for e.deciding+inter.Frame(len(e.later)) < f {
			e.later = append(e.later, ballots{of: map[uint32]*ballot{}})
		}
		b := &ballot{event: number, frame: f}
		if f == n.frame {
			b.causes = slices.Clone(causes)
		}
		of := &e.later[f-e.deciding-1]
		of.inOrder = append(of.inOrder, b)
		of.of[number] = b
		e.waiting = append(e.waiting, b)
	}
}

// vote lets a root vote, and returns the Atropos if that decides the frame, else none.
func (e *Epoch) vote(b *ballot) (uint32, error) {
	if b.causes == nil {
		causes, _ := e.causes(&e.nodes[b.event], e.row(b.event), b.frame-1)
		b.causes = slices.Clone(causes)
	}
	if b.votes == nil {
		b.votes = make([]uint32, len(b.causes))
	}
	if b.frame == e.deciding+1 {
		// It votes for the roots that cause it.
		copy(b.votes, b.causes)
	} else {
		e.tally(b)
	}
	for i, decided := range e.decided {
		if !decided {
			return none, nil
		}
		if e.decision[i] != none {
			return e.decision[i], nil
		}
	}
	return none, fmt.Errorf("no validator's root of frame %d was agreed on: %w", e.deciding, ErrByzantine)
}

// tally lets a root vote as the greater part of the roots that cause it did, yes if the
// parts are equal, and decides about the validators on whom a quorum of them agrees.
//
// All who vote yes for a validator vote for one root of it, whoever forked. Were there two
// such roots, two ballots of the first round would have been caused by one each, each
// through a quorum of validators that saw it. The root at hand sees those ballots, and
// no fork of a quorum. The three quorums have a validator in common. What it is seen to
// have made is one chain, so the later of its two events saw both roots, a fork; and a
// ballot that sees the fork is caused by neither.
func (e *Epoch) tally(b *ballot) {
	var total inter.Weight
	yes := make([]inter.Weight, len(b.votes))
	clear(b.votes)
	before := e.later[b.frame-e.deciding-2].of
	for i, root := range b.causes {
		if root == none {
			continue
		}
		total += e.weights[i]
		for s, choice := range before[root].votes {
			if choice == none || e.decided[s] {
				continue
			}
			if invariants.Enabled {
				invariants.Check(b.votes[s] == none || b.votes[s] == choice,
					"votes for two roots of validator %d in frame %d", s, e.deciding)
			}
			b.votes[s] = choice
			yes[s] += e.weights[i]
		}
	}
	for s := range b.votes {
		if e.decided[s] {
			continue
		}
		no := total - yes[s]
		if yes[s] < no {
			b.votes[s] = none
		}
		if yes[s] >= e.quorum || no >= e.quorum {
			e.decided[s], e.decision[s] = true, b.votes[s]
		}
	}
}
