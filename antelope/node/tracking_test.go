package node_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tarn/antelope/crypto"
	"tarn/antelope/difftest"
	"tarn/antelope/node"
	"tarn/antelope/rpc/trxretry"
	"tarn/antelope/rpc/trxstatus"
	"tarn/antelope/types"
)

// everything is all that can be tracked.
func everything() node.Tracking {
	return node.Tracking{
		Authorizers: true,
		Finality:    &trxstatus.Options{MaxBytes: 1 << 30, Success: 3 * time.Minute, Failure: 3 * time.Minute},
		Retry:       &trxretry.Options{MaxBytes: 1 << 30, Interval: 20 * time.Second, MaxExpiration: 2 * time.Minute},
	}
}

// everythingOfNodeos are nodeos' options for that.
var everythingOfNodeos = []string{
	"--enable-account-queries", "1", "--transaction-finality-status-max-storage-size-gb",
	"1", "--transaction-retry-max-storage-size-gb", "1",
}

// sender signs transactions of the account eosio.
type sender struct {
	t     *testing.T
	chain types.Checksum256
	key   crypto.PrivateKey
	count uint32
}

func newSender(t *testing.T, g *types.Genesis, keys map[types.Name]crypto.PrivateKey) *sender {
	return &sender{t: t, chain: g.ChainID(), key: keys[types.N("eosio")]}
}

// newAccount is a transaction that makes an account, packed, and its id.
func (s *sender) newAccount(name string, lifetime time.Duration) (packed, id string) {
	s.t.Helper()
	only := types.Authority{Threshold: 1, Keys: []types.KeyWeight{{Key: s.key.Public(), Weight: 1}}}
	active := only
	active.Accounts = []types.PermissionLevelWeight{
		{Permission: types.PermissionLevel{Actor: types.N("eosio"), Permission: types.N("active")}, Weight: 1}}
	data := types.NewAccount{Creator: types.N("eosio"), Name: types.N(name), Owner: only, Active: active}
	s.count++
	trx := &types.Transaction{Actions: []types.Action{{
		Account: types.N("eosio"), Name: types.N("newaccount"), Data: data.Append(nil),
		Authorization: []types.PermissionLevel{{Actor: types.N("eosio"), Permission: types.N("active")}},
	}}}
	trx.Expiration, trx.MaxNetUsageWords = types.TimePointSec(time.Now().Add(lifetime).Unix()), 1000+s.count
	trx.SetRefBlock(types.Checksum256{})
	return s.pack(trx), trx.ID().String()
}

func (s *sender) pack(trx *types.Transaction) string {
	s.t.Helper()
	signature, err := s.key.Sign(trx.SigningDigest(s.chain, nil))
	if err != nil {
		s.t.Fatal(err)
	}
	return fmt.Sprintf(`{"signatures":["%s"],"compression":"none","packed_context_free_data":"","packed_trx":"%s"}`,
		signature, hex.EncodeToString(trx.Append(nil)))
}

// ask asks a node, and demands a status.
func ask(t *testing.T, ctx context.Context, n *difftest.Node, path, body string, want int) string {
	t.Helper()
	status, text, err := n.Ask(ctx, path, body)
	if err != nil || status != want {
		t.Fatalf("%s %s: %d %s, %v", path, body, status, text, err)
	}
	return string(text)
}

