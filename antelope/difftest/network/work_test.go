package network

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tarn/antelope/chain/chaintest"
	"tarn/antelope/difftest"
	"tarn/antelope/types"
	"tarn/contracts"
)

var workFlag = flag.Duration("network.work", 20*time.Second, "how long a nodeos of Spring has work of each kind")

// finality is an account that no work touches. Made before all contracts, it has no limits.
var finality = types.N("finality")

// goOver lets a chain whose producer has work go over to Savanna's rules: it activates the features that a
// nodeos of 4.1 does not know, and a contract on its own account proposes finalizers.
func (q *Quorum) goOver(ctx context.Context) error {
	first := q.members[0]
	features, err := first.Features(ctx)
	if err != nil {
		return err
	}
	activate := types.N("activate")
	for _, name := range []string{"DISABLE_DEFERRED_TRXS_STAGE_1", "DISABLE_DEFERRED_TRXS_STAGE_2",
		"BLS_PRIMITIVES2", "SAVANNA"} {
		i := slices.IndexFunc(features, func(f difftest.Feature) bool { return f.Name() == name })
		if i < 0 {
			return fmt.Errorf("%s has no feature %s", first.Name, name)
		}
		digest, err := types.ParseChecksum256(features[i].Digest)
		if err == nil {
			err = q.Push(ctx, first, chaintest.Action(eosio, activate, eosio, digest[:]))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := q.blocks(ctx, 3); err != nil {
		return err
	}
	code, err := deploy(finality, contracts.Finalizers())
	if err != nil {
		return err
	}
	privilege := chaintest.Action(eosio, types.N("setpriv"), eosio, append(finality.Append(nil), 1))
	var list []types.Finalizer
	for _, m := range q.members {
		list = append(list, m.Finalizers()...)
	}
	set := chaintest.Action(finality, types.N("setfinalizer"), finality, policy(len(list), list))
	if err := q.Push(ctx, first, append(code, privilege)...); err != nil {
		return err
	}
	return q.Push(ctx, first, set)
}

// worked gives a nodeos of Spring work of a kind, while its chain goes over to Savanna's rules in the middle.
// Ours follows and votes, and comes to the same state; by its own log too.
func worked(t *testing.T, p *difftest.Peer, w difftest.Workload, number uint64) {
	ours, theirs := spring(t)
	genesis, producers := difftest.Genesis(w, number)
	q := &Quorum{Genesis: genesis, Key: producers[eosio], say: lines{t}}
	t.Cleanup(q.Close)
	for i, program := range []difftest.Executable{theirs, ours} {
		m, err := q.Join(Place{Program: program, Finalizes: 1}, t.ArtifactDir())
		must(t, err)
		if m.config.Producers = producers; i > 0 {
			m.config.Producers = nil
		}
		must(t, q.Start(t.Context(), m))
	}
	must(t, q.Push(t.Context(), q.members[0], q.NewAccount(finality)))
	changed := make(chan error, 1)
	time.AfterFunc(*workFlag/2, func() { changed <- q.goOver(t.Context()) })
	taken, refused, err := p.Drive(t.Context(), q.members[0].Node, w, number, genesis.ChainID(), *workFlag, lines{t})
	must(t, <-changed)
	must(t, err)
	_, err = q.Changed(t.Context(), 10*time.Minute) // with forty producers a round takes four
	must(t, err)
	finalise(t, q)
	must(t, q.still(t.Context(), func(s state) error {
		t.Logf("%d transactions were taken, %d refused; the same at block %d, hash %s", taken, refused, s.num(), s.hash)
		m := q.members[1]
		if err := m.Stop(); err != nil {
			return err
		}
		if err := q.Again(t.Context(), m, "--replay-blockchain"); err != nil {
			return err
		}
		if err := await(t.Context(), "common head", agreeTime,
			func() (bool, error) { return q.level(t.Context()) }); err != nil {
			return err
		}
		again, err := stateOf(t.Context(), m.Node)
		if err == nil && again != s {
			t.Errorf("a replay of the log comes to %+v, and not to %+v", again, s)
		}
		return err
	}))
	if taken == 0 {
		t.Error("no transaction was taken")
	}
}

// Work of all kinds, with all features, on a chain that goes over to Savanna's rules in the middle of it.
func TestWorkGoesOnThroughTheChange(t *testing.T) {
	spring(t)
	p, err := difftest.Find(t.Context())
	if err != nil {
		t.Skip(err)
	}
	number := seed()
	t.Logf("seed %d", number)
	for _, w := range difftest.Workloads() {
		if w.Leaps || w.Name != "token" && !strings.HasSuffix(w.Name, "-all") { // these have all features
			continue
		}
		t.Run(w.Name, func(t *testing.T) { worked(t, p, w, number) })
	}
}
