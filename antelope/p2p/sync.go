package p2p

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tarn/antelope/types"
)

// stage is what this node is at.
type stage uint32

const (
	inSync      stage = iota
	libCatchUp        // fetches ranges of blocks up to the highest irreversible one of its peers
	headCatchUp       // was promised the blocks from there to a peer's head
)

func (s stage) String() string {
	return [...]string{"in sync", "lib catchup", "head catchup"}[s]
}

// singleSpans is how many spans are asked of the only peer at once.
const singleSpans = 2

// possible tells whether a chain may have a block of that number by now. A chain that is
// far behind has nothing to lose, and believes twice of what the clock allows.
func (i *Info) possible(num uint32, now time.Time, l *Limits) bool {
	slots := max(0, now.Sub(i.Time.TimePoint().Time())/blockInterval)
	return uint64(num) <= uint64(i.HeadNum)+2*uint64(slots)+l.Ahead
}

// syncer brings the chain up to that of the peers (Leap: sync_manager). It asks
// several peers for spans of blocks at once, and the next span before the last block
// of the one before has come, and hands the blocks on in their order.
type syncer struct {
	net    *Network
	state  atomic.Uint32 // stage
	proven atomic.Bool   // of the ranges of this stage a block came that was news
	far    uint32        // blocks by which a peer must be behind to be sent ranges

	mu       sync.Mutex
	known    uint32  // highest last irreversible block of the peers
	next     uint32  // the next block to be handed on
	asked    uint32  // the last block asked for
	spans    []*span // in the order of their blocks
	held     int     // bytes of their blocks
	ordinal  uint32
	careful  bool          // peers disagree: one is asked at a time, so that it is known who sent what
	source   *conn         // that one
	released chan struct{} // closed when held blocks are handed on or dropped
}

// span is a range of blocks that a peer was asked for.
type span struct {
	c         *conn
	next, end uint32   // the next block to come, the last one
	blocks    []*Block // that came while spans before it were not complete
}

func (s *span) complete() bool { return s.next > s.end }

func newSyncer(n *Network) *syncer {
	far := uint32(n.config.KeepAlive / blockInterval / 2)
	return &syncer{net: n, far: far, next: 1, released: make(chan struct{})}
}

func (s *syncer) stage() stage { return stage(s.state.Load()) }

func (s *syncer) syncing() bool { return s.stage() == libCatchUp }

// absorbed tells whether ranges are all that this node is at, so that it neither takes
// nor passes on what is of now. A peer's word is not enough for that: blocks must have
// followed, and the head must be old.
func (s *syncer) absorbed() bool { return s.syncing() && s.proven.Load() && !s.recent() }

// recent tells whether the head is of now.
func (s *syncer) recent() bool {
	return time.Since(s.net.chain.Info().Time.TimePoint().Time()) <= s.net.config.Limits.Recent
}

// setState notes where this node is. When it is in sync, all peers are told where
// that is: they pass nothing on to who they believe is catching up from them.
func (s *syncer) setState(to stage) bool {
	from := stage(s.state.Swap(uint32(to)))
	if from == to {
		return false
	}
	s.net.log.Info(fmt.Sprintf("old state %v becoming %v", from, to))
	if to == inSync {
		s.net.sendHandshakes()
	}
	return true
}

// handshake decides what two nodes do with their difference (Leap: recv_handshake,
// whose cases it numbers).
func (s *syncer) handshake(c *conn, m *Handshake, latency uint32) {
	if !c.takesBlocks() {
		return
	}
	info := s.net.chain.Info()
	s.learn(c, info)
	say := func(number int) {
		c.infof("handshake lib %d, head %d, head id %s.. sync %d, head %d, lib %d",
			m.LIBNum, m.HeadNum, shortID(m.HeadID), number, info.HeadNum, info.LIBNum)
	}
	old := m.Generation <= 1 && c.protocol.Load() == 0
	switch {
	case info.HeadID == m.HeadID:
		say(0)
		c.syncing.Store(false)
	case info.HeadNum < m.LIBNum:
		say(1)
		c.syncing.Store(false)
		c.sendHandshake()
	case uint64(info.LIBNum) > uint64(m.HeadNum)+uint64(latency)+uint64(s.far):
		say(2)
		c.syncing.Store(true)
		if !old {
			c.send(Notice{Trx: IDs{Mode: ModeLIBCatchUp, Pending: info.LIBNum},
				Blocks: c.ourHead(ModeLIBCatchUp, info)})
		}
	case uint64(info.HeadNum)+uint64(latency) < uint64(m.HeadNum):
		say(3)
		c.syncing.Store(false)
		s.catchUp(c, m.HeadNum, m.HeadID)
	case uint64(info.HeadNum) >= uint64(m.HeadNum)+uint64(latency):
		say(4)
		c.syncing.Store(false)
		if !old {
			c.send(Notice{Blocks: c.ourHead(ModeCatchUp, info)})
		}
		s.requestBranch(c, m)
	default:
		c.debugf("Block discrepancy is within network latency range.")
		c.syncing.Store(false)
		// nodeos leaves it at that. But blocks of two branches don't come by themselves.
		if m.HeadNum <= info.HeadNum {
			s.requestBranch(c, m)
		}
	}
}

