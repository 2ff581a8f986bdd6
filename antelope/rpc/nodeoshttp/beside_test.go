package nodeoshttp_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"tarn/antelope/rpc/nodeoshttp"
)

// A server that tells connections when they are too many leaves all to net/http.
const allNetHTTP = 1 << 20

func post(path, body string, headers ...string) string {
	lines := append([]string{"POST " + path + " HTTP/1.1", "Host: $host", fmt.Sprintf("Content-Length: %d", len(body))},
		headers...)
	return strings.Join(lines, "\r\n") + "\r\n\r\n" + body
}

// dripping is a request whose body comes byte by byte.
const dripping = "POST /echo HTTP/1.1\r\nHost: $host\r\nContent-Length: 10\r\n\r\n1|2|3|4|5|6|7|8|9|0"

// attacks are what clients send on one connection; a | is a pause.
func attacks() []string {
	good := post("/echo", "hello")
	list := []string{
		good, good + good + good, good + good[:20] + "|" + good[20:], post("/echo", ""), post("/hidden", "x"),
		post("/text", "x"), post("/no/such", "x"),
		post("/echo?x", "x"), post("/echo/..", ""), post("/../echo", ""), post("//echo", ""), post("/%65cho", ""),
		post("http://$host/echo", "x"), post("*", ""), post("echo", ""),
		// Methods, versions, what keeps and what ends a connection.
		"GET /echo HTTP/1.1\r\nHost: $host\r\n\r\n",
		"GET /echo HTTP/1.1\r\nHost: $host\r\nContent-Length: 5\r\n\r\nhello",
		"GET /echo HTTP/1.1\r\nHost: $host\r\nContent-Length: 0\r\n\r\n",
		"POST /echo HTTP/1.1\r\nHost: $host\r\n\r\n", "OPTIONS /echo HTTP/1.1\r\nHost: $host\r\n\r\n",
		"PUT /echo HTTP/1.1\r\nHost: $host\r\nContent-Length: 1\r\n\r\nx",
		"get /echo HTTP/1.1\r\nHost: $host\r\n\r\n", "POST /echo\r\n\r\n",
		"POST /echo HTTP/1.0\r\nContent-Length: 1\r\n\r\nx",
		"POST /echo HTTP/1.0\r\nHost: $host\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx",
		"POST /echo HTTP/2.0\r\nHost: $host\r\nContent-Length: 1\r\n\r\nx", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"POST  /echo HTTP/1.1\r\nHost: $host\r\n\r\n",
		post("/echo", "x", "Connection: close"), post("/echo", "x", "Connection: Keep-Alive"),
		post("/echo", "x", "Connection: upgrade", "Upgrade: websocket"), post("/no", "x", "Connection: close"),
		// Lengths, and bodies that come in other ways.
		post("/echo", "12345678901234567890"), post("/echo", "123456789012345678901"),
		post("/echo", "x", "Content-Length: 1"), post("/echo", "x", "Content-Length: 2"),
		"POST /echo HTTP/1.1\r\nHost: $host\r\nContent-Length: -1\r\n\r\nx",
		"POST /echo HTTP/1.1\r\nHost: $host\r\nContent-Length: +1\r\n\r\nx",
		"POST /echo HTTP/1.1\r\nHost: $host\r\nContent-Length: 99999999999999999999\r\n\r\nx",
		"POST /echo HTTP/1.1\r\nHost: $host\r\nContent-Length: 0x1\r\n\r\nx",
		"POST /echo HTTP/1.1\r\nHost: $host\r\nContent-Length:\r\n\r\nx",
		post("/echo", "x", "Expect: 100-continue"),
		"POST /echo HTTP/1.1\r\nHost: $host\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n|hello",
		post("/echo", "123456789012345678901", "Expect: 100-continue"), post("/echo", "x", "Expect: a-miracle"),
		"POST /echo HTTP/1.1\r\nHost: $host\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
		"POST /echo HTTP/1.1\r\nHost: $host\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab|c\r\n0\r\n\r\n",
		"POST /echo HTTP/1.1\r\nHost: $host\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
		"POST /echo HTTP/1.1\r\nHost: $host\r\nTransfer-Encoding: chunked\r\n\r\n1e\r\n123456789012345678901234567890\r\n0\r\n\r\n",
		"POST /echo HTTP/1.1\r\nHost: $host\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
		post("/echo", "x", "Transfer-Encoding: gzip"),
		post("/echo", "x", "Trailer: X"), post("/echo", "x", "TE: trailers"),
		// Headers.
		"POST /echo HTTP/1.1\r\nContent-Length: 1\r\n\r\nx", post("/echo", "x", "Host: $host"),
		"POST /echo HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 1\r\n\r\nx",
		"POST /echo HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1\r\n\r\nx",
		"POST /echo HTTP/1.1\r\nHost:\r\nContent-Length: 1\r\n\r\nx",
		"POST /echo HTTP/1.1\r\nHost: [::1]:80\r\nContent-Length: 1\r\n\r\nx",
		"POST /echo HTTP/1.1\r\nHost: named.example:1\r\nContent-Length: 1\r\n\r\nx",
		post("/echo", "x", "Origin: http://page.example"), post("/echo", "x", "Origin: a", "Origin: b"),
		post("/echo", "x", "Cookie: a=b; c=\"d\"", "Accept-Encoding: gzip, br", "Content-Type: text/plain"),
		post("/echo", "x", "Content-Type: a", "Content-Type: b"),
		post("/echo", "x", "X-Forwarded-For: 10.1.2.3, 127.0.0.1"), post("/echo", "x", "X-Forwarded-For: nobody"),
		post("/echo", "x", " folded: x"), post("/echo", "x", "X: a", "\tb"), post("/echo", "x", "X"),
		post("/echo", "x", ": x"), post("/echo", "x", "X : y"),
		post("/echo", "x", "X: \x80"), post("/echo", "x", "X: a\x00b"), post("/echo", "x", "X: a\rb"),
		post("/echo", "x", "X@: b"),
		post("/echo", "x", "X: "+strings.Repeat("y", 10_000)), post("/echo", "x", "X: "+strings.Repeat("y", 16_200)),
		post("/echo", "x", "X: "+strings.Repeat("y", 19_000)), post("/echo", "x", "X: "+strings.Repeat("y", 40_000)),
		post("/echo", "x", slicesOf("X: y", 900)...),
		// What is no HTTP, or not all of it.
		"", "P", "POST", "POST /ec", good[:len(good)-2], good[:40], "\r\n" + good, "\r\n\r\n",
		"\n\n", strings.ReplaceAll(good, "\r\n", "\n"),
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + strings.Repeat("\xab", 300), "\x00", "GET", "G",
		"GARBAGE\r\n\r\n",
		dripping,
	}
	for cut := 1; cut < len(good); cut += 7 {
		list = append(list, good[:cut]+"|"+good[cut:])
	}
	for _, x := range list { // what comes behind is answered as before, too, or not at all
		list = append(list, x+good, good+x+good)
	}
	return list
}

