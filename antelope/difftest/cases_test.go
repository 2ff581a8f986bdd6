package difftest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"tarn/store/engine"
)

// TestMain lets four tests run at once, however few processors there are, unless the command
// line says otherwise: nodeos makes a block in half a second and is waited for most of the time.
// It removes the cases that tests share.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "4"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if shared.dir != "" {
		os.RemoveAll(shared.dir)
	}
	os.Exit(code)
}

// shared are the short cases that tests ask for, each made once.
var shared = struct {
	sync.Mutex
	dir  string
	made []string
}{}

// sharedCase is the folder of a short case of a workload, which nobody changes.
func sharedCase(t *testing.T, p *Peer, w Workload) string {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.dir == "" {
		dir, err := os.MkdirTemp("", "tarn-oracle-cases-")
		if err != nil {
			t.Fatal(err)
		}
		shared.dir = dir
	}
	dir := filepath.Join(shared.dir, w.Name)
	if !slices.Contains(shared.made, w.Name) {
		seed := uint64(time.Now().UnixNano())
		fmt.Printf("%s: seed %d\n", w.Name, seed)
		if _, err := p.RecordSteered(t.Context(), w, seed, 2*time.Second, dir, lines{t}); err != nil {
			t.Fatal(err)
		}
		shared.made = append(shared.made, w.Name)
	}
	return dir
}

// enginesOf are the engines on which the n-th case is replayed: each with -history.all, every
// other one without.
func enginesOf(n int) (list []engine.Options) {
	for i, e := range everyEngine() {
		if *historyAll > 0 || (n+i)%2 == 0 {
			list = append(list, e)
		}
	}
	return list
}
