package producer

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"tarn/antelope/chain"
	"tarn/antelope/consensus"
	"tarn/antelope/execute"
	"tarn/antelope/types"
)

// turns says whose turn it is, and whether this node may make a block when it is its own.
// It changes nothing of the chain. But for paused and votes all is the writer's.
type turns struct {
	opt   *Options
	chain *chain.Chain
	log   *loggers

	paused     atomic.Bool
	votes      voteWatch
	production bool // nothing speaks against it: the chain is not stale, or that does not matter
	watermarks watermarks
	lastStart  time.Time // of a speculative block
	lib        time.Time // of the last irreversible block
	maxLIBAge  time.Duration
	effort     time.Duration        // time for each block of a round
	tried      types.BlockTimestamp // slot that was begun last, or for which nothing was
	said       saying               // what speaks against a block, and does not change by itself
	features   []types.Checksum256  // to be activated by the next block of this node
	signalled  bool                 // they are in the pending block
}

// roundStart is when the first block of a round of this node may be begun. Where the
// round before was this node's too, nobody is handed over to: then that is when its last
// block was to be finished, so that transactions are executed in the offset too (nodeos
// leaves them waiting for it). Such a block is [Producer.early].
func (t *turns) roundStart(slot types.BlockTimestamp) time.Time {
	start, head := slotStart(slot), &t.chain.Head().Header
	if head.Timestamp == slot-1 && t.opt.isProducer(head.Producer) {
		if before := blockDeadline(t.effort, slot-1); start.Sub(before) < blockInterval {
			return before
		}
		return start.Add(-blockInterval)
	}
	return start
}

// mayProduce tells whether the block is one that this node has to sign, and may.
func (t *turns) mayProduce(b *beginning) bool {
	n := b.scheduled.Producer
	no := func(format string, args ...any) bool {
		level := slog.LevelDebug
		if t.said.anew(n.String()+" "+format, b.now) {
			level = slog.LevelError
		}
		t.log.main.Log(context.Background(), level, "Not producing block because "+fmt.Sprintf(format, args...))
		return false
	}
	head := t.chain.Head()
	own, others := t.votes.silent(b.now)
	silence, times := silence(own, others, b.slot)
	switch {
	case !t.opt.isProducer(n):
		return false
	case !t.production && !t.chain.Spring():
		return false
	case !t.production:
		return no("stale production not enabled, block %s", b.slot)
	case len(t.signers(&b.scheduled.Authority)) == 0:
		return no("I don't have any private keys relevant to authority: %+v", b.scheduled.Authority)
	case t.paused.Load():
		return no("production is explicitly paused")
	case t.irreversibleTooOld(b.now):
		return no("the irreversible block is too old [age:%ds, max:%ds]",
			int64(b.now.Sub(t.lib).Seconds()), int64(t.maxLIBAge.Seconds()))
	case silence != "":
		return no(silence, times...)
	case t.opt.MaxReversible > 0 && t.chain.Spring() && head.BlockNum-head.LIB() > t.opt.MaxReversible:
		return no("max-reversible-blocks %d reached, head %d, lib %d, block %s",
			t.opt.MaxReversible, head.BlockNum, head.LIB(), b.slot)
	case b.marked && b.mark.num > head.BlockNum:
		return no("\"%s\" signed a block at a higher block number (%d) than the current fork's head (%d)",
			n, b.mark.num, head.BlockNum)
	case b.marked && b.mark.slot >= b.slot:
		return no("\"%s\" signed a block at the next block time or later (%s) than the pending block time (%s)",
			n, b.mark.slot, b.slot)
	}
	return true
}

// sayEvery is how often at most one thing is said that goes on.
const sayEvery = time.Minute

// saying remembers what was said, so that what goes on is not said at each attempt. It keeps
// the last few: a node of several producers may have a reason for each.
type saying struct{ last map[string]time.Time }

// anew tells whether something is to be said: for the first time, or after a while. Numbers
// in it do not make it another thing.
func (s *saying) anew(what string, now time.Time) bool {
	what = withoutNumbers(what)
	if at, ok := s.last[what]; ok && now.Sub(at) < sayEvery && !now.Before(at) {
		return false
	}
	const most = 256
	if s.last == nil || len(s.last) >= most {
		s.last = map[string]time.Time{}
	}
	s.last[what] = now
	return true
}

// forget has what was said of a producer, and of blocks that failed, be said again: a block of
// the producer was made.
func (s *saying) forget(producer types.Name) {
	name := withoutNumbers(producer.String()) + " "
	maps.DeleteFunc(s.last, func(what string, _ time.Time) bool {
		return strings.HasPrefix(what, name) || strings.HasPrefix(what, failure)
	})
}

