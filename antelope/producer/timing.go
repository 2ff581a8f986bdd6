package producer

import (
	"time"

	"tarn/antelope/consensus"
	"tarn/antelope/types"
)

// Times of blocks (Leap: block_timing_util.hpp).
const (
	blockInterval = 500 * time.Millisecond
	round         = consensus.ProducerRepetitions
)

// watermark is the newest block that a producer is known to have signed, on any
// branch: it must never sign another one of that number or time.
type watermark struct {
	num  uint32
	slot types.BlockTimestamp
}

type watermarks map[types.Name]watermark

func (w watermarks) consider(n types.Name, num uint32, slot types.BlockTimestamp) {
	m := w[n]
	w[n] = watermark{max(m.num, num), max(m.slot, slot)}
}

// blockEffort is how long a block of a round may take, so that the offset is left
// at the round's end.
func blockEffort(offset time.Duration) time.Duration {
	return blockInterval - time.Duration(offset.Microseconds()/round)*time.Microsecond
}

// roundBlockStart is when work on the block of a slot begins: the blocks of a round
// follow each other without a gap, so that the last one is early.
func roundBlockStart(effort time.Duration, slot types.BlockTimestamp) time.Time {
	return slotStart(slot / round * round).Add(effort * time.Duration(slot%round))
}

// slotStart is when a slot begins, and with it the round of which it is the first.
func slotStart(slot types.BlockTimestamp) time.Time { return (slot - 1).TimePoint().Time() }

// blockDeadline is when the block of a slot is to be finished.
func blockDeadline(effort time.Duration, slot types.BlockTimestamp) time.Time {
	return roundBlockStart(effort, slot).Add(effort)
}

// nextSlot is a producer's next slot after current. Watermarks put it off, on the
// assumption that no block is left out; whoever wakes up too early reckons again.
func nextSlot(mark watermark, current types.BlockTimestamp, num uint32, index, producers int) types.BlockTimestamp {
	offset := types.BlockTimestamp(1)
	if mark.num > num {
		offset = types.BlockTimestamp(mark.num - num + 1)
	}
	if mark.slot > current {
		offset = max(offset, mark.slot-current+1)
	}
	least := current + offset
	turn := int(least) % (producers * round) / round
	if turn == index {
		return least
	}
	distance := index - turn
	if distance < 0 {
		distance += producers
	}
	return least - least%round + types.BlockTimestamp(distance*round)
}

// timeText is a time as logs have it.
func timeText(t time.Time) string { return types.TimePoint(t.UnixMicro()).String() }

// BlockTime is where the time of a block that was begun here went (Leap:
// speculative_block_metrics).
type BlockTime struct {
	Producer                         types.Name
	Num                              uint32
	Total, Idle, Other               time.Duration
	Succeeded, Failed, Transient     int // transactions
	SuccessTime, FailTime, Attempted time.Duration
}

// ProducedBlock is about a block that was signed here (Leap:
// produced_block_metrics).
type ProducedBlock struct {
	BlockTime
	Unapplied, BilledAccounts, Transactions int
	CPU                                     uint64 // us
	Elapsed, Time                           time.Duration
	Net                                     uint64 // bytes
	Irreversible, Head                      uint32
}

// IncomingBlock is about a block from outside (Leap: incoming_block_metrics).
type IncomingBlock struct {
	Transactions           int
	CPU                    uint64 // us
	Elapsed, Time, Latency time.Duration
	Net                    uint64 // bytes
	Irreversible, Head     uint32
}

// blockClock says where the writer's time goes.
type blockClock struct {
	began, last time.Time
	BlockTime
}

func (c *blockClock) reset(now time.Time) { *c = blockClock{began: now, last: now} }

// idle, other and transaction end a span of time.
func (c *blockClock) lap(now time.Time) time.Duration {
	d := now.Sub(c.last)
	c.last = now
	return d
}

func (c *blockClock) idle(now time.Time)  { c.Idle += c.lap(now) }
func (c *blockClock) other(now time.Time) { c.Other += c.lap(now) }

func (c *blockClock) transaction(now time.Time, transient, success bool) {
	d := c.lap(now)
	switch {
	case transient:
		c.Transient++
		c.Attempted += d
	case success:
		c.Succeeded++
		c.SuccessTime += d
	default:
		c.Failed++
		c.FailTime += d
	}
}

func (c *blockClock) report(now time.Time, num uint32, producer types.Name) BlockTime {
	t := c.BlockTime
	t.Num, t.Producer, t.Total = num, producer, now.Sub(c.began)
	return t
}
