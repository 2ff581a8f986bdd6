package rpc

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"tarn/internal/recordedcalls"
)

// schemaFaults collects what is wrong with answers, by method, each fault once.
type schemaFaults map[string]string // the request that shows it

// add looks at an answer to a request, and tells whether it is an answer of the method at all.
func (f schemaFaults) add(
	t *testing.T, s schemas, results map[string]any, body, answer string,
) (method string, result bool) {
	t.Helper()
	method = methodOf(body)
	schema, known := results[method]
	_, text, ok := strings.Cut(answer, " ")
	if !known || !ok || !strings.HasPrefix(text, "{") {
		return method, false
	}
	said := decode(t, text).(map[string]any)
	value, result := said["result"]
	if !result {
		of, ok := said["error"].(map[string]any)
		code, isNumber := of["code"].(json.Number)
		_, isText := of["message"].(string)
		if _, err := code.Int64(); !ok || !isNumber || !isText || err != nil {
			f[method+": an error without code or message"] = body
		}
		return method, false
	}
	for _, x := range s.check(schema, value, "") {
		f[strings.TrimSpace(method+x.at+" "+x.what)] = body
	}
	return method, true
}

// Answers have the forms that github.com/ethereum/execution-apis wants, but for those that are
// listed, which are go-opera's.
func TestAnswersHaveTheFormsOfExecutionAPIs(t *testing.T) {
	dir := os.Getenv("TARN_EXECUTION_APIS")
	if dir == "" {
		t.Skip("set TARN_EXECUTION_APIS to a folder of github.com/ethereum/execution-apis")
	}
	s, results := readAPIs(t, dir)
	world := newWorld(t, recordedEvents, Options{Accounts: recordedAccounts(t), Pool: &pool{}, Now: func() time.Time {
		return time.Unix(0, 0)
	}})
	at := contractOf(t, world)
	list := append(questions(t, world, at), apiQuestions(t, world)...)
	list = append(list, theirQuestions(t, dir)...)
	ours, asked, answered := schemaFaults{}, map[string]bool{}, map[string]bool{}
	for _, body := range list {
		answer, err := asker(world.url)(body)
		if err != nil {
			t.Fatal(err)
		}
		method, result := ours.add(t, s, results, body, answer)
		if _, known := results[method]; known && !strings.Contains(answer, "does not exist/is not available") {
			asked[method] = true
			answered[method] = answered[method] || result
		}
	}
	theirs := recordedFaults(t, s, results)
	for _, x := range slices.Sorted(maps.Keys(ours)) {
		_, also := theirs[x]
		if agreedForms[x] == "" || !also {
			t.Errorf("%s: go-opera's too %v, for one of %.200s", x, also, ours[x])
		}
	}
	for x := range agreedForms {
		if _, seen := ours[x]; !seen {
			t.Errorf("%s is on the list, and was not met", x)
		}
	}
	for _, method := range slices.Sorted(maps.Keys(results)) {
		if reason, absent := absentMethods[method]; absent == asked[method] {
			t.Errorf("%s: asked %v, absent because %q", method, asked[method], reason)
		} else if asked[method] && !answered[method] {
			t.Errorf("%s was answered with errors alone", method)
		}
	}
	t.Logf("%d requests, %d methods", len(list), len(answered))
}

