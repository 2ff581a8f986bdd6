package chain

import (
	"errors"
	"fmt"

	"tarn/opera/dag"
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
//
// accepted, unless it is nil, is called once the event is found right and can be read,
// before the blocks are made: others need not wait for them (go-opera makes them on
// another goroutine). It must not wait for anybody.
func (c *Chain) Connect(p *inter.Payload, accepted func()) error {
	if c.failed != nil {
		return c.failed
	}
	if err := c.check(p); err != nil {
		return err
	}
	if err := c.checkVote(p); err != nil {
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
	if accepted != nil {
		accepted()
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
// before. Nothing of an epoch can make it fail: its state is durable by now, and a start
// comes by here too. It may have no validators; then there will be no event.
func (c *Chain) begin(sealed inter.BlockNumber) {
	if c.verifier == nil {
		c.verifier = newVerifier(c)
	}
	c.verifier.enter(c.epoch, sealed)
	c.start(c.decided)
}
