package node

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// crowdVariable tells the test binary, run again by a test, to be a [Crowd].
const crowdVariable = "NODETEST_CROWD"

// Crowd is many connections to one address. A process of its own holds them, so that the
// node under test has all the open files that a process may have for its end of them. What
// the node closes is opened again.
type Crowd struct {
	To    string // address of the node's listener
	Net   byte   // the connections come from addresses in 127.Net.0.0/16
	Size  int
	Greet string // what each connection says first
	Drip  bool   // then each says a space ten times a second, else nothing
}

// Gather starts the crowd, waits until all connections are open at once, and keeps them
// until ctx ends.
func (c Crowd) Gather(t *testing.T, ctx context.Context) {
	t.Helper()
	p := startProcess(t, crowdVariable, c)
	if p.lines.Scan(); p.lines.Text() != "gathered" {
		t.Errorf("%d connections to %s: %s", c.Size, c.To, p.lines.Text())
	}
	context.AfterFunc(ctx, func() {
		p.stdin.Close()
		p.cmd.Wait() //nolint:errcheck // the crowd ends with its standard input
	})
}

// play is the crowd's process: it ends when its standard input does.
func (c Crowd) play() {
	var open atomic.Int64
	var failure atomic.Pointer[string]
	for i := range c.Size {
		go func() {
			for {
				if err := c.connect(i, &open); err != nil {
					failure.Store(new(err.Error()))
				}
				time.Sleep(100 * time.Millisecond)
			}
		}()
	}
	go func() {
		most := int64(0)
		for end := time.Now().Add(time.Minute); most < int64(c.Size) &&
			time.Now().Before(end); time.Sleep(time.Millisecond) {
			most = max(most, open.Load())
		}
		if most == int64(c.Size) {
			fmt.Println("gathered")
			return
		}
		why := "the node closes them"
		if f := failure.Load(); f != nil {
			why = *f
		}
		fmt.Printf("only %d were open at once: %s\n", most, why)
	}()
	io.Copy(io.Discard, os.Stdin) //nolint:errcheck // the end is what matters
}

// connect holds one connection until the node closes it.
func (c Crowd) connect(i int, open *atomic.Int64) error {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, c.Net, byte(i/250), byte(1+i%250))},
		Timeout: 10 * time.Second}
	conn, err := d.Dial("tcp", c.To)
	if err != nil {
		return err
	}
	defer conn.Close()
	open.Add(1)
	defer open.Add(-1)
	if _, err := io.Copy(conn, strings.NewReader(c.Greet)); err != nil {
		return nil // closed by the node
	}
	if c.Drip {
		go func() {
			for err := error(nil); err == nil; time.Sleep(100 * time.Millisecond) {
				_, err = conn.Write([]byte{' '})
			}
		}()
	}
	io.Copy(io.Discard, conn) //nolint:errcheck // closed by the node
	return nil
}
