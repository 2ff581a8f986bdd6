package emitter

import (
	"context"
	"crypto/ecdsa"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/opera/chain"
	"tarn/opera/inter"
	"tarn/store/vfs"
)

// Writer reaches the goroutine that owns a chain.
type Writer interface {
	// Do runs work on that goroutine, and returns its error. It waits for its turn until ctx
	// ends, and then for work itself. work must not call Do.
	Do(ctx context.Context, work func(*chain.Chain) error) error
}

// Pool is the transactions that wait. Any goroutine may call it. When one came is its
// Time.
type Pool interface {
	// Pending returns those that can be executed, by sender, in the order of their nonces.
	// The map and its slices are the caller's.
	Pending() map[common.Address]types.Transactions
	// Get returns a transaction that waits, nil if it does not any more.
	Get(hash common.Hash) *types.Transaction
	// Stats returns how many there are that can be executed, and that wait for others.
	Stats() (pending, queued int)
}

// Network is the other validators. Any goroutine may call it.
type Network interface {
	// PeerCount returns how many nodes can be told.
	PeerCount() int
	// Overtakes tells whether the node waits for the state of a later epoch, and takes no events
	// meanwhile: own ones among them, of which it does not know.
	Overtakes() bool
	// Broadcast tells everybody of an own event, which is durable and can be read from the ledger.
	// The writer calls it, before it makes the blocks that the event decides: it must not wait.
	Broadcast(p *inter.Payload)
	// Connected is called once the blocks are made.
	Connected(id inter.EventID)
}

// Votes is what is known of the votes for records. Only the writer calls it.
type Votes interface {
	// Undecided returns the lowest block and epoch that lack votes.
	Undecided() (inter.BlockNumber, inter.Epoch)
	// LastVotes returns the last block and epoch that a validator has voted for, 0 if for
	// none.
	LastVotes(id inter.ValidatorID) (inter.BlockNumber, inter.Epoch)
}

// Signer signs hashes with the validator's key. One goroutine calls it.
type Signer interface {
	// Sign signs the hash of an event with the validator's key, on secp256k1.
	Sign(hash [32]byte) (inter.Signature, error)
}

// Key is a [Signer] with a key in memory.
type Key struct{ Private *ecdsa.PrivateKey }

// Sign implements [Signer].
func (k Key) Sign(hash [32]byte) (sig inter.Signature, err error) {
	b, err := crypto.Sign(hash[:], k.Private)
	if err != nil {
		return sig, fmt.Errorf("sign an event: %w", err)
	}
	copy(sig[:], b)
	return sig, nil
}

// Intervals say how often events are made.
type Intervals struct {
	Min        time.Duration // at least between two
	Max        time.Duration // at most, while nothing is to be said
	Confirming time.Duration // when there is nothing to originate, but something to confirm
	// ParallelInstance is how young an own event from elsewhere may not be.
	ParallelInstance time.Duration
	// DoubleSign is how long everything must have been calm before the first event; 0
	// switches the protection off.
	DoubleSign time.Duration
}

// defaultIntervals are go-opera's of a public network.
func defaultIntervals() Intervals {
	return Intervals{
		Min: 150 * time.Millisecond, Max: 10 * time.Minute, Confirming: 170 * time.Millisecond,
		ParallelInstance: time.Minute, DoubleSign: 27 * time.Minute,
	}
}

// Thresholds are amounts of gas power that are left: below LimitedTPS fewer transactions
// are originated, below NoTxs none, below Emergency no event is made that makes it less.
type Thresholds struct{ LimitedTPS, NoTxs, Emergency uint64 }

// Options of an emitter.
type Options struct {
	Chain   *chain.Chain
	Writer  Writer
	Network Network
	Pool    Pool // nil: no transactions are originated
	// Votes, of the chain that is the writer's, say for what the next event votes; nil: for
	// nothing.
	Votes func(*chain.Chain) Votes

	Validator inter.ValidatorID
	Signer    Signer
	// Journal is the file of the last own event. Its folder is made.
	Journal string
	FS      vfs.FS // of the journal; vfs.OS by default

	Intervals        Intervals     // go-opera's of a public network if all are 0
	Thresholds       Thresholds    // go-opera's if all are 0
	MaxTxsPerAddress int           // that are taken of a sender at a time; 32
	TxsStale         time.Duration // what waits is asked for again after this; 200 ms
	MaxParents       int           // 0 is what the rules allow
	Version          string        // goes into the first event of an epoch; "" is none

	Now    func() time.Time // the clock by default
	Random *rand.Rand       // which parents, and how long exactly to wait; seeded by default
	// Paused, if not nil, returns why no event may be made for now, nil if one may.
	Paused func() error
	// Notice, if not nil, is told why events are not made, at most every few seconds.
	Notice func(error)
}

// eventGas is what an event costs on the main network, in which thresholds count.
const eventGas = 28_000

func (o *Options) fill() {
	if o.FS == nil {
		o.FS = vfs.OS
	}
	if o.Intervals == (Intervals{}) {
		o.Intervals = defaultIntervals()
	}
	if o.Thresholds == (Thresholds{}) {
		o.Thresholds = Thresholds{LimitedTPS: 120 * eventGas, NoTxs: 30 * eventGas, Emergency: 5 * eventGas}
	}
	if o.MaxTxsPerAddress == 0 {
		o.MaxTxsPerAddress = turnNonces
	}
	if o.TxsStale == 0 {
		o.TxsStale = 200 * time.Millisecond
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Random == nil {
		o.Random = rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	}
	// Two instances of a validator differ in their times, so that they find each other.
	if i := &o.Intervals; i.Max > 10 {
		i.Max += -i.Max/10 + time.Duration(o.Random.Int64N(int64(i.Max/10)))
	}
	if i := &o.Intervals; i.DoubleSign > 3 {
		i.DoubleSign += time.Duration(o.Random.Int64N(int64(i.DoubleSign / 3)))
	}
}
