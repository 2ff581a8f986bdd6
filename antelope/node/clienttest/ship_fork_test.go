package clienttest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/consensus"
	"tarn/antelope/difftest"
	"tarn/antelope/exception"
	"tarn/antelope/execute"
	"tarn/antelope/feature"
	"tarn/antelope/p2p/lightpeer"
	"tarn/antelope/types"
	"tarn/store"
	"tarn/store/engine"
)

// forkedChain is a chain of peers that forks, and what becomes the head with each of its
// blocks.
type forkedChain struct {
	genesis types.Genesis
	blocks  []*types.SignedBlock
	heads   [][]types.Checksum256 // of each block: those that become the head, in turn
	first   types.Checksum256     // the block that the genesis is
	lib     uint32                // at the end
}

// final is the head in the end.
func (f *forkedChain) final() types.Checksum256 {
	all := slices.Concat(f.heads...)
	return all[len(all)-1]
}

// position is a block as a request names it.
type position struct {
	Num uint32 `json:"block_num"`
	ID  string `json:"block_id"`
}

// lostBlocks are the blocks that were the head and are not on the last branch, one of each
// number.
func (f *forkedChain) lostBlocks() (list []position) {
	last := map[uint32]types.Checksum256{}
	lost := map[uint32]types.Checksum256{}
	for _, id := range slices.Concat(f.heads...) {
		num := types.BlockNum(id)
		if was, ok := last[num]; ok && was != id {
			lost[num] = was
		}
		last[num] = id
	}
	for _, num := range slices.Sorted(maps.Keys(lost)) {
		list = append(list, position{num, lost[num].String()})
	}
	return list
}

