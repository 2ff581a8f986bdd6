package httpserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

func stranger(address string) Client { return clientOf(netip.MustParseAddr(address)) }

func TestNobodyHasMoreThanAShare(t *testing.T) {
	s := NewShares(100, 40)
	a, b, c := stranger("1.2.3.4"), stranger("1.2.3.5"), stranger("::ffff:1.2.3.4")
	scarce := new(Scarce)
	for _, step := range []struct {
		of   Client
		n    int64
		want int64 // the limit that is in the way; 0 for none
	}{{a, 40, 0}, {c, 1, 40}, {b, 40, 0}, {Client{}, 21, 100}, {Client{}, 20, 0}, {stranger("9.9.9.9"), 1, 100}} {
		err := s.Take(step.of, step.n)
		if errors.As(err, &scarce) != (step.want != 0) || step.want != 0 && scarce.Limit != step.want {
			t.Errorf("%v takes %d: %v", step.of, step.n, err)
		}
	}
	s.Give(a, 40)
	s.Give(b, 40)
	s.Give(Client{}, 20)
	if s.Used() != 0 || len(s.by) != 0 {
		t.Errorf("%d are taken when all is given back, and %d clients known", s.Used(), len(s.by))
	}
}

func TestWhoWaitsForAShareGetsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewShares(10, 5)
		a := stranger("1.2.3.4")
		if err := s.Take(a, 3); err != nil {
			t.Fatal(err)
		}
		if err := s.Wait(t.Context(), a, 6); err == nil {
			t.Error("more than a share can be had")
		}
		got := make(chan error, 1)
		go func() { got <- s.Wait(t.Context(), a, 4) }()
		synctest.Wait()
		if len(got) != 0 {
			t.Error("it does not wait")
		}
		s.Give(a, 3)
		if err := <-got; err != nil {
			t.Error(err)
		}
		ctx, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		if err := s.Wait(ctx, a, 4); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("who waits too long: %v", err)
		}
	})
}

func TestAClientIsItsAddressOrNetwork(t *testing.T) {
	trusted, err := ParseTrusted([]string{"loopback", "10.0.0.0/8", "2001:db8::1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ address, forwarded, want string }{
		{"1.2.3.4", "", "1.2.3.4"},
		{"1.2.3.4", "5.6.7.8", "1.2.3.4"}, // a stranger's word
		{"2001:db8:1:2:3::4", "", "2001:db8:1:2::/64"},
		{"127.0.0.1", "", "local"},
		{"::1", "", "local"},
		{"2001:db8::1", "5.6.7.8", "5.6.7.8"},
		{"10.1.1.1", "9.9.9.9, 5.6.7.8", "5.6.7.8"}, // the proxy's own word is the last
		{"10.1.1.1", "5.6.7.8, 10.2.2.2", "5.6.7.8"},
		{"10.1.1.1", "5.6.7.8:1234", "5.6.7.8"},
		{"10.1.1.1", "[2001:db8:1:2:3::4]:80", "2001:db8:1:2::/64"},
		{"10.1.1.1", "5.6.7.8, nonsense", "local"},
		{"10.1.1.1", "10.2.2.2", "local"},
	} {
		at := trusted.at(&net.TCPAddr{IP: net.ParseIP(c.address), Port: 1})
		if got := trusted.forwardedClient(at, c.forwarded).String(); got != c.want {
			t.Errorf("%s with %q is %s, not %s", c.address, c.forwarded, got, c.want)
		}
	}
	if at := trusted.at(&net.UnixAddr{}); !at.Local() {
		t.Errorf("a local socket is %v", at)
	}
	if _, err := ParseTrusted([]string{"10.0.0.0/99"}); err == nil {
		t.Error("what is no network is taken")
	}
}

func TestClientsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(2, 1, 40)
		a, b := stranger("1.1.1.1"), stranger("2.2.2.2")
		began := make(chan string, 100)
		free := make(chan struct{})
		work := func(of Client, name string) {
			end, err := turns.Take(t.Context(), of)
			if err != nil {
				began <- err.Error()
				return
			}
			began <- name
			<-free
			end()
		}
		for range 12 {
			go work(a, "a")
		}
		synctest.Wait()
		if len(began) != 2 { // one works, ten wait, a quarter of all that may; one may not
			t.Fatalf("%d of one client have begun or been refused", len(began))
		}
		go work(b, "b")
		synctest.Wait()
		if len(began) != 3 {
			t.Errorf("another client waits behind the first")
		}
		for range 11 {
			free <- struct{}{}
		}
		free <- struct{}{}
		synctest.Wait()
		ctx, leave := context.WithCancel(t.Context())
		leave()
		end, err := turns.Take(ctx, a)
		if err != nil {
			t.Fatalf("where there is room: %v", err)
		}
		if _, err := turns.Take(ctx, a); !errors.Is(err, context.Canceled) {
			t.Errorf("whoever has gone: %v", err)
		}
		end()
		if turns.working != 0 || turns.waiting != 0 || len(turns.clients) != 0 || len(turns.order) != 0 {
			t.Errorf("at the end %+v", turns)
		}
	})
}

// One address takes its share of connections, whatever the others' is.
func TestOneAddressDoesNotTakeAllConnections(t *testing.T) {
	_, address := mount(t, Options{MaxBytesInFlight: -1, MaxConnections: -1, MaxEach: 3,
		Trusted: Trusted{netip.MustParsePrefix("127.0.0.9/32")}},
		func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, ClientOf(r.Context())) })
	ask := func(from string, header ...string) string {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		c, err := d.DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		c.SetDeadline(time.Now().Add(time.Minute))
		text := "GET / HTTP/1.1\r\nHost: x\r\n"
		for _, h := range header {
			text += h + "\r\n"
		}
		if _, err := c.Write([]byte(text + "\r\n")); err != nil {
			return "closed"
		}
		return bodyOf(c)
	}
	for i := range 5 {
		want := "127.0.0.2"
		if i >= 3 {
			want = "closed"
		}
		if got := ask("127.0.0.2"); got != want {
			t.Errorf("connection %d is answered with %q", i, got)
		}
	}
	if got := ask("127.0.0.3"); got != "127.0.0.3" {
		t.Errorf("another address: %q", got)
	}
	for range 5 {
		if got := ask("127.0.0.9", "X-Forwarded-For: 4.4.4.4", "X-Forwarded-For: 5.5.5.5"); got != "5.5.5.5" {
			t.Errorf("through a proxy: %q", got)
		}
	}
}

// bodyOf reads an answer's body, "closed" if there is none.
func bodyOf(c net.Conn) string {
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return "closed"
	}
	body, err := io.ReadAll(res.Body)
	if err = errors.Join(err, res.Body.Close()); err != nil {
		return err.Error()
	}
	return string(body)
}
