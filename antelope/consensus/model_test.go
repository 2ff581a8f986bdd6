package consensus

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"tarn/antelope/exception"
	"tarn/antelope/feature"
	"tarn/antelope/types"
)

// dpos is the rules of irreversibility in the most naive way: by block number, in
// maps, with nothing shared.
type dpos struct {
	num, proposed, irreversible uint32
	version                     uint32
	active                      []types.Name
	pending                     []types.Name
	pendingAt, pendingVersion   uint32
	produced, implied           map[types.Name]uint32
	needs                       map[uint32]int // confirmations that a block still needs
}

func newDPOS() *dpos {
	return &dpos{
		num: 1, active: []types.Name{system}, pending: []types.Name{system},
		produced: map[types.Name]uint32{}, implied: map[types.Name]uint32{}, needs: map[uint32]int{},
	}
}

// lib is the highest number that no more than a third of what is implied, rounded
// down for one less, is below.
func (d *dpos) lib(producer types.Name) uint32 {
	var best uint32
	for _, v := range d.with(producer) {
		below := 0
		for _, w := range d.with(producer) {
			if w < v {
				below++
			}
		}
		if below <= (len(d.implied)-1)/3 {
			best = max(best, v)
		}
	}
	return best
}

func (d *dpos) with(producer types.Name) map[types.Name]uint32 {
	m := maps.Clone(d.implied)
	if _, ok := m[producer]; ok {
		m[producer] = d.proposed
	}
	return m
}

// block applies a block and tells whether the producer may make it.
func (d *dpos) block(producer types.Name, confirmed uint16, proposal []types.Name) bool {
	num := d.num + 1
	if last, ok := d.produced[producer]; ok && last+uint32(confirmed) >= num {
		return false
	}
	lib, proposed := d.lib(producer), d.proposed
	d.needs[num] = len(d.active)*2/3 + 1
	delete(d.needs, num-maxConfirmations)
	for b := num; b+uint32(confirmed) >= num && d.needs[b] > 0; b-- {
		if d.needs[b]--; d.needs[b] == 0 {
			proposed = b
			maps.DeleteFunc(d.needs, func(n uint32, _ int) bool { return n <= b })
			break
		}
	}
	promoted := len(d.pending) > 0 && lib >= d.pendingAt
	if promoted {
		produced, implied := map[types.Name]uint32{}, map[types.Name]uint32{}
		for _, p := range d.pending {
			produced[p], implied[p] = lib, lib
			if v, ok := d.produced[p]; ok {
				produced[p] = v
			}
			if v, ok := d.implied[p]; ok {
				implied[p] = v
			}
			if p == producer {
				implied[p] = d.proposed
			}
		}
		d.active, d.pending, d.version = d.pending, nil, d.pendingVersion
		d.produced, d.implied = produced, implied
	} else {
		d.implied[producer] = d.proposed
	}
	d.produced[producer] = num
	if proposal != nil && !promoted && len(d.pending) == 0 {
		d.pending, d.pendingAt, d.pendingVersion = proposal, num, d.version+1
	}
	d.num, d.proposed, d.irreversible = num, proposed, lib
	return true
}

