package state_test

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"tarn/antelope/state"
	"tarn/antelope/types"
)

var modelSeed = flag.Uint64("state.seed", 1, "seed of the model test; 0 takes one at random")

// content is what a state holds, in plain maps. It is what the tables are compared
// with: nothing here knows of keys, encodings, caches or journals.
type content struct {
	permissions  map[state.PermissionKey]state.Permission
	usages       map[types.Name]state.ResourceUsage
	deferred     map[state.DeferredKey]state.Deferred
	transactions map[types.Checksum256]state.Transaction
	rows         map[state.RowKey]row
	indices      [state.Kinds]map[state.RowKey]state.IndexRow
	abis         map[types.Name]string
	codes        map[state.CodeKey]string
	summaries    map[uint16]types.Checksum256
	sequence     uint64
	head         string
	next         [4]uint64 // ids of permissions, usages, deferred, transactions
}

type row struct {
	payer types.Name
	value string
}

func newContent() *content {
	c := &content{
		permissions: map[state.PermissionKey]state.Permission{}, usages: map[types.Name]state.ResourceUsage{},
		deferred: map[state.DeferredKey]state.Deferred{}, transactions: map[types.Checksum256]state.Transaction{},
		rows: map[state.RowKey]row{}, abis: map[types.Name]string{}, codes: map[state.CodeKey]string{},
		summaries: map[uint16]types.Checksum256{},
	}
	for i := range c.indices {
		c.indices[i] = map[state.RowKey]state.IndexRow{}
	}
	return c
}

func (c *content) clone() *content {
	d := *c
	d.permissions, d.usages = maps.Clone(c.permissions), maps.Clone(c.usages)
	d.deferred, d.transactions = maps.Clone(c.deferred), maps.Clone(c.transactions)
	d.rows, d.abis, d.codes = maps.Clone(c.rows), maps.Clone(c.abis), maps.Clone(c.codes)
	d.summaries = maps.Clone(c.summaries)
	for i := range c.indices {
		d.indices[i] = maps.Clone(c.indices[i])
	}
	return &d
}

func (c *content) id(which int) uint64 {
	c.next[which]++
	return c.next[which] - 1
}

// model runs the same steps on a State and on contents.
type model struct {
	t   *testing.T
	rng *rand.Rand
	db  *database
	s   *state.State

	now    *content
	open   []*content // before each open session
	blocks []*content // before each finished block that can be undone
}

func (m *model) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *model) same(what string, got, want any) {
	m.t.Helper()
	if !reflect.DeepEqual(got, want) {
		m.t.Fatalf("%s:\n got %+v\nwant %+v", what, got, want)
	}
}

func (m *model) name() types.Name { return types.Name(m.rng.Uint64N(6)) << 4 }

// step does one thing to both.
func (m *model) step() {
	if len(m.open) == 0 {
		m.between()
		return
	}
	switch m.rng.IntN(28) {
	case 0, 1:
		if len(m.open) < 4 {
			m.begin()
		}
	case 2, 3:
		m.end()
	case 4, 5, 6:
		m.permission()
	case 7, 8:
		m.usage()
	case 9:
		m.scan()
	case 10, 11, 12:
		m.generate()
	case 13, 14:
		m.transaction()
	case 15, 16, 17:
		m.contractRow()
	case 18, 19, 20:
		m.indexRow()
	case 21:
		m.blob()
	case 22:
		m.single()
	case 23:
		m.compare()
	default:
		m.indexRow()
	}
}

// between does what is done between blocks.
func (m *model) between() {
	switch m.rng.IntN(12) {
	case 0:
		if n := len(m.blocks); n > 0 {
			m.must(m.s.Undo())
			m.now, m.blocks = m.blocks[n-1], m.blocks[:n-1]
			m.compare()
		}
	case 1:
		keep := m.rng.IntN(len(m.blocks) + 1)
		m.must(m.db.store.Commit(m.db.store.Head() - uint64(keep)))
		m.blocks = m.blocks[len(m.blocks)-keep:]
	case 2:
		m.must(m.s.Flush())
		m.compareView()
	case 3:
		m.reopen()
	default:
		m.begin()
	}
}

func (m *model) begin() {
	m.must(m.s.Begin())
	m.open = append(m.open, m.now.clone())
}

func (m *model) end() {
	n := len(m.open)
	undo := m.rng.IntN(3) == 0
	switch {
	case undo:
		m.must(m.s.Undo())
		m.now = m.open[n-1]
		m.compare()
	case n == 1:
		m.must(m.s.Push())
		m.blocks = append(m.blocks, m.open[0])
	default:
		m.must(m.s.Squash())
	}
	m.open = m.open[:n-1]
	m.same("depth", m.s.Depth(), len(m.open))
}

// reopen closes the store after a checkpoint, and takes it over again.
func (m *model) reopen() {
	if !m.db.keepsUndo {
		m.must(m.db.store.Commit(m.db.store.Head()))
		m.blocks = nil
	}
	m.s = m.db.reopen()
	m.compare()
}

