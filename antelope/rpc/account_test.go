package rpc_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tarn/antelope/rpc/nodeoshttp"
	"tarn/antelope/serial"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

const systemABI = `{"version":"eosio::abi/1.1","structs":[
	{"name":"user_resources","base":"","fields":[{"name":"owner","type":"name"},{"name":"net_weight","type":"asset"},{"name":"cpu_weight","type":"asset"},{"name":"ram_bytes","type":"int64"}]},
	{"name":"voter_info","base":"","fields":[{"name":"owner","type":"name"},{"name":"staked","type":"int64"}]},
	{"name":"producer_info","base":"","fields":[{"name":"owner","type":"name"},{"name":"total_votes","type":"float64"}]},
	{"name":"eosio_global_state","base":"","fields":[{"name":"total_producer_vote_weight","type":"float64"}]}],
	"tables":[{"name":"producers","index_type":"i64","key_names":[],"key_types":[],"type":"producer_info"},
	{"name":"global","index_type":"i64","key_names":[],"key_types":[],"type":"eosio_global_state"}]}`

const aliceKey = "EOS6MRyAjQq8ud7hVNYcfnVPJqcVpscN5So8BhtHuGYqET5GDW5CV"

// fillAccounts makes the account alice, with permissions, stakes and tokens.
func fillAccounts(t testing.TB, s *state.State) {
	f := filler{t, s}
	alice, eosio := types.N("alice"), types.N("eosio")
	f.account("alice", "")
	must(t, s.SetABI(eosio, packedABI(t, systemABI)))
	_, err := s.Limits.Create(alice,
		state.ResourceLimits{Owner: alice, NetWeight: 1000, CPUWeight: -1, RAMBytes: 5_000_000_000})
	must(t, err)
	_, err = s.Usages.Create(alice, state.ResourceUsage{Owner: alice, RAM: 2996})
	must(t, err)
	key, err := types.ParsePublicKey(aliceKey)
	must(t, err)
	for _, p := range [][2]string{{"owner", ""}, {"active", "owner"}, {"claim", "active"}} {
		k := state.PermissionKey{Owner: alice, Name: types.N(p[0])}
		_, err := s.Permissions.Create(k,
			state.Permission{Key: k, Parent: types.N(p[1]), Authority: types.KeyAuthority(key)})
		must(t, err)
	}
	for _, l := range [][3]string{{"zcode", "second", "claim"}, {"code", "", "claim"}, {"code", "all", "eosio.any"}} {
		k := state.LinkKey{Account: alice, Code: types.N(l[0]), Action: types.N(l[1])}
		_, err := s.Links.Create(k, state.PermissionLink{Key: k, Required: types.N(l[2])})
		must(t, err)
	}
	f.account("eosio.token", tableABI)
	accounts := table("eosio.token", "alice", "accounts")
	f.table(accounts, 1)
	f.row(accounts, uint64('T')|'O'<<8|'K'<<16, asset(t, "12.3400 TOK"))
	market := table("eosio", "eosio", "rammarket")
	f.table(market, 1)
	row := append(asset(t, "1.0000 RAMCORE"), asset(t, "5 RAM")...)
	row = append(append(append(row, make([]byte, 8)...), asset(t, "9.0000 TOK")...), make([]byte, 8)...)
	ramcore := uint64(4)
	for i, c := range []byte("RAMCORE") {
		ramcore |= uint64(c) << (8 * (i + 1))
	}
	f.row(market, ramcore, row)
	res := table("eosio", "alice", "userres")
	f.table(res, 1)
	f.row(res, uint64(alice),
		serial.AppendInt64(append(append(alice.Append(nil), asset(t, "1.0000 TOK")...), asset(t, "2.0000 TOK")...),
			8192))
	voters := table("eosio", "eosio", "voters")
	f.table(voters, 1)
	f.row(voters, uint64(alice), serial.AppendInt64(alice.Append(nil), 30000))
}

// billing knows alice.
type billing struct{}

func (billing) Subjective(n types.Name, _ time.Time) int64 {
	if n == types.N("alice") {
		return 77
	}
	return 0
}
func (billing) Greylisted(types.Name) bool { return false }

