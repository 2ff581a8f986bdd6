package difftest

import (
	"crypto/ecdsa"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/ethereum/go-ethereum/common"

	"tarn/opera/chain"
	"tarn/opera/dag"
	"tarn/opera/eventcheck"
	"tarn/opera/genesis/fakenet"
	"tarn/opera/inter"
)

// Simulation is a fakenet whose validators are all this program, in a time of its own: they
// fork, sleep, lose sight of each other, vote wrongly, prove and are proven to have cheated,
// and put into events what no pool lets through. What it makes are events, in the order of
// a file that go-opera imports; that a ledger of ours takes them as they are made only tells
// how far the network is. It is for one goroutine.
type Simulation struct {
	*rand.Rand
	Work *Work
	// Events are those that no rule forbids; Spoiled counts the others, by the rule's error.
	Events  int
	Spoiled map[string]int
	// Deeds are what was put into events.
	Deeds Deeds
	// Proven are the proofs of cheating in events.
	Proven int
	// Forked are the events that have a number which their creator has used.
	Forked int

	chain   *chain.Chain
	out     func(raw []byte) error
	keys    map[string]*ecdsa.PrivateKey // by the public one
	clock   inter.Timestamp
	epoch   *inter.EpochState
	checks  *eventcheck.Epoch
	graph   *dag.Epoch
	members []*member
	events  map[inter.EventID]*inter.Payload // of the epoch
	senders map[common.Address]*sender
	groups  int  // into that many the network has fallen apart
	changes int  // steps until it changes
	prompt  bool // validators vote soon and rightly for what is undecided, so that little is
}

// member is a validator of the present epoch.
type member struct {
	id    inter.ValidatorID
	key   *ecdsa.PrivateKey
	forks bool
	sleep int // steps
	group int
	own   []*inter.Payload
	tips  []inter.EventID                       // its last events; several, if it forks
	heard map[inter.ValidatorID][]inter.EventID // of others
}

// sender is how far an account is.
type sender struct {
	next uint64
	at   inter.BlockNumber // the head when that was known
}

// NewSimulation begins one on a chain of that many validators that has nothing but its
// genesis. Each event goes to out, too.
func NewSimulation(c *chain.Chain, seed uint64, validators int, out func(raw []byte) error) (*Simulation, error) {
	work, err := NewWork(seed, validators)
	if err != nil {
		return nil, err
	}
	work.Virtual = true
	s := &Simulation{
		Rand: work.Rand, Work: work, Spoiled: map[string]int{}, Deeds: Deeds{}, chain: c, out: out,
		keys: map[string]*ecdsa.PrivateKey{}, clock: c.Epoch().EpochStart + 1e9,
		senders: map[common.Address]*sender{}, groups: 1, prompt: seed%2 == 0,
	}
	for id := inter.ValidatorID(1); id <= fakenet.MaxValidators; id++ {
		a, err := ValidatorAccount(id)
		if err != nil {
			return nil, err
		}
		s.keys[a.PublicKey().String()] = a.Key
	}
	for _, a := range work.accounts {
		s.keys[a.PublicKey().String()] = a.Key
	}
	return s, nil
}

// Step makes an event.
func (s *Simulation) Step() error {
	if s.epoch != s.chain.Epoch() {
		s.enter()
	}
	s.pass()
	s.part()
	m := s.turn()
	if m == nil {
		return errors.New("nobody can make an event")
	}
	s.hear(m)
	p, self, err := s.draft(m)
	if err != nil {
		return err
	}
	// go-opera counts the votes of some events that it then refuses.
	if !s.prompt && s.IntN(30) == 0 {
		if err := s.spoil(m, p, self); err != nil {
			return err
		}
	}
	return s.emit(m, p)
}

// Count counts what there was.
func (s *Simulation) Count() (*Statistics, error) {
	t, err := Count(s.chain, s.Deeds, s.Work.validators)
	if err != nil {
		return nil, err
	}
	t.Events, t.Forked, t.Proven = s.Events, s.Forked, s.Proven
	for _, n := range s.Spoiled {
		t.Spoiled += n
	}
	return t, nil
}

