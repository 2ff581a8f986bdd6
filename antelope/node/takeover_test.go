package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tarn/antelope/blocklog"
	"tarn/antelope/consensus"
	"tarn/antelope/difftest"
	"tarn/antelope/feature"
	"tarn/antelope/serial"
	"tarn/antelope/types"
	"tarn/internal/freeport"
	"tarn/store"
	"tarn/store/engine"
)

// What an operator has: one configuration, one data folder, and two programs that
// take turns on them.
func TestNodeosAndThisNodeTakeTurnsOnOneFolder(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a real nodeos")
	}
	peer, err := difftest.Find(t.Context())
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	conf := filepath.Join(dir, "config")
	if err := os.MkdirAll(conf, 0o755); err != nil {
		t.Fatal(err)
	}
	ini := fmt.Sprintf(
		"plugin = eosio::chain_api_plugin\nplugin = eosio::producer_api_plugin\nhttp-server-address = "+
			"%s\np2p-listen-endpoint = %s\n"+
			"producer-name = eosio\nenable-stale-production = true\nmax-clients = 200\nhttp-validate-host = "+
			"false\neos-vm-oc-enable = none\n"+
			"resource-monitor-not-shutdown-on-threshold-exceeded = true\n", freeport.Address(t), freeport.Address(t))
	if err := os.WriteFile(filepath.Join(conf, "config.ini"), []byte(ini), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"--config-dir", conf, "--data-dir", filepath.Join(dir, "data")}
	theirs := func(until string, more ...string) string {
		return runUntil(t, peer.Command(t.Context(), append(args, more...)...), until)
	}
	theirs(" #6 ")
	blocks := filepath.Join(dir, "data", "blocks")
	last := lastLogged(t, blocks)
	var log buffer
	if err := run(t.Context(), append(args, "--terminate-at-block", "20"), streams{&log, &log}); err != nil {
		t.Fatal(err, log.String())
	}
	if text := log.String(); !strings.Contains(text, "using genesis state extracted from blocks.log") ||
		!strings.Contains(text, " #20 ") ||
		strings.Contains(text, "Produced block") && strings.Contains(text, " #2 @") {
		t.Errorf("the chain does not go on here: %s", text)
	}
	if text := log.String(); !strings.Contains(text, "Took over the reversible blocks of nodeos blocks=1 ") ||
		strings.Contains(text, "is left out") {
		t.Errorf("the reversible blocks are lost: %s", text)
	}
	// Their state is as they left it: with the blocks of then they go on from it.
	if err := (blocklog.Tool{Dir: blocks, Logger: slog.New(slog.DiscardHandler)}).TrimEnd(last); err != nil {
		t.Fatal(err)
	}
	reversible := filepath.Join(blocks, blocklog.ReversibleDir, consensus.FileName)
	if err := os.Rename(reversible+takenOver, reversible); err != nil {
		t.Fatal(err)
	}
	if text := theirs(fmt.Sprintf(" #%d ", last+4)); !strings.Contains(text,
		"no irreversible blocks need to be replayed") {
		t.Errorf("their state does not go on there: %s", text)
	}
	if text := theirs(fmt.Sprintf(" #%d ", last+8), "--replay-blockchain"); !strings.Contains(text,
		"attempting to replay from 2 to ") {
		t.Errorf("the chain does not go on there: %s", text)
	}
}

// lastLogged is the last block of a log.
func lastLogged(t *testing.T, dir string) uint32 {
	t.Helper()
	log, err := blocklog.Open(blocklog.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	last, _, _ := log.Head()
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return last
}

// runUntil runs a program until it says something, stops it, and returns all that it
// said.
func runUntil(t *testing.T, cmd *exec.Cmd, until string) string {
	t.Helper()
	var log buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	log.await(t, until)
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }() //nolint:errcheck // it is stopped
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	select {
	case <-ended:
	case <-ctx.Done():
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) //nolint:errcheck // the test has failed
		t.Fatalf("it does not end: %s", log.String())
	}
	return log.String()
}

