package p2p

import (
	"testing"
	"time"
)

// newMesh are nodes that are all connected with each other.
func newMesh(t *testing.T, count int, change func(*Options)) (list []*node) {
	t.Helper()
	var addresses []string
	for range count {
		n := startNode(t, newFakeChain(100), func(o *Options) {
			o.Peers = addresses
			change(o)
		})
		list, addresses = append(list, n), append(addresses, n.address)
	}
	for _, n := range list {
		n.peersAre(t, count-1)
	}
	return list
}

// spread has the first node make blocks, which all must get, and tells how often a block came to a
// node that had it.
func spread(t *testing.T, nodes []*node, blocks int) (twice uint64) {
	t.Helper()
	was := uint64(0)
	for _, n := range nodes {
		was += n.duplicateBlocks.Load()
	}
	for range blocks {
		nodes[0].chain.produce(1, 0)
		head := nodes[0].chain.head()
		for _, n := range nodes {
			eventually(t, "the block comes", func() bool { return n.chain.head() == head })
		}
		time.Sleep(5 * time.Millisecond) // for what is sent for nothing
	}
	for _, n := range nodes {
		twice += n.duplicateBlocks.Load()
	}
	return twice - was
}

// Who gets blocks twice gets notices in place of them after some, unless it is told otherwise, and all blocks
// all the same: also when the peer that they came from is gone.
func TestBlocksAreNotSentTwiceForEver(t *testing.T) {
	plain := newMesh(t, 4, func(o *Options) { o.DisableNacks = true })
	before := spread(t, plain, 40)
	nodes := newMesh(t, 4, func(o *Options) {})
	after := spread(t, nodes, 40)
	t.Logf("of 40 blocks to three nodes %d came twice with notices, %d without", after, before)
	if before < 40 || after > before/2 {
		t.Errorf("of 40 blocks to three nodes %d came twice with notices, %d without", after, before)
	}
	// The first now hears of blocks over one of the others only.
	nodes[0].stop()
	for _, n := range nodes[1:] {
		n.peersAre(t, 2)
	}
	spread(t, nodes[1:], 20)
}

// Older peers are sent blocks, whatever they have.
func TestOlderPeersGetBlocks(t *testing.T) {
	nodes := newMesh(t, 2, func(o *Options) {})
	for _, c := range *nodes[0].conns.Load() {
		c.row.Store(100)
		c.protocol.Store(protocolLeap)
	}
	spread(t, nodes, 5)
}
