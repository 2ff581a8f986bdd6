package p2p_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"tarn/antelope/crypto"
	"tarn/antelope/difftest"
	"tarn/antelope/p2p"
	"tarn/antelope/p2p/lightpeer"
	"tarn/antelope/types"
)

// startNodeos runs a real nodeos with a chain of its own, or skips.
func startNodeos(t *testing.T, ctx context.Context, produce bool, extra ...string) *difftest.Node {
	t.Helper()
	key := difftest.NewKey(1, "eosio")
	g := types.DefaultGenesis()
	g.InitialKey = key.Public()
	var producers map[types.Name]crypto.PrivateKey
	if produce {
		producers = map[types.Name]crypto.PrivateKey{types.N("eosio"): key}
	}
	return startNodeosIn(t, ctx, t.TempDir(), &g, producers, extra...)
}

// startNodeosIn runs a real nodeos in a folder, or skips.
func startNodeosIn(
	t *testing.T, ctx context.Context, dir string, g *types.Genesis, producers map[types.Name]crypto.PrivateKey,
	extra ...string,
) *difftest.Node {
	t.Helper()
	p, err := difftest.Find(ctx)
	if errors.Is(err, difftest.ErrNoPeer) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	n, err := p.Start(ctx, difftest.Config{Dir: dir, Genesis: g, Extra: extra, Producers: producers})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = n.Stop() // it may have been
		if b, _ := os.ReadFile(dir + "/nodeos.log"); t.Failed() {
			t.Logf("%s", b[max(0, len(b)-4000):])
		}
	})
	return n
}

// Real nodeos greets us, is synced from, relays to us, and another one syncs from us.
func TestNodeosIsAPeer(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; not with -short")
	}
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	real := startNodeos(t, ctx, true, "--plugin", "eosio::net_plugin", "--p2p-max-nodes-per-host",
		"5", "--agent-name", "judge")
	if err := real.AwaitHead(ctx, 12, false); err != nil {
		t.Fatal(err)
	}
	info, err := real.Info(ctx)
	if err != nil {
		t.Fatal(err)
	}
	chainID, err := types.ParseChecksum256(info.ChainID)
	if err != nil {
		t.Fatal(err)
	}
	first := firstBlock(t, ctx, real.P2P(), chainID)
	chain := p2p.NewFakeChain(chainID, first)
	ours := p2p.StartNode(t, chain, func(o *p2p.Options) { o.Peers = []string{real.P2P()} })
	ours.Eventually(t, "the head of nodeos", func() bool { return ours.Head() >= 12 })
	// New blocks come without being asked for.
	before := ours.Head()
	ours.Eventually(t, "blocks that are relayed", func() bool { return ours.Head() >= before+6 })

	second := startNodeos(t, ctx, false, "--plugin", "eosio::net_plugin", "--p2p-peer-address", ours.Address(),
		"--read-only-read-window-time-us", "500000")
	if err := second.AwaitHead(ctx, before+6, false); err != nil {
		t.Fatalf("nodeos does not sync from us: %v", err)
	}
	at := ours.Head()
	if err := second.AwaitHead(ctx, at+4, false); err != nil {
		t.Fatalf("blocks are not relayed to nodeos: %v", err)
	}
	for _, s := range ours.Connections() {
		if s.LastHandshake.NetworkVersion < 1207 || s.LastHandshake.ChainID != chainID || s.Syncing {
			t.Errorf("%+v", s)
		}
	}
}

// firstBlock asks a node for its first block.
func firstBlock(t *testing.T, ctx context.Context, address string, chain types.Checksum256) *types.SignedBlock {
	t.Helper()
	p, err := lightpeer.Dial(ctx, address, chain)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	_ = p.SetDeadline(time.Now().Add(20 * time.Second))
	if err := p.SendHandshake(); err != nil {
		t.Fatal(err)
	}
	for asked := false; ; {
		m, err := p.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if os.Getenv("TARN_P2P_SHOW") != "" {
			frame, _ := p2p.AppendFrame(nil, m)
			fmt.Printf("%T %+v\n%x\n", m, m, frame[4:])
		}
		if b, ok := m.(*types.SignedBlock); ok {
			return b
		}
		if !asked {
			asked = true
			if err := p.Send(p2p.SyncRequest{Start: 1, End: 1}); err != nil {
				t.Fatal(err)
			}
		}
	}
}
