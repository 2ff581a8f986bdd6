package chaintest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"tarn/antelope/chain"
	"tarn/antelope/consensus"
	"tarn/antelope/exception"
	"tarn/antelope/execute"
	"tarn/antelope/feature"
	"tarn/antelope/serial"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/store"
)

// Peers are producers that each have a chain of their own and lose sight of each
// other now and then, so that their chain forks. They are honest: none makes two
// blocks of a number, or confirms what contradicts an earlier confirmation.
type Peers struct {
	Genesis types.Genesis
	Blocks  []*types.SignedBlock // all that were made, each after the one that it follows

	makers    []*Maker
	newest    []*types.SignedBlock // that each has put into its fork database
	names     []types.Name
	watermark []uint32 // highest number that each has produced
	group     []int    // peers of one group see each other
	byID      map[types.Checksum256]*types.SignedBlock
	random    *rand.Rand
	set       *feature.Set
	slot      types.BlockTimestamp
	pool      []*types.PackedTransaction // tried in blocks of all branches
	nonce     uint64
	finality  *finalizers // nil for none
}

// NewPeers makes a chain with so many producers, whose schedule is active. open opens
// an empty store; all choices follow from the seed.
func NewPeers(count int, seed uint64, open func() (store.Store, error)) (*Peers, error) {
	set, err := feature.Builtins()
	if err != nil {
		return nil, err
	}
	p := &Peers{
		byID: make(map[types.Checksum256]*types.SignedBlock), random: rand.New(rand.NewPCG(seed, 1)),
		set: set, watermark: make([]uint32, count), group: make([]int, count), newest: make([]*types.SignedBlock, count),
	}
	for i := range count {
		st, err := open()
		if err != nil {
			return nil, err
		}
		m, err := New(st, chain.Options{})
		if err != nil {
			return nil, err
		}
		m.Chain.Subscribe(chain.Hooks{AcceptedHeader: func(b *consensus.BlockState) { p.newest[i] = b.Block }})
		p.makers = append(p.makers, m)
		p.names = append(p.names, types.N("peer"+string(rune('a'+i))))
	}
	m := p.makers[0]
	p.Genesis, p.slot = m.Genesis, m.Chain.Head().Header.Timestamp
	eosio := types.N("eosio")
	schedule := serial.AppendCount(nil, count)
	var actions []types.Action
	for _, n := range p.names {
		actions = append(actions, m.CreateAccount(n))
		schedule = types.LegacyProducerKey{Producer: n, Key: m.Key.Public()}.Append(schedule)
	}
	for _, a := range append(actions, SetCode(eosio, SystemCode()),
		Action(eosio, types.N("setprods"), eosio, schedule)) {
		t, err := m.Sign(a)
		if err != nil {
			return nil, err
		}
		p.pool = append(p.pool, t)
	}
	for range 20 * count {
		if len(m.Chain.Head().ActiveSchedule.Producers) == count {
			return p, nil
		}
		if err := p.step(); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("the schedule does not become active")
}

// Close closes the peers' chains; their stores are the caller's.
func (p *Peers) Close() error {
	var errs []error
	for _, m := range p.makers {
		errs = append(errs, m.Chain.Close())
	}
	return errors.Join(errs...)
}

// Chain is a peer's chain.
func (p *Peers) Chain(i int) *chain.Chain { return p.makers[i].Chain }

// Maker is a peer.
func (p *Peers) Maker(i int) *Maker { return p.makers[i] }

// Run makes blocks until there are so many more. The peers fall into groups and
// together again.
func (p *Peers) Run(blocks int) error {
	for end := len(p.Blocks) + blocks; len(p.Blocks) < end; {
		if p.random.IntN(8) == 0 {
			for i := range p.group {
				p.group[i] = p.random.IntN(2)
			}
			if err := p.meet(); err != nil {
				return err
			}
		}
		if err := p.step(); err != nil {
			return err
		}
	}
	return nil
}

// Heal lets all peers see each other until they agree on the head.
func (p *Peers) Heal() error {
	clear(p.group)
	for range 1000 {
		if err := p.meet(); err != nil {
			return err
		}
		if err := p.step(); err != nil {
			return err
		}
		head := p.makers[0].Chain.Head().ID
		if !slices.ContainsFunc(p.makers, func(m *Maker) bool { return m.Chain.Head().ID != head }) {
			return nil
		}
	}
	return errors.New("the peers do not agree")
}

// step lets some slots pass, and whoever is scheduled then make a block.
func (p *Peers) step() error {
	p.slot += 1 + types.BlockTimestamp(p.random.IntN(14))
	for i, m := range p.makers {
		head := m.Chain.Head()
		who := head.ScheduledProducer(p.slot).Producer
		if who != p.names[i] && (who != types.N("eosio") || i != 0) ||
			p.watermark[i] > head.BlockNum && !head.PrecedesProper() {
			continue
		}
		b, err := p.produce(i)
		if err != nil {
			return fmt.Errorf("peer %d: %w", i, err)
		}
		p.Blocks = append(p.Blocks, b)
		p.byID[b.ID()] = b
		p.watermark[i] = b.BlockNum()
		if err := p.tell(b, p.group[i]); err != nil {
			return err
		}
		break
	}
	return p.vote()
}

// meet gives every peer the best block of its group.
func (p *Peers) meet() error {
	for i, m := range p.makers {
		if b := p.byID[m.Chain.Head().ID]; b != nil {
			if err := p.tell(b, p.group[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// tell gives a block to the peers of a group, with those before it that they lack.
func (p *Peers) tell(b *types.SignedBlock, group int) error {
	for i := range p.makers {
		if p.group[i] == group {
			if err := p.give(p.makers[i].Chain, b); err != nil {
				return fmt.Errorf("peer %d: %w", i, err)
			}
		}
	}
	return nil
}

func (p *Peers) give(c *chain.Chain, b *types.SignedBlock) error {
	var missing []*types.SignedBlock
	for b != nil && b.BlockNum() > c.Fork().Root().BlockNum && c.Fork().Block(b.ID()) == nil {
		missing = append(missing, b)
		b = p.byID[b.Previous]
	}
	for _, b := range slices.Backward(missing) {
		x, err := c.Prepare(b, b.ID())
		if err == nil {
			err = c.PushBlock(x)
		}
		if exception.Is(err, exception.UnlinkableBlock) {
			return nil // of a branch that has lost
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// produce makes a peer's block in this slot.
func (p *Peers) produce(i int) (*types.SignedBlock, error) {
	m := p.makers[i]
	c, head := m.Chain, m.Chain.Head()
	protocol, err := c.State().Protocol.Get()
	if err != nil {
		return nil, err
	}
	start := execute.Start{Time: p.slot, Status: execute.Incomplete, Activations: slices.Clone(protocol.Preactivated)}
	if since := max(p.watermark[i], head.Irreversible); since < head.BlockNum && !head.PrecedesProper() {
		start.Confirmed = uint16(head.BlockNum - since)
	}
	if first, _ := p.set.Digest(feature.PreactivateFeature); !head.Activated.Has(first) && p.random.IntN(30) == 0 {
		start.Activations = append(start.Activations, first)
	}
	if err := c.StartBlock(start); err != nil {
		return nil, err
	}
	if err := p.retire(c); err != nil {
		return nil, err
	}
	if err := p.fill(m); err != nil {
		return nil, err
	}
	b, err := m.EndBlock()
	if !exception.Is(err, exception.ForkDatabase) {
		return b, err
	}
	// The first block of a shorter schedule may know less to be irreversible than the one before it, and then
	// stays a branch. The producer has it, and tells it to the others, all the same.
	_, err = c.AbortBlock()
	return p.newest[i], err
}

// retire executes the deferred transactions that are due.
func (p *Peers) retire(c *chain.Chain) error {
	var due []types.Checksum256
	err := c.State().DeferredByDelay(func(d *state.Deferred) (bool, error) {
		if d.DelayUntil <= p.slot.TimePoint() {
			due = append(due, d.TrxID)
		}
		return true, nil
	})
	for _, id := range due {
		if _, e := c.PushScheduled(id, execute.Billing{Explicit: true, CPU: 100}); e != nil && exception.Of(e) == nil {
			return e
		}
	}
	return err
}

// fill adds to the pool, and tries all of it in the pending block: what another
// branch has, this one takes too, and what this one has, it refuses.
func (p *Peers) fill(m *Maker) error {
	if err := p.invent(m); err != nil {
		return err
	}
	for _, t := range p.pool {
		x, err := execute.NewCandidate(t, execute.Input)
		if err != nil {
			return err
		}
		x.Keys = []types.PublicKey{m.Key.Public()}
		if _, err := m.Chain.PushTransaction(x, execute.Billing{Explicit: true, CPU: 100}); err != nil &&
			exception.Of(err) == nil {
			return err
		}
	}
	if n := len(p.pool); n > 40 {
		p.pool = p.pool[n-40:]
	}
	return nil
}

// invent adds random transactions to the pool. They refer to an irreversible block,
// so that they are good on every branch.
func (p *Peers) invent(m *Maker) error {
	for range p.random.IntN(4) {
		a, err := p.action(m)
		if err != nil {
			return err
		}
		t := &types.Transaction{Actions: []types.Action{a}}
		t.Expiration = (p.slot.TimePoint() + types.TimePoint(1_000_000*(10+p.random.Int64N(60)))).Sec()
		t.SetRefBlock(m.Chain.Fork().Root().ID)
		s, err := m.Key.Sign(t.SigningDigest(p.Genesis.ChainID(), nil))
		if err != nil {
			return err
		}
		packed, err := types.Pack(t, []types.Signature{s}, nil, types.CompressionNone)
		if err != nil {
			return err
		}
		p.pool = append(p.pool, packed)
	}
	return nil
}

// action is random work of the system account.
func (p *Peers) action(m *Maker) (types.Action, error) {
	p.nonce++
	if p.finality != nil {
		if a, ok := p.finality.action(p, m); ok {
			return a, nil
		}
	}
	eosio := types.N("eosio")
	put := Action(eosio, types.N("put"), eosio, append(serial.AppendUint64(nil, uint64(p.random.IntN(1000))),
		make([]byte, p.random.IntN(300))...))
	switch p.random.IntN(8) {
	case 0:
		return m.CreateAccount(userName(int(p.nonce))), nil
	case 1, 2:
		t := &types.Transaction{Actions: []types.Action{put}}
		t.Expiration = (p.slot.TimePoint() + 30_000_000).Sec()
		t.DelaySec = p.random.Uint32N(6)
		data := serial.AppendUint64(serial.AppendUint64(nil, p.random.Uint64N(50)), 0)
		data = serial.AppendUint64(data, uint64(eosio))
		return Action(eosio, types.N("defer"), eosio, t.Append(data)), nil
	case 3:
		if p.finality != nil {
			return put, nil
		}
		if p.random.IntN(3) == 0 {
			return SetCode(eosio, SystemCode("preactivate")), nil
		}
		features := p.set.All()
		f := features[p.random.IntN(len(features))]
		return Action(eosio, types.N("preactivate"), eosio, bytes.Clone(f.Digest[:])), nil
	case 4:
		key := types.KeyAuthority(m.Key.Public())
		key.Accounts = []types.PermissionLevelWeight{
			{Permission: types.PermissionLevel{Actor: p.names[p.random.IntN(len(p.names))],
				Permission: types.N("active")}, Weight: 1}}
		u := types.UpdateAuth{Account: eosio, Permission: types.N("perm" + string(rune('a'+p.random.IntN(8)))),
			Parent: types.N("active"), Authority: key}
		return Action(eosio, types.N("updateauth"), eosio, u.Append(nil)), nil
	}
	return put, nil
}