func slicesOf(one string, count int) []string {
	return strings.Split(strings.TrimSuffix(strings.Repeat(one+"\n", count), "\n"), "\n")
}

// said is all that a server sends on a connection, of which the client's half ends after what it says.
func said(t *testing.T, network, address, text string) string {
	c, err := net.Dial(network, address)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Error(err)
	}
	for i, part := range strings.Split(text, "|") {
		if i > 0 {
			time.Sleep(5 * time.Millisecond)
		}
		if _, err := io.WriteString(c, strings.ReplaceAll(part, "$host", address)); err != nil {
			break // it has been closed
		}
	}
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // if it has not been closed
	}
	var all bytes.Buffer
	if _, err := io.Copy(&all, c); err != nil && strings.Contains(err.Error(), "timeout") {
		t.Errorf("%.200q: it stays open", text)
	}
	return date.ReplaceAllString(all.String(), "Date: now")
}

// date is that of net/http's own answers.
var date = regexp.MustCompile("Date: [^\r]*")

// Whatever comes is answered to the byte as where net/http reads all requests.
func TestPlainRequestsAreAnsweredAsByNetHTTP(t *testing.T) {
	for _, o := range []nodeoshttp.Options{
		{MaxBody: 20, Hosts: []string{"named.example"}},
		{MaxBody: 20, Hosts: []string{"named.example"}, Server: "nodeos/v5 ", AllowOrigin: "*", AllowHeaders: "X\r\nY", MaxAge: "7", AllowCredentials: true},
		{MaxBody: 20, AnyHost: true, MaxBytesInFlight: 4},
	} {
		plain := open(t, o)
		o.MaxConnections = allNetHTTP
		other := open(t, o)
		work := make(chan string)
		var asking sync.WaitGroup
		lines := 16
		if o.MaxBytesInFlight > 0 { // what is asked at once would count for each other
			lines = 1
		}
		for range lines {
			asking.Go(func() {
				for text := range work {
					got, want := said(t, "tcp", plain.address, text), said(t, "tcp", other.address, text)
					// An answer may still count as in flight when the next request comes.
					for tries := 0; got != want && o.MaxBytesInFlight > 0 && tries < 100; tries++ {
						time.Sleep(10 * time.Millisecond)
						got, want = said(t, "tcp", plain.address, text), said(t, "tcp", other.address, text)
					}
					if got != want {
						t.Errorf("%.300q\n plain    %.900q\n net/http %.900q", text, got, want)
					}
				}
			})
		}
		for _, text := range attacks() {
			if o.MaxBytesInFlight > 0 && strings.Contains(text, dripping) {
				continue // net/http's path refuses it when half has come, and names as many bytes
			}
			work <- text
		}
		close(work)
		asking.Wait()
	}
}

