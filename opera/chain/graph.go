package chain

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"tarn/opera/dag"
	"tarn/opera/eventcheck"
	"tarn/opera/inter"
)

// ErrNotEnoughGasPower is returned for an event that its creator cannot pay, in go-opera's
// words (gossip/emitter).
var ErrNotEnoughGasPower = errors.New("not enough gas power")

// Arrival is an event of the present epoch. Nothing of it may be changed.
type Arrival struct {
	ID    inter.EventID
	Event *inter.Event // without extra data, parents, and the hash of the last epoch
	// Payload is the whole event, nil once it is confirmed.
	Payload *inter.Payload
}

// Graph is the present epoch: what holds in it, its events, and what consensus makes of them.
// It keeps nothing durable, and all of it is the writer's but for the newest events, which all may
// ask for.
type Graph struct {
	epoch     *inter.EpochState
	checks    *eventcheck.Epoch
	dag       *dag.Epoch
	connected uint64 // how many events of the log are
	vertices  map[inter.EventID]*vertex
	newest    newest
}

// newest is the newest events of the epoch, which readers ask for while the writer executes.
type newest struct {
	mu    sync.RWMutex
	heads map[inter.EventID]struct{}            // that no event has for a parent
	tips  map[inter.ValidatorID][]inter.EventID // of heads those that an event may follow
	forks map[inter.ValidatorID]struct{}        // validators that forked
	lasts map[inter.ValidatorID]inter.EventID   // of each validator
}

func (n *newest) clear() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.heads, n.lasts = map[inter.EventID]struct{}{}, map[inter.ValidatorID]inter.EventID{}
	n.tips, n.forks = map[inter.ValidatorID][]inter.EventID{}, map[inter.ValidatorID]struct{}{}
}

// none says that no events are known, which are not the same as an epoch without events.
func (n *newest) none() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lasts = nil
}

// forkTips is how many heads of a validator may be followed: who follows two has seen that it forks,
// and what it forks without end costs nobody a choice.
const forkTips = 2

// add takes notice of an event, of the creators of its parents, and of whether its own creator has forked.
func (n *newest) add(p *inter.Payload, creator func(inter.EventID) inter.ValidatorID, forked bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, parent := range p.Parents {
		delete(n.heads, parent)
		by := creator(parent)
		n.tips[by] = slices.DeleteFunc(n.tips[by], func(id inter.EventID) bool { return id == parent })
	}
	n.heads[p.ID()] = struct{}{}
	if forked {
		n.forks[p.Creator] = struct{}{}
	}
	n.lasts[p.Creator] = p.ID()
	if tips := n.tips[p.Creator]; len(tips) < forkTips {
		n.tips[p.Creator] = append(tips, p.ID())
	}
}

// vertex is an event of the epoch.
type vertex struct {
	event   inter.Event    // without extra data and parents
	payload *inter.Payload // until the event is confirmed
	number  uint64         // in the log of events
}

// start begins the epoch, without events, after a decided frame of it.
func (g *Graph) start(decided inter.Frame) {
	g.checks = eventcheck.NewEpoch(g.epoch)
	g.vertices = map[inter.EventID]*vertex{}
	g.newest.clear()
	g.dag = dag.New(dag.Options{
		Number: g.epoch.Epoch, Validators: g.epoch.Validators, Start: g.epoch.EpochStart, Decided: decided,
	})
}

// Arrived returns how many events of the present epoch are connected. The writer calls it.
func (g *Graph) Arrived() int { return g.dag.Len() }

// Arrivals calls each for the events of the present epoch in the order in which they were
// connected, but the first n. The writer calls it.
func (g *Graph) Arrivals(n int, each func(Arrival)) {
	for _, id := range g.dag.Arrived(n) {
		v := g.vertices[id]
		a := Arrival{ID: id, Event: &v.event, Payload: v.payload}
		if g.dag.Confirmed(id) {
			a.Payload = nil
		}
		each(a)
	}
}

// Header returns an event of the present epoch as [Arrival] has it, nil if there is none.
// The writer calls it.
func (g *Graph) Header(id inter.EventID) *inter.Event {
	if v, ok := g.vertices[id]; ok {
		return &v.event
	}
	return nil
}

// Parents returns the parents of an event of the present epoch. The writer calls it.
func (g *Graph) Parents(id inter.EventID) []inter.EventID { return g.dag.Parents(id) }

// Confirmed tells whether an event of the present epoch is confirmed. The writer calls it.
func (g *Graph) Confirmed(id inter.EventID) bool { return g.dag.Confirmed(id) }

// Decided returns the last decided frame of the present epoch, 0 if there is none yet. Each
// decision may confirm events, whether a block is made of it or not. The writer calls it.
func (g *Graph) Decided() inter.Frame { return g.dag.Decided() }

