package httpserver

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// mount serves a handler and returns where.
func mount(t *testing.T, o Options, h http.HandlerFunc) (*Server, string) {
	t.Helper()
	s := New(o)
	list, err := ListenTCP(t.Context(), "127.0.0.1", "0")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(list[0], h); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, list[0].Addr().String()
}

func dial(t *testing.T, address, text string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	return c
}

// closedSoon wants a server to end a connection on which a text came before it has had the time that a
// body has otherwise: once in a few tries, because a busy machine may be late. What is closed before all was
// read is reset.
func closedSoon(t *testing.T, address, text string) error {
	t.Helper()
	var took time.Duration
	for range 4 {
		begin := time.Now()
		c := dial(t, address, "")
		_, _ = io.WriteString(c, text) // it may be closed already
		if _, err := io.ReadAll(c); err != nil && !errors.Is(err, syscall.ECONNRESET) {
			return err
		}
		if took = time.Since(begin); took < bodyGrace {
			return nil
		}
	}
	return fmt.Errorf("it ends after %v", took)
}

// length answers with how much it could read.
func length(w http.ResponseWriter, r *http.Request) {
	b, err := io.ReadAll(r.Body)
	if busy := new(Busy); errors.As(err, &busy) {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	} else if err == nil {
		fmt.Fprint(w, len(b))
	}
}

func TestBodiesOfWhatIsMountedAreHeldToTheLimits(t *testing.T) {
	_, address := mount(t, Options{MaxBytesInFlight: 100, MaxConnections: -1}, length)
	for _, c := range []struct {
		size, status int
		want         string
	}{{100, 200, "100"}, {101, 503, "too many bytes in flight: 101\n"}, {100, 200, "100"}} {
		res, err := http.Post("http://"+address, "text/plain", strings.NewReader(strings.Repeat("x", c.size)))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != c.status || string(body) != c.want {
			t.Errorf("%d bytes: %d %q, %v", c.size, res.StatusCode, body, err)
		}
	}
	s, address := mount(t, Options{MaxBytesInFlight: 100, MaxConnections: -1, BodyTimeout: 200 * time.Millisecond},
		length)
	if err := closedSoon(t, address, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\nonly this"); err != nil {
		t.Errorf("a body that does not come: %v", err)
	}
	if n := s.opt.Bytes.Used(); n != 0 {
		t.Errorf("%d bytes are in flight when all have gone", n)
	}
}

// Who turns a connection into a WebSocket is one of those that count, until it is closed.
func TestAConnectionThatIsTakenOverCounts(t *testing.T) {
	s, address := mount(t, Options{MaxBytesInFlight: -1, MaxConnections: 1},
		func(w http.ResponseWriter, r *http.Request) {
			if n, over := Overload(r.Context()); over {
				http.Error(w, fmt.Sprint(n), http.StatusServiceUnavailable)
				return
			}
			c, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			fmt.Fprint(c, "HTTP/1.1 101 Switching Protocols\r\n\r\n")
			_, _ = io.Copy(c, c)
		})
	const ask = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
	first := dial(t, address, ask+"hello")
	in := bufio.NewReader(first)
	if line, err := in.ReadString('\n'); err != nil || !strings.Contains(line, " 101 ") {
		t.Fatal(line, err)
	}
	second := dial(t, address, ask)
	if line, err := bufio.NewReader(second).ReadString('\n'); err != nil || !strings.Contains(line, " 503 ") {
		t.Errorf("beside one that was taken over: %s, %v", line, err)
	}
	second.Close()
	first.Close()
	for end := time.Now().Add(time.Minute); s.connections.Load() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d connections count that are closed", s.connections.Load())
		}
	}
}

func TestConnectionsHaveABoundWhateverIsSaid(t *testing.T) {
	s, address := mount(t, Options{MaxBytesInFlight: -1, MaxConnections: -1, HeaderTimeout: time.Hour}, length)
	if err := s.sockets.Take(Client{}, maxSockets); err != nil {
		t.Fatal(err)
	}
	if n, err := dial(t, address, "").Read(make([]byte, 1)); n != 0 || err == nil ||
		errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("one too many got %d bytes, %v", n, err)
	}
	s.sockets.Give(Client{}, 1)
	if line, err := bufio.NewReader(dial(t, address, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")).ReadString(
		'\n'); err != nil || !strings.Contains(line, " 200 ") {
		t.Errorf("%s, %v", line, err)
	}
}

func TestAStreamIsSeenWhileItLasts(t *testing.T) {
	seen := make(chan struct{})
	_, address := mount(t, Options{MaxBytesInFlight: -1, MaxConnections: -1},
		func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintln(w, "first")
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
			<-seen
			fmt.Fprintln(w, "second")
		})
	res, err := http.Get("http://" + address)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	in := bufio.NewReader(res.Body)
	for _, want := range []string{"first\n", "second\n"} {
		if line, err := in.ReadString('\n'); err != nil || line != want {
			t.Errorf("%q, %v, want %q", line, err, want)
		}
		if want == "first\n" {
			close(seen)
		}
	}
}

func TestTLSIsServedToWhoAsksForIt(t *testing.T) {
	certified := httptest.NewTLSServer(http.NotFoundHandler()) // for its certificate
	defer certified.Close()
	_, address := mount(t,
		Options{MaxBytesInFlight: -1, MaxConnections: 0, TLS: &tls.Config{Certificates: certified.TLS.Certificates}},
		func(w http.ResponseWriter, r *http.Request) {
			n, over := Overload(r.Context())
			fmt.Fprint(w, r.TLS != nil, n, over)
		})
	client := certified.Client()
	client.Transport.(*http.Transport).DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", address)
	}
	res, err := client.Get("https://example.com")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err := io.ReadAll(res.Body); err != nil || string(body) != "true 1 true" {
		t.Errorf("%s, %v", body, err)
	}
}

// A process that this one has started holds its listeners for a moment, until it is another program: so
// does a copy of the descriptor.
func TestAnAddressIsFreeAtOnceAfterTheEnd(t *testing.T) {
	for _, plain := range []Plain{nil, &plainSays{}} {
		s := New(Options{MaxBytesInFlight: -1, MaxConnections: -1})
		list, err := ListenTCP(t.Context(), "127.0.0.1", "0")
		if err != nil {
			t.Fatal(err)
		}
		address := list[0].Addr().String()
		held, err := list[0].(*net.TCPListener).File()
		if err != nil {
			t.Fatal(err)
		}
		defer held.Close()
		if err := s.ServePlain(list[0], http.HandlerFunc(says), plain); err != nil {
			t.Fatal(err)
		}
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		again, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatalf("plain: %v: %v", plain != nil, err)
		}
		again.Close()
	}
}

func TestASocketThatIsInUseIsNotTaken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	first, err := ListenUnix(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ListenUnix(t.Context(), path); err == nil {
		t.Error("there are two at one path")
	}
	first.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := ListenUnix(t.Context(), path)
	if err != nil {
		t.Fatal("what nobody listens to is in the way:", err)
	}
	again.Close()
}
