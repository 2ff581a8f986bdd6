package p2p

import (
	"time"

	"tarn/opera/inter"
	"tarn/opera/p2p/fsnap"
)

// Bounds on what a peer may ask and send: first those of the protocol, as go-opera keeps
// to them, then those of [Limits]. What each of them keeps a
// hostile peer from is in docs/testing-faults.md.

// What go-opera refuses, or keeps to (gossip/handler.go).
const (
	maxMessage = 10 << 20 // bytes
	softItems  = 250      // of a message that we make
	hardItems  = 1000     // of any message
	maxSmall   = 64 << 10 // bytes; of a message that has no events, transactions or records
	softBytes  = 2 << 20  // of an answer
)

// maxAsked is the largest chunk that may be asked for (go-opera, handleMsg): 2/3 of a
// message.
const maxAsked = maxMessage * 2 / 3

// recordItems is how many a chunk of records may have at most (go-opera,
// gossip/protocols): fewer may be asked for.
const recordItems = 4096

// maxVotesKey is the length of a key of block votes.
const maxVotesKey = 4 + 8 + len(inter.EventID{})

// packVotes is how many votes go with an epoch at most (go-opera, gossip).
const packVotes = 10_000

// maxEpochRecord is how many bytes the record of an epoch may have: it is decoded before its hash
// is known, to about thirty times that in the worst case. With a thousand validators it has half
// a megabyte.
const maxEpochRecord = 2 << 20

// Limits bound what peers may cost. Sizes are in bytes. Those that go-opera's default
// configuration has are go-opera's.
type Limits struct {
	QueueItems int // messages queued to a peer: 4096
	QueueBytes int // 4 MiB, and one message more
	Known      int // events and transactions that a peer is known to have: 24576 of each
	Requests   int // of a peer that wait for an answer: 16
	Sessions   int // streams of a peer at a time: 3
	Chunks     int // that a request may ask for: 12
	ChunkBytes int // of a chunk that we send, and one item more: 1 MiB

	Messages     int // of all peers that are being handled: 1000
	MessageBytes int // 30 MiB
	IntakeEvents int // events of all peers that are being verified or wait in the order: 10000
	IntakeBytes  int // 30 MiB
	OrderEvents  int // that wait for parents: 3250
	OrderBytes   int // 11 MiB

	Announced  int           // ids that a peer announced and that are still wanted: 4096
	Announcers int           // of an id that are remembered: 4
	Forget     time.Duration // an id that did not come: 1 minute
	ArriveTx   time.Duration // before another peer is asked: 1 second
	Arrive     time.Duration // the same of events: 4 seconds

	StreamItems int           // of a chunk that we ask for: 500
	StreamBytes int           // 512 KiB
	StreamAhead int           // chunks that are asked for and not connected: 6
	ChunkWait   time.Duration // before another peer is asked for the stream: 5 seconds
	SessionWait time.Duration // the same, however many chunks come: 150 seconds
	Restart     time.Duration // between streams: 5 seconds
	IdleRestart time.Duration // between streams when nobody is ahead: 4 minutes
	IdleFill    time.Duration // the same of votes and records: 5 minutes

	FillChunks int           // of votes and records that wait to be worked through: 512
	FillBytes  int           // 15 MiB
	Behind     time.Duration // an epoch older than this is filled in by records: 14 days

	State         fsnap.Limits // of an answer with parts of a state
	StateRequests int          // for them, of a peer, that wait for an answer: 4
	StateAnswers  int          // that are made at a time, of all peers: 2

	Handshake   time.Duration // 5 seconds
	Progress    time.Duration // between words about it: 10 seconds
	Fresh       time.Duration // an event younger than this says that we are at the head: 10 minutes
	FirstTxs    int           // hashes of the pool told to a new peer: 20000
	RandomTxs   int           // told to a random peer each RandomEvery: 128
	RandomEvery time.Duration // 20 seconds
}

// fill puts defaults in the place of zero values.
func (l *Limits) fill() {
	for p, v := range map[*int]int{
		&l.QueueItems: 4096, &l.QueueBytes: 4 << 20, &l.Known: 24576, &l.Requests: 16, &l.Sessions: 3, &l.Chunks: 12,
		&l.ChunkBytes: 1 << 20, &l.Messages: 1000, &l.MessageBytes: 30 << 20, &l.IntakeEvents: 10000, &l.IntakeBytes: 30 << 20, &l.OrderEvents: 3250, &l.OrderBytes: 11 << 20,
		&l.Announced: 4096, &l.Announcers: 4, &l.StreamItems: 500, &l.StreamBytes: 512 << 10, &l.StreamAhead: 6,
		&l.FillChunks: 512, &l.FillBytes: 15 << 20,
		&l.StateRequests: 4, &l.StateAnswers: 2,
		&l.FirstTxs: 20000, &l.RandomTxs: 128,
	} {
		if *p == 0 {
			*p = v
		}
	}
	for p, v := range map[*time.Duration]time.Duration{
		&l.Forget: time.Minute, &l.ArriveTx: time.Second, &l.Arrive: 4 * time.Second, &l.ChunkWait: 5 * time.Second,
		&l.SessionWait: 150 * time.Second, &l.Restart: 5 * time.Second, &l.IdleRestart: 4 * time.Minute, &l.IdleFill: 5 * time.Minute, &l.Behind: 14 * 24 * time.Hour, &l.Handshake: 5 * time.Second,
		&l.Progress: 10 * time.Second, &l.Fresh: 10 * time.Minute, &l.RandomEvery: 20 * time.Second,
	} {
		if *p == 0 {
			*p = v
		}
	}
}

// highLamport is how far beyond the highest event an event may be that is asked for: what
// one stream has under way (go-opera, handleEventHashes).
func (l *Limits) highLamport() inter.Lamport {
	return inter.Lamport((l.StreamItems + 1) * l.StreamAhead)
}
