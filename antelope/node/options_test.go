package node

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"tarn/antelope/blocklog"
	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/consensus"
	"tarn/antelope/crypto"
	"tarn/antelope/execute"
	"tarn/antelope/types"
	"tarn/store/engine"
	"tarn/store/vfs"
)

// wholeNode copies the data folder of the node that has the whole chain.
func wholeNode(t *testing.T, c *testChain) Options {
	t.Helper()
	o := options(t.TempDir(), engine.Options{})
	copyFolder(t, filepath.Join(c.dir, "state"), o.StateDir)
	copyFolder(t, filepath.Join(c.dir, "blocks"), o.BlocksDir)
	return o
}

// exists tells whether there is a file of a pattern.
func exists(t *testing.T, pattern ...string) bool {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(pattern...))
	if err != nil {
		t.Fatal(err)
	}
	return len(list) > 0
}

// Each option does what it does in Leap (chain_plugin.cpp, controller.cpp).
func TestOptionsOfTheStartDoWhatTheyDoInLeap(t *testing.T) {
	c := theChain(t)
	whole := uint32(0)
	for _, b := range c.blocks {
		if b.ID() == c.final {
			whole = b.BlockNum()
		}
	}
	marker := "marker" // a file in the state's folder that only deleting takes away
	for name, k := range map[string]struct {
		change func(o *Options)
		head   uint32
		logged uint32
		kept   bool // the state
		backup bool
	}{
		"none":                      {func(o *Options) {}, whole, c.logged, true, false},
		"replay":                    {func(o *Options) { o.Replay = true }, whole, c.logged, false, false},
		"replay, truncated":         {func(o *Options) { o.Replay, o.TruncateAt = true, 20 }, whole, c.logged, false, false},
		"truncated":                 {func(o *Options) { o.TruncateAt = 20 }, whole, c.logged, true, false},
		"hard replay":               {func(o *Options) { o.HardReplay = true }, c.logged, c.logged, false, true},
		"hard replay, truncated":    {func(o *Options) { o.HardReplay, o.TruncateAt = true, 30 }, 30, 30, false, true},
		"hard replay before replay": {func(o *Options) { o.HardReplay, o.Replay = true, true }, c.logged, c.logged, false, true},
		"delete all": {func(o *Options) {
			o.DeleteAllBlocks, o.HardReplay, o.Genesis = true, true, &c.genesis
		}, 1, 1, false, false},
		"terminate":                      {func(o *Options) { o.Replay, o.TerminateAt = true, 40 }, 40, c.logged, false, false},
		"terminate at 1":                 {func(o *Options) { o.Replay, o.TerminateAt = true, 1 }, 1, c.logged, false, false},
		"terminate, too low":             {func(o *Options) { o.TerminateAt = 40 }, c.logged, c.logged, true, false},
		"terminate among the reversible": {func(o *Options) { o.Replay, o.TerminateAt = true, c.logged+1 }, c.logged + 1, c.logged, false, false},
		"all checks":                     {func(o *Options) { o.Replay, o.Chain.ForceAllChecks = true, true }, whole, c.logged, false, false},
		"no replay options":              {func(o *Options) { o.Replay, o.Chain.DisableReplayOpts = true, true }, whole, c.logged, false, false},
		"replay from a snapshot":         {func(o *Options) { o.Replay, o.Snapshot = true, c.mid }, whole, c.logged, false, false},
		"all again, from a snapshot":     {func(o *Options) { o.DeleteAllBlocks, o.Snapshot = true, c.mid }, c.midNum, 0, false, false},
		"the same genesis":               {func(o *Options) { o.Genesis = &c.genesis }, whole, c.logged, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			o := wholeNode(t, c)
			if err := os.WriteFile(filepath.Join(o.StateDir, marker), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			k.change(&o)
			n := mustStart(t, o)
			if got := n.Chain().Head().BlockNum; got != k.head {
				t.Errorf("head %d, want %d", got, k.head)
			}
			if got, _, _ := n.log.Head(); got != k.logged {
				t.Errorf("the log ends with %d, want %d", got, k.logged)
			}
			if got := exists(t, o.StateDir, marker); got != k.kept {
				t.Errorf("state kept: %v", got)
			}
			if got := exists(t, o.BlocksDir+"-*", blocklog.LogName); got != k.backup {
				t.Errorf("backup: %v", got)
			}
			if exists(t, o.BlocksDir, recoveryMark) {
				t.Error("the mark of a hard replay is left")
			}
			if n.Chain().Head().BlockNum > 1 {
				c.check(t, name, n)
			}
			if o.TerminateAt > 0 {
				p, err := n.Chain().Prepare(c.blocks[len(c.blocks)-1], c.blocks[len(c.blocks)-1].ID())
				if err == nil {
					err = n.Chain().PushBlock(p)
				}
				if err == nil {
					t.Error("a block is accepted after the last")
				}
			}
			if err := n.Close(); err != nil {
				t.Fatal(err)
			}
			// Without the options the node goes on.
			n = mustStart(t, options(filepath.Dir(o.StateDir), engine.Options{}))
			c.finish(t, "next start", n)
			n.Close()
		})
	}
}

