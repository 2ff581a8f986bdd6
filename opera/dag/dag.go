// Package dag is Lachesis, the consensus of Opera's validators, for one epoch at a
// time: from events, parents first, to the frames that the validators have decided,
// each with its Atropos, the cheaters that the Atropos has seen, and the events that
// it confirms.
//
// It owns what follows from who saw whose events: frames, roots, elections, forks,
// median times. All of it is in memory and is computed again from the epoch's events
// after a start. It never looks into an event's payload, checks no signature and no
// gas power, reads no clock and no store.
//
// # What is kept
//
// Each event gets a number, in the order of arrival, from 1; a parent's number is
// smaller than its child's. For each event there is a row with one number for each
// validator: the last of that validator's events that the event has seen, none, or
// the mark of a fork, if it has seen two events of that validator with one sequence
// number. All else follows from the rows, for as long as an event has seen no fork of
// a validator, what it saw of that validator is one chain of self-parents, on which a
// greater number is a later event:
//
//   - Event A is forklessly caused by root B if A has seen no fork of B's creator, and
//     of enough validators the last event that A has seen has itself seen B: in its row
//     is a number not below B's (lachesis-base, vecfc: ForklessCause).
//   - A validator's root of a frame is the first event of its chain with that frame or
//     a higher one. So no event is caused by two roots of one validator in one frame,
//     however many of them there are.
//   - If a validator's root of a frame causes an event, its roots of all earlier frames do,
//     for whoever has seen a root has seen the earlier ones of its chain. So a claimed
//     frame is checked at its predecessor alone, however far it is ahead of the self-parent's.
//
// lachesis-base arrives at the same with numbered branches of forking validators and a
// second vector, of the lowest events that see an event. Neither is needed, and with
// rows by validator a fork costs what any other event costs, however many there are.
//
// # Costs
//
// With n validators, an event takes 4n bytes for its row and about 180 for itself and its
// place among the ids. A new event costs n steps for each of its parents, and n for its median
// time. A root costs n² steps, and for each frame above the last decided one of which it is
// a root n² more, and n² for its vote in each election until that frame is decided; and 8n bytes
// until then. None of this depends on how many events or forks the epoch has, but for the
// logarithm of a chain's length.
//
// What an epoch holds is bounded by the protocol, not here. An event uses at least 28,000
// gas, and an epoch is sealed once its confirmed events have used MaxEpochGas: 53,571 events
// with the main network's 1.5 billion, 31 MB of 100 validators. Events that are not confirmed
// are bounded by gas power. All validators together get that of 100 events for a second of
// median time, and save an hour's at most, so that an epoch in which time stands still for
// nothing can be decided ends with some 360,000. Only a validator that forks may exceed
// that, for each of its forks has the gas power of the event that it forks from:
// until the fork is seen by an Atropos, whose block seals the epoch and ends the
// validator. Till then a fork costs what any event costs, and opera/p2p takes only those
// that somebody's event follows.
package dag

import (
	"errors"
	"fmt"
	"math"

	"tarn/opera/inter"
)

// What a received event can get wrong in the eyes of this package alone, in the words
// of go-opera and lachesis-base.
var (
	ErrWrongMedianTime = errors.New("wrong event median time")
	ErrWrongFrame      = errors.New("claimed frame mismatched with calculated")
)

// ErrByzantine is wrapped by errors of [Epoch.Next]: so many validators have forked that
// parts of the network that did not see each other have agreed against every root of a
// frame. No later event mends it; a go-opera ends there.
var ErrByzantine = errors.New("more than a third of the validators' weight is Byzantine")

// Event is what consensus knows of an event. The fields that the parents check compares
// (go-opera, eventcheck/parentscheck) have passed it.
type Event struct {
	ID      inter.EventID
	Creator inter.ValidatorID
	Seq     inter.Seq
	// Frame and MedianTime are what the creator claims. Propose does not read them.
	Frame        inter.Frame
	MedianTime   inter.Timestamp
	CreationTime inter.Timestamp
	// Parents are the ids of the parents, none of them twice; the self-parent is the
	// first if Seq is above 1, else there is none. They are not kept.
	Parents []inter.EventID
}

// Options say which epoch it is.
type Options struct {
	Number     inter.Epoch
	Validators *inter.Validators // maybe none
	// Start is the time of which the epoch is: the creation time of the last event of a
	// validator that has not been seen yet.
	Start inter.Timestamp
	// Decided is the last frame of the epoch whose decision is known, 0 if none is. After
	// a start all events of the epoch are added again, in any order with parents first,
	// and Next is silent about the decisions up to that frame. If they do not bring
	// [Epoch.Decided] back to it, events are missing.
	Decided inter.Frame
}

