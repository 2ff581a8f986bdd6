package chaintest

import (
	"errors"
	"fmt"
	"slices"

	"tarn/antelope/consensus"
	"tarn/antelope/crypto"
	"tarn/antelope/feature"
	"tarn/antelope/finality"
	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// finalizer has a key, and remembers what it voted for.
type finalizer struct {
	key   *crypto.BLSPrivateKey
	known finality.Safety
	begun bool                 // it has something to remember
	asked types.BlockTimestamp // time of the last block that it was asked to vote for
}

// vote is what the finalizer votes for a chain's head; nil for nothing, as for a block that it was asked
// about before.
func (f *finalizer) vote(head *consensus.BlockState) (*finality.Vote, error) {
	s := head.Finality
	if !head.PrecedesProper() {
		return nil, nil
	}
	if !f.begun { // it begins with the last block before the proper ones (Spring: transition_to_savanna)
		ref := finality.Remember(s.Ref())
		f.known, f.begun = finality.Safety{Last: ref, Lock: ref}, true
	}
	if !s.IsProper() || s.Time() <= f.asked {
		return nil, nil
	}
	f.asked = s.Time()
	decision, next := f.known.Decide(s)
	if f.known = next; decision == finality.NoVote {
		return nil, nil
	}
	digest := s.Digest()
	message := digest[:]
	if decision == finality.WeakVote {
		message = finality.WeakMessage(digest)
	}
	signature, err := f.key.Sign(message)
	if err != nil {
		return nil, err
	}
	return &finality.Vote{Block: s.ID, Strong: decision == finality.StrongVote, Key: f.key.Public(),
		Signature: signature}, nil
}

// finalizers are the peers as finalizers: each votes for its head after each block. Votes reach the peers
// of its group.
type finalizers struct {
	all  []*finalizer
	cast []finality.Vote // all votes, in their order
}

// FinalizerKey is the key of a finalizer that everybody may know.
func FinalizerKey(number int) *crypto.BLSPrivateKey {
	var seed [32]byte
	copy(seed[:], "the keys of finalizers for testing")
	seed[31] = byte(number)
	return crypto.NewBLSPrivateKey(seed)
}

// transitionMost is how many blocks a chain of one producer may take to go over to Savanna's rules.
const transitionMost = 20

// Finalise lets the chain go over to Savanna's rules, with so many finalizers ([FinalizerKey]) of one vote
// each, more than two thirds of which are a quorum. From then on they vote for each block. All features are
// active then.
func (m *Maker) Finalise(count int) error {
	if err := m.activateAll(); err != nil {
		return fmt.Errorf("activate all features: %w", err)
	}
	eosio := types.N("eosio")
	policy := serial.AppendCount(serial.AppendUint64(nil, uint64(2*count/3+1)), count)
	for i := range count {
		f := types.Finalizer{Description: fmt.Sprint("finalizer", i), Weight: 1, Key: FinalizerKey(i).Public()}
		policy = f.Append(policy)
		m.finalizers = append(m.finalizers, &finalizer{key: FinalizerKey(i)})
	}
	if _, err := m.Block(SetCode(eosio, FinalityCode()),
		Action(eosio, types.N("finalize"), eosio, policy)); err != nil {
		return fmt.Errorf("propose finalizers: %w", err)
	}
	for range transitionMost {
		if m.Chain.Head().IsProper() {
			return nil
		}
		if _, err := m.Block(); err != nil {
			return err
		}
	}
	return fmt.Errorf("the chain does not go over to Savanna's rules within %d blocks", transitionMost)
}

// activateAll activates all features, in two blocks.
func (m *Maker) activateAll() error {
	set, err := feature.Builtins()
	if err != nil {
		return err
	}
	eosio := types.N("eosio")
	first, _ := set.Digest(feature.PreactivateFeature)
	actions := []types.Action{SetCode(eosio, SystemCode("preactivate"))}
	for _, c := range feature.Codenames() { // each comes after those that it needs
		if d, ok := set.Digest(c); ok && d != first {
			actions = append(actions, Action(eosio, types.N("preactivate"), eosio, d[:]))
		}
	}
	if err := m.StartBlock(first); err != nil {
		return err
	}
	for _, a := range actions {
		if _, err := m.Push(a); err != nil {
			return err
		}
	}
	if _, err := m.EndBlock(); err != nil {
		return err
	}
	protocol, err := m.Chain.State().Protocol.Get()
	if err != nil {
		return err
	}
	if err := m.StartBlock(slices.Clone(protocol.Preactivated)...); err != nil {
		return err
	}
	_, err = m.EndBlock()
	return err
}

// Finalise makes the peers finalizers, and lets their chain go over to Savanna's rules: the features
// that it needs are activated, and finalizers are proposed, at once and then again and again.
func (p *Peers) Finalise() error {
	f := new(finalizers)
	for i := range p.makers {
		f.all = append(f.all, &finalizer{key: FinalizerKey(i)})
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
	for i, x := range f.all {
		if count > 0 && p.random.IntN(5) == 0 {
			continue
		}
		weight := 1 + p.random.Uint64N(2)
		sum += weight
		count++
		key := x.key.Public()
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
	if slices.ContainsFunc(p.finality.all, func(f *finalizer) bool { return !f.begun }) &&
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
	x, err := f.all[i].vote(p.makers[i].Chain.Head())
	if x == nil || err != nil || p.random.IntN(10) == 0 { // a vote may be lost
		return err
	}
	f.cast = append(f.cast, *x)
	for k := range p.makers {
		if p.group[k] == p.group[i] {
			p.Chain(k).Vote(x)
		}
	}
	return nil
}
