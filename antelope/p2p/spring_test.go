package p2p_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"tarn/antelope/p2p"
	"tarn/antelope/p2p/lightpeer"
	"tarn/antelope/types"
)

// What a node says of its address, and hears of a peer's, is what connections are for. A node of Spring asks
// those who connect for what its listener takes, and does what it is asked to by those that it connects to.
func TestWhatConnectionsAreForIsSaidInHandshakes(t *testing.T) {
	for name, c := range map[string]struct {
		spring  bool
		listen  string // its end
		refuses bool   // transactions
		says    string // the peer, to a node that it connects to
		hears   string // end of what it hears then
		dials   string // end of the peer's address, that the node connects to
		dialled string // end of what the peer hears then
		asks    string // the peer that was connected to
		gets    string // what it is sent
	}{
		"Leap":                         {gets: "trx blk"},
		"Leap, asked by who connected": {says: ":trx", hears: ":trx", asks: ":blk", gets: "trx blk"},
		"Leap, connects":               {dials: ":blk", dialled: ":blk", gets: "blk"},
		"Leap, takes no transactions":  {refuses: true, hears: ":blk", dialled: ":blk", gets: "trx blk"},
		"Spring":                       {spring: true, gets: "trx blk"},
		"Spring, for transactions":     {spring: true, listen: ":trx", hears: ":trx", gets: "trx blk"},
		"Spring, for blocks, limited": {spring: true, listen: ":blk:1MiB/s", says: ":blk", hears: ":blk:1MiB/s",
			asks: ":trx", gets: "trx"},
		"Spring, connects": {spring: true, dials: ":blk", asks: ":trx", gets: "blk"},
		"Spring, takes no transactions": {spring: true, refuses: true, says: ":trx", hears: ":trx:blk", asks: ":blk",
			gets: "blk"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			must(t, err)
			defer l.Close()
			address := l.Addr().String()
			chain := p2p.NewTestChain(10)
			if c.spring {
				chain.TurnSpring()
			}
			n := p2p.StartNode(t, chain, func(o *p2p.Options) {
				o.AcceptTransactions = !c.refuses
				o.Listen = []string{o.Listen[0] + c.listen}
				o.Peers = []string{address + c.dials}
			})
			in := dial(t, n)
			in.Hello.P2PAddress, in.Hello.NodeID = "in.example:9876"+c.says, types.Checksum256{1}
			socket, err := l.Accept()
			must(t, err)
			out := lightpeer.New(socket, n.ChainID())
			defer out.Close()
			must(t, out.SetDeadline(time.Now().Add(time.Minute)))
			out.Hello = in.Hello
			out.Hello.P2PAddress, out.Hello.NodeID = "out.example:9876"+c.asks, types.Checksum256{2}
			for p, want := range map[*lightpeer.Peer]string{in: "127.0.0.1:0" + c.hears, out: "127.0.0.1:0" + c.dialled} {
				must(t, p.SendHandshake())
				h, err := lightpeer.Until[p2p.Handshake](p)
				must(t, err)
				if is, _, _ := strings.Cut(h.P2PAddress, " - "); is != want {
					t.Errorf("the node is said to be at %s, not %s", is, want)
				}
			}
			n.Eventually(t, "what the connection is for", func() bool {
				s, ok := n.Status(address + c.dials)
				gets := "trx blk"
				switch {
				case s.BlocksOnly:
					gets = "blk"
				case s.TransactionsOnly:
					gets = "trx"
				}
				return ok && s.LastHandshake.Generation > 0 && gets == c.gets
			})
		})
	}
}

// A chain may change while its nodes run: from then on they do what those ask for that they connect to.
func TestConnectionsFollowTheChainToSpring(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	chain := p2p.NewTestChain(10)
	n := p2p.StartNode(t, chain, nil)
	chain.TurnSpring()
	n.Connect(l.Addr().String())
	socket, err := l.Accept()
	must(t, err)
	out := lightpeer.New(socket, n.ChainID())
	defer out.Close()
	out.Hello.P2PAddress = "out.example:9876:trx"
	must(t, out.SendHandshake())
	n.Eventually(t, "what the connection is for", func() bool {
		s, ok := n.Status(l.Addr().String())
		return ok && s.TransactionsOnly
	})
}

// Who asks for blocks before one that this node does not have, or has no more, is sent what is reversible.
func TestBlocksForOneThatIsUnknown(t *testing.T) {
	chain := p2p.NewTestChain(100) // 70 are irreversible
	n := p2p.StartNode(t, chain, nil)
	p := dial(t, n)
	must(t, p.SendHandshake())
	_, err := lightpeer.Until[p2p.Handshake](p)
	must(t, err)
	head := types.Checksum256{3: 95}
	unknown := types.Checksum256{3: 200, 31: 1}
	must(t, p.Send(p2p.Request{Blocks: p2p.IDs{Mode: p2p.ModeNormal, IDs: []types.Checksum256{unknown, head}}}))
	b, err := lightpeer.Until[*types.SignedBlock](p)
	must(t, err)
	if b.BlockNum() != 70 {
		t.Errorf("the first block is %d", b.BlockNum())
	}
}
