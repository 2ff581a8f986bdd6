package difftest

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tarn/antelope/chain"
	"tarn/antelope/execute"
	"tarn/antelope/feature"
	"tarn/store/engine"
)

var (
	steeredFor  = flag.Duration("steered.for", 0, "how long to compare with nodeos' controller; 0 for a short while")
	steeredOnly = flag.String("steered.only", "", "workloads that it is given, separated by commas; all if empty")
	steeredSeed = flag.Uint64("steered.seed", 1, "seed of the short form; 0 for a new one")
)

// steeredPeer is nodeos with its controller in-process, or the test is skipped.
func steeredPeer(t *testing.T) *Peer {
	t.Helper()
	p := peer(t)
	if _, _, err := python(t.Context()); err != nil {
		t.Skip(err)
	}
	return p
}

func TestOurChainComesToTheStateOfNodeosController(t *testing.T) {
	t.Parallel()
	h := &Hunt{Peer: steeredPeer(t), Length: 3 * time.Second, Dir: t.TempDir(), Out: lines{t}, Steered: true}
	if *steeredOnly != "" {
		h.Only = strings.Split(*steeredOnly, ",")
	}
	if *steeredFor > 0 {
		h.Length = 15 * time.Second
		if err := h.Run(t.Context(), *steeredFor, 1); err != nil {
			t.Error(err)
		}
		return
	}
	seed := *steeredSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	for w := range slices.Values(Workloads()) {
		if h.Only == nil && (w.Name == "mix" || w.Name == "elect-all") || slices.Contains(h.Only, w.Name) {
			h.one(t.Context(), w, seed)
		}
	}
	if h.different+h.failed > 0 || h.cases == 0 {
		t.Errorf("seed %d: %d cases, %d differ, %d failed", seed, h.cases, h.different, h.failed)
	}
}

// An election whose chain lacks what it is for is no success, whatever the two programs
// agree on.
func TestAnElectionWithoutRewardsIsNoSuccess(t *testing.T) {
	whole := func() *Manifest {
		return &Manifest{LargestSchedule: 21, Actions: map[string]int{"eosio::claimrewards": 1, "eosio::refund": 1,
			"eosio::bidname": 1, "eosio::newaccount": 48}}
	}
	if err := reachedByElection(whole()); err != nil {
		t.Error(err)
	}
	for lack, change := range map[string]func(*Manifest){
		"eosio::claimrewards":        func(m *Manifest) { delete(m.Actions, "eosio::claimrewards") },
		"eosio::refund":              func(m *Manifest) { delete(m.Actions, "eosio::refund") },
		"a name that is sold":        func(m *Manifest) { m.Actions["eosio::newaccount"]-- },
		"a schedule of 21, not of 3": func(m *Manifest) { m.LargestSchedule = 3 },
	} {
		m := whole()
		change(m)
		if err := reachedByElection(m); err == nil || !strings.Contains(err.Error(), lack) {
			t.Errorf("without %s: %v", lack, err)
		}
	}
}

func TestADifferenceIsOneWithoutASnapshotToo(t *testing.T) {
	dir := t.TempDir()
	r := newReplaced(t, dir)
	r.run()
	if err := r.log.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), SnapshotFile)
	if err := writeSnapshot(r.Chain, path); err != nil {
		t.Fatal(err)
	}
	s, err := ReadSnapshot(path)
	if err != nil {
		t.Fatal(err)
	}
	head, right, wrong := r.Chain.Head().BlockNum, fmt.Sprintf("%x", s.Hash()), strings.Repeat("0", 64)
	set, err := feature.Builtins()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		m     Manifest
		block uint32 // after which there is a difference; 0 for none
	}{
		"none":             {Manifest{HeadNum: head, IntegrityHash: right, Hashes: map[uint32]string{head: right}}, 0},
		"at the head":      {Manifest{HeadNum: head, IntegrityHash: wrong}, head},
		"before the head":  {Manifest{HeadNum: head, IntegrityHash: right, Hashes: map[uint32]string{4: wrong, head: right}}, 4},
		"at the same head": {Manifest{HeadNum: head, IntegrityHash: wrong, Hashes: map[uint32]string{head: wrong}}, head},
	} {
		if err := c.m.write(dir); err != nil {
			t.Fatal(err)
		}
		err := Compare(dir, engine.Options{Kind: engine.Page, Mode: engine.Modes()[2], LimitBytes: 64 << 20},
			chain.Options{Options: execute.Options{Features: set, NoMitigations: true}}, io.Discard)
		var other *otherState
		switch {
		case c.block == 0 && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.block > 0 && (!errors.Is(err, ErrDifferent) || !errors.As(err, &other) || other.block != c.block):
			t.Errorf("%s: %v, want a difference after block %d", name, err, c.block)
		}
	}
}
