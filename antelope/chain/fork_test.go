package chain_test

import (
	"context"
	"iter"
	"testing"

	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/exception"
	"tarn/antelope/execute"
	"tarn/antelope/snapshot"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// maker makes a chain whose blocks the test pushes elsewhere.
func maker(t *testing.T) *chaintest.Maker {
	t.Helper()
	m, err := chaintest.New(newStore(t), chain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Chain.Close() })
	return m
}

func block(t *testing.T, m *chaintest.Maker, actions ...types.Action) *types.SignedBlock {
	t.Helper()
	b, err := m.Block(actions...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func push(t *testing.T, c *chain.Chain, b *types.SignedBlock) error {
	t.Helper()
	p, err := c.Prepare(b, b.ID())
	if err != nil {
		return err
	}
	return c.PushBlock(p)
}

func hash(t *testing.T, c *chain.Chain) (h types.Checksum256) {
	t.Helper()
	viewed(t, c, func(v *state.View) (err error) {
		h, err = snapshot.Hash(v, c.Standing(), snapshot.Options{})
		return err
	})
	return h
}

// viewed reads a chain's state as it is now.
func viewed(t *testing.T, c *chain.Chain, read func(*state.View) error) {
	t.Helper()
	if err := c.Publish(); err != nil {
		t.Fatal(err)
	}
	v, err := c.View()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	if err := read(v); err != nil {
		t.Fatal(err)
	}
}

// follower is a chain with the same genesis.
func follower(t *testing.T, m *chaintest.Maker) *chain.Chain {
	t.Helper()
	return followerWith(t, m, chain.Options{})
}

func followerWith(t *testing.T, m *chaintest.Maker, o chain.Options) *chain.Chain {
	t.Helper()
	c, err := chain.Open(newStore(t), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.Genesis(&m.Genesis); err != nil {
		t.Fatal(err)
	}
	return c
}

// With one producer every block makes the one before irreversible, so forks of one
// block are all there can be. The genesis block is where both start.
func TestAFollowerArrivesAtTheProducersState(t *testing.T) {
	m := maker(t)
	c := follower(t, m)
	for i := range 20 {
		b := block(t, m, m.CreateAccount(types.N("account"+string(rune('a'+i)))))
		if err := push(t, c, b); err != nil {
			t.Fatal(err)
		}
		if c.Head().ID != b.ID() {
			t.Fatalf("head is %s after block %s", c.Head().ID, b.ID())
		}
	}
	if a, b := hash(t, m.Chain), hash(t, c); a != b {
		t.Errorf("hashes %s and %s", a, b)
	}
	if lib := c.Fork().Root().BlockNum; lib != c.Head().BlockNum-1 {
		t.Errorf("block %d is irreversible at head %d", lib, c.Head().BlockNum)
	}
}

// With two blocks 2 a checkpoint decides, wherever the other one comes from.
func TestABlockThatIsNotTheCheckpointIsRefused(t *testing.T) {
	m := maker(t)
	first := block(t, m)
	c := follower(t, m)
	if err := push(t, c, first); err != nil {
		t.Fatal(err)
	}
	second := block(t, m, m.CreateAccount(types.N("alice")))
	o := chain.Options{Checkpoints: map[uint32]types.Checksum256{3: second.ID()}}
	other := *second
	other.ActionMRoot[0] ^= 1
	sign(t, c, m, &other)

	n := newLoggedChain(t, &m.Genesis, o)
	if err := push(t, n.Chain, first); err != nil {
		t.Fatal(err)
	}
	if err := push(t, n.Chain, &other); !exception.Is(err, exception.Checkpoint) || n.Fork().Block(other.ID()) != nil {
		t.Fatalf("another block than the checkpoint: %v", err)
	}
	if err := push(t, n.Chain, second); err != nil {
		t.Fatal(err)
	}
	for range 2 { // so that it is in the log
		if err := push(t, n.Chain, block(t, m)); err != nil {
			t.Fatal(err)
		}
	}
	start := func(o chain.Options, reversible ...*types.SignedBlock) error {
		n.Close()
		o.Blocks = n.log
		n.opt = o
		n.open()
		return n.Resume(t.Context(), reversibleOf(reversible), nil)
	}
	if err := start(o); err != nil {
		t.Fatal(err)
	}
	o.Checkpoints = map[uint32]types.Checksum256{3: other.ID()}
	if err := start(o); !exception.Is(err, exception.Checkpoint) {
		t.Errorf("a checkpoint below the head: %v", err)
	}
	n.log.blocks = n.log.blocks[:3]
	logged := newLoggedChain(t, &m.Genesis, o)
	logged.Close()
	logged.opt.Blocks = n.log
	logged.open()
	if err := logged.Resume(t.Context(), nil, nil); !exception.Is(err, exception.Checkpoint) ||
		logged.Head().BlockNum >= 3 {
		t.Errorf("replayed: block %d, %v", logged.Head().BlockNum, err)
	}
	left := newLoggedChain(t, &m.Genesis, o)
	if err := left.Resume(t.Context(), reversibleOf([]*types.SignedBlock{first, second}), nil); err != nil ||
		left.Head().BlockNum != 2 {
		t.Errorf("reversible blocks: block %d, %v", left.Head().BlockNum, err)
	}
}

func TestABlockThatIsKnownOrDoesNotLinkIsRefused(t *testing.T) {
	m := maker(t)
	c := follower(t, m)
	first, second := block(t, m), block(t, m)
	if err := push(t, c, second); err == nil {
		t.Error("a block without its parent was accepted")
	}
	if err := push(t, c, first); err != nil {
		t.Fatal(err)
	}
	if err := push(t, c, first); err == nil {
		t.Error("a block was accepted twice")
	}
	if err := push(t, c, second); err != nil {
		t.Fatal(err)
	}
}

// A block whose header is well signed, and whose state is not what it says, leaves
// no trace.
func TestABlockWithAnotherStateIsForgotten(t *testing.T) {
	m := maker(t)
	c := follower(t, m)
	if err := push(t, c, block(t, m)); err != nil {
		t.Fatal(err)
	}
	before, head := hash(t, c), c.Head().ID
	good := block(t, m, m.CreateAccount(types.N("alice")))
	bad := *good
	bad.ActionMRoot[0] ^= 1
	p, err := c.Fork().Root().Next(bad.Timestamp, bad.Confirmed)
	_ = p
	if err != nil {
		t.Fatal(err)
	}
	sign(t, c, m, &bad)
	if err := push(t, c, &bad); err == nil {
		t.Fatal("a block with a wrong action root was accepted")
	}
	if c.Head().ID != head || hash(t, c) != before {
		t.Error("the refused block left something behind")
	}
	if err := push(t, c, good); err != nil {
		t.Errorf("the good block after it: %v", err)
	}
}

// sign signs a block that follows c's head.
func sign(t *testing.T, c *chain.Chain, m *chaintest.Maker, b *types.SignedBlock) {
	t.Helper()
	h := *c.Head().HeaderState
	next, err := h.Follow(&b.SignedBlockHeader, nil, chainFeatures(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	if b.ProducerSignature, err = m.Key.Sign(next.SigningDigest()); err != nil {
		t.Fatal(err)
	}
}

// reversibleOf makes the blocks of a slice what a file of reversible blocks gives.
func reversibleOf(blocks []*types.SignedBlock) iter.Seq2[*types.SignedBlock, error] {
	return func(yield func(*types.SignedBlock, error) bool) {
		for _, b := range blocks {
			if !yield(b, nil) {
				return
			}
		}
	}
}

func TestResumeAppliesReversibleBlocksAndSkipsWhatDoesNotLink(t *testing.T) {
	m := maker(t)
	var blocks []*types.SignedBlock
	for i := range 6 {
		blocks = append(blocks, block(t, m, m.CreateAccount(types.N("account"+string(rune('a'+i))))))
	}
	c := follower(t, m)
	list := append([]*types.SignedBlock{blocks[3]}, blocks...) // the first does not link yet
	if err := c.Resume(context.Background(), reversibleOf(list), nil); err != nil {
		t.Fatal(err)
	}
	if c.Head().ID != blocks[5].ID() {
		t.Errorf("head is block %d", c.Head().BlockNum)
	}
	if a, b := hash(t, m.Chain), hash(t, c); a != b {
		t.Errorf("hashes %s and %s", a, b)
	}
}

// In irreversible mode a block is applied when another has made it irreversible. The
// keys that were found when it came are used then, those that were not are found,
// and whether it is trusted is said by the block that is pushed.
func TestABlockThatWaitsToBeIrreversibleKeepsItsKeys(t *testing.T) {
	m := maker(t)
	blocks := []*types.SignedBlock{block(t, m, m.CreateAccount(types.N("alice"))), block(t, m)}
	eosio, stranger := types.N("eosio"), types.PublicKey{Point: [33]byte{2}}
	for _, c := range []struct {
		name    string
		trusted []types.Name
		keys    []types.PublicKey
		refused bool
	}{
		{"another key", nil, []types.PublicKey{stranger}, true},
		{"another key, trusted", []types.Name{eosio}, []types.PublicKey{stranger}, false},
		{"no key", nil, nil, false},
		{"no key, trusted", []types.Name{eosio}, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := followerWith(t, m, chain.Options{IrreversibleMode: true, TrustedProducers: c.trusted})
			var last error
			for _, b := range blocks {
				if last != nil {
					t.Fatal("refused before it was applied: ", last)
				}
				bs, err := f.CheckHeader(f.Fork().HeaderState(b.Previous), b, b.ID())
				if err != nil {
					t.Fatal(err)
				}
				candidates, err := execute.Unpack(b)
				if err != nil {
					t.Fatal(err)
				}
				for _, x := range candidates {
					x.Keys = c.keys
				}
				last = f.PushBlock(chain.NewPrepared(bs, candidates))
			}
			if c.refused {
				if !exception.Is(last, exception.UnsatisfiedAuthorization) {
					t.Errorf("%v", last)
				}
			} else if last != nil || f.Head().ID != blocks[0].ID() {
				t.Errorf("head %d, %v", f.Head().BlockNum, last)
			}
		})
	}
}
