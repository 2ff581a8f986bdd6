package p2p

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"tarn/antelope/types"
	"tarn/internal/freeport"
)

func TestANodeSyncsTenThousandBlocksInOrder(t *testing.T) {
	server := startNode(t, newFakeChain(10_000), nil)
	client := newFakeChain(1)
	start := time.Now()
	startNode(t, client, func(o *Options) { o.Peers = []string{server.address} })
	eventually(t, "the same head", func() bool { return client.head() == server.chain.head() })
	took := time.Since(start)
	t.Logf("%.0f blocks a second", 10_000/took.Seconds())
	if client.Info() != server.chain.Info() {
		t.Errorf("client is at %+v, server at %+v", client.Info(), server.chain.Info())
	}
	if client.applied != 9_999 {
		t.Errorf("%d blocks were applied", client.applied)
	}
}

func TestANodeSyncsFromSeveralPeersAtOnce(t *testing.T) {
	var peers []string
	for range 3 {
		peers = append(peers, startNode(t, newFakeChain(5_000), nil).address)
	}
	client, all := newFakeChain(1), make(chan struct{})
	client.prepare = func(*Block) { <-all } // so that none is too late
	begin := sync.OnceFunc(func() { close(all) })
	defer begin()
	n := startNode(t, client, func(o *Options) { o.Peers, o.SyncFetchSpan = peers, 100 })
	eventually(t, "all are there", func() bool {
		there := 0
		for _, c := range *n.conns.Load() {
			if c.current() && c.peerHead.Load() == 5_000 {
				there++
			}
		}
		return there == len(peers)
	})
	begin()
	eventually(t, "the head", func() bool { return client.head() == 5_000 })
	for _, c := range n.Metrics().Connections {
		if c.SyncBytesIn == 0 {
			t.Errorf("nothing came from %s", c.P2PAddress)
		}
	}
}

func TestSyncGoesOnWhenAPeerLeaves(t *testing.T) {
	first := startNode(t, newFakeChain(20_000), nil)
	second := startNode(t, newFakeChain(20_000), nil)
	client := newFakeChain(1)
	client.delay = 2 * time.Millisecond
	startNode(t, client, func(o *Options) { o.Peers, o.SyncFetchSpan = []string{first.address, second.address}, 200 })
	eventually(t, "a good part", func() bool { return client.head() > 3_000 })
	first.stop()
	eventually(t, "the head", func() bool { return client.head() == 20_000 })
}

