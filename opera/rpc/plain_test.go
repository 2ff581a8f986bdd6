package rpc

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tarn/httpserver"
	"tarn/internal/recordedcalls"
)

// plainAnswer is what a handler answers to a plain request, as text; empty if it takes it not.
func plainAnswer(t *testing.T, h *Handler, body, host, path string, zip bool) string {
	t.Helper()
	r := &httpserver.PlainRequest{Path: []byte(path), Host: []byte(host), Type: []byte("application/json"), Gzip: zip,
		Body: []byte(body), Remote: func() string { return "" }}
	const before = "what was there"
	a, taken := h.Answer(t.Context(), r, []byte(before))
	if !taken {
		return ""
	}
	header := a.Before
	rest, ok := strings.CutPrefix(string(a.Body), before)
	if !ok || a.Status != http.StatusOK || !a.Dated || a.After != "" {
		t.Fatalf("%+v", a)
	}
	if strings.Contains(header, "Content-Encoding: gzip\r\n") {
		rest = unzip(t, rest)
		header = strings.Replace(header, "Content-Encoding: gzip\r\n", "", 1)
	}
	return header + rest
}

func unzip(t *testing.T, text string) string {
	t.Helper()
	z, err := gzip.NewReader(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// handlerAnswer is what the handler answers over net/http, in the same form.
func handlerAnswer(t *testing.T, h *Handler, body, host, path string, zip bool) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+host+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if zip {
		r.Header.Set("Accept-Encoding", "gzip")
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	text := rec.Body.String()
	if rec.Header().Get("Content-Encoding") == "gzip" {
		text = unzip(t, text)
	}
	var header bytes.Buffer
	fmt.Fprintf(&header, "Content-Type: %s\r\n", rec.Header().Get("Content-Type"))
	if vary := rec.Header().Get("Vary"); vary != "" {
		fmt.Fprintf(&header, "Vary: %s\r\n", vary)
	}
	if rec.Code != http.StatusOK {
		return ""
	}
	return header.String() + text
}

// What comes in the plainest form is answered as over net/http, or not at all.
func TestPlainAnswersAreTheHandlers(t *testing.T) {
	w := newWorld(t, recordedEvents, Options{Now: func() time.Time { return time.Unix(0, 0) }})
	exchanges, err := recordedcalls.Read(recordedAnswers)
	if err != nil {
		t.Fatal(err)
	}
	const good = `{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}`
	for _, o := range []HTTPOptions{{},
		{Origins: []string{"*"}, Hosts: []string{"known"}, Prefix: "/rpc", APIs: []string{"eth", "net"}}} {
		h, err := w.service.Handler(&o, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		taken := 0
		path := "/" + strings.TrimPrefix(o.Prefix, "/")
		for i, e := range exchanges {
			if strings.Contains(e.Ask, "ilter") || strings.Contains(e.Ask, "feeHistory") || e.Ask == "" {
				continue // ids and rewards by chance
			}
			got := plainAnswer(t, h, e.Ask, "127.0.0.1:80", path, i%2 == 0)
			if got == "" {
				continue
			}
			taken++
			if want := handlerAnswer(t, h, e.Ask, "127.0.0.1:80", path, i%2 == 0); got != want {
				t.Errorf("%.300s\n  plain    %.900s\n  net/http %.900s", e.Ask, got, want)
			}
		}
		if taken < 100 {
			t.Errorf("only %d of %d are taken", taken, len(exchanges))
		}
		for _, host := range []string{"known", "KNOWN:1", "unknown", "127.0.0.1", "[::1]:9", "known"} {
			for _, path := range []string{"/", "/rpc", "/rpc/x", "/other"} {
				if got, want := plainAnswer(t, h, good, host, path, false), handlerAnswer(t, h, good, host, path,
					false); got != want {
					t.Errorf("%s%s: plain %q, net/http %q", host, path, got, want)
				}
			}
		}
	}
}
