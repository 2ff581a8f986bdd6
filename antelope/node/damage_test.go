package node

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"strings"
	"testing"

	"tarn/antelope/blocklog"
	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/types"
	"tarn/store/engine"
)

// stage is what a data folder held at some moment, as the end of the process leaves
// it.
type stage struct{ state, blocks string }

// stages runs a node and copies its folder again and again.
func stages(t *testing.T, c *testChain, e engine.Options) []stage {
	t.Helper()
	dir := t.TempDir()
	o := options(filepath.Join(dir, "node"), e)
	o.Genesis = &c.genesis
	n := mustStart(t, o)
	defer n.Close()
	var list []stage
	for i, b := range c.blocks {
		if err := give(n.Chain(), b); err != nil {
			t.Fatal(err)
		}
		if i%80 != 79 {
			continue
		}
		if err := n.checkpointNow(); err != nil {
			t.Fatal(err)
		}
		s := stage{filepath.Join(dir, fmt.Sprint("state", i)), filepath.Join(dir, fmt.Sprint("blocks", i))}
		copyFolder(t, o.StateDir, s.state)
		copyFolder(t, o.BlocksDir, s.blocks)
		list = append(list, s)
	}
	return list
}

func copyFolder(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// tear damages the end of a file.
func tear(t *testing.T, r *rand.Rand, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	what := ""
	switch r.IntN(6) {
	case 0:
		n := min(len(b), r.IntN(20))
		b, what = b[:len(b)-n], fmt.Sprintf("%d bytes cut", n)
	case 1:
		n := min(len(b), r.IntN(5000))
		b, what = b[:len(b)-n], fmt.Sprintf("%d bytes cut", n)
	case 2:
		n := 1 + r.IntN(6000)
		b, what = append(b, make([]byte, n)...), fmt.Sprintf("%d zeros more", n)
	case 3:
		n := 1 + r.IntN(300)
		junk := make([]byte, n)
		for i := range junk {
			junk[i] = byte(r.Uint32())
		}
		b, what = append(b, junk...), fmt.Sprintf("%d random bytes more", n)
	case 4:
		n := min(len(b), 1+r.IntN(60))
		clear(b[len(b)-n:])
		what = fmt.Sprintf("%d bytes cleared", n)
	default:
		return ""
	}
	if err := os.WriteFile(name, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return filepath.Base(name) + " " + what + "; "
}

// What a power cut, a full disk or an operator with a backup leaves is started from,
// or refused with the remedy, which works.
func TestDamagedFoldersAreMendedOrRefusedWithTheRemedy(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; not with -short")
	}
	t.Parallel() // waits for the disk
	c := theChain(t)
	r := rand.New(rand.NewPCG(*seedFlag, 9))
	refused := 0
	for _, e := range []engine.Options{{Kind: engine.Page}, {Kind: engine.LevelDB}} {
		list := stages(t, c, e)
		for i := range *tearsFlag {
			blocks, state := list[r.IntN(len(list))], list[r.IntN(len(list))]
			if r.IntN(2) == 0 {
				state = blocks
			}
			dir := t.TempDir()
			o := options(dir, e)
			o.Follower = true // who signs is refused for reversible blocks, too
			copyFolder(t, blocks.blocks, o.BlocksDir)
			what := fmt.Sprintf("-node.seed=%d %s %d: %s %s: ", *seedFlag, e.Kind, i, filepath.Base(blocks.blocks),
				filepath.Base(state.state))
			if r.IntN(5) > 0 {
				copyFolder(t, state.state, o.StateDir)
			} else {
				what += "no state; "
			}
			if r.IntN(6) == 0 {
				os.Remove(filepath.Join(o.BlocksDir, blocklog.IndexName))
				what += "no index; "
			}
			for _, name := range []string{blocklog.LogName, blocklog.IndexName,
				filepath.Join(blocklog.ReversibleDir, blocklog.ReversibleName)} {
				what += tear(t, r, filepath.Join(o.BlocksDir, name))
			}
			if r.IntN(3) == 0 {
				os.Remove(filepath.Join(o.BlocksDir, blocklog.TailName))
				what += "no tail; "
			}
			n, err := Open(context.Background(), o)
			if err == nil {
				if err = n.Start(context.Background()); err != nil {
					n.Close()
				}
			}
			if err != nil {
				if !strings.Contains(err.Error(), "restore the log, or start from a snapshot") {
					t.Fatalf("%s%v", what, err)
				}
				refused++
				if i%2 == 0 {
					o.Replay = true
				} else {
					os.RemoveAll(o.StateDir)
					o.Snapshot = c.mid
					copyLog(t, filepath.Join(c.dir, "blocks"), o.BlocksDir)
					os.Remove(filepath.Join(o.BlocksDir, blocklog.TailName))
				}
				n = mustStart(t, o)
			}
			c.check(t, what, n)
			c.finish(t, what, n)
			if err := n.Close(); err != nil {
				t.Fatal(err)
			}
			o.Replay, o.Snapshot = false, ""
			n = mustStart(t, o)
			if n.Chain().Head().ID != c.final {
				t.Fatalf("%safter another start: head %d", what, n.Chain().Head().BlockNum)
			}
			n.Close()
			os.RemoveAll(dir)
		}
	}
	t.Logf("%d folders, %d refused", 2**tearsFlag, refused)
}

// A damaged reversible block stops a node that signs blocks, and no other one.
func TestADamagedReversibleBlockStopsWhoSigns(t *testing.T) {
	c := theChain(t)
	o := options(t.TempDir(), engine.Options{})
	o.Genesis = &c.genesis
	n := mustStart(t, o)
	for _, b := range c.blocks {
		if err := give(n.Chain(), b); err != nil {
			t.Fatal(err)
		}
	}
	head := n.Chain().Head().ID
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(o.BlocksDir, blocklog.ReversibleDir, blocklog.ReversibleName)
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	last := bytes.TrimRight(file, "\x00")
	last[len(last)-20] ^= 1
	if err := os.WriteFile(path, file, 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := Open(context.Background(), o); err == nil || !strings.Contains(err.Error(), path+": offset ") ||
			!strings.Contains(err.Error(), "rename the file") {
			t.Errorf("a node that signs: %v", err)
		}
	}
	o.Follower = true
	n = mustStart(t, o)
	if n.Chain().Head().ID == head {
		t.Error("the damaged block was applied")
	}
	c.finish(t, "without its last reversible block", n)
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path + ".bad"); err != nil {
		t.Error(err)
	}
	o.Follower = false
	mustStart(t, o).Close()
}

