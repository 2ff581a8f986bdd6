package replica

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tarn/opera/inter"
	"tarn/opera/rpc"
	"tarn/store/engine"
)

// late is a replica that began in the middle of a chain, and is behind its node.
type late struct {
	t    *testing.T
	head uint64 // of the replica; the node has four more blocks at least
	down bool   // no node answers
	asks atomic.Int64
	slow time.Duration // of the node
	post func(kind, body string) (int, string)
	node func(body string) string
}

func newLate(t *testing.T, patience time.Duration) *late {
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
		Older: func(ctx context.Context, head inter.BlockNumber, body []byte) ([]byte, error) {
			l.asks.Add(1)
			switch {
			case l.down:
				return nil, rpc.ErrNobody
			case l.slow > 0:
				select {
				case <-time.After(l.slow):
				case <-ctx.Done():
					return nil, context.Cause(ctx)
				}
			}
			return elder.Answer(ctx, head, body)
		}, Limits: rpc.Limits{RequestTime: patience}})
	l.post = listen(t, service, "eth", "debug", "trace")
	return l
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
	l := newLate(t, time.Minute)
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
	token := l.token()
	criteria := `[{"fromBlock":"0x1","address":"` + token + `","toBlock":%s}]`
	want = l.node(requestOf("eth_getLogs", fmt.Sprintf(criteria, end)))
	if got := "200 " + l.ask("eth_getLogs", fmt.Sprintf(criteria, `"0x100000"`)); got != want {
		t.Errorf("logs of %s:\n%.300s\nwant\n%.300s", token, got, want)
	}
	const proof = `["0x0000000000000000000000000000000000000001",[],%s]`
	want = l.node(requestOf("eth_getProof", fmt.Sprintf(proof, end)))
	if got := "200 " + l.ask("eth_getProof", fmt.Sprintf(proof, `"latest"`)); got != want {
		t.Errorf("proof:\n%.300s\nwant\n%.300s", got, want)
	}
	for _, at := range []string{newer, `{"blockHash":"` + hash + `"}`} {
		if got := l.ask("eth_getProof", fmt.Sprintf(proof, at)); !strings.Contains(got, "header not found") {
			t.Errorf("a proof at %s: %.300s", at, got)
		}
	}
}

// token is the address of the first log of the chain.
func (l *late) token() string {
	l.t.Helper()
	_, text, _ := strings.Cut(l.node(requestOf("eth_getLogs", `[{"fromBlock":"0x1","toBlock":"latest"}]`)), " ")
	var said struct{ Result []struct{ Address string } }
	if err := json.Unmarshal([]byte(text), &said); err != nil || len(said.Result) == 0 {
		l.t.Fatalf("%v: %.300s", err, text)
	}
	return said.Result[0].Address
}

// What the replica has it answers itself.
func TestTheNodeIsAskedForNothingElse(t *testing.T) {
	l := newLate(t, time.Minute)
	first := fmt.Sprintf(`"0x%x"`, l.head-1) // of two
	tx := l.field("eth_getTransactionByBlockNumberAndIndex", `[`+first+`,"0x0"]`, "hash")
	for _, of := range []struct{ method, params string }{
		{"eth_getBlockByNumber", `["latest",true]`}, {"eth_getBlockByNumber", `["pending",false]`},
		{"eth_getBlockReceipts", `[` + first + `]`}, {"eth_getLogs", `[{"fromBlock":` + first + `}]`},
		{"eth_getTransactionByHash", `["` + tx + `"]`}, {"eth_getTransactionReceipt", `["` + tx + `"]`},
		{"eth_getBalance", `["0x0000000000000000000000000000000000000001","earliest"]`},
		{"eth_getBlockByNumber", `["0x0",false]`}, {"eth_getBlockByNumber", `["0xffffff",false]`},
		{"eth_getLogs", `[null]`}, {"trace_filter", `[null]`}, {"eth_getLogs", `[7]`}, {"eth_getBlockByHash", `["latest",false]`},
		{"eth_call", `[{"to":"0x0000000000000000000000000000000000000001"},"latest"]`},
		{"eth_estimateGas", `[{"to":"0x0000000000000000000000000000000000000001"},null]`},
		{"eth_getProof", `["0x0000000000000000000000000000000000000001",[],"0xffffff"]`},
		{"eth_getProof", `["0x0000000000000000000000000000000000000001",[],"0x0"]`},
		{"trace_filter", `[{"fromBlock":"0x0","toBlock":"0x0"}]`},
	} {
		got := l.ask(of.method, of.params)
		if n := l.asks.Swap(0); n != 0 || !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":1,`) {
			t.Errorf("%s %s: the node is asked %d times, and the answer is %.200s", of.method, of.params, n, got)
		}
	}
}

