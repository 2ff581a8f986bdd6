package p2p_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"
	"time"

	"tarn/antelope/p2p"
	"tarn/antelope/p2p/lightpeer"
	"tarn/antelope/types"
)

// dial connects a light peer whose chain is the node's.
func dial(t testing.TB, n *p2p.TestNode) *lightpeer.Peer {
	t.Helper()
	p, err := lightpeer.Dial(t.Context(), n.Address(), n.ChainID())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	info := n.ChainInfo()
	p.Hello.HeadNum, p.Hello.HeadID, p.Hello.LIBNum, p.Hello.LIBID = info.HeadNum, info.HeadID, info.LIBNum, info.LIBID
	_ = p.SetDeadline(time.Now().Add(time.Minute))
	return p
}

// must fails the test if sending fails.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func raw(size uint32, payload ...byte) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, size), payload...)
}

// reasonSent is what a peer that is sent away hears: the reason of a go_away, or the end.
func reasonSent(p *lightpeer.Peer) (p2p.Reason, error) {
	m, err := lightpeer.Until[p2p.GoAway](p)
	return m.Reason, err
}

func TestPeersThatMisbehaveAreDroppedWithAReason(t *testing.T) {
	chain := p2p.NewTestChain(100)
	patient, impatient := p2p.StartNode(t, chain, nil), p2p.StartNode(t, chain.Twin(), func(o *p2p.Options) {
		o.KeepAlive = 700 * time.Millisecond
	})
	info := patient.ChainInfo()
	frame := func(m p2p.Message) []byte {
		b, err := p2p.AppendFrame(nil, m)
		must(t, err)
		return b
	}
	many := func(m p2p.Message, count int) (b []byte) {
		for range count {
			b = append(b, frame(m)...)
		}
		return b
	}
	for _, c := range []struct {
		name string
		n    *p2p.TestNode
		send []byte
		log  string
	}{
		{"a flood of messages", patient, many(p2p.ChainSize{}, 20_000), "too many messages"},
		{"a flood of old blocks", patient, many(chain.At(1), 20_000), "too many blocks that this node had already"},
		{"a block with a bad signature", patient, frame(chain.Bad()), "block_validate_exception"},
		{"a block with a WebAuthn signature", patient, frame(chain.WebAuthn()), "WebAuthn signed block received"},
		{"silence", impatient, nil, "heartbeat timed out"},
		{"half a frame", impatient, raw(1000, 0, 1, 2), "heartbeat timed out"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, p := c.n, (*lightpeer.Peer)(nil)
			n.Eventually(t, "it has greeted in time", func() bool {
				n.ForgetLog()
				p = dial(t, n)
				err := p.SendHandshake()
				if err == nil {
					_, err = lightpeer.Until[p2p.Handshake](p)
				}
				return err == nil
			})
			_ = p.SendRaw(c.send) // it may be closed before all is sent
			var err error
			for err == nil {
				_, err = p.Receive()
			}
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("the connection stays")
			}
			n.Eventually(t, "the reason in the log: "+c.log, func() bool { return n.Logged(c.log) })
			if n.ChainInfo() != info {
				t.Errorf("the chain went from %+v to %+v", info, n.ChainInfo())
			}
		})
	}
}

func TestAPeerThatNeverGreetsIsDropped(t *testing.T) {
	t.Parallel() // waits
	// A machine that stands still for a while is no silence of the peer.
	n := p2p.StartNode(t, p2p.NewTestChain(10), func(o *p2p.Options) { o.KeepAlive = 3 * time.Second })
	p := dial(t, n)
	go func() {
		for p.Send(p2p.ChainSize{}) == nil {
			time.Sleep(20 * time.Millisecond)
		}
	}()
	n.Eventually(t, "the reason in the log", func() bool { return n.Logged("no handshake in") })
	if _, err := lightpeer.Until[p2p.Handshake](p); err == nil {
		t.Error("the connection stays")
	}
}