func (m *model) permission() {
	k := state.PermissionKey{Owner: m.name(), Name: m.name()}
	want, exists := m.now.permissions[k]
	got, err := m.s.Permissions.Get(k)
	m.must(err)
	m.same("a permission is there", got != nil, exists)
	if exists {
		m.same("permission", *got, want)
	}
	a := types.Authority{Threshold: m.rng.Uint32(), Waits: []types.WaitWeight{{WaitSec: m.rng.Uint32(), Weight: 1}}}
	switch {
	case !exists:
		want = state.Permission{Key: k, Parent: m.name(), LastUsed: types.TimePoint(m.rng.Int64()), Authority: a}
		_, err := m.s.Permissions.Create(k, want)
		m.must(err)
		want.ID = m.now.id(0)
		m.now.permissions[k] = want
	case m.rng.IntN(2) == 0:
		m.must(m.s.Permissions.Remove(k))
		delete(m.now.permissions, k)
	default:
		p, err := m.s.Permissions.Edit(k)
		m.must(err)
		p.Authority, p.LastUpdated = a, types.TimePoint(m.rng.Int64())
		want.Authority, want.LastUpdated = p.Authority, p.LastUpdated
		m.now.permissions[k] = want
	}
	if _, there := m.now.permissions[k]; there {
		if _, err := m.s.Permissions.Create(k, want); err == nil {
			m.t.Fatal("a row was created where there was one")
		}
	}
}

func (m *model) usage() {
	n := m.name()
	u, exists := m.now.usages[n]
	if !exists {
		_, err := m.s.Usages.Edit(n)
		if err == nil || m.s.Usages.Remove(n) == nil {
			m.t.Fatal("a row that does not exist was edited or removed")
		}
		u.Owner = n
		_, err = m.s.Usages.Create(n, u)
		m.must(err)
		u.ID = m.now.id(1)
	} else {
		p, err := m.s.Usages.Edit(n)
		m.must(err)
		m.same("usage", *p, u)
		p.RAM += 7
		p.CPU = state.Usage{LastOrdinal: m.rng.Uint32(), ValueEx: m.rng.Uint64(), Consumed: m.rng.Uint64()}
		u.RAM, u.CPU = p.RAM, p.CPU
	}
	m.now.usages[n] = u
}

// scan reads a range in order, which writes what is held back inside a session.
func (m *model) scan() {
	owner := m.name()
	var got, want []state.Permission
	err := m.s.Permissions.Scan(state.PermissionKey{Owner: owner}, state.PermissionKey{Owner: owner + 1},
		func(p *state.Permission) (bool, error) {
			got = append(got, *p)
			return true, nil
		})
	m.must(err)
	for k, p := range m.now.permissions {
		if k.Owner == owner {
			want = append(want, p)
		}
	}
	slices.SortFunc(want, func(a, b state.Permission) int { return cmp.Compare(a.Key.Name, b.Key.Name) })
	m.same("the permissions of an owner", got, want)
}

func (m *model) blob() {
	n, num := m.name(), uint16(m.rng.UintN(5))
	b := make([]byte, m.rng.IntN(3)*m.rng.IntN(3000))
	for i := range b {
		b[i] = byte(m.rng.Uint32())
	}
	m.must(m.s.SetABI(n, b))
	setBlob(m.now.abis, n, b)
	k := state.CodeKey{VMType: byte(n)}
	m.must(m.s.SetCodeBytes(k, b))
	setBlob(m.now.codes, k, b)
	id := types.Checksum256{byte(m.rng.Uint32())}
	m.must(m.s.SetBlockSummary(num, id))
	m.now.summaries[num] = id
}

func setBlob[K comparable](to map[K]string, k K, b []byte) {
	delete(to, k)
	if len(b) > 0 {
		to[k] = string(b)
	}
}

func (m *model) single() {
	d, err := m.s.Dynamic.Edit()
	m.must(err)
	m.same("action sequence", d.ActionSequence, m.now.sequence)
	d.ActionSequence++
	m.now.sequence++
	m.now.head = fmt.Sprint(m.rng.Uint32())
	m.must(m.s.SetHead([]byte(m.now.head)))
}

func TestStatesAreWhatPlainMapsSay(t *testing.T) {
	for _, kind := range databases {
		t.Run(kind.name, func(t *testing.T) {
			seed := *modelSeed
			if seed == 0 {
				seed = rand.Uint64()
			}
			t.Logf("repeat with -state.seed=%d", seed)
			for round := range uint64(4) {
				m := &model{t: t, rng: rand.New(rand.NewPCG(seed, round)), db: kind.open(t), now: newContent()}
				m.s = m.db.state()
				m.must(m.s.Initialise(state.Singletons{}))
				for range 2000 {
					m.step()
				}
				for len(m.open) > 0 {
					m.end()
				}
				m.compareView()
				m.db.close()
			}
		})
	}
}
