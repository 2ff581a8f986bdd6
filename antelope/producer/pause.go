package producer

import (
	"slices"
	"sync/atomic"
	"time"

	"tarn/antelope/consensus"
	"tarn/antelope/finality"
	"tarn/antelope/types"
)

// voteTolerance is how much earlier a vote may be heard than the block that it is for: they come over
// different ways (Spring: production_pause_vote_tracker).
const voteTolerance = time.Second

// voteWatch tells whether votes are still heard: of the finalizers of this node's producers, and of
// others. A producer that hears none may be cut off, or all finalizers stand still, and what it made
// would not become irreversible (Spring: implicit_production_pause_vote_tracker). Votes may come on any
// goroutine; all else is the writer's.
type voteWatch struct {
	opt     *Options
	own     voteTimes // of finalizers that are called as a producer of this node
	others  voteTimes
	expects atomic.Pointer[expected] // nil before the first proper block
}

// expected says whose votes the finalizers' policies let expect.
type expected struct{ own, others bool }

// voteTimes are when a vote was heard last, and when the first block came after it. They are Unix
// microseconds; 0 is never.
type voteTimes struct{ vote, block atomic.Int64 }

// enabled tells whether votes matter to this node at all.
func (w *voteWatch) enabled() bool { return w.opt.VotePause > 0 && len(w.opt.Producers) > 0 }

// noteVote notes a vote that was counted.
func (w *voteWatch) noteVote(f *types.Finalizer, now time.Time) {
	if w.expects.Load() == nil {
		return
	}
	name, ok := producerOf(f.Description)
	own := w.opt.isProducer(name)
	if own || !ok { // else finalizers are called something else there, so that no more is known of them
		w.own.noteVote(now)
	}
	if !own {
		w.others.noteVote(now)
	}
}

// noteBlock notes a proper block of a time; head is that of the chain.
func (w *voteWatch) noteBlock(head *consensus.HeaderState, slot types.BlockTimestamp, now time.Time) {
	if !w.enabled() || !head.PrecedesProper() {
		return
	}
	var expects expected
	own := func(f types.Finalizer) bool {
		name, _ := producerOf(f.Description)
		return w.opt.isProducer(name)
	}
	for _, p := range head.Finality.Policies() {
		expects.own = expects.own || slices.ContainsFunc(p.Finalizers, own)
		expects.others = expects.others ||
			slices.ContainsFunc(p.Finalizers, func(f types.Finalizer) bool { return !own(f) })
	}
	if old := w.expects.Load(); old == nil || *old != expects {
		w.expects.Store(&expects)
		w.forget()
	}
	at := min(now.UnixMicro(), int64(slot.TimePoint()))
	w.own.noteBlock(at)
	w.others.noteBlock(at)
}

// forget has the next blocks count anew.
func (w *voteWatch) forget() {
	w.own.block.Store(0)
	w.others.block.Store(0)
}

// missed is a vote that a block has waited for too long: when one was heard last, and the block's time.
// The zero value is none.
type missed struct{ vote, block types.TimePoint }

// silent tells whose votes have not been heard for too long.
func (w *voteWatch) silent(now time.Time) (own, others missed) {
	expects := w.expects.Load()
	if expects == nil {
		return missed{}, missed{}
	}
	limit := now.Add(-w.opt.VotePause).UnixMicro()
	if expects.own {
		own = w.own.late(limit)
	}
	if expects.others {
		others = w.others.late(limit)
	}
	return own, others
}

// silence says for a log whose votes are missing, as fmt's functions take it; the format is empty if
// nobody's are.
func silence(own, others missed, slot types.BlockTimestamp) (format string, args []any) {
	switch {
	case own.block != 0 && others.block != 0:
		return "no recent votes, block %s, last producer vote %s, conflict block %s, other votes %s, conflict block %s",
			[]any{slot, own.vote, own.block, others.vote, others.block}
	case own.block != 0:
		return "no recent votes received from configured producer, block %s, last producer vote %s, conflict block %s",
			[]any{slot, own.vote, own.block}
	case others.block != 0:
		return "no recent votes received from others, block %s, other votes %s, conflict block %s",
			[]any{slot, others.vote, others.block}
	}
	return "", nil
}

func (t *voteTimes) noteVote(now time.Time) {
	for at := now.UnixMicro(); ; {
		last := t.vote.Load()
		if at <= last || t.vote.CompareAndSwap(last, at) {
			return
		}
	}
}

// noteBlock notes a block unless there was one since the last vote.
func (t *voteTimes) noteBlock(at int64) {
	vote, block := t.vote.Load(), t.block.Load()
	if at-voteTolerance.Microseconds() <= vote || vote < block && block <= at {
		return
	}
	t.block.Store(at)
}

// late is what a block waits for since before a time.
func (t *voteTimes) late(limit int64) missed {
	vote, block := t.vote.Load(), t.block.Load()
	if vote >= block || block >= limit {
		return missed{}
	}
	return missed{types.TimePoint(vote), types.TimePoint(block)}
}

// producerOf is the producer that a finalizer is called after; false if its name cannot be one's.
func producerOf(description string) (types.Name, bool) {
	if len(description) > 12 {
		return 0, false
	}
	name := types.N(description)
	return name, name != 0
}

// Vote counts finalizers' votes, one at least and all for one block, as the chain does, and notes that they were heard.
// One that was counted before tells nothing of now: anybody can send it again. Any goroutine may call it; it takes
// milliseconds.
func (p *Producer) Vote(list ...*finality.Vote) []finality.Result {
	results := make([]finality.Result, len(list))
	for i, x := range p.chain.Vote(list...) {
		results[i] = x.Result
		if x.Finalizer != nil && x.Result == finality.Counted {
			p.votes.noteVote(x.Finalizer, time.Now())
		}
	}
	return results
}
