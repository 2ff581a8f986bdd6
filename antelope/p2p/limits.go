package p2p

import "time"

// Bounds on what a peer may ask and send. Those that nodeos has are as in nodeos (Leap:
// net_plugin.cpp). What each of them keeps a hostile peer from is in
// docs/testing-faults.md.

// Amounts.
const (
	maxMessage       = 8 << 20   // bytes of a message, its type included
	maxHandshakeText = 384       // characters of each text of a handshake
	softQueue        = 40 << 20  // bytes waiting for a peer, above which nothing is read from it
	hardQueue        = 80 << 20  // and above which it is dropped
	maxConnTrx       = 100 << 20 // bytes of a connection's transactions that the chain has not answered
	maxTrx           = 256 << 20 // and of all connections'
	maxWanted        = 64        // blocks that a peer may ask for by id before it got them
)

// Bounds of the blocks that wait to be applied.
const (
	maxQueued      = 4000
	maxQueuedBytes = 128 << 20
)

// Bounds of the blocks that wait for the block before them, and of those that a span's peer
// has sent before the blocks of other peers that come first.
const (
	unlinkableBlocks = 30       // of those that were not checked
	maxUnlinkable    = 32 << 20 // bytes
	maxHeld          = 64 << 20 // bytes of blocks that came before those before them
)

// A peer is left when the chain has refused its blocks in so many windows of time one after
// another, with no block accepted between them.
const (
	rejectionWindow  = 2 * time.Millisecond
	rejectionWindows = 13
)

// Budgets of a connection, in units a second and at once. They are far above what
// honest nodes need.
const (
	controlRate, controlBurst = 500, 4000 // messages that are neither blocks nor transactions
	uselessRate, uselessBurst = 500, 8000 // blocks that are no news; a long one counts for more
	failureRate, failureBurst = 200, 5000 // transactions that failed

	inflateRate, inflateBurst = 2 << 20, 16 << 20 // bytes of compressed transactions that failed, or were there in another form
)

// A message over maxReadBuffer takes a buffer of its own while it comes. No block of a
// chain is nearly as large as a message may be, so there need not be many at once.
const (
	maxLarge   = 64 << 20        // bytes of all connections' large buffers
	largeTime  = time.Minute     // in which such a message must have come
	largeGrace = 2 * time.Second // for which it has its room to itself
)

// How slowly a peer may read what is written to it.
const (
	writeTime   = 30 * time.Second // for any write
	slowestPeer = 8 << 10          // bytes a second that a peer must be able to read
)

// responseTime is the time in which a block that was asked for must come, or a promised one.
const responseTime = 5 * time.Second

// A block that comes of a span gives its peer time for the next one, up to
// responseTime: as long as it took at these rates. They are far below what it takes to
// follow a chain. One that the chain knows, as what is reversible must be fetched again,
// counts by its bytes alone.
const (
	slowBlock = 4 * blockInterval
	slowBytes = 8 << 10  // a second
	oldBytes  = 64 << 10 // a second, of blocks that are known
)

// maxAhead is by how many blocks a peer may be ahead of what the clock allows, for
// clocks differ: twice what a block's time may be.
const maxAhead = uint64(2 * 7 * time.Second / blockInterval)
