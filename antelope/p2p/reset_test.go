package p2p

import (
	"net"
	"strings"
	"testing"
)

// A peer that is killed resets its connection: that is told, and is no error of this node's.
func TestAConnectionThatIsResetIsNoError(t *testing.T) {
	n := startNode(t, newFakeChain(1), nil)
	c, err := net.Dial("tcp", n.address)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); err != nil { // the node has sent its handshake
		t.Fatal(err)
	}
	if err := c.(*net.TCPConn).SetLinger(0); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a line about the reset", func() bool {
		return strings.Contains(n.log.String(), "Error reading message: ")
	})
	for line := range strings.Lines(n.log.String()) {
		if strings.Contains(line, "Error reading message: ") && !strings.Contains(line, "level=INFO") {
			t.Error(line)
		}
	}
}
