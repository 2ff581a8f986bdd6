package replica

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tarn/opera/rpc"
	"tarn/store/engine"
)

// late is a replica that began in the middle of a chain, and is behind its node.
type late struct {
	t    *testing.T
	head uint64 // of the replica; the node has four more blocks at least
	down bool   // no node answers
	url  string
	node func(body string) string
}

func newLate(t *testing.T) *late {
	t.Helper()
	l := &late{t: t}
	n, list := newNode(t), eventsAsked(t)
	for ; n.Head().Number < 6; list = list[1:] {
		n.feed(t, list[:1])
	}
	n.settle(t)
	f := joinWith(t, image(t, n, 2), engine.LevelDB)
	n.feed(t, list)
	n.settle(t)
	l.head = uint64(f.Follower.Head().Number)
	if end := uint64(n.Head().Number); l.head != 6 || end < l.head+4 {
		t.Fatalf("the replica is at block %d of %d", l.head, end)
	}
	var of *rpc.Service
	l.node, of = serve(t, n.Chain.Chain, nil)
	elder, err := of.Elder()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(elder.Close)
	service := rpc.New(rpc.Options{Chain: f.Follower.Chain, Prices: prices{},
		Older: func(ctx context.Context, body []byte) ([]byte, error) {
			if answer, ok := elder.Answer(ctx, body); ok && !l.down {
				return answer, nil
			}
			return nil, errors.New("nobody answers")
		}})
	h, err := service.Handler(&rpc.HTTPOptions{APIs: []string{"eth", "debug", "trace"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	t.Cleanup(func() {
		h.Close()
		server.Close()
		if err := service.Close(); err != nil {
			t.Error(err)
		}
	})
	l.url = server.URL
	return l
}

// post sends a body, and returns the status and the answer.
func (l *late) post(kind, body string) (int, string) {
	l.t.Helper()
	r, err := http.Post(l.url, kind, strings.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		l.t.Fatal(err)
	}
	return r.StatusCode, strings.TrimSpace(string(text))
}

func (l *late) ask(method, params string) string {
	l.t.Helper()
	_, text := l.post("application/json", requestOf(method, params))
	return text
}

func requestOf(method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
}

// field is a member of the result of an answer of the node, as text.
func (l *late) field(method, params, name string) string {
	l.t.Helper()
	_, text, _ := strings.Cut(l.node(requestOf(method, params)), " ")
	var said struct{ Result map[string]any }
	if err := json.Unmarshal([]byte(text), &said); err != nil {
		l.t.Fatalf("%s %s: %v: %.300s", method, params, err, text)
	}
	return fmt.Sprint(said.Result[name])
}

// What a replica answers for what is older is of its own head: nothing that its node has made since.
func TestOlderIsNeverNewer(t *testing.T) {
	l := newLate(t)
	newer := fmt.Sprintf(`"0x%x"`, l.head+2)
	hash := l.field("eth_getBlockByNumber", `[`+newer+`,false]`, "hash")
	for _, of := range []struct{ method, params string }{
		{"eth_getBlockByHash", `["` + hash + `",false]`}, {"eth_getHeaderByHash", `["` + hash + `"]`},
		{"eth_getBlockTransactionCountByHash", `["` + hash + `"]`}, {"eth_getBlockByNumber", `[` + newer + `,false]`},
		{"eth_getTransactionByBlockHashAndIndex", `["` + hash + `","0x0"]`},
	} {
		if got := l.ask(of.method, of.params); got != `{"jsonrpc":"2.0","id":1,"result":null}` {
			t.Errorf("%s %s: %.300s", of.method, of.params, got)
		}
	}
	for _, of := range []struct{ method, params string }{
		{"debug_traceBlockByHash", `["` + hash + `"]`}, {"eth_getBalance", `["0x01",{"blockHash":"` + hash + `"}]`},
		{"eth_getLogs", `[{"blockHash":"` + hash + `"}]`},
	} {
		if got := l.ask(of.method, of.params); !strings.Contains(got, `"error"`) {
			t.Errorf("%s %s: %.300s", of.method, of.params, got)
		}
	}
	end := fmt.Sprintf(`"0x%x"`, l.head)
	want := l.node(requestOf("eth_getLogs", `[{"fromBlock":"0x1","toBlock":`+end+`}]`))
	for _, to := range []string{``, `,"toBlock":"latest"`, `,"toBlock":` + newer, `,"toBlock":` + end, `,"TOBLOCK":"latest"`} {
		if got := "200 " + l.ask("eth_getLogs", `[{"fromBlock":"0x1"`+to+`}]`); got != want {
			t.Errorf("logs to %q:\n%.300s\nwant\n%.300s", to, got, want)
		}
	}
	for _, method := range []string{"eth_getProof"} {
		params := `["0x0000000000000000000000000000000000000001",[],%s]`
		want := l.node(requestOf(method, fmt.Sprintf(params, end)))
		if got := "200 " + l.ask(method, fmt.Sprintf(params, `"latest"`)); got != want {
			t.Errorf("%s:\n%.300s\nwant\n%.300s", method, got, want)
		}
	}
}

// A batch is answered one by one, those of it that the replica has by itself.
func TestABatchForWhatIsOlder(t *testing.T) {
	l := newLate(t)
	one := requestOf("eth_getBlockByNumber", `["0x2",false]`)
	_, got := l.post("application/json", `[`+one+`,`+requestOf("eth_blockNumber", `[]`)+`,`+
		`{"jsonrpc":"2.0","method":"eth_getBlockByNumber","params":["0x2",false]},`+requestOf("eth_nonsense", `[]`)+`]`)
	_, block, _ := strings.Cut(l.node(one), " ")
	if !strings.HasPrefix(got, `[`+block+`,`) || !strings.Contains(got, fmt.Sprintf(`"result":"0x%x"}`, l.head)) ||
		!strings.Contains(got, "-32601") || strings.Count(got, `"jsonrpc"`) != 3 {
		t.Errorf("the batch gets %.600s", got)
	}
	if status, got := l.post("application/json",
		`[{"jsonrpc":"2.0","method":"eth_getBlockByNumber","params":["0x2",false]}]`); status != http.StatusOK || got != "" {
		t.Errorf("a batch of notifications gets %d %q", status, got)
	}
	_, got = l.post("application/json", `[[`+one+`]]`)
	if !strings.Contains(got, "-32600") {
		t.Errorf("a batch of batches gets %.300s", got)
	}
}

// Without a node there is an error where the answer would be wrong, and what nobody may have is not found.
func TestNobodyAnswersForWhatIsOlder(t *testing.T) {
	l := newLate(t)
	l.down = true
	for _, of := range []struct{ method, params string }{
		{"eth_getBlockByNumber", `["0x2",false]`}, {"eth_getLogs", `[{"fromBlock":"0x1"}]`},
		{"eth_getBalance", `["0x0000000000000000000000000000000000000001","0x2"]`},
		{"trace_block", `["0x2"]`}, {"eth_getProof", `["0x0000000000000000000000000000000000000001",[],"latest"]`},
	} {
		if got := l.ask(of.method, of.params); !strings.Contains(got, `"code":-32005`) {
			t.Errorf("%s %s: %.300s", of.method, of.params, got)
		}
	}
	unknown := `["0x` + strings.Repeat("7", 64) + `"]`
	if got := l.ask("eth_getTransactionReceipt", unknown); !strings.HasSuffix(got, `"result":null}`) {
		t.Errorf("an unknown receipt: %s", got)
	}
	l.down = false
	filter := l.ask("eth_newFilter", `[{"fromBlock":"0x1"}]`)
	_, id, _ := strings.Cut(filter, `"result":`)
	if got := l.ask("eth_getFilterLogs", `[`+strings.TrimSuffix(id, "}")+`]`); !strings.Contains(got, "eth_getLogs") {
		t.Errorf("the logs of a filter that begins before the chain: %.300s", got)
	}
}

// Who asks a replica is a stranger to its node, and asks in the forms that the replica takes.
func TestStrangersAskForWhatIsOlder(t *testing.T) {
	l := newLate(t)
	script := `{"data":[],"step":function(){},"fault":function(){},"result":function(){return 42}}`
	text, err := json.Marshal(script)
	if err != nil {
		t.Fatal(err)
	}
	if got := l.ask("debug_traceCall", `[{"to":"0x0000000000000000000000000000000000000001"},"0x2",{"tracer":`+
		string(text)+`}]`); !strings.Contains(got, "local clients") {
		t.Errorf("a stranger's script runs at the node: %s", got)
	}
	if status, _ := l.post("text/plain", requestOf("eth_getBlockByNumber", `["0x2",false]`)); status != http.StatusUnsupportedMediaType {
		t.Errorf("a request that any page can send gets %d", status)
	}
	if got := l.ask("txpool_status", `[]`); !strings.Contains(got, "-32601") {
		t.Errorf("a namespace that is not served: %s", got)
	}
}