// requestBranch asks for the blocks of a peer whose head is not above ours, if it is of another branch.
func (s *syncer) requestBranch(c *conn, m *Handshake) {
	if id, err := s.net.chain.BlockID(m.HeadNum); err != nil || id != m.HeadID {
		c.branchIn.Store(m.HeadNum)
		c.send(Request{Blocks: IDs{Mode: ModeCatchUp}})
	}
}

// ourHead is what a notice says of the blocks that this node has.
func (c *conn) ourHead(mode Mode, info Info) IDs {
	ids := IDs{Mode: mode, Pending: info.HeadNum, IDs: []types.Checksum256{info.HeadID}}
	if c.protocol.Load() >= protocolBlockRange {
		var first types.Checksum256 // only its number counts
		first[0], first[1], first[2], first[3] = byte(info.First>>24), byte(info.First>>16), byte(info.First>>8), byte(
			info.First)
		ids.IDs = append(ids.IDs, first)
	}
	return ids
}

// learn takes the peer's last irreversible block into account.
func (s *syncer) learn(c *conn, info Info) {
	if lib := c.peerLIB.Load(); info.possible(lib, time.Now(), &s.net.config.Limits) {
		s.mu.Lock()
		s.known = max(s.known, lib)
		s.mu.Unlock()
	}
}

// catchUp asks for the blocks from our head to a peer's, unless another peer is
// about to send them (Leap: verify_catchup).
func (s *syncer) catchUp(c *conn, num uint32, id types.Checksum256) {
	now, info := time.Now(), s.net.chain.Info()
	if !info.possible(num, now, &s.net.config.Limits) {
		c.infof("block %d cannot be there yet, head %d", num, info.HeadNum)
		return
	}
	for _, o := range *s.net.conns.Load() {
		if !o.takesBlocks() {
			continue
		}
		if o.promised.covers(num, id, now) {
			c.infof("none notice while in %v, fork head num = %d, id %s...", s.stage(), num, shortID(id))
			c.promised.set(types.Checksum256{}, 0)
			c.send(Request{})
			return
		}
	}
	c.infof("catch_up while in %v, fork head num = %d target LIB = %d next_expected = %d, id %s...",
		s.stage(), num, info.LIBNum, info.HeadNum+1, shortID(id))
	if s.absorbed() {
		return // all are told when that is over
	}
	if num < info.LIBNum {
		c.sendHandshake() // the peer does not know where we are
		return
	}
	if s.net.blocks.underWay(id) {
		return
	}
	// What waits to be applied need not come again. A peer that is asked for what follows a block above its own ends
	// the connection.
	have, queued := s.net.queue.highest()
	if queued < info.HeadNum || queued >= num {
		have = info.HeadID
	}
	if !s.syncing() {
		s.setState(headCatchUp)
	}
	c.promised.set(id, num)
	c.branchIn.Store(num)
	c.send(Request{Blocks: IDs{Mode: ModeCatchUp, IDs: []types.Checksum256{have}}})
}

