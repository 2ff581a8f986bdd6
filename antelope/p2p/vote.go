package p2p

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"tarn/antelope/finality"
	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// voting has the votes of finalizers counted that peers send, and passes on those that are good
// (Spring: vote_processor.hpp). Connections take turns, so that one that sends many keeps no other
// waiting.
type voting struct {
	net    *Network
	limits *Limits
	wake   chan struct{} // has an element for each goroutine that may have something to do

	mu      sync.Mutex
	turns   []*conn                         // that have votes in line, the next one first
	total   int                             // votes in line and early ones
	early   map[types.Checksum256][]*ballot // whose block has not come, by its id
	way     map[types.Checksum256]*ballot   // in line, being counted, or early, by their hashes
	counted map[types.Checksum256]uint32    // hashes of votes that counted, with the number of their block
	busy    map[types.Checksum256]bool      // blocks whose votes are just being verified
}

// ballots are the votes of a connection that are not counted yet.
type ballots struct {
	line  []*ballot // in the order in which they came
	early int
}

func (b *ballots) count() int { return len(b.line) + b.early }

// ballot is a vote on its way.
type ballot struct {
	vote  finality.Vote
	hash  types.Checksum256 // of all of it
	from  *conn             // whose vote it is among those that wait
	also  []*conn           // that have sent it too
	came  time.Time
	again bool // it has waited for its block
}

func newVoting(n *Network) *voting {
	return &voting{net: n, limits: &n.config.Limits, wake: make(chan struct{}, max(1, n.config.VoteThreads)),
		early: map[types.Checksum256][]*ballot{}, way: map[types.Checksum256]*ballot{},
		counted: map[types.Checksum256]uint32{}, busy: map[types.Checksum256]bool{}}
}

// VoteCast is to be called with each vote of an own finalizer, once it is durable: peers are told. It
// does not wait.
func (n *Network) VoteCast(v *finality.Vote) { n.relayVote(v, nil) }

// handleVote takes a vote, unless this node has no use for votes.
func (c *conn) handleVote(frame []byte, r *serial.Reader) error {
	n := c.net
	if n.config.VoteThreads == 0 {
		return nil
	}
	if !c.voting.take(1) {
		return errors.New("the peer sent too many votes")
	}
	b := &ballot{from: c, came: time.Now(), hash: types.Hash(frame)}
	if b.vote.Read(r); r.Err() != nil {
		return r.Err()
	}
	n.votesIn.Add(1)
	c.lastVote.Store(b.came.UnixNano())
	if types.BlockNum(b.vote.Block) <= n.chain.Info().LIBNum {
		return nil
	}
	return n.votes.add(b)
}

// add puts a vote in line, unless there are too many. It is an error if the peer alone has too many. All honest
// peers send the same votes, and a dishonest one may send a vote any number of times: a vote that waits, or that
// counted, takes no more room.
func (v *voting) add(b *ballot) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, counted := v.counted[b.hash]; counted {
		return nil
	}
	if o := v.way[b.hash]; o != nil {
		if o.from != b.from && !slices.Contains(o.also, b.from) {
			o.also = append(o.also, b.from)
		}
		return nil
	}
	own := b.from.ballots.count()
	if own >= v.limits.ConnVotes {
		b.from.retry.Store(false)
		return fmt.Errorf("%d votes of the peer wait to be counted", own)
	}
	if v.total < v.limits.Votes || own < v.limits.Votes/max(1, len(*v.net.conns.Load())) {
		v.way[b.hash] = b
		v.put(b)
	}
	return nil
}

// put puts a vote in line. The caller holds mu.
func (v *voting) put(b *ballot) {
	c := b.from
	c.ballots.line = append(c.ballots.line, b)
	v.total++
	if len(c.ballots.line) == 1 {
		v.turns = append(v.turns, c)
	}
	v.rouse()
}

// next takes a vote of the connection whose turn it is, and those for the same block that others have next in line: they
// are verified together, until release is called. Votes that come meanwhile for this block wait for that: together they
// cost a fraction of what each costs alone. It returns none if there is none.
func (v *voting) next() (batch []*ballot) {
	v.mu.Lock()
	defer v.mu.Unlock()
	var waiting []*conn
	for i, c := range v.turns {
		b := c.ballots.line[0]
		if len(batch) == v.limits.VoteBatch {
			waiting = append(waiting, v.turns[i:]...)
			break
		}
		if len(batch) == 0 && v.busy[b.vote.Block] || len(batch) > 0 && b.vote.Block != batch[0].vote.Block {
			waiting = append(waiting, c)
			continue
		}
		batch = append(batch, b)
		c.ballots.line = c.ballots.line[1:]
		v.total--
	}
	for _, b := range batch {
		v.busy[b.vote.Block] = true
		if len(b.from.ballots.line) > 0 {
			waiting = append(waiting, b.from)
		}
	}
	v.turns = waiting
	return batch
}

// release lets votes that wait for the block of a batch be taken.
func (v *voting) release(batch []*ballot) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.busy, batch[0].vote.Block)
	v.rouse()
}

// rouse wakes a goroutine that has nothing to do.
func (v *voting) rouse() {
	select {
	case v.wake <- struct{}{}:
	default:
	}
}

// endBallot ends the way of a vote, and returns who has sent it. One that counted is remembered as long as its block
// is not final, if there is room.
func (v *voting) endBallot(b *ballot, counted bool) []*conn {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.way, b.hash)
	if counted && len(v.counted) < v.limits.Votes {
		v.counted[b.hash] = types.BlockNum(b.vote.Block)
	}
	return append(b.also, b.from)
}