// failure begins what is remembered of blocks that could not be begun or made.
const failure = "! "

func withoutNumbers(text string) string {
	return strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' {
			return -1
		}
		return c
	}, text)
}

func (t *turns) irreversibleTooOld(now time.Time) bool {
	return t.maxLIBAge >= 0 && max(0, now.Sub(t.lib)) >= t.maxLIBAge
}

// forbidden tells whether nothing may be produced, whoever's turn it is.
func (t *turns) forbidden() bool {
	return !t.production || t.paused.Load() || t.irreversibleTooOld(time.Now())
}

// syncing tells whether blocks come so fast that it is no use to begin one: the last
// one was begun a moment ago, and the head is old. Spring takes it for one of a chain that stands still
// for longer, so that transactions get answers meanwhile.
func (t *turns) syncing(now time.Time) bool {
	old := 5 * time.Second
	if t.chain.Spring() {
		old = 5 * time.Minute
	}
	if !t.lastStart.IsZero() && t.lastStart.Before(now.Add(blockInterval)) &&
		now.Sub(t.chain.Head().Header.Timestamp.TimePoint().Time()) > old {
		return true
	}
	t.lastStart = now
	return false
}

// trialDeadline is until when transactions are tried in a block of a slot that is begun now and is no one's. In Leap that
// is not long enough for a transaction that takes longer than each block of a round may: it is tried again and again
// until it expires. Spring has time for a whole block.
func (t *turns) trialDeadline(now time.Time, slot types.BlockTimestamp) time.Time {
	at := blockDeadline(t.effort, slot)
	if whole := now.Add(blockInterval); t.chain.Spring() && whole.After(at) {
		return whole
	}
	if now.Add(blockInterval / 10).After(at) {
		return now.Add(t.effort)
	}
	return at
}

// signalFeatures adds the features that an operator has scheduled.
func (t *turns) signalFeatures(num uint32, s *execute.Start) {
	if len(t.features) == 0 {
		return
	}
	if err := t.checkActivations(t.features); err != nil {
		t.log.main.Warn(fmt.Sprintf("protocol features to activate are no longer all valid: %v", err))
		t.features = nil
		return
	}
	all := slices.Clone(t.features)
	for _, d := range s.Activations {
		if !slices.Contains(all, d) {
			all = append(all, d)
		}
	}
	s.Activations, t.signalled = all, true
	t.log.main.Info(fmt.Sprintf("signaling activation of the following protocol features in block %d: %s", num, all))
}

// wakeUpTime is when the next block of one of this node's producers is to be begun;
// ok is false if none of them is in the schedule.
func (t *turns) wakeUpTime(effort time.Duration, num uint32, slot types.BlockTimestamp) (at time.Time, ok bool) {
	schedule := t.chain.Head().ActiveSchedule.Producers
	var first types.BlockTimestamp
	for i := range schedule {
		n := schedule[i].Producer
		if !t.opt.isProducer(n) {
			continue
		}
		if s := nextSlot(t.watermarks[n], slot, num, i, len(schedule)); !ok || s < first {
			first, ok = s, true
		}
	}
	return roundBlockStart(effort, first), ok
}

// pendingSlot is the slot of a block that is begun now. Where nobody produces Spring takes the first one
// after the head, whatever time it is.
func (t *turns) pendingSlot(now time.Time) types.BlockTimestamp {
	head := t.chain.Head().Header.Timestamp
	if t.chain.Spring() && len(t.opt.Producers) == 0 {
		return head + 1
	}
	return types.NewBlockTimestamp(max(types.TimePoint(now.UnixMicro()), head.TimePoint())) + 1
}

// onHeader notes what producers of this node have signed, wherever it came from. Savanna's rules
// count no confirmations, so that nothing need be noted.
func (t *turns) onHeader(b *consensus.BlockState) {
	if b.IsProper() {
		t.votes.noteBlock(t.chain.Head().HeaderState, b.Header.Timestamp, time.Now())
		return
	}
	if n := b.Header.Producer; t.opt.isProducer(n) {
		t.watermarks.consider(n, b.BlockNum, b.Header.Timestamp)
	}
}

// signers are the providers for the keys of an authority.
func (t *turns) signers(a *types.BlockSigningAuthority) []SignatureProvider {
	var list []SignatureProvider
	for _, k := range a.Keys {
		if s := t.opt.Signers[k.Key]; s != nil {
			list = append(list, s)
		}
	}
	return list
}

// checkActivations tells why features cannot be activated after the head.
func (t *turns) checkActivations(list []types.Checksum256) error {
	h := t.chain.Head()
	return t.chain.Features().Check(h.Header.Timestamp.TimePoint(), h.Activated, list)
}
