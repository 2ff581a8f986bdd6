package httpserver

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// plainSays answers with the body and how it was asked; a body of "odd" is the handler's.
type plainSays struct {
	answered atomic.Int64
	started  chan struct{}   // if not nil, one is sent for each body "wait",
	free     <-chan struct{} // which waits for this, or for its context's end
	ended    chan error
}

func (p *plainSays) Answer(ctx context.Context, r *PlainRequest, out []byte) (a PlainAnswer, taken bool) {
	switch string(r.Body) {
	case "odd", "":
		return a, false
	case "panic":
		panic("a fault")
	case "wait":
		p.started <- struct{}{}
		select {
		case <-p.free:
		case <-ctx.Done():
			p.ended <- ctx.Err()
		}
	}
	p.answered.Add(1)
	body := fmt.Appendf(out, "plain %s %s %v %s", r.Host, r.Path, r.Gzip, r.Body)
	return PlainAnswer{Status: http.StatusOK, Body: body, Before: "Content-Type: " + string(r.Type) + "\r\n",
		Dated: true}, true
}

// says is the handler's answer.
func says(w http.ResponseWriter, r *http.Request) {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
	fmt.Fprintf(w, "http %s %s %v %s", r.Host, r.URL.Path, strings.Contains(r.Header.Get("Accept-Encoding"), "gzip"), b)
}

func mountPlain(t *testing.T, o Options, p Plain) (*Server, string) {
	t.Helper()
	o.MaxConnections, o.MaxBytesInFlight = -1, -1
	s := New(o)
	list, err := ListenTCP(t.Context(), "127.0.0.1", "0")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.ServePlain(list[0], http.HandlerFunc(says), p); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, list[0].Addr().String()
}

func post(body string) string {
	return fmt.Sprintf("POST /x HTTP/1.1\r\nHost: h\r\nContent-Type: a/b\r\nContent-Length: %d\r\n\r\n%s",
		len(body), body)
}

// answer reads an answer's body.
func answer(t *testing.T, in *bufio.Reader) string {
	t.Helper()
	res, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK || res.Header.Get("Date") == "" ||
		res.Header.Get("Content-Type") != "a/b" {
		t.Fatalf("%d %v %q, %v", res.StatusCode, res.Header, b, err)
	}
	return string(b)
}

// However requests are cut into parts, each is answered once, in order; from the first odd one on
// the handler answers.
func TestPlainRequestsAreAnsweredHoweverTheyCome(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	s, address := mountPlain(t, Options{}, &plainSays{})
	for range 20 {
		var all bytes.Buffer
		var want []string
		by := "plain"
		for i := range 1 + random.IntN(6) {
			body := strings.Repeat(fmt.Sprint(i), 1+random.IntN(5000))
			text := post(body)
			switch random.IntN(8) {
			case 0:
				by, body, text = "http", "odd", post("odd")
			case 1:
				by, text = "http", strings.Replace(text, "Host", "TE: trailers\r\nHost", 1)
			}
			all.WriteString(text)
			want = append(want, by+" h /x false "+body)
		}
		c := dial(t, address, "")
		go func() {
			for all.Len() > 0 {
				if _, err := c.Write(all.Next(1 + random.IntN(3000))); err != nil {
					return
				}
			}
		}()
		in := bufio.NewReader(c)
		for _, one := range want {
			if got := answer(t, in); got != one {
				t.Fatalf("%.100s, want %.100s", got, one)
			}
		}
		c.Close()
	}
	for end := time.Now().Add(time.Minute); s.connections.Load() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d connections count that are closed", s.connections.Load())
		}
	}
}

