package chain

import (
	"errors"

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

// Arrived returns how many events of the present epoch are connected. The writer calls it.
func (c *Chain) Arrived() int { return c.dag.Len() }

// Arrivals calls each for the events of the present epoch in the order in which they were
// connected, but the first n. The writer calls it.
func (c *Chain) Arrivals(n int, each func(Arrival)) {
	for _, id := range c.dag.Arrived(n) {
		v := c.graph[id]
		a := Arrival{ID: id, Event: &v.event, Payload: v.payload}
		if c.dag.Confirmed(id) {
			a.Payload = nil
		}
		each(a)
	}
}

// Header returns an event of the present epoch as [Arrival] has it, nil if there is none.
// The writer calls it.
func (c *Chain) Header(id inter.EventID) *inter.Event {
	if v, ok := c.graph[id]; ok {
		return &v.event
	}
	return nil
}

// Parents returns the parents of an event of the present epoch. The writer calls it.
func (c *Chain) Parents(id inter.EventID) []inter.EventID { return c.dag.Parents(id) }

// Confirmed tells whether an event of the present epoch is confirmed. The writer calls it.
func (c *Chain) Confirmed(id inter.EventID) bool { return c.dag.Confirmed(id) }

// Decided returns the last decided frame of the present epoch, 0 if there is none yet. Each
// decision may confirm events, whether a block is made of it or not. The writer calls it.
func (c *Chain) Decided() inter.Frame { return c.dag.Decided() }

// Forked tells whether two events of a validator with one sequence number were connected in
// the present epoch. The writer calls it.
func (c *Chain) Forked(id inter.ValidatorID) bool { return c.dag.Forked(id) }

// RootsSeen is [dag.Epoch.RootsSeen] of the present epoch. The writer calls it.
func (c *Chain) RootsSeen(frame inter.Frame, events ...inter.EventID) int {
	return c.dag.RootsSeen(frame, events...)
}

// Sight returns what an event of the present epoch has seen, nil if there is no such event.
// The writer calls it.
func (c *Chain) Sight(id inter.EventID) dag.Sight { return c.dag.Sight(id) }

// Propose completes an event in the making by what follows from its parents, creator,
// numbers, creation time, votes and extra data: the frame, the median time, the gas, and
// at the beginning of an epoch the hash of its state. The error is ErrNotEnoughGasPower if
// the creator cannot pay. Nothing is kept. The writer calls it.
func (c *Chain) Propose(p *inter.Payload) (dag.Sight, error) {
	own, err := c.dag.Propose(consensusEvent(p))
	if err != nil {
		return nil, err
	}
	if p.Lamport <= 1 {
		hash := c.epoch.Hash()
		p.PrevEpochHash = &hash
	}
	p.Frame, p.MedianTime = own.Frame, own.MedianTime
	var self *inter.Event
	if id, follows := p.SelfParent(); follows {
		self = c.Header(id)
	}
	power, err := c.checks.GasPower(&p.Event, self)
	if err != nil {
		return nil, err
	}
	p.GasPowerUsed = eventcheck.GasUsed(p, &c.epoch.Rules)
	if p.GasPowerUsed > power.Min() {
		return nil, ErrNotEnoughGasPower
	}
	p.GasPowerLeft = power.Sub(p.GasPowerUsed)
	return own.Sight, nil
}
