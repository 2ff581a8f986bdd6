package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tarn/antelope/blocklog"
	"tarn/antelope/chain"
	"tarn/antelope/consensus"
	"tarn/antelope/difftest"
	"tarn/antelope/execute"
	"tarn/antelope/feature"
	"tarn/antelope/rpc"
	"tarn/antelope/rpc/nodeoshttp"
	"tarn/antelope/snapshot"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// What differs between the judge, which is of version 4.1 and shows the block that
// it is making, and us.
var allowed = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{somewhere, noPlace},
	{regexp.MustCompile(`=+"`), `"`}, // 4.1 ends base64 otherwise
	{regexp.MustCompile(`"unpaid_blocks":\d+`), `"unpaid_blocks":0`},
}

func normal(answer string) string {
	for _, a := range allowed {
		answer = a.pattern.ReplaceAllString(answer, a.instead)
	}
	return answer
}

// Every answer about a chain that nodeos made is the same text as nodeos' own.
func TestAnswersAreThoseOfNodeos(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some twenty seconds for each chain")
	}
	ctx := context.Background()
	peer, err := difftest.Find(ctx)
	if errors.Is(err, difftest.ErrNoPeer) {
		t.Skip(err)
	}
	must(t, err)
	for _, name := range []string{"system-all", "deferred-all", "perms-half"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // nodeos is waited for
			seed := uint64(time.Now().UnixNano())
			t.Logf("seed %d", seed)
			for _, w := range difftest.Workloads() {
				if w.Name != name {
					continue
				}
				run := w.Run
				w.Run = func(d *difftest.Driver, until time.Time) error {
					if err := run(d, until); err != nil {
						return err
					}
					return standing(t, d, func(n *node) error { n.compare(d); return nil })
				}
				_, err := peer.Record(ctx, w, seed, 4*time.Second, t.TempDir(), io.Discard)
				must(t, err)
			}
		})
	}
}

// standing loads the state of the driver's node, which stands still while f has it.
func standing(t *testing.T, d *difftest.Driver, f func(*node) error) error {
	ctx := d.Context()
	if err := errors.Join(d.Blocks(3), d.Pause(ctx)); err != nil {
		return err
	}
	// The block that was being made may still come.
	for seen := ""; ; time.Sleep(time.Second) {
		i, err := d.Info(ctx)
		if err != nil {
			return err
		}
		if i.HeadID == seen {
			break
		}
		seen = i.HeadID
	}
	go d.Snapshot(ctx) // answers once production goes on
	var found []string
	for found == nil {
		time.Sleep(20 * time.Millisecond)
		found, _ = filepath.Glob(filepath.Join(d.Dir(), "snapshots", ".pending-snapshot-*"))
	}
	dir := t.TempDir()
	for _, name := range []string{"blocks.log", "blocks.index"} {
		b, err := os.ReadFile(filepath.Join(d.Dir(), "blocks", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), b, 0o600)
		}
		if err != nil {
			return err
		}
	}
	if err := f(loaded(t, found[0], dir)); err != nil {
		return err
	}
	return d.Resume(ctx)
}

// refusing takes no transaction.
type refusing struct{}

func (*refusing) RefusesTransactions() bool { return false }

func (*refusing) Transaction(
	context.Context, *types.PackedTransaction, execute.TransactionOptions,
) (*types.TransactionTrace, error) {
	return nil, errors.New("refused")
}

func (*refusing) Block(context.Context, *types.SignedBlock, types.Checksum256) error {
	return errors.New("refused")
}

// logged is a log as the API reads it.
type logged struct{ *blocklog.Log }

func (l logged) Read(num uint32) (*types.SignedBlock, error) {
	b, err := l.Log.Read(num)
	if errors.Is(err, blocklog.ErrNotFound) {
		return nil, nil
	}
	return b, err
}

func (l logged) ReadHeader(num uint32) (*types.SignedBlockHeader, error) {
	b, err := l.Log.ReadHeader(num)
	if errors.Is(err, blocklog.ErrNotFound) {
		return nil, nil
	}
	return b, err
}

