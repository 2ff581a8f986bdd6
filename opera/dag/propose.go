package dag

import (
	"fmt"
	"math"
	"slices"

	"tarn/opera/inter"
)

// SeenFork stands in a [Sight] for a validator of whom a fork was seen. It is above all
// sequence numbers (lachesis-base, emitter/ancestor).
const SeenFork inter.Seq = math.MaxUint32/2 - 1

// Sight is how much an event has seen of each validator, by index: the sequence number of
// the last event, 0 of none.
type Sight []inter.Seq

// Proposal is what an own event must claim.
type Proposal struct {
	// Frame is the highest that it may claim, though not more than 100 above its
	// self-parent's (lachesis-base, abft: Build).
	Frame      inter.Frame
	MedianTime inter.Timestamp
	Sight      Sight
}

// Propose returns what an own event with these parents must claim, and what it sees. The
// event needs no ID. Nothing is kept.
func (e *Epoch) Propose(ev *Event) (Proposal, error) {
	next, row, err := e.connect(ev)
	if err != nil {
		return Proposal{}, fmt.Errorf("propose an event: %w", err)
	}
	before := e.nodes[next.self].frame
	frame := before
	for frame < before+100 && e.causedByQuorum(&next, row, frame) {
		frame++
	}
	return Proposal{max(frame, 1), e.medianTime(row, ev.CreationTime), e.sight(row, &next)}, nil
}

// Build returns of an own event's proposal what the event itself says.
func (e *Epoch) Build(ev *Event) (inter.Frame, inter.Timestamp, error) {
	p, err := e.Propose(ev)
	return p.Frame, p.MedianTime, err
}

// Sight returns what an event has seen, nil if it was not added.
func (e *Epoch) Sight(id inter.EventID) Sight {
	number, ok := e.numbers[id]
	if !ok {
		return nil
	}
	return e.sight(e.row(number), nil)
}

// sight reads a row. The next event, whose number is not given yet, may be in it.
func (e *Epoch) sight(row []uint32, next *node) Sight {
	s := make(Sight, len(row))
	for i, seen := range row {
		switch {
		case seen == forkMark:
			s[i] = SeenFork
		case int(seen) == len(e.nodes):
			s[i] = inter.Seq(next.seq)
		default:
			s[i] = inter.Seq(e.nodes[seen].seq)
		}
	}
	return s
}

// Arrived returns the ids of the events in the order of their arrival, without the first n.
// The slice must not be changed.
func (e *Epoch) Arrived(n int) []inter.EventID { return e.ids[1+n : len(e.ids) : len(e.ids)] }

// Parents returns the parents of an event, none if it was not added.
func (e *Epoch) Parents(id inter.EventID) []inter.EventID {
	number, ok := e.numbers[id]
	if !ok {
		return nil
	}
	numbers := e.parentsOf(number)
	ids := make([]inter.EventID, len(numbers))
	for i, n := range numbers {
		ids[i] = e.ids[n]
	}
	return ids
}

// Confirmed tells whether a decision has confirmed an event.
func (e *Epoch) Confirmed(id inter.EventID) bool { return e.nodes[e.numbers[id]].confirmed }

// Forked tells whether two events of a validator with one sequence number were added.
func (e *Epoch) Forked(id inter.ValidatorID) bool {
	i, ok := e.options.Validators.Index(id)
	return ok && e.forked[i]
}

// RootsSeen counts, of each root of a frame, the validators that are known to have seen it
// by who sees all of the events, which must have been added, and sums that up. A root
// counts for nothing if one of the events has seen a fork of its creator (lachesis-base,
// emitter/ancestor: rootProgress, vecfc: ForklessCauseProgress).
func (e *Epoch) RootsSeen(frame inter.Frame, events ...inter.EventID) (sum int) {
	if frame == 0 {
		return 0
	}
	for j := range e.weights {
		root := e.rootOf(frame, e.last[j])
		forked := func(id inter.EventID) bool { return e.row(e.numbers[id])[j] == forkMark }
		if root == none || slices.ContainsFunc(events, forked) {
			continue
		}
		for i := range e.weights {
			saw := func(id inter.EventID) bool {
				tip := e.row(e.numbers[id])[i]
				return tip != none && tip != forkMark && e.row(tip)[j] >= root
			}
			if slices.ContainsFunc(events, saw) {
				sum++
			}
		}
	}
	return sum
}