// notice acts on what a peer has (Leap: sync_recv_notice).
func (s *syncer) notice(c *conn, m *Notice) {
	if m.Blocks.Mode == ModeLIBCatchUp {
		c.peerLIB.Store(m.Trx.Pending)
		// Who claims must be one whom the last of it can be asked of, so that a claim that
		// comes to nothing falls back on its peer and not on the others.
		if info := s.net.chain.Info(); !s.fit(c, m.Trx.Pending) || c.peerFirst.Load() > info.LIBNum+1 {
			c.debugf("irreversible block %d cannot be had from the peer, whose blocks are %d to %d",
				m.Trx.Pending, c.peerFirst.Load(), c.peerHead.Load())
			return
		}
		s.start(c, m.Trx.Pending)
		return
	}
	if len(m.Blocks.IDs) == 0 {
		c.warnf("got a catch up with ids size = 0")
		return
	}
	id := m.Blocks.IDs[0]
	c.infof("notice_message, pending %d, blk_num %d, id %s...", m.Blocks.Pending, types.BlockNum(id), shortID(id))
	switch {
	case s.net.chain.Knows(id):
		c.debugf("Already have block, sending handshake")
		c.sendHandshake()
		return
	case s.net.blocks.has(id): // which a handshake would not say before it is applied
		c.debugf("Already have block, which is to be applied")
		return
	}
	s.catchUp(c, m.Blocks.Pending, id)
}

