package clienttest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"
)

// exchange is what a client asked and a node answered: a call, or what is no call.
type exchange struct {
	step    string
	over    string // HTTP, or WS
	request string // a call, or the body
	answer  string // to the call, or the body
	told    bool   // the node spoke by itself: request is the call that it subscribed with
	whole   *whole // of what is no call, else nil
}

// whole is an HTTP request as such.
type whole struct {
	call    string // method and path
	status  int
	headers http.Header
}

func (e exchange) String() string {
	call := ""
	if e.whole != nil {
		call = e.whole.call + " "
	}
	return fmt.Sprintf("%s over %s: %s%.400s", e.step, e.over, call, e.request)
}

// recorder stands between a client and a node, and keeps what they say to each other.
type recorder struct {
	*httptest.Server
	http, ws string // of the node
	mu       sync.Mutex
	step     string
	all      []exchange
	failed   error // of the recorder itself
}

func record(t *testing.T, n *side) *recorder {
	r := &recorder{http: n.node.URL(), ws: n.ws}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

// websocketURL is where clients find it.
func (r *recorder) websocketURL() string { return "ws" + strings.TrimPrefix(r.URL, "http") }

func (r *recorder) add(list ...exchange) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range list {
		e.step = r.step
		r.all = append(r.all, e)
	}
}

func (r *recorder) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = errors.Join(r.failed, err)
}

// begin has what follows belong to a step.
func (r *recorder) begin(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.step = name
}

// exchanges is what was said until now.
func (r *recorder) exchanges(t *testing.T) []exchange {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed != nil {
		t.Error(r.failed)
	}
	return r.all
}

// ServeHTTP passes a call on. The path /step/NAME is for the recorder itself: what follows
// belongs to that step.
func (r *recorder) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	if name, ok := strings.CutPrefix(q.URL.Path, "/step/"); ok {
		r.begin(name)
		return
	}
	if websocket.IsWebSocketUpgrade(q) {
		if err := r.talk(w, q); err != nil {
			r.fail(fmt.Errorf("pass a WebSocket on: %w", err))
		}
		return
	}
	if err := r.forward(w, q); err != nil && q.Context().Err() == nil { // else the client has gone
		r.fail(fmt.Errorf("pass %s %s on: %w", q.Method, q.URL, err))
		http.Error(w, err.Error(), http.StatusBadGateway)
	}
}

func (r *recorder) forward(w http.ResponseWriter, q *http.Request) error {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return err
	}
	out, err := http.NewRequestWithContext(q.Context(), q.Method, r.http+q.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	out.Header = q.Header.Clone()
	out.Header.Del("Accept-Encoding") // what is compared is text
	res, err := (&http.Transport{DisableCompression: true, DisableKeepAlives: true}).RoundTrip(out)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	of := &whole{q.Method + " " + q.URL.RequestURI(), res.StatusCode, res.Header}
	if list, ok := calls(string(body), string(answer)); ok && res.StatusCode == http.StatusOK &&
		q.Method == http.MethodPost {
		list[0].whole = of
		r.add(list...)
	} else {
		r.add(exchange{over: overHTTP, request: string(body), answer: string(answer), whole: of})
	}
	for name, values := range res.Header {
		if name != "Content-Length" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(res.StatusCode)
	_, _ = w.Write(answer) // a client that has gone is its own test's failure
	return nil
}

const overHTTP, overWS = "HTTP", "WS"

// message is a request or an answer.
type message struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
}

// messages are those of a body, which may be a batch.
func messages(body string) (list []json.RawMessage, batch bool) {
	if strings.HasPrefix(strings.TrimSpace(body), "[") {
		return list, json.Unmarshal([]byte(body), &list) == nil
	}
	var one json.RawMessage
	if json.Unmarshal([]byte(body), &one) != nil {
		return nil, false
	}
	return []json.RawMessage{one}, false
}

// compact is a request without blanks.
func compact(request json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, request) != nil {
		return string(request)
	}
	return b.String()
}