// A connection is silent too long if nothing comes for as long as it is kept alive, and on a machine that stands
// still nothing comes. So the peer tries again, for longer: a node that wants a handshake leaves it each time.
func TestAPeerThatSendsTransactionsNeedNotGreet(t *testing.T) {
	t.Parallel()
	for alive := 400 * time.Millisecond; alive < 10*time.Second; alive *= 2 {
		n := p2p.StartNode(t, p2p.NewTestChain(10), func(o *p2p.Options) { o.KeepAlive = alive })
		p := dial(t, n)
		r := rand.New(rand.NewPCG(1, 2))
		var failure error
		for begin := time.Now(); time.Since(begin) < 6*alive && failure == nil; time.Sleep(alive / 20) {
			failure = p.Send(p2p.RandomTransaction(r))
		}
		if failure == nil && !n.Logged("no handshake in") {
			return
		}
		t.Logf("kept alive for %v the connection has ended: %v", alive, failure)
	}
	t.Error("it ends each time")
}

// A peer that announces large frames must not make the node take that memory.
func TestMemoryIsTakenAsDataCome(t *testing.T) {
	n := p2p.StartNode(t, p2p.NewTestChain(10), nil)
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for range 50 {
		p := dial(t, n)
		must(t, p.SendHandshake())
		must(t, p.SendRaw(raw(8<<20, 7, 0, 0)))
	}
	n.Eventually(t, "50 connections", func() bool { return n.Metrics().Clients == 50 })
	time.Sleep(100 * time.Millisecond)
	if after := heap(); after > before+20<<20 {
		t.Errorf("50 announcements of 8 MiB took %d MiB", (after-before)>>20)
	}
}

// Whoever claims a head that it does not have costs a few seconds, once.
func TestAPeerThatLiesAboutItsHeadIsDropped(t *testing.T) {
	honest := p2p.StartNode(t, p2p.NewTestChain(3000), nil)
	n := p2p.StartNode(t, p2p.NewTestChain(1), nil)
	p := dial(t, n)
	p.Hello.HeadNum, p.Hello.LIBNum = 1_000_000, 999_990
	must(t, p.SendHandshake())
	go func() {
		for {
			m, err := p.Receive()
			if err != nil {
				return
			}
			if h, ok := m.(p2p.Handshake); ok && h.HeadNum < 1_000_000 {
				_ = p.Send(p2p.Notice{Trx: p2p.IDs{Mode: p2p.ModeLIBCatchUp, Pending: 999_990},
					Blocks: p2p.IDs{Mode: p2p.ModeLIBCatchUp, Pending: 1_000_000,
						IDs: []types.Checksum256{{0, 0x0f, 0x42, 0x40}}}})
			}
		}
	}()
	n.Eventually(t, "its promise is believed", func() bool { return n.Logged("becoming lib catchup") })
	n.Connect(honest.Address())
	n.Eventually(t, "the head of the honest one", func() bool { return n.Head() == 3000 })
	n.Eventually(t, "the liar is gone", func() bool { return n.Metrics().Clients == 0 })
	n.Eventually(t, "in sync", func() bool { return !n.Metrics().Syncing })
}

// A peer that asks for much and reads nothing holds no more than its share.
func TestAPeerThatDoesNotReadHoldsLittle(t *testing.T) {
	n := p2p.StartNode(t, p2p.NewTestChain(150_000), nil)
	p := dial(t, n)
	must(t, p.SendHandshake())
	must(t, p.Send(p2p.SyncRequest{Start: 1, End: 150_000}))
	// What is asked for while the kernel still takes what is sent is answered at once.
	n.Eventually(t, "the reason in the log", func() bool {
		for range 200 {
			// It may be closed before all is sent.
			_ = p.Send(
				p2p.Request{Blocks: p2p.IDs{Mode: p2p.ModeNormal, IDs: []types.Checksum256{n.ChainInfo().HeadID}}})
		}
		return n.Logged("asks for more blocks than it reads") || n.Metrics().Clients == 0
	})
}

func TestFailingTransactionsUseUpABudget(t *testing.T) {
	chain := p2p.NewTestChain(100)
	chain.RefuseTransactions()
	n := p2p.StartNode(t, chain, nil)
	p := dial(t, n)
	must(t, p.SendHandshake())
	r := rand.New(rand.NewPCG(3, 3))
	for range 14_000 {
		must(t, p.Send(p2p.RandomTransaction(r)))
	}
	n.Eventually(t, "transactions that are not looked at", func() bool { return n.Metrics().DroppedTransactions > 100 })
	if !n.Logged("too many failed trx") {
		t.Error("nothing in the log")
	}
}

