package p2p

import (
	"errors"
	"reflect"
	"time"

	"tarn/antelope/admintypes"
)

// What a peer may ask, send and cost. What each bound keeps a hostile peer from is in
// docs/testing/faults.md.

// Sizes and times of the protocol (Leap: net_plugin.cpp). They are the same for all nodes, so
// they are not part of [Limits].
const (
	maxMessage       = 8 << 20                // bytes of a message, its type included
	maxHandshakeText = 384                    // characters of each text of a handshake
	maxAddress       = 253 + 6 + 30           // characters of an address in the options
	blockInterval    = 500 * time.Millisecond // between two blocks of a chain
	nackThreshold    = 2                      // blocks in a row that a peer had already; with more it gets notices (Spring)
	noticedBlocks    = 100                    // blocks that are sent at once to who asks after a notice (Spring)

	// Gossip of producers (Spring: auto_bp_peering.hpp, peer_keys_db.hpp).

	perProducer   = 8                           // records of a producer
	recordLife    = time.Hour                   // of an own record
	recordRenewal = 30 * time.Minute            // before its end it is made anew
	recordLongest = recordLife + 15*time.Minute // clocks and heads differ
	keysEvery     = 120                         // blocks between times at which producers' keys are read
	keysWithin    = 5 * time.Minute             // age of a head above which they are not
	keysTime      = 20 * time.Millisecond       // for the contract to tell them
)

// Budget is what one peer may use up: Rate units a second on the average, and Burst units at once.
type Budget struct{ Rate, Burst float64 }

func (b Budget) bucket() bucket { return bucket{rate: b.Rate, burst: b.Burst} }