// peers makes a chain that forks often enough, as far as the package's nodeos can follow.
func peers(t *testing.T) *forkedChain {
	t.Helper()
	for s := uint64(seed); ; s++ {
		p, err := chaintest.NewPeers(4, s, func() (store.Store, error) { return openStore(t) })
		if err == nil {
			err = p.Run(120)
		}
		if err == nil {
			err = p.Heal()
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		f := &forkedChain{genesis: p.Genesis, blocks: p.Blocks}
		f.follow(t)
		if lost := len(f.lostBlocks()); lost >= 8 && len(f.blocks) >= 60 {
			t.Logf("seed %d: %d blocks, %d of the branch that wins in the place of others", s, len(f.blocks), lost)
			return f
		}
	}
}

func openStore(t *testing.T) (store.Store, error) {
	st, err := engine.Open(filepath.Join(t.TempDir(), "state"), engine.Options{Kind: engine.Page})
	if err == nil {
		t.Cleanup(func() { st.Close() })
	}
	return st, err
}

// follow gives the blocks to a chain that tells what becomes its head. It leaves out those
// that the chain cannot have, and ends before what nodeos 4.1 does not know, and what the
// package's fails at: handlers of deferred transactions that failed.
func (f *forkedChain) follow(t *testing.T) {
	t.Helper()
	set, err := feature.Builtins()
	if err != nil {
		t.Fatal(err)
	}
	st, err := openStore(t)
	if err != nil {
		t.Fatal(err)
	}
	c, err := chain.Open(st, chain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var heads []types.Checksum256
	beyond := false
	c.Subscribe(chain.Hooks{
		AcceptedBlock: func(b *consensus.BlockState) { heads = append(heads, b.ID) },
		AcceptedHeader: func(b *consensus.BlockState) {
			for _, c := range []feature.Codename{feature.BLSPrimitives, feature.DisableDeferredTrxsStage1,
				feature.DisableDeferredTrxsStage2, feature.Savanna} {
				beyond = beyond || b.Activated.HasBuiltin(set, c)
			}
		},
		Applied: func(x *types.TransactionTrace, _ *execute.Candidate) { beyond = beyond || x.FailedDeferred != nil },
	})
	if err := errors.Join(c.Genesis(&f.genesis), c.Resume(t.Context(), nil, nil)); err != nil {
		t.Fatal(err)
	}
	f.first = c.Head().ID
	var known []*types.SignedBlock
	for _, b := range f.blocks {
		heads = nil
		lib := c.Head().Irreversible
		x, err := c.Prepare(b, b.ID())
		if err == nil {
			err = c.PushBlock(x)
		}
		switch {
		case exception.Is(err, exception.UnlinkableBlock):
			continue // of a branch that has lost
		case err != nil:
			t.Fatal(err)
		}
		if beyond {
			break
		}
		known, f.heads, f.lib = append(known, b), append(f.heads, heads), lib
	}
	f.blocks = known
}

// feed is a peer that gives a node the blocks.
func feed(t *testing.T, ctx context.Context, n *difftest.Node, g *types.Genesis) *lightpeer.Peer {
	t.Helper()
	p, err := lightpeer.Dial(ctx, n.P2P(), g.ChainID())
	if err != nil {
		t.Fatal(err)
	}
	if err := p.SendHandshake(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := p.Follow(ctx); ctx.Err() == nil && t.Context().Err() == nil {
			t.Log("the peer's connection ends: ", err)
		}
	}()
	t.Cleanup(func() {
		p.Close()
		<-ended
	})
	return p
}

// audience is a client of each of the two, at work.
type audience struct {
	mu    sync.Mutex
	lines [2][][]byte
	more  chan struct{} // has room for one
	ended sync.WaitGroup
}

// listenTo starts a client on both nodes.
func (x *indexed) listenTo(t *testing.T, run func(env []string) *exec.Cmd, env ...string) *audience {
	a := &audience{more: make(chan struct{}, 1)}
	for i := range x.nodes {
		a.ended.Go(func() {
			x.listen(t, i, run(append(os.Environ(), env...)), func(line []byte) {
				a.mu.Lock()
				a.lines[i] = append(a.lines[i], bytes.Clone(line))
				a.mu.Unlock()
				select {
				case a.more <- struct{}{}:
				default:
				}
			})
		})
	}
	return a
}

// await waits until each client has said so many lines.
func (a *audience) await(t *testing.T, ctx context.Context, lines int) {
	t.Helper()
	for limit := time.After(20 * time.Second); ; {
		a.mu.Lock()
		ours, theirs := len(a.lines[0]), len(a.lines[1])
		a.mu.Unlock()
		if ours >= lines && theirs >= lines {
			return
		}
		select {
		case <-a.more:
		case <-ctx.Done():
			t.Fatal(ctx.Err())
		case <-limit:
			t.Fatalf("%d lines of tarn, %d of nodeos, want %d", ours, theirs, lines)
		}
	}
}

// are checks which blocks a client was sent, after the status.
func (a *audience) are(t *testing.T, want []types.Checksum256) {
	t.Helper()
	for i, lines := range a.lines {
		if len(lines) != len(want)+1 {
			t.Errorf("%d blocks, want %d", len(lines)-1, len(want))
		}
		for k := range min(len(lines)-1, len(want)) {
			var said struct {
				This struct {
					ID string `json:"block_id"`
				} `json:"this_block"`
			}
			if err := json.Unmarshal(lines[k+1], &said); err != nil {
				t.Fatal(err)
			}
			if !strings.EqualFold(said.This.ID, want[k].String()) {
				t.Fatalf("node %d: block %d of the stream is %s, want %s", i, k, said.This.ID, want[k])
			}
		}
	}
}

// A client that listens while the chain forks is sent the same by both, message by
// message: the blocks that come in the place of others, from the first of them on.
func TestIndexersSeeTheForksThatNodeosShows(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	x, _ := newIndexed(t, ctx)
	run := npm(t, ctx, "ship.mjs")
	f := peers(t)
	var feeds []*lightpeer.Peer
	for i := range x.nodes {
		x.start(t, ctx, i, difftest.Config{Genesis: &f.genesis})
		feeds = append(feeds, feed(t, ctx, x.nodes[i], &f.genesis))
	}
	final := f.final()
	followers := map[string]*audience{}
	for _, d := range decoders {
		// eosio-ship-reader takes longer to allow more than the chain takes to fork.
		followers[d] = x.listenTo(t, run, "DECODER="+d, "UNTIL="+final.String(),
			"CONTRACTS=", fmt.Sprintf(`REQUEST={"max_messages_in_flight":%d}`,
				map[bool]uint32{true: 1 << 30, false: 10}[d == "reader"]))
	}
	irreversible := x.listenTo(t, run, "DECODER=abieos", fmt.Sprint("LAST=", f.lib-2),
		fmt.Sprintf(`REQUEST={"irreversible_only":true,"end_block_num":%d}`, f.lib-1))
	want := []types.Checksum256{f.first}
	var single []int // lines of blocks that became the head alone, and the moment is sure
	followers["reader"].await(t, ctx, 1)
	irreversible.await(t, ctx, 1)
	for i, b := range f.blocks {
		for _, d := range []string{"wharfkit", "abieos"} {
			followers[d].await(t, ctx, len(want)+1)
		}
		for _, p := range feeds {
			if err := p.Send(b); err != nil {
				t.Fatal(err)
			}
		}
		if want = append(want, f.heads[i]...); len(f.heads[i]) == 1 {
			single = append(single, len(want))
		}
	}
	for _, d := range decoders {
		t.Run(d, func(t *testing.T) {
			a := followers[d]
			a.ended.Wait()
			if d != "reader" {
				a.are(t, want)
				alone := func(lines [][]byte) (list [][]byte) {
					for _, k := range single {
						list = append(list, lines[k])
					}
					return list
				}
				same(t, alone(a.lines[0]), alone(a.lines[1]))
			}
			sameBlocks(t, a.lines[0], a.lines[1])
			t.Logf("%d lines", len(a.lines[1]))
		})
	}
	t.Run("irreversible blocks", func(t *testing.T) {
		irreversible.ended.Wait()
		sameBlocks(t, irreversible.lines[0], irreversible.lines[1])
		t.Logf("%d lines", len(irreversible.lines[1]))
	})
	t.Run("a client that has lost blocks", func(t *testing.T) {
		text, err := json.Marshal(map[string]any{"start_block_num": types.BlockNum(final) + 1,
			"have_positions": f.lostBlocks()})
		if err != nil {
			t.Fatal(err)
		}
		out := x.words(t, run, "DECODER=abieos", "UNTIL="+final.String(), "REQUEST="+string(text))
		same(t, out[0], out[1])
		t.Logf("%d lines", len(out[1]))
	})
}
