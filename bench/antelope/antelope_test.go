package antelope

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"tarn/antelope/blocklog"
	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/p2p"
	"tarn/antelope/types"
	"tarn/bench/suite"
	"tarn/contracts"
	"tarn/store/engine"
)

func TestLogsAreToldApartByTheirFiles(t *testing.T) {
	dir := t.TempDir()
	for i, name := range []string{
		"blocks/blocks.log", "blocks/blocks.index", "state-history/trace_history.log",
		"state-history/trace_history.index",
		"state-history/chain_state_history.log", "state-history/chain_state_history.index",
		"traces/trace_0000000000-0000010000.log",
		"traces/trace_index_0000000000-0000010000.log", "traces/trace_trx_id_0000000000-0000010000.log",
		"traces/trace_find_0000010000/1.run",
		"state/shared_memory.bin", "blocks/reversible/fork_db.dat", "log",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, make([]byte, 1<<i), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := suite.LogBytes{Blocks: 1 + 2, Actions: 4 + 8, Rows: 16 + 32, Traces: 64 + 128 + 256, Index: 512}
	if got := (&blocks{}).Logs(dir); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestANodeIsToldWhatToKeep(t *testing.T) {
	for what, want := range map[suite.Choice][]string{
		suite.KeepNothing: {}, suite.KeepTraces: {"trace_api"}, suite.KeepStates: {"state_history"},
		suite.KeepBoth: {"trace_api", "state_history"},
	} {
		before := suite.Node{Args: make([]string, 1, 100)}
		n, err := (&blocks{}).Keep(before, what)
		if err != nil {
			t.Fatal(err)
		}
		args := strings.Join(n.Args, " ")
		for _, plugin := range []string{"trace_api", "state_history"} {
			if got := strings.Contains(args, plugin); got != strings.Contains(fmt.Sprint(want), plugin) {
				t.Errorf("%s: %s", what, args)
			}
		}
		if (n.History != "") != strings.Contains(args, "state_history") || len(before.Args) != 1 {
			t.Errorf("%s: its history is at %q", what, n.History)
		}
	}
}

// frame is a block of so many transactions, in a slot that began so long ago.
func frame(t *testing.T, transactions int, ago time.Duration) []byte {
	t.Helper()
	b := &types.SignedBlock{Transactions: make([]types.TransactionReceipt, transactions)}
	at := time.Now().Add(types.BlockIntervalMS*time.Millisecond - ago)
	b.Timestamp = types.NewBlockTimestamp(types.TimePoint(at.UnixMicro()))
	text, err := p2p.AppendFrame(nil, b)
	if err != nil {
		t.Fatal(err)
	}
	return text[4:] // without its length
}

func TestAPeerSeesThePaceOfBlocks(t *testing.T) {
	c := &pacer{}
	c.arrive(p2p.TypeBlock, frame(t, 7, time.Hour)) // before it begins
	c.begin()
	const gap = 30 * time.Millisecond
	c.arrive(p2p.TypeBlock, frame(t, 2, 10*time.Second))
	c.arrive(p2p.TypeTransaction, nil)
	time.Sleep(gap)
	c.arrive(p2p.TypeBlock, frame(t, 3, 0))
	p := c.pace
	if p.Blocks != 2 || p.Taken != 5 || p.Gaps.Count != 1 || p.Longest < gap || c.failure != nil {
		t.Errorf("%+v, %v", p, c.failure)
	}
	// A slot is half a second, so the block's time is that much off at most.
	if p.Late < 9*time.Second || p.Late > time.Minute {
		t.Errorf("the latest block came %v after its half second began", p.Late)
	}
	c.arrive(p2p.TypeBlock, []byte{byte(p2p.TypeBlock), 1, 2})
	if c.failure == nil || c.pace.Blocks != 2 {
		t.Error("a frame that is no block is not told")
	}
}

func TestALoadWaitsForItsLastTransfers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &pacer{}
		c.begin()
		ended := make(chan error)
		next := frame(t, 5, 0)
		time.AfterFunc(drained/2, func() { c.arrive(p2p.TypeBlock, next) })
		begin := time.Now()
		if err := c.drain(t.Context(), 5, ended); err != nil || c.pace.Taken != 5 {
			t.Errorf("%+v, %v", c.pace, err)
		}
		if err := c.drain(t.Context(), 6, ended); err != nil || time.Since(begin) < drained {
			t.Errorf("it waited %v for a transfer that never came, %v", time.Since(begin), err)
		}
	})
}

