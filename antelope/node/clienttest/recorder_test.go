package clienttest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tarn/antelope/difftest"
	"tarn/internal/recordedcalls"
)

// exchange is a call and its answer.
type exchange struct {
	step    string
	call    string // method and path
	request string
	status  int
	headers http.Header
	body    string
}

func (e exchange) String() string { return fmt.Sprintf("%s: %s %.400s", e.step, e.call, e.request) }

// recorder stands between a client and a node, and keeps what they say to each other.
type recorder struct {
	*httptest.Server
	node  *difftest.Node
	pass  func(body string) string // changes an answer for the client, unless nil
	mu    sync.Mutex
	step  string
	sent  bool // a transaction, in this step
	calls []exchange
}

func record(t *testing.T, n *difftest.Node) *recorder {
	r := &recorder{node: n}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

// ServeHTTP passes a call on. The path /step/NAME is for the recorder itself: the
// calls that follow belong to that step. It begins when the transactions of the one
// before are in a block.
func (r *recorder) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	if name, ok := strings.CutPrefix(q.URL.Path, "/step/"); ok {
		if err := r.begin(q.Context(), name); err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
		}
		return
	}
	e, err := r.forward(q)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	r.mu.Lock()
	e.step = r.step
	r.sent = r.sent || e.status == http.StatusAccepted
	r.calls = append(r.calls, e)
	r.mu.Unlock()
	for name, values := range e.headers {
		if name != "Content-Length" {
			w.Header()[name] = values
		}
	}
	if r.pass != nil {
		e.body = r.pass(e.body)
	}
	w.WriteHeader(e.status)
	_, _ = io.WriteString(w, e.body) // a client that has gone is its own test's failure
}

func (r *recorder) begin(ctx context.Context, name string) error {
	r.mu.Lock()
	r.step = name
	sent := r.sent
	r.sent = false
	r.mu.Unlock()
	if !sent {
		return nil
	}
	i, err := r.node.Info(ctx)
	if err != nil {
		return err
	}
	// A transaction that came late for the next block is in the one after it.
	return r.node.AwaitHead(ctx, i.HeadNum+2, false)
}

func (r *recorder) forward(q *http.Request) (exchange, error) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return exchange{}, err
	}
	to, err := url.Parse(r.node.URL() + q.URL.RequestURI())
	if err != nil {
		return exchange{}, err
	}
	out, err := http.NewRequestWithContext(q.Context(), q.Method, to.String(), bytes.NewReader(body))
	if err != nil {
		return exchange{}, err
	}
	out.Header = q.Header.Clone()
	out.Header.Del("Accept-Encoding") // what is compared is text
	res, err := (&http.Transport{DisableCompression: true, DisableKeepAlives: true}).RoundTrip(out)
	if err != nil {
		return exchange{}, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	return exchange{call: q.Method + " " + q.URL.RequestURI(), request: string(body), status: res.StatusCode,
		headers: res.Header, body: string(answer)}, err
}

// conversations is the folder in which what clients and nodes said is kept, one file for a
// client and a node; empty for none.
var conversations = os.Getenv("TARN_CLIENTS_RECORD")

// keep writes what was said under a name, in the form of package conversation.
func (r *recorder) keep(t *testing.T, name string) {
	t.Helper()
	if conversations == "" {
		return
	}
	var b []byte
	step := ""
	for _, e := range r.exchanges() {
		x := recordedcalls.Exchange{Ask: strings.TrimSuffix(e.call+" "+e.request, " "),
			Answers: []string{fmt.Sprint(e.status, " ", e.body)}}
		if e.step != step {
			step, x.Comment = e.step, e.step
		}
		b = x.Append(b)
	}
	path := filepath.Join(conversations, strings.NewReplacer("/", "-", " ", "-").Replace(t.Name())+"-"+name+".txt")
	if err := errors.Join(os.MkdirAll(conversations, 0o755), os.WriteFile(path, b, 0o644)); err != nil {
		t.Fatal(err)
	}
}

// exchanges are the calls until now.
func (r *recorder) exchanges() []exchange {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls
}
