package difftest

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tarn/opera/eventfile"
)

var (
	simulated = flag.Int("difftest.simulated", 2500, "events of each simulated network")
	firstSeed = flag.Uint64("difftest.seed", 1, "seed of the first network; 0 takes one by chance")
	forTime   = flag.Duration("difftest.for", 0, "how long networks are compared, one after the other; 0 for one of them")
)

// trial is a network that is compared, and what was driven through it.
type trial struct {
	*Statistics
	dir  string // where its files are
	seed uint64
}

// trials compares networks, for as long as is wanted. The files of one that differs are
// kept.
func trials(t *testing.T, run func(*trial) error) *Statistics {
	t.Helper()
	seed := *firstSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	var all Statistics
	for end := time.Now().Add(*forTime); ; seed++ {
		dir, err := os.MkdirTemp("", "opera-oracle-")
		if err != nil {
			t.Fatal(err)
		}
		one := &trial{dir: dir, seed: seed}
		if err := run(one); err != nil {
			t.Errorf("seed %d: %v\nits files are in %s", seed, err, dir)
		} else if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
		if one.Statistics != nil {
			all.Add(one.Statistics)
			t.Logf("seed %d: %d blocks, %d transactions, %d epochs, %d cheaters",
				seed, one.Blocks, one.Txs, one.Epochs, one.Cheaters)
		}
		if t.Failed() || !time.Now().Before(end) {
			t.Logf("in all:\n%v", &all)
			return &all
		}
	}
}

// TestASimulatedNetworkIsGoOperas lets go-opera import what validators of our own make.
func TestASimulatedNetworkIsGoOperas(t *testing.T) {
	p, _ := peer(t)
	all := trials(t, func(r *trial) error { return simulate(t, p, r) })
	if all.Epochs == 0 || all.Txs == 0 || all.Skipped == 0 || all.Rules == 0 ||
		all.Spoiled == 0 && *firstSeed%2 == 1 { // networks of even seeds spoil nothing
		t.Error("something was not driven")
	}
	if *forTime > 10*time.Minute {
		everyKind(t, all)
	}
}

// everyKind demands that deeds of each kind have succeeded, but for those that cannot.
func everyKind(t *testing.T, all *Statistics) {
	t.Helper()
	vain := map[string]bool{"create a validator badly": true, "usurp": true, "send more than there is": true,
		"have no gas to create": true}
	for kind, f := range all.Fates {
		if f.Done == 0 && !vain[kind] {
			t.Errorf("of %d times, %q has never succeeded", f.Sent, kind)
		}
	}
	if all.Cheaters == 0 || all.Created == 0 || all.Upgrades == 0 || all.Forked == 0 || all.Proven == 0 {
		t.Error("something was not driven")
	}
}

func simulate(t *testing.T, p *Peer, r *trial) error {
	validators := 1 + int(r.seed%7)
	path := filepath.Join(r.dir, "made.events")
	c := newChain(t, filepath.Join(r.dir, "ours"), validators)
	out, err := eventfile.Create(path)
	if err != nil {
		return err
	}
	n, err := NewSimulation(c.Chain, r.seed, validators, out.Write)
	if err != nil {
		return err
	}
	for i := range *simulated {
		if err := n.Step(); err != nil {
			return fmt.Errorf("step %d: %w", i, errors.Join(err, out.Close()))
		}
	}
	if err := out.Close(); err != nil {
		return err
	}
	if r.Statistics, err = n.Count(); err != nil {
		return err
	}
	theirs, err := p.Replay(t.Context(), filepath.Join(r.dir, "go-opera"), validators, path)
	if err != nil {
		return err
	}
	if err := compare(c.Chain, theirs); err != nil {
		return err
	}
	if err := sameVotes(c.Chain, &theirs.config); err != nil {
		return err
	}
	// What go-opera refuses it does not export.
	taken, err := countEvents(theirs.Events)
	if err == nil && taken != n.Events {
		err = fmt.Errorf("go-opera took %d events, we %d", taken, n.Events)
	}
	return errors.Join(err, c.Close())
}

// countEvents counts those of a file.
func countEvents(path string) (n int, err error) {
	in, err := eventfile.Open(path)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	for _, err := range in.All() {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
