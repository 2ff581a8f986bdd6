package p2p_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"tarn/antelope/p2p"
	"tarn/antelope/p2p/peer"
	"tarn/antelope/types"
)

// soon is in how long an honest peer hears a block, whatever others claim.
const soon = time.Second

// hears waits for a block of that number.
func hears(t *testing.T, p *peer.Peer, num uint32) {
	t.Helper()
	_ = p.SetDeadline(time.Now().Add(soon))
	for {
		b, err := peer.Until[*types.SignedBlock](p)
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
	n := p2p.StartNode(t, chain, nil)
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
	if _, err := peer.Until[*types.PackedTransaction](follower); err != nil {
		t.Errorf("the transaction was not passed on: %v", err)
	}
	if !n.Metrics().Syncing {
		t.Error("the claim was forgotten, so that nothing was tested")
	}
}

// A node that does catch up passes on its own blocks, and those only.
func TestOwnBlocksGoOutWhateverANodeIsAt(t *testing.T) {
	for _, own := range []bool{true, false} {
		chain := p2p.NewTestChain(100) // whose head is old
		others := chain.Twin()
		others.Produce(20)
		n := p2p.StartNode(t, chain, func(o *p2p.Options) {
			if own {
				o.Producers = []types.Name{types.N("prod")}
			}
		})
		follower, source := greetedPeer(t, n), greetedPeer(t, n)
		must(t, source.Send(irreversible(120)))
		r, err := peer.Until[p2p.SyncRequest](source)
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
		_ = follower.SetDeadline(time.Now().Add(soon / 4))
		if b, err := peer.Until[*types.SignedBlock](follower); err == nil {
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
