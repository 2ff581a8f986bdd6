package p2p

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"tarn/antelope/types"
)

// blockIndex knows which peers have which recent blocks, which blocks are on their
// way to the chain, and keeps a few whose predecessor has not come.
type blockIndex struct {
	limits *Limits

	mu         sync.Mutex
	peers      map[types.Checksum256]*blockEntry
	siblings   map[origin]siblings
	way        map[types.Checksum256]bool
	bad        map[types.Checksum256]time.Time // hashes of whole blocks that the chain refused, and when
	unlinkable []queued                        // that wait for the block before
	held       int                             // bytes of them
}

// blockEntry is what is known of a block.
type blockEntry struct {
	slotSet       // of the peers that have it
	good     bool // its header was checked
	passed   bool // it may be passed on
	keptBack bool // it may not: there are enough of its producer and time
}

// origin is what an honest producer makes one block of.
type origin struct {
	producer types.Name
	time     types.BlockTimestamp
}

// siblings are the blocks of an origin that were passed on.
type siblings struct {
	count  int
	newest uint32 // number of the highest
}

func newBlockIndex(l *Limits) *blockIndex {
	return &blockIndex{limits: l, peers: map[types.Checksum256]*blockEntry{}, siblings: map[origin]siblings{},
		way: map[types.Checksum256]bool{}, bad: map[types.Checksum256]time.Time{}}
}

// noteSeen tells whether a block is known to be good or on its way, and if so that the
// peer has it; first says that this is news.
func (x *blockIndex) noteSeen(id types.Checksum256, slot int) (known, first bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	set := x.peers[id]
	if set == nil {
		return false, false
	}
	first = set.add(slot)
	return set.good || x.way[id], first
}

// has tells whether a block is known to be good.
func (x *blockIndex) has(id types.Checksum256) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	set := x.peers[id]
	return set != nil && set.good
}

// begin puts a block that a peer has on its way, and tells whether it was not there.
func (x *blockIndex) begin(id types.Checksum256, from *conn) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.set(id).addPeer(from)
	if x.way[id] {
		return false
	}
	x.way[id] = true
	return true
}

func (x *blockIndex) set(id types.Checksum256) *blockEntry {
	set := x.peers[id]
	if set == nil {
		set = new(blockEntry)
		x.peers[id] = set
	}
	return set
}

// addPeer notes that a peer has the block, unless it is gone: its slot may be another's.
func (e *blockEntry) addPeer(c *conn) {
	if c.ended.Err() == nil {
		e.add(c.slot)
	}
}

// add notes that a block is good and that a peer has it.
func (x *blockIndex) add(id types.Checksum256, from *conn) {
	x.mu.Lock()
	defer x.mu.Unlock()
	set := x.set(id)
	set.good = true
	set.addPeer(from)
}

// endTransit takes a block off its way.
func (x *blockIndex) endTransit(id types.Checksum256) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.way, id)
	if set := x.peers[id]; set != nil && !set.good {
		delete(x.peers, id)
	}
}

// refuse notes that the chain refused a block. Others with its id may be good: it says
// nothing of the signatures.
func (x *blockIndex) refuse(b *Block, now time.Time) {
	x.forget(b.ID)
	hash := types.Hash(b.Signed.Append(nil))
	x.mu.Lock()
	defer x.mu.Unlock()
	for old, at := range x.bad {
		if len(x.bad) >= x.limits.RefusedBlocks || now.Sub(at) > x.limits.RefusedTime {
			delete(x.bad, old)
		}
	}
	x.bad[hash] = now
}

// wasRefused tells whether the chain has just refused a block, which is packed.
func (x *blockIndex) wasRefused(block []byte, now time.Time) bool {
	x.mu.Lock()
	none := len(x.bad) == 0
	x.mu.Unlock()
	if none {
		return false
	}
	hash := types.Hash(block)
	x.mu.Lock()
	defer x.mu.Unlock()
	at, ok := x.bad[hash]
	return ok && now.Sub(at) <= x.limits.RefusedTime
}

// forget lets a block come again.
func (x *blockIndex) forget(id types.Checksum256) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.way, id)
	delete(x.peers, id)
}

