package p2p

import (
	"encoding/binary"
	"net"
	"testing"
	"time"

	"tarn/internal/racedetector"
)

// Messages that are large and only half sent hold no more than there is room for, and do
// not keep those out that come whole.
func TestHalfSentMessagesHoldABoundedAmount(t *testing.T) {
	racedetector.SkipMeasure(t)
	t.Parallel()
	n := startNode(t, newFakeChain(10), nil)
	const half = 6 << 20
	send := func(count int) {
		for range count {
			c, err := net.Dial("tcp", n.address)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			go func() {
				_, _ = c.Write(binary.LittleEndian.AppendUint32(nil, maxMessage)) // it may be closed before all is sent
				_, _ = c.Write(make([]byte, half))
			}()
		}
	}
	send(24)
	most, bound := int64(0), n.config.Limits.LargeBytes
	least := time.Now().Add(n.config.Limits.LargeGrace + 2*time.Second)
	eventually(t, "much is held, and who came later has room", func() bool {
		most = max(most, heldOf(n))
		return most >= bound/2 && n.log.contains("has taken the room for too long") && time.Now().After(least)
	})
	if most > bound {
		t.Errorf("%d MiB were held, the bound is %d", most>>20, bound>>20)
	}
	n.stop()
	if left := n.large.Load(); left != 0 {
		t.Errorf("%d bytes still count", left)
	}
}

// heldOf is how much was held at some moment of the call, or less: what a connection holds grows until all of it goes.
func heldOf(n *node) (sum int64) {
	conns := *n.conns.Load()
	held := make([]int64, len(conns))
	for i, c := range conns {
		held[i] = c.large.Load()
	}
	for i, c := range conns {
		sum += min(held[i], c.large.Load())
	}
	return sum
}

// Both sides of a refused connection say why.
func TestARefusalIsLoggedOnBothSides(t *testing.T) {
	a := startNode(t, newFakeChain(10), func(o *Options) { o.MaxNodesPerHost = 1 })
	first := startNode(t, newFakeChain(10), func(o *Options) { o.Peers = []string{a.address} })
	awaitSettled(t, a, first)
	second := startNode(t, newFakeChain(10), func(o *Options) { o.Peers = []string{a.address} })
	eventually(t, "who refuses says why", func() bool {
		return a.log.contains("exceeds limit 1 (p2p-max-nodes-per-host)")
	})
	eventually(t, "who is refused says so", func() bool {
		return second.log.contains("refused the connection without a word")
	})
}
