package emitter

import (
	"context"
	"errors"
	"fmt"

	"tarn/opera/chain"
	"tarn/opera/eventcheck"
	"tarn/opera/inter"
)

// publish signs an event, and makes it part of the journal, of the ledger, and, as soon as
// that has taken it, of the network. It returns nil for an event that was overtaken or refused, of which nobody knows.
func (em *Emitter) publish(ctx context.Context, p *inter.Payload) (*inter.Payload, error) {
	raw, err := em.sign(p)
	if err != nil {
		em.handleRefusal(err)
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
		em.handleRefusal(fmt.Errorf("is the key that of validator %d? %w", em.o.Validator, err))
		return nil, nil
	}
	others, reached, err := em.secure(p)
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
		em.secured = reached
		em.o.Network.Connected(p.ID())
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
	// The journal has it, so nobody need wait for the blocks that it decides.
	err := c.Connect(p, func() { em.o.Network.Broadcast(p) })
	if err == nil {
		em.emittedAt, em.emittedHead = em.o.Now(), c.Head().Number
		return true, nil
	}
	em.calm.made = made
	if c.Failed() == nil {
		em.handleRefusal(err)
		err = nil
	}
	return false, err
}

// handleRefusal tells of an own event that is wrong, and waits before the next one, which goes
// without votes: no record that cannot be voted for may silence a validator.
func (em *Emitter) handleRefusal(err error) {
	em.votes.blocks, em.votes.vote = inter.BlockVotes{}, inter.EpochVote{}
	em.emittedAt = em.o.Now()
	em.notice(em.emittedAt, "an own event of validator %d is wrong, nobody gets it: %w", em.o.Validator, err)
}
