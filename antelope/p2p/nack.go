package p2p

import (
	"errors"
	"sync/atomic"
	"time"

	"tarn/antelope/types"
)

// nacks is what two nodes tell each other of blocks that came for nothing: who has many peers gets
// each block once, and notices from the others (Spring: block_nack_message).
type nacks struct {
	c     *conn
	row   atomic.Uint32          // blocks in a row that the peer had already
	last  types.Checksum256      // that it had; the reader's
	asked atomic.Pointer[wanted] // what it was asked for after a notice; nil for nothing
	late  atomic.Bool            // it did not send that in time
	came  atomic.Int64           // when a block came, in Unix nanoseconds; 0 is never

	// Blocks up to these numbers may have come because they were asked for with others: from there, and from here.
	// A branch begins with blocks that whoever asks for it has. Spring counts these like others, and then one that
	// has got a branch gets the next blocks late: only notices tell of them, and nobody else sends them.
	branchIn, branchOut atomic.Uint32
}

// wanted is a block that a peer was asked for, and when. For a short time others are not asked for it too.
type wanted struct {
	id types.Checksum256
	at time.Time
}

// spoken tells whether both nodes know of this.
func (k *nacks) spoken() bool {
	return k.c.protocol.Load() >= protocolNack && !k.c.net.config.DisableNacks
}

// blockCame notes that the peer has sent a block.
func (c *conn) blockCame() {
	now := time.Now().UnixNano()
	c.lastBlock.Store(now)
	c.came.Store(now)
	c.net.lastBlockIn.Store(now)
}

// decline tells the peer that it sent a block for nothing, or without an id that it is to send all blocks
// again; false if there is no way to say it.
func (k *nacks) decline(id types.Checksum256) bool {
	if !k.spoken() || k.c.net.sync.absorbed() {
		return false
	}
	if num := types.BlockNum(id); num != 0 && num <= k.branchIn.Load() {
		return true
	}
	k.c.send(BlockNack{id})
	return true
}

// declines tells whether the peer is to be sent notices in place of blocks.
func (k *nacks) declines() bool { return k.row.Load() > nackThreshold && k.spoken() }

// handleBlockNack notes that the peer had a block already. What it names is of no use unless it
// is known here.
func (c *conn) handleBlockNack(m BlockNack) {
	num := types.BlockNum(m.ID)
	previous := types.BlockNum(c.nacks.last)
	c.nacks.last = m.ID
	if num == 0 {
		c.row.Store(0)
		c.debugf("received block nack reset")
		return
	}
	c.lastBlock.Store(time.Now().UnixNano())
	old := num <= c.net.chain.Info().LIBNum
	known, _ := c.net.blocks.noteSeen(m.ID, c.slot)
	if (old || known) && num > c.branchOut.Load() {
		if num-1 == previous {
			c.row.Add(1)
		} else {
			c.row.Store(0)
		}
	}
	c.debugf("received block nack #%d:%v, consecutive %d", num, m.ID, c.row.Load())
}

// handleBlockNotice asks for the blocks before one that the peer has, if they are missing too: the block
// itself is about to come from whom it was not declined. A notice of a block that is not here counts for no block:
// where a peer is must be asked for when notices are all that it sends.
func (c *conn) handleBlockNotice(m BlockNotice) error {
	n := c.net
	num := types.BlockNum(m.ID)
	if num-1 != types.BlockNum(m.Previous) {
		return errors.New("Invalid block_notice_message, closing")
	}
	info := n.chain.Info()
	if num <= info.LIBNum {
		return nil
	}
	now := time.Now()
	if known, _ := n.blocks.noteSeen(m.ID, c.slot); known || n.chain.Knows(m.ID) {
		c.lastBlock.Store(now.UnixNano())
		return nil
	}
	if n.here(m.Previous) {
		return nil
	}
	for _, o := range *n.conns.Load() {
		if w := o.asked.Load(); w != nil && w.id == m.Previous { // not for long: see checkAsked
			return nil
		}
	}
	c.infof("Received unknown block notice, requesting blocks from %d", types.BlockNum(m.Previous))
	if !c.late.Load() {
		// What it still owes stays: else it could be asked anew for one block without end.
		c.asked.CompareAndSwap(nil, &wanted{m.Previous, now})
	}
	c.decline(types.Checksum256{})
	// The blocks come from the second one on. A head that is no lower than the block is of another branch: the blocks
	// from there on would be none, or none that could be linked.
	from := info.HeadID
	if info.HeadNum >= types.BlockNum(m.Previous) {
		from = info.LIBID
	}
	c.branchIn.Store(num)
	c.send(Request{Blocks: IDs{Mode: ModeNormal, IDs: []types.Checksum256{m.Previous, from}}})
	return nil
}

// here tells whether a block is known to be good, or about to be.
func (n *Network) here(id types.Checksum256) bool { return n.blocks.has(id) || n.linkable(id) }

// checkAsked looks after peers that were asked for a block after a notice. When one does not send it, all peers are
// asked for blocks again, as others may have been told that this node had theirs already; and from then on others are
// asked beside it.
func (n *Network) checkAsked(now time.Time) {
	lib := n.chain.Info().LIBNum
	for _, c := range *n.conns.Load() {
		w := c.asked.Load()
		switch {
		case w == nil:
		case types.BlockNum(w.id) <= lib || n.here(w.id):
			c.asked.Store(nil)
		case now.Sub(w.at) > c.limits.Noticed:
			c.infof("block %d did not come after its notice, asking all peers for blocks", types.BlockNum(w.id))
			c.late.Store(true)
			c.asked.Store(nil)
			n.wantBlocks()
		}
	}
}

// handleGone asks for blocks again when a peer of whom they came is gone (Spring: connection::_close).
func (n *Network) handleGone(gone *conn) {
	came := gone.came.Load()
	if came != 0 && n.lastBlockIn.Load()-came <= int64(n.config.Limits.Recent) {
		n.wantBlocks()
	}
}

// wantBlocks asks all peers for blocks in place of notices.
func (n *Network) wantBlocks() {
	for _, c := range *n.conns.Load() {
		if c.takesBlocks() && c.current() {
			c.decline(types.Checksum256{})
		}
	}
}

// sendNoticed sends a peer the blocks that a notice told it of, from its head on; from what is
// irreversible on if the one that it misses is not, or no longer, of our branch (Spring:
// blk_send_branch_from_nack_request), or if the peer's head is above it, and so of another branch: there
// Spring sends nothing.
func (f *blockSender) sendNoticed(missing, head types.Checksum256) {
	n := f.c.net
	info := n.chain.Info()
	from := types.BlockNum(head)
	id, err := n.chain.BlockID(types.BlockNum(missing))
	if err != nil || id != missing || from > types.BlockNum(missing) {
		from = info.LIBNum
	}
	if from < max(1, info.First) || from > info.HeadNum || info.HeadNum-from >= noticedBlocks {
		f.c.infof("nothing to enqueue")
		return
	}
	f.serveBranch(from-1, from-1, info.HeadNum)
}
