package p2p_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"tarn/antelope/p2p"
	"tarn/antelope/p2p/lightpeer"
	"tarn/antelope/types"
)

// followers connects so many peers that are up to date.
func followers(t *testing.T, n *p2p.TestNode, count int) (list []*lightpeer.Peer) {
	t.Helper()
	for range count {
		p := dial(t, n)
		_ = p.SetDeadline(time.Now().Add(60 * time.Second))
		must(t, p.SendHandshake())
		list = append(list, p)
	}
	n.Eventually(t, "peers that are up to date", func() bool { return n.AllCurrent(count) })
	return list
}

// accept makes a random transaction that the node has accepted.
func accept(t *testing.T, n *p2p.TestNode, r *rand.Rand) types.Checksum256 {
	t.Helper()
	x, err := p2p.NewTransaction(p2p.RandomTransaction(r))
	must(t, err)
	n.TransactionAccepted(x)
	return x.ID
}

// next is the id of the next transaction that a peer is sent.
func next(t *testing.T, p *lightpeer.Peer) types.Checksum256 {
	t.Helper()
	m, err := lightpeer.Until[*types.PackedTransaction](p)
	must(t, err)
	x, err := p2p.NewTransaction(m)
	must(t, err)
	return x.ID
}

func TestManyPeersGetTransactionsInTheirOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	n := p2p.StartNode(t, p2p.NewTestChain(100), func(o *p2p.Options) { o.MaxNodesPerHost, o.MaxClients = 100, 100 })
	peers := followers(t, n, 40)
	for _, count := range []int{1, 5, 30} {
		var want []types.Checksum256
		for range count {
			want = append(want, accept(t, n, r))
		}
		for i, p := range peers {
			for k, id := range want {
				if got := next(t, p); got != id {
					t.Fatalf("peer %d: transaction %d of %d is %s, want %s", i, k, count, got, id)
				}
			}
		}
	}
}

// What the kernel does not take at once the writer sends, without a gap.
func TestAPeerThatReadsLateGetsAllTransactions(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	n := p2p.StartNode(t, p2p.NewTestChain(100), nil)
	p := followers(t, n, 1)[0]
	var want []types.Checksum256
	const most = 16 << 20 // more than the sockets' buffers hold
	for sent := 0; sent < most; {
		x := p2p.RandomTransaction(r)
		x.PackedContextFreeData = make([]byte, r.IntN(100<<10))
		sent += len(x.PackedContextFreeData)
		full, err := p2p.NewTransaction(x)
		must(t, err)
		n.TransactionAccepted(full)
		want = append(want, full.ID)
	}
	for k, id := range want {
		if got := next(t, p); got != id {
			t.Fatalf("transaction %d of %d is %s, want %s", k, len(want), got, id)
		}
	}
}

func TestTransactionsOfAPeerKeepTheirOrderAmongOtherMessages(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	n := p2p.StartNode(t, p2p.NewTestChain(100), nil)
	to := followers(t, n, 1)[0]
	from := dial(t, n)
	var (
		want []types.Checksum256
		sent []byte
	)
	for i := range 500 {
		p := p2p.RandomTransaction(r)
		x, err := p2p.NewTransaction(p)
		must(t, err)
		want = append(want, x.ID)
		sent, err = p2p.AppendFrame(sent, p)
		must(t, err)
		if i%90 == 50 {
			sent, err = p2p.AppendFrame(sent, p2p.Time{Transmit: int64(i) + 1})
			must(t, err)
		}
	}
	must(t, from.SendRaw(sent))
	for i, id := range want {
		if got := next(t, to); got != id {
			t.Fatalf("transaction %d is %s, want %s", i, got, id)
		}
	}
}
