package rpc_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"tarn/antelope/chain/chaintest"
	"tarn/antelope/execute"
	"tarn/antelope/rpc"
	"tarn/antelope/rpc/nodeoshttp"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/antelope/variant"
)

// executor executes each transaction in a block of its own.
type executor struct {
	mu sync.Mutex
	m  *chaintest.Maker
}

func (e *executor) Transaction(
	_ context.Context, p *types.PackedTransaction, o execute.TransactionOptions,
) (*types.TransactionTrace, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.m.StartBlock(); err != nil {
		return nil, err
	}
	x, err := execute.NewCandidate(p, o.Kind)
	if err != nil {
		return nil, err
	}
	x.Keys = []types.PublicKey{e.m.Key.Public()}
	t, err := e.m.Chain.PushTransaction(x, execute.Billing{Explicit: true, CPU: 100})
	if err != nil {
		return nil, err
	}
	if t.Except != nil && !o.FailureTrace {
		_, err := e.m.Chain.AbortBlock()
		if err == nil {
			err = t.Except
		}
		return nil, err
	}
	if _, err := e.m.EndBlock(); err != nil {
		return nil, err
	}
	return t, e.m.Chain.Publish()
}

func (e *executor) RefusesTransactions() bool { return false }

func (e *executor) Block(context.Context, *types.SignedBlock, types.Checksum256) error { return nil }

// executing is a node that takes transactions.
func executing(t testing.TB, fill func(*state.State)) *node {
	n := newNode(t, fill)
	n.config.Transactions, n.config.ReadOnly = &executor{m: n.maker}, true
	return n.start(nodeoshttp.Options{})
}

// packedJSON is a packed transaction as libraries send it.
func packedJSON(p *types.PackedTransaction) string { return string(p.AppendJSON(nil)) }

// wharfkit asks with GET and no body, eosjs posts braces as text, pyntelope posts
// JSON.
func TestClientsAskForInfoInTheirWays(t *testing.T) {
	n := newNode(t, nil).start(nodeoshttp.Options{})
	_, want := n.ask("/v1/chain/get_info", "")
	for _, c := range []struct{ method, body, contentType string }{
		{http.MethodGet, "", ""}, {http.MethodPost, "{}", "text/plain;charset=UTF-8"},
		{http.MethodPost, "{}", "application/json"}, {http.MethodPost, " ", "x/y"},
	} {
		if code, got := n.askAs(c.method, n.base+"/v1/chain/get_info", c.body, c.contentType); code != 200 ||
			got != want {
			t.Errorf("%s %q: %d %s", c.method, c.body, code, got)
		}
	}
	head := n.maker.Chain.Head()
	root := n.maker.Chain.Fork().Root()
	prefix := fmt.Sprintf(
		`{"server_version":"12345678","chain_id":"%s","head_block_num":%d,"last_irreversible_block_num":%d,"last_irreversible_block_id":"%s",`+
			`"head_block_id":"%s","head_block_time":"%s","head_block_producer":"eosio","virtual_block_cpu_limit":`,
		n.maker.Chain.ID(), head.BlockNum, root.BlockNum, root.ID, head.ID, head.Header.Timestamp)
	suffix := fmt.Sprintf(
		`"server_version_string":"v5.0.3","fork_db_head_block_num":%d,"fork_db_head_block_id":"%s","server_full_version_string":"v5.0.3-test",`+
			`"total_cpu_weight":0,"total_net_weight":0,"earliest_available_block_num":2,"last_irreversible_block_time":"%s"}`,
		head.BlockNum, head.ID, root.Header.Timestamp)
	if !strings.HasPrefix(want, prefix) || !strings.HasSuffix(want, suffix) {
		t.Errorf("got %s\nwant %s ... %s", want, prefix, suffix)
	}
}