func TestStartsThatLeapRefusesAreRefused(t *testing.T) {
	c := theChain(t)
	wrong := c.genesis
	wrong.InitialTimestamp += 500_000
	other := options(t.TempDir(), engine.Options{})
	other.Genesis = &wrong
	mustStart(t, other).Close()
	for name, k := range map[string]struct {
		change func(o *Options)
		want   string
	}{
		"snapshot, not empty": {func(o *Options) { o.Snapshot = c.mid },
			"Snapshot can only be used to initialize an empty database: start without --snapshot"},
		"snapshot and genesis": {func(o *Options) { o.Snapshot, o.Genesis = c.mid, &c.genesis }, "--snapshot is incompatible with --genesis-json"},
		"no snapshot":          {func(o *Options) { o.Replay, o.Snapshot = true, "nowhere.bin" }, "Cannot load snapshot, nowhere.bin does not exist"},
		"snapshot of a chain":  {func(o *Options) { o.Replay, o.Snapshot, o.BlocksDir = true, c.mid, other.BlocksDir }, "does not match the chain ID"},
		"snapshot beyond the log": {
			func(o *Options) { o.HardReplay, o.TruncateAt, o.Snapshot = true, c.midNum-1, c.mid },
			"name an older snapshot, or move the log away"},
		"hard replay of nothing": {func(o *Options) { o.HardReplay = true; os.RemoveAll(o.BlocksDir) }, "Block log not found in"},
		"genesis of the log":     {func(o *Options) { o.Replay, o.Genesis = true, &wrong }, "does not match the existing genesis state in blocks.log"},
		"genesis of the state":   {func(o *Options) { o.Genesis = &wrong }, "does not match the existing chain ID in the database state"},
		"log of the state":       {func(o *Options) { o.BlocksDir = other.BlocksDir }, "does not match the existing chain ID in state"},
	} {
		t.Run(name, func(t *testing.T) {
			o := wholeNode(t, c)
			k.change(&o)
			n, err := Open(context.Background(), o)
			if err == nil {
				n.Close()
			}
			if err == nil || !strings.Contains(err.Error(), k.want) {
				t.Fatalf("%v", err)
			}
			if !o.HardReplay && !o.Replay {
				n = mustStart(t, options(filepath.Dir(o.StateDir), engine.Options{}))
				c.finish(t, "after the refusal", n)
				n.Close()
			}
		})
	}
}

func TestASnapshotStartsANodeWithoutALog(t *testing.T) {
	c := theChain(t)
	for _, e := range []engine.Options{{Kind: engine.Page}, {Kind: engine.Badger}} {
		o := options(t.TempDir(), e)
		o.Snapshot = c.mid
		n := mustStart(t, o)
		if n.Chain().Head().BlockNum != c.midNum || n.log.First() != c.midNum+1 {
			t.Fatalf("head %d, the log begins with %d, the snapshot is of %d",
				n.Chain().Head().BlockNum, n.log.First(), c.midNum)
		}
		n.Close()
		o.Snapshot = ""
		n = mustStart(t, o)
		c.finish(t, "snapshot", n)
		n.Close()
		// The state cannot be had from this log again, without the snapshot.
		o.Replay = true
		if _, err := Open(context.Background(), o); err == nil ||
			!strings.Contains(err.Error(), "Genesis state is necessary") {
			t.Errorf("%v", err)
		}
		o.Genesis = &c.genesis
		if _, err := Open(context.Background(), o); err == nil ||
			!strings.Contains(err.Error(), "does not start with genesis block") {
			t.Errorf("%v", err)
		}
		o.Genesis, o.Snapshot = nil, c.mid
		n = mustStart(t, o)
		c.finish(t, "replay from the snapshot", n)
		n.Close()
	}
}

