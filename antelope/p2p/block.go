package p2p

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"time"

	"tarn/antelope/exception"
	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// handleBlock takes a block. One that is known costs a hash and a look.
func (c *conn) handleBlock(frame []byte, r *serial.Reader) error {
	n := c.net
	encoded := frame[r.Offset():]
	var h types.BlockHeader
	if h.Read(r); r.Err() != nil {
		return r.Err()
	}
	id := h.ID()
	num := types.BlockNum(id)
	n.blocksIn.Add(1)
	c.lastReceived.Store(num)
	if c.syncing.Load() && time.Since(h.Timestamp.TimePoint().Time()) < blockInterval {
		c.syncing.Store(false) // who has a block of now catches up no more
	}
	if n.sync.syncing() {
		if n.sync.expects(c, num) {
			return c.handleSyncBlock(encoded)
		}
		if n.sync.absorbed() {
			return c.spendUseless(0) // it comes again later, in a range
		}
	}
	if known, first := n.blocks.noteSeen(id, c.slot); known && !n.gone(id) {
		n.duplicateBlocks.Add(1)
		c.rejected.reset() // it is as good as another's
		n.sync.came(id)
		c.decline(id)
		if first { // the peer could not know that this node has it, however many such blocks there are
			return nil
		}
		return c.spendUseless(0)
	}
	info := n.chain.Info()
	if c.debugging() {
		c.debugf("received block %d, id %s..., latency: %dms, head %d", num, shortID(id),
			time.Since(h.Timestamp.TimePoint().Time()).Milliseconds(), info.HeadNum)
	}
	if num <= info.LIBNum {
		c.infof("received block %d less than lib %d", num, info.LIBNum)
		if !c.decline(id) {
			c.send(SyncRequest{})
			c.sendHandshake()
		}
		return c.spendUseless(0)
	}
	if n.blocks.wasRefused(encoded, time.Now()) {
		return c.spendUseless(len(encoded))
	}
	b, err := c.readBlock(encoded)
	if err != nil {
		return err
	}
	return c.newBlock(b)
}

// spendUseless counts what the peer sent for nothing, by the bytes that were worked
// through.
func (c *conn) spendUseless(bytes int) error {
	if c.useless.take(1 + float64(bytes/c.limits.UselessUnit)) {
		return nil
	}
	return errors.New("the peer sent too many blocks that this node had already")
}

// readBlock decodes a block, and refuses signatures that blocks may not have.
func (c *conn) readBlock(encoded []byte) (*Block, error) {
	signed := new(types.SignedBlock)
	r := serial.NewReader(encoded)
	if signed.Read(r); r.Err() != nil {
		return nil, r.Err()
	}
	more, err := signed.ExtractExtensions()
	if err != nil {
		return nil, err
	}
	for _, s := range append(more.Signatures, signed.ProducerSignature) {
		if s.Type == types.WebAuthn {
			return nil, errors.New("WebAuthn signed block received, closing connection")
		}
	}
	b := NewBlock(signed)
	b.size = len(encoded)
	return b, nil
}

// handleSyncBlock takes the next block of a range.
func (c *conn) handleSyncBlock(encoded []byte) error {
	// What this node needs for the block is not the peer's time.
	begin := time.Now()
	c.delivering.Store(true)
	defer func() { c.net.sync.endDelivery(c, begin) }()
	b, err := c.readBlock(encoded)
	if err != nil {
		return err
	}
	// Keys are found for nobody but a scheduled producer.
	if c.net.checkHeader(b) {
		c.net.sync.proven.Store(true)
		if err := c.net.prepare(b); err != nil {
			c.net.badBlock(c, b, err)
			return nil
		}
	}
	if !c.net.sync.receive(c, b) {
		return c.spendUseless(0)
	}
	return nil
}

// checkHeader tells whether a block that is news follows one that is known, with a good
// header. What is wrong with it is found again when it is applied.
func (n *Network) checkHeader(b *Block) bool {
	if n.chain.Knows(b.ID) {
		return false
	}
	linked, err := n.chain.CheckHeader(b)
	return linked && err == nil
}

// prepare prepares a block that was checked, unless that is done.
func (n *Network) prepare(b *Block) error {
	if b.prepared.Load() {
		return nil
	}
	err := n.chain.Prepare(b)
	b.prepared.Store(err == nil)
	return err
}

