package p2p

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// clock measures by time messages how long the way to a peer and back takes, and how far its
// clock is from ours.
type clock struct {
	c    *conn
	ping atomic.Int64 // nanoseconds of the round trip, math.MaxInt64 if unknown

	mu       sync.Mutex
	origin   int64 // of the time message that is out; 0 for none
	transmit int64 // of the last one that came
}

// startPing sends a time message, unless the answer to another is awaited.
func (k *clock) startPing() {
	k.mu.Lock()
	if k.origin != 0 {
		k.mu.Unlock()
		return
	}
	k.origin = time.Now().UnixNano()
	m := Time{Transmit: k.origin}
	k.mu.Unlock()
	k.c.send(m)
}

// handleTime measures the round trip, and how far the clocks are apart.
func (k *clock) handleTime(m Time) {
	if m.Transmit == 0 {
		return
	}
	m.Destination = time.Now().UnixNano()
	k.mu.Lock()
	if m.Origin != 0 {
		if m.Origin != k.origin {
			k.mu.Unlock()
			return
		}
		k.noteRoundTrip(max(0, m.Destination-m.Origin))
	}
	transmit := nanoseconds(m.Transmit)
	if transmit == k.transmit {
		k.mu.Unlock()
		return
	}
	k.transmit = transmit
	if m.Origin == 0 {
		k.mu.Unlock()
		k.c.send(Time{Origin: m.Transmit, Receive: m.Destination, Transmit: time.Now().UnixNano()})
		return
	}
	origin := k.origin
	k.origin = 0
	k.mu.Unlock()
	receive := nanoseconds(m.Receive)
	offset := (float64(receive-origin) + float64(transmit-m.Destination)) / 2
	if math.Abs(offset) > float64(blockInterval) {
		k.c.warnf("Clock offset is %dus, calculation: (rec %d - org %d + xmt %d - dst %d)/2",
			int64(offset)/1000, receive, origin, transmit, m.Destination)
	}
	if k.c.received.Load() == nil {
		k.c.sendHandshake()
	}
}

// noteRoundTrip notes how long the answer to a time message took. While a peer catches
// up from this node it doesn't count: the message waited behind the blocks. Nor does
// it while this node catches up, unless nothing better is known.
func (k *clock) noteRoundTrip(ping int64) {
	if k.c.syncing.Load() || k.c.net.sync.absorbed() && k.ping.Load() != math.MaxInt64 {
		return
	}
	k.ping.Store(ping)
}

// blockLatency is by how many blocks the peer's news are old when the answer is
// there (Leap: calc_block_latency).
func (k *clock) blockLatency() uint32 {
	ping := k.ping.Load()
	if ping == math.MaxInt64 {
		return 0
	}
	return uint32(math.Round(float64(ping) / float64(blockInterval)))
}

// ask sends a time message, whether or not the answer to another is awaited.
func (k *clock) ask() {
	k.mu.Lock()
	k.origin = 0
	k.mu.Unlock()
	k.startPing()
}

// nanoseconds takes a time since the epoch in whatever unit a peer has sent it, for
// some that are older than Leap 5 send microseconds.
func nanoseconds(v int64) int64 {
	const recent = 1686211688 // seconds
	for unit := int64(1); unit <= 1e9; unit *= 1000 {
		if v >= recent*(1e9/unit) {
			return v * unit
		}
	}
	return 0
}
