package chain_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/execute"
	"tarn/antelope/feature"
	"tarn/antelope/types"
)

// began is a chain with a pending block.
func began(t *testing.T) *chaintest.Maker {
	t.Helper()
	m, err := chaintest.New(newStore(t), chain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Chain.Close() })
	if err := m.StartBlock(); err != nil {
		t.Fatal(err)
	}
	return m
}

// tryTransaction is the trace of a transaction in the pending block, which was billed so much and may have
// failed.
func tryTransaction(
	t *testing.T, m *chaintest.Maker, packed *types.PackedTransaction, cpu int64,
) *types.TransactionTrace {
	t.Helper()
	candidate, err := execute.NewCandidate(packed, execute.Input)
	if err != nil {
		t.Fatal(err)
	}
	candidate.Keys = []types.PublicKey{m.Key.Public()}
	trace, err := m.Chain.PushTransaction(candidate, execute.Billing{Explicit: true, CPU: cpu})
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

// Clients that ask for all of a failure show where it passed.
func TestAFailuresLogSaysWhereItPassed(t *testing.T) {
	m := began(t)
	eosio, active := types.N("eosio"), types.N("active")
	key := m.Key.Public()
	update := types.UpdateAuth{Account: eosio, Permission: types.N("a"), Parent: active,
		Authority: types.Authority{Threshold: 3, Keys: []types.KeyWeight{{Key: key, Weight: 2}}}}
	link := types.LinkAuth{Account: eosio, Code: eosio, Action: types.N("b"), Requirement: types.N("nobody")}
	nameless := link
	nameless.Requirement = 0
	const passed = " pending console output: "
	for _, x := range []struct {
		action  types.Action
		message string
		notes   []string
	}{
		{m.CreateAccount(eosio), "Cannot create account named eosio, as that name is already taken",
			[]string{"", "eosio <= eosio::newaccount" + passed}},
		{chaintest.Action(eosio, types.N("updateauth"), eosio, update.Append(nil)),
			`Invalid authority: {"threshold":3,"keys":[{"key":"` + key.String() +
				`","weight":2}],"accounts":[],"waits":[]}`, []string{"eosio <= eosio::updateauth" + passed}},
		{chaintest.Action(eosio, types.N("linkauth"), eosio, link.Append(nil)), "Failed to retrieve permission: nobody",
			[]string{"", "eosio <= eosio::linkauth" + passed}},
		{chaintest.Action(eosio, types.N("linkauth"), eosio, nameless.Append(nil)),
			"Required permission cannot be empty", []string{"", "eosio <= eosio::linkauth" + passed}},
	} {
		packed, err := m.Sign(x.action)
		if err != nil {
			t.Fatal(err)
		}
		trace := tryTransaction(t, m, packed, 100)
		if trace.Except == nil {
			t.Fatalf("%s: %+v", x.action.Name, trace)
		}
		var notes []string
		for _, n := range trace.Except.Later() {
			notes = append(notes, n.Text())
		}
		if e := trace.Except; e.Message() != x.message || !slices.Equal(notes, x.notes) {
			t.Errorf("%s: %q and %q, want %q and %q", x.action.Name, e.Message(), notes, x.message, x.notes)
		}
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

// The ids of transactions that have not expired are in memory, bounded by what each of them
// has paid. The same one again is a duplicate where its id is there.
func TestATransactionThatHasNotPaidLeavesNoID(t *testing.T) {
	m := began(t)
	least := int64(m.Genesis.InitialConfiguration.MinTransactionCPUUsage)
	for _, x := range []struct {
		name          string
		action        types.Action
		cpu           int64
		first, second string
	}{
		{"billed too little", m.CreateAccount(types.N("poor")), least - 1,
			"cannot bill CPU time less than the minimum of 1 us", "cannot bill CPU time less than the minimum of 1 us"},
		{"failed", m.CreateAccount(types.N("eosio")), least,
			"Cannot create account named eosio, as that name is already taken",
			"Cannot create account named eosio, as that name is already taken"},
		{"paid", m.CreateAccount(types.N("rich")), least, "", "duplicate transaction"},
	} {
		packed, err := m.Sign(x.action)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{x.first, x.second} {
			trace, got := tryTransaction(t, m, packed, x.cpu), ""
			if trace.Except != nil {
				got = trace.Except.Message()
			}
			if !strings.HasPrefix(got, want) || want == "" && got != "" {
				t.Errorf("%s: %q, want %q", x.name, got, want)
			}
		}
	}
}
