package p2p

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"time"

	"tarn/opera/chain"
	"tarn/opera/inter"
)

// recordSync is the part of a node that takes votes and records: what peers are asked for, and what
// is done with what they send.
type recordSync struct {
	o        *Options
	limits   *Limits
	synced   func() bool
	behind   atomic.Bool // by so much that blocks are asked for as records
	repeater *repeater
	of       map[uint64]*recordLeecher // by the code of their chunks
	said     Taken
	saidAt   time.Time
}

// Taken is how many votes and records of peers were taken.
type Taken struct{ EpochVotes, EpochRecords, BlockVotes, BlockRecords uint64 }

// Taken is what was taken since the start.
func (n *Node) Taken() Taken { return n.recordSync.takenSoFar() }

func (f *recordSync) takenSoFar() Taken {
	r := f.repeater
	if r == nil {
		return Taken{}
	}
	t := &r.taken
	return Taken{t.epochVotes.Load(), t.epochRecords.Load(), t.blockVotes.Load(), t.blockRecords.Load()}
}

// tick asks for votes and records, and says now and then which were taken.
func (f *recordSync) tick(now time.Time) {
	for _, l := range f.of {
		l.tick(now)
	}
	taken, was := f.takenSoFar(), f.said
	if f.o.Taken == nil || taken == was || now.Sub(f.saidAt) < f.limits.TakenEvery {
		return
	}
	f.o.Taken(Taken{taken.EpochVotes - was.EpochVotes, taken.EpochRecords - was.EpochRecords,
		taken.BlockVotes - was.BlockVotes, taken.BlockRecords - was.BlockRecords})
	f.said, f.saidAt = taken, now
}

// newRecordSync prepares it for a node whose options and limits are there. Nothing is asked for and
// nothing taken if the options have no Filler.
func newRecordSync(n *Node) *recordSync {
	f := &recordSync{o: &n.o, limits: &n.limits, synced: n.Synced, of: map[uint64]*recordLeecher{}}
	f.behind.Store(f.o.Snap)
	if f.o.RecordLedger == nil {
		return f
	}
	r := newRepeater(f.o.RecordLedger, f.limits)
	r.failed = n.fail
	r.blamed = func(from *peer, err error) { from.leave(fmt.Errorf("votes and records: %w", err)) }
	r.worked = func(l *load, took int) { f.of[l.code].noteWorked(l.from, l.session, took) }
	f.repeater = r
	epochs := func(p Progress) uint64 { return uint64(p.Epoch) }
	blocks := func(p Progress) uint64 { return uint64(p.Block) }
	// Who gets the events has the votes in them (go-opera, syncStatus.RequestLLR).
	votes := func() bool { return f.behind.Load() || f.synced() }
	epoch := func() uint64 { return uint64(lowestEpoch(f.o.RecordLedger.Frontier())) }
	undecided := func() uint64 { return uint64(f.o.RecordLedger.Frontier().Undecided.Block) }
	unfilled := func() uint64 { return uint64(f.o.RecordLedger.Frontier().Unfilled.Block) }
	for _, kind := range []struct {
		code    uint64
		wanted  func() bool
		reaches func(Progress) uint64
		lowest  func() uint64
		stretch func() (inquiry, bool)
	}{
		{codeEpochPacksChunk, votes, epochs, epoch, f.epochStretch},
		{codeBlockVotesChunk, votes, blocks, undecided, f.voteStretch},
		{codeBlockRecordsChunk, f.behind.Load, blocks, unfilled, f.blockStretch},
	} {
		l := newRecordLeecher(f.limits)
		l.wanted, l.reaches, l.lowest, l.stretch, l.busy = kind.wanted, kind.reaches, kind.lowest, kind.stretch, r.busy
		f.of[kind.code] = l
	}
	return f
}

// add makes a peer one of those that are asked, if it speaks of votes and records.
func (f *recordSync) add(p *peer) {
	if p.version > withoutChunks {
		for _, l := range f.of {
			l.add(p)
		}
	}
}

