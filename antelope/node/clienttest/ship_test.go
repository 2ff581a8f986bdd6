package clienttest_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"tarn/antelope/difftest"
	"tarn/antelope/types"
	"tarn/internal/freeport"
)

// indexed are a nodeos and a node of ours that both keep both histories.
type indexed struct {
	names    [2]string
	nodes    [2]*difftest.Node // ours first
	ship     [2]string         // where each serves its state history
	programs [2]difftest.Executable
}

func newIndexed(t *testing.T, ctx context.Context) (*indexed, *difftest.Peer) {
	t.Helper()
	p, self := programs(t, ctx)
	ports, err := freeport.Addresses(2)
	if err != nil {
		t.Fatal(err)
	}
	ours := difftest.Executable{Name: "tarn", Path: self, Args: []string{"nodeos"},
		Env: append(os.Environ(), asNodeos+"=1")}
	return &indexed{names: [2]string{"tarn", "nodeos"}, ship: [2]string(ports),
		programs: [2]difftest.Executable{ours, p.Nodeos()}}, p
}

// start starts one of the two; c gets a folder and the options of the history.
func (x *indexed) start(t *testing.T, ctx context.Context, i int, c difftest.Config) {
	t.Helper()
	c.Dir = t.TempDir()
	c.Extra = append(slices.Clone(c.Extra), "--plugin", "eosio::state_history_plugin",
		"--trace-history", "--chain-state-history",
		"--state-history-endpoint", x.ship[i], "--disable-replay-opts", "--read-only-threads", "0",
		"--p2p-max-nodes-per-host", "10",
		"--plugin", "eosio::net_plugin")
	n, err := x.programs[i].Start(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	x.nodes[i] = n
	t.Cleanup(func() {
		if err := n.Stop(); err != nil {
			t.Log(err)
		}
		if b, _ := os.ReadFile(c.Dir + "/nodeos.log"); t.Failed() {
			t.Logf("%s: %s", x.names[i], b[max(0, len(b)-3000):])
		}
	})
}

// rest stops production and waits until both have the same head, which stays.
func (x *indexed) rest(t *testing.T, ctx context.Context, producer *difftest.Node) types.Checksum256 {
	t.Helper()
	if err := producer.Pause(ctx); err != nil {
		t.Fatal(err)
	}
	// The block that was being made may still come.
	for seen, since := "", time.Now(); ; time.Sleep(100 * time.Millisecond) {
		a, errA := x.nodes[0].Info(ctx)
		b, errB := x.nodes[1].Info(ctx)
		if err := errors.Join(errA, errB); err != nil {
			t.Fatal(err)
		}
		if a.HeadID != b.HeadID || a.HeadID != seen {
			seen, since = a.HeadID, time.Now()
		} else if time.Since(since) > 2*time.Second {
			id, err := types.ParseChecksum256(seen)
			if err != nil {
				t.Fatal(err)
			}
			return id
		}
	}
}

// decoders are those of js/ship.mjs.
var decoders = []string{"wharfkit", "abieos", "reader"}

// words runs the client on both and returns what it says of each, line by line.
func (x *indexed) words(t *testing.T, run func(env []string) *exec.Cmd, env ...string) (out [2][][]byte) {
	t.Helper()
	var wg sync.WaitGroup
	for i := range x.nodes {
		wg.Go(func() {
			x.listen(t, i, run(append(os.Environ(), env...)),
				func(line []byte) { out[i] = append(out[i], bytes.Clone(line)) })
		})
	}
	wg.Wait()
	return out
}

// listen runs a client of one of the two until it ends, and gives each line that it says
// to heard.
func (x *indexed) listen(t *testing.T, i int, cmd *exec.Cmd, heard func(line []byte)) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Error(err)
		return
	}
	defer r.Close()
	var errs bytes.Buffer
	cmd.Stderr, cmd.ExtraFiles = &errs, []*os.File{w}
	cmd.Env = append(cmd.Env, "SHIP_URL=ws://"+x.ship[i], "NODE_URL="+x.nodes[i].URL())
	err = cmd.Start()
	w.Close()
	if err != nil {
		t.Error(err)
		return
	}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		heard(lines.Bytes())
	}
	if err := errors.Join(lines.Err(), cmd.Wait()); err != nil {
		t.Errorf("%s: %v\n%.3000s", x.names[i], err, errs.String())
	}
}