// calls takes a body and its answer apart into calls, each with its answer. It fails where that
// is not clear, as with what is no call.
func calls(body, answer string) (list []exchange, ok bool) {
	asked, batch := messages(body)
	said, batched := messages(answer)
	if len(asked) == 0 || len(asked) != len(said) || batch != batched {
		return nil, false
	}
	for i := range asked {
		var q, a message
		if json.Unmarshal(asked[i], &q) != nil || json.Unmarshal(said[i], &a) != nil || q.Method == "" ||
			len(q.ID) == 0 || !bytes.Equal(q.ID, a.ID) {
			return nil, false
		}
		list = append(list, exchange{over: overHTTP, request: compact(asked[i]), answer: string(said[i])})
	}
	return list, true
}

// talk passes on what both say over a WebSocket until one of them ends it.
func (r *recorder) talk(w http.ResponseWriter, q *http.Request) error {
	node, _, err := websocket.DefaultDialer.DialContext(q.Context(), r.ws, nil)
	if err != nil {
		return err
	}
	defer node.Close()
	upgrader := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	client, err := upgrader.Upgrade(w, q, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	c := &socket{recorder: r, asked: map[string]string{}, topics: map[string]string{}}
	ended := make(chan struct{}, 2)
	pass := func(from, to *websocket.Conn, heard func(string)) {
		defer func() { ended <- struct{}{} }()
		for {
			kind, text, err := from.ReadMessage()
			if err != nil {
				return // it is closed
			}
			heard(string(text))
			if to.WriteMessage(kind, text) != nil {
				return
			}
		}
	}
	go pass(client, node, c.ask)
	go pass(node, client, c.answer)
	<-ended
	return nil
}

// socket is what is known of a connection.
type socket struct {
	recorder *recorder
	mu       sync.Mutex
	asked    map[string]string // by their ids, what is not answered yet
	topics   map[string]string // by the subscription's id, what it was asked for with
}

func (c *socket) ask(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	list, _ := messages(text)
	for _, one := range list {
		var m message
		if err := json.Unmarshal(one, &m); err != nil {
			c.recorder.fail(err)
		}
		c.asked[string(m.ID)] = compact(one)
	}
}

func (c *socket) answer(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	list, _ := messages(text)
	for _, one := range list {
		var m message
		if err := json.Unmarshal(one, &m); err != nil {
			c.recorder.fail(err)
		}
		if m.Method != "" {
			var about struct{ Subscription string }
			if err := json.Unmarshal(m.Params, &about); err != nil {
				c.recorder.fail(err)
			}
			c.recorder.add(exchange{over: overWS, request: c.topics[about.Subscription],
				answer: string(one), told: true})
			continue
		}
		request := c.asked[string(m.ID)]
		var q message
		if json.Unmarshal([]byte(request), &q) == nil && strings.HasSuffix(q.Method, "_subscribe") {
			c.topics[strings.Trim(string(m.Result), `"`)] = request
		}
		delete(c.asked, string(m.ID))
		c.recorder.add(exchange{over: overWS, request: request, answer: string(one)})
	}
}

func TestCallsAreTakenApart(t *testing.T) {
	for _, c := range []struct {
		body, answer string
		calls        int
	}{
		{`{"id":1,"method":"a"}`, `{"id":1,"result":2}`, 1},
		{`[{"id":1,"method":"a"},{"id":"x","method":"b"}]`, `[{"id":1,"result":2},{"id":"x","error":{}}]`, 2},
		{`[{"id":1,"method":"a"},{"id":2,"method":"b"}]`, `[{"id":2,"result":2},{"id":1,"result":3}]`, 0},
		{`[{"id":1,"method":"a"}]`, `{"id":1,"result":2}`, 0},
		{`{"method":"a"}`, ``, 0},
		{`[]`, `{"id":null,"error":{}}`, 0},
		{`nonsense`, `{"id":null,"error":{}}`, 0},
	} {
		if list, ok := calls(c.body, c.answer); ok != (c.calls > 0) || len(list) != c.calls {
			t.Errorf("%s is %d calls, %v", c.body, len(list), ok)
		}
	}
}