// middle is a data folder as nodeos leaves it in the middle of the chain: a block log
// and a fork database. It returns the head.
func (c *testChain) middle(t *testing.T) (dir string, head types.Checksum256) {
	t.Helper()
	o := options(t.TempDir(), engine.Options{})
	o.Genesis = &c.genesis
	n := mustStart(t, o)
	for _, b := range c.blocks[:len(c.blocks)*2/3] {
		if err := give(n.Chain(), b); err != nil {
			t.Fatal(err)
		}
	}
	if n.Chain().Fork().Len() < 3 {
		t.Fatalf("only %d reversible blocks", n.Chain().Fork().Len())
	}
	dir, head = t.TempDir(), n.Chain().Head().ID
	reversible := filepath.Join(dir, "blocks", blocklog.ReversibleDir)
	if err := os.MkdirAll(reversible, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := n.Chain().Fork().Save(filepath.Join(reversible, consensus.FileName)); err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	copyLog(t, o.BlocksDir, filepath.Join(dir, "blocks"))
	return dir, head
}

func TestTheReversibleBlocksOfNodeosAreTakenOver(t *testing.T) {
	c := theChain(t)
	dir, head := c.middle(t)
	file := filepath.Join(dir, "blocks", blocklog.ReversibleDir, consensus.FileName)
	left, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	n := mustStart(t, options(dir, engine.Options{}))
	if got := n.Chain().Head(); got.ID != head {
		t.Errorf("the head is %d %s, want %s", got.BlockNum, got.ID, head)
	}
	c.check(t, "taken over", n)
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
	if kept, err := os.ReadFile(file + takenOver); err != nil || !bytes.Equal(kept, left) {
		t.Errorf("the file is not kept: %v", err)
	}
	// A start that was killed just before the file was renamed does it again; blocks
	// that are known do no harm, nor do those that are irreversible by now.
	if err := os.Rename(file+takenOver, file); err != nil {
		t.Fatal(err)
	}
	n = mustStart(t, options(dir, engine.Options{}))
	if got := n.Chain().Head(); got.ID != head {
		t.Errorf("the second time the head is %d %s, want %s", got.BlockNum, got.ID, head)
	}
	c.finish(t, "taken over twice", n)
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+takenOver, file); err != nil {
		t.Fatal(err)
	}
	n = mustStart(t, options(dir, engine.Options{}))
	if id := n.Chain().Head().ID; id != c.final {
		t.Errorf("the third time the head is %s, want %s", id, c.final)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
}

// The same of Spring's file, before its chain changes the rules.
func TestTheReversibleBlocksOfSpringAreTakenOver(t *testing.T) {
	c := theChain(t)
	dir, head := c.middle(t)
	file := filepath.Join(dir, "blocks", blocklog.ReversibleDir, consensus.FileName)
	leaps := consensus.NewForkDatabase(feature.NewSet())
	if _, err := leaps.Load(file); err != nil {
		t.Fatal(err)
	}
	b := serial.AppendUint32(serial.AppendUint32(serial.AppendUint32(nil, 0x30510FDB), 3), 0)
	b = append(serial.AppendBool(b, true), make([]byte, 32)...)
	b = append(leaps.Root().HeaderState.Append(b), 0, 1, 0) // no block, executed, no other root
	blocks := leaps.Blocks()
	b = serial.AppendCount(b, len(blocks))
	for _, s := range blocks {
		b = s.Block.Append(serial.AppendBool(s.HeaderState.Append(b), true))
		b = append(append(b, 1, 1), make([]byte, 32)...) // executed, its actions as Savanna hashes them
	}
	if err := os.WriteFile(file, serial.AppendBool(b, false), 0o644); err != nil {
		t.Fatal(err)
	}
	n := mustStart(t, options(dir, engine.Options{}))
	if got := n.Chain().Head(); got.ID != head {
		t.Errorf("the head is %d %s, want %s", got.BlockNum, got.ID, head)
	}
	c.finish(t, "taken over", n)
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file + takenOver); err != nil {
		t.Error(err)
	}
}

