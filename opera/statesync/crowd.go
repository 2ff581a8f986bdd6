package statesync

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

var (
	errLacks  = errors.New("it does not have the state")
	errSilent = errors.New("it has not answered in time")
)

// Whom to ask: an answer may be true and of next to no use, because it comes late, or has one account.
const (
	slowest = 16      // who brings less than one of so many parts of what the best brings is not asked beside it
	untried = 4       // one of so many requests at most is of peers that have not answered yet, if others have
	counts  = 1 << 10 // bytes that an answer counts for beside its own: one that is rightly empty is of use
)

// crowd is the peers. Any goroutine may use it.
type crowd struct {
	mu      sync.Mutex
	all     int // requests at a time
	most    int // of them of one peer
	peers   map[Peer]*standing
	changed chan struct{} // closed when somebody who waits should look again
}

// standing is what is known of a peer.
type standing struct {
	asked int  // requests that it has not answered
	lacks bool // the state
	// What it brought and how long that took, the older the less: half of it is of the last answer.
	bytes, seconds float64
}

// rate is how much it brings in a second; 0 if it has not answered yet.
func (s *standing) rate() float64 {
	if s.seconds == 0 {
		return 0
	}
	return s.bytes / s.seconds
}

// note notes an answer.
func (s *standing) note(bytes uint64, took time.Duration) {
	s.bytes = s.bytes/2 + float64(bytes+counts)
	s.seconds = s.seconds/2 + max(took, time.Microsecond).Seconds()
}

func (c *crowd) make(all, most int) {
	c.all, c.most, c.peers, c.changed = all, most, map[Peer]*standing{}, make(chan struct{})
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

// take waits for a peer that may be asked for the state, the one that is asked least. The function that is returned
// gives the peer back, and may change what is known of it.
func (c *crowd) take(ctx context.Context) (Peer, func(learn func(*standing)), error) {
	for {
		p, s, changed, err := c.pick()
		if err != nil {
			return nil, nil, err
		}
		if p != nil {
			return p, func(learn func(*standing)) {
				c.change(func() {
					s.asked--
					learn(s)
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
	lacking, trying, rate := 0, 0, 0.0
	for _, s := range c.peers {
		if s.rate() == 0 {
			trying += s.asked
		} else if !s.lacks {
			rate = max(rate, s.rate())
		}
	}
	for p, s := range c.peers {
		switch {
		case s.lacks:
			lacking++
		case s.rate() == 0 && (s.asked > 0 || rate > 0 && trying >= max(1, c.all/untried)):
		case s.rate() > 0 && s.rate()*slowest < rate:
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

// ask asks peers, one after the other, until the answer of one is right. A request returns how many bytes it brought.
func (s *Syncer) ask(ctx context.Context, request func(context.Context, Peer) (uint64, error)) error {
	for {
		p, back, err := s.crowd.take(ctx)
		if err != nil {
			return err
		}
		waiting, cancel := context.WithTimeoutCause(ctx, s.o.Patience, errSilent)
		began := time.Now()
		bytes, err := request(waiting, p)
		silent := context.Cause(waiting)
		cancel()
		took := time.Since(began)
		back(func(s *standing) {
			if err == nil {
				s.note(bytes, took)
			}
			s.lacks = s.lacks || errors.Is(err, errLacks)
		})
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
