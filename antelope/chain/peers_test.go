package chain_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/exception"
	"tarn/antelope/execute"
	"tarn/antelope/types"
	"tarn/store"
	"tarn/store/page"
	"tarn/store/revision"
)

var (
	forkSeed   = flag.Uint64("forks.seed", 1, "seed of the fork tests")
	forkRounds = flag.Int("forks.rounds", 3, "chains of the fork tests")
)

// volatileStore is a store in memory.
func volatileStore() (store.Store, error) {
	e, err := page.OpenVolatile(64 << 20)
	if err != nil {
		return nil, err
	}
	return revision.Open(e)
}

// forks makes a chain that forks, with several producers.
func forks(t *testing.T, seed uint64, blocks int) *chaintest.Peers {
	t.Helper()
	p, err := chaintest.NewPeers(4, seed, func() (store.Store, error) {
		st, err := volatileStore()
		if err == nil {
			t.Cleanup(func() { st.Close() })
		}
		return st, err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	if err := p.Run(blocks); err != nil {
		t.Fatal(err)
	}
	if err := p.Heal(); err != nil {
		t.Fatal(err)
	}
	return p
}

func eachSeed(t *testing.T, f func(t *testing.T, seed uint64)) {
	for i := range *forkRounds {
		seed := *forkSeed + uint64(i)
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Logf("repeat with -forks.seed=%d -forks.rounds=1", seed)
			f(t, seed)
		})
	}
}

// memoryLog is a block log and a file of reversible blocks in memory.
type memoryLog struct {
	first      uint32
	blocks     []*types.SignedBlock
	reversible []*types.SignedBlock
}

func (l *memoryLog) First() uint32 { return l.first }

func (l *memoryLog) Head() (uint32, types.Checksum256, bool) {
	if len(l.blocks) == 0 {
		return 0, types.Checksum256{}, false
	}
	b := l.blocks[len(l.blocks)-1]
	return b.BlockNum(), b.ID(), true
}

func (l *memoryLog) Append(num uint32, id types.Checksum256, raw []byte) error {
	b := new(types.SignedBlock)
	if err := types.Decode(raw, b); err != nil {
		return err
	}
	if n := len(l.blocks); num != l.first+uint32(n) || b.ID() != id || n > 0 && b.Previous != l.blocks[n-1].ID() {
		return fmt.Errorf("block %d %s does not follow %d blocks from %d", num, id, n, l.first)
	}
	l.blocks = append(l.blocks, b)
	return nil
}

func (l *memoryLog) Read(num uint32) (*types.SignedBlock, error) {
	if num < l.first || num >= l.first+uint32(len(l.blocks)) {
		return nil, fmt.Errorf("no block %d", num)
	}
	return l.blocks[num-l.first], nil
}

func (l *memoryLog) Where(uint32) string { return "in memory" }

func (l *memoryLog) ReadRaw(num uint32) ([]byte, error) {
	b, err := l.Read(num)
	if err != nil {
		return nil, err
	}
	return b.Append(nil), nil
}

func (l *memoryLog) ReadToExecute(num uint32) ([]byte, error) { return l.ReadRaw(num) }

// memoryReversible is the other half.
type memoryReversible struct{ *memoryLog }

func (l memoryReversible) Append(raw []byte) error {
	b := new(types.SignedBlock)
	if err := types.Decode(raw, b); err != nil {
		return err
	}
	l.reversible = append(l.reversible, b)
	return nil
}

func (l memoryReversible) AppendDurably(raw []byte) error { return l.Append(raw) }

func (l memoryReversible) Obsolete(upTo uint32) error {
	l.reversible = slices.DeleteFunc(l.reversible, func(b *types.SignedBlock) bool { return b.BlockNum() <= upTo })
	return nil
}

// node is a chain with its logs, which can be opened again.
type loggedChain struct {
	t     *testing.T
	store store.Store
	log   *memoryLog
	opt   chain.Options
	*chain.Chain
}

func newLoggedChain(t *testing.T, g *types.Genesis, o chain.Options) *loggedChain {
	t.Helper()
	st, err := volatileStore()
	if err != nil {
		t.Fatal(err)
	}
	n := &loggedChain{t: t, store: st, log: &memoryLog{first: 2}, opt: o}
	n.opt.Blocks, n.opt.Reversible = n.log, memoryReversible{n.log}
	n.open()
	t.Cleanup(func() { n.Close(); st.Close() })
	if err := n.Genesis(g); err != nil {
		t.Fatal(err)
	}
	return n
}

