package chain

import (
	"errors"
	"fmt"

	"tarn/opera/dag"
	"tarn/opera/eventcheck"
	"tarn/opera/inter"
)

// Errors of events in a chain, beside those of opera/eventcheck and opera/dag, in
// go-opera's words (gossip/c_event_callbacks.go).
var (
	ErrWrongEpochHash = errors.New("wrong event epoch hash")
	ErrNoValidator    = errors.New("validator does not exist")
)

// ErrParents is wrapped by the error of an event one of whose parents is not connected.
var ErrParents = errors.New("a parent is missing")

// Connect takes an event whose parents are connected, and makes the blocks that it
// decides. Its signatures must have been checked by a [Verifier]; everything else is
// checked here. After an error of the event's own all is as if there had been no call;
// after any other the chain refuses all further events.
func (c *Chain) Connect(p *inter.Payload) error {
	if c.failed != nil {
		return c.failed
	}
	if err := c.check(p); err != nil {
		return err
	}
	if err := c.dag.Add(consensusEvent(p)); err != nil {
		return err
	}
	raw, err := p.Encode()
	if err != nil {
		return c.fail(fmt.Errorf("encode event %v: %w", p.ID(), err))
	}
	number, err := c.logs.events.Append(p.ID(), raw)
	if err != nil {
		return c.fail(err)
	}
	c.keep(p, number)
	if err := c.vote(p); err != nil {
		return c.fail(err)
	}
	return c.decide()
}

// Failed returns the error after which the chain refuses all further events, nil while it
// takes them.
func (c *Chain) Failed() error { return c.failed }

// consensusEvent is what consensus reads of an event.
func consensusEvent(p *inter.Payload) *dag.Event {
	return &dag.Event{
		ID: p.ID(), Creator: p.Creator, Seq: p.Seq, Frame: p.Frame, MedianTime: p.MedianTime,
		CreationTime: p.CreationTime, Parents: p.Parents,
	}
}

// keep makes an event, with its number in the log, one of the epoch's graph.
func (c *Chain) keep(p *inter.Payload, number uint64) {
	v := &vertex{event: p.Event, payload: p, number: number}
	v.event.Extra, v.event.Parents, v.event.PrevEpochHash = nil, nil, nil
	id := p.ID()
	c.graph[id], c.connected = v, number+1
	for _, parent := range p.Parents {
		delete(c.heads, parent)
	}
	c.heads[id] = struct{}{}
	c.lasts[p.Creator] = id
}

// check makes all checks of an event but consensus', in go-opera's order.
func (c *Chain) check(p *inter.Payload) error {
	if _, ok := c.graph[p.ID()]; ok {
		return eventcheck.ErrAlreadyConnected
	}
	if err := eventcheck.Basic(p); err != nil {
		return err
	}
	if err := c.checks.Check(p); err != nil {
		return err
	}
	parents := make([]*inter.Event, len(p.Parents))
	for i, id := range p.Parents {
		v, ok := c.graph[id]
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
	if err := c.checks.CheckGasPower(&p.Event, selfParent); err != nil {
		return err
	}
	if p.PrevEpochHash != nil && *p.PrevEpochHash != c.epoch.Hash() {
		return ErrWrongEpochHash
	}
	return c.checkVote(p)
}

// checkVote checks that the creator could vote for the epoch for which it does: it was a
// validator of the one before.
func (c *Chain) checkVote(p *inter.Payload) error {
	if p.EpochVote.Epoch == 0 {
		return nil
	}
	record, err := c.EpochRecord(p.EpochVote.Epoch - 1)
	if err != nil {
		return err
	}
	if record == nil {
		return eventcheck.ErrUnknownEpochEV
	}
	if _, ok := record.State.EpochState.Validators.Index(p.Creator); !ok {
		return ErrNoValidator
	}
	return nil
}

// decide makes blocks of the frames that are decided now.
func (c *Chain) decide() error {
	for {
		d, err := c.dag.Next()
		if err != nil {
			return c.fail(fmt.Errorf("epoch %d: %w", c.epoch.Epoch, err))
		}
		if d == nil {
			return nil
		}
		sealed, err := c.make(d)
		if err != nil {
			return c.fail(fmt.Errorf("the block of frame %d of epoch %d: %w", d.Frame, c.epoch.Epoch, err))
		}
		if sealed {
			return nil
		}
	}
}

// begin begins the present epoch, without events, after the block that sealed the one
// before.
func (c *Chain) begin(sealed inter.BlockNumber) (err error) {
	c.checks = eventcheck.NewEpoch(c.epoch)
	if c.verifier == nil {
		c.verifier = newVerifier(c)
	}
	c.verifier.enter(c.epoch, sealed)
	c.graph, c.heads = map[inter.EventID]*vertex{}, map[inter.EventID]struct{}{}
	c.lasts = map[inter.ValidatorID]inter.EventID{}
	c.dag, err = dag.New(dag.Options{
		Number: c.epoch.Epoch, Validators: c.epoch.Validators, Start: c.epoch.EpochStart, Decided: c.decided,
	})
	if err != nil {
		return fmt.Errorf("begin epoch %d: %w", c.epoch.Epoch, err)
	}
	return nil
}
