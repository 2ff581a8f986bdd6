package replica

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"testing"

	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/consensus"
	"tarn/antelope/exception"
	"tarn/antelope/tracelog"
	"tarn/antelope/types"
	"tarn/fleet"
	"tarn/fleet/fleettest"
	"tarn/fleet/stream"
	"tarn/store"
	"tarn/store/engine"
	"tarn/store/page"
	"tarn/store/revision"
)

var seedFlag = flag.Uint64("replica.seed", 1, "seed of the chain and of what is told when")

func openStore(t testing.TB, kind engine.Kind) store.Store {
	t.Helper()
	st, err := engine.Open(t.TempDir(), engine.Options{Kind: kind})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}

// forks makes a chain that forks and goes over to Savanna's rules in between.
func forks(t *testing.T, seed uint64, blocks int) *chaintest.Peers {
	t.Helper()
	p, err := chaintest.NewPeers(4, seed, func() (store.Store, error) {
		e, err := page.OpenVolatile(64 << 20)
		if err != nil {
			return nil, err
		}
		st, err := revision.Open(e)
		if err == nil {
			t.Cleanup(func() { st.Close() })
		}
		return st, err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	for _, step := range []func() error{func() error { return p.Run(blocks / 3) }, p.Finalise,
		func() error { return p.Run(blocks) }, p.Heal} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// node is a chain whose blocks a fleet gets.
type node struct {
	*chain.Chain
	store  store.Store
	origin *Origin
	kept   *histories // nil for none
}

func newNode(t *testing.T, p *chaintest.Peers, records bool) *node {
	t.Helper()
	n := &node{store: openStore(t, engine.Page)}
	var err error
	if n.Chain, err = chain.Open(n.store, chain.Options{}); err != nil {
		t.Fatal(err)
	}
	var packings []chain.Packing
	if records {
		n.kept = keep(t, n.Chain)
		packings = append(n.kept.ship.Packings(), tracelog.Packing())
	}
	n.origin = NewOrigin(n.Chain, n.store, 1<<30, packings...)
	n.Subscribe(n.origin.Hooks())
	t.Cleanup(func() { n.Close() })
	if err := errors.Join(n.Genesis(&p.Genesis), n.Resume(t.Context(), nil, nil)); err != nil {
		t.Fatal(err)
	}
	n.origin.Serve(func(_ context.Context, f func(*chain.Chain) error) error { return f(n.Chain) })
	return n
}

// push gives the node a block, which may be worse than its head, or of no branch that it knows.
func (n *node) push(t *testing.T, b *types.SignedBlock) {
	t.Helper()
	p, err := n.Prepare(b, b.ID())
	if err == nil {
		err = n.PushBlock(p)
	}
	if err != nil && exception.Of(err) == nil {
		t.Fatal(err)
	}
}

// follower is a replica, and what was told to it.
type follower struct {
	*Replica
	chain *chain.Chain
	store store.Store
	began types.Checksum256
	final fleet.Point // as it was told last
	kept  *histories  // nil for none
}

// join makes a replica of the node's present state.
func join(t *testing.T, n *node, kind engine.Kind, records bool) *follower {
	t.Helper()
	im, err := n.origin.Image(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	_, err = fleet.WriteImage(&file, im.ImageHeader, im.View, func(int64) error { return nil })
	if err = errors.Join(err, im.View.Close()); err != nil {
		t.Fatal(err)
	}
	r, err := fleet.ReadImage(&file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	f := &follower{store: openStore(t, kind)}
	if f.chain, err = chain.Open(f.store, chain.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.chain.Close() })
	if records {
		f.kept = keep(t, f.chain)
	}
	if err := Load(f.chain, f.store, r, func(int64) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if err := f.chain.Resume(t.Context(), nil, nil); err != nil {
		t.Fatal(err)
	}
	f.began = f.chain.Head().ID
	f.Replica = New(f.chain, f.store, func(_ context.Context, do func(*chain.Chain) error) error { return do(f.chain) })
	return f
}

// follow tells the replica all that is new, in moves of at most size bytes. It returns false if the block that the
// replica began with was taken back.
func (f *follower) follow(t *testing.T, n *node, size int64) bool {
	t.Helper()
	for {
		head, _ := f.Head()
		m, err := n.origin.Line().Next(head, size)
		if err != nil {
			t.Fatal(err)
		}
		if m == nil {
			return true
		}
		if want := PointOf(n.Fork().Root().HeaderState); m.Final != want {
			t.Fatalf("block %d is told as irreversible; it is block %d", m.Final.Revision, want.Revision)
		}
		f.final = m.Final
		told := m.Append(nil)
		if m, err = fleet.DecodeMove(told); err != nil {
			t.Fatal(err)
		}
		err = applyMove(t, f, m)
		clear(told) // as the next message does
		if errors.Is(err, fleet.ErrDiffers) && f.chain.Fork().Root().ID == f.began {
			return false
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// same compares all rows of two stores, and what the chains say of themselves.
func (f *follower) same(t *testing.T, n *node) {
	t.Helper()
	if a, b := f.chain.Head(), n.Head(); a.ID != b.ID || a.BlockNum != b.BlockNum {
		t.Fatalf("the replica is at block %d (%s), the node at %d (%s)", a.BlockNum, a.ID, b.BlockNum, b.ID)
	}
	// A block that can still be taken back in the node is where a replica may have begun.
	early := n.Fork().Root().BlockNum < types.BlockNum(f.began)
	// What became irreversible after the last move is told with the next one.
	late := f.final.Revision < uint64(n.Fork().Root().BlockNum)
	if a := PointOf(f.chain.Fork().Root().HeaderState); a != f.final &&
		f.final.Revision > uint64(types.BlockNum(f.began)) {
		t.Fatalf("block %d is irreversible in the replica, %d is told", a.Revision, f.final.Revision)
	}
	if a, b := f.chain.Standing().Append(nil), n.Standing().Append(nil); !bytes.Equal(a, b) {
		t.Fatal("the header states differ")
	}
	if a, b := f.store.Irreversible(), n.store.Irreversible(); a != b && !early && !late {
		t.Fatalf("revision %d is irreversible in the replica's store, %d in the node's", a, b)
	}
	for _, table := range n.store.Tables() {
		if err := fleettest.SameTable(f.store, n.store, table.ID); err != nil {
			t.Fatalf("at block %d, table %s: %v", n.Head().BlockNum, table.Name, err)
		}
	}
}

func hash(t *testing.T, c *chain.Chain) types.Checksum256 {
	t.Helper()
	h, err := chaintest.Hash(c)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// Replicas on all engines that begin at any block of a chain with forks, and hear of it now and then, have after
// each time the node's rows, header states, irreversible block and hash.
func TestReplicasHaveTheNodesState(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; not with -short")
	}
	p := forks(t, *seedFlag, 150)
	r := rand.New(rand.NewPCG(*seedFlag, 7))
	t.Logf("repeat with -replica.seed=%d", *seedFlag)
	n := newNode(t, p, false)
	kinds := engine.Kinds()
	replicas := make([]*follower, len(kinds))
	switches, joined := 0, 0
	n.Subscribe(chain.Hooks{Forked: func([]*consensus.BlockState) { switches++ }})
	for i, b := range p.Blocks {
		n.push(t, b)
		for k, f := range replicas {
			switch {
			case f == nil && i >= k*len(p.Blocks)/(2*len(kinds)) && n.Head().BlockNum > 1:
				replicas[k] = join(t, n, kinds[k], false)
				joined++
			case f != nil && r.IntN(6) == 0:
				if !f.follow(t, n, r.Int64N(20_000)) {
					replicas[k] = nil // it began with a block that was taken back
					continue
				}
				f.same(t, n)
			}
		}
	}
	if *seedFlag == 1 && (switches == 0 || !n.Head().IsProper()) { // chance decides with other seeds
		t.Fatalf("%d switches of forks; the node is at block %d", switches, n.Head().BlockNum)
	}
	for k, f := range replicas {
		if f == nil || !f.follow(t, n, 1<<20) {
			t.Errorf("there is no replica on %s at the end", kinds[k])
			continue
		}
		f.same(t, n)
		if a, b := hash(t, f.chain), hash(t, n.Chain); a != b {
			t.Errorf("the integrity hash is %s, that of the node %s", a, b)
		}
	}
	t.Logf("%d blocks, %d switches of forks, replicas began %d times", len(p.Blocks), switches, joined)
}

// A replica that stands still in the middle of a switch of forks goes on with one large move. Readers never see a
// block as irreversible that is above the newest.
func TestAReplicaThatStoodStillInASwitchGoesOn(t *testing.T) {
	p := forks(t, *seedFlag, 150)
	n := newNode(t, p, false)
	t.Logf("repeat with -replica.seed=%d", *seedFlag)
	var f *follower
	stood, switches := 0, 0
	for i, b := range p.Blocks {
		n.push(t, b)
		if f == nil {
			if i > 5 && n.Head().BlockNum > 1 {
				f = join(t, n, engine.Page, false)
				f.neverShowsTheRootAboveTheHead(t)
			}
			continue
		}
		if f.chain.Fork().Head().ID != f.chain.Head().ID && stood < 60 {
			stood++
			continue
		}
		size := int64(1) // a block at a time, unless much has come while it stood
		if stood > 0 {
			size, switches = 1<<30, switches+1
		}
		stood = 0
		head, _ := f.Head()
		m, err := n.origin.Line().Next(head, size)
		if err != nil {
			t.Fatal(err)
		}
		if m == nil {
			continue
		}
		err = applyMove(t, f, m)
		if errors.Is(err, fleet.ErrDiffers) && f.chain.Fork().Root().ID == f.began {
			f = nil // it began with a block that was taken back
			continue
		}
		if err != nil {
			t.Fatalf("block %d, %d blocks after block %d: %v", i, len(m.Blocks), m.Base().Revision, err)
		}
	}
	if *seedFlag == 1 && switches == 0 {
		t.Error("it never stood still in a switch")
	}
	if f == nil || !f.follow(t, n, 1<<20) {
		t.Fatal("there is no replica at the end")
	}
	f.same(t, n)
}

// neverShowsTheRootAboveTheHead looks at what readers see whenever a block is adopted.
func (f *follower) neverShowsTheRootAboveTheHead(t *testing.T) {
	f.chain.Subscribe(chain.Hooks{AcceptedBlock: func(*consensus.BlockState) {
		v, err := f.store.View()
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close() //nolint:errcheck // nothing was written
		if root := uint64(f.chain.Fork().Root().BlockNum); root > v.Revision() {
			t.Errorf("block %d is irreversible, and readers see block %d", root, v.Revision())
		}
	}})
}

// applyMove brings a move to a replica.
func applyMove(t *testing.T, f stream.Replica, m *fleet.Move) error {
	t.Helper()
	apply, err := f.Prepare(m.Blocks, m.Final)
	if err != nil {
		return err
	}
	return apply(t.Context(), m.Base())
}