// same compares what a client says of both, byte by byte.
func same(t *testing.T, got, want [][]byte) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d lines of tarn, %d of nodeos", len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if !bytes.Equal(got[i], want[i]) {
			at := 0
			for at < min(len(got[i]), len(want[i])) && got[i][at] == want[i][at] {
				at++
			}
			from := max(0, at-300)
			t.Fatalf("line %d differs at byte %d:\n  tarn ...%s\nnodeos ...%s",
				i, at, got[i][from:min(at+300, len(got[i]))], want[i][from:min(at+300, len(want[i]))])
		}
	}
}

// moments are what a client says of the head and the irreversible block.
var moments = regexp.MustCompile(`"(head|last_irreversible)":\{[^}]*\},|"last_irreversible_block_(num|id)":[^,]*,`)

// sameBlocks compares what a client says of blocks, without the status, which comes
// first. What each node has as its head by then is a matter of time.
func sameBlocks(t *testing.T, got, want [][]byte) {
	t.Helper()
	cut := func(list [][]byte) (out [][]byte) {
		for _, line := range list[min(1, len(list)):] {
			out = append(out, moments.ReplaceAll(line, nil))
		}
		return out
	}
	same(t, cut(got), cut(want))
}

// A chain that nodeos makes and this node follows is the same to each indexer, from the
// first block to the head.
func TestIndexersSeeWhatNodeosShows(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	x, p := newIndexed(t, ctx)
	run := npm(t, ctx, "ship.mjs")
	list := difftest.Workloads()
	w := list[slices.IndexFunc(list, func(w difftest.Workload) bool { return w.Name == "system-all" })]
	g, keys := difftest.Genesis(w, seed)
	// A nodeos that produces begins its history with the state inside of its first block.
	maker, err := p.Start(ctx, difftest.Config{Dir: t.TempDir(), Genesis: &g, Producers: keys,
		Extra: []string{"--plugin", "eosio::net_plugin", "--p2p-max-nodes-per-host", "10"}})
	if err != nil {
		t.Fatal(err)
	}
	defer maker.Kill()
	for i := range x.nodes {
		x.start(t, ctx, i, difftest.Config{Genesis: &g, Extra: []string{"--p2p-peer-address", maker.P2P()}})
	}
	live := make(chan [2][][]byte)
	go func() {
		live <- x.words(t, run, "DECODER=abieos", `REQUEST={"max_messages_in_flight":3}`, "LAST=20")
	}()
	if _, _, err := p.Drive(ctx, maker, w, seed, g.ChainID(), 6*time.Second, t.Output()); err != nil {
		t.Fatal(err)
	}
	told := <-live
	t.Run("while blocks come", func(t *testing.T) { sameBlocks(t, told[0], told[1]) })
	head := x.rest(t, ctx, maker)
	t.Logf("%d blocks", types.BlockNum(head))
	for _, d := range decoders {
		t.Run(d, func(t *testing.T) {
			out := x.words(t, run, "DECODER="+d, "UNTIL="+head.String(), "CONTRACTS=eosio.token", "ACK=4",
				`REQUEST={"max_messages_in_flight":9}`)
			same(t, out[0], out[1])
			t.Logf("%d lines, %d bytes", len(out[1]), len(bytes.Join(out[1], nil)))
		})
	}
	t.Run("blocks alone", func(t *testing.T) {
		out := x.words(t, run, "DECODER=abieos", fmt.Sprint("LAST=", types.BlockNum(head)-5),
			fmt.Sprintf(
				`REQUEST={"start_block_num":%d,"fetch_traces":false,"fetch_deltas":false,`+
					`"have_positions":[{"block_num":7,"block_id":"%064d"}]}`, types.BlockNum(head)-20, 7))
		same(t, out[0], out[1])
	})
}
