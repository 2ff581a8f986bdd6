package emitter

import (
	"context"
	"errors"
	"fmt"

	"tarn/opera/chain"
	"tarn/opera/eventcheck"
	"tarn/opera/inter"
)

// publish signs an event, and makes it part of the journal, of the ledger, then of the
// network. It returns nil for an event that was overtaken or refused, of which nobody knows.
func (em *Emitter) publish(ctx context.Context, p *inter.Payload) (*inter.Payload, error) {
	raw, err := em.sign(p)
	if err != nil {
		em.refused(err)
		return nil, nil
	}
	// As a stranger would: what is connected and sent is what was read back.
	if p, err = em.o.Chain.Verifier().Decode(raw); err == nil {
		err = em.o.Chain.Verifier().Verify(p)
	}
	switch {
	case errors.Is(err, eventcheck.ErrNotRelevant): // the epoch ended meanwhile
		return nil, nil
	case err != nil:
		em.refused(fmt.Errorf("is the key that of validator %d? %w", em.o.Validator, err))
		return nil, nil
	}
	others, secured, err := em.secure(p)
	if err == nil {
		err = em.journal.write(p.ID(), raw, others)
	}
	if err != nil {
		return nil, err
	}
	connected, broken := false, false
	err = em.o.Writer.Do(ctx, func(c *chain.Chain) (err error) {
		connected, err = em.connect(c, p)
		broken = c.Failed() != nil
		return err
	})
	switch {
	case connected:
		em.secured = secured
		em.o.Network.Broadcast(p)
		return p, nil
	case broken: // whether the ledger has it, its next start will see
		return nil, err
	}
	return nil, errors.Join(err, em.journal.withdraw())
}

// sign completes an event, and returns it as it travels.
func (em *Emitter) sign(p *inter.Payload) (raw []byte, err error) {
	if p.Signature, err = em.o.Signer.Sign(p.SigningHash()); err != nil {
		return nil, err
	}
	return p.Encode()
}

// connect connects an own event, if it still follows the last one.
func (em *Emitter) connect(c *chain.Chain, p *inter.Payload) (bool, error) {
	self, _ := p.SelfParent()
	if c.Epoch() != em.epoch || c.LastEvents()[em.o.Validator] != self {
		return false, nil
	}
	made := em.calm.made
	em.calm.made = p.ID()
	err := c.Connect(p)
	if err == nil {
		em.emittedAt, em.emittedHead = em.o.Now(), c.Head().Number
		return true, nil
	}
	em.calm.made = made
	if c.Failed() == nil {
		em.refused(err)
		err = nil
	}
	return false, err
}

// refused tells of an own event that is wrong, and waits before the next one, which goes
// without votes: no record that cannot be voted for may silence a validator.
func (em *Emitter) refused(err error) {
	em.votes.blocks, em.votes.vote = inter.BlockVotes{}, inter.EpochVote{}
	em.emittedAt = em.o.Now()
	em.notice(em.emittedAt, "an own event of validator %d is wrong, nobody gets it: %w", em.o.Validator, err)
}

// secure sees to it that what an own event follows from will be durable before the event: in the
// journal, beside the event, as long as that is little, else in the log, which it syncs. Others lose
// their power too, perhaps for ever: a start that cannot connect the journal's event again would
// wait for them. It returns the events of others for the journal, and the number of the log's event up
// to which nothing is left to be done then.
func (em *Emitter) secure(p *inter.Payload) (others [][]byte, secured uint64, err error) {
	_, self := p.SelfParent()
	if self && len(p.Parents) == 1 { // it follows from nothing but what the journal has
		return nil, em.secured, nil
	}
	secured = em.o.Chain.NextEvent()
	if self && em.secured > 0 { // else the ledger may be back in the epoch before, or nothing is known yet
		others, few, err := em.unsecured(secured)
		if few || err != nil {
			return others, secured, err
		}
	}
	if err := em.o.Chain.SyncEvents(); err != nil {
		return nil, 0, fmt.Errorf("make durable what the own event %v follows from: %w", p.ID(), err)
	}
	return nil, secured, nil
}

// unsecured returns the events of others up to a number that neither the log nor the journal has
// durably, and whether they are few enough for a record of the journal.
func (em *Emitter) unsecured(before uint64) (others [][]byte, few bool, err error) {
	own, left := em.journal.id(), mostOthers
	for number := em.secured; number < before; number++ {
		id, raw, err := em.o.Chain.EventAt(number)
		if err != nil {
			return nil, false, fmt.Errorf("read what the next own event follows from: %w", err)
		}
		if id == own {
			continue
		}
		if left -= 4 + len(raw); left < 0 {
			return nil, false, nil
		}
		others = append(others, raw)
	}
	return others, true, nil
}
