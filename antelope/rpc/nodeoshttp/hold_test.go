package nodeoshttp_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"tarn/antelope/rpc/nodeoshttp"
)

// begin sends a request of which more is to come.
func (e *edge) begin(path string, announced int, body string) net.Conn {
	e.t.Helper()
	c, err := net.Dial("tcp", e.address)
	e.must(err)
	e.t.Cleanup(func() { c.Close() })
	e.must(c.SetDeadline(time.Now().Add(time.Minute)))
	_, err = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n%s",
		path, e.address, announced, body)
	e.must(err)
	return c
}

func TestABodyForNobodyIsNotWaitedFor(t *testing.T) {
	e := open(t, nodeoshttp.Options{MaxBody: 1 << 20})
	answer := make([]byte, 12)
	if _, err := io.ReadFull(e.begin("/none", 1<<20, "{"), answer); err != nil || string(answer) != "HTTP/1.1 404" {
		t.Errorf("%q, %v", answer, err)
	}
}

// What has come of bodies counts, not what they will be when they are whole.
func TestBodiesCountWhileTheyCome(t *testing.T) {
	e := open(t, nodeoshttp.Options{MaxBody: 1 << 20, MaxBytesInFlight: 100 << 10})
	answers := make(chan string, 3)
	var held []net.Conn
	for range cap(answers) { // none of them ever comes whole, and three halves are too much
		c := e.begin("/echo", 90<<10, strings.Repeat("x", 45<<10))
		held = append(held, c)
		go func() {
			answer := make([]byte, 40)
			n, _ := io.ReadFull(c, answer) //nolint:errcheck // what came says it
			answers <- string(answer[:n])
		}()
	}
	if answer := <-answers; !strings.Contains(answer, " 503 ") {
		t.Errorf("what came did not count: %q", answer)
	}
	for _, c := range held {
		c.Close()
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		res, body := e.post("/echo", strings.Repeat("y", 40<<10))
		if res != nil && res.StatusCode == 200 {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("what is gone still counts: %s", body)
		}
	}
}

// A body that drips is not waited for, however long its sender goes on.
func TestABodyThatDripsIsLetGo(t *testing.T) {
	t.Parallel()
	e := open(t, nodeoshttp.Options{MaxBody: 1 << 20})
	start := time.Now()
	c := e.begin("/echo", 1<<20, "{")
	go func() {
		for _, err := c.Write([]byte{' '}); err == nil; _, err = c.Write([]byte{' '}) {
			time.Sleep(100 * time.Millisecond)
		}
	}()
	_, err := c.Read(make([]byte, 1))
	if took := time.Since(start); err == nil || took > 10*time.Second {
		t.Errorf("%v after %v", err, took)
	}
}

func TestWhatRequestsTakeIsInFlight(t *testing.T) {
	e := open(t, nodeoshttp.Options{MaxBytesInFlight: 1000})
	e.must(e.s.Add(nodeoshttp.Endpoint{Path: "/take", Category: public,
		Handle: func(r *nodeoshttp.Request, b []byte) (int, []byte) {
			for {
				if err := r.Take(300); err != nil {
					return 503, append(b, err.Error()...)
				}
			}
		}}))
	for range 2 { // what was taken is given back
		const want = "too many bytes in flight: 1200"
		res, body := e.post("/take", "")
		// The answer before may be in flight for a moment after its client has it.
		for tries := 0; body != want && tries < 100; tries++ {
			time.Sleep(10 * time.Millisecond)
			res, body = e.post("/take", "")
		}
		e.expect(res, body, 503, want)
	}
}
