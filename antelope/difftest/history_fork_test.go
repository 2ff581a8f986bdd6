package difftest

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"tarn/antelope/blocklog"
	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/exception"
	"tarn/antelope/feature"
	"tarn/antelope/ship"
	"tarn/antelope/tracelog"
	"tarn/antelope/types"
	"tarn/store"
	"tarn/store/engine"
)

// What a node records of a chain that forks time and again, while it follows, is in the end what
// nodeos records of the blocks that are left: deferred transactions, permissions and accounts that
// lost branches had leave nothing.
func TestTheHistoryOfAForkingChainIsNodeosOwn(t *testing.T) {
	t.Parallel()
	p := peer(t)
	seed := uint64(time.Now().UnixNano())
	var peers *chaintest.Peers
	var f *follower
	for f == nil || f.switches < 3 || f.blocks < 40 { // what nodeos does not know comes too early in many chains
		seed++
		peers = forking(t, seed)
		f = follow(t, peers, false)
	}
	t.Logf("seed %d", seed)
	f.compare(t, p, peers)
}

// The same of chains whose handlers of errors run, and beyond the features of nodeos 4.1: a nodeos of
// Leap 5 records what ours does, traces too.
func TestLeap5RecordsTheSameOfHandlersOfErrors(t *testing.T) {
	program := os.Getenv("TARN_LEAP_NODEOS")
	if program == "" {
		t.Skip("TARN_LEAP_NODEOS names no nodeos of Leap 5")
	}
	p := leap(t, program)
	seed := uint64(time.Now().UnixNano())
	var peers *chaintest.Peers
	var f *follower
	for f == nil || f.handled == 0 || f.switches == 0 {
		seed++
		peers = forking(t, seed)
		f = follow(t, peers, true)
	}
	t.Logf("seed %d, %d handlers of errors", seed, f.handled)
	f.compare(t, p, peers)
	log, work, ours := f.log(t, peers), t.TempDir(), t.TempDir()
	nodeosTraces(t, p, log, work)
	ourTraces(t, log, ours, tracelog.Options{}, deepMindEngine())
	sameFiles(t, ours, filepath.Join(work, "traces"))
}

// leap stands a nodeos in the place of the package's, which takes the name of a program first.
func leap(t *testing.T, program string) *Peer {
	t.Helper()
	p := &Peer{root: t.TempDir()}
	path := p.Program()
	script := fmt.Sprintf("#!/bin/sh\nshift\nexec '%s' \"$@\"\n", program)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
		os.WriteFile(path, []byte(script), 0o755)); err != nil {
		t.Fatal(err)
	}
	return p
}

// compare compares the follower's state history with that of a nodeos that replays its blocks.
func (f *follower) compare(t *testing.T, p *Peer, peers *chaintest.Peers) {
	t.Helper()
	work := t.TempDir()
	theirs, err := p.StateHistory(t.Context(), f.log(t, peers), work)
	if err != nil {
		said, _ := os.ReadFile(filepath.Join(work, "replay.log"))
		t.Fatalf("%v\n%s", err, said[max(0, len(said)-3000):])
	}
	blocks := 0
	for _, name := range []string{"trace_history.log", "chain_state_history.log"} {
		got, err1 := historyLog(filepath.Join(f.dir, name))
		want, err2 := historyLog(filepath.Join(theirs, name))
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		for num, b := range want {
			if num == wholeState && name == "chain_state_history.log" {
				continue // which ours has with block 1
			}
			if !bytes.Equal(got[num], b) {
				t.Fatalf("%s: block %d differs:\n%s", name, num, differingRows(b, got[num]))
			}
			blocks++
		}
	}
	if blocks == 0 {
		t.Error("nothing is compared")
	}
	t.Logf("%d switches of forks, %d entries", f.switches, blocks)
}