// run has votes counted until ctx ends.
func (v *voting) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-v.wake:
		}
		for ctx.Err() == nil {
			batch := v.next()
			if len(batch) == 0 {
				break
			}
			v.count(batch)
			v.release(batch)
		}
	}
}

// count has votes for one block counted.
func (v *voting) count(batch []*ballot) {
	votes := make([]*finality.Vote, len(batch))
	for i, b := range batch {
		votes[i] = &b.vote
	}
	for i, result := range v.net.chain.Vote(votes...) {
		v.end(batch[i], result)
	}
}

// end ends the way of a vote, unless its block has not come.
func (v *voting) end(b *ballot, result finality.Result) {
	if result == finality.NoBlock {
		v.hold(b)
		return
	}
	senders := v.endBallot(b, result == finality.Counted)
	switch result {
	case finality.Counted:
		v.net.votesGood.Add(1)
		v.net.relayVote(&b.vote, senders)
	case finality.Unknown:
		v.refuse(b, "no finalizer of its block has its key")
	case finality.Invalid:
		v.refuse(b, "its signature is wrong")
	case finality.Duplicate:
	}
}

// refuse leaves a peer whose vote nobody can have found good.
func (v *voting) refuse(b *ballot, why string) {
	v.net.votesBad.Add(1)
	c := b.from
	c.finalf(slog.LevelError, "Invalid vote for block %d %s..., closing connection: %s",
		types.BlockNum(b.vote.Block), shortID(b.vote.Block), why)
	c.close(false, "invalid vote")
	v.net.shun(c)
}

// hold keeps a vote until its block comes.
func (v *voting) hold(b *ballot) {
	v.mu.Lock()
	id, first := b.vote.Block, !b.again
	b.again = true
	if gone := b.from.ended.Err() != nil; !gone || v.inherit(b) { // forgetPeer has come by, or will
		v.putEarly(b)
	}
	v.mu.Unlock()
	// It may have come since the chain was asked. Some that the chain knows are not voted for.
	if first && v.net.chain.Knows(id) {
		v.blockCame(id)
	}
}

// putEarly lets a vote wait for its block. The caller holds mu.
func (v *voting) putEarly(b *ballot) {
	v.early[b.vote.Block] = append(v.early[b.vote.Block], b)
	b.from.ballots.early++
	v.total++
}

// inherit gives a vote whose connection has ended to another one that has sent it too and has room. If there is none
// the vote's way ends. The caller holds mu, and has taken it out of what is counted.
func (v *voting) inherit(b *ballot) bool {
	for _, c := range b.also {
		b.also = b.also[1:]
		if c.ended.Err() == nil && c.ballots.count() < v.limits.ConnVotes {
			b.from = c
			return true
		}
	}
	delete(v.way, b.hash)
	return false
}

// blockCame puts the votes in line that waited for a block.
func (v *voting) blockCame(id types.Checksum256) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, b := range v.early[id] {
		v.drop(b)
		v.put(b)
	}
	delete(v.early, id)
}

// drop takes an early vote out of what is counted. The caller holds mu, and takes it out of early.
func (v *voting) drop(b *ballot) {
	b.from.ballots.early--
	v.total--
}

// expire forgets votes whose block has not come in time.
func (v *voting) expire(lib uint32, now time.Time) {
	gone := v.dropEarly(func(b *ballot) bool {
		return types.BlockNum(b.vote.Block) <= lib || now.Sub(b.came) > v.limits.VoteTime
	})
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, b := range gone {
		delete(v.way, b.hash)
	}
	maps.DeleteFunc(v.counted, func(_ types.Checksum256, num uint32) bool { return num <= lib })
}

// dropEarly takes early votes out of those that wait, and returns them.
func (v *voting) dropEarly(which func(*ballot) bool) (dropped []*ballot) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for id, list := range v.early {
		kept := list[:0]
		for _, b := range list {
			if which(b) {
				v.drop(b)
				dropped = append(dropped, b)
			} else {
				kept = append(kept, b)
			}
		}
		clear(list[len(kept):])
		if v.early[id] = kept; len(kept) == 0 {
			delete(v.early, id)
		}
	}
	return dropped
}

// forgetPeer drops the votes of a connection that has ended, unless others have sent them too.
func (v *voting) forgetPeer(c *conn) {
	early := v.dropEarly(func(b *ballot) bool { return b.from == c })
	v.mu.Lock()
	defer v.mu.Unlock()
	line := c.ballots.line
	if len(line) > 0 {
		v.total -= len(line)
		c.ballots.line = nil
		v.turns = slices.DeleteFunc(v.turns, func(o *conn) bool { return o == c })
	}
	for _, b := range line {
		if v.inherit(b) {
			v.put(b)
		}
	}
	for _, b := range early {
		if v.inherit(b) {
			v.putEarly(b)
		}
	}
}

// relayVote passes a vote on to all who know of votes but those that it came from; nil is an own finalizer, whose
// votes nothing that peers claim keeps back. Others' votes for a block that is not passed on are of no use to peers.
func (n *Network) relayVote(v *finality.Vote, from []*conn) {
	if from != nil && (n.sync.absorbed() || n.blocks.keptBack(v.Block)) {
		return
	}
	var frame []byte
	for _, c := range *n.conns.Load() {
		if slices.Contains(from, c) || !c.takesBlocks() || !c.current() || c.protocol.Load() < protocolVotes {
			continue
		}
		if frame == nil {
			frame = c.encode(v)
		}
		c.enqueue(frame, relayedLane)
		c.writeNow()
	}
}
