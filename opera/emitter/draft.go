package emitter

import (
	"errors"
	"time"

	"tarn/opera/chain"
	"tarn/opera/dag"
	"tarn/opera/inter"
)

// draft makes an event that lacks the signature, nil if it is not time (go-opera,
// gossip/emitter: createEvent).
func (em *Emitter) draft(c *chain.Chain, now time.Time) (*inter.Payload, error) {
	if em.index < 0 || now.Sub(em.emittedAt) < em.least || em.silent(now) {
		return nil, nil
	}
	if err := em.mayEmit(now); err != nil {
		em.notice(now, "%w: %w", ErrPaused, err)
		return nil, nil
	}
	if c.Forked(em.o.Validator) {
		em.notice(now, "events are not allowed: validator %d has signed twice in this epoch", em.o.Validator)
		return nil, nil
	}
	last := c.LastEvents()[em.o.Validator]
	if err := em.isJournalled(last); err != nil {
		return nil, err
	}
	p, self := em.begin(c, last, now)
	seen, err := c.Propose(p)
	if errors.Is(err, chain.ErrNotEnoughGasPower) {
		em.notice(now, "validator %d: %w; is its stake too small?", em.o.Validator, err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	worth := em.worth(c, seen, p)
	if !em.isTime(p, self, worth, true) {
		return nil, nil
	}
	if em.offered != nil {
		if err := em.load(c, p, em.offered.clone(), now); err != nil {
			return nil, err
		}
	}
	if len(p.Txs) == 0 && !em.isTime(p, self, worth, false) {
		return nil, nil
	}
	return p, p.Seal()
}

// silent tells whether no event is worth making, whatever would be in it: there is nothing
// to confirm, nothing to originate, and the last one is young. Most of the time of an idle
// network goes by like that.
func (em *Emitter) silent(now time.Time) bool {
	return em.idle() && (em.offered == nil || em.offered.Len() == 0) && now.Sub(em.emittedAt) < em.o.Intervals.Max &&
		!em.missed(unit)
}

// begin is an event with what its creator decides. last is zero for the first of an epoch.
func (em *Emitter) begin(c *chain.Chain, last inter.EventID, now time.Time) (*inter.Payload, *inter.Event) {
	p := &inter.Payload{Event: inter.Event{
		Epoch: em.epoch.Epoch, Creator: em.o.Validator, Seq: 1, CreationTime: inter.Timestamp(now.UnixNano()),
		Parents: em.parents(c, last),
	}}
	self := c.Header(last)
	if self != nil {
		p.Seq, p.CreationTime = self.Seq+1, max(p.CreationTime, self.CreationTime+1)
	}
	for _, id := range p.Parents {
		p.Lamport = max(p.Lamport, id.Lamport())
	}
	p.Lamport++
	if em.epoch.Rules.Upgrades.Llr {
		p.Version = 1
		p.EpochVote, p.BlockVotes = em.votes.vote, em.votes.blocks
	}
	if extra := "v-" + em.o.Version; p.Seq == 1 && em.o.Version != "" &&
		len(extra) <= int(em.epoch.Rules.Dag.MaxExtraData) {
		p.Extra = []byte(extra)
	}
	return p, self
}

// worth is how much an event brings consensus forward, in millionths.
func (em *Emitter) worth(c *chain.Chain, seen dag.Sight, p *inter.Payload) uint64 {
	crowd := crowdCurve().At(uint64(em.epoch.Validators.Len())) * em.busy.share / unit
	if em.roots != nil {
		return kick(em.roots.worth(c)*(unit-crowd)/unit, p.Seq)
	}
	return kick(worthCurve().At(em.progress.worth(seen)), p.Seq) * (unit - crowd) / unit
}