// Forked tells whether two events of a validator with one sequence number were connected in
// the present epoch. Any goroutine may ask, and does not wait for blocks.
func (g *Graph) Forked(id inter.ValidatorID) bool {
	g.newest.mu.RLock()
	defer g.newest.mu.RUnlock()
	_, forked := g.newest.forks[id]
	return forked
}

// RootsSeen is [dag.Epoch.RootsSeen] of the present epoch. The writer calls it.
func (g *Graph) RootsSeen(frame inter.Frame, events ...inter.EventID) int {
	return g.dag.RootsSeen(frame, events...)
}

// Sight returns what an event of the present epoch has seen, nil if there is no such event.
// The writer calls it.
func (g *Graph) Sight(id inter.EventID) dag.Sight { return g.dag.Sight(id) }

// Propose completes an event in the making by what follows from its parents, creator,
// numbers, creation time, votes and extra data: the frame, the median time, the gas, and
// at the beginning of an epoch the hash of its state. The error is ErrNotEnoughGasPower if
// the creator cannot pay. Nothing is kept. The writer calls it.
func (g *Graph) Propose(p *inter.Payload) (dag.Sight, error) {
	own, err := g.dag.Propose(consensusEvent(p))
	if err != nil {
		return nil, err
	}
	if p.Lamport <= 1 {
		hash := g.epoch.Hash()
		p.PrevEpochHash = &hash
	}
	p.Frame, p.MedianTime = own.Frame, own.MedianTime
	var self *inter.Event
	if id, follows := p.SelfParent(); follows {
		self = g.Header(id)
	}
	power, err := g.checks.GasPower(&p.Event, self)
	if err != nil {
		return nil, err
	}
	p.GasPowerUsed = eventcheck.GasUsed(p, &g.epoch.Rules)
	if p.GasPowerUsed > power.Min() {
		return nil, ErrNotEnoughGasPower
	}
	p.GasPowerLeft = power.Sub(p.GasPowerUsed)
	return own.Sight, nil
}

// Heads returns the events of the present epoch that no event has for a parent, by id. Any goroutine
// may ask, and does not wait for blocks.
func (g *Graph) Heads() []inter.EventID {
	g.newest.mu.RLock()
	heads := slices.Collect(maps.Keys(g.newest.heads))
	g.newest.mu.RUnlock()
	slices.SortFunc(heads, func(a, b inter.EventID) int { return bytes.Compare(a[:], b[:]) })
	return heads
}

// Tips returns of the heads of the present epoch, by id, those that an own event may follow: all of them,
// but of a validator that has forked two. Any goroutine may ask, and does not wait for blocks.
func (g *Graph) Tips() []inter.EventID {
	g.newest.mu.RLock()
	defer g.newest.mu.RUnlock()
	var tips []inter.EventID
	for _, of := range g.newest.tips {
		tips = append(tips, of...)
	}
	slices.SortFunc(tips, func(a, b inter.EventID) int { return bytes.Compare(a[:], b[:]) })
	return tips
}

// LastEvents returns the event of each validator that was connected last in the present
// epoch, nil of a chain that follows. Any goroutine may ask, and does not wait for blocks.
func (g *Graph) LastEvents() map[inter.ValidatorID]inter.EventID {
	g.newest.mu.RLock()
	defer g.newest.mu.RUnlock()
	return maps.Clone(g.newest.lasts)
}

// keep makes an event, with its number in the log, one of the epoch's graph.
func (g *Graph) keep(p *inter.Payload, number uint64) {
	v := &vertex{event: p.Event, payload: p, number: number}
	v.event.Extra, v.event.Parents, v.event.PrevEpochHash = nil, nil, nil
	id := p.ID()
	g.vertices[id], g.connected = v, number+1
	g.newest.add(p, func(id inter.EventID) inter.ValidatorID { return g.vertices[id].event.Creator },
		g.dag.Forked(p.Creator))
}

// check makes all checks of an event but consensus', in go-opera's order.
func (g *Graph) check(p *inter.Payload) error {
	if _, ok := g.vertices[p.ID()]; ok {
		return eventcheck.ErrAlreadyConnected
	}
	if err := eventcheck.Basic(p); err != nil {
		return err
	}
	if err := g.checks.Check(p); err != nil {
		return err
	}
	parents := make([]*inter.Event, len(p.Parents))
	for i, id := range p.Parents {
		v, ok := g.vertices[id]
		if !ok {
			return fmt.Errorf("%w: %v of event %v", ErrParents, id, p.ID())
		}
		parents[i] = &v.event
	}
	if err := eventcheck.Parents(&p.Event, parents); err != nil {
		return err
	}
	var selfParent *inter.Event
	if _, follows := p.SelfParent(); follows {
		selfParent = parents[0]
	}
	if err := g.checks.CheckGasPower(&p.Event, selfParent); err != nil {
		return err
	}
	if p.PrevEpochHash != nil && *p.PrevEpochHash != g.epoch.Hash() {
		return ErrWrongEpochHash
	}
	return nil
}
