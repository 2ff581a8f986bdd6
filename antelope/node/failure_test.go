package node_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"tarn/antelope/difftest"
	"tarn/antelope/types"
)

// failures are bodies of calls with a transaction that fails, and what a node answers.
func failures(
	t *testing.T, ctx context.Context, p *difftest.Peer, n *difftest.Node, seed uint64, chain types.Checksum256,
) map[string]string {
	t.Helper()
	answers := map[string]string{}
	level := []types.PermissionLevel{{Actor: types.N("eosio"), Permission: types.N("active")}}
	actions := map[string]types.Action{
		"assertion":        {Account: types.N("eosio"), Name: types.N("reqactivated"), Authorization: level, Data: make([]byte, 32)},
		"short data":       {Account: types.N("eosio"), Name: types.N("reqactivated"), Authorization: level, Data: make([]byte, 3)},
		"no such action":   {Account: types.N("eosio"), Name: types.N("nosuch"), Authorization: level},
		"no such contract": {Account: types.N("nobody"), Name: types.N("nosuch"), Authorization: level},
		"existing account": {Account: types.N("eosio"), Name: types.N("newaccount"), Authorization: level,
			Data: append(append(types.N("eosio").Append(nil), types.N("eosio").Append(nil)...), make([]byte, 14)...)},
		"no such authority": {Account: types.N("eosio"), Name: types.N("reqauth"),
			Authorization: []types.PermissionLevel{{Actor: types.N("eosio"), Permission: types.N("nosuch")}},
			Data:          types.N("eosio").Append(nil)},
		"good": {Account: types.N("eosio"), Name: types.N("reqauth"), Authorization: level, Data: types.N("eosio").Append(nil)},
	}
	w := difftest.Workload{Run: func(d *difftest.Driver, _ time.Time) error {
		for what, a := range actions {
			for _, call := range []string{"push_transaction", "send_transaction", "send_transaction2",
				"send_transaction2 true"} {
				packed, _, err := d.Pack(difftest.Tx{Actions: []types.Action{a}})
				if err != nil {
					return err
				}
				signature := packed.Signatures[0].String()
				if what == "good" && call == "send_transaction" {
					signature = "SIG_K1_111111111111111111111111111111111111111111111111111111111111111116uk5ne"
				}
				body := fmt.Sprintf(
					`{"signatures":["%s"],"compression":"none","packed_context_free_data":"","packed_trx":"%s"}`,
					signature, hex.EncodeToString(packed.PackedTrx))
				path := call
				switch call {
				case "send_transaction2":
					body = `{"return_failure_trace":false,"retry_trx":false,"transaction":` + body + `}`
				case "send_transaction2 true":
					path, body = "send_transaction2",
						`{"return_failure_trace":true,"retry_trx":false,"transaction":`+body+`}`
				}
				status, answer, err := n.Ask(ctx, "/v1/chain/"+path, body)
				if err != nil {
					return err
				}
				answers[what+" "+call] = fmt.Sprintf(`{"status":%d,"body":%s}`, status, answer)
			}
		}
		return nil
	}}
	if _, _, err := p.Drive(ctx, n, w, seed, chain, 0, t.Output()); err != nil {
		t.Fatal(err)
	}
	return answers
}

// compareFailures compares them, but for where in nodeos' source they come from.
func compareFailures(t *testing.T, got, want map[string]string) {
	t.Helper()
	for what, text := range want {
		var a, b any
		if err := json.Unmarshal([]byte(got[what]), &a); err != nil {
			t.Errorf("%s: %v in %s", what, err, got[what])
			continue
		}
		if err := json.Unmarshal([]byte(text), &b); err != nil {
			t.Fatal(err)
		}
		list := differences("", a, b)
		slices.Sort(list)
		for _, d := range list {
			t.Errorf("%s: %s", what, d)
		}
	}
}