func (f *recordSync) forgetPeer(p *peer) {
	for _, l := range f.of {
		l.forgetPeer(p, f.o.Now())
	}
}

// lookBehind notes when the node is no more behind its network by so much that blocks are asked
// for as records. It never is again. Who takes states follows by events once it is at the head,
// however old the epoch is.
func (f *recordSync) lookBehind(at *Present) {
	if f.o.Now().Sub(time.Unix(0, int64(at.Began))) <= f.limits.Behind || f.o.Givers != nil && f.synced() {
		f.behind.Store(false)
	}
}

// Behind tells whether this node is so far behind its network that records are asked for, and the
// state of a later epoch should be.
func (n *Node) Behind() bool { return n.recordSync.behind.Load() }

// Overtakes tells whether this node waits for the state of a later epoch, and asks for no events.
func (n *Node) Overtakes() bool {
	return n.o.Givers != nil && n.Behind() && n.peers.latestEpoch() > n.at.Load().Epoch
}

// rangeInquiry has a peer asked for a range of keys.
func rangeInquiry[K any](f *recordSync, code uint64, from, to K) inquiry {
	return func(p *peer, id, chunks uint32) {
		_ = p.send(code, &request[K]{
			Session: session[K]{id, from, to}, MaxChunks: chunks,
			Limit: limit{uint32(f.limits.StreamItems), uint64(f.limits.StreamBytes)},
		})
	}
}

// lowestEpoch is the lowest epoch that is undecided or lacks.
func lowestEpoch(at chain.Frontier) inter.Epoch {
	return min(at.Unfilled.Epoch, at.Undecided.Epoch)
}

func (f *recordSync) epochStretch() (inquiry, bool) {
	at := f.o.RecordLedger.Frontier()
	return rangeInquiry(f, codeRequestEpochPacks, lowestEpoch(at), at.Undecided.Epoch+f.limits.EpochsAhead), true
}

func (f *recordSync) voteStretch() (inquiry, bool) {
	at := f.o.RecordLedger.Frontier()
	epoch, err := f.o.RecordLedger.EpochBeyond(at.Undecided.Block)
	if err != nil {
		f.o.Notice(fmt.Errorf("ask for votes from block %d on: %w", at.Undecided.Block, err))
		return nil, false
	}
	from := binary.BigEndian.AppendUint64(epochKey(epoch), uint64(at.Undecided.Block))
	return rangeInquiry(f, codeRequestBlockVotes, from, epochKey(at.Unfilled.Epoch)), epoch < at.Unfilled.Epoch
}

func (f *recordSync) blockStretch() (inquiry, bool) {
	hop := f.limits.BlocksAhead
	at := f.o.RecordLedger.Frontier()
	from, to := at.Unfilled.Block, at.Undecided.Block
	if to > from+hop {
		has, err := f.o.RecordLedger.HasBlock(from + hop)
		if err != nil {
			f.o.Notice(fmt.Errorf("ask for blocks from %d on: %w", from, err))
			return nil, false
		}
		if has {
			to = from + hop
		}
	}
	return rangeInquiry(f, codeRequestBlockRecords, from, to), from < to
}

// take takes a part of a stream of votes or records. Blocks are of no use to a node that makes
// its own.
func (f *recordSync) take(p *peer, m message) error {
	l := f.of[m.code]
	if l == nil || m.code == codeBlockRecordsChunk && !f.behind.Load() {
		return nil
	}
	id, done, items, err := decodeRecordsChunk(m.raw)
	if err != nil || !l.chunk(p, id, done, f.o.Now()) {
		return err
	}
	if len(items) == 0 {
		l.noteWorked(p, id, 0)
		return nil
	}
	return f.repeater.submit(p.ctx, &load{code: m.code, from: p, session: id, items: items, weight: len(m.raw)})
}