// Limits bound what peers may cost. Those that nodeos has are as in nodeos (Leap:
// net_plugin.cpp). [DefaultLimits] returns values for each. They never change while a network
// runs.
type Limits struct {
	// What waits to be written to a peer.

	SoftQueue   int           // bytes above which nothing is read from the peer: who does not listen is not answered
	HardQueue   int           // bytes above which the peer is dropped
	Wanted      int           // blocks that a peer may ask for by their ids before it got them
	WriteBatch  int           // bytes of blocks that are fetched at once for a peer that catches up
	CopiedBlock int           // bytes of a block up to which it is gathered in one buffer with others
	DirectBytes int           // bytes that are written without the writer's goroutine
	WriteTime   time.Duration // for any write, so that a peer that reads nothing is left
	SlowestPeer int           // bytes a second that a peer must be able to read
	Farewell    time.Duration // for a peer that is sent away to hear why
	FarewellIn  int64         // bytes that are read and dropped meanwhile
	RelayBytes  int           // bytes of transactions that wait to be passed on to all peers; others are not passed on

	// What comes from a peer.

	ReadBuffer    int // bytes of the buffer that a connection begins to read with
	MaxReadBuffer int // bytes above which a message takes a buffer of its own while it comes
	// bytes of such buffers, of all connections: no block is nearly as large as a message may be
	LargeBytes int64
	LargeTime  time.Duration // in which such a message must have come
	LargeGrace time.Duration // for which it has its room to itself
	LargePause time.Duration // after which a connection without room looks again
	DialTime   time.Duration // in which a peer that is dialled must answer
	Handshake  time.Duration // in which the same handshake is not sent again
	Reconnect  time.Duration // before a peer that was lost is dialled again, or an accept that failed is tried again
	Reconnects int           // so many times at once, then the peer is left alone for a while
	Shunned    int           // prefixes of addresses that are kept away at once
	// numbers of connections before they are used again without rest: strangers come and go fast
	Slots    int
	SlotRest time.Duration // before a number is used again: longer than what is remembered of transactions
	Beat     time.Duration // between times at which what is due is looked for
	Expiry   time.Duration // between times at which what is remembered of blocks and transactions is looked through

	// Transactions.

	ConnTransactions int64 // bytes of a connection's transactions that the chain has not answered
	Transactions     int64 // bytes of all connections' such transactions
	// transactions given to the chain at once: work for several processors, and no long wait for the first
	Arrived int

	// Transactions for peers that have connected here wait for company, because a write costs the
	// same for one as for ten. Peers that this node dialled wait for nothing: producers are there.

	GatherEach time.Duration // for each such peer
	GatherMost time.Duration // by then there should be a block that they go with
	GatherFrom int           // such peers; with fewer nothing waits

	// Blocks.

	QueuedBlocks    int // that wait to be applied
	QueuedBytes     int // bytes of them
	Unlinkable      int // blocks that wait for the block before them and were not checked
	UnlinkableBytes int // bytes of all blocks that wait for the block before them
	HeldBytes       int // bytes of blocks of ranges that came before those before them
	RefusedBlocks   int // that are remembered as refused
	// for which they are: peers pass them on before they know; not for ever, for the fault may be ours
	RefusedTime      time.Duration
	RejectionWindow  time.Duration // a window of time in which the chain refused all blocks of a peer
	RejectionWindows int           // so many windows one after another, and the peer is left
	Response         time.Duration // in which a block that was asked for, or promised, must come
	// in which a block that was asked for after a notice must come, then others are asked
	Noticed  time.Duration
	Siblings int // blocks of one producer and time that are passed on; an honest one makes one
	// that a block of a span adds to its peer's time, up to Response, far below what following takes
	SlowBlock time.Duration
	SlowBytes int // bytes a second at which a block adds to that time, if that is more
	OldBytes  int // bytes a second, of blocks that are known: they count by their bytes alone
	// blocks by which a peer may be ahead of what the clock allows: twice what a block's time may be off
	Ahead  uint64
	Recent time.Duration // age of the head above which a node may be at nothing but ranges: it has nothing to lose

	// Votes of finalizers.

	// of a connection, that wait to be counted or for their block; then it is left, as by nodeos
	ConnVotes int
	Votes     int           // of all connections; then who has more than a share waits in vain
	VoteTime  time.Duration // for which a vote waits for its block
	VoteBatch int           // for one block, verified together: a wrong one lets each be verified alone

	// Gossip of producers. All records of 50 of them, at their longest, fit into a message.

	GossipBytes int // of a message, and of what is kept for the next
	GossipPlace int // bytes of a place; longer ones are left out
	// bytes of all connections' messages that wait; then who has more than a share waits in vain
	GossipWaiting int
	GossipAnswer  int           // signatures that a first message counts for: it is answered with all that there is
	GossipDials   int           // addresses that are connected to; more than all producers of the largest schedule have
	GossipPause   time.Duration // between times at which all peers are told

	// Budgets of a connection. They are far above what honest nodes need.

	Control      Budget // messages that are neither blocks nor transactions
	Voting       Budget // votes: those of a hundred finalizers are 200 a second
	GossipChecks Budget // signatures of producers' records that are checked
	Useless      Budget // blocks that are no news; each UselessUnit counts for one more
	UselessUnit  int    // bytes
	Failures     Budget // transactions that failed
	Inflating    Budget // bytes of compressed transactions that failed, or were there in another form
	Lines        Budget // lines of the log that one peer, and that all newcomers together, may cause
}