// newBlock checks a block that nobody sent before, passes it on, and gives it to
// the chain.
func (c *conn) newBlock(b *Block) error {
	n := c.net
	if !n.blocks.begin(b.ID, c) {
		return nil // another connection was faster
	}
	linked, err := n.chain.CheckHeader(b)
	if err != nil {
		n.blocks.forget(b.ID)
		n.badBlock(c, b, err)
		return nil
	}
	if linked {
		c.debugf("validated block header, broadcasting immediately, blk num = %d, id = %v", b.Num, b.ID)
		n.blocks.add(b.ID, c)
		c.promised.keep()
		n.broadcastBlock(b)
		n.votes.blockCame(b.ID)
		if err := n.prepare(b); err != nil {
			n.refuse(c, b, err)
			n.countRejection(c, b.Num)
			return nil
		}
		c.rejected.reset()
	} else if !n.linkable(b.Signed.Previous) {
		n.blocks.endTransit(b.ID)
		c.debugf("unlinkable block %d, id %s...", b.Num, shortID(b.ID))
		n.blocks.hold(queued{block: b, from: c})
		if !n.linkable(b.Signed.Previous) || !n.blocks.unhold(b) {
			if !n.sync.absorbed() { // else what is missing has been asked for
				n.countRejection(c, b.Num)
			}
			return c.spendUseless(b.size)
		}
		n.blocks.begin(b.ID, c)
	}
	n.queue.push(queued{block: b, from: c, checked: linked})
	c.delivering.Store(true)
	n.queue.room(c.ended)
	c.delivering.Store(false)
	return nil
}

// gone tells whether the chain has dropped a block for want of room, whose header was checked. Such a block may come
// again. The order of the questions matters: a block is on its way until it is known, and known until it is final.
func (n *Network) gone(id types.Checksum256) bool {
	return !n.blocks.underWay(id) && !n.chain.Knows(id) && types.BlockNum(id) > n.chain.Info().LIBNum
}

// linkable tells whether the block before another is known or about to be. The order of
// the questions matters: a block is on its way until it is known.
func (n *Network) linkable(previous types.Checksum256) bool {
	return n.blocks.underWay(previous) || n.chain.Knows(previous)
}

// applyBlocks gives blocks to the chain, one after the other.
func (n *Network) applyBlocks(ctx context.Context) {
	for {
		q, ok := n.queue.pop(ctx)
		if !ok {
			return
		}
		if n.early(q) {
			n.log.Debug(fmt.Sprintf("block #%d %s... waits for the one before it", q.block.Num, shortID(q.block.ID)))
			n.blocks.endTransit(q.block.ID)
			n.blocks.hold(q)
			n.queue.endApply()
			continue
		}
		if q.synced { // else that was done when it came
			n.blocks.begin(q.block.ID, q.from)
		}
		err := n.apply(ctx, q)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			n.blocks.add(q.block.ID, q.from) // as long as it is on its way, so that it is known all the time
		}
		n.blocks.endTransit(q.block.ID)
		n.queue.endApply()
		if err != nil {
			n.notApplied(q, err)
			continue
		}
		for _, w := range n.blocks.children(q.block.ID) {
			n.log.Debug(fmt.Sprintf("retrying previous unlinkable block #%d %s...", w.block.Num, shortID(w.block.ID)))
			if n.blocks.begin(w.block.ID, w.from) {
				n.queue.push(w)
			}
		}
		n.sync.noteApplied(q.from, q.block)
	}
}

// early tells whether the block before is still being prepared, or waits for one that is:
// that one came over another connection, and this one has overtaken it.
func (n *Network) early(q queued) bool {
	previous := q.block.Signed.Previous
	return !q.synced && !n.chain.Knows(previous) && (n.blocks.underWay(previous) || n.blocks.waits(previous))
}

// checkAhead checks the headers of blocks of ranges while those before them are
// applied, and has those prepared that could not be when they came. What it finds wrong
// is found again when their turn comes.
func (n *Network) checkAhead(ctx context.Context) {
	var helpers sync.WaitGroup
	defer helpers.Wait()
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	for {
		q, ok := n.queue.next(ctx)
		if !ok {
			return
		}
		if !q.synced || !n.checkHeader(q.block) || q.block.prepared.Load() {
			continue
		}
		free <- struct{}{}
		helpers.Go(func() {
			_ = n.prepare(q.block) // see above
			<-free
		})
	}
}

func (n *Network) apply(ctx context.Context, q queued) error {
	b := q.block
	if b.Num <= n.chain.Info().LIBNum || n.chain.Knows(b.ID) {
		return nil
	}
	if n.checkHeader(b) { // Apply says what is wrong if not
		if err := n.prepare(b); err != nil {
			return err
		}
	}
	err := n.chain.Apply(ctx, b)
	switch {
	case err == nil:
		q.from.unique.Add(1)
	case b.Num <= n.chain.Info().LIBNum:
		return nil // it has been overtaken, which is nobody's fault
	}
	return err
}

