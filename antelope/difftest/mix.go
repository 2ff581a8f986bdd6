package difftest

import (
	"slices"
	"time"

	"tarn/antelope/types"
)

// mix is a chain on which everything happens at once, and the protocol features
// come one by one, at random.
type mix struct {
	*world
	others   *world    // whose permissions change
	features []Feature // not yet activated
	at       []time.Time
	done     map[string]bool // by digest
	active   map[string]bool // by name
	scripts  []*scripts
	open     []proposal
}

func runMix(d *Driver, until time.Time) error {
	w, err := d.bootScripts(false)
	if err != nil {
		return err
	}
	m := &mix{world: w, done: map[string]bool{}, active: map[string]bool{preactivate: true}}
	if m.features, err = d.Features(d.ctx); err != nil {
		return err
	}
	m.features = slices.DeleteFunc(m.features, func(f Feature) bool { return f.Name() == preactivate })
	d.Rand.Shuffle(len(m.features), func(i, j int) { m.features[i], m.features[j] = m.features[j], m.features[i] })
	// In the first three quarters of the time.
	for range m.features {
		m.at = append(m.at,
			d.ground.now().Add(time.Duration(d.Rand.Int64N(max(1, int64(until.Sub(d.ground.now())*3/4))))))
	}
	slices.SortFunc(m.at, time.Time.Compare)
	if err := d.deployMultisig(); err != nil {
		return err
	}
	if err := d.create(names(producerNames()...)...); err != nil {
		return err
	}
	users, err := d.fundAccounts("perm", 8, "SYS")
	if err != nil {
		return err
	}
	m.others = d.newWorld(users)
	for _, a := range scriptAccounts() {
		m.scripts = append(m.scripts, w.scripts(a, false))
	}
	return d.until(until, m.step)
}

func (m *mix) step() error {
	if err := m.pace(10 * time.Millisecond); err != nil {
		return err
	}
	if len(m.at) > 0 && m.ground.now().After(m.at[0]) {
		m.at = m.at[1:]
		return m.next()
	}
	switch m.Rand.IntN(12) {
	case 0, 1:
		return m.May(Tx{Actions: m.tokenActions(m.users[:4])})
	case 2, 3:
		return m.others.permissionStep()
	case 4:
		return m.only(m.users[:4]).limitsStep()
	case 5:
		return m.only(m.users[:4]).multisigStep(&m.open)
	case 6:
		if m.One(40) {
			return m.May(Tx{Actions: []types.Action{action(system, "setprods", system,
				m.schedule(m.active["WTMSIG_BLOCK_SIGNATURES"]))}})
		}
		return m.May(m.scripts[0].contextFree())
	}
	return m.script()
}

// only is the world of some users.
func (w *world) only(users []types.Name) *world {
	x := *w
	x.users = users
	return &x
}

// script runs one, at once or delayed, with a step that fails now and then.
func (m *mix) script() error {
	g := pick(m.Driver, m.scripts)
	s := g.begin()
	pick(m.Driver, mixParts())(g, s)
	t := Tx{Delay: uint32(max(0, m.Rand.IntN(5)-2))}
	if t.Delay > 0 && m.One(2) {
		pick(m.Driver, []part{trapPart, memoryTrapPart, wrongDatabase, wrongInline, wrongDeferred, wildPart,
			failPart})(g, s)
	}
	if s.err != nil || len(s.b) > scriptMost {
		return s.err
	}
	t.Actions = []types.Action{s.action(g.account, level(g.account, active))}
	return m.May(t)
}

func mixParts() []part {
	return []part{mathPart, builtinPart, printPart, hashPart, memoryPart, contextPart, databasePart, databasePart,
		inlinePart, deferredPart, recipientPart}
}

// next activates a feature whose dependencies are active, and after the last one
// puts the contract there that uses them all.
func (m *mix) next() error {
	i := slices.IndexFunc(m.features, func(f Feature) bool {
		return !slices.ContainsFunc(f.Dependencies, func(digest string) bool { return !m.done[digest] })
	})
	if i < 0 {
		return nil
	}
	f := m.features[i]
	m.features = slices.Delete(m.features, i, i+1)
	digest, err := types.ParseChecksum256(f.Digest)
	if err != nil {
		return err
	}
	if err := m.May(Tx{Actions: []types.Action{action(system, "activate", system, digest)}}); err != nil {
		return err
	}
	m.done[f.Digest], m.active[f.Name()] = true, true
	if len(m.features) > 0 {
		return nil
	}
	if err := m.Blocks(2); err != nil {
		return err
	}
	wasm := scriptContract(func(string) bool { return true })
	for _, g := range m.scripts {
		if err := m.May(
			Tx{Actions: []types.Action{with(setCode(g.account, wasm), level(g.account, owner))}}); err != nil {
			return err
		}
		g.full = true
	}
	return nil
}
