package p2p

import (
	"log/slog"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	"tarn/antelope/types"
)

// Amounts of data that are written at once.
const (
	writeBatch  = 256 << 10 // bytes of blocks fetched for a peer that catches up
	copiedBlock = 16 << 10  // blocks up to this size are gathered in one buffer
	writeTime   = 30 * time.Second
	slowestPeer = 8 << 10  // bytes a second that a peer must be able to read
	directBytes = 64 << 10 // that are written without the writer
	maxWanted   = 64       // blocks that a peer may ask for by id before it got them
)

// outbox holds what is to be written to a peer: messages, then blocks that it asked
// for, then what is passed on to it. A range of blocks is not put into it but
// fetched as fast as the peer reads.
type outbox struct {
	wake chan struct{}

	mu      sync.Mutex
	control [][]byte
	relayed [][]byte
	bytes   int
	wanted  []types.Checksum256
	from    uint32 // next block of the range to send
	to      uint32 // its last one; below from for none
	final   bool   // nothing may follow what is there
	writing bool   // the writer is at work
	direct  bool   // somebody else writes
}

func (o *outbox) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// add queues a frame, which nobody changes any more, and returns how much is queued.
// What is relayed stays until the writer or [conn.writeNow] is called for.
func (o *outbox) add(frame []byte, relayed bool) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.final {
		return 0
	}
	if relayed {
		o.relayed = append(o.relayed, frame)
	} else {
		o.control = append(o.control, frame)
		o.signal()
	}
	o.bytes += len(frame)
	return o.bytes
}

// takeFew takes all that is queued, as one frame, if nobody else writes and it is
// no more than a few messages. [outbox.giveBack] must follow. Otherwise the writer
// is called for what there is.
func (o *outbox) takeFew() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.direct || len(o.control)+len(o.relayed) == 0 {
		return nil // giveBack calls for the writer
	}
	if o.writing || o.final || o.bytes > directBytes || o.pendingLocked() {
		o.signal()
		return nil
	}
	var frame []byte
	if len(o.control) == 0 && len(o.relayed) == 1 {
		frame = o.relayed[0]
	} else {
		frame = slices.Concat(slices.Concat(o.control...), slices.Concat(o.relayed...))
	}
	clear(o.control)
	clear(o.relayed)
	o.control, o.relayed, o.bytes, o.direct = o.control[:0], o.relayed[:0], 0, true
	return frame
}

// giveBack takes what was not written.
func (o *outbox) giveBack(rest []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.direct = false
	if len(rest) > 0 {
		o.control = slices.Insert(o.control, 0, rest)
		o.bytes += len(rest)
	}
	if len(rest) > 0 || len(o.control) > 0 || len(o.relayed) > 0 || o.final || o.pendingLocked() {
		o.signal()
	}
}

// pendingLocked tells whether blocks are wanted.
func (o *outbox) pendingLocked() bool {
	return len(o.wanted) > 0 || o.from <= o.to && o.to != 0
}

// last queues a frame that nothing follows, in place of all that is not urgent.
func (o *outbox) last(frame []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.final {
		return
	}
	o.control, o.relayed, o.wanted = append(o.control, frame), nil, nil
	o.bytes += len(frame)
	o.from, o.to, o.final = 1, 0, true
	o.signal()
}

func (o *outbox) isLast() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.final
}

func (o *outbox) size() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.bytes
}

// serve asks for a range of blocks to be sent. If one is being sent it goes on, to
// the later of both ends.
func (o *outbox) serve(from, to uint32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.final {
		return
	}
	if o.from <= o.to && o.to != 0 {
		o.to = max(o.to, to)
	} else {
		o.from, o.to = from, to
	}
	o.signal()
}

// serveBranch asks for a range of blocks to be sent in place of any other. It
// starts after last; if that is 0 after the LIB of the peer, or after what it has
// been sent if that is lower.
func (o *outbox) serveBranch(last, lib, head uint32) (from, to uint32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.final {
		return 1, 0
	}
	to = head
	if o.from <= o.to && o.to != 0 {
		lib, to = min(o.from-1, lib), max(o.to, head)
	}
	if last == 0 {
		last = lib
	}
	o.from, o.to = last+1, to
	o.signal()
	return o.from, o.to
}

func (o *outbox) stopServing() {
	o.mu.Lock()
	o.from, o.to, o.wanted = 1, 0, nil
	o.mu.Unlock()
}

// want asks for a block by its id. It returns false for one too many.
func (o *outbox) want(id types.Checksum256) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.wanted) >= maxWanted {
		return false
	}
	if !o.final {
		o.wanted = append(o.wanted, id)
		o.signal()
	}
	return true
}

// work is what the writer does next.
type work struct {
	frames   net.Buffers
	wanted   []types.Checksum256
	from, to uint32
	final    bool
}

// take empties the queues. What is relayed waits until the blocks before it have
// been sent.
func (o *outbox) take() work {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.writing = false
	if o.direct {
		return work{from: 1} // giveBack calls again
	}
	w := work{frames: o.control, wanted: o.wanted, from: o.from, to: o.to, final: o.final}
	if o.to == 0 {
		w.from = 1
	}
	o.control, o.wanted, o.bytes = nil, nil, 0
	if w.from > w.to && len(w.wanted) == 0 {
		w.frames = append(w.frames, o.relayed...)
		o.relayed = nil
	}
	for _, f := range o.relayed {
		o.bytes += len(f)
	}
	o.writing = len(w.frames) > 0 || w.final || len(w.wanted) > 0 || w.from <= w.to
	return w
}

