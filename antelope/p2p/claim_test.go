package p2p_test

import (
	"math"
	"sync/atomic"
	"testing"
	"time"

	"tarn/antelope/p2p"
	"tarn/antelope/p2p/lightpeer"
	"tarn/antelope/types"
)

// numberedID is an id of a block of that number.
func numberedID(num uint32) types.Checksum256 {
	return types.Checksum256{byte(num >> 24), byte(num >> 16), byte(num >> 8), byte(num), 1}
}

// irreversible claims that a block is.
func irreversible(num uint32) p2p.Notice {
	return p2p.Notice{Trx: p2p.IDs{Mode: p2p.ModeLIBCatchUp, Pending: num},
		Blocks: p2p.IDs{Mode: p2p.ModeLIBCatchUp, Pending: num, IDs: []types.Checksum256{numberedID(num)}}}
}

func head(num uint32) p2p.Notice {
	return p2p.Notice{Blocks: p2p.IDs{Mode: p2p.ModeCatchUp, Pending: num, IDs: []types.Checksum256{numberedID(num)}}}
}

// greetedPeer is a light peer that has heard the node's handshake.
func greetedPeer(t *testing.T, n *p2p.TestNode) *lightpeer.Peer {
	t.Helper()
	p := dial(t, n)
	must(t, p.SendHandshake())
	if _, err := lightpeer.Until[p2p.Handshake](p); err != nil {
		t.Fatal(err)
	}
	_ = p.SetDeadline(time.Now().Add(time.Minute))
	return p
}

// What cannot be there yet by the clock must not keep a node from its work.
func TestBlocksThatCannotBeThereYetAreNotBelieved(t *testing.T) {
	chain := p2p.NewRecentChain(100)
	n := p2p.StartNode(t, chain, nil)
	follower, liar := greetedPeer(t, n), greetedPeer(t, n)
	must(t, liar.Send(head(math.MaxUint32-4000)))
	must(t, liar.Send(irreversible(math.MaxUint32-5000)))
	n.Eventually(t, "the claim is seen through", func() bool { return n.Logged("cannot be irreversible yet") })
	if n.Metrics().Syncing {
		t.Error("it is believed")
	}
	chain.Produce(1)
	if _, err := lightpeer.Until[*types.SignedBlock](follower); err != nil {
		t.Errorf("the follower gets no blocks: %v", err)
	}
	must(t, follower.Send(head(105)))
	if _, err := lightpeer.Until[p2p.Request](follower); err != nil {
		t.Errorf("the follower's blocks are not asked for: %v", err)
	}
}

// A promise that is not kept is forgotten.
func TestAPromiseOfBlocksEnds(t *testing.T) {
	t.Parallel()
	n := p2p.StartNode(t, p2p.NewRecentChain(100), nil)
	liar, honest := greetedPeer(t, n), greetedPeer(t, n)
	must(t, liar.Send(head(120)))
	if _, err := lightpeer.Until[p2p.Request](liar); err != nil {
		t.Fatal(err)
	}
	var asked atomic.Bool
	go func() {
		for {
			r, err := lightpeer.Until[p2p.Request](honest)
			if err != nil || r.Blocks.Mode == p2p.ModeCatchUp {
				asked.Store(err == nil)
				return
			}
		}
	}()
	n.Eventually(t, "another is asked", func() bool {
		must(t, honest.Send(head(115)))
		time.Sleep(100 * time.Millisecond)
		return asked.Load()
	})
}

// Blocks that the node has don't keep up a promise of others.
func TestAPeerThatSendsOnlyKnownBlocksIsDropped(t *testing.T) {
	t.Parallel()
	chain := p2p.NewRecentChain(100)
	n := p2p.StartNode(t, chain, nil)
	liar := greetedPeer(t, n)
	must(t, liar.Send(irreversible(120)))
	r, err := lightpeer.Until[p2p.SyncRequest](liar)
	if err != nil {
		t.Fatal(err)
	}
	var all atomic.Bool
	go func() {
		for num := r.Start; num <= 100; num++ {
			if liar.Send(chain.At(num)) != nil {
				return
			}
			time.Sleep(time.Second)
		}
		all.Store(true)
	}()
	n.Eventually(t, "it is gone", func() bool { return n.Metrics().Clients == 0 })
	if all.Load() {
		t.Error("it stays as long as it has known blocks to send")
	}
	n.Eventually(t, "in sync", func() bool { return !n.Metrics().Syncing })
}