// notApplied deals with a block that the chain refused.
func (n *Network) notApplied(q queued, err error) {
	unlinkable := exception.Is(err, exception.UnlinkableBlock)
	switch {
	case unlinkable:
		n.blockError(slog.LevelInfo, "unlinkable_block_exception", q.from, q.block, err)
		if !q.synced {
			n.blocks.hold(q)
		}
	case ofBlock(err):
		// The peer could not know: it passes blocks on before it applies them, and so do
		// we. Whom a range was asked of had applied it, or says so.
		n.refuse(q.from, q.block, err)
		if q.synced {
			q.from.finalf(slog.LevelWarn, "block %d of a range not accepted, closing connection: %v", q.block.Num, err)
			q.from.goAway(BenignOther, types.Checksum256{})
			n.shun(q.from)
			n.sync.handleRefusal(q.from, false)
			return
		}
	default: // it may be us
		n.blocks.forget(q.block.ID)
		n.blockError(slog.LevelWarn, "block exception", q.from, q.block, err)
	}
	if n.sync.handleRefusal(q.from, unlinkable && q.synced) {
		q.from.finalf(slog.LevelWarn,
			"block %d of a range does not follow what is irreversible here, closing connection", q.block.Num)
		q.from.goAway(Unlinkable, types.Checksum256{})
		q.from.noRetry.Store(uint32(BenignOther))
		n.shun(q.from)
		return
	}
	n.countRejection(q.from, q.block.Num)
}

// ofBlock tells whether a block was refused for what it is, and not for the time or for
// a trouble of this node.
func ofBlock(err error) bool {
	return exception.Of(err) != nil && !exception.Is(err, exception.BlockFromTheFuture, exception.ForkDatabase,
		exception.Database, exception.DatabaseGuard)
}

// refuse notes that the chain refused a block, so that further copies of it are neither
// applied nor passed on.
func (n *Network) refuse(c *conn, b *Block, err error) {
	n.badBlocks.Add(1)
	n.blocks.refuse(b, time.Now())
	n.blockError(slog.LevelInfo, "block_validate_exception", c, b, err)
}

func (n *Network) blockError(level slog.Level, what string, c *conn, b *Block, err error) {
	n.log.logLimited(level, fmt.Sprintf("%s connection %d: #%d %s...: %v", what, c.id, b.Num, shortID(b.ID), err))
}

// badBlock sends a peer away for a block that it should not have passed on: what is
// wrong can be seen before the block is applied. It may come back, for it could be our
// fault, but not at once.
func (n *Network) badBlock(c *conn, b *Block, err error) {
	n.badBlocks.Add(1)
	n.blockError(slog.LevelInfo, "block_validate_exception", c, b, err)
	if exception.Is(err, exception.BlockFromTheFuture) {
		n.countRejection(c, b.Num)
		return
	}
	c.finalf(slog.LevelWarn, "block %d not accepted, closing connection: %v", b.Num, err)
	c.goAway(Validation, types.Checksum256{})
	c.noRetry.Store(uint32(BenignOther))
	n.shun(c)
}

// countRejection counts a refused block against its peer, and asks where the peer is
// (Leap: sync_manager::rejected_block).
func (n *Network) countRejection(c *conn, num uint32) {
	if c.ended.Err() != nil {
		return // the block waited longer than its sender
	}
	if c.rejected.countRejection(time.Now()) {
		c.finalf(slog.LevelWarn, "block %d not accepted, closing connection", num)
		c.close(true, "too many blocks not accepted")
		return
	}
	c.debugf("rejected block %d, sending handshake", num)
	c.sendHandshake()
}

// broadcastBlock passes a block on to the peers that are not known to have it. Nothing
// that peers claim keeps a block of an own producer back.
func (n *Network) broadcastBlock(b *Block) {
	own := slices.Contains(n.config.Producers, b.Signed.Producer)
	if n.sync.absorbed() && !own {
		return
	}
	now := time.Now().UnixNano()
	for _, c := range n.blocks.spread(b, *n.conns.Load()) {
		c.lastBlock.Store(now)
		if c.peerLIB.Load() < b.Num {
			if !own && c.declines() {
				c.debugf("bcast block_notice %d", b.Num)
				c.send(BlockNotice{Previous: b.Signed.Previous, ID: b.ID})
				continue
			}
			if c.debugging() {
				c.debugf("bcast block %d", b.Num)
			}
			c.enqueue(b.frame(), relayedLane)
			c.writeNow()
		}
	}
}