// A snapshot and no block log say that a new start is meant: what followed may be what
// is to be left behind. What came after the loading had begun stays.
func TestASnapshotWithoutALogDropsReversibleBlocks(t *testing.T) {
	c := theChain(t)
	o := options(t.TempDir(), engine.Options{})
	o.Snapshot = c.mid
	n := mustStart(t, o)
	for _, b := range c.blocks {
		if err := give(n.Chain(), b); err != nil {
			t.Fatal(err)
		}
		if n.Chain().Head().BlockNum > c.midNum+2 {
			break
		}
	}
	head := n.Chain().Head().BlockNum
	if _, _, logged := n.log.Head(); logged || head <= c.midNum {
		t.Fatalf("head %d, in the log: %v", head, logged)
	}
	n.Close()
	path, err := filepath.Abs(c.mid)
	if err != nil {
		t.Fatal(err)
	}
	if err := engine.MarkUnfinished(o.StateDir, []byte(snapshotNote+path)); err != nil {
		t.Fatal(err)
	}
	n = mustStart(t, o) // as after a kill
	if got := n.Chain().Head().BlockNum; got != head {
		t.Errorf("after a kill while the snapshot was being saved the head is %d, not %d", got, head)
	}
	n.Close()
	if err := os.RemoveAll(o.StateDir); err != nil {
		t.Fatal(err)
	}
	fork := filepath.Join(o.BlocksDir, blocklog.ReversibleDir, consensus.FileName)
	if err := os.WriteFile(fork, []byte("what nodeos left"), 0o644); err != nil {
		t.Fatal(err)
	}
	n = mustStart(t, o)
	if got := n.Chain().Head().BlockNum; got != c.midNum {
		t.Errorf("after a new start the head is %d, the snapshot's is %d", got, c.midNum)
	}
	c.finish(t, "snapshot", n)
	n.Close()
	if _, err := os.Stat(fork + takenOver); err != nil {
		t.Error(err)
	}
}

// Blocks whose hashes fit, and one of whose transactions somebody else has signed, are replayed by a
// node that trusts its log, and refused by one that checks all.
func TestAllChecksFindASignatureThatIsNotTheSenders(t *testing.T) {
	o := options(t.TempDir(), engine.Options{})
	last := forgedLog(t, o.BlocksDir)
	o.Chain.ForceAllChecks = true
	n, err := Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Start(context.Background()); err == nil || !strings.Contains(err.Error(), "replay block") ||
		strings.Contains(err.Error(), "damaged") {
		t.Errorf("with all checks: %v", err)
	}
	n.Close()
	o.Chain.ForceAllChecks, o.Replay = false, true
	n = mustStart(t, o)
	if n.Chain().Head().BlockNum != last {
		t.Errorf("head %d, want %d", n.Chain().Head().BlockNum, last)
	}
	n.Close()
}