func TestQuestionsForTracesAreOfTheChain(t *testing.T) {
	n := New(t.TempDir(), Shape{Seed: 3, Accounts: 20, Transfers: 200, PerBlock: 10})
	made, err := n.Chain(t.Context(), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	all, err := n.tracedOf()
	if err != nil {
		t.Fatal(err)
	}
	known, late := map[string]bool{}, all.full[len(all.full)-(len(all.full)+9)/10]
	for _, ids := range all.ids {
		for _, id := range ids {
			known[id] = true
		}
	}
	if len(known) < 200 || made.Blocks < 20 {
		t.Fatalf("%d transactions in %d blocks", len(known), made.Blocks)
	}
	const count = 400
	blocks, transactions, err := n.TraceQuestions("http://x", 1, count)
	if err != nil || len(blocks) != count || len(transactions) != count {
		t.Fatalf("%d, %d, %v", len(blocks), len(transactions), err)
	}
	last := 0
	for i := range count {
		var num uint32
		if _, err := fmt.Sscanf(string(blocks[i].Body), `{"block_num":%d}`, &num); err != nil ||
			len(all.ids[num]) == 0 {
			t.Errorf("%s asks for a block without transactions, %v", blocks[i].Body, err)
		}
		if num >= late {
			last++
		}
		if id := strings.Split(string(transactions[i].Body), `"`)[3]; !known[id] {
			t.Errorf("%s asks for what is not in the chain", transactions[i].Body)
		}
	}
	if last < count/2 {
		t.Errorf("%d of %d questions are for the last tenth", last, count)
	}
}

// A contract is taken by a chain, called, and lets others' transfers pass.
func TestContractsAreDifferentAndCanBeCalled(t *testing.T) {
	first, err := contract(1, 0)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := contract(1, 1); err != nil || bytes.Equal(first, second) || len(first) < 300_000 ||
		len(first) > 600_000 {
		t.Fatalf("%d and %d bytes, %v", len(first), len(second), err)
	}
	mode, err := engine.ParseMode("heap")
	if err != nil {
		t.Fatal(err)
	}
	st, err := engine.Open(filepath.Join(t.TempDir(), "state"),
		engine.Options{Kind: engine.Page, Mode: mode, LimitBytes: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	m, err := chaintest.New(st, chain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Chain.Close()
	token, err := chaintest.NewToken(m, contracts.Token().Code, 2)
	if err != nil {
		t.Fatal(err)
	}
	who := token.Users[0]
	if _, err := m.Block(chaintest.SetCode(who, first), chaintest.Action(who, types.N("work"), who, nil)); err != nil {
		t.Error(err)
	}
	if _, err := token.Transfers(4, 1); err != nil {
		t.Error(err)
	}
}

func TestAChainCanBeMadeInMemory(t *testing.T) {
	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=200m"); err != nil {
		t.Skipf("mount a file system in memory: %v", err)
	}
	defer unix.Unmount(disk, unix.MNT_DETACH) //nolint:errcheck // the container's end does it too
	n := New(disk, Shape{Seed: 1, Accounts: 20, Transfers: 20})
	if made, err := n.Chain(t.Context(), func(string) {}); err != nil || made.Blocks == 0 {
		t.Errorf("%+v, %v", made, err)
	}
}

func TestAChainHasItsShape(t *testing.T) {
	const keys, each, empty = 7, 5, 9
	n := New(t.TempDir(), Shape{Seed: 2, Accounts: 20, Transfers: 100, PerBlock: 50, PerTransaction: each, Keys: keys,
		Empty: empty, Rows: 1})
	made, err := n.Chain(t.Context(), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	plain := New(t.TempDir(), Shape{Seed: 2, Accounts: 20, Transfers: 100, PerBlock: 50})
	if other, err := plain.Chain(t.Context(), func(string) {}); err != nil || made.Blocks != other.Blocks+empty {
		t.Errorf("%d blocks with %d empty ones, %d without, %v", made.Blocks, empty, other.Blocks, err)
	}
	all, err := n.tracedOf()
	if err != nil {
		t.Fatal(err)
	}
	for _, num := range all.full[len(all.full)-2:] {
		if len(all.ids[num]) != 50/each {
			t.Errorf("block %d has %d transactions", num, len(all.ids[num]))
		}
	}
	traffic, err := n.traffic(1)
	if err != nil {
		t.Fatal(err)
	}
	signs := map[string]int{}
	for i, who := range traffic.Users {
		key := traffic.KeyOf(who).Public().String()
		if at, known := signs[key]; known && at != i%keys {
			t.Errorf("user %d has the key of %d", i, at)
		}
		signs[key] = i % keys
	}
	if len(signs) != keys {
		t.Errorf("%d keys", len(signs))
	}
	questions, err := n.Questions(t.Context(), "http://x", 1, callRows, 100)
	if err != nil || len(questions) != 100 || !strings.Contains(string(questions[0].Body), `"table":"rows"`) ||
		questions[0].URL != "http://x/v1/chain/get_table_rows" {
		t.Errorf("%+v, %v", questions[:1], err)
	}
}

func TestAChainWithFinalizersHasSavannasRules(t *testing.T) {
	n := New(t.TempDir(), Shape{Seed: 1, Accounts: 20, Transfers: 100, PerBlock: 50, Finalizers: 5})
	made, err := n.Chain(t.Context(), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	log, err := blocklog.Open(blocklog.Options{Dir: n.dir})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close() //nolint:errcheck // it was read
	b, err := log.Read(uint32(made.Blocks))
	if err != nil {
		t.Fatal(err)
	}
	if e, err := b.BlockHeader.ExtractExtensions(); err != nil || e.Finality == nil ||
		e.Finality.Claim.Block+2 < b.BlockNum() {
		t.Errorf("the header of block %d says %+v, %v", made.Blocks, e.Finality, err)
	}
	for number, want := range [][]int{{0, 4}, {1}, {2}, {3}} {
		args := n.voting(number, 4)
		if len(args) != 2*len(want) {
			t.Errorf("node %d has the keys of %v: %v", number, want, args)
			continue
		}
		for i, finalizer := range want {
			if key := chaintest.FinalizerKey(finalizer).Public().String(); !strings.HasPrefix(args[2*i+1],
				key+"=KEY:") {
				t.Errorf("node %d has %s as its finalizer %d", number, args[2*i+1], finalizer)
			}
		}
	}
}
