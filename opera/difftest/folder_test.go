package difftest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/syndtr/goleveldb/leveldb"
)

// The folder of a go-opera is taken over by the command, which is killed in the middle, and
// begins again; no node starts meanwhile. Then our node goes on beside the go-opera whose
// folder it was. A folder that go-opera has pruned is taken over without the older states,
// which a line says.
func TestAFolderIsTakenOverByCommandAndGoesOn(t *testing.T) {
	p, ctx := peer(t)
	seed := *firstSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 5))
	dir := t.TempDir()
	n, err := startNetwork(ctx, dir, []*Peer{p}, Config{Settings: unguarded, Preset: "ldb-1"})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Kill()
	m := &mixture{Network: n, random: random}
	for range 10 {
		hash, err := m.pay(ctx, 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Await(ctx, hash); err != nil {
			t.Fatal(err)
		}
	}
	theirs := n.Nodes[0].config
	if err := n.Leave(1); err != nil {
		t.Fatal(err)
	}
	pruned := filepath.Join(dir, "pruned")
	if err := os.CopyFS(pruned, os.DirFS(theirs.data())); err != nil {
		t.Fatal(err)
	}
	ours := own(t)
	refusePaused(ctx, t, ours.program, theirs.data(), filepath.Join(dir, "paused"))
	c := &importing{program: ours.program, to: filepath.Join(dir, "ours"), from: theirs.data()}
	middle := 0
	for tries := 0; middle < 3; tries++ {
		ended, err := c.killAfter(ctx, time.Duration(random.IntN(10))*time.Millisecond)
		if err != nil || tries > 50 {
			t.Fatalf("after %d tries, %d of them killed in the middle: %v", tries, middle, err)
		}
		if !ended {
			middle++
		} else if err := os.RemoveAll(c.to); err != nil {
			t.Fatal(err)
		}
	}
	said, err := c.run(ctx, "import", "datadir", c.from)
	if err != nil || strings.Contains(said, "does not have") || !strings.Contains(said, "The chain is ready") {
		t.Fatalf("%v: %s", err, said)
	}
	if said, err = c.run(ctx, "import", "datadir", c.from); err == nil ||
		!strings.Contains(said, "name an empty folder") {
		t.Errorf("a second time: %v: %s", err, said)
	}
	beside(ctx, t, m, ours, c.to)
	prune(ctx, t, p, theirs, pruned)
	c = &importing{program: ours.program, to: filepath.Join(dir, "ours-pruned"), from: pruned}
	if said, err = c.run(ctx, "import", "datadir", c.from); err != nil ||
		!strings.Contains(said, "does not have the states of the blocks 1 to ") {
		t.Errorf("a pruned folder: %v: %s", err, said)
	}
	if said, err = c.run(ctx, "check"); err != nil {
		t.Errorf("%v: %s", err, said)
	}
}

// importing is a takeover by the command.
type importing struct {
	program  string
	to, from string
}

func (c *importing) command(ctx context.Context, words ...string) *exec.Cmd {
	return exec.CommandContext(ctx, c.program,
		append([]string{"--datadir", c.to, "--datadir.minfreedisk", "0"}, words...)...)
}

// run runs a command to its end, and returns what it said.
func (c *importing) run(ctx context.Context, words ...string) (string, error) {
	out, err := c.command(ctx, words...).CombinedOutput()
	return string(out), err
}

// killAfter begins the takeover and kills it a while after it has begun to write. What is left
// is refused by a node, or it is the whole chain.
func (c *importing) killAfter(ctx context.Context, after time.Duration) (ended bool, err error) {
	cmd := c.command(ctx, "import", "datadir", c.from)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		return false, err
	}
	mark := filepath.Join(c.to, "chaindata", "state", "UNFINISHED")
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Microsecond) {
		if _, err := os.Stat(mark); err == nil {
			break
		}
		if time.Now().After(deadline) {
			return false, errors.Join(fmt.Errorf("it does not begin: %s", said.String()),
				cmd.Process.Kill(), cmd.Wait())
		}
	}
	time.Sleep(after)
	if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return false, err
	}
	_ = cmd.Wait() // a signal has ended it
	out, err := c.run(ctx, "check")
	switch {
	case err == nil && strings.Contains(out, "EVM storage is verified"):
		return true, nil
	case err != nil && strings.Contains(out, "the chain in") && strings.Contains(out, "import datadir"):
		return false, nil
	}
	return false, fmt.Errorf("what was left after %v: %w: %s", after, err, out)
}

// beside has our node go on from a folder beside the go-opera whose folder it was.
func beside(ctx context.Context, t *testing.T, m *mixture, ours *Peer, data string) {
	t.Helper()
	if err := m.Return(ctx, 1); err != nil {
		t.Fatal(err)
	}
	// The node's data is where the command has put it.
	config := Config{Dir: filepath.Join(filepath.Dir(data), "beside"), Validators: 1}
	if err := os.MkdirAll(config.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(data, config.data()); err != nil {
		t.Fatal(err)
	}
	node, err := ours.Start(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	defer node.Kill()
	if err := node.peers(ctx, "admin_addPeer", m.Nodes); err != nil {
		t.Fatal(err)
	}
	both := &mixture{Network: &Network{Nodes: []*Node{m.Nodes[0], node}, payers: m.payers}}
	var all []common.Hash
	// By way of the go-opera: one that makes all events of its network hears of none, and so takes no transactions of peers.
	for i := range 6 {
		hash, err := both.Transfer(ctx, 0, 1, common.Address{8}, big.NewInt(int64(i)))
		if err != nil {
			t.Fatal(err)
		}
		if err := both.all(ctx, []common.Hash{hash}); err != nil {
			t.Fatal(err)
		}
		all = append(all, hash)
	}
	blocks, err := both.agree(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d blocks are the same at both, the last %d transactions after the takeover", blocks, len(all))
	if err := errors.Join(node.Stop(), m.Leave(1)); err != nil {
		t.Fatal(err)
	}
}

// prune has go-opera drop the old states of a copy of its folder.
func prune(ctx context.Context, t *testing.T, p *Peer, of Config, dir string) {
	t.Helper()
	args := append([]string{"--datadir", dir}, of.arguments()[2:]...)
	out, err := p.Command(ctx, append(args, "snapshot", "prune-state", "--bloomfilter.size", "256")...).CombinedOutput()
	if err != nil {
		t.Fatalf("prune: %v: %s", err, out)
	}
}

// refusePaused has a copy of a folder refused whose go-opera the network has told to be replaced.
func refusePaused(ctx context.Context, t *testing.T, program, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	db, err := leveldb.OpenFile(filepath.Join(to, "chaindata", "leveldb-fsh", "main"), nil)
	if err == nil {
		err = errors.Join(db.Put([]byte("Vv"), binary.BigEndian.AppendUint64(nil, 2_000_000_000_000), nil), db.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	c := &importing{program: program, to: to + ".ours", from: to}
	said, err := c.run(ctx, "import", "datadir", c.from)
	if err == nil || !strings.Contains(said, "Network upgrade 2.0.0 was activated") {
		t.Errorf("the folder of a go-opera that is paused: %v: %s", err, said)
	}
}
