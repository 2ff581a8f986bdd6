package dag

import (
	"fmt"
	"slices"

	"tarn/opera/inter"
)

// row returns the row of the event with that number. The row of the next event has
// its place too, once connect has made it.
func (e *Epoch) row(number uint32) []uint32 {
	n := len(e.weights)
	return e.rows[number>>pieceBits][int(number&(pieceRows-1))*n:][:n:n]
}

// connect finds the event's parents, left in found, and computes its node, without a
// frame, and its row, in the place where it belongs once the event is kept.
func (e *Epoch) connect(ev *Event) (node, []uint32, error) {
	creator, ok := e.options.Validators.Index(ev.Creator)
	if !ok {
		return node{}, nil, fmt.Errorf("its creator %d is no validator of epoch %d", ev.Creator, e.options.Number)
	}
	if err := e.find(ev.Parents); err != nil {
		return node{}, nil, err
	}
	next := node{
		creation: ev.CreationTime,
		seq:      uint32(ev.Seq),
		creator:  uint32(creator),
		parents:  uint32(len(e.parents)),
	}
	if ev.Seq > 1 {
		if len(e.found) == 0 {
			return node{}, nil, fmt.Errorf("it has sequence number %d and no parents", ev.Seq)
		}
		next.self = e.found[0]
		if p := &e.nodes[next.self]; p.creator != next.creator || p.seq+1 != next.seq {
			return node{}, nil, fmt.Errorf("its first parent is number %d of validator %d, not its self-parent",
				p.seq, e.options.Validators.At(int(p.creator)).ID)
		}
		next.jump = e.jumpFrom(next.self)
	}
	number := uint32(len(e.nodes))
	if int(number>>pieceBits) == len(e.rows) {
		e.rows = append(e.rows, make([]uint32, pieceRows*len(e.weights)))
	}
	row := e.row(number)
	e.merge(row, &next, number)
	return next, row, nil
}

// find leaves the numbers of the events in found.
func (e *Epoch) find(ids []inter.EventID) error {
	e.found = e.found[:0]
	for _, id := range ids {
		number, ok := e.numbers[id]
		if !ok {
			return fmt.Errorf("its parent %v has not been added", id)
		}
		e.found = append(e.found, number)
	}
	return nil
}

// merge fills the row of the next event from those of its parents, which are in found.
func (e *Epoch) merge(row []uint32, next *node, number uint32) {
	clear(row)
	for _, p := range e.found {
		for i, seen := range e.row(p) {
			row[i] = max(row[i], seen) // a fork's mark is above all numbers
		}
	}
	// The events of a validator that has not forked are one chain. Those of another
	// that the parents have seen are one if all are ancestors of the last.
	for _, i := range e.forks {
		forks := func(p uint32) bool {
			seen := e.row(p)[i]
			return seen != none && !e.isOnChain(seen, row[i])
		}
		if row[i] != forkMark && slices.ContainsFunc(e.found, forks) {
			row[i] = forkMark
		}
	}
	// The creator's own chain ends with its self-parent, or another branch was seen.
	if own := &row[next.creator]; *own == next.self {
		*own = number
	} else {
		*own = forkMark
	}
}
