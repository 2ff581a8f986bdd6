package p2p

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tarn/antelope/types"
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
	var nodes []*node
	after := before
	for try := 0; try < 3 && after > before/2; try++ { // a node that stands still has others sent blocks again
		nodes = newMesh(t, 4, func(o *Options) {})
		after = spread(t, nodes, 40)
		t.Logf("of 40 blocks to three nodes %d came twice with notices, %d without", after, before)
	}
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

// notice tells all peers of blocks that are not there, the first of which follows one that they lack.
func (n *node) notice(previous types.Checksum256, count int) {
	for range count {
		invented := previous
		invented[3]++ // its number
		invented[31] = ^invented[31]
		for _, c := range *n.conns.Load() {
			c.send(BlockNotice{Previous: previous, ID: invented})
		}
		previous = invented
	}
}

// told are a node, honest ones that have each block and send it notices, since the stranger was first with some
// blocks before, and the stranger.
type told struct {
	behind, stranger *node
	honest           []*node
}

func newTold(t *testing.T, keepAlive time.Duration) *told {
	behind := startNode(t, newFakeChain(100), func(o *Options) { o.KeepAlive = keepAlive })
	to := func(o *Options) { o.KeepAlive, o.Peers = keepAlive, []string{behind.address} }
	n := &told{behind: behind,
		honest:   []*node{startNode(t, newFakeChain(100), to), startNode(t, newFakeChain(100), to)},
		stranger: startNode(t, newFakeChain(100), to)}
	behind.peersAre(t, 3)
	for _, o := range append(n.honest, n.stranger) {
		o.peersAre(t, 1)
	}
	n.decline()
	return n
}

// decline is what the node told them after it had their blocks already.
func (n *told) decline() {
	for _, o := range append(n.honest, n.stranger) {
		for _, c := range *o.conns.Load() {
			c.row.Store(nackThreshold + 1)
		}
	}
}

// makeOne has both honest nodes have a new block.
func (n *told) makeOne() types.Checksum256 {
	c := n.honest[0].chain
	c.mu.Lock()
	b := NewBlock(c.makeLocked(types.N("prod"), 0))
	c.mu.Unlock()
	for _, o := range n.honest {
		o.chain.mu.Lock()
		o.chain.addLocked(b.Signed)
		o.chain.mu.Unlock()
		o.BlockAccepted(b)
	}
	return b.ID
}

// Who tells of blocks and does not send them keeps others from being asked for a moment.
func TestNoticesThatNothingFollowsKeepNobodyFromBeingAsked(t *testing.T) {
	n := newTold(t, time.Hour) // no handshake brings what notices must bring
	for _, notices := range []int{1, 2, 1} {
		n.decline()
		for range 15 {
			id := n.makeOne()
			time.Sleep(20 * time.Millisecond)
			n.stranger.notice(id, notices)
			time.Sleep(80 * time.Millisecond)
		}
		eventually(t, fmt.Sprintf("with %d notices for a block it is not far behind", notices), func() bool {
			return n.honest[0].chain.head()-n.behind.chain.head() <= 3
		})
	}
}

// When a block that was asked for does not come in time all are asked for blocks again, and who did not send it counts
// no more: others are asked at once.
func TestWhoIsAskedInVainCountsNoMore(t *testing.T) {
	n := newTold(t, DefaultOptions().KeepAlive) // a handshake brings what nothing but notices tells of
	row := func(o *node) uint32 { return (*o.conns.Load())[0].row.Load() }
	n.stranger.notice(n.makeOne(), 1)
	eventually(t, "all are asked for blocks again",
		func() bool { return row(n.honest[0]) == 0 && row(n.honest[1]) == 0 })
	n.makeOne()
	eventually(t, "the blocks come", func() bool { return n.behind.chain.head() == n.honest[0].chain.head() })
	// What the node says to a late copy of a block may have an honest node send the next one whole: then
	// the stranger need not be asked, and another block is tried.
	var missing types.Checksum256
	var tried time.Time
	eventually(t, "the stranger is asked", func() bool {
		if time.Since(tried) > time.Second {
			tried = time.Now()
			n.decline()
			missing = n.makeOne()
			n.stranger.notice(missing, 1)
		}
		return strings.Contains(n.behind.log.String(),
			fmt.Sprintf("requesting blocks from %d", types.BlockNum(missing)))
	})
	for _, c := range *n.behind.conns.Load() {
		if w := c.asked.Load(); w != nil && w.id == missing {
			t.Error("the stranger keeps others from being asked")
		}
	}
	n.makeOne()
	eventually(t, "the blocks come", func() bool { return n.behind.chain.head() == n.honest[0].chain.head() })
}