// awaitStatus asks for the status of a transaction until it is this.
func awaitStatus(t *testing.T, ctx context.Context, n *difftest.Node, id, want string) string {
	t.Helper()
	for {
		text := ask(t, ctx, n, "/v1/chain/get_transaction_status", `{"id":"`+id+`"}`, http.StatusOK)
		if strings.Contains(text, `"state":"`+want+`"`) {
			return text
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s is not %s: %s", id, want, text)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// processedTransaction is what an answer to send_transaction2 says of the block.
func processedTransaction(t *testing.T, text string) (id string, block *string, num uint32) {
	t.Helper()
	var answer struct {
		ID        string `json:"transaction_id"`
		Processed struct {
			Block *string `json:"producer_block_id"`
			Num   uint32  `json:"block_num"`
		} `json:"processed"`
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return answer.ID, answer.Processed.Block, answer.Processed.Num
}

func TestAnAPINodeTracksWhatItPassesOn(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	g, keys := difftest.Genesis(workload(t, "token"), 7)
	maker := startTarn(t, &g, keys)
	n, stop := startTracking(t, &g, nil, everything(), nil, maker.P2P())
	tracks(t, ctx, n, newSender(t, &g, keys))

	// What is off is not served, in nodeos' words.
	for _, path := range []string{"get_transaction_status", "get_accounts_by_authorizers"} {
		ask(t, ctx, maker, "/v1/chain/"+path, `{"id":"00","keys":[]}`, http.StatusNotFound)
	}
	const kill = "/v1/test_control/kill_node_on_producer"
	if text := ask(t, ctx, n, kill, `{"producer":"nobody","where_in_sequence":3,"based_on_lib":true}`,
		http.StatusAccepted); text != "{}" {
		t.Errorf("%s says %s", kill, text)
	}
	for _, body := range []string{``, `{}`, `{"producer":"BAD"}`, `{"producer":"eosio","where_in_sequence":"x"}`,
		`{"producer":"eosio","based_on_lib":"x"}`, `[]`} {
		ask(t, ctx, n, kill, body, http.StatusBadRequest)
	}
	// Nobody who waits keeps the node from stopping.
	if err := maker.Pause(ctx); err != nil {
		t.Fatal(err)
	}
	packed, id := newSender(t, &g, keys).newAccount("last", time.Minute)
	answer := make(chan string, 1)
	go func() {
		status, _, err := n.Ask(ctx, "/v1/chain/send_transaction2", `{"retry_trx":true,"transaction":`+packed+`}`)
		answer <- fmt.Sprint(status, err)
	}()
	// Once its status is known it is kept.
	for strings.Contains(ask(t, ctx, n, "/v1/chain/get_transaction_status", `{"id":"`+id+`"}`, http.StatusOK),
		`"UNKNOWN"`) {
		time.Sleep(10 * time.Millisecond)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if got := <-answer; got != "500 <nil>" {
		t.Errorf("who waited gets %s", got)
	}
}

// awaitFollowers waits until nodes get blocks, before which nobody takes their transactions.
func awaitFollowers(t *testing.T, ctx context.Context, nodes ...*difftest.Node) {
	t.Helper()
	for _, n := range nodes {
		if err := n.AwaitHead(ctx, 4, false); err != nil {
			t.Fatal(err)
		}
	}
}

// tracks gives a node that follows another transactions, and asks about them.
func tracks(t *testing.T, ctx context.Context, n *difftest.Node, s *sender) {
	t.Helper()
	const send = "/v1/chain/send_transaction2"
	awaitFollowers(t, ctx, n)
	packed, id := s.newAccount("alice", time.Minute)
	ask(t, ctx, n, send, `{"return_failure_trace":true,"retry_trx":false,"transaction":`+packed+`}`,
		http.StatusAccepted)
	awaitStatus(t, ctx, n, id, "IRREVERSIBLE")
	awaitStatus(t, ctx, n, strings.Repeat("ab", 32), "UNKNOWN")

	packed, id = s.newAccount("bob", time.Minute)
	text := ask(t, ctx, n, send, `{"retry_trx":true,"retry_trx_num_blocks":1,"transaction":`+packed+`}`,
		http.StatusAccepted)
	got, block, num := processedTransaction(t, text)
	if got != id || block == nil || num == 0 {
		t.Errorf("at a depth of 1: %s", text)
	}
	packed, id = s.newAccount("carol", time.Minute)
	text = ask(t, ctx, n, send, `{"retry_trx":true,"transaction":`+packed+`}`, http.StatusAccepted)
	if got, block, _ := processedTransaction(t, text); got != id || block == nil {
		t.Errorf("once it is final: %s", text)
	}
	awaitStatus(t, ctx, n, id, "IRREVERSIBLE")

	packed, _ = s.newAccount("dave", 10*time.Minute)
	text = ask(t, ctx, n, send, `{"retry_trx":true,"transaction":`+packed+`}`, http.StatusInternalServerError)
	if !strings.Contains(text, `"code":3040006`) || !strings.Contains(text, "larger than allowed") {
		t.Errorf("an expiration too far away: %s", text)
	}
	packed, _ = s.newAccount("alice", time.Minute) // who exists
	text = ask(t, ctx, n, send, `{"retry_trx":true,"transaction":`+packed+`}`, http.StatusAccepted)
	if !strings.Contains(text, `account_name_exists_exception`) ||
		!strings.Contains(text, `"format":"${receiver} <= ${account}::${action} pending console output: ${console}",`+
			`"data":{"console":"","account":"eosio","action":"newaccount","receiver":"eosio"}`) {
		t.Errorf("a transaction that fails: %s", text)
	}
	text = ask(t, ctx, n, "/v1/chain/get_accounts_by_authorizers", `{"accounts":["eosio"],"keys":[]}`, http.StatusOK)
	for _, name := range []string{"alice", "bob", "carol"} {
		want := `{"account_name":"` + name +
			`","permission_name":"active","authorizing_account":{"actor":"eosio","permission":"active"},"weight":1,` +
			`"threshold":1}`
		if !strings.Contains(strings.ReplaceAll(text, `"weight":"1"`, `"weight":1`), want) {
			t.Errorf("%s is not found: %s", name, text)
		}
	}
}

// sortedAccounts is an answer with the list of accounts sorted: nodeos has those that
// are equal otherwise in the order in which it came to know of them.
func sortedAccounts(t *testing.T, text []byte) string {
	t.Helper()
	var answer struct{ Accounts []json.RawMessage }
	if json.Unmarshal(text, &answer) != nil || answer.Accounts == nil {
		return string(text)
	}
	slices.SortFunc(answer.Accounts, func(a, b json.RawMessage) int { return bytes.Compare(a, b) })
	out, err := json.Marshal(answer)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// The same questions to nodeos and to a node of ours that follow one chain.
func TestTrackingAnswersAsNodeosDoes(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	p := findPeer(t, ctx)
	g, keys := difftest.Genesis(workload(t, "token"), 7)
	maker := startTarn(t, &g, keys)
	ours, _ := startTracking(t, &g, nil, everything(), nil, maker.P2P())
	theirs := startNodeos(t, ctx, p, &g, nil, append(everythingOfNodeos, "--p2p-peer-address", maker.P2P())...)
	s := newSender(t, &g, keys)
	awaitFollowers(t, ctx, ours, theirs)
	packed, id := s.newAccount("alice", time.Minute)
	ask(t, ctx, theirs, "/v1/chain/send_transaction2", `{"retry_trx":true,"transaction":`+packed+`}`,
		http.StatusAccepted)
	later, otherID := s.newAccount("bob", time.Minute)
	ask(t, ctx, ours, "/v1/chain/send_transaction2", `{"retry_trx":true,"transaction":`+later+`}`, http.StatusAccepted)
	for _, id := range []string{id, otherID} {
		// How far the nodes are may differ.
		far := regexp.MustCompile(`"(head_number|irreversible_number)":\d+`)
		got, want := awaitStatus(t, ctx, ours, id, "IRREVERSIBLE"), awaitStatus(t, ctx, theirs, id, "IRREVERSIBLE")
		compareAnswers(t, "status", far.ReplaceAllString(got, `"$1":0`), far.ReplaceAllString(want, `"$1":0`), nil, nil)
	}
	far, _ := s.newAccount("carol", time.Hour)
	again, _ := s.newAccount("alice", time.Minute)
	key := s.key.Public().String()
	for _, c := range [][2]string{
		{"get_accounts_by_authorizers", `{"keys":["` + key + `"]}`},
		{"get_accounts_by_authorizers", `{"accounts":["eosio","alice",{"actor":"eosio","permission":"active"}],"keys":["` + key + `","` + key + `"]}`},
		{"get_accounts_by_authorizers", `{"accounts":[{"actor":"eosio","permission":"owner"}]}`},
		{"get_accounts_by_authorizers", `{"accounts":["eosio.prods"]}`},
		{"get_accounts_by_authorizers", `{}`},
		{"get_accounts_by_authorizers", ``},
		{"get_accounts_by_authorizers", `{"accounts":[{"permission":"active"}]}`},
		{"get_accounts_by_authorizers", `{"accounts":[{"actor":"a","permission":"active","x":1}]}`},
		{"get_accounts_by_authorizers", `{"accounts":["BAD"]}`},
		{"get_accounts_by_authorizers", `{"accounts":[7],"keys":[]}`},
		{"get_accounts_by_authorizers", `{"keys":["EOS1"]}`},
		{"get_accounts_by_authorizers", `{"keys":"EOS1"}`},
		{"get_accounts_by_authorizers", `[]`},
		{"get_transaction_status", `{"id":"` + strings.Repeat("00", 32) + `"}`},
		{"get_transaction_status", `{"id":"` + strings.Repeat("0a", 32) + `"}`},
		{"get_transaction_status", `{"id":"zz"}`},
		{"get_transaction_status", `{"id":7}`},
		{"get_transaction_status", `{}`},
		{"get_transaction_status", `[]`},
		{"get_transaction_status", ``},
		{"send_transaction2", `{"retry_trx":true,"transaction":` + far + `}`},
		{"send_transaction2", `{"retry_trx":true,"return_failure_trace":false,"transaction":` + again + `}`},
		{"send_transaction2", `{"retry_trx":"maybe","transaction":` + again + `}`},
		{"send_transaction2", `{"retry_trx":true,"retry_trx_num_blocks":"x","transaction":` + again + `}`},
		{"send_transaction2", `{"retry_trx":true,"retry_trx_num_blocks":[1],"transaction":` + again + `}`},
		{"send_transaction2", `{"retry_trx":true,"transaction":{}}`},
		{"send_transaction2", `{"retry_trx":true,"transaction":` + packed + `}`},
	} {
		got, text, err := ours.Ask(ctx, "/v1/chain/"+c[0], c[1])
		want, their, theirErr := theirs.Ask(ctx, "/v1/chain/"+c[0], c[1])
		if err != nil || theirErr != nil {
			t.Fatal(err, theirErr)
		}
		if got != want {
			t.Errorf("%s %s: %d, nodeos has %d", c[0], c[1], got, want)
		}
		compareAnswers(t, c[0]+" "+c[1], sortedAccounts(t, text), sortedAccounts(t, their), nil, nil)
	}
}