// sentTo notes that the range was sent up to num, unless it was changed meanwhile.
// It returns whether it was still wanted.
func (o *outbox) sentTo(from, num uint32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.from == from && o.from <= o.to {
		o.from = num + 1
	}
	o.signal()
}

// encode makes the frame of a message of this package.
func (c *conn) encode(m Message) []byte {
	frame, err := AppendFrame(nil, m)
	if err != nil {
		c.errorf("%v", err) // a fault of ours
	}
	return frame
}

// send queues a message.
func (c *conn) send(m Message) { c.enqueue(c.encode(m), false) }

func (c *conn) enqueue(frame []byte, relayed bool) {
	if queued := c.out.add(frame, relayed); queued > hardQueue {
		c.warnf("write_queue full %d bytes, giving up on connection", queued)
		c.close(true, "write queue full")
	}
}

// writeNow writes what is queued as far as the kernel takes it at once, and leaves
// the rest to the writer. With hundreds of peers it costs more to wake a goroutine
// for each of them than to write a few hundred bytes.
func (c *conn) writeNow() {
	if c.raw == nil {
		c.out.signal()
		return
	}
	frame := c.out.takeFew()
	if frame == nil {
		return
	}
	n := 0
	err := c.raw.Control(func(fd uintptr) { n, _ = syscall.Write(int(fd), frame) })
	if err != nil || n < 0 {
		n = 0 // the writer finds out why
	}
	c.countOut(int64(n), time.Now())
	c.out.giveBack(frame[n:])
}

// write sends what is queued until the connection ends, or until the last message
// was written.
func (c *conn) write() error {
	var deadline time.Time
	for {
		select {
		case <-c.ended.Done():
			return nil
		case <-c.out.wake:
		}
		for c.ended.Err() == nil {
			w := c.out.take()
			frames, wait := c.fetch(&w)
			if len(frames) > 0 {
				if err := c.flush(frames, &deadline); err != nil {
					return err
				}
			}
			if w.final {
				return nil
			}
			if wait > 0 {
				c.wakeIn(wait)
			}
			if len(frames) == 0 {
				break
			}
		}
	}
}

// wakeIn makes the writer look again later, when a limit of rate allows more.
func (c *conn) wakeIn(d time.Duration) {
	time.AfterFunc(d, c.out.signal)
}

// flush writes frames. deadline is that of the socket, which is moved only when
// there is not much left of it: that costs as much as a small write.
func (c *conn) flush(frames net.Buffers, deadline *time.Time) (err error) {
	size := 0
	for _, f := range frames {
		size += len(f)
	}
	now := time.Now()
	need := writeTime + time.Duration(size/slowestPeer)*time.Second
	if deadline.Before(now.Add(need)) {
		*deadline = now.Add(need + writeTime/2)
		_ = c.socket.SetWriteDeadline(*deadline) // closed is found by the write
	}
	var n int64
	if len(frames) == 1 {
		var k int
		k, err = c.socket.Write(frames[0])
		n = int64(k)
	} else {
		n, err = frames.WriteTo(c.socket)
	}
	c.countOut(n, now)
	return err
}

func (c *conn) countOut(n int64, now time.Time) {
	c.bytesOut.Add(n)
	c.lastOut.Store(now.UnixNano())
	c.net.bytesOut.Add(uint64(n))
}

// fetch adds the blocks that the peer asked for to what is written. wait is how
// long the peer's limit forbids more of them.
func (c *conn) fetch(w *work) (frames net.Buffers, wait time.Duration) {
	frames = w.frames
	for _, id := range w.wanted {
		block, err := c.net.chain.BlockByID(id)
		switch {
		case err != nil:
			c.errorf("caught exception fetching block id %v: %v", id, err)
		case block == nil:
			c.infof("fetch block by id returned null, id %v", id)
		default:
			frames = append(frames, appendRawFrame(make([]byte, 0, len(block)+5), TypeBlock, block))
		}
	}
	if w.from > w.to {
		return frames, 0
	}
	if c.rate > 0 {
		// What is newer than the last irreversible block is not throttled.
		if wait = c.spare.spend(0); wait > 0 && (c.syncing.Load() || w.from <= c.net.chain.Info().LIBNum) {
			c.throttle(true)
			return frames, wait
		}
		c.throttle(false)
	}
	return c.fetchRange(w, frames), 0
}

// fetchRange fetches the next blocks of a range.
func (c *conn) fetchRange(w *work, frames net.Buffers) net.Buffers {
	limit := writeBatch
	if c.rate > 0 {
		limit = int(min(uint64(limit), c.rate/4+1))
	}
	var small []byte
	num, size := w.from, 0
	for ; num <= w.to && size < limit && num != 0; num++ {
		block, err := c.net.chain.Block(num)
		if err != nil || block == nil {
			c.infof("enqueue sync, unable to fetch block %d, sending benign_other go away", num)
			if err != nil {
				c.logf(slog.LevelError, "block %d: %v", num, err)
			}
			c.out.stopServing()
			c.goAway(BenignOther, types.Checksum256{})
			break
		}
		size += len(block) + 5
		if len(block) <= copiedBlock {
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
	c.net.blocksOut.Add(uint64(num - w.from))
	c.syncOut.Add(int64(size))
	c.lastBlock.Store(time.Now().UnixNano())
	if num > w.from {
		c.out.sentTo(w.from, num-1)
	}
	if c.rate > 0 {
		c.spare.spend(float64(size))
	}
	return frames
}

func (c *conn) throttle(on bool) {
	if c.throttled.Swap(on) != on && on {
		c.debugf("throttling block sync to peer %s:%s", c.remoteIP, c.remotePort)
	}
}
