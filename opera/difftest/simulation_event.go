package difftest

import (
	"crypto/ecdsa"
	"fmt"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/opera/chain"
	"tarn/opera/eventcheck"
	"tarn/opera/inter"
)

func sign(hash [32]byte, key *ecdsa.PrivateKey, to *inter.Signature) error {
	sig, err := crypto.Sign(hash[:], key)
	if err != nil {
		return fmt.Errorf("sign %x: %w", hash, err)
	}
	*to = inter.Signature(sig[:64])
	return nil
}

// draft makes a member's next event, which is right but not signed, and its self-parent.
func (s *Simulation) draft(m *member) (p, self *inter.Payload, err error) {
	self = s.selfParent(m)
	p = &inter.Payload{Event: inter.Event{
		Epoch: s.epoch.Epoch, Creator: m.id, Seq: 1, CreationTime: s.clock,
	}}
	if s.epoch.Rules.Upgrades.Llr {
		p.Version = 1
	}
	if self != nil {
		p.Seq, p.Parents = self.Seq+1, []inter.EventID{self.ID()}
	}
	if s.IntN(5) == 0 { // clocks differ
		p.CreationTime -= inter.Timestamp(s.Uint64N(1e9))
	}
	if self != nil {
		p.CreationTime = max(p.CreationTime, self.CreationTime+1)
	}
	s.parents(m, p)
	if p.Lamport == 1 && s.IntN(3) > 0 || s.IntN(50) == 0 {
		hash := s.epoch.Hash()
		p.PrevEpochHash = &hash
	}
	if p.Seq == 1 || s.IntN(30) == 0 {
		p.Extra = make([]byte, s.IntN(int(s.epoch.Rules.Dag.MaxExtraData)+1))
	}
	if err := s.place(p, self); err != nil {
		return nil, nil, err
	}
	return p, self, s.load(m, p, self)
}

// place computes where in consensus an event is.
func (s *Simulation) place(p, self *inter.Payload) (err error) {
	p.Frame, p.MedianTime, err = s.graph.Build(consensus(p))
	if err != nil {
		return err
	}
	least := inter.Frame(1)
	if self != nil {
		least = self.Frame
	}
	if p.Frame > least && s.IntN(10) == 0 { // less may be claimed
		p.Frame = least + inter.Frame(s.IntN(int(p.Frame-least)))
	}
	return nil
}

// selfParent is the event that a member's next one follows, nil if it is to be the first.
// Who forks sometimes forgets the last ones.
func (s *Simulation) selfParent(m *member) *inter.Payload {
	if len(m.own) == 0 {
		return nil
	}
	if m.forks && s.IntN(3) == 0 {
		if n := s.IntN(len(m.own)+1) - 1; n >= 0 {
			return m.own[n]
		}
		return nil
	}
	return s.events[m.tips[s.IntN(len(m.tips))]]
}

// parents adds those of others, and the lamport time that follows.
func (s *Simulation) parents(m *member, p *inter.Payload) {
	most := int(s.epoch.Rules.Dag.MaxParents)
	for _, i := range s.Perm(len(s.members)) {
		o := s.members[i]
		for _, id := range m.heard[o.id] {
			if o != m && len(p.Parents) < most && s.IntN(6) > 0 {
				p.Parents = append(p.Parents, id)
			}
		}
	}
	for _, id := range p.Parents {
		p.Lamport = max(p.Lamport, id.Lamport())
	}
	p.Lamport++
}

// load gives an event what it carries, as far as its creator may.
func (s *Simulation) load(m *member, p, self *inter.Payload) error {
	power, err := s.power(p, self)
	if err != nil {
		return err
	}
	budget := min(power.Min(), s.epoch.Rules.Economy.Gas.MaxEventGas)
	if p.Version > 0 {
		if err := s.vote(m, p); err != nil {
			return err
		}
		if err := s.accuse(p); err != nil {
			return err
		}
	}
	p.GasPowerUsed = eventcheck.GasUsed(p, &s.epoch.Rules)
	if p.GasPowerUsed > budget {
		p.Proofs, p.EpochVote, p.BlockVotes = nil, inter.EpochVote{}, inter.BlockVotes{}
		p.GasPowerUsed = eventcheck.GasUsed(p, &s.epoch.Rules)
	}
	if p.GasPowerUsed > budget {
		return fmt.Errorf("validator %d has no gas for an event: %d", m.id, budget)
	}
	if err := s.transactions(p, budget-p.GasPowerUsed); err != nil {
		return err
	}
	p.GasPowerUsed = eventcheck.GasUsed(p, &s.epoch.Rules)
	p.GasPowerLeft = power.Sub(p.GasPowerUsed)
	return nil
}

