package emitter

import (
	"errors"
	"fmt"
	"time"

	"tarn/opera/chain"
	"tarn/opera/inter"
)

// Why no events are made for now, in go-opera's words (lachesis-base,
// emitter/doublesign).
var (
	ErrNoConnections       = errors.New("no connections")
	ErrSyncOngoing         = errors.New("P2P synchronization isn't finished")
	ErrSelfEventsOngoing   = errors.New("not downloaded all the self-events")
	ErrJustBecameValidator = errors.New("just joined the validators group")
	ErrJustConnected       = errors.New("recently connected")
	ErrJustSynced          = errors.New("waiting additional time")
)

// ErrPaused is wrapped by what is noticed while no events are made for one of these reasons.
var ErrPaused = errors.New("emitting is paused")

// ErrLocked is wrapped by the error after which this validator must not make an event on
// this node before an operator has looked: another instance of it seems to run, or the
// ledger lacks own events. A node ends with it, and leaves it in its errlock file.
var ErrLocked = errors.New("the validator may sign twice")

// calm is what the protection against signing twice knows.
type calm struct {
	started   time.Time
	connected time.Time // since then there is a peer
	synced    time.Time // since then nothing lacked that the journal has, and no later epoch was waited for
	joined    time.Time // when this node saw the validator become one, zero if it did not

	made    inter.EventID          // the last event that was made here
	again   map[inter.EventID]bool // those that were made here before the start, and connected after it
	created time.Time              // of the last own event from elsewhere
	found   time.Time              // when that one came
}

// observe notes how the network is.
func (em *Emitter) observe(now time.Time) {
	if em.o.Network.PeerCount() == 0 {
		em.calm.connected = now
	}
	if em.recovering || em.o.Network.Overtakes() {
		em.calm.synced = now
	}
}

// foreign notes an own event that was not made here since the start, and came after it.
func (em *Emitter) foreign(a chain.Arrival, now time.Time) error {
	created := time.Unix(0, int64(a.Event.CreationTime))
	em.calm.found, em.calm.created = now, created
	if !created.Before(em.calm.started) && now.Sub(created) < em.o.Intervals.ParallelInstance {
		return fmt.Errorf(
			"%w: event %v of validator %d was made %v ago, and not by this node; make sure that no other instance of "+
				"the validator runs",
			ErrLocked, a.ID, em.o.Validator, now.Sub(created).Round(time.Millisecond))
	}
	return nil
}

// mayEmit tells why no event may be made yet, nil if one may (lachesis-base,
// emitter/doublesign: SyncedToEmit). What the journal has, and a later epoch, are waited for
// even where the protection is switched off.
func (em *Emitter) mayEmit(now time.Time) error {
	if em.recovering {
		return fmt.Errorf("%w: event %v lacks, which %s has for the last own one",
			ErrSyncOngoing, em.journal.id(), em.journal.path)
	}
	if em.o.Network.Overtakes() {
		return fmt.Errorf("%w: the state of a later epoch is waited for", ErrSyncOngoing)
	}
	need := em.o.Intervals.DoubleSign
	switch {
	case need == 0:
		return nil
	case em.o.Network.PeerCount() == 0:
		return ErrNoConnections
	}
	var longest time.Duration
	var reason error
	for _, since := range []struct {
		at  time.Time
		err error
	}{
		{em.calm.found, ErrSelfEventsOngoing}, {em.calm.created, ErrSelfEventsOngoing},
		{em.calm.joined, ErrJustBecameValidator},
		{em.calm.connected, ErrJustConnected}, {em.calm.synced, ErrJustSynced},
	} {
		if wait := need - now.Sub(since.at); wait > longest {
			longest, reason = wait, since.err
		}
	}
	if reason != nil {
		return fmt.Errorf("%w: %v more", reason, longest.Round(time.Millisecond))
	}
	return nil
}