// eosjs and wharfkit look for these members by name.
func TestClientsFindAnErrorsNameAndNumber(t *testing.T) {
	n := executing(t, nil)
	_, got := n.ask("/v1/chain/send_transaction", packedTrx)
	v, err := variant.Parse(got)
	must(t, err)
	e, _ := v.Find("error")
	code, _ := e.Find("code")
	name, _ := e.Find("name")
	details, _ := e.Find("details")
	list, err := details.Elements()
	must(t, err)
	message, _ := list[0].Find("message")
	num, err := code.AsUint64()
	must(t, err)
	text, err := name.Text()
	must(t, err)
	if m, err := message.Text(); err != nil || num != 3040005 && num != 3040002 && num != 3040003 ||
		text == "" || m == "" {
		t.Errorf("%s", got)
	}
}

func TestTransactionsAnswerWithTheirTraces(t *testing.T) {
	n := executing(t, nil)
	p, err := n.maker.Sign(n.maker.CreateAccount(types.N("alice")))
	must(t, err)
	code, got := n.askAs(http.MethodPost, n.base+"/v1/chain/send_transaction", packedJSON(p),
		"text/plain;charset=UTF-8")
	v, err := variant.Parse(got)
	must(t, err)
	processed, _ := v.Find("processed")
	traces, _ := processed.Find("action_traces")
	list, err := traces.Elements()
	must(t, err)
	if code != 202 || len(list) != 1 ||
		!strings.Contains(got,
			`"act":{"account":"eosio","name":"newaccount","authorization":[{"actor":"eosio","permission":"active"}],"data":{"creator":"eosio","name":"alice"`) {
		t.Fatalf("%d %s", code, got)
	}
	if !strings.HasPrefix(got, `{"transaction_id":"`) || strings.Contains(got, "inline_traces") {
		t.Error(got)
	}
	// The same again is a failure with the code for it.
	code, got = n.ask("/v1/chain/push_transaction", packedJSON(p))
	if code != 409 || !strings.Contains(got, `"name":"tx_duplicate"`) {
		t.Errorf("%d %s", code, got)
	}
	p, err = n.maker.Sign(n.maker.CreateAccount(types.N("bob")))
	must(t, err)
	code, got = n.ask("/v1/chain/push_transaction", packedJSON(p))
	if code != 202 || !strings.Contains(got, `"inline_traces":[]}]`) {
		t.Errorf("%d %s", code, got)
	}
	// With the contents of its actions, by their ABI.
	p, err = n.maker.Sign(n.maker.CreateAccount(types.N("alice")))
	must(t, err)
	trx, _, err := p.Unpack()
	must(t, err)
	exploded := strings.Replace(string(trx.AppendJSON(nil)), `"data":"`+hex.EncodeToString(trx.Actions[0].Data)+`"`,
		fmt.Sprintf(`"data":{"creator":"eosio","name":"carol","owner":%[1]s,"active":%[1]s}`,
			types.KeyAuthority(n.maker.Key.Public()).AppendJSON(nil)), 1)
	n.contains("/v1/chain/send_transaction2",
		`{"return_failure_trace":true,"retry_trx":false,"transaction":{"signatures":[],"compression":"none","context_free_data":[],"transaction":`+
			exploded+`}}`,
		202, `"name":"carol"`)
	// A failure is a trace if it is asked for.
	p, err = n.maker.Sign(n.maker.CreateAccount(types.N("alice")))
	must(t, err)
	n.contains("/v1/chain/send_transaction2", `{"transaction":`+packedJSON(p)+`}`, 202,
		`"except":{"code":3050001,"name":"account_name_exists_exception"`)
	n.contains("/v1/chain/send_transaction2", `{"return_failure_trace":false,"transaction":`+packedJSON(p)+`}`, 500,
		`{"code":500,"message":"Internal Service Error","error":{"code":3050001,`)
	n.contains("/v1/chain/push_transactions", `[`+packedJSON(p)+`]`, 202,
		`"processed":{"error":"3050001 account_name_exists_exception`)
	n.contains("/v1/chain/compute_transaction", `{"transaction":`+packedJSON(p)+`}`, 200, `"except":{"code":3050001`)
}

