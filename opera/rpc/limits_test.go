package rpc

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"

	"tarn/httpserver"
	"tarn/opera/chain"
	"tarn/opera/inter"
)

// dial asks a world over HTTP.
func dial(t *testing.T, w *world) *rpc.Client {
	t.Helper()
	c, err := rpc.Dial(w.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// contractOf is where the contract of the recorded chain is.
func contractOf(t *testing.T, w *world) common.Address {
	t.Helper()
	v, err := w.chain.View()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	var at common.Address
	if err := v.Logs(t.Context(), chain.LogQuery{To: v.Head().Number, Topics: [][]common.Hash{{{31: 0xa1}}}},
		func(l *types.Log) bool {
			at = l.Address
			return false
		}); err != nil || at == (common.Address{}) {
		t.Fatalf("%v, %v", at, err)
	}
	return at
}

func deed(at common.Address, what byte) object {
	return object{"to": at, "data": hexutil.Encode([]byte{what})}
}

// fails tells whether an error says something.
func fails(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("%v, want %q", err, text)
	}
}

// What a stranger can ask for has a bound, and the error says which.
func TestTheTimeOfTheWorstRequestsHasABound(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{Limits: Limits{
		GasCap: 1 << 40, CallTime: 50 * time.Millisecond, RequestTime: 500 * time.Millisecond,
	}})
	c, at := dial(t, w), contractOf(t, w)
	var any json.RawMessage
	begin := time.Now()
	fails(t, c.Call(&any, "eth_call", deed(at, doLoop), "latest"), "execution aborted (timeout = 50ms)")
	fails(t, c.Call(&any, "eth_estimateGas", object{"to": at, "data": hexutil.Encode([]byte{doLoop}),
		"gas": "0xffffffffff"}), "execution aborted")
	fails(t, c.Call(&any, "eth_createAccessList", object{"to": at, "data": hexutil.Encode([]byte{doLoop}),
		"gas": "0xffffffffff", "gasPrice": "0x0"}, "latest"), "execution aborted")
	fails(t, c.Call(&any, "debug_traceCall", object{"to": at, "data": hexutil.Encode([]byte{doLoop}),
		"gas": "0xffffffffff"}, "latest", object{"tracer": "callTracer", "timeout": "1h"}), "execution aborted")
	fails(t, c.Call(&any, "debug_traceCall", deed(at, doCount),
		"latest", object{"tracer": "{step:function(){for(;;){}},fault:function(){},result:function(){return 1}}"}), "")
	// The traces may take four times a request's time. By default all would have some forty seconds.
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestLimitsHoldForTheWorstRequests(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{Limits: Limits{
		Batch: 10, Answer: 3000, Logs: 12, Criteria: 20, UnindexedBlocks: 3, Filters: 3, FilterHeld: 4,
		Subscriptions: 2,
		Trace:         4000, Body: 100_000,
	}})
	c, at := dial(t, w), contractOf(t, w)
	var any json.RawMessage
	fails(t, c.Call(&any, "debug_traceCall", deed(at, doFill), "latest", object{"tracer": "callTracer"}),
		errTraceSize.Error())
	fails(t, c.Call(&any, "eth_getLogs", object{"fromBlock": "0x0", "toBlock": "latest", "address": at}),
		"more than 12 results. Try with this block range [0x0, ")
	fails(t, c.Call(&any, "eth_getLogs", object{"fromBlock": "0x0", "toBlock": "latest"}),
		"too wide blocks range, the limit is 3")
	fails(t, c.Call(&any, "eth_getLogs", object{"address": make([]common.Address, 21)}),
		"too many addresses and topics: 21, the limit is 20")
	fails(t, c.Call(&any, "eth_feeHistory", 1, "latest", make([]float64, 101)), "too many percentiles")
	fails(t, c.Call(&any, "eth_getProof", at, make([]string, 1025), "latest"), "too many storage keys")
	for i := range 4 {
		err := c.Call(&any, "eth_newBlockFilter")
		if i < 3 && err != nil {
			t.Error(err)
		} else if i == 3 {
			fails(t, err, "too many filters, the limit is 3")
		}
	}
	fails(t, c.Call(&any, "eth_sendRawTransaction", "0x"+strings.Repeat("00", 60_000)), "413")
}