func (x *blockIndex) underWay(id types.Checksum256) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.way[id]
}

// spread returns the connections that a block is to be passed on to, and notes that
// they have it. Of one origin few are passed on: a producer can sign very many that are all good, and who passed on
// all would be taken by its peers for who made them. Who needs another, because a block follows it, asks for it.
func (x *blockIndex) spread(b *Block, conns []*conn) (to []*conn) {
	x.mu.Lock()
	defer x.mu.Unlock()
	set := x.set(b.ID)
	set.good = true
	if !set.passed {
		from := origin{b.Signed.Producer, b.Signed.Timestamp}
		s := x.siblings[from]
		if set.keptBack = s.count >= x.limits.Siblings; set.keptBack {
			return nil
		}
		set.passed = true
		x.siblings[from] = siblings{s.count + 1, max(s.newest, b.Num)}
	}
	for _, c := range conns {
		if c.takesBlocks() && c.current() && set.add(c.slot) {
			to = append(to, c)
		}
	}
	return to
}

// keptBack tells whether a block is not passed on, since there are many of its producer and time.
func (x *blockIndex) keptBack(id types.Checksum256) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	set := x.peers[id]
	return set != nil && set.keptBack
}

// forgetPeer forgets what a connection that has ended had.
func (x *blockIndex) forgetPeer(slot int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, set := range x.peers {
		set.remove(slot)
	}
}

// expire forgets blocks up to the last irreversible one, and those that were refused
// some time ago.
func (x *blockIndex) expire(lib uint32, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	maps.DeleteFunc(x.bad, func(_ types.Checksum256, at time.Time) bool { return now.Sub(at) > x.limits.RefusedTime })
	maps.DeleteFunc(x.siblings, func(_ origin, s siblings) bool { return s.newest <= lib })
	for id := range x.peers {
		if types.BlockNum(id) <= lib && !x.way[id] {
			delete(x.peers, id)
		}
	}
	for i := 0; i < len(x.unlinkable); {
		if x.unlinkable[i].block.Num <= lib {
			x.drop(i)
		} else {
			i++
		}
	}
}

// drop removes an unlinkable block. The caller holds mu.
func (x *blockIndex) drop(i int) queued {
	q := x.unlinkable[i]
	x.held -= q.block.size
	x.unlinkable = slices.Delete(x.unlinkable, i, i+1)
	return q
}

// hold keeps a block until the one before it comes, with who sent it and answers for
// it. There are few whose headers nothing is known about: of them the oldest give way. Of
// the others, if they are too large together, the last one does: those before it are wanted
// first. What gives way may come again.
func (x *blockIndex) hold(q queued) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, o := range x.unlinkable {
		if o.block.ID == q.block.ID {
			return
		}
	}
	x.unlinkable = append(x.unlinkable, q)
	x.held += q.block.size
	for {
		oldest, unchecked := len(x.unlinkable)-1, 0
		for i, o := range x.unlinkable {
			if o.checked {
				continue
			}
			if unchecked++; unchecked == 1 || o.block.Signed.Timestamp < x.unlinkable[oldest].block.Signed.Timestamp {
				oldest = i
			}
		}
		if unchecked <= x.limits.Unlinkable && x.held <= x.limits.UnlinkableBytes {
			return
		}
		id := x.drop(oldest).block.ID
		delete(x.way, id)
		delete(x.peers, id)
	}
}

// waits tells whether a block whose header was checked waits for the one before it.
func (x *blockIndex) waits(id types.Checksum256) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.ContainsFunc(x.unlinkable, func(q queued) bool { return q.checked && q.block.ID == id })
}

// unhold takes a block back; false if it is gone.
func (x *blockIndex) unhold(b *Block) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	for i, o := range x.unlinkable {
		if o.block == b {
			x.drop(i)
			return true
		}
	}
	return false
}

// children takes the blocks that waited for one.
func (x *blockIndex) children(id types.Checksum256) (list []queued) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for i := 0; i < len(x.unlinkable); {
		if x.unlinkable[i].block.Signed.Previous == id {
			list = append(list, x.drop(i))
		} else {
			i++
		}
	}
	return list
}

