package chain

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tarn/antelope/consensus"
	"tarn/antelope/exception"
	"tarn/antelope/types"
)

// ErrInterrupted says that the application of a block was interrupted. The block stays in the fork database, not
// applied: it may be applied later.
var ErrInterrupted = errors.New("the application of the block was interrupted")

// application is the block that is being applied, after which nobody may have to wait: its producer may have
// put a transaction into it that never ends. Any goroutine may call its methods.
type application struct {
	rival atomic.Pointer[consensus.HeaderState] // of the block for which another was interrupted; nil for none

	mu          sync.Mutex
	block       *consensus.HeaderState // nil for none
	target      *consensus.HeaderState // the best block, which leads there
	interrupted bool
	over        bool          // no further block is applied
	most        time.Duration // that one may take that follows Savanna's rules; 0 is no bound
	timer       *time.Timer
	late        []*consensus.HeaderState // of blocks that took longer

	interrupt func(error) // makes the transaction that is being executed fail
}

// bound interrupts each block from now on that takes longer, and forgets those that did; 0 is for no bound.
func (a *application) bound(most time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.most, a.late = most, nil
}

// tooLate tells whether a block, or one that it follows, took longer than the bound.
func (a *application) tooLate(b *consensus.BlockState, fork *consensus.ForkDatabase) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.ContainsFunc(a.late, func(x *consensus.HeaderState) bool {
		on := fork.SearchOnBranch(b.ID, x.BlockNum)
		return on != nil && on.ID == x.ID
	})
}

func (a *application) begin(b, target *consensus.HeaderState) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.block, a.target = b, target
	switch {
	case a.over:
		a.stop()
	case a.most > 0 && b.IsProper():
		a.timer = time.AfterFunc(a.most, func() {
			a.mu.Lock()
			defer a.mu.Unlock()
			if a.block == b {
				a.late = append(a.late, b)
				a.stop()
			}
		})
	}
}

// stop interrupts the block. The caller holds mu.
func (a *application) stop() {
	a.interrupted = true
	a.interrupt(exception.New(exception.Deadline, "the application of the block was interrupted"))
}

// end tells whether the block was interrupted.
func (a *application) end() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.timer != nil {
		a.timer.Stop()
	}
	was := a.interrupted
	a.block, a.target, a.interrupted, a.timer = nil, nil, false, nil
	a.interrupt(nil)
	return was
}

// awaits tells whether a block is not to be applied, as a better one is on its way for which one was interrupted.
func (a *application) awaits(b *consensus.HeaderState, fork *consensus.ForkDatabase) bool {
	r := a.rival.Load()
	return r != nil && r.ID != b.ID && fork.Better(r, b)
}

// Overtake interrupts the application of a block if s is the header of one that does not follow it and is better than
// the one that it leads to, so that the chain goes over to that without waiting for the end of what may never
// end (Spring: producer_plugin::received_block). follows tells whether s follows the block. Until [Chain.Withdraw] no
// worse block is applied. As in Spring it does so only under Savanna's rules. Any goroutine may call it, once the
// block of s is on its way.
func (c *Chain) Overtake(s *consensus.HeaderState, follows func(*consensus.HeaderState) bool) {
	a := &c.application
	a.mu.Lock()
	defer a.mu.Unlock()
	if b := a.block; b == nil || a.interrupted || !b.IsProper() || !c.fork.Better(s, a.target) || follows(b) {
		return
	}
	a.rival.Store(s)
	a.stop()
}

// Withdraw is to be called when the block with this id has been pushed, or is not going to be. Any goroutine may
// call it, with locks that follows of [Chain.Overtake] takes.
func (c *Chain) Withdraw(id types.Checksum256) {
	if r := c.application.rival.Load(); r != nil && r.ID == id {
		c.application.rival.CompareAndSwap(r, nil)
	}
}

// InterruptProper interrupts the application of a block under Savanna's rules, if one is being applied: the time
// has come for another of this node. Any goroutine may call it.
func (c *Chain) InterruptProper() {
	c.application.mu.Lock()
	defer c.application.mu.Unlock()
	if b := c.application.block; b != nil && b.IsProper() {
		c.application.stop()
	}
}

// EndApplication interrupts the application of the block that is being applied, and of each further one until it is
// called with false. Any goroutine may call it.
func (c *Chain) EndApplication(end bool) {
	c.application.mu.Lock()
	defer c.application.mu.Unlock()
	c.application.over = end
	if end && c.application.block != nil {
		c.application.stop()
	}
}

// applyBest applies a block of the branch that leads to the best one, which may be interrupted.
func (c *Chain) applyBest(b, best *consensus.BlockState) error {
	c.application.begin(b.HeaderState, best.HeaderState)
	err := c.applyFork(b, c.statusOf(b))
	if interrupted := c.application.end(); interrupted && exception.Of(err) != nil {
		return fmt.Errorf("block %d %s: %w", b.BlockNum, b.ID, ErrInterrupted)
	}
	return err
}
