package node

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"tarn/antelope/blocklog"
	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/snapshot"
	"tarn/antelope/types"
	"tarn/internal/scratch"
	"tarn/store"
	"tarn/store/engine"
)

var (
	seedFlag   = flag.Uint64("node.seed", 1, "seed of the random tests")
	killsFlag  = flag.Int("node.kills", 0, "kills of each kind on each engine; 0 is one on half of the engines")
	startsFlag = flag.Int("node.starts", 1, "starts of each kind with changing options")
	tearsFlag  = flag.Int("node.tears", 4, "damaged folders")
)

func TestMain(m *testing.M) {
	if err := scratch.OnDisk(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(play(role))
	}
	if role := os.Getenv(crowdVariable); role != "" {
		var c Crowd
		if err := json.Unmarshal([]byte(role), &c); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		c.play()
		os.Exit(0)
	}
	code := m.Run()
	if chainFolder != "" {
		os.RemoveAll(chainFolder)
	}
	os.Exit(code)
}

// chainFolder is where theChain is kept for all tests, "" if none needed it.
var chainFolder string

// testChain is a chain that forks, and what a node that nothing disturbs makes of it.
type testChain struct {
	genesis types.Genesis
	blocks  []*types.SignedBlock // in the order in which nodes get them
	heads   []types.Checksum256  // after each of them
	hashing sync.Mutex           // of what hashAt adds to hashes
	hashes  map[types.Checksum256]types.Checksum256
	dir     string // data folder of the node that has all of it, closed
	mid     string // snapshot of the middle
	midNum  uint32
	final   types.Checksum256
	logged  uint32 // last block in the log

	recorded sync.Once
	history  map[string]recording // of a node that was never disturbed
}

var forking = sync.OnceValues(makeTestChain)

