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
	row   atomic.Uint32                     // blocks in a row that the peer had already
	last  types.Checksum256                 // that it had; the reader's
	asked atomic.Pointer[types.Checksum256] // block that was asked for after a notice; nil for none
	came  atomic.Int64                      // when a block came, in Unix nanoseconds; 0 is never
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
	if !k.spoken() || k.c.net.sync.syncing() {
		return false
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
	if old || c.net.blocks.noteSeen(m.ID, c.slot) {
		if num-1 == previous {
			c.row.Add(1)
		} else {
			c.row.Store(0)
		}
	}
	c.debugf("received block nack #%d:%v, consecutive %d", num, m.ID, c.row.Load())
}

// handleBlockNotice asks for the blocks before one that the peer has, if they are missing too: the block
// itself is about to come from whom it was not declined.
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
	c.lastBlock.Store(time.Now().UnixNano())
	if n.blocks.noteSeen(m.ID, c.slot) || n.chain.Knows(m.ID) || n.blocks.has(m.Previous) || n.linkable(m.Previous) {
		return nil
	}
	for _, o := range *n.conns.Load() {
		if asked := o.asked.Load(); asked != nil && *asked == m.Previous {
			return nil
		}
	}
	c.infof("Received unknown block notice, requesting blocks from %d", types.BlockNum(m.Previous))
	c.asked.Store(&m.Previous)
	c.decline(types.Checksum256{})
	c.send(Request{Blocks: IDs{Mode: ModeNormal, IDs: []types.Checksum256{m.Previous, info.HeadID}}})
	return nil
}

// wantBlocks asks all peers for blocks again when one of whom they came is gone (Spring:
// connection::_close).
func (n *Network) wantBlocks(gone *conn) {
	came := gone.came.Load()
	if came == 0 || n.lastBlockIn.Load()-came > int64(n.config.Limits.Recent) {
		return
	}
	for _, c := range *n.conns.Load() {
		if c.takesBlocks() && c.current() {
			c.decline(types.Checksum256{})
		}
	}
}

// sendNoticed sends a peer the blocks that a notice told it of, from its head on; from what is
// irreversible on if the one that it misses is not, or no longer, of our branch (Spring:
// blk_send_branch_from_nack_request).
func (f *blockSender) sendNoticed(missing, head types.Checksum256) {
	n := f.c.net
	info := n.chain.Info()
	from := types.BlockNum(head)
	if id, err := n.chain.BlockID(types.BlockNum(missing)); err != nil || id != missing {
		from = info.LIBNum
	}
	if from < max(1, info.First) || from > info.HeadNum || info.HeadNum-from >= noticedBlocks {
		f.c.infof("nothing to enqueue")
		return
	}
	from, to := f.c.out.serveBranch(from-1, from-1, info.HeadNum)
	f.c.infof("enqueue %d - %d", from, to)
}