func (n *loggedChain) open() {
	n.t.Helper()
	c, err := chain.Open(n.store, n.opt)
	if err != nil {
		n.t.Fatal(err)
	}
	n.Chain = c
}

// reopen ends the chain and resumes it from its store and logs.
func (n *loggedChain) reopen() {
	n.t.Helper()
	head := n.Head().ID
	if err := n.Close(); err != nil {
		n.t.Fatal(err)
	}
	n.open()
	if err := n.Resume(context.Background(), reversibleOf(slices.Clone(n.log.reversible)), nil); err != nil {
		n.t.Fatal(err)
	}
	if n.Head().ID != head {
		n.t.Fatalf("head is %d %s, and was %s before the restart", n.Head().BlockNum, n.Head().ID, head)
	}
}

// feedShuffled gives a chain all blocks in an order of its own: each when it links,
// some of them twice or too early, with restarts in between.
func (n *loggedChain) feedShuffled(blocks []*types.SignedBlock, seed uint64, restarts bool) {
	n.t.Helper()
	r := rand.New(rand.NewPCG(seed, 2))
	waiting := slices.Clone(blocks)
	lib := uint32(0)
	for len(waiting) > 0 {
		i := r.IntN(min(12, len(waiting)))
		b := waiting[i]
		err := push(n.t, n.Chain, b)
		switch {
		case exception.Is(err, exception.UnlinkableBlock):
			if b.BlockNum() <= n.Fork().Root().BlockNum+1 {
				waiting = slices.Delete(waiting, i, i+1) // its branch has lost
			} else if i == 0 &&
				!slices.ContainsFunc(waiting, func(x *types.SignedBlock) bool { return x.ID() == b.Previous }) {
				waiting = waiting[1:] // the block before it went with a branch that has lost
			}
			continue
		case err != nil:
			n.t.Fatalf("block %d %s: %v", b.BlockNum(), b.ID(), err)
		}
		waiting = slices.Delete(waiting, i, i+1)
		if root := n.Fork().Root().BlockNum; root < lib {
			n.t.Fatalf("block %d is irreversible after %d", root, lib)
		} else {
			lib = root
		}
		if r.IntN(5) == 0 {
			if err := push(n.t, n.Chain, b); err == nil {
				n.t.Fatalf("block %d was accepted twice", b.BlockNum())
			}
		}
		if restarts && r.IntN(20) == 0 {
			n.reopen()
		}
	}
}

// sameAs compares head, irreversible block and state with another chain's.
func (n *loggedChain) sameAs(what string, c *chain.Chain) {
	n.t.Helper()
	if n.Head().ID != c.Head().ID {
		n.t.Fatalf("%s: head %d %s, want %d %s", what, n.Head().BlockNum, n.Head().ID, c.Head().BlockNum, c.Head().ID)
	}
	if n.Fork().Root().ID != c.Fork().Root().ID {
		n.t.Errorf("%s: block %d is irreversible, want %d", what, n.Fork().Root().BlockNum, c.Fork().Root().BlockNum)
	}
	if got, want := hash(n.t, n.Chain), hash(n.t, c); got != want {
		n.t.Errorf("%s: hash %s, want %s", what, got, want)
	}
}

func TestFollowersOfAForkingChainAgreeInEveryOrder(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; not with -short")
	}
	eachSeed(t, func(t *testing.T, seed uint64) {
		p := forks(t, seed, 150)
		branches := make(map[uint32]int)
		for _, b := range p.Blocks {
			branches[b.BlockNum()]++
		}
		t.Logf("%d blocks of %d numbers", len(p.Blocks), len(branches))
		if len(branches) == len(p.Blocks) {
			t.Fatal("the chain does not fork")
		}
		for i := 1; i < 4; i++ {
			if a, b := hash(t, p.Chain(0)), hash(t, p.Chain(i)); a != b {
				t.Errorf("peers have hashes %s and %s", a, b)
			}
		}
		for i := range uint64(3) {
			var log bytes.Buffer
			n := newLoggedChain(t, &p.Genesis, chain.Options{
				Options: execute.Options{Log: slog.New(slog.NewTextHandler(&log, nil))}})
			n.feedShuffled(p.Blocks, seed*10+i, i > 0)
			n.sameAs(fmt.Sprintf("follower %d", i), p.Chain(0))
			if !strings.Contains(log.String(), "successfully switched fork to new head") {
				t.Errorf("the log does not tell of forks: %s", &log)
			}
		}
		n := newLoggedChain(t, &p.Genesis,
			chain.Options{TrustedProducers: []types.Name{types.N("peera"), types.N("peerb")}})
		n.feedShuffled(p.Blocks, seed*10+4, true)
		n.sameAs("follower that trusts", p.Chain(0))
		// The log of a follower, replayed from the genesis.
		replayed := newLoggedChain(t, &p.Genesis, chain.Options{Options: execute.Options{ForceAllChecks: seed%2 == 0}})
		replayed.log.blocks, replayed.log.reversible = n.log.blocks, n.log.reversible
		if err := replayed.Resume(context.Background(), reversibleOf(slices.Clone(n.log.reversible)), nil); err != nil {
			t.Fatal(err)
		}
		replayed.sameAs("replayed log", p.Chain(0))
	})
}

