package dag

import (
	"bytes"
	"slices"

	"tarn/opera/inter"
)

// Decision is a decided frame: a block, if the chain makes one of it.
type Decision struct {
	Frame   inter.Frame
	Atropos inter.EventID
	// Cheaters are the validators of whom the Atropos has seen a fork, in the order of
	// their index. Each decision names all that its Atropos knows, not only new ones.
	Cheaters []inter.ValidatorID
	// Confirmed are the Atropos and those of its ancestors that no earlier decision of
	// the epoch confirmed, in the order of their ids. There are none if an earlier
	// decision has confirmed the Atropos itself.
	Confirmed []inter.EventID
}

// Next returns the next decided frame, nil if there is none until another event is added.
// A chain that seals the epoch with a decision drops the Epoch, with all that was not
// decided in it. The error, if any, wraps ErrByzantine, and every later call returns it.
func (e *Epoch) Next() (*Decision, error) {
	for len(e.waiting) > 0 {
		atropos, err := e.vote(e.waiting[0])
		if err != nil {
			return nil, err
		}
		e.waiting = e.waiting[1:]
		if atropos == none {
			continue
		}
		confirmed := e.confirm(atropos)
		frame := e.deciding
		e.later = slices.Delete(e.later, 0, 1)
		e.election.start(len(e.weights), frame+1)
		if frame > e.options.Decided {
			return e.decisionOf(frame, atropos, confirmed), nil
		}
	}
	return nil, nil
}

func (e *Epoch) decisionOf(frame inter.Frame, atropos uint32, confirmed []uint32) *Decision {
	d := &Decision{Frame: frame, Atropos: e.ids[atropos], Confirmed: make([]inter.EventID, len(confirmed))}
	for i, seen := range e.row(atropos) {
		if seen == forkMark {
			d.Cheaters = append(d.Cheaters, e.options.Validators.At(i).ID)
		}
	}
	for i, number := range confirmed {
		d.Confirmed[i] = e.ids[number]
	}
	slices.SortFunc(d.Confirmed, func(a, b inter.EventID) int { return bytes.Compare(a[:], b[:]) })
	return d
}

// confirm marks the event and its ancestors, and returns those that were not marked
// before. An event that is marked has no ancestor that is not.
func (e *Epoch) confirm(atropos uint32) []uint32 {
	var confirmed []uint32
	e.stack = append(e.stack[:0], atropos)
	for len(e.stack) > 0 {
		number := e.stack[len(e.stack)-1]
		e.stack = e.stack[:len(e.stack)-1]
		if n := &e.nodes[number]; !n.confirmed {
			n.confirmed = true
			confirmed = append(confirmed, number)
			e.stack = append(e.stack, e.parentsOf(number)...)
		}
	}
	return confirmed
}

// parentsOf returns the numbers of an event's parents.
func (e *Epoch) parentsOf(number uint32) []uint32 {
	end := len(e.parents)
	if int(number)+1 < len(e.nodes) {
		end = int(e.nodes[number+1].parents)
	}
	return e.parents[e.nodes[number].parents:end]
}
