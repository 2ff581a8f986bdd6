package chaintest

import (
	"errors"
	"slices"

	"tarn/antelope/crypto"
	"tarn/antelope/feature"
	"tarn/antelope/finality"
	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// finalizers are the peers as finalizers: each has a key, remembers what it voted for, and votes for
// its head after each block. Votes reach the peers of its group.
type finalizers struct {
	keys  []*crypto.BLSPrivateKey
	known []finality.Safety
	begun []bool                 // it has something to remember
	voted []types.BlockTimestamp // time of the last block that it was asked to vote for
	cast  []finality.Vote        // all votes, in their order
}

// FinalizerKey is the key of a finalizer that everybody may know.
func FinalizerKey(number int) *crypto.BLSPrivateKey {
	var seed [32]byte
	copy(seed[:], "the keys of finalizers for testing")
	seed[31] = byte(number)
	return crypto.NewBLSPrivateKey(seed)
}

// Finalise makes the peers finalizers, and lets their chain go over to Savanna's rules: the features
// that it needs are activated, and finalizers are proposed, at once and then again and again.
func (p *Peers) Finalise() error {
	f := &finalizers{
		known: make([]finality.Safety, len(p.makers)), begun: make([]bool, len(p.makers)),
		voted: make([]types.BlockTimestamp, len(p.makers)),
	}
	for i := range p.makers {
		f.keys = append(f.keys, FinalizerKey(i))
	}
	if err := p.activateAll(); err != nil {
		return err
	}
	p.finality = f
	return nil
}

// Votes are all that the peers have cast so far, in their order.
func (p *Peers) Votes() []finality.Vote { return p.finality.cast }

// activateAll activates all features, one after the other.
func (p *Peers) activateAll() error {
	eosio := types.N("eosio")
	for range 2000 {
		head := p.makers[0].Chain.Head()
		active := func(c feature.Codename) bool { return head.IsActive(p.set, c) }
		if active(feature.Savanna) {
			p.pool = nil // or what sets other code would come after what sets this
			return p.add(SetCode(eosio, FinalityCode()))
		}
		if active(feature.PreactivateFeature) {
			if err := p.add(SetCode(eosio, SystemCode("preactivate"))); err != nil {
				return err
			}
		}
		for _, c := range feature.Codenames() {
			if d, ok := p.set.Digest(c); ok && !active(c) && c != feature.PreactivateFeature {
				if err := p.add(Action(eosio, types.N("preactivate"), eosio, d[:])); err != nil {
					return err
				}
			}
		}
		if err := p.step(); err != nil {
			return err
		}
	}
	return errors.New("not all features become active")
}

// add adds a transaction to the pool.
func (p *Peers) add(a types.Action) error {
	t, err := p.makers[0].Sign(a)
	if err == nil {
		p.pool = append(p.pool, t)
	}
	return err
}

// action is a proposal of finalizers, or now and then of producers.
func (f *finalizers) action(p *Peers, m *Maker) (a types.Action, ok bool) {
	eosio := types.N("eosio")
	proposed := m.Chain.Head().Finality != nil
	switch {
	case !proposed && p.random.IntN(2) == 0: // that it was set may have been on a branch that lost
		return SetCode(eosio, FinalityCode()), true
	case !proposed, p.random.IntN(25) == 0:
		return Action(eosio, types.N("finalize"), eosio, f.policy(p)), true
	case p.random.IntN(25) == 0:
		return Action(eosio, types.N("setprods"), eosio, f.schedule(p, m)), true
	}
	return a, false
}

// policy is a random choice of the peers, with random weights, as set_finalizers takes it. Three
// quarters of the peers are a quorum at most.
func (f *finalizers) policy(p *Peers) []byte {
	var list []byte
	var sum uint64
	count := 0
	for i := range f.keys {
		if count > 0 && p.random.IntN(5) == 0 {
			continue
		}
		weight := 1 + p.random.Uint64N(2)
		sum += weight
		count++
		key := f.keys[i].Public()
		list = serial.AppendBytes(serial.AppendUint64(serial.AppendString(list, string(rune('a'+i))), weight), key[:])
	}
	threshold := sum/2 + 1
	return append(serial.AppendCount(serial.AppendUint64(nil, threshold), count), list...)
}

// schedule is some of the peers as producers, all but one at least.
func (f *finalizers) schedule(p *Peers, m *Maker) []byte {
	out := p.random.IntN(len(p.names) + 1)
	var list []byte
	count := 0
	for i, n := range p.names {
		if i != out {
			list = types.LegacyProducerKey{Producer: n, Key: m.Key.Public()}.Append(list)
			count++
		}
	}
	return append(serial.AppendCount(nil, count), list...)
}

// vote lets each peer vote for its head, once.
func (p *Peers) vote() error {
	if p.finality == nil {
		return nil
	}
	// Finalizers that begin on two branches lock themselves on these, and none of them has a quorum for ever, in
	// Spring too. So they begin together.
	if slices.Contains(p.finality.begun, false) &&
		slices.ContainsFunc(p.makers, func(m *Maker) bool { return m.Chain.Head().PrecedesProper() }) {
		clear(p.group)
		if err := p.meet(); err != nil {
			return err
		}
	}
	for i := range p.makers {
		if err := p.finality.vote(p, i); err != nil {
			return err
		}
	}
	return nil
}

func (f *finalizers) vote(p *Peers, i int) error {
	head := p.makers[i].Chain.Head()
	s := head.Finality
	if !head.PrecedesProper() {
		return nil
	}
	if !f.begun[i] { // it begins with the last block before the proper ones (Spring: transition_to_savanna)
		ref := finality.Remember(s.Ref())
		f.known[i], f.begun[i] = finality.Safety{Last: ref, Lock: ref}, true
	}
	if !s.IsProper() || s.Time() <= f.voted[i] {
		return nil
	}
	f.voted[i] = s.Time()
	decision, next := f.known[i].Decide(s)
	if f.known[i] = next; decision == finality.NoVote || p.random.IntN(10) == 0 { // a vote may be lost
		return nil
	}
	digest := s.Digest()
	message := digest[:]
	if decision == finality.WeakVote {
		message = finality.WeakMessage(digest)
	}
	signature, err := f.keys[i].Sign(message)
	if err != nil {
		return err
	}
	x := finality.Vote{Block: s.ID, Strong: decision == finality.StrongVote, Key: f.keys[i].Public(), Signature: signature}
	f.cast = append(f.cast, x)
	for k := range p.makers {
		if p.group[k] == p.group[i] {
			p.Chain(k).Vote(&x)
		}
	}
	return nil
}
