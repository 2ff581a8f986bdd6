// Package emitter is what a validator says: it decides when to make an event, with which
// parents, transactions and votes, signs it, and sees to it that nothing is signed twice.
//
// It owns the time between events, the choice, and the journal of the last own events. The
// ledger judges: what an event claims is computed by opera/chain, and the event passes the
// checks that a stranger's does. It opens no connection and keeps no transactions.
//
// # Order
//
// An event is drafted on the writer's goroutine and signed outside. Then it goes, durable, into
// the journal, with the events of others that it follows from and that are not durable yet; where
// these are many, the ledger makes them durable instead, before. Then the writer connects it, if
// nothing has come in between, and sends it before it makes the blocks that it decides. The
// journal keeps events until the ledger has made them durable. So after any crash whatever anybody can have seen of this validator is in the
// one or the other: the journal's events are connected again, without the help of others, before
// another one is made. An event that was not connected after all leaves the journal again.
//
// # Invariants
//
//  1. Nobody sees an event, the ledger's own readers included, before the journal has it, and
//     the journal has it only where it or the ledger has durably what the event follows from.
//  2. An event is made only if the ledger's last event of the validator is the journal's, or
//     the journal's is of an epoch that is over.
//  3. An own event from elsewhere, younger than the start and than the parallel instance's
//     protection, ends all.
//
// Frames and rules are the ledger's. What is here is advice by which good validators live;
// other nodes cannot tell whether it was followed.
package emitter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"tarn/opera/chain"
	"tarn/opera/inter"
)

// Emitter makes the events of a validator. One goroutine calls its methods.
//
// It has many methods because each reason to speak or to stay silent is one, and all of them
// look at one view of the epoch.
type Emitter struct {
	o       Options
	journal *journal
	calm    calm
	failed  error
	noticed time.Time
	unsent  []*inter.Payload // connected again, to be sent
	// secured is the number of the log's event up to which all is durable, there or in the journal, 0
	// while that is not known.
	secured uint64
	// recovering: the ledger may lack events of the journal. They were tried when the log of events
	// had that many.
	recovering bool
	tried      uint64
	offered    *offers // what waits, nil if that is to be asked for

	offeredAt    time.Time
	offeredCount int

	// The rest changes on the writer's goroutine, while this one waits for it.
	epoch       *inter.EpochState
	index       int // of the validator, -1 if it is none
	begun       bool
	arrived     int // that many events of the epoch are known
	decided     inter.Frame
	head        inter.BlockNumber
	emittedHead inter.BlockNumber // when the last event was made
	emittedAt   time.Time
	idleAt      time.Time // when there was nothing to confirm
	waiting     []waiting
	senders     map[common.Address]int // transactions in events that wait
	pendingGas  uint64                 // of these events
	progress    *progress
	roots       *roots // in place of progress where the contract wishes that, else nil
	payloads    *payloads
	busy        busyness
	votes       voter

	least, confirming time.Duration
	waits             []time.Duration // by validator, before it confirms
	share             uint64          // of greater validators, in millionths
	offline           []bool
	deadlines         []time.Time
	challenged        time.Time
}

// New returns an emitter, which makes nothing until Tick or Run.
func New(o Options) (*Emitter, error) {
	o.fill()
	j, err := openJournal(o.FS, o.Journal, o.Chain.SyncEvents)
	if err != nil {
		return nil, err
	}
	if j.removed.Bytes > 0 && o.Notice != nil {
		o.Notice(fmt.Errorf("an event that was being written to the journal when the node ended is not whole: %v",
			j.removed))
	}
	now := o.Now()
	return &Emitter{
		o: o, journal: j, recovering: !j.id().IsZero(), index: -1,
		calm: calm{started: now, connected: now, synced: now, again: map[inter.EventID]bool{}},
	}, nil
}

// tick is how often Run looks whether it is time.
const tick = 11 * time.Millisecond

// Run makes events until the context ends, which is no error, or until one wraps ErrLocked
// or is the ledger's or the journal's.
func (em *Emitter) Run(ctx context.Context) error {
	if err := em.run(ctx); err != nil {
		return errors.Join(err, em.journal.shut())
	}
	return em.journal.close()
}

func (em *Emitter) run(ctx context.Context) error {
	timer := time.NewTicker(tick)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
			if _, err := em.Tick(ctx); err != nil {
				if ctx.Err() != nil {
					return nil
				}
				return err
			}
		}
	}
}

// Tick makes an event if it is time, and returns it, nil if it is not. After an error it
// returns that error for ever.
func (em *Emitter) Tick(ctx context.Context) (*inter.Payload, error) {
	if em.failed != nil {
		return nil, em.failed
	}
	p, err := em.emit(ctx, em.o.Now())
	if err != nil && ctx.Err() == nil {
		em.failed = err
	}
	return p, err
}

func (em *Emitter) emit(ctx context.Context, now time.Time) (*inter.Payload, error) {
	em.observe(now)
	if em.o.Paused != nil {
		if err := em.o.Paused(); err != nil {
			em.notice(now, "%w: %w", ErrPaused, err)
			return nil, nil
		}
	}
	if err := em.prepare(now); err != nil {
		return nil, err
	}
	var p *inter.Payload
	err := em.o.Writer.Do(ctx, func(c *chain.Chain) (err error) {
		if err = em.recover(c); err == nil {
			err = em.follow(c, now)
		}
		if err == nil {
			p, err = em.draft(c, now)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if again := em.unsent; len(again) > 0 {
		em.unsent = nil
		// Where an older program wrote the journal, parents may have come from others just now.
		if err := em.o.Chain.SyncEvents(); err != nil {
			return nil, fmt.Errorf("make the parents of own events durable: %w", err)
		}
		for _, p = range again {
			em.o.Network.Broadcast(p)
			em.o.Network.Connected(p.ID())
		}
		return p, nil
	}
	if p == nil {
		return nil, nil
	}
	return em.publish(ctx, p)
}

// prepare does what needs no writer.
func (em *Emitter) prepare(now time.Time) error {
	if em.index < 0 || now.Sub(em.emittedAt) < em.least {
		return nil
	}
	em.ask(now)
	return em.prepareVotes()
}

// ask asks what waits, if that has become old, or there is more or less of it.
func (em *Emitter) ask(now time.Time) {
	if em.o.Pool == nil {
		return
	}
	pending, _ := em.o.Pool.Stats()
	if em.offered != nil && pending == em.offeredCount && now.Sub(em.offeredAt) < em.o.TxsStale {
		return
	}
	em.offered = newOffers(em.o.Pool.Pending(), em.o.MaxTxsPerAddress, em.epoch.Rules.Economy.MinGasPrice)
	em.offeredAt, em.offeredCount = now, pending
}

// notice tells the operator something, seldom.
func (em *Emitter) notice(now time.Time, format string, values ...any) {
	const often = 7 * time.Second
	if em.o.Notice != nil && (em.noticed.IsZero() || now.Sub(em.noticed) >= often) {
		em.noticed = now
		em.o.Notice(fmt.Errorf(format, values...))
	}
}