// theChain is made once for all tests.
func theChain(t *testing.T) *testChain {
	t.Helper()
	c, err := forking()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func makeTestChain() (*testChain, error) {
	var stores []store.Store
	defer func() {
		for _, s := range stores {
			s.Close()
		}
	}()
	base, err := os.MkdirTemp("", "nodetest")
	if err != nil {
		return nil, err
	}
	chainFolder = base
	p, err := chaintest.NewPeers(4, *seedFlag, func() (store.Store, error) {
		s, err := engine.Open(filepath.Join(base, fmt.Sprint("peer", len(stores))), engine.Options{Kind: engine.Page})
		if err == nil {
			stores = append(stores, s)
		}
		return s, err
	})
	if err != nil {
		return nil, err
	}
	defer p.Close()
	if err := p.Run(500); err != nil {
		return nil, err
	}
	if err := p.Heal(); err != nil {
		return nil, err
	}
	c := &testChain{genesis: p.Genesis, blocks: p.Blocks, hashes: make(map[types.Checksum256]types.Checksum256),
		dir: filepath.Join(base, "whole"), mid: filepath.Join(base, "mid.bin")}
	if err := c.record(); err != nil {
		return nil, err
	}
	if c.final != p.Chain(0).Head().ID {
		return nil, fmt.Errorf("the node's head is %s, the peers' %s", c.final, p.Chain(0).Head().ID)
	}
	return c, nil
}

// options are those of a node in a folder.
func options(dir string, e engine.Options) Options {
	if e.Kind == "" {
		e.Kind = engine.Page
	}
	return Options{
		StateDir: filepath.Join(dir, "state"), BlocksDir: filepath.Join(dir, "blocks"),
		SnapshotsDir: filepath.Join(dir, "snapshots"), Log: slog.New(slog.DiscardHandler), Engine: e,
	}
}

// record runs a node over all blocks.
func (c *testChain) record() error {
	o := options(c.dir, engine.Options{Mode: engine.Modes()[2]})
	o.Genesis = &c.genesis
	n, err := Open(context.Background(), o)
	if err != nil {
		return err
	}
	if err := n.Start(context.Background()); err != nil {
		return err
	}
	if err := c.note(n); err != nil {
		return err
	}
	for i, b := range c.blocks {
		if err := give(n.Chain(), b); err != nil {
			return err
		}
		if err := c.note(n); err != nil {
			return err
		}
		c.heads = append(c.heads, n.Chain().Head().ID)
		if i == len(c.blocks)/2 {
			if err := c.snapshot(n); err != nil {
				return err
			}
		}
	}
	c.final = n.Chain().Head().ID
	c.logged, _, _ = n.log.Head()
	return n.Close()
}

func (c *testChain) note(n *Node) error {
	id := n.Chain().Head().ID
	if _, ok := c.hashes[id]; ok {
		return nil
	}
	h, err := n.IntegrityHash()
	c.hashes[id] = h
	return err
}

// snapshot writes one of the irreversible block, which takes a node of its own.
func (c *testChain) snapshot(n *Node) error {
	lib := n.Chain().Fork().Root().BlockNum
	o := options(c.dir+"-mid", engine.Options{Mode: engine.Modes()[2]})
	o.TerminateAt = lib
	if err := n.log.Sync(lib); err != nil {
		return err
	}
	if err := os.CopyFS(o.BlocksDir, os.DirFS(n.o.BlocksDir)); err != nil {
		return err
	}
	m, err := Open(context.Background(), o)
	if err != nil {
		return err
	}
	if err := m.Start(context.Background()); err != nil {
		return err
	}
	c.midNum = m.Chain().Head().BlockNum
	f, err := os.Create(c.mid)
	if err != nil {
		return err
	}
	v, err := m.Chain().View()
	if err != nil {
		return err
	}
	if err := snapshot.Write(f, v, m.Chain().Standing(), snapshot.Options{}); err != nil {
		return err
	}
	v.Close()
	if err := f.Close(); err != nil {
		return err
	}
	return m.Close()
}

// give pushes a block that may be known, or of a branch that has lost.
func give(c *chain.Chain, b *types.SignedBlock) error {
	id := b.ID()
	if b.BlockNum() <= c.Fork().Root().BlockNum || c.Fork().Block(id) != nil ||
		c.Fork().HeaderState(b.Previous) == nil {
		return nil
	}
	p, err := c.Prepare(b, id)
	if err != nil {
		return err
	}
	return c.PushBlock(p)
}

// hashAt is the integrity hash after a block.
func (c *testChain) hashAt(t *testing.T, id types.Checksum256) types.Checksum256 {
	t.Helper()
	c.hashing.Lock()
	defer c.hashing.Unlock()
	if h, ok := c.hashes[id]; ok {
		return h
	}
	byID := make(map[types.Checksum256]*types.SignedBlock)
	for _, b := range c.blocks {
		byID[b.ID()] = b
	}
	var branch []*types.SignedBlock
	for b := byID[id]; b != nil; b = byID[b.Previous] {
		branch = append(branch, b)
	}
	if len(branch) == 0 {
		t.Fatalf("%s is no block of the chain", id)
	}
	o := options(t.TempDir(), engine.Options{})
	o.Genesis = &c.genesis
	n := mustStart(t, o)
	for _, b := range slices.Backward(branch) {
		if err := give(n.Chain(), b); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.note(n); err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	return c.hashes[id]
}

// index is after how many blocks the head is this one at last; -1 if never.
func (c *testChain) index(id types.Checksum256) int {
	for i, h := range slices.Backward(c.heads) {
		if h == id {
			return i
		}
	}
	return -1
}

func mustStart(t *testing.T, o Options) *Node {
	t.Helper()
	n, err := Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Start(context.Background()); err != nil {
		n.Close()
		t.Fatal(err)
	}
	return n
}

// check demands that a node's state is that of its head.
func (c *testChain) check(t *testing.T, what string, n *Node) {
	t.Helper()
	h, err := n.IntegrityHash()
	if err != nil {
		t.Fatal(err)
	}
	if want := c.hashAt(t, n.Chain().Head().ID); h != want {
		t.Fatalf("%s: hash at block %d is %s, want %s", what, n.Chain().Head().BlockNum, h, want)
	}
}

// finish gives a node all blocks and checks where it arrives.
func (c *testChain) finish(t *testing.T, what string, n *Node) {
	t.Helper()
	for _, b := range c.blocks {
		if err := give(n.Chain(), b); err != nil {
			t.Fatalf("%s: block %d: %v", what, b.BlockNum(), err)
		}
	}
	if id := n.Chain().Head().ID; id != c.final {
		t.Fatalf("%s: head %d %s, want %s", what, n.Chain().Head().BlockNum, id, c.final)
	}
	c.check(t, what, n)
	if last, _, _ := n.log.Head(); last != c.logged {
		t.Fatalf("%s: the log ends with %d, not %d", what, last, c.logged)
	}
}

// writeBlocks makes a file of blocks for other processes.
func writeBlocks(name string, blocks []*types.SignedBlock) error {
	var b bytes.Buffer
	for _, x := range blocks {
		raw := x.Append(nil)
		b.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(raw))))
		b.Write(raw)
	}
	return os.WriteFile(name, b.Bytes(), 0o644)
}

func readBlocks(name string) (blocks []*types.SignedBlock, err error) {
	raw, err := os.ReadFile(name)
	for in := bytes.NewReader(raw); err == nil && in.Len() > 0; {
		var size uint32
		if err = binary.Read(in, binary.LittleEndian, &size); err != nil {
			return nil, err
		}
		text := make([]byte, size)
		if _, err = io.ReadFull(in, text); err != nil {
			return nil, err
		}
		b := new(types.SignedBlock)
		err = types.Decode(text, b)
		blocks = append(blocks, b)
	}
	return blocks, err
}

// copyBlocks copies the log, without what else is in the folder.
func copyLog(t *testing.T, from, to string) {
	t.Helper()
	if err := os.MkdirAll(to, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{blocklog.LogName, blocklog.IndexName} {
		b, err := os.ReadFile(filepath.Join(from, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), b, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