// Epoch is the graph of the events of one epoch and what it has decided. It is used by
// one goroutine at a time.
type Epoch struct {
	options Options
	weights []inter.Weight // of the validators, by index
	quorum  inter.Weight

	numbers map[inter.EventID]uint32
	ids     []inter.EventID // by number, as nodes; the first is of no event
	nodes   []node
	parents []uint32   // of all events, in their order
	rows    [][]uint32 // in pieces of pieceRows

	last   []uint32 // by validator, the event that was added last
	forked []bool   // by validator: there are two events with one sequence number
	forks  []int    // the indexes of those validators

	election
	scratch
}

// node is an event by its number.
type node struct {
	creation inter.Timestamp
	self     uint32 // the self-parent, 0 if there is none
	jump     uint32 // an earlier event of the chain, see chain.go
	seq      uint32
	frame    inter.Frame
	creator  uint32 // validator's index
	parents  uint32 // where its parents begin
	// confirmed is set once an Atropos has it among its ancestors, or is it.
	confirmed bool
}

// scratch is memory that calls use again.
type scratch struct {
	found []uint32       // parents of the event at hand
	roots []uint32       // of one frame, by validator
	sums  []inter.Weight // by validator
	times []weighted
	stack []uint32
}

// In rows.
const (
	none      = 0
	forkMark  = math.MaxUint32
	pieceBits = 10
	pieceRows = 1 << pieceBits
)

// New returns the epoch without events. Of an epoch without validators it is one that no event
// can be added to, and that decides nothing.
func New(o Options) *Epoch {
	n := o.Validators.Len()
	e := &Epoch{
		options: o,
		weights: make([]inter.Weight, n),
		quorum:  o.Validators.Quorum(),
		numbers: map[inter.EventID]uint32{},
		ids:     make([]inter.EventID, 1),
		nodes:   make([]node, 1),
		last:    make([]uint32, n),
		forked:  make([]bool, n),
		scratch: scratch{roots: make([]uint32, n), sums: make([]inter.Weight, n)},
	}
	for i := range e.weights {
		e.weights[i] = o.Validators.At(i).Weight
	}
	e.election.start(n, 1)
	return e
}

// Len returns how many events there are.
func (e *Epoch) Len() int { return len(e.numbers) }

// Has tells whether the event has been added.
func (e *Epoch) Has(id inter.EventID) bool {
	_, ok := e.numbers[id]
	return ok
}

// Decided returns the last decided frame, 0 if there is none yet.
func (e *Epoch) Decided() inter.Frame { return e.deciding - 1 }

// Add adds an event whose parents have been added before. The error is ErrWrongMedianTime
// or ErrWrongFrame if the event claims what does not follow from its ancestors, in the
// order in which go-opera checks; any other error is a caller's mistake. After an error
// all is as if there had been no call.
//
// After an event that was added, Next tells what it has decided.
func (e *Epoch) Add(ev *Event) error {
	if ev.ID.Epoch() != e.options.Number {
		return fmt.Errorf("add event %v: it is not of epoch %d", ev.ID, e.options.Number)
	}
	if e.Has(ev.ID) {
		return fmt.Errorf("add event %v: it has been added before", ev.ID)
	}
	next, row, err := e.connect(ev)
	if err != nil {
		return fmt.Errorf("add event %v: %w", ev.ID, err)
	}
	if !e.isMedianTime(ev.MedianTime, row, ev.CreationTime) {
		return ErrWrongMedianTime
	}
	causes, ok := e.mayClaim(&next, row, ev.Frame)
	if !ok {
		return ErrWrongFrame
	}
	next.frame = ev.Frame
	e.addRoots(e.keep(ev.ID, next), causes)
	return nil
}

// keep makes the event that connect returned one of the epoch's, and returns its number.
func (e *Epoch) keep(id inter.EventID, n node) uint32 {
	number := uint32(len(e.nodes))
	e.numbers[id] = number
	e.ids = append(e.ids, id)
	e.nodes = append(e.nodes, n)
	e.parents = append(e.parents, e.found...)
	if n.self != e.last[n.creator] && !e.forked[n.creator] {
		e.forked[n.creator] = true
		e.forks = append(e.forks, int(n.creator))
	}
	e.last[n.creator] = number
	return number
}