// differs tells how s is not what the model says.
func (d *dpos) differs(s *HeaderState) string {
	names := func(list []types.ProducerAuthority) (names []types.Name) {
		for _, p := range list {
			names = append(names, p.Producer)
		}
		return names
	}
	entries := func(m ProducerBlocks) map[types.Name]uint32 {
		e := map[types.Name]uint32{}
		for _, b := range m {
			e[b.Producer] = b.Block
		}
		return e
	}
	counts := map[uint32]int{}
	for i, n := range s.ConfirmCount {
		counts[s.BlockNum-uint32(len(s.ConfirmCount)-1-i)] = int(n)
	}
	switch {
	case s.BlockNum != d.num || s.ProposedIrreversible != d.proposed || s.Irreversible != d.irreversible:
		return fmt.Sprintf("block %d, proposed %d, irreversible %d, want %d, %d, %d",
			s.BlockNum, s.ProposedIrreversible, s.Irreversible, d.num, d.proposed, d.irreversible)
	case !slices.Equal(names(s.ActiveSchedule.Producers), d.active) || s.ActiveSchedule.Version != d.version:
		return fmt.Sprintf("active schedule %v, want %v", s.ActiveSchedule, d.active)
	case !slices.Equal(names(s.Pending.Schedule.Producers), d.pending):
		return fmt.Sprintf("pending schedule %v, want %v", s.Pending.Schedule, d.pending)
	case !maps.Equal(entries(s.LastProduced), d.produced) || !maps.Equal(entries(s.LastImpliedIRB), d.implied):
		return fmt.Sprintf("produced %v, implied %v, want %v, %v", s.LastProduced, s.LastImpliedIRB,
			d.produced, d.implied)
	case !maps.Equal(counts, d.needs):
		return fmt.Sprintf("confirmations %v, want %v", counts, d.needs)
	}
	return ""
}

func TestIrreversibilityFollowsTheModel(t *testing.T) {
	seed := rand.Uint64()
	for round := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, round))
		n := newNode(t)
		s, model := n.head.HeaderState, newDPOS()
		lazy := rng.IntN(3) == 0 // confirms too little for anything to become irreversible
		for range 2500 {
			slot := s.Header.Timestamp + 1
			if rng.IntN(20) == 0 {
				slot += types.BlockTimestamp(rng.IntN(60))
			}
			producer := s.ScheduledProducer(slot).Producer
			confirmed := uint16(rng.IntN(300))
			if last, ok := model.produced[producer]; ok && rng.IntN(30) > 0 {
				confirmed = uint16(s.BlockNum - last)
			}
			if lazy && s.BlockNum > 100 {
				confirmed = 0
			}
			confirmed = min(confirmed, uint16(s.BlockNum))
			var proposal []types.Name
			var names []string
			if rng.IntN(100) == 0 && !s.HasPendingProducers() {
				for range 1 + rng.IntN(21) {
					names = append(names, string(rune('a'+rng.IntN(26))))
				}
				for _, name := range names {
					proposal = append(proposal, types.N(name))
				}
			}
			p, err := s.Next(slot, confirmed)
			if err != nil || p.Promoted {
				proposal, names = nil, nil
			}
			if ok := model.block(producer, confirmed, proposal); ok != (err == nil) {
				t.Fatalf("seed %d round %d: %s after block %d confirming %d: %v",
					seed, round, producer, s.BlockNum, confirmed, err)
			}
			if err != nil {
				if !exception.Is(err, exception.ProducerDoubleConfirm) {
					t.Fatal(err)
				}
				continue
			}
			var change *types.ProducerSchedule
			if proposal != nil {
				change = schedule(s.ActiveSchedule.Version+1, names...)
			}
			h, err := p.Header(&Content{Schedule: change}, n.set)
			if err != nil {
				t.Fatal(err)
			}
			before := s.Append(nil)
			next, err := p.Finish(&h, nil, n.set, nil)
			if err != nil {
				t.Fatalf("seed %d round %d: %v", seed, round, err)
			}
			if string(s.Append(nil)) != string(before) {
				t.Fatalf("seed %d round %d: block %d changed the state before it", seed, round, next.BlockNum)
			}
			s = next
			if d := model.differs(s); d != "" {
				t.Fatalf("seed %d round %d: %s", seed, round, d)
			}
		}
		var again HeaderState
		if err := types.Decode(s.Append(nil), &again); err != nil ||
			string(again.Append(nil)) != string(s.Append(nil)) {
			t.Fatalf("seed %d round %d: does not survive its encoding: %v", seed, round, err)
		}
	}
}