// start begins to fetch the blocks up to target, or goes on.
func (s *syncer) start(c *conn, target uint32) {
	info := s.net.chain.Info()
	if !info.possible(target, time.Now(), &s.net.config.Limits) {
		c.infof("block %d cannot be irreversible yet, head %d", target, info.HeadNum)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = max(s.known, target)
	if target <= info.LIBNum || s.syncing() && s.asked >= s.known {
		c.debugf("We are already caught up, my irr = %d, head = %d, target = %d", info.LIBNum, info.HeadNum, target)
		if !s.syncing() {
			c.sendHandshake() // or the peer believes that it is asked for ranges, and passes no blocks on
		}
		return
	}
	if s.setState(libCatchUp) {
		s.dropSpans()
		s.proven.Store(false)
		s.careful, s.source = false, nil
		// What was reversible may have been of a fork.
		s.next = info.LIBNum + 1
		s.asked = info.LIBNum
		c.infof("Catching up with chain, our last req is %d, theirs is %d, next expected %d, head %d",
			s.asked, s.known, s.next, info.HeadNum)
	}
	s.request(info)
}

// request asks for as many spans as may be under way. The caller holds mu.
func (s *syncer) request(info Info) {
	size, most := s.net.config.SyncFetchSpan, int(s.net.config.SyncPeerLimit)+1
	for s.asked < s.known && len(s.spans) < most {
		if ahead := uint64(info.HeadNum) + uint64(most+1)*uint64(size); uint64(s.asked) >= ahead {
			return // the chain has enough to do
		}
		start := s.asked + 1
		c := s.choose(start, min(info.HeadNum, s.known-1))
		if c == nil {
			if len(s.spans) == 0 && s.net.queue.empty() {
				s.net.log.Warn("Unable to continue syncing at this time")
				s.known = info.LIBNum
				s.setState(inSync)
			}
			return
		}
		end := uint32(min(uint64(start)+uint64(size)-1, uint64(s.known), uint64(c.peerHead.Load())))
		s.ordinal++
		c.ordinal.Store(s.ordinal)
		s.asked = end
		if !s.busy(c) {
			c.due = time.Now().Add(c.limits.Response)
		}
		s.spans = append(s.spans, &span{c: c, next: start, end: end})
		c.infof("requesting range %d to %d, head %d", start, end, info.HeadNum)
		c.send(SyncRequest{start, end})
	}
}

// choose finds the peer for the span that begins with start: of those with the
// lowest latency the one that was asked least recently. A peer has one span at a
// time, as nodeos takes a second one for more of the first; only if there is no
// other peer it gets the next one early, which makes that true (Leap:
// find_next_sync_node). Only those are asked that claim an irreversible block above
// floor, our head: a claim that comes to nothing must not cost peers that claimed
// nothing. The caller holds mu.
func (s *syncer) choose(start, floor uint32) *conn {
	var fit []*conn
	for _, c := range *s.net.conns.Load() {
		if s.fit(c, start) && c.peerLIB.Load() > floor {
			fit = append(fit, c)
		}
	}
	if s.careful && slices.Contains(fit, s.source) {
		fit = []*conn{s.source}
	}
	limit := int(s.net.config.SyncPeerLimit)
	if len(fit) > limit {
		slices.SortFunc(fit, func(a, b *conn) int { return int(min(max(a.ping.Load()-b.ping.Load(), -1), 1)) })
		fit = fit[:limit]
	}
	var best *conn
	lowest := uint32(math.MaxUint32)
	for _, c := range fit {
		busy, last := 0, uint32(0)
		for _, sp := range s.spans {
			if sp.c == c && !sp.complete() {
				busy, last = busy+1, sp.end
			}
		}
		if busy > 0 && (len(fit) > 1 || busy >= singleSpans || last+1 != start) {
			continue
		}
		if o := c.ordinal.Load(); o < lowest {
			best, lowest = c, o
		}
	}
	if s.careful && best != s.source {
		if len(s.spans) > 0 {
			return nil // the one before is not done
		}
		s.source = best
	}
	return best
}

// fit tells whether a block may be asked of a peer.
func (s *syncer) fit(c *conn, num uint32) bool {
	return c.takesBlocks() && c.current() && c.noRetry.Load() == uint32(NoReason) &&
		c.peerFirst.Load() <= num && c.peerHead.Load() >= num && c.peerLIB.Load() > 0
}

// expects tells whether a block is the next of a range that the peer was asked for.
func (s *syncer) expects(c *conn, num uint32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.find(c, num) >= 0
}

// find finds the span whose next block has that number: a peer sends its spans in the
// order in which they were asked for. The caller holds mu.
func (s *syncer) find(c *conn, num uint32) int {
	i := slices.IndexFunc(s.spans, func(sp *span) bool { return sp.c == c && !sp.complete() })
	if i >= 0 && s.spans[i].next != num {
		return -1
	}
	return i
}

// receive takes a block that came while ranges are fetched. wanted is false for one
// that nobody asked this peer for. It waits while too much is held or queued.
func (s *syncer) receive(c *conn, b *Block) (wanted bool) {
	s.mu.Lock()
	i := s.find(c, b.Num)
	if i < 0 || !s.syncing() {
		s.mu.Unlock()
		return false
	}
	sp := s.spans[i]
	sp.next++
	c.extend(b)
	c.syncIn.Add(int64(b.size))
	if i == 0 {
		s.next = b.Num + 1
		s.net.queue.push(queued{block: b, from: c, synced: true})
		s.advance()
	} else {
		sp.blocks = append(sp.blocks, b)
		s.held += b.size
	}
	if sp.complete() || i == 0 {
		s.request(s.net.chain.Info())
	}
	full := s.held > s.net.config.Limits.HeldBytes && i > 0
	released := s.released
	s.mu.Unlock()

	if full {
		select {
		case <-released:
		case <-c.ended.Done():
		}
	}
	s.net.queue.room(c.ended)
	return true
}

// busy tells whether the peer has blocks to send. The caller holds mu.
func (s *syncer) busy(c *conn) bool {
	return slices.ContainsFunc(s.spans, func(sp *span) bool { return sp.c == c && !sp.complete() })
}

// extend gives the peer time for the block after b. The caller holds the syncer's mu.
func (c *conn) extend(b *Block) {
	rate, least := c.limits.SlowBytes, c.limits.SlowBlock
	if c.net.chain.Knows(b.ID) {
		rate, least = c.limits.OldBytes, 0
	}
	c.due = c.due.Add(max(least, time.Duration(b.size)*time.Second/time.Duration(rate)))
	if most := time.Now().Add(c.limits.Response); c.due.After(most) {
		c.due = most
	}
}

// endDelivery ends the handing on of a block, which took its peer no time.
func (s *syncer) endDelivery(c *conn, begin time.Time) {
	s.mu.Lock()
	c.due = c.due.Add(time.Since(begin))
	c.delivering.Store(false)
	s.mu.Unlock()
}

// advance hands on what the completion of the first span has set free. The caller
// holds mu.
func (s *syncer) advance() {
	for len(s.spans) > 0 && s.spans[0].complete() {
		s.spans = s.spans[1:]
		if len(s.spans) == 0 {
			return
		}
		first := s.spans[0]
		for _, b := range first.blocks {
			s.net.queue.push(queued{block: b, from: first.c, synced: true})
			s.held -= b.size
			s.next = b.Num + 1
		}
		first.blocks = nil
		s.release()
	}
}

func (s *syncer) release() {
	close(s.released)
	s.released = make(chan struct{})
}

// dropSpans forgets what was asked for. The caller holds mu.
func (s *syncer) dropSpans() {
	told := map[*conn]bool{}
	for _, sp := range s.spans {
		if !sp.complete() && !told[sp.c] {
			told[sp.c] = true
			sp.c.send(SyncRequest{})
		}
	}
	s.spans, s.held = nil, 0
	s.asked = s.next - 1
	s.release()
}

// restart asks again for all that has not been handed on.
func (s *syncer) restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.syncing() {
		s.dropSpans()
		s.request(s.net.chain.Info())
	}
}