func TestIdsAndKeysOfTransactions(t *testing.T) {
	n := executing(t, nil)
	p, err := n.maker.Sign(n.maker.CreateAccount(types.N("alice")))
	must(t, err)
	trx, _, err := p.Unpack()
	must(t, err)
	json := string(trx.AppendJSON(nil))
	n.expect("/v1/chain/get_transaction_id", json, 200, `"`+trx.ID().String()+`"`)
	n.expect("/v1/chain/get_transaction_id", strings.Replace(json, `"data":`, `"data":{"a":1},"hex_data":`, 1), 200,
		`"`+trx.ID().String()+`"`)
	key := n.maker.Key.Public().String()
	n.expect("/v1/chain/get_required_keys",
		`{"transaction":`+json+`,"available_keys":["`+types.DefaultGenesisKey+`","`+key+`","`+key+`"]}`, 200,
		`{"required_keys":["`+key+`"]}`)
	n.contains("/v1/chain/get_required_keys", `{"transaction":`+json+`,"available_keys":[]}`, 401,
		`"name":"unsatisfied_authorization"`)
}

func TestBlocksAreFoundByNumberAndId(t *testing.T) {
	n := executing(t, nil)
	for i := range 5 {
		p, err := n.maker.Sign(n.maker.CreateAccount(types.N("user" + string(rune('a'+i)))))
		must(t, err)
		n.contains("/v1/chain/send_transaction", packedJSON(p), 202, "transaction_id")
	}
	head := n.maker.Chain.Head().Block
	first, err := n.log.Read(2)
	must(t, err)
	for _, b := range []*types.SignedBlock{head, first} {
		id := b.ID()
		_, prefix := types.RefBlock(id)
		for _, name := range []string{fmt.Sprint(b.BlockNum()), `"` + fmt.Sprint(b.BlockNum()) + `"`,
			`"` + id.String() + `"`} {
			ask := `{"block_num_or_id":` + name + `}`
			n.contains("/v1/chain/get_block", ask, 200,
				fmt.Sprintf(`"id":"%s","block_num":%d,"ref_block_prefix":%d}`, id, b.BlockNum(), prefix))
			n.expect("/v1/chain/get_raw_block", ask, 200, string(b.AppendJSON(nil)))
			n.expect("/v1/chain/get_block_header", ask, 200,
				`{"id":"`+id.String()+`","signed_block_header":`+string(b.SignedBlockHeader.AppendJSON(nil))+`}`)
		}
		n.expect("/v1/chain/get_block_header",
			fmt.Sprintf(`{"block_num_or_id":%d,"include_extensions":true}`, b.BlockNum()), 200,
			`{"id":"`+id.String()+`","signed_block_header":`+string(b.SignedBlockHeader.AppendJSON(nil))+
				`,"block_extensions":[]}`)
		n.contains("/v1/chain/get_block_info", fmt.Sprintf(`{"block_num":%d}`, b.BlockNum()), 200,
			fmt.Sprintf(
				`{"block_num":%d,"ref_block_num":%[1]d,"id":"%s","timestamp":"%s","producer":"eosio","confirmed":%d,"previous":"%s",`,
				b.BlockNum(), id, b.Timestamp, b.Confirmed, b.Previous))
	}
	n.contains("/v1/chain/get_block_header_state", fmt.Sprintf(`{"block_num_or_id":%d}`, head.BlockNum()), 200,
		fmt.Sprintf(`{"block_num":%d,"dpos_proposed_irreversible_blocknum":%[1]d,"dpos_irreversible_blocknum":%d,"active_schedule":{"version":0,"producers":[{"producer_name":"eosio","authority":[0,{`,
			head.BlockNum(), head.BlockNum()-1))
	n.contains("/v1/chain/get_block_header_state", `{"block_num_or_id":2}`, 400, "Could not find reversible block: 2")
}

