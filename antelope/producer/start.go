package producer

import (
	"fmt"
	"log/slog"
	"slices"
	"time"

	"tarn/antelope/chain"
	"tarn/antelope/consensus"
	"tarn/antelope/execute"
	"tarn/antelope/feature"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// outcome is what became of the attempt to begin a block.
type outcome uint8

const (
	succeeded outcome = iota
	failedToStart
	waitingForBlock
	waitingForProduction
	exhausted
)

// beginning is a block that may be begun.
type beginning struct {
	now       time.Time
	slot      types.BlockTimestamp
	num       uint32
	scheduled *types.ProducerAuthority
	mark      watermark
	marked    bool
}

// begin begins the block after the head, if it is time, and lets the transactions
// in that wait (Leap: start_block).
func (p *Producer) begin() outcome {
	if p.RefusesTransactions() {
		return waitingForBlock
	}
	if p.terminated() {
		return failedToStart
	}
	head := p.chain.Head()
	b := beginning{now: time.Now(), num: head.BlockNum + 1}
	b.slot = p.pendingSlot(b.now)
	p.tried = b.slot
	if p.chain.Paused() {
		p.sayPaused()
		return waitingForBlock
	}
	if b.scheduled = head.ScheduledProducer(b.slot); b.scheduled == nil {
		b.scheduled = new(types.ProducerAuthority)
	}
	b.mark, b.marked = p.watermarks[b.scheduled.Producer]
	producing := p.mayProduce(&b) && !p.waits.outdoes(head.HeaderState, &p.headers, b.now, &p.log)
	// Spring begins one wherever it is a producer's turn here, but for a reason it makes none.
	ours := p.chain.Spring() && p.opt.isProducer(b.scheduled.Producer)
	if !producing && !ours && p.syncing(b.now) {
		return waitingForBlock
	}
	if producing && b.slot%round == 0 {
		// The first of a round waits for its time; the others follow at once.
		if start := p.roundStart(b.slot); b.now.Before(start) {
			p.log.plugin.Debug("Not starting block until " + timeText(start))
			p.writer.WakeAt(start, p.awake(p.schedule))
			return waitingForProduction
		}
	}
	p.deadline = blockDeadline(p.effort, b.slot)
	if !producing {
		p.deadline = p.trialDeadline(b.now, b.slot)
	}
	p.log.plugin.Debug(fmt.Sprintf("Starting block #%d at %s producer %s", b.num, timeText(b.now),
		b.scheduled.Producer))
	if p.abort() != nil {
		return failedToStart
	}
	if err := p.startBlock(&b, producing); err != nil {
		if !p.fail(err) {
			p.complain(slog.LevelWarn, err.Error())
		}
		return failedToStart
	}
	pending, _ := p.chain.Pending()
	p.producing = producing
	p.schedules.Store(p.chain.Schedules())
	if producing && !sameAuthority(pending.Authority, &b.scheduled.Authority) {
		p.complain(slog.LevelError,
			fmt.Sprintf(
				"Unexpected block signing authority, reverting to speculative mode! [expected: \"%+v\", actual: \"%+v\"]",
				b.scheduled.Authority, *pending.Authority))
		p.producing = false
	}
	return p.fill(&b, pending)
}

// early tells whether the pending block is the first of a round and nodeos would not have
// begun it yet. Until it would have, the block is not finished, however full it is, a pause
// stops it, and a block from outside takes its place: the rest of the network sees nothing
// of it.
func (p *Producer) early(now time.Time) bool {
	pending, building := p.chain.Pending()
	return building && p.producing && pending.Time%round == 0 && now.Before(slotStart(pending.Time))
}

func sameAuthority(a, b *types.BlockSigningAuthority) bool {
	return a.Threshold == b.Threshold && slices.Equal(a.Keys, b.Keys)
}

// startBlock begins a block in the chain.
func (p *Producer) startBlock(b *beginning, producing bool) error {
	protocol, err := p.chain.State().Protocol.Get()
	if err != nil {
		return err
	}
	start := execute.Start{Time: b.slot, Activations: slices.Clone(protocol.Preactivated), Status: execute.Ephemeral}
	if producing {
		start.Status = execute.Incomplete
		start.Confirmed = confirmedBlocks(b, p.chain.Head().HeaderState)
		p.signalFeatures(b.num, &start)
	}
	return p.chain.StartBlock(start)
}

// confirmedBlocks is how many blocks before it a block confirms: those since the last
// one of its producer, never one twice. A producer that is not known to have made
// any confirms none, for it may have, before a crash.
func confirmedBlocks(b *beginning, head *consensus.HeaderState) uint16 {
	if !b.marked || b.mark.num >= head.BlockNum || head.PrecedesProper() {
		return 0
	}
	return uint16(min(head.BlockNum-b.mark.num, head.BlockNum-head.Irreversible, 1<<16-1))
}

// fill lets in what waits: of blocks that were given up or lost, then what is
// scheduled, then what came meanwhile.
func (p *Producer) fill(b *beginning, pending chain.Pending) outcome {
	head := p.chain.Head()
	p.failures.clear(head.BlockNum, func(n types.Name, count uint32, reason string) {
		p.log.plugin.Debug(fmt.Sprintf("Failed %d trxs, account: %s, sub bill: %dus, reason: %s",
			count, n, p.bills.Subjective(n, time.Now()), reason))
	})
	stop := func() bool { return p.interrupted(b.num) }
	block := pending.Time.TimePoint()
	waited := p.queue.len()
	if removed, all := p.queue.removeExpired(block, stop); !all {
		if p.producing {
			p.log.plugin.Warn(fmt.Sprintf(
				"Unable to process all expired transactions of the %d transactions in the unapplied queue before "+
					"deadline %s, Expired %d",
				waited, timeText(p.deadline), removed))
		}
		return exhausted
	}
	if !p.bills.removeExpired(block, time.Now(), stop) {
		return exhausted
	}
	incoming := p.queue.waiting(incomingAPI, incomingP2P) // each at most once a block
	if p.producing {
		if !p.tryAll(p.queue.waiting(forked, aborted), b.num) {
			return p.unlessFatal(exhausted)
		}
		if !p.chain.Active(feature.DisableDeferredTrxsStage2) && !p.retireDeferred() {
			return failedToStart
		}
	}
	if p.writer.Failed() != nil {
		return failedToStart
	}
	if stop() || p.blockExhausted() {
		return p.unlessFatal(exhausted)
	}
	if !p.tryAll(incoming, b.num) {
		return p.unlessFatal(exhausted)
	}
	return p.unlessFatal(succeeded)
}

func (p *Producer) unlessFatal(o outcome) outcome {
	if p.writer.Failed() != nil {
		return failedToStart
	}
	return o
}

// interrupted tells whether the filling of a block must end: it is time to finish
// it, or a block has come in its place.
func (p *Producer) interrupted(num uint32) bool {
	late := !time.Now().Before(p.deadline)
	if p.producing {
		return late
	}
	// In irreversible mode a block that comes is applied later.
	return late && len(p.opt.Producers) > 0 || !p.opt.Irreversible && p.received.Load() >= num
}

// tryAll executes transactions that wait, and tells whether there was room for all.
func (p *Producer) tryAll(list []*entry, num uint32) bool {
	for _, e := range list {
		if p.interrupted(num) {
			return false
		}
		if !p.queue.holds(e) {
			continue
		}
		p.clock.other(time.Now())
		r := p.push(e, p.deadline)
		if p.writer.Failed() != nil {
			return false
		}
		if !r.unfit {
			p.queue.remove(e)
		}
		if r.broken {
			return p.restartFill()
		}
		if r.exhausted {
			return false
		}
	}
	return true
}

// restartFill gives up a block that a transaction has broken. The loop that began
// it begins another soon.
func (p *Producer) restartFill() bool {
	_ = p.abort()
	return false
}

// retireDeferred gets rid of deferred transactions that have expired, or of all
// once there are to be none any more; false if that fails. It takes little time, as
// nodeos does.
func (p *Producer) retireDeferred() bool {
	pending, building := p.chain.Pending()
	if !building {
		return false
	}
	until := time.Now().Add(10 * time.Millisecond)
	if p.deadline.Before(until) {
		until = p.deadline
	}
	all := p.chain.Active(feature.DisableDeferredTrxsStage1)
	var ids []types.Checksum256
	const enough = 10_000 // more than can be retired in that time
	err := p.chain.State().DeferredByExpiration(func(d *state.Deferred) (bool, error) {
		if !all && d.Expiration >= pending.Time.TimePoint() {
			return false, nil
		}
		ids = append(ids, d.TrxID)
		return len(ids) < enough, nil
	})
	if err != nil {
		p.fail(err)
		return false
	}
	failed := 0
	for _, id := range ids {
		if !time.Now().Before(until) {
			break
		}
		p.clock.other(time.Now())
		trace, err := p.chain.PushScheduled(id, execute.Billing{Deadline: p.deadline})
		p.clock.transaction(time.Now(), false, err == nil && trace.Except == nil)
		switch {
		case err != nil:
			// Its session is open: nothing of this block can be kept.
			if !p.fail(err) {
				p.complain(slog.LevelWarn, err.Error())
			}
			_ = p.abort()
			return false
		case trace.Except != nil && exhausts(trace.Except):
			if p.blockExhausted() {
				return true
			}
		case trace.Except != nil:
			p.log.logScheduled(p.place, trace)
			failed++
		default:
			p.log.logScheduled(p.place, trace)
		}
	}
	return !all || failed == 0
}
