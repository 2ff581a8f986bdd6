package node

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"tarn/antelope/chain"
	"tarn/antelope/ship"
	"tarn/antelope/types"
	"tarn/store/engine"
)

// The history of finality data has each block from the change of rules on, once, whether a node ends
// or is killed, before the change, within it and after it.
func TestFinalityDataIsWholeAfterAnyStart(t *testing.T) {
	p := finalPeers(t, 2)
	want := map[uint32]string{} // of the branch that is the head's
	first := uint32(0)
	record := chain.Hooks{Record: func(x *chain.Executed) error {
		num, s := x.Block.BlockNum, x.Block.Finality
		maps.DeleteFunc(want, func(k uint32, _ string) bool { return k >= num })
		if s != nil {
			want[num] = x.Block.ID.String() + string(s.AppendData(nil, x.Actions))
		}
		if len(want) == 1 && s != nil {
			first = num
		}
		return nil
	}}
	start := func(dir string) *Node {
		o := historyNode(dir, p.Genesis)
		n, err := Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		n.Chain().Subscribe(record)
		if err := n.Start(t.Context()); err != nil {
			n.Close()
			t.Fatal(err)
		}
		return n
	}
	dir := t.TempDir()
	n := start(dir)
	for i, b := range p.Blocks {
		if err := give(n.Chain(), b); err != nil {
			t.Fatal(err)
		}
		near := first > 0 && n.Chain().Head().BlockNum < first+4
		switch {
		case !near && i%25 != 0:
		case i%2 == 0: // it ends
			if err := n.Close(); err != nil {
				t.Fatal(err)
			}
			checkFinality(t, dir, want, fmt.Sprintf("an end after %d blocks", i+1))
			n = start(dir)
		default: // it is killed: another goes on with what is in its files
			killed := filepath.Join(t.TempDir(), "killed")
			if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			if err := n.Close(); err != nil {
				t.Fatal(err)
			}
			dir = killed
			n = start(dir)
		}
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	checkFinality(t, dir, want, "the end")
	if len(want) < 10 {
		t.Errorf("%d blocks have finality data", len(want))
	}
}

func historyNode(dir string, g types.Genesis) Options {
	o := options(dir, engine.Options{})
	if _, err := os.Stat(o.StateDir); err != nil {
		o.Genesis = &g
	}
	o.History = &History{Options: ship.Options{Dir: filepath.Join(dir, "state-history"), Traces: true, State: true,
		Finality: true, Spring: true},
		Server: ship.ServerOptions{Limits: ship.DefaultLimits()}}
	return o
}

func checkFinality(t *testing.T, dir string, want map[uint32]string, when string) {
	t.Helper()
	got := historyOf(t, filepath.Join(dir, "state-history"), "finality_data_history")
	if !maps.Equal(got.entries, want) {
		t.Errorf("%s: finality data of the blocks %d to %d, want %d of them with the same contents",
			when, got.first, got.end, len(want))
	}
}