func TestBatchesHaveLimits(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{Limits: Limits{Batch: 10, Answer: 3000}})
	c := dial(t, w)
	batch := func(n int) []rpc.BatchElem {
		list := make([]rpc.BatchElem, n)
		for i := range list {
			list[i] = rpc.BatchElem{Method: "eth_getBlockByNumber", Args: []any{"latest", true},
				Result: new(json.RawMessage)}
		}
		return list
	}
	if list := batch(11); c.BatchCall(list) == nil && list[0].Error == nil {
		t.Error("a batch of 11 was answered")
	}
	list := batch(10)
	if err := c.BatchCall(list); err != nil {
		t.Fatal(err)
	}
	if list[0].Error != nil {
		t.Error(list[0].Error)
	}
	fails(t, list[9].Error, "response too large")
}

// The error of a search that finds too much says how to go on, and going on so gets all.
func TestLogsAreFoundInPiecesAsTheErrorSays(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{Limits: Limits{Logs: 25}})
	c, at := dial(t, w), contractOf(t, w)
	ask := func(from, to uint64) (list []LogJSON, err error) {
		err = c.Call(&list, "eth_getLogs", object{"fromBlock": hexutil.Uint64(from), "toBlock": hexutil.Uint64(to),
			"address": at})
		return list, err
	}
	var all []LogJSON
	last := uint64(w.chain.Head().Number)
	pieces := 0
	for from, to := uint64(0), last; from <= last; pieces++ {
		list, err := ask(from, to)
		if err == nil {
			all = append(all, list...)
			from, to = to+1, last
			continue
		}
		var first, end, next uint64
		if _, scanned := fmt.Sscanf(err.Error(),
			"query returned more than 25 results. Try with this block range [0x%x, 0x%x], and go on from 0x%x",
			&first, &end, &next); scanned != nil {
			t.Fatal(err)
		}
		if first != from || next != end+1 || end >= to {
			t.Fatalf("from %d to %d: %v", from, to, err)
		}
		to = end
	}
	open := newWorld(t, recordedEvents, Options{})
	var want []LogJSON
	if err := dial(t, open).Call(&want, "eth_getLogs", object{"fromBlock": "0x0", "address": at}); err != nil {
		t.Fatal(err)
	}
	if len(all) != len(want) || len(want) <= 25 || pieces < 3 {
		t.Errorf("%d logs in %d pieces, want %d", len(all), pieces, len(want))
	}
	for i := range all {
		if all[i].TxHash != want[i].TxHash || all[i].Index != want[i].Index {
			t.Fatalf("log %d is %v", i, all[i])
		}
	}
}

// Transactions wait in a pool that tells of them.
type pool struct {
	noPool
	had types.Transactions
}

func (p *pool) Add(tx *types.Transaction) error {
	p.had = append(p.had, tx)
	return nil
}

func (p *pool) Pending() map[common.Address]types.Transactions {
	return map[common.Address]types.Transactions{{1}: p.had}
}

func (p *pool) Nonce(common.Address) uint64 { return 77 }

// countPublished tells the service of blocks again, as if they were new.
func countPublished(t *testing.T, w *world, from inter.BlockNumber) (n int) {
	t.Helper()
	v, err := w.chain.View()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	w.service.filters.mu.Lock()
	for _, f := range w.service.filters.filters {
		f.block = from
	}
	w.service.filters.mu.Unlock()
	for at := from; at <= v.Head().Number; at++ {
		b, err := v.Block(at)
		if err != nil {
			t.Fatal(err)
		}
		w.service.hub.tellBlocks(b.Number, b.Number)
		n++
	}
	return n
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for begin := time.Now(); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begin) > time.Minute {
			t.Fatalf("%s does not come", what)
		}
	}
}