// behind says who called an endpoint.
func behind(_ *nodeoshttp.Request, b []byte) (int, []byte) {
	if strings.Contains(string(debug.Stack()), "net/http.(*conn).serve") {
		return 200, append(b, "net/http"...)
	}
	return 200, append(b, "plain"...)
}

func TestPlainRequestsGoPastNetHTTP(t *testing.T) {
	for _, most := range []int{-1, allNetHTTP} {
		e := open(t, nodeoshttp.Options{MaxConnections: most})
		e.must(e.s.Add(nodeoshttp.Endpoint{Path: "/who", Category: public, Handle: behind}))
		path := e.t.TempDir() + "/node.sock"
		_, err := e.s.Listen(context.Background(), path, "", public)
		e.must(err)
		want := "plain"
		if most >= 0 {
			want = "net/http"
		}
		for _, text := range []string{post("/who", "{}"), post("/who", ""), "GET /who HTTP/1.1\r\nHost: $host\r\n\r\n",
			post("/who", "x", "Origin: x", "Accept-Encoding: gzip")} {
			for _, at := range [][2]string{{"tcp", e.address}, {"unix", path}} {
				text := strings.ReplaceAll(text, "$host", e.address)
				res, body := e.ask(at[0], at[1], text)
				e.expect(res, body, 200, want)
			}
		}
		res, body := e.post("/who", "", "TE: trailers")
		e.expect(res, body, 200, "net/http")
	}
}

// A thousand clients that keep their connections and say nothing are answered when they ask again.
func TestAThousandIdleConnectionsStay(t *testing.T) {
	e := open(t, nodeoshttp.Options{})
	var idle []net.Conn
	text := strings.ReplaceAll(post("/echo", "hello"), "$host", e.address)
	const want = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Type: application/json\r\n\r\nhello"
	ask := func(c net.Conn) {
		got := make([]byte, len(want))
		_, err := io.WriteString(c, text)
		e.must(err)
		if _, err = io.ReadFull(c, got); err != nil || string(got) != want {
			t.Fatalf("%q, %v", got, err)
		}
	}
	for range 1000 {
		c, err := net.Dial("tcp", e.address)
		e.must(err)
		defer c.Close()
		e.must(c.SetDeadline(time.Now().Add(time.Minute)))
		ask(c)
		idle = append(idle, c)
	}
	for _, c := range idle {
		ask(c)
	}
}