func TestAStateOfALostForkIsTakenBack(t *testing.T) {
	t.Parallel() // waits for the disk
	c := theChain(t)
	main := make(map[types.Checksum256]bool)
	byID := make(map[types.Checksum256]*types.SignedBlock)
	for _, b := range c.blocks {
		byID[b.ID()] = b
	}
	for b := byID[c.final]; b != nil; b = byID[b.Previous] {
		main[b.ID()] = true
	}
	tried := 0
	for i, id := range c.heads {
		if main[id] || i+1 < len(c.heads) && !main[c.heads[i+1]] || tried == 3 {
			continue
		}
		tried++
		o := options(t.TempDir(), engine.Options{})
		o.Genesis = &c.genesis
		n := mustStart(t, o)
		for _, b := range c.blocks[:i+1] {
			if err := give(n.Chain(), b); err != nil {
				t.Fatal(err)
			}
		}
		if n.Chain().Head().ID != id {
			t.Fatalf("head %s, want %s", n.Chain().Head().ID, id)
		}
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(o.BlocksDir); err != nil {
			t.Fatal(err)
		}
		copyLog(t, filepath.Join(c.dir, "blocks"), o.BlocksDir)
		n = mustStart(t, o)
		if num := n.Chain().Head().BlockNum; num != c.logged {
			t.Fatalf("head %d, want the log's %d", num, c.logged)
		}
		c.finish(t, "lost fork", n)
		n.Close()
	}
	if tried == 0 {
		t.Fatal("no fork was lost")
	}
}

