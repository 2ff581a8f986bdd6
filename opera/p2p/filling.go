package p2p

import (
	"encoding/binary"
	"fmt"
	"time"

	"tarn/opera/chain"
	"tarn/opera/inter"
)

// aheadEpochs is how many epochs beyond the lowest undecided one are asked for (go-opera, handler).
const aheadEpochs = 10_000

// filling is the part of a node that takes votes and records: what peers are asked for, and what
// is done with what they send.
type filling struct {
	repeater *repeater
	of       map[uint64]*recordLeecher // by the code of their chunks
	said     Taken
	saidAt   time.Time
}

// Taken is how many votes and records of peers were taken.
type Taken struct{ EpochVotes, EpochRecords, BlockVotes, BlockRecords uint64 }

// Taken is what was taken since the start.
func (n *Node) Taken() Taken {
	r := n.filling.repeater
	if r == nil {
		return Taken{}
	}
	t := &r.taken
	return Taken{t.epochVotes.Load(), t.epochRecords.Load(), t.blockVotes.Load(), t.blockRecords.Load()}
}

// tick asks for votes and records, and says now and then which were taken.
func (f *filling) tick(now time.Time, n *Node) {
	const pause = 8 * time.Second // go-opera, proclogger
	for _, l := range f.of {
		l.tick(now)
	}
	taken, was := n.Taken(), f.said
	if n.o.Taken == nil || taken == was || now.Sub(f.saidAt) < pause {
		return
	}
	n.o.Taken(Taken{taken.EpochVotes - was.EpochVotes, taken.EpochRecords - was.EpochRecords, taken.BlockVotes - was.BlockVotes, taken.BlockRecords - was.BlockRecords})
	f.said, f.saidAt = taken, now
}

// makeFilling prepares it. Nothing is asked for and nothing taken if the options have no Filler.
func (n *Node) makeFilling() {
	n.filling.of = map[uint64]*recordLeecher{}
	n.behind.Store(n.o.Snap)
	if n.o.Filler == nil {
		return
	}
	r := newRepeater(n.o.Filler, &n.limits)
	r.failed = n.fail
	r.blamed = func(from *peer, err error) { from.leave(fmt.Errorf("votes and records: %w", err)) }
	r.worked = func(l *load, took int) { n.filling.of[l.code].worked(l.from, l.session, took) }
	n.filling.repeater = r
	f := n.o.Filler
	epochs := func(p Progress) uint64 { return uint64(p.Epoch) }
	blocks := func(p Progress) uint64 { return uint64(p.Block) }
	// Who gets the events has the votes in them (go-opera, syncStatus.RequestLLR).
	votes := func() bool { return n.behind.Load() || n.fresh.Load() }
	epoch := func() uint64 { return uint64(lowestEpoch(f.Frontier())) }
	undecided := func() uint64 { return uint64(f.Frontier().Undecided.Block) }
	unfilled := func() uint64 { return uint64(f.Frontier().Unfilled.Block) }
	for _, kind := range []struct {
		code    uint64
		wanted  func() bool
		reaches func(Progress) uint64
		lowest  func() uint64
		stretch func() (inquiry, bool)
	}{
		{codeEpochPacksChunk, votes, epochs, epoch, n.epochStretch},
		{codeBlockVotesChunk, votes, blocks, undecided, n.voteStretch},
		{codeBlockRecordsChunk, n.behind.Load, blocks, unfilled, n.blockStretch},
	} {
		l := newRecordLeecher(&n.limits)
		l.wanted, l.reaches, l.lowest, l.stretch, l.busy = kind.wanted, kind.reaches, kind.lowest, kind.stretch, r.busy
		n.filling.of[kind.code] = l
	}
}

// lookBehind notes when the node is no more behind its network by so much that blocks are asked
// for as records. It never is again. Who takes states follows by events once it is at the head,
// however old the epoch is.
func (n *Node) lookBehind(at *Present) {
	if n.o.Now().Sub(time.Unix(0, int64(at.Began))) <= n.limits.Behind || n.o.Givers != nil && n.fresh.Load() {
		n.behind.Store(false)
	}
}

// Behind tells whether this node is so far behind its network that records are asked for, and the
// state of a later epoch should be.
func (n *Node) Behind() bool { return n.behind.Load() }

// Overtakes tells whether this node waits for the state of a later epoch, and asks for no events.
func (n *Node) Overtakes() bool {
	return n.o.Givers != nil && n.Behind() && n.highestEpoch() > n.at.Load().Epoch
}

// highestEpoch is the latest that a peer claims to be in.
func (n *Node) highestEpoch() (e inter.Epoch) {
	for _, p := range n.list() {
		e = max(e, p.progressed().Epoch)
	}
	return e
}

// stretched has a peer asked for a range of keys.
func stretched[K any](n *Node, code uint64, from, to K) inquiry {
	return func(p *peer, id, chunks uint32) {
		_ = p.send(code, &request[K]{
			Session: session[K]{id, from, to}, MaxChunks: chunks,
			Limit: limit{uint32(n.limits.StreamItems), uint64(n.limits.StreamBytes)},
		})
	}
}

// lowestEpoch is the lowest epoch that is undecided or lacks.
func lowestEpoch(at chain.Frontier) inter.Epoch {
	return min(at.Unfilled.Epoch, at.Undecided.Epoch)
}

func (n *Node) epochStretch() (inquiry, bool) {
	at := n.o.Filler.Frontier()
	return stretched(n, codeRequestEpochPacks, lowestEpoch(at), at.Undecided.Epoch+aheadEpochs), true
}

func (n *Node) voteStretch() (inquiry, bool) {
	at := n.o.Filler.Frontier()
	epoch, err := n.o.Filler.EpochBeyond(at.Undecided.Block)
	if err != nil {
		n.o.Notice(fmt.Errorf("ask for votes from block %d on: %w", at.Undecided.Block, err))
		return nil, false
	}
	from := binary.BigEndian.AppendUint64(epochKey(epoch), uint64(at.Undecided.Block))
	return stretched(n, codeRequestBlockVotes, from, epochKey(at.Unfilled.Epoch)), epoch < at.Unfilled.Epoch
}

func (n *Node) blockStretch() (inquiry, bool) {
	const hop = 100 // blocks that may be there beyond a gap
	at := n.o.Filler.Frontier()
	from, to := at.Unfilled.Block, at.Undecided.Block
	if to > from+hop {
		has, err := n.o.Filler.HasBlock(from + hop)
		if err != nil {
			n.o.Notice(fmt.Errorf("ask for blocks from %d on: %w", from, err))
			return nil, false
		}
		if has {
			to = from + hop
		}
	}
	return stretched(n, codeRequestBlockRecords, from, to), from < to
}

// takeRecords takes a part of a stream of votes or records. Blocks are of no use to a node that makes
// its own.
func (n *Node) takeRecords(p *peer, m message) error {
	l := n.filling.of[m.code]
	if l == nil || m.code == codeBlockRecordsChunk && !n.behind.Load() {
		return nil
	}
	id, done, items, err := decodeRecordsChunk(m.raw)
	if err != nil || !l.chunk(p, id, done, n.o.Now()) {
		return err
	}
	if len(items) == 0 {
		l.worked(p, id, 0)
		return nil
	}
	return n.filling.repeater.submit(p.ctx, &load{code: m.code, from: p, session: id, items: items, weight: len(m.raw)})
}