func TestFiltersTellWhatIsNew(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{Pool: &pool{}, Limits: Limits{FilterHeld: 40, FilterTime: time.Hour}})
	c, at := dial(t, w), contractOf(t, w)
	var blocks, logs, txs rpc.ID
	for _, f := range []struct {
		id     *rpc.ID
		method string
		params []any
	}{{&blocks, "eth_newBlockFilter", nil},
		{&logs, "eth_newFilter", []any{object{"address": at, "topics": []any{common.Hash{31: 0xa1}}}}},
		{&txs, "eth_newPendingTransactionFilter", nil}} {
		if err := c.Call(f.id, f.method, f.params...); err != nil {
			t.Fatal(err)
		}
	}
	n := countPublished(t, w, 1)
	w.service.Added(types.Transactions{types.NewTx(&types.LegacyTx{Nonce: 1}), types.NewTx(&types.LegacyTx{Nonce: 2})})
	var hashes []common.Hash
	until(t, "the second transaction", func() bool {
		var more []common.Hash
		if err := c.Call(&more, "eth_getFilterChanges", txs); err != nil {
			t.Fatal(err)
		}
		hashes = append(hashes, more...)
		return len(hashes) == 2
	})
	var ids []common.Hash
	var found, again []LogJSON
	if err := c.Call(&ids, "eth_getFilterChanges", blocks); err != nil || len(ids) != n ||
		ids[n-1] != common.Hash(w.chain.Head().Atropos) {
		t.Errorf("%v, %v", ids, err)
	}
	if err := c.Call(&found, "eth_getFilterChanges", logs); err != nil || len(found) == 0 || found[0].Address != at ||
		found[0].Topics[0] != (common.Hash{31: 0xa1}) {
		t.Errorf("%v, %v", found, err)
	}
	if err := c.Call(&again, "eth_getFilterChanges", logs); err != nil || len(again) != 0 {
		t.Errorf("%v, %v", again, err)
	}
	for range 41 {
		w.service.Added(types.Transactions{types.NewTx(&types.LegacyTx{})})
	}
	until(t, "the word that changes were dropped", func() bool {
		err := c.Call(&hashes, "eth_getFilterChanges", txs)
		return err != nil && strings.Contains(err.Error(), "more than 40 changes since the last call")
	})
	var gone bool
	if err := c.Call(&gone, "eth_uninstallFilter", txs); err != nil || !gone {
		t.Errorf("%v, %v", gone, err)
	}
	fails(t, c.Call(&hashes, "eth_getFilterChanges", txs), "filter not found")
}

// Who is slower than news comes hears no more of it, and nothing with a hole in it.
func TestNewsThatIsLostIsNotMissed(t *testing.T) {
	s := newStream(3, 100)
	if s.push(news{0, 1}); len(s.items) != 0 {
		t.Error("what nobody hears is kept")
	}
	at := s.begin()
	for i := range 3 {
		s.push(news{i, 10})
	}
	for i := range 3 {
		if of, ok := s.wait(t.Context(), at+uint64(i)); !ok || of != i {
			t.Errorf("news %d: %v, %v", i, of, ok)
		}
	}
	s.push(news{3, 10})
	if _, ok := s.wait(t.Context(), at); ok {
		t.Error("the first news is there after more than is kept")
	}
	s.push(news{4, 1000})
	if _, ok := s.wait(t.Context(), at+3); ok || s.size != 1000 {
		t.Errorf("%d bytes are kept", s.size)
	}
	if of, ok := s.wait(t.Context(), at+4); !ok || of != 4 {
		t.Error("large news is lost")
	}
	s.lose()
	if _, ok := s.wait(t.Context(), at+5); ok {
		t.Error("who missed something hears what comes next")
	}
	s.end()
	if len(s.items) != 0 || s.size != 0 || s.heard() {
		t.Errorf("%+v is kept for nobody", s)
	}
}