// DefaultLimits returns the bounds of a node.
func DefaultLimits() Limits {
	return Limits{
		SoftQueue:   40 << 20,
		HardQueue:   80 << 20,
		Wanted:      64,
		WriteBatch:  256 << 10,
		CopiedBlock: 16 << 10,
		DirectBytes: 64 << 10,
		WriteTime:   30 * time.Second,
		SlowestPeer: 8 << 10,
		Farewell:    time.Second,
		FarewellIn:  1 << 20,
		RelayBytes:  64 << 20,

		ReadBuffer:    8 << 10,
		MaxReadBuffer: 256 << 10,
		LargeBytes:    64 << 20,
		LargeTime:     time.Minute,
		LargeGrace:    2 * time.Second,
		LargePause:    time.Second / 20,
		DialTime:      10 * time.Second,
		Handshake:     50 * time.Millisecond,
		Reconnect:     100 * time.Millisecond,
		Reconnects:    9,
		Shunned:       4096,
		Slots:         4096,
		SlotRest:      time.Minute,
		Beat:          250 * time.Millisecond,
		Expiry:        3 * time.Second,

		ConnTransactions: 100 << 20,
		Transactions:     256 << 20,
		Arrived:          64,

		GatherEach: 2500 * time.Microsecond, GatherMost: 500 * time.Millisecond, GatherFrom: 16,

		QueuedBlocks:     4000,
		QueuedBytes:      128 << 20,
		Unlinkable:       30,
		UnlinkableBytes:  32 << 20,
		HeldBytes:        64 << 20,
		RefusedBlocks:    64,
		RefusedTime:      10 * time.Second,
		RejectionWindow:  2 * time.Millisecond,
		RejectionWindows: 13,
		Response:         5 * time.Second,
		Noticed:          2 * blockInterval,
		Siblings:         16,
		SlowBlock:        4 * blockInterval,
		SlowBytes:        8 << 10,
		OldBytes:         64 << 10,
		Ahead:            uint64(2 * 7 * time.Second / blockInterval),
		Recent:           3 * time.Second,

		ConnVotes: 2500, Votes: 20_000, VoteTime: 5 * time.Second, VoteBatch: 32,

		GossipBytes: 512 << 10, GossipPlace: 1 << 10, GossipWaiting: 8 << 20,
		GossipAnswer: 25, GossipDials: 1024, GossipPause: 250 * time.Millisecond,

		Control:      Budget{500, 4000},
		Voting:       Budget{2000, 8000},
		GossipChecks: Budget{50, 2000},
		Useless:      Budget{500, 8000},
		UselessUnit:  16 << 10,
		Failures:     Budget{200, 5000},
		Inflating:    Budget{2 << 20, 16 << 20},
		Lines:        Budget{20, 60},
	}
}

// Validate checks all bounds at once: each must be above zero, and one that another builds on
// must not be above it. Its error joins a *admintypes.BadOption for each mistake.
func (l *Limits) Validate() error {
	var errs []error
	check := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, admintypes.NewBadOption(format, args...))
		}
	}
	v := reflect.ValueOf(*l)
	for i := range v.NumField() {
		name, value := v.Type().Field(i).Name, v.Field(i).Interface()
		if b, ok := value.(Budget); ok {
			check(b.Rate <= 0 || b.Burst <= 0, "limit %s of peers must be greater than 0, not %v", name, b)
			continue
		}
		none := v.Field(i).IsZero() || v.Field(i).CanInt() && v.Field(i).Int() < 0
		check(none, "limit %s of peers must be greater than 0, not %v", name, value)
	}
	check(l.SoftQueue > l.HardQueue, "limit SoftQueue of peers must not be above HardQueue")
	check(l.ReadBuffer > l.MaxReadBuffer, "limit ReadBuffer of peers must not be above MaxReadBuffer")
	check(l.ConnTransactions > l.Transactions, "limit ConnTransactions of peers must not be above Transactions")
	check(l.ConnVotes > l.Votes, "limit ConnVotes of peers must not be above Votes")
	check(l.GossipPlace > l.GossipBytes, "limit GossipPlace of peers must not be above GossipBytes")
	check(float64(l.GossipAnswer) > l.GossipChecks.Burst,
		"limit GossipAnswer of peers must not be above the burst of GossipChecks")
	check(l.GossipBytes > l.GossipWaiting, "limit GossipBytes of peers must not be above GossipWaiting")
	check(l.Noticed > l.Response, "limit Noticed of peers must not be above Response")
	check(l.LargeBytes < 4+maxMessage, "limit LargeBytes of peers must have room for a message of %d bytes", maxMessage)
	return errors.Join(errs...)
}
