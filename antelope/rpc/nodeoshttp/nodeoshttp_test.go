package nodeoshttp_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tarn/antelope/rpc/nodeoshttp"
)

const (
	public nodeoshttp.Category = 1 << iota
	private
)

func faults(b []byte, r nodeoshttp.Refusal, n int64) (int, []byte) {
	status := map[nodeoshttp.Refusal]int{nodeoshttp.BadTarget: 400, nodeoshttp.BadHost: 400, nodeoshttp.NotFound: 404,
		nodeoshttp.TooManyBytes: 503, nodeoshttp.TooManyRequests: 503}[r]
	return status, fmt.Appendf(b, "refusal %d %d", r, n)
}

type edge struct {
	t       testing.TB
	s       *nodeoshttp.Server
	address string
	begun   chan struct{} // has one once a call of /wait is under way
	release chan struct{} // ends calls of /wait
}

func open(t testing.TB, o nodeoshttp.Options) *edge {
	t.Helper()
	e := &edge{t: t, begun: make(chan struct{}, 1), release: make(chan struct{})}
	if o.MaxBody == 0 {
		o.MaxBody = 100
	}
	if o.MaxBytesInFlight == 0 {
		o.MaxBytesInFlight = -1
	}
	if o.MaxConnections == 0 {
		o.MaxConnections = -1
	}
	e.s = nodeoshttp.New(o, faults)
	e.must(e.s.Add(
		nodeoshttp.Endpoint{Path: "/echo", Category: public,
			Handle: func(r *nodeoshttp.Request, b []byte) (int, []byte) { return 200, append(b, r.Body...) }},
		nodeoshttp.Endpoint{Path: "/text", Category: private, Text: true,
			Handle: func(_ *nodeoshttp.Request, b []byte) (int, []byte) { return 201, append(b, "text"...) }},
		nodeoshttp.Endpoint{Path: "/hidden", Category: nodeoshttp.All, Hidden: true,
			Handle: func(r *nodeoshttp.Request, b []byte) (int, []byte) { return 200, b }},
		nodeoshttp.Endpoint{Path: "/ends", Category: public,
			Handle: func(r *nodeoshttp.Request, b []byte) (int, []byte) {
				r.EndTurn()
				<-e.release
				return 200, append(b, "done"...)
			}},
		nodeoshttp.Endpoint{Path: "/wait", Category: public, Waits: true,
			Handle: func(r *nodeoshttp.Request, b []byte) (int, []byte) {
				select {
				case e.begun <- struct{}{}:
				default:
				}
				<-e.release
				return 200, append(b, "done"...)
			}}))
	e.address = e.listen("127.0.0.1:0", public)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		e.s.Stop(ctx)
	})
	return e
}

func (e *edge) must(err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatal(err)
	}
}

func (e *edge) listen(address string, c nodeoshttp.Category) string {
	e.t.Helper()
	addrs, err := e.s.Listen(context.Background(), address, e.t.TempDir(), c)
	e.must(err)
	return addrs[0].String()
}

// ask sends raw text and returns the answer, nil if the connection was closed
// without one.
func (e *edge) ask(network, address, text string) (*http.Response, string) {
	e.t.Helper()
	c, err := net.Dial(network, address)
	e.must(err)
	defer c.Close()
	e.must(c.SetDeadline(time.Now().Add(time.Minute)))
	_, err = io.WriteString(c, text)
	e.must(err)
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		if ne, ok := err.(net.Error); ok && ne.Timeout() {
			e.t.Fatalf("no answer to %q", text)
		}
		return nil, ""
	}
	body, err := io.ReadAll(res.Body)
	e.must(err)
	return res, string(body)
}

func (e *edge) post(path, body string, headers ...string) (*http.Response, string) {
	e.t.Helper()
	h := strings.Join(append(headers, ""), "\r\n")
	if !slices.ContainsFunc(headers, func(s string) bool { return strings.HasPrefix(s, "Host:") }) {
		h += "Host: " + e.address + "\r\n"
	}
	return e.ask("tcp", e.address,
		fmt.Sprintf("POST %s HTTP/1.1\r\n%sContent-Length: %d\r\n\r\n%s", path, h, len(body), body))
}

func (e *edge) expect(res *http.Response, body string, status int, want string) {
	e.t.Helper()
	if res == nil {
		e.t.Errorf("no answer, want %d %s", status, want)
	} else if res.StatusCode != status || body != want {
		e.t.Errorf("%d %s, want %d %s", res.StatusCode, body, status, want)
	}
}