// singleChain runs a node that produces alone.
func singleChain(t *testing.T, g *types.Genesis, name string, blocks int) Options {
	t.Helper()
	o := options(t.TempDir(), engine.Options{})
	st, err := engine.Open(t.TempDir(), engine.Options{Kind: engine.Page})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	m, err := chaintest.New(st, chain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Chain.Close()
	o.Genesis = &m.Genesis
	if g != nil && *g != m.Genesis {
		t.Fatal("another genesis")
	}
	n := mustStart(t, o)
	for i := range blocks {
		b, err := m.Block(m.CreateAccount(types.N(name + string(rune('a'+i)))))
		if err != nil {
			t.Fatal(err)
		}
		if err := give(n.Chain(), b); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestALogOfAnotherHistoryIsRefused(t *testing.T) {
	a, b := singleChain(t, nil, "alice", 8), singleChain(t, nil, "bob", 10)
	a.BlocksDir, a.Genesis = b.BlocksDir, nil
	n, err := Open(context.Background(), a)
	if err != nil {
		t.Fatal(err)
	}
	err = n.Start(context.Background())
	if err == nil || !strings.Contains(err.Error(), "is not the") ||
		!strings.Contains(err.Error(), "--replay-blockchain") {
		t.Errorf("%v", err)
	}
	n.Close()
	a.Replay = true
	n = mustStart(t, a)
	if n.Chain().Head().BlockNum != 11 {
		t.Errorf("head %d", n.Chain().Head().BlockNum)
	}
	n.Close()
}

func TestALogOfAnotherChainIsRefused(t *testing.T) {
	c := theChain(t)
	a := singleChain(t, nil, "alice", 3)
	other := options(t.TempDir(), engine.Options{})
	other.Genesis = new(types.Genesis)
	*other.Genesis = c.genesis
	other.Genesis.InitialTimestamp += 1_000_000
	n := mustStart(t, other)
	n.Close()
	a.BlocksDir, a.Genesis = other.BlocksDir, nil
	if _, err := Open(context.Background(), a); err == nil ||
		!strings.Contains(err.Error(), "does not match the existing chain ID in state") {
		t.Errorf("%v", err)
	}
}

// A log that keeps few blocks must not lose those that a start would need.
func TestAPrunedLogHasTheBlocksThatAStartNeeds(t *testing.T) {
	c := theChain(t)
	for _, kind := range []engine.Kind{engine.Page, engine.Pebble} {
		for _, keep := range []uint32{24, 0} {
			t.Run(fmt.Sprintf("%s/%d", kind, keep), func(t *testing.T) {
				t.Parallel() // both wait for the disk
				pruneAndStart(t, c, engine.Options{Kind: kind}, keep)
			})
		}
	}
}

// pruneAndStart has a node let go of blocks, and starts another on a copy of its files now and
// then.
func pruneAndStart(t *testing.T, c *testChain, e engine.Options, keep uint32) {
	dir := t.TempDir()
	o := options(filepath.Join(dir, "node"), e)
	o.Genesis, o.Blocks.RetainBlocks, o.Blocks.PruneBytes, o.Blocks.SyncBytes = &c.genesis, &keep, 4096, 1024
	n := mustStart(t, o)
	for i, b := range c.blocks {
		if err := give(n.Chain(), b); err != nil {
			t.Fatal(err)
		}
		if i%120 != 119 {
			continue
		}
		if err := n.saver.Wait(); err != nil { // so that the copy is of one moment
			t.Fatal(err)
		}
		p := o
		p.StateDir, p.BlocksDir = filepath.Join(dir, "state"), filepath.Join(dir, "blocks")
		copyFolder(t, o.StateDir, p.StateDir)
		copyFolder(t, o.BlocksDir, p.BlocksDir)
		m := mustStart(t, p)
		if got, want := m.Chain().Head().ID, n.Chain().Head().ID; got != want {
			t.Fatalf("block %d: head %s, want %s", i, got, want)
		}
		c.check(t, "pruned", m)
		if num, _, _ := m.log.Head(); uint64(num) < m.store.Irreversible() {
			t.Errorf("block %d is irreversible, the log is at %d", m.store.Irreversible(), num)
		}
		m.Close()
		os.RemoveAll(p.StateDir)
		os.RemoveAll(p.BlocksDir)
	}
	if keep > 0 && n.log.First() < 10 {
		t.Errorf("the log begins with block %d: nothing was pruned", n.log.First())
	}
	n.Close()
}
