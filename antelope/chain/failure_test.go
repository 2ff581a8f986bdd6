package chain_test

import (
	"context"
	"slices"
	"testing"

	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/control"
	"tarn/antelope/execute"
	"tarn/antelope/feature"
	"tarn/antelope/types"
)

// Clients that ask for all of a failure show where it passed.
func TestAFailuresLogSaysWhereItPassed(t *testing.T) {
	m, err := chaintest.New(newStore(t), chain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Chain.Close()
	if err := m.StartBlock(); err != nil {
		t.Fatal(err)
	}
	packed, err := m.Sign(m.CreateAccount(types.N("eosio")))
	if err != nil {
		t.Fatal(err)
	}
	x, err := execute.NewCandidate(packed, control.Input)
	if err != nil {
		t.Fatal(err)
	}
	x.Keys = []types.PublicKey{m.Key.Public()}
	trace, err := m.Chain.PushTransaction(x, execute.Billing{Explicit: true, CPU: 100})
	if err != nil || trace.Except == nil {
		t.Fatalf("an account twice: %v, %+v", err, trace)
	}
	want := []string{"", "eosio <= eosio::newaccount pending console output: "}
	var notes []string
	for _, n := range trace.Except.Notes() {
		notes = append(notes, n.Message())
	}
	if e := trace.Except; e.Message != "Cannot create account named eosio, as that name is already taken" || !slices.Equal(notes, want) {
		t.Errorf("%q and %q, want %q", e.Message, notes, want)
	}
}

// What onblock does wrong is undone alone, even what makes a whole block bad elsewhere
// (Leap: start_block).
func TestOnblockMayFailWithWhatMakesABlockBad(t *testing.T) {
	set, err := feature.Builtins()
	if err != nil {
		t.Fatal(err)
	}
	first, _ := set.Digest(feature.PreactivateFeature)
	m := maker(t)
	c := follower(t, m)
	log := &memoryLog{first: 2}
	take := func(b *types.SignedBlock) {
		t.Helper()
		if err := push(t, c, b); err != nil {
			t.Fatalf("block %d: %v", b.BlockNum(), err)
		}
		log.blocks = append(log.blocks, b)
	}
	if err := m.StartBlock(first); err != nil {
		t.Fatal(err)
	}
	b, err := m.EndBlock()
	if err != nil {
		t.Fatal(err)
	}
	take(b)
	take(block(t, m, chaintest.SetCode(types.N("eosio"), chaintest.SystemCode("onblock"))))
	for range 3 {
		take(block(t, m)) // its onblock preactivates a feature that there is not
	}
	if d := c.State().Depth(); d != 0 {
		t.Errorf("%d sessions are open", d)
	}
	if got, want := hash(t, c), hash(t, m.Chain); got != want {
		t.Errorf("the follower's state is %s, the producer's %s", got, want)
	}
	replayed := followerWith(t, m, chain.Options{Blocks: log})
	if err := replayed.Resume(context.Background(), nil, nil); err != nil {
		t.Fatal(err)
	}
	if got, want := hash(t, replayed), hash(t, m.Chain); got != want {
		t.Errorf("the replayed state is %s, the producer's %s", got, want)
	}
}