// What push_block reads is what get_raw_block writes.
func TestBlocksCanBePushedAsTheyAreRead(t *testing.T) {
	n := newNode(t, nil)
	taker := &taking{executor: executor{m: n.maker}}
	n.config.Transactions = taker
	n.start(nodeoshttp.Options{})
	p, err := n.maker.Sign(n.maker.CreateAccount(types.N("alice")))
	must(t, err)
	n.contains("/v1/chain/send_transaction", packedJSON(p), 202, "transaction_id")
	b := n.maker.Chain.Head().Block
	_, raw := n.ask("/v1/chain/get_raw_block", `{"block_num_or_id":`+fmt.Sprint(b.BlockNum())+`}`)
	n.expect("/v1/chain/push_block", raw, 202, `{}`)
	if taker.block == nil || string(taker.block.Append(nil)) != string(b.Append(nil)) {
		t.Errorf("read %+v\nwant %+v", taker.block, b)
	}
	n.expect("/v1/chain/push_block", `{"producer_signature":"nonsense"}`, 400, invalidRequest(unparsed))
}

// taking remembers the block that it was given.
type taking struct {
	executor
	block *types.SignedBlock
}

func (t *taking) Block(_ context.Context, b *types.SignedBlock, _ types.Checksum256) error {
	t.block = b
	return nil
}

func TestAddressesListWhatTheyServe(t *testing.T) {
	n := newNode(t, nil).start(nodeoshttp.Options{})
	n.base = n.listen(rpc.ProducerRO | rpc.DBSize)
	n.expect("/v1/node/get_supported_apis", "", 200, `{"apis":["/v1/chain/get_info"]}`)
	n.contains("/v1/chain/get_account", `{"account_name":"eosio"}`, 404, "Unknown Endpoint")
	n.base = n.listen(rpc.ChainRO)
	_, got := n.ask("/v1/node/get_supported_apis", "")
	if !strings.HasPrefix(got,
		`{"apis":["/v1/chain/get_abi","/v1/chain/get_account","/v1/chain/get_activated_protocol_features",`) ||
		strings.Contains(got, "push") {
		t.Error(got)
	}
}

// retrying answers for every transaction that was executed.
type retrying struct{ dropped int }

func (r *retrying) MaxExpiration() types.TimePointSec { return 1 << 31 }
func (r *retrying) Track(*types.PackedTransaction, *uint16) (rpc.Tracked, error) {
	return r, nil
}
func (r *retrying) Wait(context.Context) ([]byte, error) { return []byte(`{"a":1}`), nil }
func (r *retrying) Drop()                                { r.dropped++ }

func TestARetriedTransactionAnswersLater(t *testing.T) {
	n := newNode(t, nil)
	r := &retrying{}
	n.config.Transactions, n.config.Retry = &executor{m: n.maker}, r
	n.start(nodeoshttp.Options{})
	p, err := n.maker.Sign(n.maker.CreateAccount(types.N("alice")))
	must(t, err)
	trx, _, err := p.Unpack()
	must(t, err)
	ask := `{"retry_trx":true,"retry_trx_num_blocks":3,"transaction":` + packedJSON(p) + `}`
	n.expect("/v1/chain/send_transaction2", ask, 202, `{"transaction_id":"`+trx.ID().String()+`","processed":{"a":1}}`)
	n.contains("/v1/chain/send_transaction2", strings.Replace(ask, `{`, `{"return_failure_trace":false,`, 1), 409,
		"tx_duplicate")
	p, err = n.maker.Sign(n.maker.CreateAccount(types.N("alice")))
	must(t, err)
	n.contains("/v1/chain/send_transaction2", `{"retry_trx":true,"transaction":`+packedJSON(p)+`}`, 202,
		`"except":{"code":3050001`)
	if r.dropped != 2 {
		t.Errorf("dropped %d", r.dropped)
	}
}
