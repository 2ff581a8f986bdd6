package network

import (
	"io"
	"net"
	"testing"
	"time"
)

// echo listens and sends back what comes, until the test ends.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c) // until the other end closes
			}()
		}
	}()
	return l.Addr().String()
}

// newTestLink is a link to an echo, and a connection over it.
func newTestLink(t *testing.T) (*Link, net.Conn) {
	t.Helper()
	k, err := NewLink()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.Close() })
	k.To(echo(t))
	c, err := net.Dial("tcp", k.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	ask(t, c, 30*time.Second)
	return k, c
}

// ask sends a few bytes and waits for them to come back.
func ask(t *testing.T, c net.Conn, limit time.Duration) time.Duration {
	t.Helper()
	begin, b := time.Now(), []byte("there and back")
	_ = c.SetDeadline(begin.Add(limit))
	if _, err := c.Write(b); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, b); err != nil {
		t.Fatal(err)
	}
	if string(b) != "there and back" {
		t.Fatalf("%q came back", b)
	}
	return time.Since(begin)
}

func TestALinkDelaysWhatPasses(t *testing.T) {
	k, c := newTestLink(t)
	k.Set(Condition{Delay: 50 * time.Millisecond})
	if took := ask(t, c, 30*time.Second); took < 100*time.Millisecond {
		t.Errorf("%v there and back, want two delays of 50 ms", took)
	}
	k.Set(Condition{Rate: 14 * 20}) // twenty times a second, each way
	if took := ask(t, c, 30*time.Second); took < 100*time.Millisecond {
		t.Errorf("%v there and back, want two times 50 ms", took)
	}
}

func TestAStalledLinkPassesLater(t *testing.T) {
	k, c := newTestLink(t)
	k.Set(Condition{Stall: true})
	if _, err := c.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if n, err := c.Read(make([]byte, 1)); err == nil || n > 0 {
		t.Fatal("something passes a link that is stalled")
	}
	k.Set(Condition{})
	_ = c.SetReadDeadline(time.Now().Add(30 * time.Second))
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
}

func TestACutLinkEndsItsConnections(t *testing.T) {
	k, c := newTestLink(t)
	k.Set(Condition{Cut: true})
	_ = c.SetReadDeadline(time.Now().Add(30 * time.Second))
	if _, err := c.Read(make([]byte, 1)); err == nil || isTimeout(err) {
		t.Fatalf("the connection goes on: %v", err)
	}
	again, err := net.Dial("tcp", k.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	_ = again.SetReadDeadline(time.Now().Add(30 * time.Second))
	if _, err := again.Read(make([]byte, 1)); err == nil || isTimeout(err) {
		t.Fatalf("a cut link takes a connection: %v", err)
	}
	k.Set(Condition{})
	healed, err := net.Dial("tcp", k.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer healed.Close()
	ask(t, healed, 30*time.Second)
}

func isTimeout(err error) bool {
	n, ok := err.(net.Error)
	return ok && n.Timeout()
}
