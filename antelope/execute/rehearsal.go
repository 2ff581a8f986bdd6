package execute

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// Rehearsals execute transactions on views before the writer executes them, and keep nothing. Where the state is larger
// than the memory, the pages that a transaction reads come from the disk: so several transactions wait for it at a
// time, and the writer, which executes one after the other, finds their pages in memory. What is found out is not
// told: the writer finds it again, in the state that counts.
//
// Any goroutine may use them.
type Rehearsals struct {
	wanted func() bool
	one    func(bytes int64) (*Reader, error)
	turns  chan struct{} // of those who rehearse
	ended  chan struct{}

	keeps atomic.Bool // some are idle

	mu      sync.Mutex
	idle    []*Reader
	working map[*Reader]struct{}
	stop    error // why there are no more
}

const (
	rehearsalBytes   = 4 << 20 // that a transaction may change; the rest of one that changes more is not rehearsed
	rehearsalsMost   = 8       // at a time: a disk reads most of what it can with so many waiting for it
	rehearsalLength  = 30 * time.Millisecond
	rehearsalsLength = 50 * time.Millisecond // of one call; what is not begun by then is left to the writer
)

// NewRehearsals makes rehearsals on readers that one makes, while wanted says that they help. It makes none at once.
func NewRehearsals(wanted func() bool, one func(bytes int64) (*Reader, error)) *Rehearsals {
	return &Rehearsals{wanted: wanted, one: one, turns: make(chan struct{}, rehearsalsMost), ended: make(chan struct{}),
		working: make(map[*Reader]struct{})}
}

// Rehearse executes transactions that the writer is going to get, unless that would not help, and waits for the end,
// for less than a tenth of a second. It leaves out those that are nil.
func (r *Rehearsals) Rehearse(list ...*Candidate) {
	if !r.wanted() {
		r.free()
		return
	}
	var running sync.WaitGroup
	defer running.Wait()
	over := time.NewTimer(rehearsalsLength)
	defer over.Stop()
	for _, x := range list {
		if x == nil {
			continue
		}
		select {
		case r.turns <- struct{}{}:
		case <-over.C:
			return
		case <-r.ended:
			return
		}
		running.Go(func() {
			defer func() { <-r.turns }()
			if one := r.take(); one != nil {
				//nolint:errcheck // what is wrong with it, or with the state, the writer finds, too
				one.Rehearse(x, Billing{MaxTime: rehearsalLength.Microseconds()}, time.Now())
				r.put(one)
			}
		})
	}
}

// take returns a reader that nobody uses; nil if there can be none: a rehearsal is nothing that must be.
func (r *Rehearsals) take() *Reader {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stop != nil {
		return nil
	}
	var one *Reader
	if last := len(r.idle) - 1; last >= 0 {
		one, r.idle = r.idle[last], r.idle[:last]
	} else {
		var err error
		if one, err = r.one(rehearsalBytes); err != nil {
			return nil
		}
	}
	r.working[one] = struct{}{}
	return one
}

// put takes a reader back.
func (r *Rehearsals) put(one *Reader) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.working, one)
	r.idle = append(r.idle, one)
	r.keeps.Store(true)
}

// free gives back what the readers hold once rehearsals no longer help.
func (r *Rehearsals) free() {
	if !r.keeps.Load() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closeIdle() //nolint:errcheck // only memory is lost, if that
}

func (r *Rehearsals) closeIdle() error {
	r.keeps.Store(false)
	var errs []error
	for _, one := range r.idle {
		errs = append(errs, one.Close())
	}
	r.idle = nil
	return errors.Join(errs...)
}

// Stop makes rehearsals fail with err, waits for them, and frees what they hold. It is called once, before what
// they read is closed.
func (r *Rehearsals) Stop(err error) error {
	r.mu.Lock()
	r.stop = err
	for one := range r.working {
		one.Interrupt(err)
	}
	r.mu.Unlock()
	close(r.ended)
	for range rehearsalsMost {
		r.turns <- struct{}{}
	}
	return r.closeIdle()
}
