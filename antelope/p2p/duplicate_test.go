package p2p_test

import (
	"net"
	"testing"
	"time"

	"tarn/antelope/p2p"
	"tarn/antelope/p2p/lightpeer"
	"tarn/antelope/types"
)

// A node that connects here and is connected to from here keeps one connection also if the handshake of
// the one that it made came first. The node with the greater id decides.
func TestASecondConnectionIsEndedWhicheverGreetsFirst(t *testing.T) {
	for name, id := range map[string]types.Checksum256{"this node decides": {0, 1},
		"the peer decides": {0xff, 0xff, 0xff, 0xff}} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			must(t, err)
			defer l.Close()
			n := p2p.StartNode(t, p2p.NewTestChain(10), func(o *p2p.Options) { o.Peers = []string{l.Addr().String()} })
			made := dial(t, n)
			c, err := l.Accept()
			must(t, err)
			taken := lightpeer.New(c, n.ChainID())
			defer taken.Close()
			must(t, taken.SetDeadline(time.Now().Add(time.Minute)))
			taken.Hello = made.Hello
			made.Hello.NodeID, taken.Hello.NodeID = id, id
			must(t, made.SendHandshake())
			_, err = lightpeer.Until[p2p.Handshake](made)
			must(t, err)
			must(t, taken.SendHandshake())
			_, err = lightpeer.Until[p2p.Handshake](taken)
			must(t, err)
			if name == "this node decides" {
				if why, err := reasonSent(made); err != nil || why != p2p.Duplicate {
					t.Errorf("%v, %v", why, err)
				}
			} else {
				must(t, made.SetDeadline(time.Now().Add(300*time.Millisecond)))
				if why, err := reasonSent(made); err == nil {
					t.Errorf("sent away: %v", why)
				}
			}
			must(t, taken.SetDeadline(time.Now().Add(300*time.Millisecond)))
			if why, err := reasonSent(taken); err == nil {
				t.Errorf("the other one is sent away: %v", why)
			}
		})
	}
}