func TestFiltersThatNobodyAsksForGo(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{Limits: Limits{FilterTime: time.Millisecond, Filters: 2}})
	c := dial(t, w)
	for range 5 {
		var id rpc.ID
		if err := c.Call(&id, "eth_newBlockFilter"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func TestSubscribersAreTold(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{Limits: Limits{Subscriptions: 3}})
	c, err := rpc.Dial(strings.Replace(w.url, "http", "ws", 1))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	heads, logs, txs := make(chan map[string]any, 100), make(chan LogJSON, 1000), make(chan common.Hash, 10)
	for _, s := range []struct {
		to     any
		params []any
	}{{heads, []any{"newHeads"}}, {logs, []any{"logs", object{"address": contractOf(t, w)}}},
		{txs, []any{"newPendingTransactions"}}} {
		if _, err := c.Subscribe(t.Context(), "eth", s.to, s.params...); err != nil {
			t.Fatal(err)
		}
	}
	_, err = c.Subscribe(t.Context(), "eth", make(chan any), "newHeads")
	fails(t, err, "too many subscriptions, the limit is 3")
	n := countPublished(t, w, 1)
	w.service.Added(types.Transactions{types.NewTx(&types.LegacyTx{Nonce: 3})})
	var last map[string]any
	for range n {
		last = <-heads
	}
	if id := w.chain.Head().Atropos.String(); last["hash"] != id || last["extraData"] != id || len(last) != 21 {
		t.Errorf("%v", last)
	}
	if l := <-logs; l.BlockNumber == 0 || l.Address == (common.Address{}) {
		t.Errorf("%v", l)
	}
	if hash := <-txs; hash != types.NewTx(&types.LegacyTx{Nonce: 3}).Hash() {
		t.Errorf("%v", hash)
	}
}

// Traces of executed transactions say what their receipts say.
func TestTracesSayWhatHappened(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{})
	c, at := dial(t, w), contractOf(t, w)
	type call struct {
		GasUsed hexutil.Uint64
		Error   string
		Calls   []call
		Logs    []any
	}
	traced, nested, logged, failed := 0, 0, 0, 0
	for n := inter.BlockNumber(1); n <= w.chain.Head().Number; n++ {
		var list []struct {
			TxHash common.Hash
			Result call
		}
		if err := c.Call(&list, "debug_traceBlockByNumber",
			hexutil.Uint64(n), object{"tracer": "callTracer", "tracerConfig": object{"withLog": true}}); err != nil {
			if n == 1 && strings.Contains(err.Error(), errNotMade.Error()) {
				continue // the genesis' own, which nobody executes
			}
			t.Fatalf("block %d: %v", n, err)
		}
		for _, one := range list {
			var r ReceiptJSON
			if err := c.Call(&r, "eth_getTransactionReceipt", one.TxHash); err != nil {
				t.Fatal(err)
			}
			if one.Result.GasUsed != r.GasUsed || (one.Result.Error != "") != (*r.Status == 0) {
				t.Errorf("%+v, its receipt %+v", one, r)
			}
			traced, nested, logged = traced+1, nested+len(one.Result.Calls), logged+len(one.Result.Logs)
			if one.Result.Error != "" {
				failed++
			}
			var single call
			var steps struct{ StructLogs []any }
			var flat []any
			if err := c.Call(&single, "debug_traceTransaction", one.TxHash,
				object{"tracer": "callTracer"}); err != nil || single.GasUsed != r.GasUsed {
				t.Errorf("%+v, %v", single, err)
			}
			if err := c.Call(&steps, "debug_traceTransaction", one.TxHash); err != nil {
				t.Error(err)
			}
			if err := c.Call(&flat, "trace_transaction", one.TxHash); err != nil || len(flat) == 0 {
				t.Errorf("%v, %v", flat, err)
			}
		}
	}
	if traced < 20 || nested == 0 || logged < 10 || failed == 0 {
		t.Errorf("%d traces, %d calls in them, %d logs, %d failed", traced, nested, logged, failed)
	}
	var text json.RawMessage
	if err := c.Call(&text, "debug_traceCall", deed(at, doCount),
		"latest",
		object{
			"tracer": "{n:0,step:function(){this.n++},fault:function(){},result:function(){return this.n}}"}); err != nil || len(text) < 2 {
		t.Errorf("%s, %v", text, err)
	}
	for _, name := range []string{"prestateTracer", "4byteTracer", "flatCallTracer", "noopTracer", "muxTracer"} {
		config := object{"tracer": name}
		if name == "muxTracer" {
			config["tracerConfig"] = object{"callTracer": object{}}
		}
		if err := c.Call(&text, "debug_traceCall", deed(at, doCall), "latest", config); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The names of the last block that go-opera does not know.
func TestFinalizedAndSafeAreTheLastBlock(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{})
	c := dial(t, w)
	var last, other HeaderJSON
	for _, tag := range []string{"finalized", "safe"} {
		if err := c.Call(&last, "eth_getBlockByNumber", "latest", false); err != nil {
			t.Fatal(err)
		}
		if err := c.Call(&other, "eth_getBlockByNumber", tag, false); err != nil || *other.Hash != *last.Hash {
			t.Errorf("%s: %v, %v", tag, other, err)
		}
		var balance hexutil.Big
		if err := c.Call(&balance, "eth_getBalance", common.Address{18: 1}, tag); err != nil {
			t.Error(err)
		}
	}
	for n := inter.BlockNumber(1); n <= w.chain.Head().Number; n++ {
		var list, each []ReceiptJSON
		if err := c.Call(&list, "eth_getBlockReceipts", hexutil.Uint64(n)); err != nil {
			t.Fatal(err)
		}
		for i := range list {
			each = append(each, ReceiptJSON{})
			if err := c.Call(&each[i], "eth_getTransactionReceipt", list[i].TransactionHash); err != nil {
				t.Fatal(err)
			}
		}
		a, _ := json.Marshal(list)
		b, _ := json.Marshal(each)
		if len(list) > 0 && string(a) != string(b) {
			t.Errorf("block %d: %s, want %s", n, a, b)
		}
	}
}

func TestWhoIsServedIsChosen(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{})
	h, err := w.service.Handler(&HTTPOptions{APIs: []string{"eth"}, Hosts: []string{"good"},
		Origins: []string{"https://site"}, Prefix: "/rpc"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for _, x := range []struct {
		path, host, origin string
		status             int
		allowed            string
	}{
		{"/rpc", "good", "", 200, ""}, {"/rpc", "GOOD:1", "https://site", 200, "https://site"},
		{"/rpc", "127.0.0.1", "https://other", 200, ""},
		{"/rpc", "bad", "", 403, ""}, {"/", "good", "", 404, ""},
	} {
		rec := httptest.NewRecorder()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://x"+x.path,
			strings.NewReader(request("eth_chainId")))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = x.host
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Origin", x.origin)
		h.ServeHTTP(rec, r)
		if rec.Code != x.status || rec.Header().Get("Access-Control-Allow-Origin") != x.allowed {
			t.Errorf("%+v: %d %v", x, rec.Code, rec.Header())
		}
	}
	if _, err := w.service.Handler(&HTTPOptions{APIs: []string{"nonsense"}}, nil); err == nil {
		t.Error("a namespace that there is not is served")
	}
	if _, err := w.service.Handler(nil, &WSOptions{Prefix: "x"}); err == nil {
		t.Error("a prefix without a slash is taken")
	}
}

// A browser asks first, and is told what go-opera tells it.
func TestPagesOfOtherSitesAreToldWhatTheyMay(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{})
	h, err := w.service.Handler(&HTTPOptions{APIs: []string{"eth"}, Origins: []string{"https://*.example.com"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for _, x := range []struct{ method, origin, allowed, methods string }{
		{http.MethodOptions, "https://a.example.com", "https://a.example.com", "POST"},
		{http.MethodOptions, "https://example.org", "", ""},
		{http.MethodPost, "https://a.example.com", "https://a.example.com", ""}, {http.MethodPost, "", "", ""},
	} {
		rec := httptest.NewRecorder()
		r, err := http.NewRequestWithContext(t.Context(), x.method,
			"http://127.0.0.1/", strings.NewReader(request("eth_chainId")))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		if x.origin != "" {
			r.Header.Set("Origin", x.origin)
		}
		if x.method == http.MethodOptions {
			r.Header.Set("Access-Control-Request-Method", "POST")
			r.Header.Set("Access-Control-Request-Headers", "content-type")
		}
		h.ServeHTTP(rec, r)
		got := rec.Header()
		if rec.Code != http.StatusOK || got.Get("Access-Control-Allow-Origin") != x.allowed ||
			got.Get("Access-Control-Allow-Methods") != x.methods || got.Values("Vary")[0] != "Origin" {
			t.Errorf("%+v: %d %v", x, rec.Code, got)
		}
	}
}

func TestTheLocalSocketHasEverything(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{DataDir: "there"})
	dir, err := os.MkdirTemp("/tmp", "rpc")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "below", "opera.ipc")
	for range 2 { // the second time over what the first left
		k, err := w.service.Listen(path)
		if err != nil {
			t.Fatal(err)
		}
		c, err := rpc.DialIPC(context.Background(), path)
		if err != nil {
			t.Fatal(err)
		}
		modules, err := c.SupportedModules()
		if err != nil || len(modules) != 12 {
			t.Errorf("%v, %v", modules, err)
		}
		var folder string
		if err := c.Call(&folder, "admin_datadir"); err != nil || folder != "there" {
			t.Errorf("%q, %v", folder, err)
		}
		c.Close()
		if err := k.Close(); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := w.service.Listen(file); err == nil {
		t.Error("a file was replaced by a socket")
	}
}

// One address has a share of filters and subscriptions, and another one has its own.
func TestOneAddressDoesNotTakeAllFiltersAndSubscriptions(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{Pool: &pool{}, Limits: Limits{Filters: 80, Subscriptions: 16}})
	from := func(address string) context.Context {
		return httpserver.Asking(t.Context(), httpserver.ClientAt(address))
	}
	e := ethFilters{w.service}
	for i := range 12 {
		if _, err := e.NewBlockFilter(from("1.2.3.4")); (err == nil) != (i < 10) {
			t.Errorf("filter %d of one address: %v", i, err)
		}
	}
	if _, err := e.NewBlockFilter(from("1.2.3.5")); err != nil {
		t.Errorf("another address: %v", err)
	}
	for range 3 {
		give, err := w.service.place(w.service.subscriptions, httpserver.ClientAt("2001:db8::1"), 0, "subscriptions")
		if err == nil {
			defer give()
		}
	}
	if n := w.service.subscriptions.Used(); n != 2 {
		t.Errorf("one address has %d subscriptions", n)
	}
}

// However much is new, a filter holds nothing of it, and whoever has news never waits.
func TestNewsCostsNothingForThoseWhoHaveIt(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{Pool: &pool{}})
	var topics []common.Hash
	for i := range 1990 {
		topics = append(topics, common.Hash{0: 1, 30: byte(i >> 8), 31: byte(i)})
	}
	e := ethFilters{w.service}
	for range 1000 {
		if _, err := e.NewFilter(t.Context(),
			Criteria{Topics: [][]common.Hash{append([]common.Hash{}, topics...)}}); err != nil {
			t.Fatal(err)
		}
	}
	held := w.service.memory.Used()
	head := w.chain.Head().Number
	begin := time.Now()
	for range 100_000 {
		w.service.hub.tellBlocks(1, head)
		w.service.Added(types.Transactions{types.NewTx(&types.LegacyTx{Nonce: 1})})
	}
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("news took %v", took)
	}
	if now := w.service.memory.Used(); now != held {
		t.Errorf("filters take %d bytes more", now-held)
	}
}