// queued is a block on its way to the chain.
type queued struct {
	block  *Block
	from   *conn
	synced bool // one of a range

	checked bool // its header is good, seen from that of the block before
}

// applyQueue holds the blocks that wait to be applied, in their order. Adding never
// waits; who adds waits for room afterwards.
type applyQueue struct {
	limits *Limits

	mu     sync.Mutex
	list   []queued
	bytes  int
	busy   bool          // one is being applied
	waited bool          // somebody waits for room
	ahead  int           // elements at the front that next has returned
	fresh  chan struct{} // has one element when next may have something
	filled chan struct{} // has one element when there may be something
	freed  chan struct{} // closed when there is room again
}

func newApplyQueue(l *Limits) *applyQueue {
	return &applyQueue{limits: l, filled: make(chan struct{}, 1), fresh: make(chan struct{}, 1),
		freed: make(chan struct{})}
}

func (q *applyQueue) push(e queued) {
	q.mu.Lock()
	q.list = append(q.list, e)
	q.bytes += e.block.size
	q.mu.Unlock()
	for _, c := range [2]chan struct{}{q.filled, q.fresh} {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

func (q *applyQueue) fullLocked() bool {
	return len(q.list) >= q.limits.QueuedBlocks || q.bytes >= q.limits.QueuedBytes
}

// room waits until there is room, or until ctx ends.
func (q *applyQueue) room(ctx context.Context) {
	for {
		q.mu.Lock()
		full, freed := q.fullLocked(), q.freed
		q.waited = q.waited || full
		q.mu.Unlock()
		if !full {
			return
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return
		}
	}
}

// pop waits for the next block. The queue is not empty until finished is called.
func (q *applyQueue) pop(ctx context.Context) (queued, bool) {
	for {
		q.mu.Lock()
		if len(q.list) > 0 {
			e := q.list[0]
			q.list[0] = queued{}
			q.list = q.list[1:]
			q.ahead = max(0, q.ahead-1)
			q.bytes -= e.block.size
			q.busy = true
			q.freeLocked()
			q.mu.Unlock()
			return e, true
		}
		q.mu.Unlock()
		select {
		case <-q.filled:
		case <-ctx.Done():
			return queued{}, false
		}
	}
}

// next waits for a block that it has not returned yet, which stays in the queue.
func (q *applyQueue) next(ctx context.Context) (queued, bool) {
	for {
		q.mu.Lock()
		if q.ahead < len(q.list) {
			e := q.list[q.ahead]
			q.ahead++
			q.mu.Unlock()
			return e, true
		}
		q.mu.Unlock()
		select {
		case <-q.fresh:
		case <-ctx.Done():
			return queued{}, false
		}
	}
}

// freeLocked wakes those who wait for room once a good part is free.
func (q *applyQueue) freeLocked() {
	if q.waited && len(q.list) <= q.limits.QueuedBlocks/2 && q.bytes <= q.limits.QueuedBytes/2 {
		close(q.freed)
		q.freed, q.waited = make(chan struct{}), false
	}
}

// highest is the id and the number of the highest block that waits, whose header follows the chain's and is good; 0 if
// none does.
func (q *applyQueue) highest() (id types.Checksum256, num uint32) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, e := range q.list {
		if e.checked && e.block.Num > num {
			id, num = e.block.ID, e.block.Num
		}
	}
	return id, num
}

func (q *applyQueue) endApply() {
	q.mu.Lock()
	q.busy = false
	q.mu.Unlock()
}

func (q *applyQueue) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.list) == 0 && !q.busy
}

// dropSynced removes the blocks of ranges.
func (q *applyQueue) dropSynced() (dropped []queued) {
	q.mu.Lock()
	defer q.mu.Unlock()
	kept := make([]queued, 0, len(q.list))
	for _, e := range q.list {
		if e.synced {
			dropped = append(dropped, e)
			q.bytes -= e.block.size
		} else {
			kept = append(kept, e)
		}
	}
	q.list, q.ahead = kept, 0
	q.freeLocked()
	return dropped
}
