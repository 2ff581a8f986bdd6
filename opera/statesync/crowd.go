package statesync

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

var (
	errLacks  = errors.New("it does not have the state")
	errSilent = errors.New("it has not answered in time")
)

// crowd is the peers. Any goroutine may use it.
type crowd struct {
	mu      sync.Mutex
	most    int // requests of one peer
	peers   map[Peer]*standing
	changed chan struct{} // closed when somebody who waits should look again
}

// standing is what is known of a peer.
type standing struct {
	asked int  // requests that it has not answered
	lacks bool // the state
}

func (c *crowd) make(most int) {
	c.most, c.peers, c.changed = most, map[Peer]*standing{}, make(chan struct{})
}

// change changes something, and wakes who waits for a peer.
func (c *crowd) change(what func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	what()
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *crowd) add(p Peer) { c.change(func() { c.peers[p] = &standing{} }) }

func (c *crowd) remove(p Peer) { c.change(func() { delete(c.peers, p) }) }

// begin forgets who lacked the last state.
func (c *crowd) begin() {
	c.change(func() {
		for _, s := range c.peers {
			s.lacks = false
		}
	})
}

// take waits for a peer that may be asked for the state, the one that is asked least. The peer is given back by
// the function that is returned.
func (c *crowd) take(ctx context.Context) (Peer, func(lacks bool), error) {
	for {
		p, s, changed, err := c.pick()
		if err != nil {
			return nil, nil, err
		}
		if p != nil {
			return p, func(lacks bool) {
				c.change(func() {
					s.asked--
					s.lacks = s.lacks || lacks
				})
			}, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
	}
}

func (c *crowd) pick() (best Peer, of *standing, changed chan struct{}, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	lacking := 0
	for p, s := range c.peers {
		switch {
		case s.lacks:
			lacking++
		case s.asked < c.most && (of == nil || s.asked < of.asked):
			best, of = p, s
		}
	}
	if lacking > 0 && lacking == len(c.peers) {
		return nil, nil, nil, ErrNotServed
	}
	if of != nil {
		of.asked++
	}
	return best, of, c.changed, nil
}

// ask asks peers, one after the other, until the answer of one is right.
func (s *Syncer) ask(ctx context.Context, request func(context.Context, Peer) error) error {
	for {
		p, back, err := s.crowd.take(ctx)
		if err != nil {
			return err
		}
		waiting, cancel := context.WithTimeoutCause(ctx, s.o.Patience, errSilent)
		err = request(waiting, p)
		silent := context.Cause(waiting)
		cancel()
		back(errors.Is(err, errLacks))
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, errLacks):
			continue
		case errors.Is(err, context.DeadlineExceeded) && silent != nil:
			err = silent
		}
		s.crowd.remove(p)
		err = fmt.Errorf("ask peer %s for a state: %w", p.Name(), err)
		p.Drop(err)
		s.o.Notice(err)
	}
}
