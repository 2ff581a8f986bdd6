package execute

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"tarn/antelope/types"
)

// Rehearsals execute transactions on views before the writer executes them, and keep nothing. Where the state is larger
// than the memory, the pages that a transaction reads come from the disk: so several transactions wait for it at a
// time, and the writer, which executes one after the other, finds their pages in memory. What is found out is not
// told: the writer finds it again, in the state that counts.
//
// Any goroutine may use them.
type Rehearsals struct {
	wanted    func() bool
	recorded  func(types.Checksum256) bool
	one       func(bytes int64) (*Reader, error)
	turns     chan struct{} // of those who rehearse
	strangers chan struct{} // of those for transactions that are in no block
	ended     chan struct{}
	keeps     atomic.Bool // some are idle

	mu      sync.Mutex
	idle    []*Reader
	working map[*Reader]struct{}
	failed  map[types.Name]time.Time // accounts of whom a transaction failed, and when
	stop    error                    // why there are no more
}

const (
	rehearsalBytes   = 4 << 20 // that a transaction may change; the rest of one that changes more is not rehearsed
	rehearsalsMost   = 8       // at a time: a disk reads most of what it can with so many waiting for it
	strangersMost    = 6       // of these for what strangers send, so that blocks find a turn
	rehearsalLength  = 30 * time.Millisecond
	rehearsalsLength = 50 * time.Millisecond // of one call; what is not begun by then is left to the writer

	failureLength = 10 * time.Second // for which nothing is rehearsed of who sent a transaction that fails
	failuresMost  = 1 << 12          // accounts of which that is known
)

// NewRehearsals makes rehearsals on readers that one makes, while wanted says that they help. It makes none at once.
// recorded tells of which transactions the writer knows that it has executed them. Any goroutine may call these.
func NewRehearsals(
	wanted func() bool, recorded func(types.Checksum256) bool, one func(bytes int64) (*Reader, error),
) *Rehearsals {
	return &Rehearsals{wanted: wanted, recorded: recorded, one: one, turns: make(chan struct{}, rehearsalsMost),
		strangers: make(chan struct{}, strangersMost), ended: make(chan struct{}),
		working: make(map[*Reader]struct{}), failed: make(map[types.Name]time.Time)}
}

// Waiting rehearses transactions from outside, whose keys were found, unless that would not help: each for at most as
// long as the writer lets it run, below 0 for no bound. It returns after less than a tenth of a second, but for a
// contract that is compiled meanwhile. It leaves out those that are nil, those that the writer has executed, and those of
// accounts that have just sent what fails.
func (r *Rehearsals) Waiting(most time.Duration, list ...*Candidate) {
	if most < 0 {
		most = rehearsalLength
	}
	skips := func(x *Candidate) bool { return r.recorded(x.ID) || r.hasFailed(x.Trx.FirstAuthorizer()) }
	r.rehearse(r.strangers, list, skips, func(one *Reader, x *Candidate) {
		if skips(x) { // by now
			return
		}
		t, err := one.Rehearse(x, Rehearsed, Billing{MaxTime: min(most, rehearsalLength).Microseconds()},
			types.TimePoint(time.Now().UnixMicro()))
		if err == nil && t.Except != nil && len(t.ActionTraces) > 0 { // it was authorized: it is the account's own
			r.noteFailure(x.Trx.FirstAuthorizer())
		}
	})
}

// Block rehearses the transactions of a block of that time, as Waiting does, whose header was found good. Their keys
// need not be known.
func (r *Rehearsals) Block(at types.BlockTimestamp, list ...*Candidate) {
	r.rehearse(nil, list, func(*Candidate) bool { return false }, func(one *Reader, x *Candidate) {
		//nolint:errcheck // what is wrong with it, or with the state, the writer finds, too
		one.Rehearse(x, DryRun, Billing{MaxTime: rehearsalLength.Microseconds()}, (at - 1).TimePoint())
	})
}

// rehearse does something with each transaction but for those that skips tells of, on several goroutines, and waits
// for the end. places are those of the list's kind, nil for none.
func (r *Rehearsals) rehearse(
	places chan struct{}, list []*Candidate, skips func(*Candidate) bool, do func(*Reader, *Candidate),
) {
	if !r.wanted() {
		r.free()
		return
	}
	var running sync.WaitGroup
	defer running.Wait()
	over := time.NewTimer(rehearsalsLength)
	defer over.Stop()
	take := func(from chan struct{}) bool {
		select {
		case from <- struct{}{}:
			return true
		case <-over.C:
		case <-r.ended:
		}
		return false
	}
	for _, x := range list {
		if x == nil || skips(x) {
			continue
		}
		if places != nil && !take(places) {
			return
		}
		if !take(r.turns) {
			if places != nil {
				<-places
			}
			return
		}
		running.Go(func() {
			defer func() {
				<-r.turns
				if places != nil {
					<-places
				}
			}()
			if one := r.take(); one != nil {
				do(one, x)
				r.put(one)
			}
		})
	}
}

func (r *Rehearsals) hasFailed(account types.Name) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok := r.failed[account]
	return ok && time.Since(at) < failureLength
}

func (r *Rehearsals) noteFailure(account types.Name) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.failed) == failuresMost {
		clear(r.failed)
	}
	r.failed[account] = time.Now()
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

// closeIdle closes the readers that have nothing to do. The caller holds the mutex.
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
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closeIdle()
}
