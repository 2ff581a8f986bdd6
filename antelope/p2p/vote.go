package p2p

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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

	mu    sync.Mutex
	turns []*conn                         // that have votes in line, the next one first
	total int                             // votes in line and early ones
	early map[types.Checksum256][]*ballot // whose block has not come, by its id
	way   map[types.Checksum256]bool      // hashes of votes that are being counted
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
	from  *conn
	came  time.Time
	again bool // it has waited for its block
}

func newVoting(n *Network) *voting {
	return &voting{net: n, limits: &n.config.Limits, wake: make(chan struct{}, max(1, n.config.VoteThreads)),
		early: map[types.Checksum256][]*ballot{}, way: map[types.Checksum256]bool{}}
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

// add puts a vote in line, unless there are too many. It is an error if the peer alone has too many.
func (v *voting) add(b *ballot) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	own := b.from.ballots.count()
	if own >= v.limits.ConnVotes {
		b.from.retry.Store(false)
		return fmt.Errorf("%d votes of the peer wait to be counted", own)
	}
	if v.total < v.limits.Votes || own < v.limits.Votes/max(1, len(*v.net.conns.Load())) {
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
	select {
	case v.wake <- struct{}{}:
	default:
	}
}

// next takes a vote of the connection whose turn it is; nil if there is none. What is being counted
// already is dropped. done must follow.
func (v *voting) next() *ballot {
	v.mu.Lock()
	defer v.mu.Unlock()
	for len(v.turns) > 0 {
		c := v.turns[0]
		v.turns = v.turns[1:]
		b := c.ballots.line[0]
		c.ballots.line = c.ballots.line[1:]
		v.total--
		if len(c.ballots.line) > 0 {
			v.turns = append(v.turns, c)
		}
		if !v.way[b.hash] {
			v.way[b.hash] = true
			return b
		}
	}
	return nil
}

func (v *voting) endBallot(b *ballot) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.way, b.hash)
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
			b := v.next()
			if b == nil {
				break
			}
			v.count(b)
			v.endBallot(b)
		}
	}
}

func (v *voting) count(b *ballot) {
	switch v.net.chain.Vote(&b.vote) {
	case finality.Counted:
		v.net.votesGood.Add(1)
		v.net.relayVote(&b.vote, b.from)
	case finality.NoBlock:
		v.hold(b)
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
	if gone := b.from.ended.Err() != nil; !gone { // else forgetPeer has come by, or will
		v.early[id] = append(v.early[id], b)
		b.from.ballots.early++
		v.total++
	}
	v.mu.Unlock()
	// It may have come since the chain was asked. Some that the chain knows are not voted for.
	if first && v.net.chain.Knows(id) {
		v.blockCame(id)
	}
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
	v.forget(func(b *ballot) bool {
		return types.BlockNum(b.vote.Block) <= lib || now.Sub(b.came) > v.limits.VoteTime
	})
}

// forget drops early votes.
func (v *voting) forget(which func(*ballot) bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for id, list := range v.early {
		kept := list[:0]
		for _, b := range list {
			if which(b) {
				v.drop(b)
			} else {
				kept = append(kept, b)
			}
		}
		clear(list[len(kept):])
		if v.early[id] = kept; len(kept) == 0 {
			delete(v.early, id)
		}
	}
}

// forgetPeer drops the votes of a connection that has ended.
func (v *voting) forgetPeer(c *conn) {
	v.forget(func(b *ballot) bool { return b.from == c })
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(c.ballots.line) > 0 {
		v.total -= len(c.ballots.line)
		c.ballots.line = nil
		v.turns = slices.DeleteFunc(v.turns, func(o *conn) bool { return o == c })
	}
}

// relayVote passes a vote on to all who know of votes but the one that it came from; nil is an own finalizer, whose
// votes nothing that peers claim keeps back. Others' votes for a block that is not passed on are of no use to peers.
func (n *Network) relayVote(v *finality.Vote, from *conn) {
	if from != nil && (n.sync.absorbed() || n.blocks.keptBack(v.Block)) {
		return
	}
	var frame []byte
	for _, c := range *n.conns.Load() {
		if c == from || !c.takesBlocks() || !c.current() || c.protocol.Load() < protocolVotes {
			continue
		}
		if frame == nil {
			frame = c.encode(v)
		}
		c.enqueue(frame, true)
		c.writeNow()
	}
}