// WebSockets that have sent half of a message share the memory of all requests, and give it back.
func TestUnfinishedFramesHoldABoundedAmount(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{Limits: Limits{Memory: 4 << 20}})
	var conns []net.Conn
	for range 10 {
		c, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprint(c,
			"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: "+
				"Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || res.StatusCode != http.StatusSwitchingProtocols {
			t.Fatal(res, err)
		}
		if err := c.SetWriteDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		_, _ = c.Write([]byte{0x81, 0x80 | 127, 0, 0, 0, 0, 0, 0xe0, 0, 0, 0, 0, 0, 0}) // 14 MiB
		_, _ = c.Write(make([]byte, 1<<20))                                             // some are closed before
		conns = append(conns, c)
		if n := w.service.memory.Used(); n > 4<<20 {
			t.Errorf("%d bytes are held", n)
		}
	}
	until(t, "a megabyte that is held", func() bool { return w.service.memory.Used() >= 1<<20 })
	for _, c := range conns {
		c.Close()
	}
	until(t, "all memory back", func() bool { return w.service.memory.Used() == 0 })
}

// Light answers come while all turns are taken, and who waits too long is told so. Nobody gets a turn in this test.
func TestLightAnswersDoNotWaitBehindOthers(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{Limits: Limits{Executions: 1, RequestTime: 300 * time.Millisecond}})
	end, err := w.service.pace.executing.Take(t.Context(), httpserver.Client{})
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	for _, url := range []string{w.url, "ws" + strings.TrimPrefix(w.url, "http")} {
		c, err := rpc.Dial(url)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		var any json.RawMessage
		for _, method := range []string{"eth_blockNumber", "net_version"} {
			if err := c.Call(&any, method); err != nil {
				t.Errorf("%s at %s: %v", method, url, err)
			}
		}
		fails(t, c.Call(&any, "eth_call", object{}, "latest"), "the node is busy")
		long := object{"topics": [][]string{{"0x" + strings.Repeat("0", 2*lightBytes)}}}
		if other, err := rpc.Dial(url); err != nil {
			t.Fatal(err)
		} else {
			fails(t, other.Call(&any, "eth_newFilter", long), "the node is busy")
			other.Close()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		batch := []rpc.BatchElem{{Method: "eth_blockNumber", Result: &any}}
		if err := c.BatchCallContext(ctx, batch); errors.Is(err, context.DeadlineExceeded) ||
			err == nil && batch[0].Error == nil {
			t.Errorf("a batch without a turn: %v", err)
		}
		cancel()
	}
}