func TestSyncIsLimitedToTheRate(t *testing.T) {
	chain := p2p.NewTestChain(2000)
	n := p2p.StartNode(t, chain, func(o *p2p.Options) { o.Listen = []string{"127.0.0.1:0:100KB/s"} })
	rate := 0.0
	for try := 0; try < 10 && rate < 50_000; try++ { // a machine that stands still makes it less
		rate = syncRate(t, n)
		if t.Logf("%.0f bytes a second", rate); rate > 150_000 {
			break
		}
	}
	if rate < 50_000 || rate > 150_000 {
		t.Errorf("%.0f bytes a second, not 100,000", rate)
	}
	throttled := false
	for _, c := range n.Metrics().Connections {
		throttled = throttled || c.SyncBytesOut > 0
	}
	if !throttled {
		t.Error("no metrics of it")
	}
}

// syncRate is how many bytes of blocks a second come to who asks for all of them.
func syncRate(t *testing.T, n *p2p.TestNode) float64 {
	t.Helper()
	p := dial(t, n)
	p.Hello.HeadNum, p.Hello.LIBNum = 0, 0
	p.Hello.HeadID, p.Hello.LIBID = types.Checksum256{}, types.Checksum256{}
	must(t, p.SendHandshake())
	start, size := time.Now(), 0
	must(t, p.Send(p2p.SyncRequest{Start: 1, End: 2000}))
	for time.Since(start) < 1500*time.Millisecond {
		m, err := p.Receive()
		must(t, err)
		if b, ok := m.(*types.SignedBlock); ok {
			size += len(b.Append(nil)) + 5
		}
	}
	return float64(size) / time.Since(start).Seconds()
}

func TestThreeHundredPeersAreServed(t *testing.T) {
	chain := p2p.NewTestChain(100)
	n := p2p.StartNode(t, chain, nil)
	const peers, blocks, transactions = 300, 10, 200
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var list []*lightpeer.Peer
	for range peers {
		p, err := lightpeer.Dial(ctx, n.Address(), n.ChainID())
		must(t, err)
		info := n.ChainInfo()
		p.Hello.HeadNum, p.Hello.HeadID, p.Hello.LIBNum, p.Hello.LIBID = info.HeadNum, info.HeadID,
			info.LIBNum, info.LIBID
		must(t, p.SendHandshake())
		list = append(list, p)
		go func() { _ = p.Follow(ctx) }()
	}
	n.Eventually(t, "all have greeted", func() bool { return n.AllCurrent(peers) })
	start := time.Now()
	chain.Produce(blocks)
	r := rand.New(rand.NewPCG(1, 1))
	for range transactions {
		trx, err := p2p.NewTransaction(p2p.RandomTransaction(r))
		must(t, err)
		n.TransactionAccepted(trx)
	}
	for _, p := range list {
		n.Eventually(t, "all blocks and transactions", func() bool {
			return p.Blocks.Load() == blocks && p.Transactions.Load() == transactions
		})
	}
	t.Logf("%d messages to %d peers in %v", blocks+transactions, peers, time.Since(start))
	if m := n.Metrics(); m.Clients != peers {
		t.Errorf("%d peers are left", m.Clients)
	}
}

func TestIncomingPeersAreLimited(t *testing.T) {
	n := p2p.StartNode(t, p2p.NewTestChain(10), func(o *p2p.Options) { o.MaxClients = 2 })
	for range 2 {
		p := dial(t, n)
		must(t, p.SendHandshake())
		if _, err := lightpeer.Until[p2p.Handshake](p); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := dial(t, n).Receive(); !errors.Is(err, io.EOF) && err == nil {
		t.Error("a third was let in")
	}
	other := p2p.StartNode(t, p2p.NewTestChain(10), func(o *p2p.Options) { o.MaxNodesPerHost = 1 })
	p := dial(t, other)
	must(t, p.SendHandshake())
	if _, err := lightpeer.Until[p2p.Handshake](p); err != nil {
		t.Fatal(err)
	}
	if _, err := dial(t, other).Receive(); err == nil {
		t.Error("a second of the same host was let in")
	}
}