// Many requests at once, long ones, and those in other forms are answered as one is.
func TestOlderInAllForms(t *testing.T) {
	l := newLate(t, time.Minute)
	tx := l.field("eth_getTransactionByBlockNumberAndIndex", `["0x2","0x0"]`, "hash")
	one := requestOf("eth_getTransactionReceipt", `["`+tx+`"]`)
	_, want, _ := strings.Cut(l.node(one), " ")
	var all sync.WaitGroup
	for range 40 {
		all.Go(func() {
			if _, got := l.post("application/json", one); got != want {
				t.Errorf("one of many gets %.300s", got)
			}
		})
	}
	all.Wait()
	list := `[` + strings.Repeat(one+`,`, 149) + one + `]`
	if _, got := l.post("application/json", list); got != `[`+strings.Repeat(want+`,`, 149)+want+`]` {
		t.Errorf("a batch of %d bytes gets %.600s", len(list), got)
	}
	if _, got := l.post("application/json-rpc", one); got != want {
		t.Errorf("another type of JSON gets %.300s", got)
	}
	if _, got := l.post("application/json", `[7,`+one+`]`); !strings.HasSuffix(got, `,`+want+`]`) {
		t.Errorf("beside what is no request it gets %.300s", got)
	}
	block := requestOf("eth_getBlockByNumber", `["0x2",false]`)
	_, want, _ = strings.Cut(l.node(block), " ")
	for _, odd := range []string{
		strings.Replace(block, `"jsonrpc":"2.0",`, ``, 1), strings.Replace(block, `{`, `{"method":3,`, 1),
		strings.Replace(block, `"params"`, `"params":{},"params"`, 1), strings.Replace(block, `"method"`, `"METHOD"`, 1),
		strings.Replace(block, `}`, `,"more":[{}]}`, 1),
	} {
		if _, got := l.post("application/json", odd); got != want {
			t.Errorf("%s gets %.300s", odd, got)
		}
	}
	for _, wide := range []string{`"topics":[]`, `"address":[]`, `"more":1`} {
		ask := requestOf("eth_getLogs", `[{"fromBlock":"0x1","toBlock":"0x100000",`+wide+`}]`)
		_, want, _ := strings.Cut(l.node(ask), " ")
		if _, got := l.post("application/json", ask); got != want {
			t.Errorf("%s gets %.300s, want %.300s", ask, got, want)
		}
	}
	long := requestOf("eth_call", `[{"to":"0x0000000000000000000000000000000000000001","data":"0x`+strings.Repeat("00", 20_000)+`"},"0x2"]`)
	_, want, _ = strings.Cut(l.node(long), " ")
	if _, got := l.post("application/json", long); got != want {
		t.Errorf("a long request gets %.300s", got)
	}
}

// A node answers nothing but what a replica asks.
func TestAnElderAnswersNothingElse(t *testing.T) {
	n := newNode(t)
	_, service := serve(t, n.Chain.Chain, nil)
	e, err := service.Elder()
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, method := range []string{"debug_setGCPercent", "debug_writeMemProfile", "eth_sendTransaction", "eth_sign",
		"eth_newFilter", "debug_getHeaderByNumber", "eth_debug_traceCall"} {
		if answer, err := e.Answer(t.Context(), 0, []byte(requestOf(method, `["0x0"]`))); err == nil {
			t.Errorf("%s gets %s", method, answer)
		}
	}
	header := []byte(requestOf("eth_getHeaderByNumber", `["0x0"]`))
	if _, err := e.Answer(t.Context(), 0, append(append([]byte{'['}, header...), ']')); err == nil {
		t.Error("a batch is answered")
	}
	if _, err := e.Answer(t.Context(), 0, header); err != nil {
		t.Errorf("a header: %v", err)
	}
	if _, err := e.Answer(t.Context(), 1<<20, header); !errors.Is(err, rpc.ErrLacks) {
		t.Errorf("a chain that is behind answers: %v", err)
	}
}

// A node that is slow is no reason to say that something is not there.
func TestASlowNodeIsNotNobody(t *testing.T) {
	l := newLate(t, time.Second)
	tx := l.field("eth_getTransactionByBlockNumberAndIndex", `["0x2","0x0"]`, "hash")
	one := requestOf("eth_getTransactionReceipt", `["`+tx+`"]`)
	_, want, _ := strings.Cut(l.node(one), " ")
	// again and again, as this machine may be slow itself
	eventually := func(what string, good func() bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); !good(); {
			if time.Now().After(end) {
				t.Fatalf("not within a minute: %s", what)
			}
		}
	}
	l.slow = 300 * time.Millisecond
	eventually("somebody gets the receipt", func() bool {
		var all sync.WaitGroup
		var good atomic.Int64
		for range 40 {
			all.Go(func() {
				switch _, got := l.post("application/json", one); {
				case got == want:
					good.Add(1)
				case !strings.Contains(got, `"code":-32005`):
					t.Errorf("one of many gets %.300s", got)
				}
			})
		}
		all.Wait()
		return good.Load() > 0 || t.Failed()
	})
	l.slow = 2 * time.Second
	if _, got := l.post("application/json", one); !strings.Contains(got, `"code":-32005`) {
		t.Errorf("a node that does not answer: %.300s", got)
	}
	local := requestOf("eth_getBlockByNumber", `["latest",false]`)
	_, block, _ := strings.Cut(l.node(requestOf("eth_getBlockByNumber", fmt.Sprintf(`["0x%x",false]`, l.head))), " ")
	eventually("the batch has what the replica has", func() bool {
		_, got := l.post("application/json", `[`+one+`,`+local+`]`)
		return strings.Contains(got, `"code":-32005`) && strings.HasSuffix(got, `,`+block+`]`)
	})
}

// A batch is answered one by one, those of it that the replica has by itself.
func TestABatchForWhatIsOlder(t *testing.T) {
	l := newLate(t, time.Minute)
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
	_, got = l.post("application/json", `[[`+one+`],`+one+`]`)
	if got != `[{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid request"}},`+block+`]` {
		t.Errorf("a batch of batches gets %.300s", got)
	}
}

// Without a node there is an error where the answer would be wrong, and what nobody may have is not found.
func TestNobodyAnswersForWhatIsOlder(t *testing.T) {
	l := newLate(t, time.Minute)
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
	l := newLate(t, time.Minute)
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