// tree is the fork database as a list.
type tree struct {
	order
	root, head *BlockState
	blocks     []*branchNode // in the order of adding
	savanna    *feature.Active
}

func (m *tree) find(id types.Checksum256) *branchNode {
	i := slices.IndexFunc(m.blocks, func(n *branchNode) bool { return n.ID == id })
	if i < 0 {
		return nil
	}
	return m.blocks[i]
}

// lower tells whether the first of the ids is the lower one: read from the last byte
// of the first eight to their first, then in the same way of the next eight.
func lower(a, b types.Checksum256) bool {
	for i := range a {
		if at := i ^ 7; a[at] != b[at] {
			return a[at] < b[at]
		}
	}
	return false
}

func (m *tree) best(valid bool) (best *branchNode) {
	for _, n := range m.blocks {
		if n.valid == valid && (best == nil || m.better(n.HeaderState, best.HeaderState) ||
			!m.better(best.HeaderState, n.HeaderState) && lower(n.ID, best.ID)) {
			best = n
		}
	}
	return best
}

// leadsTo tells whether id is b or comes before it.
func (m *tree) leadsTo(id types.Checksum256, b *BlockState) bool {
	for b.ID != id {
		if b.ID == m.root.ID {
			return false
		}
		n := m.find(b.Header.Previous)
		if n == nil {
			return id == m.root.ID
		}
		b = n.BlockState
	}
	return true
}

func (m *tree) keep(stays func(n *branchNode) bool) {
	m.blocks = slices.DeleteFunc(slices.Clone(m.blocks), func(n *branchNode) bool { return !stays(n) })
}

// step does something at random to both, and returns what.
func (m *tree) step(t *testing.T, rng *rand.Rand, f *ForkDatabase) string {
	any := func() *BlockState {
		if len(m.blocks) == 0 || rng.IntN(8) == 0 {
			return m.root
		}
		return m.blocks[rng.IntN(len(m.blocks))].BlockState
	}
	b := any()
	known := m.find(b.ID)
	switch rng.IntN(12) {
	default:
		// The irreversible block says little about the number, as in hard times.
		next := &BlockState{HeaderState: &HeaderState{Progress: Progress{
			BlockNum: b.BlockNum + 1, Irreversible: b.Irreversible + uint32(max(0, rng.IntN(6)-3)),
		}}}
		if next.Activated = b.Activated; rng.IntN(20) == 0 {
			next.Activated = m.savanna
		}
		next.Header.Previous, next.Header.ActionMRoot = b.ID, leaf(rng)
		next.ID = next.Header.ID()
		if err := f.Add(next, false); err != nil {
			t.Fatal(err)
		}
		m.blocks = append(m.blocks, &branchNode{BlockState: next})
		if best := m.best(true); best != nil {
			m.head = best.BlockState
		}
		return "add"
	case 0:
		if err := f.Add(b, true); b != m.root && err != nil {
			t.Fatal(err)
		}
		if err := f.Add(b, false); !exception.Is(err, exception.ForkDatabase, exception.UnlinkableBlock) {
			t.Fatalf("duplicate: %v", err)
		}
		return "add again"
	case 1, 2, 3:
		if err := f.MarkValid(b.ID, nil); err != nil {
			t.Fatal(err)
		}
		if known != nil && !known.valid {
			known.valid = true
			if best := m.best(true); m.better(best.HeaderState, m.head.HeaderState) {
				m.head = best.BlockState
			}
		}
		return "mark valid"
	case 4:
		if rng.IntN(3) > 0 {
			return "nothing"
		}
		removed, err := f.Remove(b.ID)
		if (err != nil) != m.leadsTo(b.ID, m.head) {
			t.Fatalf("remove %d: %v", b.BlockNum, err)
		} else if err == nil {
			m.keep(func(n *branchNode) bool { return !m.leadsTo(b.ID, n.BlockState) })
		}
		checkGone(t, f, removed)
		return "remove"
	case 5:
		gone, err := f.AdvanceRoot(b.ID)
		checkGone(t, f, gone)
		if ok := known != nil && known.valid && m.leadsTo(b.ID, m.head); ok != (err == nil) {
			t.Fatalf("advance root from %d to %d: %v", m.root.BlockNum, b.BlockNum, err)
		} else if ok {
			m.keep(func(n *branchNode) bool { return n.ID != b.ID && m.leadsTo(b.ID, n.BlockState) })
			m.root = b
		}
		return "advance root"
	}
}