// What nodeos leaves may be as large as memory. The log says that it may go, and what it takes.
func TestTheFilesOfNodeosThatNobodyReadsAreNamed(t *testing.T) {
	c := theChain(t)
	dir, _ := c.middle(t)
	left := []string{filepath.Join(dir, "state", "shared_memory.bin"), filepath.Join(dir, "state", "code_cache.bin")}
	for _, path := range left {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, make([]byte, 3<<19), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	left = append(left, filepath.Join(dir, "blocks", blocklog.ReversibleDir, consensus.FileName+takenOver))
	said := func() string {
		var log bytes.Buffer
		o := options(dir, engine.Options{})
		o.Log = slog.New(slog.NewTextHandler(&log, nil))
		if err := mustStart(t, o).Close(); err != nil {
			t.Fatal(err)
		}
		return log.String()
	}
	for range 2 { // at each start
		got := said()
		if strings.Count(got, "Files of nodeos are left") != 1 ||
			!regexp.MustCompile(`they take [3-9]\.\d MiB`).MatchString(got) {
			t.Errorf("%s", got)
		}
		for _, path := range left {
			if !strings.Contains(got, path) {
				t.Errorf("%s is not named: %s", path, got)
			}
		}
	}
	for _, path := range left {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if got := said(); strings.Contains(got, "Files of nodeos") {
		t.Errorf("%s", got)
	}
}

func TestAForkDatabaseThatIsDamagedIsNotLost(t *testing.T) {
	c := theChain(t)
	dir, head := c.middle(t)
	file := filepath.Join(dir, "blocks", blocklog.ReversibleDir, consensus.FileName)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		"empty": {}, "cut": whole[:len(whole)/2], "longer": append(slices.Clone(whole), 0),
		"magic": append([]byte{1}, whole[1:]...), "version": slices.Concat(whole[:4], []byte{9, 0, 0, 0}, whole[8:]),
		"head": append(slices.Clone(whole[:len(whole)-32]), make([]byte, 32)...),
	} {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
		n, err := Open(t.Context(), options(dir, engine.Options{}))
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Start(t.Context()); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", name, err)
		}
		if err := n.Close(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadFile(file); err != nil || !bytes.Equal(left, text) {
			t.Errorf("%s: the file has changed: %v", name, err)
		}
	}
	if err := os.WriteFile(file, whole, 0o644); err != nil {
		t.Fatal(err)
	}
	n := mustStart(t, options(dir, engine.Options{}))
	if id := n.Chain().Head().ID; id != head {
		t.Errorf("the head is %s, want %s", id, head)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestOneBlocksFolderIsForOneNode(t *testing.T) {
	c := theChain(t)
	o := options(t.TempDir(), engine.Options{})
	o.Genesis = &c.genesis
	n := mustStart(t, o)
	for _, other := range []Options{{}, {DeleteAllBlocks: true}, {HardReplay: true}, {Replay: true}} {
		second := o
		second.DeleteAllBlocks, second.HardReplay, second.Replay = other.DeleteAllBlocks, other.HardReplay, other.Replay
		second.StateDir = filepath.Join(t.TempDir(), "state")
		if _, err := Open(t.Context(), second); !errors.Is(err, store.ErrLocked) ||
			!strings.Contains(err.Error(), o.BlocksDir) ||
			!strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
			t.Errorf("%v", err)
		}
	}
	for _, args := range [][]string{{"trim-blocklog", "--last", "1"}, {"vacuum"}} {
		tool := blockLogCommand()
		tool.SilenceUsage, tool.SilenceErrors = true, true
		tool.SetArgs(append([]string{"--blocks-dir", o.BlocksDir}, args...))
		if err := tool.ExecuteContext(t.Context()); !errors.Is(err, store.ErrLocked) {
			t.Errorf("%v: %v", args, err)
		}
	}
	for _, b := range c.blocks[:10] {
		if err := give(n.Chain(), b); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	o.DeleteAllBlocks = true
	if err := mustStart(t, o).Close(); err != nil {
		t.Fatal(err)
	}
}
