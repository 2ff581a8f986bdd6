package ship_test

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"tarn/antelope/ship"
)

// A client that never acknowledges gets what it allowed at once, and nothing else, while
// the chain and others go on; when it does after all, it gets the rest.
func TestWhoNeverAcknowledgesGetsWhatItAllowed(t *testing.T) {
	const blocks = 60
	n := start(t, ship.Options{RecentBytes: 10 << 10},
		ship.ServerOptions{Limits: ship.DefaultLimits(), Address: "127.0.0.1:0"})
	late, good := n.dial(0), n.dial(0)
	late.ask(1, blocks+1, 2)
	good.ask(1, blocks+1, blocks)
	n.produce(blocks)
	for want := uint32(1); want <= blocks; want++ {
		if num, _ := good.next(); num != want {
			t.Fatalf("block %d, want %d", num, want)
		}
	}
	// Whoever takes the stream has had both; what was sent before the status is all.
	late.send(0)
	for want := uint32(1); want <= 2; want++ {
		if num, _ := late.next(); num != want {
			t.Fatalf("block %d, want %d", num, want)
		}
	}
	if _, b, err := late.c.ReadMessage(); err != nil || b[0] != 0 {
		t.Fatalf("after two blocks: %d, %v", b[:min(len(b), 1)], err)
	}
	n.awaitBehind(blocks - 2)
	late.send(2, blocks, 0, 0, 0)
	for want := uint32(3); want <= blocks; want++ {
		if num, _ := late.next(); num != want {
			t.Fatalf("block %d, want %d", num, want)
		}
	}
	n.awaitBehind(0)
}

// awaitBehind waits until the slowest client is so many blocks behind.
func (n *node) awaitBehind(want uint32) {
	n.t.Helper()
	for end := time.Now().Add(time.Minute); n.server.Stats().Behind != want; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			n.t.Fatalf("the slowest client is %d blocks behind, want %d", n.server.Stats().Behind, want)
		}
	}
}

// A request larger than any that nodeos takes ends its client before it is read.
func TestARequestThatIsTooLargeEndsItsClient(t *testing.T) {
	n := start(t, ship.Options{}, ship.ServerOptions{Limits: ship.DefaultLimits(), Address: "127.0.0.1:0"})
	n.produce(3)
	good, bad := n.dial(0), n.dial(0)
	// The header of a masked message of 16 MiB and a byte, and nothing of it.
	if _, err := bad.c.UnderlyingConn().Write([]byte{0x82, 0xff, 0, 0, 0, 0, 1, 0, 0, 1, 1, 2, 3, 4}); err != nil {
		t.Fatal(err)
	}
	bad.c.SetReadDeadline(time.Now().Add(time.Minute)) //nolint:errcheck // reading says it
	if _, _, err := bad.c.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseMessageTooBig) {
		t.Errorf("it ends with %v", err)
	}
	good.ask(1, 2, 10)
	if num, _ := good.next(); num != 1 {
		t.Errorf("block %d", num)
	}
}

// A hundred clients that begin with the first block, while blocks are made, get each once;
// others that break off in the middle of a message leave nothing behind.
func TestAHundredClientsGetEveryBlock(t *testing.T) {
	const blocks, clients = 40, 100
	socket := filepath.Join(t.TempDir(), "history.sock")
	n := start(t, ship.Options{RecentBytes: 10 << 10},
		ship.ServerOptions{Limits: ship.DefaultLimits(), Address: "127.0.0.1:0", Socket: socket})
	n.produce(blocks / 2)
	var wait sync.WaitGroup
	for i := range clients {
		c := n.dial(i % 2)
		c.ask(1, blocks+1, blocks)
		if i%10 == 9 {
			_, r, err := c.c.NextReader()
			if err == nil {
				_, err = r.Read(make([]byte, 10))
			}
			if err != nil {
				t.Error(err)
			}
			c.c.UnderlyingConn().Close()
			continue
		}
		wait.Go(func() {
			for want := uint32(1); want <= blocks; want++ {
				if num, _ := c.next(); num != want {
					t.Errorf("block %d, want %d", num, want)
					return
				}
			}
		})
	}
	n.produce(blocks / 2)
	wait.Wait()
	for end := time.Now().Add(time.Minute); n.server.Stats().Sessions != clients*9/10; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d sessions", n.server.Stats().Sessions)
		}
	}
}

// Connections that never become WebSockets, or say only half of it, are no sessions and
// keep nobody out.
func TestConnectionsThatNeverAskAreNoSessions(t *testing.T) {
	n := start(t, ship.Options{}, ship.ServerOptions{Limits: ship.DefaultLimits(), Address: "127.0.0.1:0"})
	n.produce(2)
	for i := range 200 {
		c, err := net.Dial("tcp", n.server.Addresses()[0].String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if i%2 == 0 {
			if _, err := fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: x\r\nX: %s", strings.Repeat("x", 1000)); err != nil {
				t.Fatal(err)
			}
		}
	}
	good := n.dial(0)
	good.ask(1, 2, 1)
	if num, _ := good.next(); num != 1 {
		t.Errorf("block %d", num)
	}
	if got := n.server.Stats().Sessions; got != 1 {
		t.Errorf("%d sessions", got)
	}
}