func (s *Simulation) power(p, self *inter.Payload) (inter.GasPower, error) {
	var parent *inter.Event
	if self != nil {
		parent = &self.Event
	}
	return s.checks.GasPower(&p.Event, parent)
}

// transactions puts some into an event.
func (s *Simulation) transactions(p *inter.Payload, budget uint64) error {
	if s.IntN(3) > 0 {
		return nil
	}
	v, err := s.chain.View()
	if err != nil {
		return err
	}
	defer v.Close()
	deeds := s.Work.Start()
	if s.chain.Head().Number > 2 {
		deeds = nil
		for range 1 + s.IntN(7) {
			deeds = append(deeds, s.Work.Next())
		}
	}
	for _, d := range deeds {
		u := s.epoch.Rules.Upgrades
		if d.Type == types.DynamicFeeTxType && !u.London || d.Type == types.AccessListTxType && !u.Berlin && !u.London {
			d.Type = types.LegacyTxType
		}
		if d.Price.Cmp(s.epoch.Rules.Economy.MinGasPrice) < 0 {
			d.Price = s.epoch.Rules.Economy.MinGasPrice
		}
		if d.Gas > budget {
			continue
		}
		nonce, err := s.nonce(v, d.From)
		if err != nil {
			return err
		}
		tx, err := d.Sign(nonce)
		if err != nil {
			return err
		}
		s.Deeds.Add(d.Kind, tx)
		p.Txs = append(p.Txs, tx)
		budget -= d.Gas
		if s.IntN(25) == 0 && d.Gas <= budget { // again
			p.Txs = append(p.Txs, tx)
			budget -= d.Gas
		}
	}
	if e := s.anyEvent(); e != nil && s.IntN(20) == 0 && len(e.Txs) > 0 && e.Txs[0].Gas() <= budget {
		p.Txs = append(p.Txs, e.Txs[0]) // what another event has already
	}
	return nil
}

// anyEvent is one of somebody's last events.
func (s *Simulation) anyEvent() *inter.Payload {
	m := s.members[s.IntN(len(s.members))]
	if len(m.own) == 0 {
		return nil
	}
	return m.own[max(0, len(m.own)-1-s.IntN(3))]
}

// nonce is mostly an account's next one, counting what waits in events.
func (s *Simulation) nonce(v *chain.View, a *Account) (uint64, error) {
	account, err := v.Account(a.Address)
	if err != nil {
		return 0, err
	}
	now := account.Nonce
	o := s.senders[a.Address]
	if o == nil {
		o = &sender{}
		s.senders[a.Address] = o
	}
	const patience = 4 // blocks, then what waited is lost
	if head := v.Head().Number; o.next < now || head > o.at+patience {
		o.next, o.at = now, head
	}
	nonce := o.next
	switch s.IntN(40) {
	case 0:
		return nonce + 1, nil
	case 1:
		return max(nonce, 1) - 1, nil
	case 2:
		return nonce, nil // and another with the same one
	}
	o.next++
	return nonce, nil
}

// spoil publishes an event that breaks a rule. What it says is changed; it is signed all
// the same.
func (s *Simulation) spoil(m *member, right, self *inter.Payload) error {
	p := &inter.Payload{Event: right.Event, Txs: right.Txs, Proofs: right.Proofs, EpochVote: right.EpochVote,
		BlockVotes: right.BlockVotes}
	p.Parents = append([]inter.EventID(nil), right.Parents...)
	switch s.IntN(12) {
	case 0:
		p.GasPowerLeft.Gas[s.IntN(2)]++
	case 1:
		p.Frame += 101
	case 2:
		p.MedianTime++
	case 3:
		p.Lamport++
	case 4:
		p.Seq++
	case 5:
		p.PrevEpochHash = &[32]byte{1}
	case 6:
		p.Extra = make([]byte, s.epoch.Rules.Dag.MaxExtraData+1)
		p.GasPowerUsed = eventcheck.GasUsed(p, &s.epoch.Rules)
	case 7:
		p.GasPowerUsed++
	case 8:
		p.Version = 1 - p.Version
		p.Proofs, p.EpochVote, p.BlockVotes = nil, inter.EpochVote{}, inter.BlockVotes{}
	case 9:
		if len(p.Parents) == 0 {
			return nil
		}
		p.Parents = append(p.Parents, p.Parents[0])
	case 10:
		if self == nil {
			return nil
		}
		p.CreationTime = self.CreationTime
	case 11:
		p.Creator = 99
	}
	if p.Version == 0 && p.Epoch < 256 {
		return nil
	}
	p, err := s.publish(m, p)
	if err != nil {
		return err
	}
	if err = s.chain.Verifier().Verify(p); err == nil {
		err = s.chain.Connect(p, nil)
	}
	if err == nil {
		return fmt.Errorf("event %v is taken, though it is wrong", p.ID())
	}
	s.Spoiled[err.Error()]++
	return nil
}