// checkGone checks that blocks are not there any more.
func checkGone(t *testing.T, f *ForkDatabase, ids []types.Checksum256) {
	t.Helper()
	for _, id := range ids {
		if f.Block(id) != nil {
			t.Fatalf("block %s is there, and was removed", id)
		}
	}
}

func (m *tree) check(t *testing.T, rng *rand.Rand, f *ForkDatabase) string {
	pending := m.head
	if best := m.best(false); best != nil && m.better(best.HeaderState, m.head.HeaderState) {
		pending = best.BlockState
	}
	switch {
	case f.Root() != m.root:
		return "another root"
	case f.Head() != m.head:
		return fmt.Sprintf("head %d, want %d", f.Head().BlockNum, m.head.BlockNum)
	case f.PendingHead() != pending:
		return fmt.Sprintf("pending head %d, want %d", f.PendingHead().BlockNum, pending.BlockNum)
	case f.Len() != len(m.blocks):
		return fmt.Sprintf("%d blocks, want %d", f.Len(), len(m.blocks))
	}
	if len(m.blocks) == 0 {
		return ""
	}
	x, y := m.blocks[rng.IntN(len(m.blocks))], m.blocks[rng.IntN(len(m.blocks))]
	if f.Block(x.ID) != x.BlockState || f.HeaderState(x.ID) != x.HeaderState || f.IsValid(x.ID) != x.valid {
		return "block lost"
	}
	branch := f.FetchBranch(x.ID, y.BlockNum)
	for i, b := range branch {
		if b.BlockNum != min(x.BlockNum, y.BlockNum)-uint32(i) || !m.leadsTo(b.ID, x.BlockState) ||
			f.SearchOnBranch(x.ID, b.BlockNum) != b {
			return "branch"
		}
	}
	if len(branch) != int(min(x.BlockNum, y.BlockNum)-m.root.BlockNum) {
		return "length of a branch"
	}
	a, b, err := f.FetchBranchFrom(x.ID, y.ID)
	if err != nil {
		t.Fatal(err)
	}
	end := func(from *branchNode, list []*BlockState) types.Checksum256 {
		at := from.ID
		for _, s := range list {
			if s.ID != at || m.leadsTo(s.ID, x.BlockState) && m.leadsTo(s.ID, y.BlockState) {
				t.Fatal("a branch holds what both have in common")
			}
			at = s.Header.Previous
		}
		return at
	}
	if end(x, a) != end(y, b) {
		return "branches from different blocks"
	}
	return ""
}

func TestForkDatabaseFollowsTheModel(t *testing.T) {
	set := builtinSet(t)
	digest, _ := set.Digest(feature.Savanna)
	seed := rand.Uint64()
	for round := range uint64(15) {
		rng := rand.New(rand.NewPCG(seed, round))
		f := NewForkDatabase(set)
		root := &HeaderState{Progress: Progress{BlockNum: 10}}
		root.ID = types.Checksum256{0, 0, 0, 10}
		f.Reset(Head{HeaderState: root})
		m := &tree{order: order{set}, root: f.Root(), head: f.Head(), savanna: feature.NewActive(digest)}
		for i := range 500 {
			did := m.step(t, rng, f)
			if wrong := m.check(t, rng, f); wrong != "" {
				t.Fatalf("seed %d round %d: step %d, %s: %s", seed, round, i, did, wrong)
			}
		}
	}
}
