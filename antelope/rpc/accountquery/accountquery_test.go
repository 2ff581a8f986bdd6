package accountquery_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/execute"
	"tarn/antelope/rpc/accountquery"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/store/page"
	"tarn/store/revision"
)

type ledger struct {
	t testing.TB
	m *chaintest.Maker
	x *accountquery.Index
}

func (l *ledger) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

func unlimited(int) error { return nil }

func newLedger(t testing.TB) *ledger {
	l := &ledger{t: t}
	rows, err := page.OpenVolatile(64 << 20)
	l.must(err)
	st, err := revision.Open(rows)
	l.must(err)
	t.Cleanup(func() { st.Close() })
	l.m, err = chaintest.New(st,
		chain.Options{Hooks: chain.Hooks{Applied: func(trace *types.TransactionTrace, _ *execute.Candidate) {
			if l.x != nil {
				l.x.Applied(trace)
			}
		}}})
	l.must(err)
	t.Cleanup(func() { l.m.Chain.Close() })
	l.must(l.m.Chain.Publish())
	v, err := l.m.Chain.View()
	l.must(err)
	defer v.Close()
	l.x, err = accountquery.New(v)
	l.must(err)
	return l
}

func (l *ledger) block(actions ...types.Action) {
	l.t.Helper()
	_, err := l.m.Block(actions...)
	l.must(err)
	l.accepted()
}

func (l *ledger) accepted() {
	l.t.Helper()
	l.x.Accepted(l.m.Chain.Head())
	l.must(l.m.Chain.Publish())
}

func key(n byte) types.PublicKey {
	return types.PublicKey{Point: [33]byte{2, n}}
}

func update(account, permission, parent string, a types.Authority) types.Action {
	d := types.UpdateAuth{Account: types.N(account), Permission: types.N(permission),
		Parent: types.N(parent), Authority: a}
	x := chaintest.Action(types.N("eosio"), types.N("updateauth"), types.N(account), d.Append(nil))
	return x
}

func weights(keys map[byte]uint16, accounts ...types.PermissionLevelWeight) types.Authority {
	a := types.Authority{Threshold: 1, Accounts: accounts}
	for n := range byte(10) {
		if w := keys[n]; w > 0 {
			a.Keys = append(a.Keys, types.KeyWeight{Key: key(n), Weight: w})
		}
	}
	return a
}

// expect compares what is found at the head.
func (l *ledger) expect(want string, levels []types.PermissionLevel, keys ...types.PublicKey) {
	l.t.Helper()
	v, err := l.m.Chain.View()
	l.must(err)
	defer v.Close()
	l.expectIn(v, want, levels, keys...)
}

func (l *ledger) expectIn(v *state.View, want string, levels []types.PermissionLevel, keys ...types.PublicKey) {
	l.t.Helper()
	var list []string
	found, err := l.x.Accounts(v, levels, keys, unlimited)
	l.must(err)
	for _, a := range found {
		by := "key"
		if a.ByAccount != nil {
			by = "{" + a.ByAccount.Actor.String() + "," + a.ByAccount.Permission.String() + "}"
		}
		list = append(list, fmt.Sprintf("%s@%s by %s %d/%d", a.Account, a.Permission, by, a.Weight, a.Threshold))
	}
	if got := strings.Join(list, ", "); got != want {
		l.t.Errorf("got %s, want %s", got, want)
	}
}

func level(actor, permission string) []types.PermissionLevel {
	return []types.PermissionLevel{{Actor: types.N(actor), Permission: types.N(permission)}}
}

func TestPermissionsAreFoundByWhatTheyName(t *testing.T) {
	l := newLedger(t)
	l.expect("eosio@owner by key 1/1, eosio@active by key 1/1", nil, l.m.Key.Public())
	l.block(l.m.CreateAccount(types.N("alice")), l.m.CreateAccount(types.N("bob")))
	l.expect(
		"eosio@owner by key 1/1, eosio@active by key 1/1, alice@owner by key 1/1, alice@active by key 1/1, bob@owner by key 1/1, bob@active by key 1/1",
		nil, l.m.Key.Public())
	bob := func(permission string, weight uint16) types.PermissionLevelWeight {
		return types.PermissionLevelWeight{Permission: level("bob", permission)[0], Weight: weight}
	}
	l.block(update("alice", "pay", "active", weights(map[byte]uint16{1: 1, 2: 3}, bob("active", 2))),
		update("alice", "play", "active", weights(map[byte]uint16{2: 2}, bob("active", 1), bob("owner", 1))))
	l.expect("alice@pay by key 1/1", nil, key(1))
	l.expect("alice@play by key 2/1, alice@pay by key 3/1", nil, key(2), key(2))
	l.expect("alice@play by {bob,active} 1/1, alice@pay by {bob,active} 2/1", level("bob", "active"))
	l.expect("alice@play by {bob,active} 1/1, alice@pay by {bob,active} 2/1, alice@play by {bob,owner} 1/1",
		level("bob", ""))
	l.expect("", level("alice", ""), key(9))
	d := types.DeleteAuth{Account: types.N("alice"), Permission: types.N("pay")}
	l.block(chaintest.Action(types.N("eosio"), types.N("deleteauth"), types.N("alice"), d.Append(nil)))
	l.expect("", nil, key(1))
	l.expect("alice@play by key 2/1", nil, key(2))
}

