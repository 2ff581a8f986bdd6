package p2p_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"tarn/antelope/finality"
	"tarn/antelope/p2p"
	"tarn/antelope/p2p/lightpeer"
	"tarn/antelope/types"
)

// soon is in how long an honest peer hears a block, whatever others claim. The claims of these tests
// last longer: a node that waited for what they claim would be found out.
const soon = 20 * time.Second

// patiently has a node wait long for what a peer claims to have.
func patiently(o *p2p.Options) { o.Limits.Response = 10 * time.Minute }

// hears waits for a block of that number.
func hears(t *testing.T, p *lightpeer.Peer, num uint32) {
	t.Helper()
	_ = p.SetDeadline(time.Now().Add(soon))
	for {
		b, err := lightpeer.Until[*types.SignedBlock](p)
		if err != nil {
			t.Fatalf("block %d was not heard: %v", num, err)
		}
		if b.BlockNum() == num {
			return
		}
	}
}

// A node that is at the head goes on with its work while it waits for what a peer claims
// to have: it takes blocks and transactions, and passes both on.
func TestAClaimWithoutBlocksSilencesNobody(t *testing.T) {
	chain := p2p.NewRecentChain(100)
	others := chain.Twin()
	n := p2p.StartNode(t, chain, patiently)
	follower, honest := greetedPeer(t, n), greetedPeer(t, n)
	for range 3 {
		liar := greetedPeer(t, n)
		must(t, liar.Send(irreversible(120)))
	}
	n.Eventually(t, "the claim is looked into", func() bool { return n.Metrics().Syncing })
	chain.Produce(1)
	hears(t, follower, 101)
	others.Apply(t.Context(), p2p.NewBlock(chain.At(101))) //nolint:errcheck // it is good
	others.Produce(1)
	must(t, honest.Send(others.At(102)))
	hears(t, follower, 102)
	must(t, honest.Send(p2p.RandomTransaction(rand.New(rand.NewPCG(1, 1)))))
	if _, err := lightpeer.Until[*types.PackedTransaction](follower); err != nil {
		t.Errorf("the transaction was not passed on: %v", err)
	}
	if !n.Metrics().Syncing {
		t.Error("the claim was forgotten, so that nothing was tested")
	}
}

// The same of votes: its own go out, and those of others are counted and passed on.
func TestAClaimWithoutBlocksSilencesNoVotes(t *testing.T) {
	n := p2p.StartNode(t, p2p.NewRecentChain(100), func(o *p2p.Options) { patiently(o); o.VoteThreads = 1 })
	follower, honest, liar := greetedPeer(t, n), greetedPeer(t, n), greetedPeer(t, n)
	must(t, liar.Send(irreversible(120)))
	n.Eventually(t, "the claim is looked into", func() bool { return n.Metrics().Syncing })
	_ = follower.SetDeadline(time.Now().Add(soon))
	v := finality.Vote{Block: n.ChainInfo().HeadID, Strong: true}
	n.VoteCast(&v)
	if _, err := lightpeer.Until[finality.Vote](follower); err != nil {
		t.Errorf("the node's own vote was not heard: %v", err)
	}
	v.Key[1] = 1
	must(t, honest.Send(&v))
	if _, err := lightpeer.Until[finality.Vote](follower); err != nil {
		t.Errorf("another's vote was not passed on: %v", err)
	}
	if !n.Metrics().Syncing {
		t.Error("the claim was forgotten, so that nothing was tested")
	}
}

// It also answers as ever: a block that it had is declined, and who sends one whose predecessor is missing is told
// where the node is.
func TestAClaimWithoutBlocksKeepsNoAnswerBack(t *testing.T) {
	chain := p2p.NewRecentChain(100)
	others := chain.Twin()
	others.Produce(3)
	n := p2p.StartNode(t, chain, patiently)
	honest, liar := greetedPeer(t, n), greetedPeer(t, n)
	must(t, liar.Send(irreversible(120)))
	n.Eventually(t, "the claim is looked into", func() bool { return n.Metrics().Syncing })
	_ = honest.SetDeadline(time.Now().Add(soon))
	must(t, honest.Send(chain.At(60)))
	if m, err := lightpeer.Until[p2p.BlockNack](honest); err != nil || types.BlockNum(m.ID) != 60 {
		t.Errorf("the block was not declined: %v, %v", m.ID, err)
	}
	time.Sleep(p2p.DefaultLimits().Handshake) // it has just been told
	must(t, honest.Send(others.At(103)))
	if _, err := lightpeer.Until[p2p.Handshake](honest); err != nil {
		t.Errorf("the peer was not told that blocks are missing: %v", err)
	}
	if !n.Metrics().Syncing {
		t.Error("the claim was forgotten, so that nothing was tested")
	}
}

// Who is told of blocks and gets none asks where the peer is: notices of what is not there count for no block.
func TestNoticesAloneKeepNoHandshakeBack(t *testing.T) {
	t.Parallel() // waits
	// A machine that stands still for a while is no silence of the peer.
	n := p2p.StartNode(t, p2p.NewTestChain(100), func(o *p2p.Options) { o.KeepAlive = 3 * time.Second })
	p := greetedPeer(t, n)
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		for num := uint32(110); ; num++ {
			_ = p.Send(p2p.BlockNotice{Previous: numberedID(num), ID: numberedID(num + 1)})
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	if _, err := lightpeer.Until[p2p.Handshake](p); err != nil {
		t.Errorf("it was not asked where it is: %v", err)
	}
}

// A node that does catch up passes on its own blocks, and those only.
func TestOwnBlocksGoOutWhateverANodeIsAt(t *testing.T) {
	for _, own := range []bool{true, false} {
		chain := p2p.NewTestChain(100) // whose head is old
		others := chain.Twin()
		others.Produce(20)
		n := p2p.StartNode(t, chain, func(o *p2p.Options) {
			patiently(o)
			if own {
				o.Producers = []types.Name{types.N("prod")}
			}
		})
		follower, source := greetedPeer(t, n), greetedPeer(t, n)
		must(t, source.Send(irreversible(120)))
		r, err := lightpeer.Until[p2p.SyncRequest](source)
		must(t, err)
		for num := r.Start; num <= 101; num++ {
			must(t, source.Send(others.At(num)))
		}
		n.Eventually(t, "the first new block is here", func() bool { return n.Head() == 101 })
		chain.Produce(1)
		if own {
			hears(t, follower, 102)
			continue
		}
		_ = follower.SetDeadline(time.Now().Add(250 * time.Millisecond))
		if b, err := lightpeer.Until[*types.SignedBlock](follower); err == nil {
			t.Errorf("block %d was passed on by a node that catches up", b.BlockNum())
		}
	}
}

func TestAHostIsItsPrefix(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"10.0.0.1", "10.0.0.1", true},
		{"10.0.0.1", "10.0.0.2", false},
		{"10.0.0.1", "::ffff:10.0.0.1", true},
		{"2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", true},
		{"2001:db8:1:2::1", "2001:db8:1:3::1", false},
		{"fe80::1%eth0", "fe80::2", true},
	} {
		if a, b := p2p.PrefixOf(c.a), p2p.PrefixOf(c.b); a == b != c.same || !a.IsValid() {
			t.Errorf("%s is %v, %s is %v", c.a, a, c.b, b)
		}
	}
	for _, own := range []string{"127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "<unknown>"} {
		if p := p2p.PrefixOf(own); p.IsValid() {
			t.Errorf("%s would be kept away as %v", own, p)
		}
	}
}
