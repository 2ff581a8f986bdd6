package node_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"tarn/antelope/crypto"
	"tarn/antelope/difftest"
	"tarn/antelope/node"
	"tarn/antelope/p2p"
	"tarn/antelope/producer"
	"tarn/antelope/rpc"
	"tarn/antelope/rpc/nodeoshttp"
	"tarn/antelope/types"
	"tarn/internal/freeport"
	"tarn/store/engine"
)

// findPeer returns nodeos, or the test is skipped.
func findPeer(t *testing.T, ctx context.Context) *difftest.Peer {
	t.Helper()
	if testing.Short() {
		t.Skip("starts nodes; not with -short")
	}
	p, err := difftest.Find(ctx)
	if errors.Is(err, difftest.ErrNoPeer) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	return p
}

// workload finds one by its name.
func workload(t *testing.T, name string) difftest.Workload {
	t.Helper()
	list := difftest.Workloads()
	i := slices.IndexFunc(list, func(w difftest.Workload) bool { return w.Name == name })
	if i < 0 {
		t.Fatalf("no workload %s", name)
	}
	return list[i]
}

// addresses finds some on loopback that nothing listens on.
func addresses(t *testing.T, n int) []string {
	t.Helper()
	list, err := freeport.Addresses(n)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// startTarn runs a node of ours in this process until the test ends, the way the
// command does, and waits until it answers.
func startTarn(
	t *testing.T, genesis *types.Genesis, producers map[types.Name]crypto.PrivateKey, peers ...string,
) *difftest.Node {
	t.Helper()
	return launch{genesis: genesis, producers: producers, peers: peers,
		clients: p2p.DefaultOptions().MaxClients}.untilTheEnd(t)
}

// startTracking is startTarn for a node that remembers something, and keeps a history. The
// function that it returns stops the node, if it has not ended by itself, and tells how it ended.
func startTracking(
	t *testing.T, genesis *types.Genesis, producers map[types.Name]crypto.PrivateKey, track node.Tracking,
	history *node.History, peers ...string,
) (*difftest.Node, func() error) {
	t.Helper()
	return launch{genesis: genesis, producers: producers, peers: peers, clients: p2p.DefaultOptions().MaxClients,
		track: track, history: history}.start(t)
}

// launch is what a node of ours is started with.
type launch struct {
	genesis   *types.Genesis
	snapshot  string // instead of a genesis
	producers map[types.Name]crypto.PrivateKey
	peers     []string
	clients   uint32 // peers that may connect; 0 for any number
	track     node.Tracking
	history   *node.History // nil for none
}

// untilTheEnd runs the node until the test ends, which fails if the node ends with an error.
func (l launch) untilTheEnd(t *testing.T) *difftest.Node {
	t.Helper()
	client, ended := l.start(t)
	t.Cleanup(func() {
		if err := ended(); err != nil {
			t.Error("the node ends with", err)
		}
	})
	return client
}

// start is what startTracking does.
func (l launch) start(t *testing.T) (*difftest.Node, func() error) {
	t.Helper()
	at, dir := addresses(t, 2), t.TempDir()
	f, err := os.Create(filepath.Join(dir, "tarn.log"))
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(f, &slog.HandlerOptions{Level: slog.LevelInfo}))
	po := producer.Defaults()
	po.Log, po.StaleProduction, po.SnapshotsDir = log, len(l.producers) > 0, filepath.Join(dir, "snapshots")
	po.MaxTransactionTime, po.MaxFailures = 400*time.Millisecond, 1e6
	po.Signers = map[types.PublicKey]producer.SignatureProvider{}
	for name, key := range l.producers {
		po.Producers = append(po.Producers, name)
		po.Signers[key.Public()] = func(d types.Checksum256) (types.Signature, error) { return key.Sign(d) }
	}
	no := p2p.DefaultOptions()
	no.Listen, no.Peers, no.Log, no.MaxNodesPerHost = []string{at[1]}, l.peers, log, 10
	no.MaxClients = l.clients
	ctx, cancel := context.WithCancel(t.Context())
	n, err := node.Open(ctx, node.Options{StateDir: filepath.Join(dir, "state"),
		BlocksDir:    filepath.Join(dir, "blocks"),
		SnapshotsDir: po.SnapshotsDir, Log: log, Genesis: l.genesis, Snapshot: l.snapshot,
		Recovery: 50 * time.Millisecond, History: l.history,
		Engine: engine.Options{Kind: engine.Page, Mode: engine.Modes()[1], LimitBytes: 8 << 30, GuardBytes: 64 << 20}})
	if err == nil {
		err = n.Start(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- n.Serve(ctx, node.Services{Producer: po, P2P: &no, HTTP: &node.HTTP{
			Listen: []node.Listen{{Address: at[0], Categories: nodeoshttp.All}}, Plugins: nodeoshttp.All,
			Server: nodeoshttp.Options{MaxBody: 32 << 20, MaxBytesInFlight: -1, MaxConnections: -1, AnyHost: true},
			API: rpc.Config{MaxResponseTime: 10 * time.Second, ABITime: 10 * time.Second, ReadOnly: true,
				VersionString: "v5.0.3"},
			Track: l.track,
		}})
	}()
	end := sync.OnceValue(func() error {
		err := errors.Join(<-ended, n.Close())
		f.Close()
		if b, _ := os.ReadFile(f.Name()); t.Failed() {
			t.Logf("%s", b[max(0, len(b)-6000):])
		}
		return err
	})
	stop := func() error {
		cancel()
		return end()
	}
	t.Cleanup(func() { stop() }) //nolint:errcheck // whoever cares has asked
	client := difftest.Attach(at[0], at[1])
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if _, err := client.Info(ctx); err == nil {
			return client, stop
		} else if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// startNodeos runs a real one until the test ends.
func startNodeos(
	t *testing.T, ctx context.Context, p *difftest.Peer, genesis *types.Genesis,
	producers map[types.Name]crypto.PrivateKey, extra ...string,
) *difftest.Node {
	t.Helper()
	c := difftest.Config{Dir: t.TempDir(), Genesis: genesis, Producers: producers,
		Extra: append(extra, "--p2p-max-nodes-per-host", "10", "--plugin", "eosio::net_api_plugin",
			"--read-only-read-window-time-us", "500000")}
	n, err := p.Start(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Stop(); err != nil {
			t.Log(err)
		}
		if b, _ := os.ReadFile(c.Dir + "/nodeos.log"); t.Failed() {
			t.Logf("%s", b[max(0, len(b)-4000):])
		}
	})
	return n
}

// sameState stops production and compares the heads and hashes of the nodes.
func sameState(t *testing.T, ctx context.Context, from *difftest.Node, others ...*difftest.Node) {
	t.Helper()
	if err := from.Pause(ctx); err != nil {
		t.Fatal(err)
	}
	// The block that was being made may still come, on a busy machine late: a head that
	// has stood still for longer than blocks take is the last one.
	head, hash, err := from.IntegrityHash(ctx)
	for before := ""; err == nil && head != before; {
		time.Sleep(time.Second)
		before = head
		head, hash, err = from.IntegrityHash(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	id, err := types.ParseChecksum256(head)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("block %d, hash %s", types.BlockNum(id), hash)
	for i, n := range others {
		if err := n.AwaitHead(ctx, types.BlockNum(id), false); err != nil {
			t.Fatalf("node %d: %v", i, err)
		}
		gotHead, got, err := n.IntegrityHash(ctx)
		if err != nil {
			t.Fatalf("node %d: %v", i, err)
		}
		if gotHead != head || got != hash {
			t.Errorf("node %d: block %s with hash %s, want %s with %s", i, gotHead, got, head, hash)
		}
	}
}

// tellsOfItself checks what a node that produces says of its health and its work. At any
// moment a checkpoint may just have written all that was dirty.
func tellsOfItself(t *testing.T, ctx context.Context, n *difftest.Node, transactions int) {
	t.Helper()
	if status, text, err := n.Ask(ctx, "/readyz", ""); err != nil || status != 200 {
		t.Errorf("not ready: %d %s, %v", status, text, err)
	}
	nextBlock(t, ctx, n) // the last transactions are in the block that is being made
	// A block is the head before it counts, and a checkpoint takes its time.
	missing := lacksMetrics(t, ctx, n, transactions)
	for end := time.Now().Add(time.Minute); missing != "" &&
		time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		missing = lacksMetrics(t, ctx, n, transactions)
	}
	if missing != "" {
		t.Error(missing)
	}
	if status, _, _ := n.Ask(ctx, "/v1/prometheus/metrics", `{"a":1}`); status != 400 {
		t.Errorf("metrics with parameters: %d", status)
	}
}

// lacksMetrics says which metrics of a node that produces are missing or too low.
func lacksMetrics(t *testing.T, ctx context.Context, n *difftest.Node, transactions int) (missing string) {
	t.Helper()
	status, text, err := n.Ask(ctx, "/v1/prometheus/metrics", "")
	if err != nil || status != 200 {
		t.Fatalf("%d %s, %v", status, text, err)
	}
	for name, least := range map[string]float64{"nodeos_trxs_produced_total": float64(transactions),
		"nodeos_blocks_produced": 8, "nodeos_p2p_clients": 1,
		"nodeos_head_block_num": 8, "nodeos_cpu_usage_us_total{block_type=\"produced\"}": 100,
		"tarn_state_dirty_bytes": 0, "tarn_checkpoints_total": 1,
		"tarn_process_memory_bytes{kind=\"anonymous\"}":              1 << 20,
		"nodeos_http_requests_total{handler=\"/v1/chain/get_info\"}": 1} {
		at := bytes.Index(text, []byte("\n"+name+" "))
		var got float64
		if at < 0 {
			missing += fmt.Sprintf("no %s\n", name)
		} else if _, err := fmt.Sscan(string(text[at+2+len(name):]), &got); err != nil || got < least {
			missing += fmt.Sprintf("%s is %v, want at least %v (%v)\n", name, got, least, err)
		}
	}
	return missing
}

// chainWork is how long a node is given work.
const chainWork = 3 * time.Second

func TestNodeosFollowsAChainThatIsMadeHere(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	p := findPeer(t, ctx)
	for _, name := range []string{"token", "mix"} {
		t.Run(name, func(t *testing.T) {
			w, seed := workload(t, name), uint64(time.Now().UnixNano())
			g, keys := difftest.Genesis(w, seed)
			ours := startTarn(t, &g, keys)
			follower := startNodeos(t, ctx, p, &g, nil, "--p2p-peer-address", ours.P2P())
			ok, bad, err := p.Drive(ctx, ours, w, seed, g.ChainID(), chainWork, t.Output())
			if err != nil {
				t.Fatal(fmt.Errorf("seed %d: %w", seed, err))
			}
			t.Logf("seed %d: %d transactions, %d refused", seed, ok, bad)
			late := startNodeos(t, ctx, p, &g, nil, "--p2p-peer-address", ours.P2P())
			tellsOfItself(t, ctx, ours, ok)
			sameState(t, ctx, ours, follower, late)
		})
	}
}

func TestAChainOfNodeosIsFollowed(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	p := findPeer(t, ctx)
	for _, name := range []string{"token", "mix"} {
		t.Run(name, func(t *testing.T) {
			w, seed := workload(t, name), uint64(time.Now().UnixNano())
			g, keys := difftest.Genesis(w, seed)
			real := startNodeos(t, ctx, p, &g, keys)
			follower := startTarn(t, &g, nil, real.P2P())
			ok, bad, err := p.Drive(ctx, real, w, seed, g.ChainID(), chainWork, t.Output())
			if err != nil {
				t.Fatal(fmt.Errorf("seed %d: %w", seed, err))
			}
			t.Logf("seed %d: %d transactions, %d refused", seed, ok, bad)
			late := startTarn(t, &g, nil, real.P2P())
			chained := startTarn(t, &g, nil, follower.P2P())
			sameState(t, ctx, real, follower, late, chained)
		})
	}
}
