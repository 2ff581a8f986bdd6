package chain_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tarn/antelope/blocklog"
	"tarn/antelope/chain"
	"tarn/antelope/execute"
	"tarn/antelope/feature"
	"tarn/antelope/serial"
	"tarn/internal/refdata"
	"tarn/store"
	"tarn/store/engine"
	"tarn/store/page"
)

// newStore opens an empty store on the page engine.
func newStore(t testing.TB) store.Store {
	t.Helper()
	return openStore(t, engine.Options{Kind: engine.Page, Mode: page.MappedPrivate, LimitBytes: 4 << 30})
}

func openStore(t testing.TB, o engine.Options) store.Store {
	t.Helper()
	st, err := engine.Open(t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}

// replayLog replays a block log from its genesis on a store, and calls after when
// each block was applied.
func replayLog(t testing.TB, dir string, st store.Store, o chain.Options, after func(*chain.Chain)) *chain.Chain {
	t.Helper()
	work := t.TempDir()
	raw, err := os.ReadFile(filepath.Join(dir, "blocks.log"))
	if err != nil {
		t.Skipf("no reference chain: %v", err)
	}
	if err := os.WriteFile(filepath.Join(work, "blocks.log"), raw, 0o644); err != nil {
		t.Fatal(err)
	}
	log, err := blocklog.Open(blocklog.Options{Dir: work})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	c, err := chain.Open(st, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	var p blocklog.Preamble
	p.Read(serial.NewReader(raw))
	if err := c.Genesis(p.Genesis); err != nil {
		t.Fatal(err)
	}
	last, _, _ := log.Head()
	for n := uint32(2); n <= last; n++ {
		b, err := log.Read(n)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Replay(b, nil, execute.Irreversible); err != nil {
			t.Fatal(err)
		}
		if after != nil {
			after(c)
		}
	}
	return c
}

// referenceHash is what Leap's snapshots of all versions have for the reference
// chain.
const referenceHash = "68a9a3578db546fa17d4fa4904c284a9fa5f5f2aef3b8aa18a331add97447b03"

func TestTheReferenceChainsReplayToTheirHashOnEveryEngine(t *testing.T) {
	for _, which := range []string{"leap-snapshots", "leap-snapshots/prod_sched"} {
		dir := refdata.Path(t, which)
		var hashes []string // after each block, on the first engine
		for _, e := range everyEngine() {
			t.Run(filepath.Base(which)+"/"+e.name, func(t *testing.T) {
				var got []string
				for _, all := range []bool{false, true} {
					got = got[:0]
					c := replayLog(t, dir, openStore(t, e.options),
						chain.Options{Options: execute.Options{ForceAllChecks: all}}, func(c *chain.Chain) {
							got = append(got, hash(t, c).String())
						})
					if which == "leap-snapshots" && hash(t, c).String() != referenceHash {
						t.Errorf("hash %s, all checks %v", hash(t, c), all)
					}
				}
				if hashes == nil {
					hashes = got
				}
				if !slices.Equal(hashes, got) {
					t.Errorf("hashes after each block %v, on the first engine %v", got, hashes)
				}
			})
		}
	}
}

// namedEngine is an engine with its map mode.
type namedEngine struct {
	name    string
	options engine.Options
}

func everyEngine() []namedEngine {
	var list []namedEngine
	for _, m := range engine.Modes() {
		list = append(list, namedEngine{m.String(), engine.Options{Kind: engine.Page, Mode: m, LimitBytes: 256 << 20}})
	}
	for _, k := range engine.Kinds() {
		if k != engine.Page {
			list = append(list,
				namedEngine{string(k), engine.Options{Kind: k, CacheBytes: 16 << 20, OverlayBytes: 16 << 20}})
		}
	}
	return list
}

func chainFeatures(t testing.TB) *feature.Set {
	t.Helper()
	set, err := feature.Builtins()
	if err != nil {
		t.Fatal(err)
	}
	return set
}
