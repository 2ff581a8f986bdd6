package p2p

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"tarn/opera/inter"
	"tarn/opera/p2p/fsnap"
)

// What a peer may ask, send and cost. What each bound keeps a hostile peer from is in
// docs/testing/faults.md.

// What go-opera refuses, or keeps to (gossip/handler.go, gossip/protocols). It is the same for
// all nodes, so it is not part of [Limits].
const (
	maxMessage  = 10 << 20           // bytes
	maxAsked    = maxMessage * 2 / 3 // bytes of a chunk that may be asked for
	softItems   = 250                // of a message that we make
	hardItems   = 1000               // of any message
	maxSmall    = 64 << 10           // bytes of a message that has no events, transactions or records
	softBytes   = 2 << 20            // of an answer
	recordItems = 4096               // of a chunk of records
	packVotes   = 10_000             // that go with an epoch

	maxVotesKey = 4 + 8 + len(inter.EventID{}) // bytes of a key of block votes

	// maxEpochRecord is how many bytes the record of an epoch may have: it is decoded before its
	// hash is known, to about thirty times that in the worst case. With a thousand validators it
	// has half a megabyte.
	maxEpochRecord = 2 << 20

	txOverhead  = 1024                             // bytes that a transaction counts for beside its own
	txAge       = time.Second                      // after which a transaction is told, as far as its cost goes
	cheapToTell = 60 * 700 * time.Millisecond / 40 // cost up to which something goes whole to every peer
)

// Limits bound what peers may cost. Those that go-opera's default configuration has are
// go-opera's. [DefaultLimits] returns values for each. They never change while a node runs.
type Limits struct {
	// One peer.

	QueueItems int           // messages that wait to be written to it
	QueueBytes int           // bytes of them, a half for parts of streams; and one message more of both kinds
	Known      int           // events, and as many transactions, that it is known to have
	Requests   int           // that wait for an answer
	Sessions   int           // streams at a time
	Chunks     int           // that one request may ask for
	ChunkBytes int           // bytes of a chunk that we send, and one item more
	Handshake  time.Duration // in which it must say who it is
	ReplyWait  time.Duration // for room in its queue; then an answer is dropped, for it does not read

	// What all peers send.

	Messages     int // that are being handled
	MessageBytes int // bytes of them
	IntakeEvents int // events that are being verified or wait in the order
	IntakeBytes  int // bytes of them
	EventBytes   int // bytes that an event counts for beside twice its own: about what it takes in memory
	OrderEvents  int // events that wait for parents
	OrderBytes   int // bytes of them
	Run          int // events or records at one call of the ledger: the call costs little, and others get to its writer

	// Announcements.

	Announced  int           // ids that a peer announced and that are still wanted
	Announcers int           // of an id that are remembered
	Forget     time.Duration // after which an id that did not come is wanted no more
	ArriveTx   time.Duration // for a transaction to come; then another peer is asked
	Arrive     time.Duration // the same of an event

	// Streams of events.

	StreamItems int           // of a chunk that we ask for
	StreamBytes int           // bytes of it
	StreamAhead int           // chunks that are asked for and not connected
	ChunkWait   time.Duration // for a chunk; then another peer is asked for the stream
	SessionWait time.Duration // for a whole stream, however many chunks come
	Restart     time.Duration // between streams
	IdleRestart time.Duration // between streams when nobody is ahead

	// Votes and records.

	FillChunks  int               // chunks that wait to be worked through
	FillBytes   int               // bytes of them
	IdleFill    time.Duration     // between streams when nobody has more
	Behind      time.Duration     // age of an epoch above which it is filled in by records
	EpochsAhead inter.Epoch       // epochs beyond the lowest undecided one that are asked for
	BlocksAhead inter.BlockNumber // blocks beyond a gap that are looked at, for they may be there
	TakenEvery  time.Duration     // between words about what was taken

	// States.

	State         fsnap.Limits // of an answer with parts of a state
	StateRequests int          // for them, of a peer, that wait for an answer
	StateAnswers  int          // that are made at a time, of all peers

	// What peers are told.

	Beat         time.Duration // between times at which what is due is looked for
	Progress     time.Duration // between words about how far this node is
	ProgressSoon time.Duration // the least time between such words after an epoch has begun
	Fresh        time.Duration // age of an event below which it says that we are at the head
	FirstTxs     int           // hashes of the pool told to a new peer
	RandomTxs    int           // hashes told to a random peer each RandomEvery
	RandomEvery  time.Duration
}

// DefaultLimits returns the bounds of a node.
func DefaultLimits() Limits {
	return Limits{
		QueueItems: 4096,
		QueueBytes: 4 << 20,
		Known:      24576,
		Requests:   16,
		Sessions:   3,
		Chunks:     12,
		ChunkBytes: 1 << 20,
		Handshake:  5 * time.Second,
		ReplyWait:  10 * time.Second,

		Messages:     1000,
		MessageBytes: 30 << 20,
		IntakeEvents: 10000,
		IntakeBytes:  30 << 20,
		EventBytes:   1 << 10,
		OrderEvents:  3250,
		OrderBytes:   11 << 20,
		Run:          64,

		Announced:  4096,
		Announcers: 4,
		Forget:     time.Minute,
		ArriveTx:   time.Second,
		Arrive:     4 * time.Second,

		StreamItems: 500,
		StreamBytes: 512 << 10,
		StreamAhead: 6,
		ChunkWait:   5 * time.Second,
		SessionWait: 150 * time.Second,
		Restart:     5 * time.Second,
		IdleRestart: 4 * time.Minute,

		FillChunks:  512,
		FillBytes:   15 << 20,
		IdleFill:    5 * time.Minute,
		Behind:      14 * 24 * time.Hour,
		EpochsAhead: 10_000,
		BlocksAhead: 100,
		TakenEvery:  8 * time.Second, // go-opera, proclogger

		State:         fsnap.DefaultLimits(),
		StateRequests: 4,
		StateAnswers:  2,

		Beat:         50 * time.Millisecond,
		Progress:     10 * time.Second,
		ProgressSoon: time.Second,
		Fresh:        10 * time.Minute,
		FirstTxs:     20000,
		RandomTxs:    128,
		RandomEvery:  20 * time.Second,
	}
}

// Validate checks all bounds at once: each must be above zero, and one that another builds on
// must not be above it. Its error joins one for each mistake.
func (l *Limits) Validate() error {
	var errs []error
	check := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	v := reflect.ValueOf(*l)
	for i := range v.NumField() {
		name, value := v.Type().Field(i).Name, v.Field(i).Interface()
		if state, ok := value.(fsnap.Limits); ok {
			errs = append(errs, state.Validate())
			continue
		}
		none := v.Field(i).IsZero() || v.Field(i).CanInt() && v.Field(i).Int() < 0
		check(none, "limit %s of peers must be greater than 0, not %v", name, value)
	}
	check(l.OrderEvents > l.IntakeEvents, "limit OrderEvents of peers must not be above IntakeEvents")
	check(l.OrderBytes > l.IntakeBytes, "limit OrderBytes of peers must not be above IntakeBytes")
	check(l.StreamItems >= hardItems, "limit StreamItems of peers must be below %d, for no peer serves more", hardItems)
	check(l.StreamBytes > maxAsked, "limit StreamBytes of peers must not be above %d, for no peer serves more",
		maxAsked)
	return errors.Join(errs...)
}

// highLamport is how far beyond the highest event an event may be that is asked for: what
// one stream has under way (go-opera, handleEventHashes).
func (l *Limits) highLamport() inter.Lamport {
	return inter.Lamport((l.StreamItems + 1) * l.StreamAhead)
}