// forgedLog writes a block log of a chain in which somebody else has signed a transaction, and
// returns the number of its last block.
func forgedLog(t *testing.T, dir string) uint32 {
	t.Helper()
	log, err := blocklog.Open(blocklog.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	st, err := engine.Open(t.TempDir(), engine.Options{Kind: engine.Page})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	m, err := chaintest.New(st, chain.Options{Blocks: blocks{log}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Chain.Close()
	if err := log.ResetGenesis(m.Genesis, m.Chain.Head().Block.Append(nil)); err != nil {
		t.Fatal(err)
	}
	stranger, err := crypto.NewPrivateKey(types.K1, types.Hash([]byte("a stranger's")))
	if err != nil {
		t.Fatal(err)
	}
	signed, err := m.Sign(m.CreateAccount(types.N("forged")))
	if err != nil {
		t.Fatal(err)
	}
	trx, _, err := signed.Unpack()
	if err != nil {
		t.Fatal(err)
	}
	s, err := stranger.Sign(trx.SigningDigest(m.Genesis.ChainID(), nil))
	if err != nil {
		t.Fatal(err)
	}
	forged, err := types.Pack(trx, []types.Signature{s}, nil, types.CompressionNone)
	if err != nil {
		t.Fatal(err)
	}
	x, err := execute.NewCandidate(forged, execute.Input)
	if err != nil {
		t.Fatal(err)
	}
	x.Keys = []types.PublicKey{m.Key.Public()} // the maker is lied to
	if err := m.StartBlock(); err != nil {
		t.Fatal(err)
	}
	if trace, err := m.Chain.PushTransaction(x, execute.Billing{Explicit: true, CPU: 100}); err != nil ||
		trace.Except != nil {
		t.Fatal(trace.Except, err)
	}
	if _, err := m.EndBlock(); err != nil {
		t.Fatal(err)
	}
	for range 4 { // until it is irreversible
		if _, err := m.Block(); err != nil {
			t.Fatal(err)
		}
	}
	last, _, _ := log.Head()
	if last < 3 {
		t.Fatalf("the log ends with block %d", last)
	}
	return last
}

func TestAHardReplayThatWasInterruptedBeginsAgain(t *testing.T) {
	c := theChain(t)
	for _, moved := range []bool{false, true} {
		for _, last := range []uint32{0, 25} {
			o := wholeNode(t, c)
			if err := vfs.WriteDurably(vfs.OS, filepath.Join(o.BlocksDir, recoveryMark),
				strconv.AppendUint(nil, uint64(last), 10)); err != nil {
				t.Fatal(err)
			}
			if moved { // as far as the backup
				backup := o.BlocksDir + "-2026-01-01T00:00:00.000"
				if err := os.Mkdir(backup, 0o755); err != nil {
					t.Fatal(err)
				}
				for _, name := range []string{blocklog.LogName, blocklog.IndexName, blocklog.ReversibleDir} {
					if err := os.Rename(filepath.Join(o.BlocksDir, name), filepath.Join(backup, name)); err != nil {
						t.Fatal(err)
					}
				}
				if err := os.WriteFile(filepath.Join(o.BlocksDir, blocklog.LogName+".tmp"), []byte("half"),
					0o644); err != nil {
					t.Fatal(err)
				}
			}
			n := mustStart(t, o)
			want := c.logged
			if last > 0 {
				want = last
			}
			if got := n.Chain().Head().BlockNum; got != want {
				t.Errorf("moved %v: head %d, want %d", moved, got, want)
			}
			c.finish(t, "hard replay", n)
			n.Close()
		}
	}
}

func TestWhatARunningNodeHasIsNotDeleted(t *testing.T) {
	c := theChain(t)
	o := wholeNode(t, c)
	n := mustStart(t, o)
	for _, change := range []func(*Options){
		func(o *Options) { o.Replay = true }, func(o *Options) { o.HardReplay = true }, func(o *Options) {
			o.DeleteAllBlocks = true
		},
	} {
		again := o
		change(&again)
		if _, err := Open(context.Background(), again); err == nil || !strings.Contains(err.Error(), "in use") {
			t.Errorf("%v", err)
		}
	}
	c.finish(t, "meanwhile", n)
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	n = mustStart(t, o)
	c.finish(t, "afterwards", n)
	n.Close()
}

// A start that is refused has changed nothing: the state, which the log cannot replace, is
// still there.
func TestAReplayThatIsRefusedLeavesTheState(t *testing.T) {
	c := theChain(t)
	few := uint32(24)
	for name, k := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"replay of a pruned log":      {func(o *Options) { o.Replay, o.Blocks.RetainBlocks = true, &few }, "start without --replay-blockchain"},
		"hard replay of a pruned log": {func(o *Options) { o.HardReplay, o.Blocks.RetainBlocks = true, &few }, "start without --hard-replay-blockchain"},
		"hard replay of no log":       {func(o *Options) { o.HardReplay = true; os.RemoveAll(o.BlocksDir) }, "start without --hard-replay-blockchain"},
	} {
		o := options(t.TempDir(), engine.Options{})
		o.Genesis, o.Blocks.RetainBlocks, o.Blocks.PruneBytes = &c.genesis, &few, 4096
		n := mustStart(t, o)
		for _, b := range c.blocks {
			if err := give(n.Chain(), b); err != nil {
				t.Fatal(err)
			}
		}
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
		again := o
		k.change(&again)
		if _, err := Open(context.Background(), again); err == nil || !strings.Contains(err.Error(), k.want) {
			t.Errorf("%s: %v", name, err)
		}
		n = mustStart(t, o)
		c.check(t, name, n)
		if n.Chain().Head().BlockNum < c.midNum {
			t.Errorf("%s: the state is gone, the head is block %d", name, n.Chain().Head().BlockNum)
		}
		n.Close()
	}
}

func TestALogThatWasLostGoesOnFromTheState(t *testing.T) {
	c := theChain(t)
	o := options(t.TempDir(), engine.Options{})
	o.Genesis = &c.genesis
	n := mustStart(t, o)
	for _, b := range c.blocks[:len(c.blocks)/2] {
		if err := give(n.Chain(), b); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(o.BlocksDir); err != nil {
		t.Fatal(err)
	}
	n = mustStart(t, o)
	if lib := n.Chain().Head().BlockNum; n.log.First() != lib+1 {
		t.Errorf("the log begins with %d after block %d", n.log.First(), lib)
	}
	c.finish(t, "lost log", n)
	n.Close()
}

func TestTheGenesisInALogWithoutBlocksCounts(t *testing.T) {
	c := theChain(t)
	o := options(t.TempDir(), engine.Options{})
	o.Genesis = &c.genesis
	n := mustStart(t, o)
	block := n.Chain().Head().Block.Append(nil)
	n.Close()
	name := filepath.Join(o.BlocksDir, blocklog.LogName)
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, raw[:len(raw)-len(block)-8], 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(o.BlocksDir, blocklog.IndexName), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	o.Genesis, o.Replay = nil, true
	n = mustStart(t, o)
	if n.Chain().ID() != c.genesis.ChainID() {
		t.Error("another chain was begun")
	}
	c.finish(t, "genesis", n)
	n.Close()
}

func TestAPendingBlockDoesNotKeepTheStateFromBeingSaved(t *testing.T) {
	c := theChain(t)
	o := wholeNode(t, c)
	o.Replay = true
	n := mustStart(t, o)
	s := execute.Start{Time: n.Chain().Head().Header.Timestamp + 1, Status: execute.Ephemeral}
	if err := n.Chain().StartBlock(s); err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	st, err := engine.Open(o.StateDir, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if st.Head() <= uint64(c.logged) {
		t.Errorf("the state that was saved is of block %d", st.Head())
	}
	st.Close()
	o.Replay = false
	n = mustStart(t, o)
	c.finish(t, "pending", n)
	n.Close()
}

func TestAStoreThatIsTooSmallSaysWhatHelpsAndLosesNothing(t *testing.T) {
	c := theChain(t)
	for _, guard := range []int64{850 << 10, 1000 << 10} {
		o := options(t.TempDir(), engine.Options{LimitBytes: 1 << 20, GuardBytes: guard})
		copyLog(t, filepath.Join(c.dir, "blocks"), o.BlocksDir)
		n, err := Open(context.Background(), o)
		if err == nil {
			err = n.Start(context.Background())
			n.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "chain-state-db-size-mb") {
			t.Fatalf("guard %d: %v", guard, err)
		}
		o.Engine.LimitBytes = 64 << 20
		n = mustStart(t, o)
		c.finish(t, "larger", n)
		n.Close()
	}
}

func TestACancelledStartGoesOnLater(t *testing.T) {
	c := theChain(t)
	o := options(t.TempDir(), engine.Options{})
	copyLog(t, filepath.Join(c.dir, "blocks"), o.BlocksDir)
	ctx, cancel := context.WithCancel(context.Background())
	n, err := Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := n.Start(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	o.Replay, o.Snapshot = true, c.mid
	if _, err := Open(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	o.Replay, o.Snapshot = false, ""
	n = mustStart(t, o) // loads the snapshot after all
	c.finish(t, "snapshot", n)
	n.Close()
}
