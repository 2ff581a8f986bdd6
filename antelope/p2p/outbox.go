package p2p

import (
	"net"
	"slices"
	"sync"

	"tarn/antelope/types"
)

// outbox holds what is to be written to a peer: messages, then blocks that it asked
// for, then blocks and votes that are passed on to it, then transactions. A range of blocks
// is not put into it but fetched as fast as the peer reads.
type outbox struct {
	limits *Limits

	wake chan struct{}

	mu      sync.Mutex
	control [][]byte
	relayed [][]byte
	trxs    [][]byte
	bytes   int
	wanted  []types.Checksum256
	begun   uint32 // first block of the range to send
	from    uint32 // next one
	to      uint32 // last one; below from for none
	branch  bool   // of blocks that need not be irreversible, so that the end of it may go meanwhile
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

// lane is where in the outbox a frame waits.
type lane int

const (
	controlLane lane = iota // written at once
	relayedLane             // blocks and votes, which wait until the writer or [link.writeNow] is called for
	trxLane                 // transactions, which wait so, too, and let the others pass
)

// add queues a frame, which nobody changes any more, and returns how much is queued.
func (o *outbox) add(frame []byte, to lane) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.final {
		return 0
	}
	switch to {
	case trxLane:
		o.trxs = append(o.trxs, frame)
	case relayedLane:
		o.relayed = append(o.relayed, frame)
	default:
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
	if o.direct || len(o.control)+len(o.relayed)+len(o.trxs) == 0 {
		return nil // giveBack calls for the writer
	}
	if o.writing || o.final || o.bytes > o.limits.DirectBytes || o.pendingLocked() {
		o.signal()
		return nil
	}
	var frame []byte
	switch {
	case len(o.control)+len(o.trxs) == 0 && len(o.relayed) == 1:
		frame = o.relayed[0]
	case len(o.control)+len(o.relayed) == 0 && len(o.trxs) == 1:
		frame = o.trxs[0]
	default:
		frame = slices.Concat(slices.Concat(o.control...), slices.Concat(o.relayed...), slices.Concat(o.trxs...))
	}
	clear(o.control)
	clear(o.relayed)
	clear(o.trxs)
	o.control, o.relayed, o.trxs, o.bytes, o.direct = o.control[:0], o.relayed[:0], o.trxs[:0], 0, true
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
	if len(rest)+len(o.control)+len(o.relayed)+len(o.trxs) > 0 || o.final || o.pendingLocked() {
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
	o.control, o.relayed, o.trxs, o.wanted = append(o.control, frame), nil, nil, nil
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
		o.begun, o.from, o.to, o.branch = from, from, to, false
	}
	o.signal()
}

// serveBranch asks for a range of blocks to be sent in place of any other. It
// starts after last; if that is 0 after the LIB of the peer, or after what it has
// been sent if that is lower. What is already on its way is not sent twice (Spring:
// blk_send_branch): peers ask for a branch by a request, and again after a notice.
func (o *outbox) serveBranch(last, lib, head uint32) (from, to uint32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.final {
		return 1, 0
	}
	to = head
	serving := o.from <= o.to && o.to != 0
	if serving {
		lib, to = min(o.from-1, lib), max(o.to, head)
	}
	if last == 0 {
		last = lib
	}
	if serving && o.begun <= last+1 && o.to >= to {
		return 1, 0
	}
	o.begun, o.from, o.to, o.branch = last+1, last+1, to, true
	o.signal()
	return o.from, o.to
}

func (o *outbox) stopServing() {
	o.mu.Lock()
	o.from, o.to, o.wanted = 1, 0, nil
	o.mu.Unlock()
}

// giveUp ends the range if it has come to that block.
func (o *outbox) giveUp(num uint32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.from == num {
		o.from, o.to = 1, 0
	}
}

// want asks for a block by its id. It returns false for one too many.
func (o *outbox) want(id types.Checksum256) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.wanted) >= o.limits.Wanted {
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
	branch   bool // as of the outbox
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
	w := work{frames: o.control, wanted: o.wanted, from: o.from, to: o.to, branch: o.branch, final: o.final}
	if o.to == 0 {
		w.from = 1
	}
	o.control, o.wanted, o.bytes = nil, nil, 0
	if w.from > w.to && len(w.wanted) == 0 {
		w.frames = append(append(w.frames, o.relayed...), o.trxs...)
		o.relayed, o.trxs = nil, nil
	}
	for _, waiting := range [2][][]byte{o.relayed, o.trxs} {
		for _, f := range waiting {
			o.bytes += len(f)
		}
	}
	o.writing = len(w.frames) > 0 || w.final || len(w.wanted) > 0 || w.from <= w.to
	return w
}

// sentTo notes that the range was sent up to num, unless it was changed meanwhile.
func (o *outbox) sentTo(from, num uint32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.from == from && o.from <= o.to {
		o.from = num + 1
	}
	o.signal()
}