// Nobody waits behind requests that have ended their turn, however many wait for something else.
func TestWhoWaitsForSomethingElseHasNoTurn(t *testing.T) {
	e := open(t, nodeoshttp.Options{})
	var all sync.WaitGroup
	for range 16 * runtime.GOMAXPROCS(0) {
		all.Go(func() {
			res, body := e.post("/ends", "")
			e.expect(res, body, 200, "done")
		})
	}
	for range 20 {
		res, body := e.post("/echo", "x")
		e.expect(res, body, 200, "x")
		time.Sleep(10 * time.Millisecond)
	}
	close(e.release)
	all.Wait()
}

func TestAddressesServeTheirCategories(t *testing.T) {
	e := open(t, nodeoshttp.Options{})
	second := e.listen("localhost:0", private)
	res, body := e.ask("tcp", second, "GET /text HTTP/1.1\r\nHost: "+second+"\r\n\r\n")
	e.expect(res, body, 201, "text")
	if ct := res.Header.Get("Content-Type"); ct != "text/plain" {
		t.Errorf("content type %s", ct)
	}
	res, body = e.ask("tcp", second, "GET /echo HTTP/1.1\r\nHost: "+second+"\r\n\r\n")
	e.expect(res, body, 404, "refusal 2 0")
	if got := e.s.Paths(private); !slices.Equal(got, []string{"/text"}) {
		t.Errorf("paths %v", got)
	}
}

func TestBytesInFlightAreBounded(t *testing.T) {
	e := open(t, nodeoshttp.Options{MaxBytesInFlight: 5})
	// What was answered, or refused, counts no more a moment after its client has the answer.
	post := func(text string, status int, want string) {
		t.Helper()
		res, body := e.post("/echo", text)
		for end := time.Now().Add(10 * time.Second); body != want && time.Now().Before(end); {
			res, body = e.post("/echo", text)
		}
		e.expect(res, body, status, want)
	}
	post("12345", 200, "12345")
	post("123456", 503, "refusal 3 6")
	post("12345", 200, "12345")
}

func TestConnectionsOverTheLimitAreToldSo(t *testing.T) {
	e := open(t, nodeoshttp.Options{MaxConnections: 2})
	var idle []net.Conn
	for range 2 {
		c, err := net.Dial("tcp", e.address)
		e.must(err)
		defer c.Close()
		idle = append(idle, c)
	}
	res, body := e.post("/echo", "x")
	e.expect(res, body, 503, "refusal 4 3")
	if !res.Close {
		t.Error("the connection stays")
	}
	e.must(idle[0].Close())
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if res, body = e.post("/echo", "x"); res != nil && res.StatusCode == 200 || time.Now().After(deadline) {
			break
		}
	}
	e.expect(res, body, 200, "x")
}

func TestTheHostHeaderMustNameTheServer(t *testing.T) {
	e := open(t, nodeoshttp.Options{Hosts: []string{"node.example:80", "bare"}})
	_, port, _ := net.SplitHostPort(e.address)
	for host, ok := range map[string]bool{
		"127.0.0.1:0": true, "127.0.0.1:" + port: true, "127.0.0.1": true, "node.example": true, "node.example:1": true,
		"bare:8888": true,
		"127.0.0.2": false, "localhost:" + port: false, "evil.example": false, "": false,
	} {
		res, _ := e.post("/echo", "", "Host: "+host)
		if res == nil || (res.StatusCode == 200) != ok || !ok && res.StatusCode != 400 {
			t.Errorf("host %q: %v", host, res)
		}
	}
	any := open(t, nodeoshttp.Options{AnyHost: true})
	res, body := any.post("/echo", "", "Host: evil.example")
	any.expect(res, body, 200, "")
}

func TestSlowClientsAreLetGo(t *testing.T) {
	e := open(t, nodeoshttp.Options{HeaderTimeout: 100 * time.Millisecond, BodyTimeout: 100 * time.Millisecond,
		IdleTimeout: 100 * time.Millisecond})
	host := "Host: " + e.address + "\r\n"
	for _, text := range []string{"POST /ec", "POST /echo HTTP/1.1\r\n" + host,
		"POST /echo HTTP/1.1\r\n" + host + "Content-Length: 5\r\n\r\n123"} {
		start := time.Now()
		if res, _ := e.ask("tcp", e.address, text); res != nil && res.StatusCode == 200 ||
			time.Since(start) > 9*time.Second {
			t.Errorf("%q: %v after %v", text, res, time.Since(start))
		}
	}
	c, err := net.Dial("tcp", e.address)
	e.must(err)
	defer c.Close()
	e.must(c.SetDeadline(time.Now().Add(time.Minute)))
	_, err = io.WriteString(c, "GET /echo HTTP/1.1\r\n"+host+"\r\n")
	e.must(err)
	// Until it is closed: before the request comes, if that takes its time.
	if _, err := io.ReadAll(c); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("idle: %v", err)
	}
}

