package llr

import (
	"math/rand/v2"
	"testing"

	"tarn/opera/inter"
	"tarn/store"
	"tarn/store/page"
	"tarn/store/revision"
	"tarn/store/vfs/memfs"
)

func newStore(t *testing.T) store.Store {
	t.Helper()
	e, err := page.Open(page.Options{Dir: "/state", FS: memfs.New(), Mode: page.Heap, GrowBytes: 2 << 20})
	if err != nil {
		t.Fatal(err)
	}
	s, err := revision.Open(e)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// opened is the ledger of a store, which begins after block 10 of epoch 5.
func opened(t *testing.T, s store.Store) *Ledger {
	t.Helper()
	l, err := Open(s)
	if err == nil {
		err = l.Resume(func() (State, error) { return State{11, 6}, nil }, full{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// full is a chain that has everything.
type full struct{}

func (full) HasBlock(inter.BlockNumber) (bool, error) { return true, nil }
func (full) HasEpoch(inter.Epoch) (bool, error)       { return true, nil }

func write(t *testing.T, s store.Store, l *Ledger) {
	t.Helper()
	for _, step := range []func() error{s.Begin, func() error { return l.Write(s) }, s.Push, func() error { return s.Commit(s.Head()) }, s.Publish} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
}

func group(t *testing.T, weights ...inter.Weight) *inter.Validators {
	t.Helper()
	var list []inter.Validator
	for i, w := range weights {
		list = append(list, inter.Validator{ID: inter.ValidatorID(i + 1), Weight: w})
	}
	v, err := inter.NewValidators(list)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func event(n byte, by inter.ValidatorID) *Event {
	return &Event{ID: inter.EventID{n}, Locator: inter.EventID{n, 1}, Creator: by}
}

// model is go-opera's counting, with everything in memory and nothing forgotten.
type model struct {
	tallies map[ballot]map[int]inter.Weight
	decided map[inter.BlockNumber][32]byte
	lowest  inter.BlockNumber
	lasts   map[inter.ValidatorID]inter.BlockNumber
}

type ballot struct {
	block inter.BlockNumber
	epoch inter.Epoch
	vote  [32]byte
}

func (m *model) add(by inter.ValidatorID, v *inter.BlockVotes, g *inter.Validators) {
	index, _ := g.Index(by)
	for i, vote := range v.Votes {
		b := ballot{v.Start + inter.BlockNumber(i), v.Epoch, vote}
		if m.tallies[b] == nil {
			m.tallies[b] = map[int]inter.Weight{}
		}
		if _, voted := m.tallies[b][index]; !voted {
			m.tallies[b][index] = g.At(index).Weight
		}
		var sum inter.Weight
		for _, w := range m.tallies[b] {
			sum += w
		}
		if _, done := m.decided[b.block]; !done && sum >= g.Total()/3+1 {
			m.decided[b.block] = vote
		}
	}
	for _, ok := m.decided[m.lowest]; ok; _, ok = m.decided[m.lowest] {
		m.lowest++
	}
	m.lasts[by] = max(m.lasts[by], v.Last())
}

// Votes in any order, right, wrong and repeated, of groups that change, decide what a plain
// count decides, also after starts in between.
func TestVotesAreCountedAsAPlainCountDoes(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 0))
		s := newStore(t)
		l := opened(t, s)
		m := model{tallies: map[ballot]map[int]inter.Weight{}, decided: map[inter.BlockNumber][32]byte{}, lowest: 11, lasts: map[inter.ValidatorID]inter.BlockNumber{}}
		groups := []*inter.Validators{group(t, 5, 4, 3, 2, 1), group(t, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)}
		for n := range 150 {
			g := groups[n/100]
			by := g.At(random.IntN(g.Len())).ID
			v := &inter.BlockVotes{Start: m.lowest + inter.BlockNumber(random.IntN(8)) - 3, Epoch: 5 + inter.Epoch(random.IntN(2))}
			for range 1 + random.IntN(6) {
				v.Votes = append(v.Votes, [32]byte{byte(1 + random.IntN(4)/3)})
			}
			if err := l.AddBlocks(event(byte(n), by), v, g); err != nil {
				t.Fatal(err)
			}
			m.add(by, v, g)
			if random.IntN(3) == 0 {
				write(t, s, l)
				l = opened(t, s)
			}
			if block, epoch := l.Undecided(); block != m.lowest || epoch != 6 {
				t.Fatalf("seed %d, vote %d: block %d of epoch %d is undecided, want %d", seed, n, block, epoch, m.lowest)
			}
			if got, _ := l.LastVotes(by); got != m.lasts[by] {
				t.Fatalf("seed %d, vote %d: the last vote of %d is for block %d, want %d", seed, n, by, got, m.lasts[by])
			}
			for b := m.lowest; b < m.lowest+12; b++ {
				want, ok := m.decided[b]
				if got, err := l.DecidedBlock(b); err != nil || (got != nil) != ok || ok && [32]byte(got) != want {
					t.Fatalf("seed %d, vote %d: block %d is decided as %x, want %x: %v", seed, n, b, got, want, err)
				}
			}
		}
		write(t, s, l)
		left(t, s, l, m.lowest)
	}
}

// left fails if there are rows of what is decided.
func left(t *testing.T, s store.Store, l *Ledger, lowest inter.BlockNumber) {
	t.Helper()
	for _, table := range []store.Table{l.tables.tallies, l.tables.decided} {
		err := ascend(s, table, nil, func(key, _ []byte) error {
			if string(key) < string(blockKey(lowest)) {
				t.Errorf("row %x is left, below block %d", key, lowest)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// An epoch is decided by the validators of the one before, and what stands in events is found
// by epoch, last block and locator.
func TestVotesForEpochsAreCountedAndFound(t *testing.T) {
	s := newStore(t)
	l := opened(t, s)
	g := group(t, 1, 1, 1, 1)
	for i, v := range []inter.EpochVote{{Epoch: 7, Vote: [32]byte{7}}, {Epoch: 7, Vote: [32]byte{7}}, {Epoch: 6, Vote: [32]byte{9}}, {Epoch: 6, Vote: [32]byte{6}}} {
		if err := l.AddEpoch(event(byte(i), inter.ValidatorID(i+1)), &v, g); err != nil {
			t.Fatal(err)
		}
		if _, epoch := l.Undecided(); epoch != 6 {
			t.Errorf("after %d votes epoch %d is undecided", i+1, epoch)
		}
	}
	if err := l.AddEpoch(event(4, 1), &inter.EpochVote{Epoch: 6, Vote: [32]byte{6}}, g); err != nil {
		t.Fatal(err)
	}
	if _, epoch := l.Undecided(); epoch != 8 {
		t.Errorf("epoch %d is undecided once 6 and 7 are decided", epoch)
	}
	if _, last := l.LastVotes(1); last != 7 {
		t.Errorf("the last vote is for epoch %d", last)
	}
	if err := l.AddBlocks(event(5, 1), &inter.BlockVotes{Start: 11, Epoch: 6, Votes: [][32]byte{{1}}}, g); err != nil {
		t.Fatal(err)
	}
	write(t, s, l)
	var found []byte
	err := l.EpochVotes(s, 6, func(v Votes) bool {
		found = append(found, v.Event[0])
		return len(found) < 4
	})
	if err != nil || string(found) != "\x02\x03\x04\x00" {
		t.Errorf("votes of events %v, %v", found, err)
	}
	found = nil
	err = l.BlockVotes(s, nil, func(key []byte, v Votes) bool {
		found = append(found, v.Event[0], byte(len(key)))
		return true
	})
	if err != nil || string(found) != "\x05\x2c" {
		t.Errorf("votes of events %v, %v", found, err)
	}
}
