package p2p

import (
	"context"
	"sync/atomic"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"tarn/opera/chain"
	"tarn/opera/eventcheck"
	"tarn/opera/inter"
)

// Present is where a ledger is.
type Present struct {
	Epoch inter.Epoch
	Began inter.Timestamp // the epoch
	Last  inter.BlockInfo
}

// Ledger is what events are connected to, and read from. Any goroutine may call it.
type Ledger interface {
	// Network names the chain, and never changes.
	Network() chain.Network
	// Present returns the epoch and the last block of the state that was published last.
	Present() (Present, error)
	// HasEvent tells whether an event is connected.
	HasEvent(id inter.EventID) (bool, error)
	// Forked tells whether two events of a validator with one number are connected in the present
	// epoch.
	Forked(id inter.ValidatorID) bool
	// Event returns an event as it travels, nil if there is none.
	Event(id inter.EventID) ([]byte, error)
	// Events calls each for the events from an id on, in the order of ids, until it
	// returns false.
	Events(from inter.EventID, each func(id inter.EventID, raw []byte) bool) error
	// Verify checks an event of the present epoch by itself: what the epoch allows, then
	// signatures.
	Verify(p *inter.Payload) error
	// Connect connects events one after the other, parents first, and tells of each what
	// came of it. Its own error is the ledger's, which can go on no more, and no event's.
	// It returns the epoch after the last one.
	// accepted is called of each event that can be read now, before the blocks that it decides
	// are made; it must not wait. done is called once they are made, or it was refused.
	Connect(ctx context.Context, events []*inter.Payload, accepted func(i int), done func(i int, err error)) (
		inter.Epoch, error)
}

// Pool is the transactions that wait. Any goroutine may call it.
type Pool interface {
	// Sample returns the hashes of some that wait, as many as are asked for or all.
	Sample(most int) []common.Hash
	// Missing returns those of the hashes that it does not have.
	Missing(hashes []common.Hash) []common.Hash
	// Get returns one, nil if it does not have it.
	Get(hash common.Hash) *types.Transaction
	// AddRemotes takes those of peers that are right.
	AddRemotes(txs []*types.Transaction) []error
}

// Writer reaches the goroutine that owns a chain.
type Writer interface {
	// Do runs work on that goroutine, and returns its error. It waits for its turn until ctx
	// ends, and then for work itself. work must not call Do.
	Do(ctx context.Context, work func(*chain.Chain) error) error
	// Paused tells why no event may be connected now, nil if one may. It is asked before each event: the one before
	// can bring it about (go-opera, gossip: processEvent).
	Paused() error
}

// NewLedger returns the ledger of a chain, whose writer is reached through w.
func NewLedger(c *chain.Chain, w Writer) Ledger { return &chained{Chain: c, writer: w} }

type chained struct {
	*chain.Chain
	writer Writer
	rules  atomic.Pointer[rules]
}

// rules are what an epoch allows.
type rules struct {
	epoch  *inter.EpochState
	checks *eventcheck.Epoch
}

// enter notes the present epoch.
func (l *chained) enter(e *inter.EpochState) {
	if known := l.rules.Load(); known == nil || known.epoch != e {
		l.rules.Store(&rules{e, eventcheck.NewEpoch(e)})
	}
}

func (l *chained) Present() (Present, error) {
	v, err := l.View()
	if err != nil {
		return Present{}, err
	}
	l.enter(v.Epoch())
	return Present{Epoch: v.Epoch().Epoch, Began: v.Epoch().EpochStart, Last: v.Head()}, v.Close()
}

func (l *chained) Verify(p *inter.Payload) error {
	r := l.rules.Load()
	if r == nil {
		return eventcheck.ErrNotRelevant
	}
	if err := r.checks.Check(p); err != nil {
		return err
	}
	return l.Verifier().Verify(p)
}

func (l *chained) Connect(
	ctx context.Context, events []*inter.Payload, accepted func(i int), done func(i int, err error),
) (epoch inter.Epoch, err error) {
	err = l.writer.Do(ctx, func(c *chain.Chain) error {
		for i, p := range events {
			if err := l.writer.Paused(); err != nil {
				return err
			}
			err := c.Connect(p, func() { accepted(i) })
			if failed := c.Failed(); failed != nil {
				return failed
			}
			done(i, err)
		}
		epoch = c.Epoch().Epoch
		l.enter(c.Epoch())
		return nil
	})
	return epoch, err
}