// An end lets a request that has begun to come, and one that is answered, have their answers, and
// closes what waits for nothing.
func TestAnEndLetsPlainRequestsEnd(t *testing.T) {
	free := make(chan struct{})
	p := &plainSays{started: make(chan struct{}), free: free, ended: make(chan error, 1)}
	s, address := mountPlain(t, Options{}, p)
	idle, working := dial(t, address, post("1")), dial(t, address, post("wait"))
	answer(t, bufio.NewReader(idle))
	<-p.started
	text := post("in two parts")
	// What comes at once is read at once: when the first is answered, the second has begun to come.
	coming := dial(t, address, post("1")+text[:len(text)-5])
	in := bufio.NewReader(coming)
	answer(t, in)
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop(t.Context()) }()
	if n, err := idle.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("who waits for nothing gets %d bytes, %v", n, err)
	}
	fmt.Fprint(coming, text[len(text)-5:])
	if got := answer(t, in); got != "plain h /x false in two parts" {
		t.Error(got)
	}
	select {
	case err := <-stopped:
		t.Fatalf("it has ended before an answer: %v", err)
	default:
	}
	close(free)
	if got := answer(t, bufio.NewReader(working)); got != "plain h /x false wait" {
		t.Error(got)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if c, err := net.Dial("tcp", address); err == nil {
		c.Close()
		t.Error("it still listens")
	}
}

// A connection may be accepted a moment before the end, and begin after it.
func TestAConnectionThatBeginsAfterTheEndIsClosed(t *testing.T) {
	s, _ := mountPlain(t, Options{}, &plainSays{})
	lanes := s.serving[0].lanes
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	near, far := net.Pipe()
	defer far.Close()
	s.connections.Add(1)
	lanes.begin(&connection{Conn: near, s: s})
	if n := s.connections.Load(); n != 0 || len(lanes.all) != 0 {
		t.Errorf("%d connections count after the end", n)
	}
}

func TestNobodyWorksForAPlainClientThatHasGone(t *testing.T) {
	p := &plainSays{started: make(chan struct{}), ended: make(chan error, 1)}
	_, address := mountPlain(t, Options{}, p)
	c := dial(t, address, post("wait"))
	<-p.started
	c.Close()
	select {
	case <-p.ended:
	case <-time.After(time.Minute):
		t.Error("the work goes on")
	}
}

func TestAFaultInAPlainAnswerEndsItsConnectionAlone(t *testing.T) {
	_, address := mountPlain(t, Options{}, &plainSays{})
	c := dial(t, address, post("panic"))
	if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	if got := answer(t, bufio.NewReader(dial(t, address, post("1")))); got != "plain h /x false 1" {
		t.Error(got)
	}
}