// enter begins the present epoch.
func (s *Simulation) enter() {
	s.epoch = s.chain.Epoch()
	s.Work.Epoch = s.epoch.Epoch
	s.checks = eventcheck.NewEpoch(s.epoch)
	s.graph = dag.New(dag.Options{Number: s.epoch.Epoch, Validators: s.epoch.Validators, Start: s.epoch.EpochStart})
	s.members, s.events = nil, map[inter.EventID]*inter.Payload{}
	s.senders = map[common.Address]*sender{} // what was not confirmed is lost
	bad, most := inter.Weight(0), (s.epoch.Validators.Total()-1)/3
	for i := range s.epoch.Validators.Len() {
		v := s.epoch.Validators.At(i)
		m := &member{
			id: v.ID, key: s.keys[s.epoch.Profiles[v.ID].PublicKey.String()],
			heard: map[inter.ValidatorID][]inter.EventID{},
		}
		// Less than a third may fork, and somebody stays for ever.
		if int(v.ID) > s.Work.Heavy() && s.IntN(4) == 0 && bad+v.Weight < most {
			m.forks = true
			bad += v.Weight
		}
		if m.key != nil {
			s.members = append(s.members, m)
		}
	}
}

// pass lets time pass: mostly little, seldom hours or weeks.
func (s *Simulation) pass() {
	const second = 1e9
	switch n := s.IntN(1000); {
	case s.Work.Hurries():
		s.clock += 4 * second // enough for an empty block
	case n < 2:
		s.clock += inter.Timestamp(s.Uint64N(20 * day * second))
	case n < 5:
		s.clock += inter.Timestamp(s.Uint64N(5 * 3600 * second))
	case n < 20:
		s.clock += inter.Timestamp(s.Uint64N(30 * second))
	default:
		s.clock += inter.Timestamp(1 + s.Uint64N(second/2))
	}
}

// part lets the network fall apart, and come together again.
func (s *Simulation) part() {
	if s.changes--; s.changes > 0 {
		return
	}
	s.groups, s.changes = 1, 50+s.IntN(200)
	if s.IntN(3) == 0 {
		s.groups, s.changes = 2, 10+s.IntN(40)
	}
	for _, m := range s.members {
		m.group = s.IntN(s.groups)
	}
	if len(s.members) > 1 && s.IntN(2) == 0 {
		s.members[s.IntN(len(s.members))].sleep = s.IntN(150)
	}
}

// turn is whose event is next.
func (s *Simulation) turn() *member {
	var awake []*member
	for _, m := range s.members {
		if m.sleep--; m.sleep < 0 {
			awake = append(awake, m)
		}
	}
	if len(awake) == 0 {
		awake = s.members
	}
	if len(awake) == 0 {
		return nil
	}
	return awake[s.IntN(len(awake))]
}

// hear tells a member of events of some others in its group.
func (s *Simulation) hear(m *member) {
	for _, o := range s.members {
		if o != m && o.group == m.group && s.IntN(4) > 0 && len(o.tips) > 0 {
			m.heard[o.id] = append([]inter.EventID(nil), o.tips...)
		}
	}
}

// emit signs an event and gives it to the network.
func (s *Simulation) emit(m *member, p *inter.Payload) error {
	p, err := s.publish(m, p)
	if err != nil {
		return err
	}
	if err := s.chain.Verifier().Verify(p); err != nil {
		return fmt.Errorf("event %v, which is right: %w", p.ID(), err)
	}
	if err := s.chain.Connect(p, nil); err != nil {
		return fmt.Errorf("event %v, which is right: %w", p.ID(), err)
	}
	s.Events++
	if p.Epoch != s.chain.Epoch().Epoch {
		return nil
	}
	if err := s.graph.Add(consensus(p)); err != nil {
		return err
	}
	for {
		d, err := s.graph.Next()
		if err != nil {
			return err
		}
		if d == nil {
			break
		}
	}
	s.events[p.ID()] = p
	m.own = append(m.own, p)
	self, follows := p.SelfParent()
	for i, tip := range m.tips {
		if follows && tip == self {
			m.tips[i] = p.ID()
			return nil
		}
	}
	if len(m.tips) > 0 {
		s.Forked++
	}
	m.tips = append(m.tips, p.ID())
	if len(m.tips) > 3 {
		m.tips = m.tips[1:]
	}
	return nil
}

// publish signs an event and writes it, and returns it as others read it.
func (s *Simulation) publish(m *member, p *inter.Payload) (*inter.Payload, error) {
	if err := p.Seal(); err != nil {
		return nil, err
	}
	if err := sign(p.SigningHash(), m.key, &p.Signature); err != nil {
		return nil, err
	}
	raw, err := p.Encode()
	if err != nil {
		return nil, err
	}
	if err := s.out(raw); err != nil {
		return nil, err
	}
	return s.chain.Verifier().Decode(raw)
}

// consensus is what consensus reads of an event.
func consensus(p *inter.Payload) *dag.Event {
	return &dag.Event{
		ID: p.ID(), Creator: p.Creator, Seq: p.Seq, Frame: p.Frame, MedianTime: p.MedianTime,
		CreationTime: p.CreationTime, Parents: p.Parents,
	}
}