func TestBlocksAndTransactionsReachAllNodesOnce(t *testing.T) {
	a := startNode(t, newFakeChain(100), nil)
	b := startNode(t, newFakeChain(100), func(o *Options) { o.Peers = []string{a.address} })
	c := startNode(t, newFakeChain(100), func(o *Options) { o.Peers = []string{a.address, b.address} })
	awaitSettled(t, a, b, c)
	a.chain.produce(20, 0)
	for _, n := range []*node{a, b, c} {
		eventually(t, "the head", func() bool { return n.chain.Info() == a.chain.Info() })
	}
	seed := uint64(time.Now().UnixNano())
	t.Log("seed", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 200 {
		trx, err := NewTransaction(randomTransaction(r))
		if err != nil {
			t.Fatal(err)
		}
		c.TransactionAccepted(trx)
		eventually(t, "the transaction everywhere", func() bool { return a.chain.seen(trx.ID) && b.chain.seen(trx.ID) })
	}
	for _, n := range []*node{a, b} {
		if len(n.chain.trxs) != 200 {
			t.Errorf("%d transactions came", len(n.chain.trxs))
		}
		// Two others may each send it once.
		if m := n.Metrics(); m.TransactionsIn > 400 {
			t.Errorf("%d transactions were sent to one node", m.TransactionsIn)
		}
	}
	if m := c.Metrics(); m.TransactionsIn > 200 {
		t.Errorf("%d of its own transactions came back", m.TransactionsIn)
	}
}

// awaitSettled waits until all have greeted each other.
func awaitSettled(t *testing.T, nodes ...*node) {
	t.Helper()
	for _, n := range nodes {
		eventually(t, "all connected", func() bool {
			conns := *n.conns.Load()
			for _, c := range conns {
				if !c.current() || c.received.Load() == nil {
					return false
				}
			}
			return len(conns) >= len(nodes)-1
		})
	}
}

func TestTheLongerForkWins(t *testing.T) {
	a := startNode(t, newFakeChain(100), nil)
	b := startNode(t, newFakeChain(100), nil)
	a.chain.produce(10, 0)
	b.chain.produce(15, 3)
	if got := b.Connect(a.address); got != "added connection" {
		t.Fatal(got)
	}
	eventually(t, "the longer fork", func() bool { return a.chain.Info() == b.chain.Info() })
	if a.chain.head() != 115 {
		t.Errorf("head is %d", a.chain.head())
	}
}

func TestAPartitionHeals(t *testing.T) {
	a := startNode(t, newFakeChain(100), nil)
	b := startNode(t, newFakeChain(100), func(o *Options) { o.Peers = []string{a.address} })
	awaitSettled(t, a, b)
	if got := b.Disconnect(a.address); got != "connection removed" {
		t.Fatal(got)
	}
	eventually(t, "apart", func() bool { return len(*a.conns.Load()) == 0 })
	a.chain.produce(500, 0)
	b.chain.produce(20, 1)
	if got := b.Connect(a.address); got != "added connection" {
		t.Fatal(got)
	}
	eventually(t, "together", func() bool { return a.chain.Info() == b.chain.Info() })
}

func TestAPeerIsConnectedToAgain(t *testing.T) {
	address := freeport.Address(t)
	b := startNode(t, newFakeChain(10), func(o *Options) { o.Peers = []string{address} })
	eventually(t, "a failure", func() bool { return b.Metrics().FailedConnections > 0 })
	listen := func(o *Options) { o.Listen = []string{address} }
	a := startNode(t, newFakeChain(50), listen)
	eventually(t, "the head", func() bool { return b.chain.head() == 50 })
	a.stop()
	startNode(t, newFakeChain(60), listen)
	eventually(t, "the new head", func() bool { return b.chain.head() == 60 })
}

func TestTwoConnectionsWithOneNodeBecomeOne(t *testing.T) {
	aAddress, bAddress := freeport.Address(t), freeport.Address(t)
	a := startNode(t, newFakeChain(10), func(o *Options) { o.Listen, o.Peers = []string{aAddress}, []string{bAddress} })
	b := startNode(t, newFakeChain(10), func(o *Options) { o.Listen, o.Peers = []string{bAddress}, []string{aAddress} })
	eventually(t, "one connection", func() bool {
		time.Sleep(100 * time.Millisecond)
		return len(*a.conns.Load()) == 1 && len(*b.conns.Load()) == 1 && a.current() && b.current()
	})
	a.chain.produce(1, 0)
	eventually(t, "a block", func() bool { return b.chain.head() == 11 })
}

func (n *node) current() bool {
	for _, c := range *n.conns.Load() {
		if !c.current() {
			return false
		}
	}
	return true
}

func TestANodeDoesNotConnectToItself(t *testing.T) {
	address := freeport.Address(t)
	a := startNode(t, newFakeChain(10), func(o *Options) { o.Listen, o.Peers = []string{address}, []string{address} })
	eventually(t, "the reason in the log", func() bool { return a.log.contains("Self connection detected") })
	eventually(t, "no connection", func() bool { return len(*a.conns.Load()) == 0 && len(a.Connections()) == 0 })
}

func TestNothingIsLeftWhenRunReturns(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 3 {
		a := startNode(t, newFakeChain(3000), nil)
		b := startNode(t, newFakeChain(1), func(o *Options) { o.Peers = []string{a.address, freeport.Address(t)} })
		eventually(t, "some blocks", func() bool { return b.chain.head() > 100 })
		b.stop()
		a.stop()
	}
	eventually(t, "as many goroutines as before", func() bool { return runtime.NumGoroutine() <= before })
}

func TestTransactionOnlyAndBlockOnlyPeersGetWhatTheyAskFor(t *testing.T) {
	a := startNode(t, newFakeChain(100), nil)
	trx := startNode(t, newFakeChain(100), func(o *Options) { o.Peers = []string{a.address + ":trx"} })
	blk := startNode(t, newFakeChain(100), func(o *Options) { o.Peers = []string{a.address + ":blk"} })
	eventually(t, "connected, and told for what", func() bool {
		for _, s := range a.Connections() {
			if !s.BlocksOnly && !s.TransactionsOnly {
				return false
			}
		}
		return len(*a.conns.Load()) == 2 && a.current() && trx.current() && blk.current()
	})
	r := rand.New(rand.NewPCG(1, 2))
	p, err := NewTransaction(randomTransaction(r))
	if err != nil {
		t.Fatal(err)
	}
	a.TransactionAccepted(p)
	a.chain.produce(5, 0)
	eventually(t, "the transaction", func() bool { return trx.chain.seen(p.ID) })
	eventually(t, "the blocks", func() bool { return blk.chain.head() == 105 })
	if blk.chain.seen(p.ID) {
		t.Error("a transaction came to a peer for blocks")
	}
	if trx.chain.head() != 100 {
		t.Error("blocks came to a peer for transactions")
	}
}

func TestABlockIsEncodedOnce(t *testing.T) {
	b := NewBlock(genesisBlock())
	if first, again := b.frame(), b.frame(); &first[0] != &again[0] {
		t.Error("two frames")
	}
	m, err := Decode(b.frame()[4:])
	if err != nil {
		t.Fatal(err)
	}
	if got := m.(*types.SignedBlock).BlockHeader.ID(); got != b.ID {
		t.Errorf("%v came back as %v", b.ID, got)
	}
}

func TestPeersThatCannotBeReachedAreInTheMetrics(t *testing.T) {
	n := StartNode(t, NewTestChain(10), nil)
	n.Connect("127.0.0.1:1:trx")
	m := n.Metrics()
	if m.Peers != 1 || len(m.Connections) != 1 {
		t.Fatalf("%+v", m)
	}
	c := m.Connections[0]
	if c.Port != 0 || c.P2PAddress != "127.0.0.1:1:trx" || len(c.NodeID) != 7 || c.AcceptingBlocks || c.Latency != -1 {
		t.Errorf("%+v", c)
	}
}
