package chain_test

import (
	"slices"
	"testing"

	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
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
	x, err := chain.NewCandidate(packed, chain.Input)
	if err != nil {
		t.Fatal(err)
	}
	x.Keys = []types.PublicKey{m.Key.Public()}
	trace, err := m.Chain.PushTransaction(x, chain.Billing{Explicit: true, CPU: 100})
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