func TestAUnixSocketNeedsNoHost(t *testing.T) {
	e := open(t, nodeoshttp.Options{})
	dir := t.TempDir()
	path := filepath.Join(dir, "node.sock")
	_, err := e.s.Listen(context.Background(), "./node.sock", dir, public)
	e.must(err)
	res, body := e.ask("unix", path, "POST /echo HTTP/1.1\r\nHost: any\r\nContent-Length: 1\r\n\r\nx")
	e.expect(res, body, 200, "x")
	if _, err := e.s.Listen(context.Background(), path, "", public); err == nil {
		t.Error("two listeners")
	}
	stale := filepath.Join(dir, "stale.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: stale})
	e.must(err)
	l.SetUnlinkOnClose(false)
	e.must(l.Close())
	_, err = e.s.Listen(context.Background(), stale, "", public)
	e.must(err)
}

func TestConnectionsAreReusedUnlessTheyMustNot(t *testing.T) {
	for _, noReuse := range []bool{false, true} {
		e := open(t, nodeoshttp.Options{NoReuse: noReuse})
		res, _ := e.post("/echo", "")
		if res.Close != noReuse {
			t.Errorf("no reuse %v: closes %v", noReuse, res.Close)
		}
	}
}

func TestStopLetsCallsEnd(t *testing.T) {
	e := open(t, nodeoshttp.Options{})
	answer := make(chan string)
	go func() {
		_, body := e.post("/wait", "")
		answer <- body
	}()
	<-e.begun
	stopped := make(chan error)
	go func() { stopped <- e.s.Stop(context.Background()) }()
	select {
	case <-stopped:
		t.Error("stopped while a call was under way")
	case <-time.After(100 * time.Millisecond):
	}
	close(e.release)
	if got := <-answer; got != "done" {
		t.Errorf("answer %q", got)
	}
	e.must(<-stopped)
	if c, err := net.Dial("tcp", e.address); err == nil {
		c.Close()
		t.Error("it still listens")
	}
}

// No request may crash the server or get what an endpoint did not say.
func FuzzRequest(f *testing.F) {
	for _, s := range []string{"GET /echo HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST /echo HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc", "\x00", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
		"POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 999\r\n\r\n"} {
		f.Add([]byte(s))
	}
	e := open(f, nodeoshttp.Options{AnyHost: true, HeaderTimeout: 50 * time.Millisecond,
		BodyTimeout: 50 * time.Millisecond, IdleTimeout: 50 * time.Millisecond})
	close(e.release)
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := net.Dial("tcp", e.address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(time.Minute))
		if _, err := c.Write(b); err != nil {
			return
		}
		c.(*net.TCPConn).CloseWrite()
		answer, _ := io.ReadAll(c)
		if len(answer) > 0 && !bytes.HasPrefix(answer, []byte("HTTP/1.")) {
			t.Fatalf("%q", answer)
		}
	})
}

// Each request that is worked on holds the answer that it makes.
func TestFewRequestsAreWorkedOnAtOnce(t *testing.T) {
	e := open(t, nodeoshttp.Options{})
	var working, most atomic.Int64
	release := make(chan struct{})
	work := func(_ *nodeoshttp.Request, b []byte) (int, []byte) {
		now := working.Add(1)
		for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
		}
		<-release
		working.Add(-1)
		return 200, append(b, "done"...)
	}
	e.must(e.s.Add(nodeoshttp.Endpoint{Path: "/work", Category: public, Handle: work}))
	limit := int64(4 * runtime.GOMAXPROCS(0))
	var asking sync.WaitGroup
	for range 3 * limit {
		asking.Go(func() {
			res, body := e.post("/work", "")
			e.expect(res, body, 200, "done")
		})
	}
	for end := time.Now().Add(time.Minute / 2); working.Load() < limit &&
		time.Now().Before(end); time.Sleep(time.Millisecond) {
	}
	// One that waits for something else is not kept waiting by them.
	close(e.release)
	res, body := e.post("/wait", "")
	e.expect(res, body, 200, "done")
	close(release)
	asking.Wait()
	if most.Load() != limit {
		t.Errorf("%d were worked on at once, not %d", most.Load(), limit)
	}
}