func TestWhatAnotherBranchSaysIsNotFound(t *testing.T) {
	l := newLedger(t)
	l.block(l.m.CreateAccount(types.N("alice")))
	before, err := l.m.Chain.View()
	l.must(err)
	defer before.Close()
	l.block(update("alice", "pay", "active", weights(map[byte]uint16{1: 1})))
	l.expect("alice@pay by key 1/1", nil, key(1))
	l.expectIn(before, "", nil, key(1))
	l.block(update("alice", "pay", "active", weights(map[byte]uint16{2: 1})))
	l.expect("", nil, key(1))
	l.expect("alice@pay by key 1/1", nil, key(2))
	l.block(update("alice", "pay", "active", weights(map[byte]uint16{1: 7})))
	l.expect("alice@pay by key 7/1", nil, key(1))
}

func TestProducersAreFoundOnceTheyAreActive(t *testing.T) {
	l := newLedger(t)
	l.expect("", level("bob", ""))
	l.block(l.m.CreateAccount(types.N("bob")))
	head := *l.m.Chain.Head()
	header := *head.HeaderState
	head.HeaderState = &header
	header.ActiveSchedule = &types.ProducerSchedule{Version: 1,
		Producers: []types.ProducerAuthority{{Producer: types.N("bob")}, {Producer: types.N("eosio")}}}
	l.x.Accepted(&head)
	l.expect("", level("bob", "")) // the state does not say so
	l.expect(
		"eosio.prods@active by {eosio,active} 1/1, eosio.prods@prod.major by {eosio,active} 1/1, eosio.prods@prod.minor by {eosio,active} 1/1",
		level("eosio", "active"))
}

// Many accounts, so that runs are merged: each is found, and an index that is made
// anew finds the same.
func TestAnIndexGrowsInSteps(t *testing.T) {
	l := newLedger(t)
	const blocks, each = 21, 100
	name := func(i int) types.Name {
		return types.N("user" + string([]byte{byte('a' + i/(26*26)), byte('a' + i/26%26), byte('a' + i%26)}))
	}
	for b := range blocks {
		var actions []types.Action
		for i := b * each; i < (b+1)*each; i++ {
			actions = append(actions, l.m.CreateAccount(name(i)))
		}
		l.block(actions...)
	}
	v, err := l.m.Chain.View()
	l.must(err)
	defer v.Close()
	again, err := accountquery.New(v)
	l.must(err)
	grown, err := l.x.Accounts(v, nil, []types.PublicKey{l.m.Key.Public()}, unlimited)
	l.must(err)
	made, err := again.Accounts(v, nil, []types.PublicKey{l.m.Key.Public()}, unlimited)
	l.must(err)
	if len(grown) != 2*blocks*each+2 || len(made) != len(grown) {
		t.Fatalf("%d and %d permissions", len(grown), len(made))
	}
	for i := range grown {
		if grown[i].Account != made[i].Account || grown[i].Permission != made[i].Permission {
			t.Fatalf("%d: %v, %v", i, grown[i], made[i])
		}
	}
}

// BenchmarkNew is what a start costs for each permission.
func BenchmarkNew(b *testing.B) {
	l := newLedger(b)
	const accounts = 5000
	for i := 0; i < accounts; {
		var actions []types.Action
		for range 100 {
			actions = append(actions, l.m.CreateAccount(types.Name(uint64(i+1)<<40)))
			i++
		}
		l.block(actions...)
	}
	v, err := l.m.Chain.View()
	l.must(err)
	defer v.Close()
	for b.Loop() {
		if _, err := accountquery.New(v); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(2*accounts), "ns/permission")
}

// The permissions that name an account are read once for a question, however many of its own are asked for; a question
// that takes too much ends.
func TestManyPermissionsOfOneAccountAreOneQuestion(t *testing.T) {
	l := newLedger(t)
	l.block(l.m.CreateAccount(types.N("alice")), l.m.CreateAccount(types.N("bob")))
	for _, name := range []string{"one", "two", "three"} {
		l.block(update("alice", name, "active", weights(nil, types.PermissionLevelWeight{
			Permission: level("bob", "active")[0], Weight: 1})))
	}
	v, err := l.m.Chain.View()
	l.must(err)
	defer v.Close()
	levels := append(level("bob", ""), level("bob", "active")...)
	for i := range 1000 {
		levels = append(levels, types.PermissionLevel{Actor: types.N("bob"), Permission: types.Name(i+1) << 8})
	}
	reads := 0
	list, err := l.x.Accounts(v, levels, nil, func(int) error { reads++; return nil })
	l.must(err)
	if len(list) != 6 || reads != 3 {
		t.Errorf("%d permissions of %d that were read, want 6 of 3", len(list), reads)
	}
	enough := errors.New("enough")
	if _, err := l.x.Accounts(v, levels, nil, func(int) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("%v", err)
	}
}