func TestPlainConnectionsThatSayNothingAreClosed(t *testing.T) {
	for name, text := range map[string]string{"nothing": "", "a head": "POST /x HTTP/1.1\r\n",
		"a body": post("12345")[:70], "after an answer": post("1")} {
		_, address := mountPlain(t,
			Options{HeaderTimeout: 100 * time.Millisecond, BodyTimeout: 100 * time.Millisecond,
				IdleTimeout: 100 * time.Millisecond}, &plainSays{})
		if err := closedSoon(t, address, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Who asks for much and reads nothing does not hold the connection for ever.
func TestAPlainAnswerThatIsNotReadIsGivenUp(t *testing.T) {
	s, address := mountPlain(t, Options{WriteTimeout: 200 * time.Millisecond}, &plainSays{})
	c := dial(t, address, "")
	long := post(strings.Repeat("x", 15_000))
	var err error
	for i := 0; i < 5000 && err == nil; i++ { // 75 MB, more than sockets take
		_, err = io.WriteString(c, long)
	}
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) || s.connections.Load() != 0 {
		t.Errorf("it is still open: %v", err)
	}
}

// checkParsed compares a plain request with what net/http reads.
func checkParsed(t *testing.T, text []byte) bool {
	var r PlainRequest
	size, v := r.parse(text)
	in := bufio.NewReader(bytes.NewReader(text))
	req, err := http.ReadRequest(in)
	switch v {
	case more, rest:
		if err == nil { // all of it has come, so the body may be what is missing
			if b, failed := io.ReadAll(req.Body); failed == nil && req.ContentLength > 0 {
				t.Errorf("%q is whole: %q", text, b)
			}
		}
		return false
	case odd:
		return false
	}
	if err != nil {
		t.Errorf("%q is plain; net/http: %v", text, err)
		return true
	}
	body, err := io.ReadAll(req.Body)
	if err != nil || !bytes.Equal(body, r.Body) ||
		req.Method != http.MethodPost && (req.Method != http.MethodGet || len(body) > 0) ||
		(len(req.Header.Values("Origin")) > 0) != r.Crossing || req.URL.Path != string(r.Path) ||
		req.Host != string(r.Host) ||
		req.Header.Get("Content-Type") != string(r.Type) ||
		strings.Contains(req.Header.Get("Accept-Encoding"), "gzip") != r.Gzip ||
		req.ContentLength != int64(len(r.Body)) || req.Close || len(req.TransferEncoding) > 0 ||
		!req.ProtoAtLeast(1, 1) || req.Header.Get("Upgrade") != "" {
		t.Errorf("%q: net/http reads %+v with %q, %v", text, req, body, err)
	}
	left, err := io.ReadAll(in)
	if err != nil || !bytes.Equal(left, text[size:]) {
		t.Errorf("%q: net/http leaves %q, %v", text, left, err)
	}
	return true
}

var plainSeeds = []string{
	"", post("{}"), post("{}") + post("2"), post(""), post("x")[:50], "POST / HTTP/1.1\nHost: h\n\n",
	"POST / HTTP/1.1\r\nHost: h\r\n\r\n",
	"GET / HTTP/1.1\r\nHost: h\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\nx",
	"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx",
	"POST / HTTP/1.0\r\nHost: h\r\nContent-Length: 1\r\n\r\nx",
	"POST /a?b HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx",
	"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx",
	"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\nx",
	"POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx",
	"POST / HTTP/1.1\r\nHost: h\r\n Content-Length: 1\r\n\r\nx",
	"POST / HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip, deflate\r\nUser-Agent: a b\tc\r\nconnection: Keep-Alive\r\ncontent-length:  +1\r\n\r\nx",
	"POST / HTTP/1.1\r\nContent-Length: 01\r\nhOST:[::1]:80\r\nX: \x80\r\n\r\nx",
	"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Type: a\r\nContent-Type: b\r\n\r\nx",
	"POST //x/../y HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx",
}

// FuzzPlain says: what is taken for plain is what net/http would read.
func FuzzPlain(f *testing.F) {
	for _, text := range plainSeeds {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) { checkParsed(t, text) })
}

// The same for mixtures of lines that mean something.
func TestPlainRequestsAreThoseThatNetHTTPReads(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	lines := []string{
		"Host: h", "host:a.b:1 ", "Content-Length: 3", "content-length: 3", "Content-Length: 0x3",
		"Content-Length: 3, 3", "Content-Type: application/json", "Accept-Encoding: br, gzip",
		"Accept-Encoding:", "Connection: keep-alive", "Connection: close", "Connection: Upgrade", "Upgrade: websocket",
		"Expect: 100-continue", "Transfer-Encoding: chunked", "Transfer-Encoding : chunked",
		"X-A: b", "X A: b", ": x", "X", "Trailer: X", "Host: x y", "Origin: o", "TE: trailers",
	}
	first := []string{"POST / HTTP/1.1", "POST /a/b HTTP/1.1", "GET / HTTP/1.1", "POST / HTTP/1.1", "POST * HTTP/1.1",
		"POST http://x/ HTTP/1.1", "POST / HTTP/2.0", "POST  / HTTP/1.1", "PUT / HTTP/1.1", "POST /%41 HTTP/1.1"}
	plain := 0
	for range 20_000 {
		b := append([]byte(first[random.IntN(len(first))]), "\r\nHost: h\r\nContent-Length: 3"...)
		if random.IntN(10) == 0 {
			b = []byte(first[0])
		}
		for range random.IntN(4) {
			end := "\r\n"
			if random.IntN(40) == 0 {
				end = "\n"
			}
			b = append(append(b, end...), lines[random.IntN(len(lines))]...)
		}
		b = append(b, "\r\n\r\nabcdef"[:4+random.IntN(7)]...)
		if random.IntN(10) == 0 {
			b[random.IntN(len(b))] = byte(random.IntN(256))
		}
		if checkParsed(t, b) {
			plain++
		}
		if t.Failed() {
			return
		}
	}
	if plain < 300 {
		t.Errorf("only %d are plain", plain)
	}
}