func TestAnIrreversibleFollowerHasOnlyWhatIsIrreversible(t *testing.T) {
	eachSeed(t, func(t *testing.T, seed uint64) {
		p := forks(t, seed, 100)
		n := newLoggedChain(t, &p.Genesis, chain.Options{IrreversibleMode: true})
		n.feedShuffled(p.Blocks, seed, true)
		root := p.Chain(0).Fork().Root()
		if n.Head().ID != root.ID {
			t.Fatalf("head %d, and block %d is irreversible", n.Head().BlockNum, root.BlockNum)
		}
		full := newLoggedChain(t, &p.Genesis, chain.Options{})
		full.log.blocks = n.log.blocks
		if err := full.Resume(context.Background(), nil, nil); err != nil {
			t.Fatal(err)
		}
		if got, want := hash(t, n.Chain), hash(t, full.Chain); got != want {
			t.Errorf("hash %s, want %s", got, want)
		}
	})
}

// mainBranch lists the blocks that lead to a chain's head.
func mainBranch(p *chaintest.Peers) []*types.SignedBlock {
	byID := make(map[types.Checksum256]*types.SignedBlock)
	for _, b := range p.Blocks {
		byID[b.ID()] = b
	}
	var branch []*types.SignedBlock
	for b := byID[p.Chain(0).Head().ID]; b != nil; b = byID[b.Previous] {
		branch = append(branch, b)
	}
	slices.Reverse(branch)
	return branch
}

