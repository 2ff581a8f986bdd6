package httpserver

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Shares are so much of something, bytes or places, for all clients together, of which no client
// has more than a share, so that nobody takes all. Local clients have no share of their own: what
// they hold counts among all. Any goroutine may call the methods.
type Shares struct {
	all, each int64

	mu   sync.Mutex
	used int64
	by   map[Client]int64
	room chan struct{} // closed when something is given back; nil while nobody waits for that
}

// NewShares returns so much for all, and so much of it for each client; below 0 is no limit.
func NewShares(all, each int64) *Shares { return &Shares{all: all, each: each, by: map[Client]int64{}} }

// Scarce is why there is none: all or the client's share would be so much with what was asked for,
// and may be Limit.
type Scarce struct {
	Used, Limit int64
	Own         bool // the client's share
}

// Error implements error.
func (s *Scarce) Error() string {
	if s.Own {
		return fmt.Sprintf("%d for one client, the limit is %d", s.Used, s.Limit)
	}
	return fmt.Sprintf("%d for all clients, the limit is %d", s.Used, s.Limit)
}

// Take takes n for a client, unless that is too much: then its error is of type [*Scarce]. Give
// follows.
func (s *Shares) Take(of Client, n int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.take(of, n)
}

func (s *Shares) take(of Client, n int64) error {
	if own := s.by[of] + n; !of.Local() {
		if s.each >= 0 && own > s.each {
			return &Scarce{Used: own, Limit: s.each, Own: true}
		}
	}
	if s.all >= 0 && s.used+n > s.all {
		return &Scarce{Used: s.used + n, Limit: s.all}
	}
	s.used += n
	if !of.Local() {
		s.by[of] += n
	}
	return nil
}

// Wait takes n for a client as soon as it can, until the context ends. What is more than there
// ever is for a client is an error of type [*Scarce] at once.
func (s *Shares) Wait(ctx context.Context, of Client, n int64) error {
	for {
		s.mu.Lock()
		err := s.take(of, n)
		var scarce *Scarce
		if err == nil || errors.As(err, &scarce) && n > scarce.Limit {
			s.mu.Unlock()
			return err
		}
		if s.room == nil {
			s.room = make(chan struct{})
		}
		room := s.room
		s.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Give gives back what was taken.
func (s *Shares) Give(of Client, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used -= n
	if !of.Local() {
		if s.by[of] -= n; s.by[of] == 0 {
			delete(s.by, of)
		}
	}
	if s.room != nil {
		close(s.room)
		s.room = nil
	}
}

// Used is how much is taken.
func (s *Shares) Used() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}