// recordedFaults is what is wrong with go-opera's answers.
func recordedFaults(t *testing.T, s schemas, results map[string]any) schemaFaults {
	t.Helper()
	all := schemaFaults{}
	for _, file := range []string{recordedAnswers, recordedLong} {
		exchanges, err := recordedcalls.Read(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range exchanges {
			all.add(t, s, results, e.Ask, e.Answers[0])
		}
	}
	return all
}

// agreedForms are other forms than those that are wanted. They are go-opera's, of Ethereum as it
// was before the words came that are wanted today.
var agreedForms = map[string]string{
	"eth_feeHistory has note":                                      "go-opera explains what it makes up",
	"eth_feeHistory lacks baseFeePerGas":                           "of no blocks there is none",
	"eth_fillTransaction.tx.gasPrice is no string":                 "null beside a dynamic fee",
	"eth_getBlockByHash.transactions[] lacks blockTimestamp":       "new",
	"eth_getBlockByHash.transactions[] lacks yParity":              "new; v is the same",
	"eth_getBlockByNumber.hash is no string":                       "of the pending block, which nobody has made",
	"eth_getBlockByNumber.miner is no string":                      "of the pending block",
	"eth_getBlockByNumber.nonce is no string":                      "of the pending block",
	"eth_getBlockByNumber.transactions[] lacks blockTimestamp":     "new",
	"eth_getBlockByNumber.transactions[] lacks yParity":            "new; v is the same",
	"eth_getLogs is 2 of the forms of which it must be one":        "an empty list is one of logs and one of hashes",
	"eth_getTransactionByBlockHashAndIndex lacks blockTimestamp":   "new",
	"eth_getTransactionByBlockNumberAndIndex lacks blockTimestamp": "new",
	"eth_getTransactionByHash lacks blockTimestamp":                "new",
	"eth_getTransactionByHash lacks yParity":                       "new; v is the same",
}

// absentMethods are those that go-opera does not have, with what they are of, and are not here.
var absentMethods = map[string]string{
	"debug_getBadBlocks":          "there are no bad blocks",
	"debug_getRawBlock":           "debug_getBlockRlp is go-opera's",
	"debug_getRawBlockAccessList": "Amsterdam",
	"debug_getRawHeader":          "a header is not hashed here",
	"debug_getRawReceipts":        "new",
	"debug_getRawTransaction":     "eth_getRawTransactionByHash is go-opera's",
	"eth_baseFee":                 "new; eth_effectiveBaseFee is go-opera's",
	"eth_blobBaseFee":             "Cancun",
	"eth_capabilities":            "new",
	"eth_config":                  "Osaka",
	"eth_getBlockAccessList":      "Amsterdam",
	"eth_getStorageValues":        "new",
	"eth_simulateV1":              "new",
}

// apiQuestions are about methods that go-opera does not have, or that the other questions do not
// ask with success.
func apiQuestions(t *testing.T, w *world) (list []string) {
	t.Helper()
	v, err := w.chain.View()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	ask := func(method string, params ...any) { list = append(list, request(method, params...)) }
	newest, err := v.Block(v.Head().Number)
	if err != nil {
		t.Fatal(err)
	}
	for n := v.Head().Number; n > 0; n-- {
		b, err := v.Block(n)
		if err != nil {
			t.Fatal(err)
		}
		ask("eth_getBlockReceipts", hexutil.EncodeUint64(uint64(n)))
		if !v.Made(n) {
			continue
		}
		for _, o := range []object{{}, {"tracer": "callTracer"}, {"tracer": "prestateTracer"}} {
			ask("debug_traceBlockByNumber", hexutil.EncodeUint64(uint64(n)), o)
			ask("debug_traceBlockByHash", common.Hash(b.ID), o)
			for _, tx := range b.Txs {
				ask("debug_traceTransaction", tx.Hash(), o)
			}
		}
	}
	ask("eth_getBlockReceipts", "0x7fffffff")
	own := w.service.options.Accounts.Accounts()[0]
	ask("personal_unlockAccount", own, "fakepassword")
	ask("eth_sign", own, "0x1234")
	transfer := object{"from": own, "to": own, "gas": "0x5208", "gasPrice": "0x5d21dba000", "nonce": "0x4d",
		"value": "0x1"}
	ask("eth_signTransaction", transfer)
	ask("eth_sendTransaction", transfer)
	signed, err := newest.Txs[len(newest.Txs)-1].MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	ask("eth_sendRawTransaction", hexutil.Bytes(signed))
	for _, method := range []string{"eth_newBlockFilter", "eth_newPendingTransactionFilter",
		"net_version", "eth_accounts"} {
		ask(method)
	}
	ask("eth_newFilter", object{})
	c := dial(t, w)
	for _, method := range []string{"eth_newBlockFilter", "eth_newPendingTransactionFilter", "eth_newFilter"} {
		var id string
		params := []any{}
		if method == "eth_newFilter" {
			params = append(params, object{"fromBlock": "0x0"})
		}
		if err := c.Call(&id, method, params...); err != nil {
			t.Fatal(err)
		}
		ask("eth_getFilterLogs", id)
		ask("eth_getFilterChanges", id)
		ask("eth_uninstallFilter", id)
	}
	n := v.Head().Number
	w.service.hub.tellBlocks(1, n)
	w.service.Added(newest.Txs)
	return list
}

// theirQuestions are the requests of the tests that come with the schemas, if they are there. They
// are about another chain, so that answers are of what is not there, or errors.
func theirQuestions(t *testing.T, dir string) (list []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "tests", "*", "*.io"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if body, ok := strings.CutPrefix(line, ">> "); ok {
				list = append(list, strings.TrimSpace(body))
			}
		}
	}
	return list
}
