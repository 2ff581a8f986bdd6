package p2p

import (
	"crypto/ecdsa"
	"time"

	"github.com/ethereum/go-ethereum/p2p/enode"
	"github.com/ethereum/go-ethereum/p2p/nat"
	"github.com/ethereum/go-ethereum/p2p/netutil"

	"tarn/opera/inter"
	"tarn/opera/p2p/fsnap"
)

// Options of a node. Zero values of Limits and Server stand for the defaults.
type Options struct {
	Ledger  Ledger
	Pool    Pool         // nil: no transactions are taken or told
	Records Records      // nil: there are none
	Filler  Filler       // nil: no votes and records are asked for or taken
	States  fsnap.Holder // nil: no state is given to peers
	// Snap has blocks asked for as records as long as the present epoch is older than
	// Limits.Behind, and votes for them too, before the node is at the head.
	Snap bool
	// Givers are told of peers that may be asked for states; nil: no state is asked for. With Snap,
	// no events are asked for as long as block records are and a peer is in a later epoch.
	Givers Givers
	// Taken, if not nil, is told every few seconds what votes and records were taken since the last
	// time, if any were. It must not wait.
	Taken  func(Taken)
	Server Server           // how others reach this node
	Limits Limits           // what peers may cost
	Now    func() time.Time // nil: the clock
	// Notice, if not nil, is told why a peer was left, and what else an operator may want
	// to know. Any goroutine may call it.
	Notice func(error)
	// Refused, if not nil, is told of connections that end because handshakes do not agree. Any
	// goroutine may call it.
	Refused func(Refusal)
}

// Server says how connections are made. All addresses are of the form host:port.
type Server struct {
	Key  *ecdsa.PrivateKey // of this node
	Name string            // as others see it; go-opera wants "opera" in it
	// Listen is for connections, and for discovery too if Discovery is "". "" listens to nobody.
	Listen, Discovery string
	NoDial            bool
	DiscoveryV4       bool
	DiscoveryV5       bool
	Bootstrap         []*enode.Node // who knows others
	BootstrapV5       []*enode.Node
	Static            []*enode.Node // always connected
	Trusted           []*enode.Node // connected beyond MaxPeers
	Restrict          *netutil.Netlist
	NAT               nat.Interface
	Database          string // folder of the nodes that discovery found; "" is memory
	MaxPeers          int    // 50
	MaxPending        int    // connections whose handshake goes on; 50
	DialRatio         int    // of dialled connections to all; 3
}

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