// loaded serves a snapshot.
func loaded(t *testing.T, path, blocks string) *node {
	t.Helper()
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	r, err := snapshot.FromFile(f)
	must(t, err)
	log, err := blocklog.Open(blocklog.Options{Dir: blocks})
	must(t, err)
	t.Cleanup(func() { log.Close() })
	features, err := feature.Builtins()
	must(t, err)
	c, err := chain.Open(volatile(t), chain.Options{Options: execute.Options{Features: features}})
	must(t, err)
	t.Cleanup(func() { c.Close() })
	must(t, c.Load(func(s *state.State) (consensus.Head, error) { return snapshot.Load(r, s, nil) }))
	must(t, c.Publish())
	n := &node{t: t, config: rpc.Config{Chain: c, Blocks: logged{log}, Features: features,
		MaxResponseTime: 10 * time.Second, ABITime: 10 * time.Second,
		Transactions: new(refusing)}}
	return n.start(nodeoshttp.Options{AnyHost: true})
}

// compare asks about all that there is in the state.
func (n *node) compare(d *difftest.Driver) {
	n.t.Helper()
	asked, different := 0, map[string]int{}
	ask := func(path, body string) {
		asked++
		status, want, err := d.Ask(d.Context(), path, body)
		if err != nil {
			n.t.Fatalf("%s %s: %v", path, body, err)
		}
		code, got := n.ask(path, body)
		if status != code || normal(string(want)) != normal(got) {
			if different[path]++; different[path] < 4 {
				g, w := differing(normal(got), normal(string(want)))
				n.t.Errorf("%s %s\n got %d %s\nwant %d %s", path, body, code, g, status, w)
			}
		}
	}
	v, err := n.config.Chain.View()
	must(n.t, err)
	defer v.Close()
	plainQuestions(ask)
	must(n.t, v.Accounts.Walk(0, false, func(a *state.Account) (bool, error) {
		for _, call := range []string{"get_account", "get_abi", "get_code", "get_code_hash", "get_raw_abi",
			"get_raw_code_and_abi"} {
			if a.Name == types.N("eosio") && call == "get_account" {
				continue // its resources are used by the block that nodeos is making
			}
			ask("/v1/chain/"+call, fmt.Sprintf(`{"account_name":"%s"}`, a.Name))
		}
		ask("/v1/chain/get_currency_balance", fmt.Sprintf(`{"code":"eosio.token","account":"%s"}`, a.Name))
		ask("/v1/chain/get_table_by_scope", fmt.Sprintf(`{"code":"%s","limit":1000}`, a.Name))
		ask("/v1/chain/get_table_by_scope", fmt.Sprintf(`{"code":"%s","limit":2,"reverse":true}`, a.Name))
		return true, nil
	}))
	tables := 0
	must(n.t, v.Tables.Walk(state.TableKey{}, false, func(k *state.ContractTable) (bool, error) {
		tableQuestions(ask, v, k.Key)
		tables++
		return tables < 400, nil
	}))
	blockQuestions(ask, int(v.Revision()))
	n.t.Logf("%d questions, %d tables", asked, tables)
}

// differing returns what two texts are where they begin to differ.
func differing(a, b string) (string, string) {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	from := max(0, i-60)
	return a[from:min(len(a), i+400)], b[from:min(len(b), i+400)]
}

