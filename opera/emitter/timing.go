package emitter

import (
	"math/bits"
	"time"

	"tarn/opera/inter"
)

// kick makes the first events of an epoch worth more, in which there is nothing to tell
// of yet.
func kick(worth uint64, seq inter.Seq) uint64 {
	if seq <= 2 && worth < 0.9*unit {
		worth += 0.1 * unit
	}
	if seq <= 1 && worth <= 0.8*unit {
		worth += 0.2 * unit
	}
	return worth
}

// part is a share of a duration, in millionths of it.
func part(d time.Duration, of uint64) time.Duration {
	high, low := bits.Mul64(uint64(max(d, 0)), of)
	if high >= unit {
		return 1<<63 - 1
	}
	q, _ := bits.Div64(high, low, unit)
	return time.Duration(q)
}

// isTime tells whether the event is to be made now (go-opera, gossip/emitter/control.go:
// isAllowedToEmit). txs says that it carries transactions, or may.
func (em *Emitter) isTime(p *inter.Payload, self *inter.Event, worth uint64, txs bool) bool {
	created, left := time.Unix(0, int64(p.CreationTime)), p.GasPowerLeft.Min()
	passed, idle := max(0, created.Sub(em.emittedAt)), max(0, created.Sub(em.idleAt))
	// The greatest validators confirm as soon as there is something.
	if em.share < 0.35*unit {
		idle = passed
	} else if em.share < 0.7*unit {
		idle = (idle + passed) / 2
	}
	idle = min(idle, passed)
	if left <= em.o.Thresholds.Emergency && self != nil && left < self.GasPowerLeft.Min() {
		em.notice(created, "not enough power to emit an event, waiting: %d is left", left)
		return false
	}
	if passed >= em.o.Intervals.Max || em.missed(worth) {
		return true
	}
	if low := (em.o.Thresholds.NoTxs + em.o.Thresholds.Emergency) / 2; left <= low && low > 0 {
		if passed < em.o.Intervals.Max-part(em.o.Intervals.Max-em.least, left*unit/low) {
			return false
		}
	}
	switch {
	case em.idle():
		return txs && passed >= em.least
	case passed < em.least || part(passed, worth) < em.least:
		return false
	}
	return txs || part(idle, worth) >= em.waits[em.index]
}

// missed tells whether so many blocks were made without an event of this validator that
// the contract will soon count it as offline.
func (em *Emitter) missed(worth uint64) bool {
	slack, passed := em.epoch.Rules.Economy.BlockMissedSlack, em.head-min(em.head, em.emittedHead)
	most := slack/2 + 1
	if slack > most && slack > 5 && most < slack-5 {
		most = slack - 5
	}
	return passed >= most || worth >= unit/2 && passed >= most*4/5
}
