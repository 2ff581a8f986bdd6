package chain_test

import (
	"os"
	"path/filepath"
	"testing"

	"tarn/antelope/chain"
	"tarn/antelope/types"
)

// The same blocks, forks and all, give the same state after each of them.
func TestEveryEngineHasTheSameHashAfterEachBlockOfAForkingChain(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; not with -short")
	}
	t.Logf("repeat with -forks.seed=%d", *forkSeed)
	p := forks(t, *forkSeed, 20)
	var want []types.Checksum256
	for _, e := range everyEngine() {
		n := &loggedChain{t: t, store: openStore(t, e.options), log: &memoryLog{first: 2}}
		n.opt.Blocks, n.opt.Reversible = n.log, memoryReversible{n.log}
		n.open()
		if err := n.Genesis(&p.Genesis); err != nil {
			t.Fatal(err)
		}
		for i, b := range p.Blocks {
			if err := push(t, n.Chain, b); err != nil && b.BlockNum() > n.Fork().Root().BlockNum+1 {
				t.Fatalf("%s: block %d: %v", e.name, b.BlockNum(), err)
			}
			h := hash(t, n.Chain)
			if i == len(want) {
				want = append(want, h)
			}
			if h != want[i] {
				t.Fatalf("%s: hash %s after block %d %s, want %s", e.name, h, b.BlockNum(), b.ID(), want[i])
			}
		}
		n.sameAs(e.name, p.Chain(0))
		n.Close()
	}
}

// Chains that nodeos has made, in the folders of TARN_DIFFTEST_CASES, do so too.
func TestEveryEngineHasTheSameHashAfterEachRecordedBlock(t *testing.T) {
	folder := os.Getenv("TARN_DIFFTEST_CASES")
	logs, err := filepath.Glob(filepath.Join(folder, "*", "blocks.log"))
	if folder == "" || err != nil || len(logs) == 0 {
		t.Skip("no recorded chains; TARN_DIFFTEST_CASES names the folder of their folders")
	}
	for _, log := range logs {
		name := filepath.Base(filepath.Dir(log))
		t.Run(name, func(t *testing.T) {
			var want []types.Checksum256
			for _, e := range everyEngine() {
				i := 0
				replayLog(t, filepath.Dir(log), openStore(t, e.options), chain.Options{}, func(c *chain.Chain) {
					h := hash(t, c)
					if i == len(want) {
						want = append(want, h)
					}
					if h != want[i] {
						t.Fatalf("%s: hash %s after block %d, want %s", e.name, h, c.Head().BlockNum, want[i])
					}
					i++
				})
				if i != len(want) {
					t.Fatalf("%s: %d blocks, want %d", e.name, i, len(want))
				}
			}
		})
	}
}