// produceOn makes an empty block after a chain's head.
func produceOn(t *testing.T, c *chain.Chain, p *chaintest.Peers, slots int) *types.SignedBlock {
	t.Helper()
	protocol, err := c.State().Protocol.Get()
	if err != nil {
		t.Fatal(err)
	}
	s := execute.Start{
		Time: c.Head().Header.Timestamp + types.BlockTimestamp(slots), Status: execute.Incomplete,
		Activations: slices.Clone(protocol.Preactivated),
	}
	if err := c.StartBlock(s); err != nil {
		t.Fatal(err)
	}
	b, err := p.Maker(0).SignBlock(c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A branch that would be the best, and whose last block is not what it says, is left
// again: nothing remains of the visit.
func TestABranchThatEndsWithABadBlockIsLeftAgain(t *testing.T) {
	eachSeed(t, func(t *testing.T, seed uint64) {
		p := forks(t, seed, 60)
		main := mainBranch(p)
		r := rand.New(rand.NewPCG(seed, 3))
		n := newLoggedChain(t, &p.Genesis, chain.Options{})
		visits := 0
		for i, b := range main {
			if err := push(t, n.Chain, b); err != nil {
				t.Fatal(err)
			}
			back := 1 + r.IntN(4)
			if i%3 != 0 || i < 10 || i > len(main)-20 || n.Head().BlockNum-uint32(back) < n.Fork().Root().BlockNum {
				continue
			}
			tip := n.Head().ID
			evil := newLoggedChain(t, &p.Genesis, chain.Options{})
			for _, b := range main[:i+1-back] {
				if err := push(t, evil.Chain, b); err != nil {
					t.Fatal(err)
				}
			}
			for range back {
				b := produceOn(t, evil.Chain, p, 15+r.IntN(30))
				if n.Fork().Block(b.ID()) != nil {
					continue // another visit has made it
				}
				if err := push(t, n.Chain, b); err != nil {
					t.Fatalf("a good block of another branch: %v", err)
				}
			}
			head, before := n.Head().ID, hash(t, n.Chain)
			prev := evil.Head()
			bad := *produceOn(t, evil.Chain, p, 15)
			bad.ActionMRoot[3] ^= 4
			next, err := prev.Follow(&bad.SignedBlockHeader, nil, chainFeatures(t), nil)
			if err != nil {
				t.Fatal(err)
			}
			if bad.ProducerSignature, err = p.Maker(0).Key.Sign(next.SigningDigest()); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				err := push(t, n.Chain, &bad)
				if n.Head().ID != head || hash(t, n.Chain) != before {
					t.Fatalf("%v: head %s, was %s, hash %s, was %s", err, n.Head().ID, head, hash(t, n.Chain), before)
				}
				if err == nil {
					break // more is irreversible on the head's branch: it is not even tried
				}
				if !exception.Is(err, exception.BlockValidate) {
					t.Fatalf("a bad block: %v", err)
				}
				if head == tip {
					visits++
				}
			}
			if r.IntN(3) == 0 {
				n.reopen()
			}
		}
		if visits == 0 {
			t.Skip("with this seed no branch is visited")
		}
		t.Logf("%d branches visited", visits)
		n.sameAs("follower", p.Chain(0))
	})
}

// Blocks that are produced here are as safe as those of others.
func TestBlocksOfOurOwnSurviveARestart(t *testing.T) {
	p := forks(t, *forkSeed, 20)
	n := newLoggedChain(t, &p.Genesis, chain.Options{})
	n.feedShuffled(p.Blocks, 1, false)
	for range 5 {
		b := produceOn(t, n.Chain, p, 13)
		if err := n.LogIrreversible(); err != nil {
			t.Fatal(err)
		}
		want := hash(t, n.Chain)
		n.reopen()
		if n.Head().ID != b.ID() || hash(t, n.Chain) != want {
			t.Fatalf("head %d after block %d of our own", n.Head().BlockNum, b.BlockNum())
		}
	}
	if n.Head().BlockNum == n.Fork().Root().BlockNum {
		t.Fatal("nothing is reversible")
	}
}

// finalForks makes a chain that forks and goes over to Savanna's rules in between.
func finalForks(t *testing.T, seed uint64, blocks int) *chaintest.Peers {
	t.Helper()
	p := forks(t, seed, 10)
	if err := p.Finalise(); err != nil {
		t.Fatal(err)
	}
	if err := p.Run(blocks); err != nil {
		t.Fatal(err)
	}
	if err := p.Heal(); err != nil {
		t.Fatal(err)
	}
	return p
}

// Producers that are finalizers go over to Savanna's rules while their chain forks. They agree, and
// so do all who follow, in whatever order blocks come, with restarts in between, or with what is
// irreversible alone; and the log replays to the same.
func TestFollowersOfAChainThatGoesOverAgree(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; not with -short")
	}
	eachSeed(t, func(t *testing.T, seed uint64) {
		p := finalForks(t, seed, 150)
		head := p.Chain(0).Head()
		if !head.IsProper() || head.LIB() == 0 || head.BlockNum-head.LIB() > 40 {
			t.Fatalf("block %d is proper: %t, %d is irreversible", head.BlockNum, head.IsProper(), head.LIB())
		}
		branches := make(map[uint32]int)
		generations := head.Finality.Generation
		for _, b := range p.Blocks {
			branches[b.BlockNum()]++
		}
		t.Logf("%d blocks of %d numbers, block %d is irreversible, %d generations of finalizers, %d votes",
			len(p.Blocks), len(branches), head.LIB(), generations, len(p.Votes()))
		for i := 1; i < 4; i++ {
			if a, b := hash(t, p.Chain(0)), hash(t, p.Chain(i)); a != b {
				t.Errorf("peers have hashes %s and %s", a, b)
			}
		}
		for i := range uint64(3) {
			n := newLoggedChain(t, &p.Genesis, chain.Options{})
			n.feedShuffled(p.Blocks, seed*10+i, i > 0)
			n.sameAs(fmt.Sprintf("follower %d", i), p.Chain(0))
			for _, all := range []bool{false, true} {
				again := newLoggedChain(t, &p.Genesis, chain.Options{Options: execute.Options{ForceAllChecks: all}})
				again.log.blocks = n.log.blocks
				if err := again.Resume(t.Context(), reversibleOf(n.log.reversible), nil); err != nil {
					t.Fatal(err)
				}
				again.sameAs("replayed", p.Chain(0))
			}
		}
		n := newLoggedChain(t, &p.Genesis, chain.Options{IrreversibleMode: true})
		n.feedShuffled(p.Blocks, seed*10+5, true)
		if n.Head().BlockNum != head.LIB() {
			t.Errorf("in irreversible mode the head is %d, and %d is irreversible", n.Head().BlockNum, head.LIB())
		}
	})
}