// recover connects the own events that the journal has and the ledger lacks, as after a
// crash. The last one may never have been sent; nobody can know. What is left to peers is
// waited for.
func (em *Emitter) recover(c *chain.Chain) error {
	if !em.recovering || em.tried > 0 && em.tried == c.NextEvent() {
		return nil
	}
	j := em.journal
	defer func() { em.tried = c.NextEvent() }()
	for ; len(j.kept) > 0; j.kept = j.kept[1:] {
		raw, others, err := eventsOf(j.kept[0])
		if err != nil {
			return fmt.Errorf("%w: read %s: %w", ErrLocked, j.path, err)
		}
		if err := em.restore(c, others); err != nil {
			return err
		}
		if there, err := em.reconnect(c, idOf(j.kept[0]), raw); err != nil || !there {
			return err
		}
	}
	em.recovering = false
	return nil
}

// restore connects the events of others that the journal has and the ledger lacks. One that cannot
// be connected is none that the next own event follows from, or that one will be waited for.
func (em *Emitter) restore(c *chain.Chain, others [][]byte) error {
	for _, raw := range others {
		p, err := c.Verifier().Decode(raw)
		if err == nil && (p.Epoch != c.Epoch().Epoch || c.Header(p.ID()) != nil) {
			continue
		}
		if err == nil {
			err = c.Verifier().Verify(p)
		}
		if err == nil {
			err = c.Connect(p, nil)
		}
		if c.Failed() != nil {
			return fmt.Errorf("connect event %v, which %s has: %w", p.ID(), em.journal.path, err)
		}
		if err != nil {
			em.notice(em.o.Now(), "an event of others in %s cannot be connected again: %w", em.journal.path, err)
		}
	}
	return nil
}

// reconnect tells whether the ledger has an own event of the journal, or it is of an epoch that
// is over. It connects it if it can.
func (em *Emitter) reconnect(c *chain.Chain, id inter.EventID, raw []byte) (bool, error) {
	if id.Epoch() < c.Epoch().Epoch || c.Header(id) != nil {
		return true, nil
	}
	if raw == nil || id.Epoch() > c.Epoch().Epoch {
		return false, nil
	}
	p, err := c.Verifier().Decode(raw)
	if err == nil && p.ID() != id {
		err = fmt.Errorf("it is event %v", p.ID())
	}
	if err == nil && p.Creator != em.o.Validator {
		err = fmt.Errorf("it is of validator %d", p.Creator)
	}
	if err == nil {
		err = c.Verifier().Verify(p)
	}
	if err != nil {
		return false, fmt.Errorf("%w: own event %v in %s: %w", ErrLocked, id, em.journal.path, err)
	}
	self, _ := p.SelfParent()
	switch last := c.LastEvents()[p.Creator]; {
	case last == self:
	case last.Lamport() < self.Lamport():
		return false, nil
	default:
		return false, fmt.Errorf("%w: the ledger's last event of validator %d is %v, and %v in %s does not follow it",
			ErrLocked, em.o.Validator, last, id, em.journal.path)
	}
	switch err := c.Connect(p, nil); {
	case c.Failed() != nil:
		return false, fmt.Errorf("connect own event %v of %s: %w", id, em.journal.path, err)
	case errors.Is(err, chain.ErrParents):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("%w: own event %v in %s: %w", ErrLocked, id, em.journal.path, err)
	}
	em.calm.again[id], em.unsent = true, append(em.unsent, p)
	return true, nil
}

// isJournalled checks that the ledger's last own event is the one that was made last, as
// go-opera does.
func (em *Emitter) isJournalled(self inter.EventID) error {
	last := em.journal.id()
	if last.Epoch() < em.epoch.Epoch || self == last {
		return nil
	}
	return fmt.Errorf(
		"%w: the ledger is damaged, or another instance runs: its last event of validator %d is %v, not %v, which %s has",
		ErrLocked, em.o.Validator, self, last, em.journal.path)
}