func plainQuestions(ask func(path, body string)) {
	for _, body := range []string{``, `{}`, ` { } `, `[]`, `{"a":1}`, `"x"`, `{`, `nonsense`} {
		for _, call := range []string{"get_activated_protocol_features", "get_consensus_parameters",
			"get_producer_schedule", "get_account",
			"get_table_rows", "get_abi", "get_block", "get_required_keys", "get_scheduled_transactions",
			"get_table_by_scope", "get_transaction_id",
			"get_currency_stats", "get_producers", "get_code", "push_transaction", "send_transaction",
			"push_transactions", "no_such_call"} {
			if call == "get_producers" && strings.ContainsAny(body, `"[`) || call == "get_transaction_id" {
				continue // what is there is compared below
			}
			ask("/v1/chain/"+call, body)
		}
	}
	for _, q := range [][2]string{
		{"get_account", `{"account_name":"nobody"}`}, {"get_account", `{"account_name":"Wrong"}`},
		{"get_account", `{"account_name":7}`},
		{"get_account", `{"account_name":"eosio.token","expected_core_symbol":"4,TST"}`},
		{"get_account", `{"account_name":"eosio.token","expected_core_symbol":"x"}`},
		{"get_code", `{"account_name":"nobody"}`}, {"get_code", `{"account_name":"eosio","code_as_wasm":false}`},
		{"get_code", `{"account_name":"eosio","code_as_wasm":"0"}`},
		{"get_code_hash", `{"account_name":"nobody"}`}, {"get_abi", `{"account_name":"nobody"}`},
		{"get_raw_abi", `{"account_name":"nobody"}`},
		{"get_raw_abi", `{"account_name":"eosio","abi_hash":"00"}`},
		{"get_raw_code_and_abi", `{"account_name":"nobody"}`},
		{"get_activated_protocol_features", `{"lower_bound":2,"upper_bound":4}`},
		{"get_activated_protocol_features", `{"lower_bound":"3","reverse":true}`},
		{"get_activated_protocol_features", `{"lower_bound":4,"upper_bound":2}`},
		{"get_activated_protocol_features", `{"search_by_block_num":true,"lower_bound":5}`},
		{"get_activated_protocol_features", `{"lower_bound":999}`},
		{"get_activated_protocol_features", `{"upper_bound":0}`},
		{"get_producers", `{"json":true,"limit":3}`}, {"get_producers", `{"json":false,"limit":"2"}`},
		{"get_producers", `{"json":true,"lower_bound":"proda"}`},
		{"get_producers", `{"json":true,"limit":100}`},
		{"get_scheduled_transactions", `{"json":true}`}, {"get_scheduled_transactions", `{"json":false,"limit":2}`},
		{"get_scheduled_transactions", `{"json":true,"lower_bound":"2020-01-01T00:00:00"}`},
		{"get_scheduled_transactions", `{"json":true,"lower_bound":"deadbeef"}`},
		{"get_currency_stats", `{"code":"eosio.token","symbol":"tst"}`},
		{"get_currency_stats", `{"code":"eosio.token","symbol":"SYS"}`},
		{"get_currency_stats", `{"code":"eosio.token","symbol":"no1"}`},
		{"get_currency_stats", `{"code":"nobody","symbol":"SYS"}`},
		{"get_currency_stats", `{"code":"eosio","symbol":"SYS"}`},
		{"get_currency_balance", `{"code":"nobody","account":"eosio"}`},
		{"get_currency_balance", `{"code":"eosio.token","account":"eosio","symbol":"TST"}`},
		{"get_currency_balance", `{"code":"eosio","account":"eosio"}`},
		{"get_block", `{"block_num_or_id":""}`}, {"get_block", `{"block_num_or_id":99999999}`},
		{"get_block", `{"block_num_or_id":"xyz"}`}, {"get_block", `{"block_num_or_id":"0000"}`},
		{"get_block", `{"block_num_or_id":"abcde"}`}, {"get_block_info", `{"block_num":99999999}`},
		{"get_block_info", `{"block_num":"x"}`},
		{"get_block_header_state", `{"block_num_or_id":"1"}`}, {"get_block_header_state", `{"block_num_or_id":"zz"}`},
		{"get_table_rows", `{"code":"nobody","scope":"a","table":"b"}`},
		{"get_table_rows", `{"code":"eosio","scope":"eosio","table":"nosuch"}`},
		{"get_table_rows", `{"code":"eosio","scope":"eosio","table":"global12345.1"}`},
		{"get_table_rows", `{"code":"eosio","scope":"eosio","table":"userres","index_position":"nonsense"}`},
		{"get_table_rows", `{"code":"eosio","scope":"eosio","table":"userres","index_position":2}`}, {"get_table_rows",
			`{"code":"eosio","scope":"eosio","table":"userres","index_position":"secondary","key_type":"i7"}`},
		{"get_table_rows", `{"code":"eosio","scope":"Not A Scope","table":"userres"}`},
		{"get_table_rows", `{"code":"eosio","scope":"eosio","table":"userres","lower_bound":"Not A Key"}`},
		{"get_table_rows", `{"code":"eosio","scope":"eosio","table":"voters","lower_bound":"Not A Key"}`},
		{"get_table_rows", `{"code":"eosio","scope":"eosio","table":"voters","limit":"x"}`},
		{"get_table_rows", `{"code":"eosio","scope":"eosio","table":"voters","json":"maybe"}`}, {"get_table_rows",
			`{"code":"eosio","scope":"eosio","table":"voters","key_type":"name","lower_bound":"Wrong!"}`},
		{"get_required_keys", `{"transaction":{"actions":[]},"available_keys":[]}`}, {"get_required_keys", `{"transaction":{"actions":[{"account":"nobody","name":"x","authorization":[{"actor":"nobody","permission":"active"}],"data":"00"}]},"available_keys":[]}`},
		{"get_required_keys", `{"transaction":{"actions":[{"account":"eosio","name":"x","authorization":[{"actor":"eosio","permission":"active"}],"data":"00"}]},"available_keys":["EOS6MRyAjQq8ud7hVNYcfnVPJqcVpscN5So8BhtHuGYqET5GDW5CV"]}`},
		{"get_required_keys", `{"transaction":{},"available_keys":["EOS"]}`},
		{"push_block", `{}`}, {"push_transactions", `[]`},
		{"send_transaction", `{"signatures":["x"]}`}, {"send_transaction", `{"packed_trx":"00"}`},
		{"send_transaction", `{"signatures":[],"compression":"none","packed_context_free_data":"","packed_trx":"00"}`},
	} {
		ask("/v1/chain/"+q[0], q[1])
	}
}