// forking is a chain of four producers that lose sight of each other now and then.
func forking(t *testing.T, seed uint64) *chaintest.Peers {
	t.Helper()
	peers, err := chaintest.NewPeers(4, seed, func() (store.Store, error) {
		st, err := engine.Open(t.TempDir(),
			engine.Options{Kind: engine.Page, Mode: engine.Modes()[2], LimitBytes: 128 << 20})
		if err == nil {
			t.Cleanup(func() { st.Close() })
		}
		return st, err
	})
	if err == nil {
		err = errors.Join(peers.Run(120), peers.Heal(), peers.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return peers
}

// follower is a chain that recorded both histories of blocks in the order in which they were made.
type follower struct {
	dir      string // of the histories
	switches int    // of forks
	blocks   int    // that were given to it
	head     types.Checksum256
	end      uint32 // the first block that nodeos' package cannot apply
	handled  int    // handlers of errors that ran
}

// follow goes on until a block that the package's nodeos does not know, or fails at: features of
// later versions, handlers of errors; or to the end.
func follow(t *testing.T, peers *chaintest.Peers, all bool) *follower {
	t.Helper()
	f, c := &follower{dir: t.TempDir(), end: math.MaxUint32}, newChain(t, deepMindEngine())
	h, err := ship.Open(ship.Options{Dir: f.dir, Traces: true, State: true})
	if err != nil {
		t.Fatal(err)
	}
	g := peers.Genesis
	if err := c.Genesis(&g); err != nil {
		t.Fatal(err)
	}
	c.Subscribe(h.Hooks(caseSource{c, nil}))
	c.Subscribe(chain.Hooks{Record: func(x *chain.Executed) error {
		for i := range x.Transactions {
			if x.Transactions[i].Trace.FailedDeferred == nil {
				continue
			}
			if f.handled++; !all {
				f.end = min(f.end, x.Block.BlockNum)
			}
		}
		return nil
	}})
	if err := c.Resume(t.Context(), nil, nil); err != nil {
		t.Fatal(err)
	}
	for _, b := range peers.Blocks {
		before := c.Head().ID
		x, err := c.Prepare(b, b.ID())
		if exception.Is(err, exception.UnlinkableBlock) { // of a branch that has lost
			continue
		}
		if !all && tooNew(t, b) || f.end < math.MaxUint32 {
			break
		}
		if err == nil {
			err = c.PushBlock(x)
		}
		f.blocks++
		if err != nil {
			t.Fatal(err)
		}
		if id := c.Head().ID; id != before && c.Head().Header.Previous != before {
			f.switches++
		}
	}
	f.head = c.Head().ID
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	return f
}

// tooNew tells whether a block names a feature that nodeos 4.1 does not know.
func tooNew(t *testing.T, b *types.SignedBlock) bool {
	t.Helper()
	set, err := feature.Builtins()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []feature.Codename{feature.BLSPrimitives, feature.DisableDeferredTrxsStage1,
		feature.DisableDeferredTrxsStage2, feature.Savanna} {
		if digest, ok := set.Digest(name); ok && bytes.Contains(b.Append(nil), digest[:]) {
			return true
		}
	}
	return false
}

// log writes the log of the blocks that lead to the head.
func (f *follower) log(t *testing.T, peers *chaintest.Peers) string {
	t.Helper()
	byID := make(map[types.Checksum256]*types.SignedBlock)
	for _, b := range peers.Blocks {
		byID[b.ID()] = b
	}
	var list []*types.SignedBlock
	for b := byID[f.head]; b != nil; b = byID[b.Previous] {
		if b.BlockNum() < f.end {
			list = append(list, b)
		}
	}
	slices.Reverse(list)
	first := newChain(t, deepMindEngine())
	g := peers.Genesis
	if err := first.Genesis(&g); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	log, err := blocklog.Open(blocklog.Options{Dir: dir})
	if err == nil {
		err = log.ResetGenesis(peers.Genesis, first.Head().Block.Append(nil))
	}
	for _, b := range list {
		if err == nil {
			err = log.Append(b.BlockNum(), b.ID(), b.Append(nil))
		}
	}
	if err = errors.Join(err, log.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}