// handleRefusal goes back to the last irreversible block, as a block was no good; all
// that is queued behind it goes too. If it was unlinkable, the one before may have
// come from a peer on another fork: then one peer is asked at a time. It returns
// true if that was already so, so that c itself sent what does not fit.
func (s *syncer) handleRefusal(c *conn, unlinkable bool) (guilty bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.syncing() {
		return false
	}
	for _, q := range s.net.queue.dropSynced() {
		s.net.blocks.endTransit(q.block.ID)
	}
	guilty = unlinkable && s.careful && s.source == c
	if unlinkable && !s.careful {
		s.careful, s.source = true, nil
	}
	info := s.net.chain.Info()
	s.next = info.LIBNum + 1
	s.dropSpans()
	if !guilty {
		s.request(info)
	}
	return guilty
}

// handleClosed looks for others to do what was asked of a peer that is gone.
func (s *syncer) handleClosed(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	highest, now, info := uint32(0), time.Now(), s.net.chain.Info()
	for _, o := range *s.net.conns.Load() {
		if o.takesBlocks() && o.current() {
			if lib := o.peerLIB.Load(); info.possible(lib, now, &s.net.config.Limits) {
				highest = max(highest, lib)
			}
		}
	}
	s.known = highest
	if !s.syncing() {
		return
	}
	if s.busy(c) || s.asked > s.known { // what came whole from it stays
		s.dropSpans()
	}
	s.finish(info)
}

// end leaves the stage of fetching. What of the ranges did not come is not waited for,
// what came is let go, and peers whose blocks had to wait may go on. The caller holds mu.
func (s *syncer) end() {
	s.setState(inSync)
	s.dropSpans()
}

// finish ends the stage when there is nothing more to fetch or to apply, else it
// asks for more. The caller holds mu.
func (s *syncer) finish(info Info) {
	if info.HeadNum >= s.known || len(s.spans) == 0 && s.asked >= s.known && s.net.queue.empty() {
		s.end()
		return
	}
	s.request(info)
}

// check looks after peers that promised blocks and don't send them.
func (s *syncer) check(now time.Time) {
	if !s.syncing() {
		return
	}
	s.mu.Lock()
	var late []*conn
	for i, sp := range s.spans {
		if sp.complete() || sp.c.delivering.Load() || i > 0 && s.spans[i-1].c == sp.c {
			continue
		}
		if now.After(sp.c.due) {
			late = append(late, sp.c)
		}
	}
	s.finish(s.net.chain.Info())
	asked, next := s.asked, s.next
	s.mu.Unlock()
	for _, c := range late {
		c.infof("reassign_fetch, our last req is %d, next expected is %d", asked, next)
		c.noRetry.Store(uint32(BenignOther))
		c.close(true, "no block in time")
		s.net.shun(c)
	}
	if len(late) > 0 {
		s.restart()
	}
}

// noteApplied notes a block that the chain has now, or had already (Leap:
// sync_recv_block).
func (s *syncer) noteApplied(c *conn, b *Block) {
	c.rejected.reset()
	switch s.stage() {
	case libCatchUp:
		s.mu.Lock()
		if b.Num >= s.known {
			s.end()
		} else {
			s.request(s.net.chain.Info())
		}
		s.mu.Unlock()
	case headCatchUp:
		s.came(b.ID)
	}
}

// came looks whether a peer has sent what it promised, its head or a later block.
func (s *syncer) came(id types.Checksum256) {
	if s.stage() != headCatchUp {
		return
	}
	promised, num, now := false, types.BlockNum(id), time.Now()
	for _, o := range *s.net.conns.Load() {
		promised = o.promised.open(num, id, now) || promised
	}
	if !promised {
		s.setState(inSync)
	}
}
