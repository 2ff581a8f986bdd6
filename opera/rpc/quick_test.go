package rpc

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tarn/httpserver"
	"tarn/internal/recordedcalls"
	"tarn/opera/chain"
)

// checkAnswer is what a handler makes of a body.
func checkAnswer(t *testing.T, h http.Handler, body, kind string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", kind)
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	return rec.Result().Status + " " + rec.Header().Get("Content-Type") + " " + rec.Body.String()
}

// What is answered without go-ethereum's server is what the server answers, byte for byte.
func TestQuickAnswersAreTheServers(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{Now: func() time.Time { return time.Unix(0, 0) }})
	server, err := w.service.server(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	q := w.service.quick(server, nil, w.service.older(nil))
	var bodies []string
	for _, file := range []string{recordedAnswers, recordedLong} {
		exchanges, err := recordedcalls.Read(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range exchanges {
			bodies = append(bodies, e.Ask)
		}
	}
	const good = `{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}`
	for _, change := range [][2]string{
		{`"id":1`, `"id":"a_-B9"`}, {`"id":1`, `"id":"a b"`}, {`"id":1`, `"id":"\u0061"`}, {`"id":1`, `"id":-1`},
		{`"id":1`, `"id":1.0`}, {`"id":1`, `"id":1e3`}, {`"id":1`, `"id":null`},
		{`"id":1`, `"id":""`}, {`"id":1`, `"id":[1]`}, {`"id":1,`, ``}, {`"id":1`, `"id": 7 `}, {`"2.0"`, `"1.0"`},
		{`"jsonrpc":"2.0",`, ``}, {`[]`, `null`}, {`[]`, `{}`}, {`[]`, `[null]`}, {`[]`, `[1]`},
		{`,"params":[]`, ``}, {`}`, `} `}, {`}`, `}{}`}, {`}`, `,"method":"eth_chainId"}`}, {`"method"`, `"METHOD"`},
		{`}`, `,"result":1}`}, {`eth_blockNumber`, `eth_nothing`}, {`{`, ` {`}, {`{`, `[{`}, {`}`, `,"x":1}`},
		{`eth_b`, `eth\u005fb`}, {`eth_b`, "\xff"}, {`[]`, `[],"Params":[1]`},
	} {
		bodies = append(bodies, strings.Replace(good, change[0], change[1], 1))
	}
	quickly := 0
	for _, body := range bodies {
		if strings.Contains(body, "ilter") || strings.Contains(body, "feeHistory") {
			continue // ids and rewards by chance
		}
		got, want := checkAnswer(t, q, body, "application/json"), checkAnswer(t, server, body, "application/json")
		if got != want {
			t.Errorf("%.300s\n  quick   %.900s\n  server  %.900s", body, got, want)
		}
		if _, taken := q.answer(t.Context(), httpserver.Client{}, []byte(body), nil, func() string { return "" }); taken {
			quickly++
		}
	}
	t.Logf("%d of %d requests are answered quickly", quickly, len(bodies))
	if quickly < 200 {
		t.Errorf("only %d of %d requests are answered quickly", quickly, len(bodies))
	}
	for _, kind := range []string{"application/json; charset=utf-8", "text/plain", ""} {
		if got, want := checkAnswer(t, q, good, kind), checkAnswer(t, server, good, kind); got != want {
			t.Errorf("%q: %s, want %s", kind, got, want)
		}
	}
}

// Texts that are kept with blocks count as much as what they are made of.
func TestTextsOfBlocksAreBounded(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{})
	before := w.service.blocks.bytes
	for n := range BlockTag(8) {
		for _, full := range []bool{true, false} {
			first, err := w.service.blockText(byTag(n+1), full, false)
			if err != nil {
				t.Fatal(err)
			}
			again, err := w.service.blockText(byTag(n+1), full, false)
			if err != nil || &again[0] != &first[0] {
				t.Errorf("block %d is told anew: %v", n+1, err)
			}
			if !json.Valid(first) {
				t.Errorf("block %d: %s", n+1, first)
			}
			if w.service.blocks.bytes < before+len(first) {
				t.Errorf("block %d counts %d", n+1, w.service.blocks.bytes-before)
			}
			before = w.service.blocks.bytes
		}
	}
	const most = 1 << 20
	c := newBlockCache(most)
	heavy := &block{Block: &chain.Block{}}
	c.set(1, heavy)
	c.countText(heavy, most/2)
	c.set(2, &block{Block: &chain.Block{}})
	if c.old[1] != heavy || c.young[1] != nil || len(c.young) != 1 || c.bytes >= most/2 {
		t.Errorf("a block that has grown counts no more than before: %d", c.bytes)
	}
	if c.get(1) != heavy || c.young[1] != heavy || len(c.old) != 1 {
		t.Errorf("it is not remembered with what it weighs: %d", c.bytes)
	}
}
