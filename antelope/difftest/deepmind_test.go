package difftest

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"tarn/antelope/chain"
	"tarn/store/engine"
	"tarn/store/page"
)

// deepMindEngine is the engine that our chain replays on.
func deepMindEngine() engine.Options {
	return engine.Options{Kind: engine.Page, Mode: page.MappedPrivate, LimitBytes: 2 << 30}
}

// TARN_DIFFTEST_CASES is a folder with recorded cases to compare, instead of one that
// is made.
func TestOurDeepMindLogIsThatOfNodeos(t *testing.T) {
	t.Parallel()
	p := peer(t)
	cases := os.Getenv("TARN_DIFFTEST_CASES")
	if cases == "" {
		cases = t.TempDir()
		seed := uint64(time.Now().UnixNano())
		t.Logf("seed %d", seed)
		for _, w := range Workloads() {
			if w.Name != "mix" {
				continue
			}
			if _, err := p.Record(t.Context(), w, seed, caseLength, filepath.Join(cases, w.Name),
				lines{t}); err != nil {
				t.Fatal(err)
			}
		}
	}
	dirs, err := filepath.Glob(filepath.Join(cases, "*", ManifestFile))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no cases in %s: %v", cases, err)
	}
	for _, d := range dirs {
		t.Run(filepath.Base(filepath.Dir(d)), func(t *testing.T) { compareDeepMind(t, p, filepath.Dir(d)) })
	}
}

func compareDeepMind(t *testing.T, p *Peer, dir string) {
	theirs, err := p.DeepMind(t.Context(), dir, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	n, err := CompareDeepMind(dir, theirs, deepMindEngine(), chain.Options{})
	if err != nil {
		t.Error(err)
	}
	t.Logf("%d lines in %s", n, time.Since(start).Round(time.Millisecond))
}