func TestAnAccountPrintsAsNodeosPrintsIt(t *testing.T) {
	n := newNode(t, func(s *state.State) { fillAccounts(t, s) })
	n.config.Billing = billing{}
	n.start(nodeoshttp.Options{})
	head := n.maker.Chain.Head()
	auth := `{"threshold":1,"keys":[{"key":"` + aliceKey + `","weight":1}],"accounts":[],"waits":[]}`
	unlimited :=
		`{"used":-1,"available":-1,"max":-1,"last_usage_update_time":"2000-01-01T00:00:00.500","current_used":-1}`
	want := fmt.Sprintf(`{"account_name":"alice","head_block_num":%d,"head_block_time":"%s","privileged":false,"last_code_update":"1970-01-01T00:00:00.000",`+
		`"created":"2000-01-01T00:00:00.500","core_liquid_balance":"12.3400 TOK","ram_quota":"5000000000","net_weight":1000,"cpu_weight":-1,"net_limit":%s,`+
		`"cpu_limit":%s,"ram_usage":2996,"permissions":[`+
		`{"perm_name":"active","parent":"owner","required_auth":%[5]s,"linked_actions":[]},`+
		`{"perm_name":"claim","parent":"active","required_auth":%[5]s,"linked_actions":[{"account":"zcode","action":"second"},{"account":"code"}]},`+
		`{"perm_name":"owner","parent":"","required_auth":%[5]s,"linked_actions":[]}],`+
		`"total_resources":{"owner":"alice","net_weight":"1.0000 TOK","cpu_weight":"2.0000 TOK","ram_bytes":8192},"self_delegated_bandwidth":null,"refund_request":null,`+
		`"voter_info":{"owner":"alice","staked":30000},"rex_info":null,`+
		`"subjective_cpu_bill_limit":{"used":77,"available":0,"max":0,"last_usage_update_time":"2000-01-01T00:00:00.000","current_used":0},`+
		`"eosio_any_linked_actions":[{"account":"code","action":"all"}]}`,
		head.BlockNum, head.Header.Timestamp, "NET", unlimited, auth)
	code, got := n.ask("/v1/chain/get_account", `{"account_name":"alice"}`)
	// The share of a network without other stakes depends on the block's limits.
	_, net, _ := strings.Cut(got, `"net_limit":`)
	net, _, _ = strings.Cut(net, `,"cpu_limit"`)
	if want = strings.Replace(want, "NET", net, 1); code != 200 || got != want {
		t.Errorf("got %d %s\nwant %s", code, got, want)
	}
	for symbol, there := range map[string]bool{"4,TOK": true, "2,TOK": false, "4,SYS": false} {
		_, got := n.ask("/v1/chain/get_account", `{"account_name":"alice","expected_core_symbol":"`+symbol+`"}`)
		if strings.Contains(got, "core_liquid_balance") != there {
			t.Errorf("%s: %s", symbol, got)
		}
	}
	n.contains("/v1/chain/get_account", `{"account_name":"nobody"}`, 400,
		`"message":"unable to retrieve account info (unknown key (boost::tuples::tuple<bool, eosio::chain::name, `+
			`boost::tuples::null_type, boost::tuples::null_type, boost::tuples::null_type, boost::tuples::null_type, boost::tuples::null_type, boost::tuples::null_type, `+
			`boost::tuples::null_type, boost::tuples::null_type>): (0 nobody))"`)
}

// What a transaction of the block that is being made set holds for readers at once, as
// it holds for the account.
func TestLimitsOfThePendingBlockAreShown(t *testing.T) {
	n := newNode(t, func(s *state.State) { fillAccounts(t, s) }).start(nodeoshttp.Options{})
	ask := func() string {
		_, got := n.ask("/v1/chain/get_account", `{"account_name":"alice"}`)
		return got
	}
	const before, after = `"ram_quota":"5000000000","net_weight":1000,"cpu_weight":-1,`,
		`"ram_quota":123456,"net_weight":-1,"cpu_weight":77,`
	if got := ask(); !strings.Contains(got, before) {
		t.Fatal(got)
	}
	must(t, n.maker.StartBlock())
	alice := types.N("alice")
	_, err := n.maker.Chain.State().PendingLimits.Create(alice,
		state.ResourceLimits{Owner: alice, NetWeight: -1, CPUWeight: 77, RAMBytes: 123456})
	must(t, err)
	must(t, n.maker.Chain.PublishPending())
	if got := ask(); !strings.Contains(got, after) {
		t.Error(got)
	}
}

func TestCodeAndABIsInTheirForms(t *testing.T) {
	newNode(t, func(s *state.State) { fillAccounts(t, s) }).start(nodeoshttp.Options{}).play("code.txt")
}

func TestProducersComeByVotesOrFromTheSchedule(t *testing.T) {
	newNode(t, nil).start(nodeoshttp.Options{}).play("producers_scheduled.txt")
	double := func(bits uint64) []byte { return serial.AppendUint64(nil, bits) }
	newNode(t, func(s *state.State) {
		fillAccounts(t, s)
		f := filler{t, s}
		k := table("eosio", "eosio", "producers")
		f.table(k, 2)
		for i, name := range []string{"prodb", "proda"} {
			bits := 0xc000000000000000 - uint64(i)<<52 // -2, -1: the more votes the smaller
			f.row(k, uint64(types.N(name)), append(types.N(name).Append(nil), double(bits&^(1<<63))...))
			f.index(state.IndexDouble, k, uint64(types.N(name)), bits)
		}
		g := table("eosio", "eosio", "global")
		f.table(g, 1)
		f.row(g, uint64(types.N("global")), double(0x4008000000000000))
	}).start(nodeoshttp.Options{}).play("producers_voted.txt")
}

func TestDeferredTransactionsAreListed(t *testing.T) {
	trx := types.Transaction{
		Actions: []types.Action{{Account: types.N("alice"), Name: types.N("act"), Data: []byte{1}}}}
	newNode(t, func(s *state.State) {
		for i := range 3 {
			must(t, s.CreateDeferred(&state.Deferred{TrxID: types.Hash([]byte{byte(i)}), Sender: types.N("alice"),
				SenderID: types.U128(uint64(i)), Payer: types.N("bob"),
				DelayUntil: types.TimePoint(4_000_000_000_000_000 + i*1_000_000), Expiration: 4_100_000_000_000_000,
				Published: 1000, Packed: trx.Append(nil)}))
		}
	}).start(nodeoshttp.Options{}).play("deferred.txt")
}
