package node

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/consensus"
	"tarn/antelope/finalizer"
	"tarn/antelope/producer"
	"tarn/antelope/types"
	"tarn/store"
	"tarn/store/engine"
)

// finalPeers makes a chain that has gone over to Savanna's rules.
func finalPeers(t *testing.T, count int) *chaintest.Peers {
	t.Helper()
	p, err := chaintest.NewPeers(count, 1, func() (store.Store, error) {
		st, err := engine.Open(t.TempDir(), engine.Options{Kind: engine.Page})
		if err == nil {
			t.Cleanup(func() { st.Close() })
		}
		return st, err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	if err := p.Finalise(); err != nil {
		t.Fatal(err)
	}
	for len(p.Blocks) < 2000 && !p.Chain(0).Head().IsProper() {
		if err := p.Run(20); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Heal(); err != nil {
		t.Fatal(err)
	}
	return p
}

// startAt starts a node, and gives it the peers' blocks.
func startAt(t *testing.T, o Options, p *chaintest.Peers) *Node {
	t.Helper()
	n := mustStart(t, o)
	for _, b := range p.Blocks {
		if err := give(n.Chain(), b); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// produceForAll has a node make the blocks of all peers.
func produceForAll(o *producer.Options, n *Node, p *chaintest.Peers) {
	key := p.Maker(0).Key
	o.StaleProduction = true
	o.Signers = map[types.PublicKey]producer.SignatureProvider{key.Public(): func(d types.Checksum256) (types.Signature,
		error) {
		return key.Sign(d)
	}}
	for _, a := range n.Chain().Head().ActiveSchedule.Producers {
		o.Producers = append(o.Producers, a.Producer)
	}
}

// serveBlocks serves a node that produces for all peers, until the last irreversible block is so many
// blocks on, or the time is over. It tells how many blocks that has gone on.
func serveBlocks(
	t *testing.T, o Options, p *chaintest.Peers, votes *finalizer.Options, want uint32, atMost time.Duration,
	during func(),
) uint32 {
	t.Helper()
	n := startAt(t, o, p)
	po := producer.Defaults()
	po.Log = o.Log
	produceForAll(&po, n, p)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	var on atomic.Uint32
	n.Chain().Subscribe(chain.Hooks{Irreversible: func(*consensus.BlockState) { on.Add(1) }})
	go func() { ended <- n.Serve(ctx, Services{Producer: po, Finalizers: votes}) }()
	for end := time.Now().Add(atMost); time.Now().Before(end) && on.Load() < want; {
		time.Sleep(20 * time.Millisecond)
	}
	if during != nil {
		during()
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	return on.Load()
}

// A node whose finalizers are a quorum makes its own blocks irreversible, after another start too.
// Without them nothing becomes so, and nobody else votes with their folder meanwhile.
func TestFinalizersOfANodeMakeBlocksIrreversible(t *testing.T) {
	t.Parallel() // waits for blocks
	const count = 3
	p := finalPeers(t, count)
	dir := t.TempDir()
	o := options(dir, engine.Options{})
	o.Genesis = &p.Genesis
	o.Log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	votes := &finalizer.Options{Dir: filepath.Join(dir, "finalizers")}
	for i := range count {
		votes.Keys = append(votes.Keys, chaintest.FinalizerKey(i))
	}
	if on := serveBlocks(t, o, p, nil, 1, 4*time.Second, nil); on > 0 {
		t.Errorf("%d blocks became irreversible without a vote", on)
	}
	o.Genesis, p.Blocks = nil, nil
	for start := range 2 {
		on := serveBlocks(t, o, p, votes, 6, 2*time.Minute, func() {
			if _, err := finalizer.Open(*votes); err == nil || !strings.Contains(err.Error(), "another process") {
				t.Errorf("the folder was opened twice: %v", err)
			}
		})
		if on < 6 {
			t.Errorf("start %d: the last irreversible block went on by %d", start, on)
		}
	}
}

func TestKeysOfFinalizersAreCheckedBeforeTheStart(t *testing.T) {
	one, other := chaintest.FinalizerKey(0), chaintest.FinalizerKey(1)
	if k, err := parseFinalizer(one.Public().String() + "=KEY:" + one.Text()); err != nil ||
		k.Public() != one.Public() {
		t.Errorf("a key as it should be: %v", err)
	}
	for spec, want := range map[string]string{
		one.Public().String() + "=KEY:" + other.Text():          "is that of another finalizer, PUB_BLS_",
		one.Public().String() + "=KEOSD:http://localhost":       "no wallet has",
		one.Public().String()[:40] + "=KEY:" + one.Text():       "the public key: ",
		one.Public().String() + "=KEY:" + one.Text()[:30]:       "the private key: ",
		one.Public().String() + "=KEY:" + one.Public().String(): "the private key: ",
		one.Public().String() + "=" + one.Text():                "needs KEY: before PVT_BLS_",
		one.Public().String():                                   "<public key>=KEY:<private key> is expected",
	} {
		_, err := parseFinalizer(spec)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", spec, err, want)
		} else if strings.Contains(err.Error(), one.Text()[8:30]) {
			t.Errorf("%.60s: the error shows a private key: %v", spec, err)
		}
	}
	for spec, want := range map[string]string{
		one.Public().String() + "=" + other.Text(): one.Public().String(),
		one.Text() + "=KEY:" + one.Text():          "***",
		one.Text():                                 "***",
	} {
		if is := shownFinalizer(spec); is != want {
			t.Errorf("%.60s is shown as %s", spec, is)
		}
	}
}
