package p2p

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"tarn/antelope/exception"
	"tarn/antelope/types"
)

// blockSender is what a peer is sent of the blocks that it asked for, as fast as it reads and its
// limit allows. They are fetched when they are written.
type blockSender struct {
	c         *conn
	rate      uint64 // bytes a second to a peer that catches up; 0 is no limit
	spare     bucket // of rate
	throttled atomic.Bool
	syncOut   atomic.Int64 // bytes
}

func (f *blockSender) handleRequest(m Request) error {
	if f.c.protocol.Load() >= protocolNack && m.Blocks.Mode == ModeNormal && len(m.Blocks.IDs) == 2 &&
		len(m.Trx.IDs) == 0 {
		f.sendNoticed(m.Blocks.IDs[0], m.Blocks.IDs[1])
		return nil
	}
	if len(m.Blocks.IDs) > 1 {
		return fmt.Errorf("Invalid request_message, req_blocks.ids.size %d, closing", len(m.Blocks.IDs))
	}
	if len(m.Trx.IDs) > 0 && (m.Trx.Mode == ModeNone || m.Trx.Mode == ModeNormal) {
		return fmt.Errorf("Invalid request_message, req_trx.ids.size %d", len(m.Trx.IDs))
	}
	switch m.Blocks.Mode {
	case ModeCatchUp:
		var id types.Checksum256
		if len(m.Blocks.IDs) > 0 {
			id = m.Blocks.IDs[0]
		}
		f.sendBranch(id)
	case ModeNormal:
		if len(m.Blocks.IDs) > 0 && !f.c.out.want(m.Blocks.IDs[0]) {
			return errors.New("the peer asks for more blocks than it reads")
		}
	case ModeNone:
		if m.Trx.Mode == ModeNone {
			f.c.syncing.Store(false)
		}
	}
	return nil
}

// sendBranch sends the blocks after a peer's head, or if that is not of our branch
// those after its last irreversible block (Leap: blk_send_branch). A head above ours is of
// another branch too: by Savanna's rules that of the most blocks need not be the best one.
// nodeos ends the connection over it, and both are without each other's blocks for half a
// minute; but it has a block before it applies it, so that it comes to this less often.
func (f *blockSender) sendBranch(id types.Checksum256) {
	info := f.c.net.chain.Info()
	if info.HeadNum == 0 {
		f.c.send(Notice{Blocks: IDs{Mode: ModeNormal}})
		return
	}
	lib := f.c.peerLIB.Load()
	if lib == 0 {
		return // no handshake yet
	}
	num := types.BlockNum(id)
	if num != 0 {
		ours, err := f.c.net.chain.BlockID(num)
		switch {
		case exception.Is(err, exception.UnknownBlock) && num <= info.LIBNum:
			f.c.infof("Peer asked for unknown block %d, sending: benign_other go away", num)
			f.c.goAway(BenignOther, types.Checksum256{})
			return
		case err != nil || ours != id:
			num = 0
		}
	}
	f.serveBranch(num, lib, info.HeadNum)
}

// serveBranch sends the blocks after last, or if that is 0 after lib, unless they are on their way.
func (f *blockSender) serveBranch(last, lib, head uint32) {
	from, to := f.c.out.serveBranch(last, lib, head)
	if from > to {
		f.c.infof("nothing to enqueue")
		return
	}
	f.c.branchOut.Store(max(f.c.branchOut.Load(), to))
	f.c.infof("enqueue %d - %d", from, to)
}

func (f *blockSender) handleSyncRequest(m SyncRequest) {
	f.c.debugf("peer requested %d to %d", m.Start, m.End)
	if m.End == 0 {
		f.c.out.stopServing()
		return
	}
	// What there is not ends the range, and the connection, when it is come to.
	if m.Start == 0 || m.Start > m.End {
		f.c.infof("enqueue sync, unable to fetch block %d, sending benign_other go away", m.Start)
		f.c.goAway(BenignOther, types.Checksum256{})
		return
	}
	f.c.out.serve(m.Start, m.End)
}

// fetch adds the blocks that the peer asked for to what is written. wait is how
// long the peer's limit forbids more of them.
func (f *blockSender) fetch(w *work) (frames net.Buffers, wait time.Duration) {
	frames = w.frames
	for _, id := range w.wanted {
		block, err := f.c.net.chain.BlockByID(id)
		switch {
		case err != nil:
			f.c.errorf("caught exception fetching block id %v: %v", id, err)
		case block == nil:
			f.c.infof("fetch block by id returned null, id %v", id)
		default:
			frames = append(frames, appendRawFrame(make([]byte, 0, len(block)+5), TypeBlock, block))
		}
	}
	if w.from > w.to {
		return frames, 0
	}
	if f.rate > 0 {
		// What is newer than the last irreversible block is not throttled.
		if wait = f.spare.spend(0); wait > 0 && (f.c.syncing.Load() || w.from <= f.c.net.chain.Info().LIBNum) {
			f.throttle(true)
			return frames, wait
		}
		f.throttle(false)
	}
	return f.fetchRange(w, frames), 0
}

// fetchRange fetches the next blocks of a range.
func (f *blockSender) fetchRange(w *work, frames net.Buffers) net.Buffers {
	limit := f.c.limits.WriteBatch
	if f.rate > 0 {
		limit = int(min(uint64(limit), f.rate/4+1))
	}
	var small []byte
	missing := false
	num, size := w.from, 0
	for ; num <= w.to && size < limit && num != 0; num++ {
		block, err := f.c.net.chain.Block(num)
		if err != nil {
			f.c.logf(slog.LevelError, "block %d: %v", num, err)
		}
		if missing = block == nil || err != nil; missing {
			break
		}
		size += len(block) + 5
		if len(block) <= f.c.limits.CopiedBlock {
			small = appendRawFrame(small, TypeBlock, block)
			continue
		}
		if len(small) > 0 {
			frames, small = append(frames, small), nil
		}
		frames = append(frames, appendRawFrame(make([]byte, 0, len(block)+5), TypeBlock, block))
	}
	if len(small) > 0 {
		frames = append(frames, small)
	}
	f.c.net.blocksOut.Add(uint64(num - w.from))
	f.syncOut.Add(int64(size))
	f.c.lastBlock.Store(time.Now().UnixNano())
	if num > w.from {
		f.c.out.sentTo(w.from, num-1)
	}
	if missing {
		f.endRange(num, w.branch)
	}
	if f.rate > 0 {
		f.spare.spend(float64(size))
	}
	return frames
}

// endRange ends a range before a block that there is not. A branch ends there, for it may have been that of
// another head: a branch of fewer blocks may be the better one. Whoever asked for a range by its numbers waits for
// all of it, and is told (Spring: enqueue_sync_block).
func (f *blockSender) endRange(num uint32, branch bool) {
	if branch {
		f.c.infof("enqueue block sync, unable to fetch block %d, resetting peer request", num)
		f.c.out.giveUp(num)
		return
	}
	f.c.infof("enqueue sync, unable to fetch block %d, sending benign_other go away", num)
	f.c.out.stopServing()
	f.c.goAway(BenignOther, types.Checksum256{})
}

func (f *blockSender) throttle(on bool) {
	if f.throttled.Swap(on) != on && on {
		f.c.debugf("throttling block sync to peer %s:%s", f.c.remoteIP, f.c.remotePort)
	}
}
