package producer

import (
	"context"
	"log/slog"
	"time"
)

// schedule begins a block and says when the writer is to wake up (Leap:
// schedule_production_loop).
func (p *Producer) schedule() {
	p.writer.Silence()
	if p.writer.Failed() != nil {
		return
	}
	o := p.begin()
	if _, building := p.chain.Pending(); !building && (o == succeeded || o == exhausted) {
		o = failedToStart // the block was given up
	}
	schedules := p.chain.Schedules()
	if o == waitingForBlock || o == waitingForProduction {
		schedules = nil // nodeos gives up the pending block before it waits
	}
	p.schedules.Store(schedules)
	switch {
	case o == failedToStart:
		if p.writer.Failed() != nil || p.terminated() {
			return
		}
		p.complain(slog.LevelError, "Failed to start a pending block, will try again later")
		p.scheduleBlock()
	case o == waitingForBlock:
		if len(p.opt.Producers) > 0 && !p.forbidden() {
			p.log.plugin.Debug("Waiting till another block is received and scheduling Speculative/Production Change")
			p.wakeAt(p.wakeUpTime(p.effort, p.chain.Head().BlockNum, p.pendingSlot(time.Now())))
		}
	case o == waitingForProduction:
	case p.producing:
		p.produceSoon(o == exhausted)
	case len(p.opt.Producers) > 0 && !p.forbidden():
		p.log.plugin.Debug("Speculative Block Created; Scheduling Speculative/Production Change")
		pending, _ := p.chain.Pending()
		at, ok := p.wakeUpTime(blockInterval, pending.Num, pending.Time)
		if ok && time.Now().After(at) {
			at = p.deadline
		}
		p.wakeAt(at, ok)
	default:
		p.log.plugin.Debug("Speculative Block Created")
	}
	p.clock.other(time.Now())
}

// wakeAt begins a block at a time. Where that has gone by already, and its slot was tried just
// now, there are reasons against it that hold until the next slot, which is waited for.
func (p *Producer) wakeAt(at time.Time, ok bool) {
	if !ok {
		p.log.plugin.Debug("Not Scheduling Speculative/Production, no local producers had valid wake up times")
		return
	}
	if !at.After(time.Now()) {
		at = slotStart(p.tried + 1)
	}
	p.log.plugin.Debug("Scheduling Speculative/Production Change at " + timeText(at))
	p.writer.WakeAt(at, p.awake(p.schedule))
}

// produceSoon says when the pending block is to be finished: at its deadline, or at
// once when it is full. That of an early one is said when it is early no more.
func (p *Producer) produceSoon(full bool) {
	now := time.Now()
	pending, building := p.chain.Pending()
	if !building {
		p.scheduleBlock()
		return
	}
	if p.early(now) {
		p.writer.WakeAt(slotStart(pending.Time), p.awake(func() { p.confirm(full) }))
		return
	}
	at := blockDeadline(p.effort, pending.Time)
	if full || at.Before(now) {
		at = now
	}
	p.writer.WakeAt(at, p.awake(p.finish))
}

// complain says what is tried again soon, and may go on for as long as the configuration is what
// it is.
func (p *Producer) complain(level slog.Level, text string) {
	if !p.said.anew(failure+text, time.Now()) {
		level = slog.LevelDebug
	}
	p.log.main.Log(context.Background(), level, text)
}

// awake is what the writer does when its time has come; until then it was idle.
func (p *Producer) awake(do func()) func() {
	return func() {
		p.clock.idle(time.Now())
		do()
	}
}

// scheduleBlock begins another block soon.
func (p *Producer) scheduleBlock() {
	p.writer.WakeAt(time.Now().Add(blockInterval/10), p.awake(p.schedule))
}

// confirm keeps the pending block, which was early, unless something speaks against it by
// now.
func (p *Producer) confirm(full bool) {
	if p.forbidden() {
		p.restart()
		return
	}
	p.produceSoon(full)
}

// finish produces the pending block, and begins the next.
func (p *Producer) finish() {
	err := p.produce()
	if err == nil {
		p.schedule()
		return
	}
	if p.fail(err) {
		return
	}
	p.complain(slog.LevelWarn, err.Error())
	p.log.plugin.Debug("Aborting block due to produce_block error")
	if p.abort() == nil {
		// The block is due already. Without a pause the next attempt, which may fail as
		// well, would follow at once, and so on without end.
		p.scheduleBlock()
	}
}