// tableQuestions asks for a table's rows, by its indices too.
func tableQuestions(ask func(path, body string), v *state.View, k state.TableKey) {
	if k.Code == types.N("eosio") && strings.HasPrefix(k.Table.String(), "global") {
		return // changed by the block that nodeos is making
	}
	where := fmt.Sprintf(`"code":"%s","scope":"%s","table":"%s"`, k.Code, k.Scope, k.Table)
	const rows = "/v1/chain/get_table_rows"
	ask(rows, `{`+where+`}`)
	ask(rows, `{"json":true,"show_payer":true,"limit":1000,`+where+`}`)
	ask(rows, `{"json":true,"reverse":true,"limit":3,`+where+`}`)
	var first uint64
	count := 0
	_ = v.WalkRows(state.RowKey{TableKey: k}, false, func(p uint64, _ types.Name, _ []byte) (bool, error) {
		first, count = p, count+1
		return count < 3, nil
	})
	if count == 3 {
		ask(rows, fmt.Sprintf(`{"json":true,"limit":1,"lower_bound":"%d",%s}`, first, where))
		ask(rows, fmt.Sprintf(`{"json":true,"limit":1,"upper_bound":"%d","reverse":true,%s}`, first, where))
		ask(rows,
			fmt.Sprintf(`{"json":true,"limit":2,"key_type":"name","lower_bound":"%s",%s}`, types.Name(first), where))
		ask(rows, fmt.Sprintf(`{"json":true,"lower_bound":"9","upper_bound":"1",%s}`, where))
	}
	if abi, err := v.ABI(k.Code); err != nil || abi == nil {
		return // nodeos 4.1 does not survive questions for indices of contracts without one
	}
	base := k
	base.Table &^= 0xf
	for kind, typ := range []string{"i64", "i128", "i256", "float64", "float128"} {
		at, ok, err := v.LowerIndexRow(state.Kind(kind), state.RowKey{TableKey: k})
		if err != nil || !ok {
			continue
		}
		indexed := fmt.Sprintf(`"code":"%s","scope":"%s","table":"%s","index_position":"%d"`, base.Code, base.Scope,
			base.Table, k.Table&0xf+2)
		for _, more := range []string{``, `,"limit":1`, `,"limit":2,"reverse":true`,
			`,"show_payer":true,"encode_type":"hex","limit":1`,
			`,"lower_bound":"` + keyText(typ, at.Secondary) + `"`,
			`,"upper_bound":"` + keyText(typ, at.Secondary) + `","reverse":true`} {
			ask(rows, fmt.Sprintf(`{%s,"key_type":"%s"%s}`, indexed, typ, more))
		}
	}
}

// keyText is a key as queries have it.
func keyText(typ string, k state.SecondaryKey) string {
	switch typ {
	case "i64":
		return fmt.Sprint(k.Words[0])
	case "i128":
		return types.Uint128{Lo: k.Words[0], Hi: k.Words[1]}.String()
	case "float64":
		return fmt.Sprintf("%.17g", math.Float64frombits(k.Words[0]))
	}
	return "0.5"
}

func blockQuestions(ask func(path, body string), head int) {
	for num := 2; num < min(head, 40); num++ {
		for _, call := range []string{"get_block", "get_block_header_state"} {
			ask("/v1/chain/"+call, fmt.Sprintf(`{"block_num_or_id":"%d"}`, num))
		}
		ask("/v1/chain/get_block_info", fmt.Sprintf(`{"block_num":%d}`, num))
	}
}
