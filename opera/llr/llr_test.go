package llr

import (
	"errors"
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

// openLedger is the ledger of a store, which begins after block 10 of epoch 5.
func openLedger(t *testing.T, s store.Store) *Ledger {
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
	for _, step := range []func() error{s.Begin, func() error { return l.Write(s) }, s.Push,
		func() error { return s.Commit(s.Head()) }, s.Publish} {
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
		l := openLedger(t, s)
		m := model{tallies: map[ballot]map[int]inter.Weight{}, decided: map[inter.BlockNumber][32]byte{}, lowest: 11,
			lasts: map[inter.ValidatorID]inter.BlockNumber{}}
		groups := []*inter.Validators{group(t, 5, 4, 3, 2, 1), group(t, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)}
		for n := range 150 {
			g := groups[n/100]
			by := g.At(random.IntN(g.Len())).ID
			v := &inter.BlockVotes{Start: m.lowest + inter.BlockNumber(random.IntN(8)) - 3,
				Epoch: 5 + inter.Epoch(random.IntN(2))}
			for range 1 + random.IntN(6) {
				v.Votes = append(v.Votes, [32]byte{byte(1 + random.IntN(4)/3)})
			}
			if err := l.AddBlocks(event(byte(n), by), v, g); err != nil {
				t.Fatal(err)
			}
			m.add(by, v, g)
			if random.IntN(3) == 0 {
				write(t, s, l)
				l = openLedger(t, s)
			}
			if block, epoch := l.Undecided(); block != m.lowest || epoch != 6 {
				t.Fatalf("seed %d, vote %d: block %d of epoch %d is undecided, want %d",
					seed, n, block, epoch, m.lowest)
			}
			if got, _ := l.LastVotes(by); got != m.lasts[by] {
				t.Fatalf("seed %d, vote %d: the last vote of %d is for block %d, want %d",
					seed, n, by, got, m.lasts[by])
			}
			for b := m.lowest; b < m.lowest+12; b++ {
				want, ok := m.decided[b]
				if got, err := l.DecidedBlock(b); err != nil || (got != nil) != ok || ok && [32]byte(got) != want {
					t.Fatalf("seed %d, vote %d: block %d is decided as %x, want %x: %v", seed, n, b, got, want, err)
				}
			}
		}
		write(t, s, l)
		checkLeft(t, s, l, m.lowest)
	}
}

// checkLeft fails if there are rows of what is decided.
func checkLeft(t *testing.T, s store.Store, l *Ledger, lowest inter.BlockNumber) {
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
	l := openLedger(t, s)
	g := group(t, 1, 1, 1, 1)
	for i, v := range []inter.EpochVote{{Epoch: 7, Vote: [32]byte{7}}, {Epoch: 7, Vote: [32]byte{7}},
		{Epoch: 6, Vote: [32]byte{9}}, {Epoch: 6, Vote: [32]byte{6}}} {
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

// votes are a validator's votes for blocks of an epoch, without their event.
func votes(by inter.ValidatorID, of inter.Epoch, start inter.BlockNumber, hashes ...byte) *inter.SignedBlockVotes {
	v := &inter.SignedBlockVotes{Val: inter.BlockVotes{Start: start, Epoch: of}}
	v.Signed.Locator.Creator = by
	for _, h := range hashes {
		v.Val.Votes = append(v.Val.Votes, [32]byte{h})
	}
	return v
}

// Votes that came without their event count where their validator has said nothing of a block yet,
// whatever it says now, and where more votes are wanted; before a write as after it.
func TestVotesCountOnceForEachBlock(t *testing.T) {
	s := newStore(t)
	l := openLedger(t, s)
	g := group(t, 1, 1, 1, 1)
	count := func(what string, v *inter.SignedBlockVotes, want bool) {
		t.Helper()
		if got, err := l.BlocksCount(v); err != nil || got != want {
			t.Errorf("%s count: %v, %v", what, got, err)
		}
	}
	first := votes(1, 6, 20, 1, 1)
	count("the first votes", first, true)
	if err := l.AddSignedBlocks(first, g); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		count("the same votes", first, false)
		count("other votes of the same validator", votes(1, 6, 20, 2, 3), false)
		count("its vote for one block more", votes(1, 6, 21, 2, 3), true)
		count("its votes of another epoch", votes(1, 7, 20, 2), true)
		count("another validator's votes", votes(2, 6, 20, 1), true)
		write(t, s, l)
	}
	if err := errors.Join(l.AddSignedBlocks(votes(1, 6, 11, 1), g),
		l.AddSignedBlocks(votes(2, 6, 11, 1), g)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		count("votes for what is decided and here", votes(3, 6, 11, 1), false)
		write(t, s, l)
	}
	epoch := func(by inter.ValidatorID, hash byte) *inter.SignedEpochVote {
		v := &inter.SignedEpochVote{Val: inter.EpochVote{Epoch: 6, Vote: [32]byte{hash}}}
		v.Signed.Locator.Creator = by
		return v
	}
	for i, want := range []bool{true, false, true, false} {
		v := epoch(inter.ValidatorID(1+i/2), byte(i%2))
		got, err := l.EpochCounts(v)
		if err != nil || got != want {
			t.Errorf("vote %d for an epoch counts: %v, %v", i, got, err)
		}
		if got {
			if err := l.AddSignedEpoch(v, g); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got, err := l.EpochCounts(epoch(3, 0)); err != nil || got {
		t.Errorf("a vote for an epoch that is decided counts: %v, %v", got, err)
	}
}

// Groups of two epochs vote for a block, and each of their validators has the other's index. Who has
// voted is known by id, and goes when the block is decided; tallies stay go-opera's, where one index
// counts once.
func TestVotersAreKnownByTheirIDs(t *testing.T) {
	s := newStore(t)
	l := openLedger(t, s)
	before, after := group(t, 2, 1, 5, 5), group(t, 1, 2, 5, 5)
	weight := func() []byte {
		t.Helper()
		tally, err := l.get(l.tables.tallies, append(blockBallot(11, 5), votes(0, 5, 11, 1).Val.Votes[0][:]...))
		if err != nil || len(tally) < 4 {
			t.Fatalf("the tally is %x, %v", tally, err)
		}
		return tally[:4]
	}
	for i, by := range []struct {
		id    inter.ValidatorID
		group *inter.Validators
	}{{1, before}, {2, after}} {
		for k, want := range []bool{true, false, false} {
			v := votes(by.id, 5, 11, 1)
			v.Signed.Locator.Seq = inter.Seq(k)
			counts, err := l.BlocksCount(v)
			if err == nil && counts {
				err = l.AddSignedBlocks(v, by.group)
			}
			if err != nil || counts != want {
				t.Fatalf("vote %d of validator %d counts: %v, %v", k, by.id, counts, err)
			}
			write(t, s, l)
			l = openLedger(t, s)
		}
		if got := weight(); got[3] != 2 {
			t.Errorf("after %d votes of one index the weight is %x", i+1, got)
		}
	}
	if err := errors.Join(l.AddSignedBlocks(votes(3, 5, 11, 1), before),
		l.AddSignedBlocks(votes(4, 5, 11, 1), before)); err != nil {
		t.Fatal(err)
	}
	write(t, s, l)
	checkLeft(t, s, l, 12)
}

// A store whose tallies an older program made does not say who voted: a validator is heard once more,
// and its vote has no more weight than before.
func TestTalliesWithoutVotersAreGoneOnWith(t *testing.T) {
	s := newStore(t)
	l := openLedger(t, s)
	g := group(t, 1, 1, 1, 1)
	if err := l.AddSignedBlocks(votes(1, 5, 11, 1), g); err != nil {
		t.Fatal(err)
	}
	l.put(l.tables.tallies, blockBallot(11, 5), nil)
	write(t, s, l)
	l = openLedger(t, s)
	for i, want := range []bool{true, false} {
		v := votes(1, 5, 11, 1)
		v.Signed.Locator.Seq = inter.Seq(i + 1)
		counts, err := l.BlocksCount(v)
		if err == nil && counts {
			err = l.AddSignedBlocks(v, g)
		}
		if err != nil || counts != want {
			t.Errorf("vote %d after the older program's counts: %v, %v", i, counts, err)
		}
	}
	if block, _ := l.Undecided(); block != 11 {
		t.Errorf("a quarter of the weight has decided; block %d is undecided", block)
	}
	if err := l.AddSignedBlocks(votes(2, 5, 11, 1), g); err != nil {
		t.Fatal(err)
	}
	if block, _ := l.Undecided(); block != 12 {
		t.Errorf("half of the weight has not decided; block %d is undecided", block)
	}
}

// What is forgotten of a block is looked for among its own tallies, not among those of all blocks of
// which there are votes that are not written yet: a stranger's votes are for thousands.
func TestTalliesOfABlockAreFoundAmongTheirOwn(t *testing.T) {
	s := newStore(t)
	l := openLedger(t, s)
	g := group(t, 1, 1, 1, 1)
	for i := range 100 {
		if err := l.AddBlocks(event(byte(i), 1),
			&inter.BlockVotes{Start: 20 + inter.BlockNumber(i), Epoch: 6, Votes: [][32]byte{{1}, {2}}}, g); err != nil {
			t.Fatal(err)
		}
	}
	for record, keys := range l.tallied {
		if len(keys) > 3 {
			t.Errorf("%d tallies are looked through for %x", len(keys), record)
		}
	}
	seen := 0
	if err := l.tallies(blockKey(50), func([]byte) { seen++ }); err != nil || seen != 3 {
		t.Errorf("%d rows of two tallies and their voters, %v", seen, err)
	}
	write(t, s, l)
	if len(l.tallied) != 0 {
		t.Errorf("%d records wait after a write", len(l.tallied))
	}
}
